"""A Hadoop with Kerberos and TLS: one that clusterbench starts, and the same one as somebody else's."""

from __future__ import annotations

import dataclasses
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from clusterbench.base.errors import EngineAwayError, EngineError
from clusterbench.base.records import Trial
from clusterbench.cli.main import main
from clusterbench.engines.hadoop import yarn
from clusterbench.engines.hadoop.client import FILE_SYSTEM, HadoopClient
from clusterbench.engines.hadoop.engine import HadoopCluster
from clusterbench.engines.hadoop.managed.engine import ManagedHadoop
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.trial.protocol import job_of, run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import load_workload
from clusterbench_lab import Lab
from tests import BLOCK
from tests.integration.helpers import changed, generated_run, measured_while, new_run, wait_for
from tests.integration.secure_hadoop import OURS, PRINCIPAL, THEIRS, SecureHadoop, secure_hadoop

pytestmark = [pytest.mark.lab, pytest.mark.long]
ROWS = 100_000
SORT_MB = "mapreduce.task.io.sort.mb"
EXAMPLES = "org.apache.hadoop.examples.ExampleDriver"


@pytest.fixture(scope="module")
def hadoop(lab: Lab) -> Iterator[SecureHadoop]:
    lab.up(airflow=False)
    with tempfile.TemporaryDirectory(prefix="clusterbench-secure-") as made, pytest.MonkeyPatch.context() as patch:
        folder = Path(made)
        folder.chmod(0o755)
        with secure_hadoop(lab, folder, f"127.0.{BLOCK}.5") as hadoop:
            patch.setenv("CLUSTERBENCH_ROOT", str(hadoop.project))
            yield hadoop


@pytest.fixture(scope="module")
def owner(hadoop: SecureHadoop) -> Iterator[Run]:
    """The Hadoop is up, by its owner's run."""
    with generated_run(hadoop.connections, "terasort", OURS) as made:
        with made.testbed(OURS) as testbed:
            configuration = cast(HadoopCluster, testbed.engine).configuration
        hadoop.declare_managed(f"{configuration.directories['client']}/conf")
        yield made


@pytest.fixture(scope="module")
def run(owner: Run, hadoop: SecureHadoop) -> Iterator[Run]:
    """A guest's, on the same Hadoop."""
    with generated_run(hadoop.connections, "terasort", THEIRS) as made:
        steps.validate_data(made, THEIRS)
        yield made


@pytest.fixture
def testbed(run: Run) -> Iterator[Testbed]:
    with run.testbed(THEIRS) as made:
        yield made


def client_of(testbed: Testbed) -> ManagedHadoop:
    return cast(ManagedHadoop, testbed.engine)


def trial(name: str, platform: str = THEIRS, **levels: Any) -> Trial:
    factors = load_workload("terasort").factors
    filled: dict[str, Any] = {factor: declared.default for factor, declared in factors.items()}
    filled |= {"rows": ROWS, "pause_s": 0} | levels
    return Trial(f"{name}.r1", name, platform, name, "terasort", filled, 1, 7, 600, {})


def files_in_hdfs(client: HadoopClient) -> set[str]:
    """Paths of all that is there, but for what YARN keeps of jobs."""
    listed = client.run([FILE_SYSTEM, "-ls", "-R", "-C", "/"], "it must answer").split()
    return {path for path in listed if "/staging" not in path and not path.startswith("/tmp")}


# Its owner.


def test_what_the_owner_starts_wants_kerberos_encrypts_and_sorts(owner: Run) -> None:
    facts = owner.archive.need_json(f"platforms/{OURS}/facts.json")["engine"]
    assert facts["security"] == {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.rpc.protection": "privacy",
        "dfs.data.transfer.protection": "privacy",
        "dfs.encrypt.data.transfer": "false",
        "dfs.http.policy": "HTTPS_ONLY",
    }
    rows = owner.archive.need_json(f"platforms/{OURS}/conformance.json")["rows"]
    assert {row["verdict"] for row in rows} == {"as declared"}
    with owner.testbed(OURS) as testbed:
        assert not testbed.engine.exposed
        record = run_trial(trial("secure", OURS), testbed)
    assert record.outcome == "completed", record.reason


def test_nobody_without_a_ticket_is_answered(owner: Run) -> None:
    with owner.testbed(OURS) as testbed:
        engine = cast(HadoopCluster, testbed.engine)
        for url in (f"{engine.url(kind)}/jmx" for kind in {daemon.kind for daemon in engine.daemons[:3]}):
            ask = f"curl -sk -o /dev/null -w '%{{http_code}}' '{url}?user.name=root'"
            assert testbed.fleet.run_on("client", ask).output == "401", url


# Its guest.


def test_facts_are_the_daemons_own_and_nothing_was_set_or_started(run: Run) -> None:
    facts = run.archive.need_json(f"platforms/{THEIRS}/facts.json")["engine"]
    assert (facts["run_by"], facts["workers"], facts["node_managers"]) == ("somebody else", 4, 4)
    assert facts["version"] == f"Hadoop {facts['hdfs_version']}"
    assert facts["queue"]["path"] == "root.default" and facts["racks"] == {"/rack": 4}
    assert facts["security"]["dfs.data.transfer.protection"] == "privacy"
    rows = run.archive.need_json(f"platforms/{THEIRS}/conformance.json")["rows"]
    found = {row["setting"]: (row["found"], row["verdict"]) for row in rows}
    assert found["hadoop.security.authentication"] == ("kerberos", "as declared")
    (flushed,) = run.archive.need_json(f"platforms/{THEIRS}/caches.json")["caches"]
    assert "names no workers' hosts" in flushed["problem"]


def test_a_trial_is_measured_and_leaves_nothing_in_hdfs(testbed: Testbed) -> None:
    before = files_in_hdfs(client_of(testbed))
    record = run_trial(trial("guest", **{f"server.{SORT_MB}": 64}), testbed)
    assert record.outcome == "completed", record.reason
    asked = {job: {SORT_MB: "64"} for job in ("teragen", "terasort", "teravalidate")}
    assert record.evidence["driver"]["server_settings"] == asked, "with nobody's leave"
    found = record.measurements
    assert found["map_shuffle_s"] + found["reduce_merge_s"] == pytest.approx(found["terasort_s"])
    assert found["others_memory_share"] == 0
    assert "teragen_disk_write_mb_per_s" not in found, "no worker was watched"
    driver = record.evidence["driver"]
    assert driver["facts"]["block_placement"]["blocks"] == 4
    assert {stage["stage"] for stage in driver["work_by_worker"]} >= {"TeraGen, maps", "TeraSort, reduces"}
    assert files_in_hdfs(client_of(testbed)) <= before | {"/user/bench/clusterbench/theirs"}


def test_other_peoples_work_spoils_a_trial_by_name_and_is_waited_for_before_the_next(testbed: Testbed) -> None:
    """Somebody computes pi with all that there is."""
    planned, client = trial("disturbed"), client_of(testbed)
    folder = testbed.fleet.work_dir("client")
    somebody = f"{client.environment()}cd {folder}; run {EXAMPLES} pi 4 2000000000 >pi.out 2>&1 </dev/null & echo\n"

    def work() -> None:
        testbed.fleet.run_on("client", somebody)
        wait_for(lambda: [app for app in client.others() if "QuasiMonteCarlo" in app], "somebody's job")

    begun = lambda: "teragen, application_" in job_of(planned, testbed).doing()  # noqa: E731
    record = measured_while(work, begun, planned, testbed)
    try:
        assert record.outcome == "invalid", record.reason
        assert "other people's applications had " in record.reason
        assert "'hadoop.managed.others' of the platform's file" in record.reason
        with pytest.raises(
            EngineAwayError, match=r"other people's applications have \d+ % of YARN's memory.*QuasiMonte"
        ):
            client.recover()
        (other,) = [app for app in yarn.applications(client, "states=RUNNING") if app["name"] == "QuasiMonteCarlo"]
    finally:
        yarn.kill(client, [app["id"] for app in yarn.applications(client, f"states={yarn.UNFINISHED}")])
    assert other["user"] and not client.recover()
    client.run([FILE_SYSTEM, "-rm", "-r", "-f", "-skipTrash", f"/user/{other['user']}/QuasiMonteCarlo*"], "it is ours")


def test_daemons_of_somebody_else_are_not_restarted_for_a_trial(testbed: Testbed) -> None:
    record = run_trial(trial("restarted", daemons="restarted"), testbed)
    assert (record.outcome, record.reason) == (
        "not_applicable",
        "it is a managed Hadoop, of which clusterbench starts and stops nothing",
    )


def test_queue_that_is_not_there_is_said_before_anything_is_made(run: Run, hadoop: SecureHadoop) -> None:
    with run.testbed(THEIRS) as testbed:
        configuration = client_of(testbed).managed.configuration
    hadoop.declare_managed(configuration, "theirs_queue", queue="benhc")
    other = new_run(hadoop.connections, "terasort")
    with other.testbed("theirs_queue") as testbed, pytest.raises(EngineError) as said:
        testbed.engine.set_up()
    assert "there is no queue 'benhc'; Allowed: root.default; correct 'hadoop.managed.queue'" in str(said.value)


def test_connection_without_a_keytab_is_said_without_what_it_has(run: Run, hadoop: SecureHadoop) -> None:
    wrong = changed(hadoop.connections, "bench_kerberos", {"keytab": "c2VjcmV0"})
    other = new_run(wrong, "terasort")
    with other.testbed(THEIRS) as testbed:
        client_of(testbed).tickets.drop()  # type: ignore[union-attr]
        with pytest.raises(EngineError) as said:
            testbed.engine.facts()
    assert "as 'keytab' of its extra that principal's keytab in base64: base64 -w 0 FILE" in str(said.value)
    assert "c2VjcmV0" not in str(said.value)


def test_principal_that_the_kdc_does_not_know_is_said_in_kerberos_own_words(run: Run, hadoop: SecureHadoop) -> None:
    unknown = dataclasses.replace(hadoop.connections("bench_kerberos"), login="nobody@LAB.TEST")
    other = new_run(lambda name: unknown if name == "bench_kerberos" else hadoop.connections(name), "terasort")
    with other.testbed(THEIRS) as testbed, pytest.raises(EngineError) as said:
        testbed.engine.facts()
    assert "Keytab contains no suitable keys for nobody@LAB.TEST" in str(said.value)


def test_keytab_is_nowhere_on_the_client_host_and_the_ticket_goes_with_the_run(
    run: Run, hadoop: SecureHadoop, lab: Lab
) -> None:
    keytab = str(hadoop.connections("bench_kerberos").extra["keytab"])
    with run.testbed(THEIRS) as testbed:
        client = client_of(testbed)
        client.facts()
        tickets, work = client.tickets, Path(testbed.fleet.work_dir("client"))
        assert tickets is not None and tickets.principal == PRINCIPAL
        assert Path(tickets.cache).stat().st_mode & 0o077 == 0
        assert not list(work.glob("**/krb5cc.*"))
        texts = [path for path in work.rglob("*") if path.is_file() and path.stat().st_size < 10**6]
        assert texts and not [path for path in texts if keytab.encode() in path.read_bytes()]
        client.tear_down()
        assert not Path(tickets.cache).exists()


def test_ticket_that_ends_soon_is_got_anew(run: Run) -> None:
    with run.testbed(THEIRS) as testbed:
        tickets = client_of(testbed).tickets
        assert tickets is not None
        tickets.get()
        first = Path(tickets.cache).stat().st_mtime_ns
        tickets.get()
        assert Path(tickets.cache).stat().st_mtime_ns == first, "it is valid for hours"
        time.sleep(1.1)
        tickets.get(left_s=10**6)
        assert Path(tickets.cache).stat().st_mtime_ns > first


def test_doctor_asks_it_and_names_who_is_at_work(
    run: Run, hadoop: SecureHadoop, lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLUSTERBENCH_CONNECTIONS", str(hadoop.project.parent / "connections.json"))
    monkeypatch.setenv("CLUSTERBENCH_LAB_DIR", str(lab.lab_dir))
    main(["doctor", THEIRS, "--all"])
    said = capsys.readouterr().out
    assert "Hadoop 3." in said and "other sessions" in said, said
    assert "who is let in" in said and "security.authentication kerberos" in " ".join(said.split()), said


def test_kinit_is_run_by_nobody_else(hadoop: SecureHadoop) -> None:
    """No keytab is named in any list of processes: it is read from a file of a moment, whose name says nothing."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(hadoop.connections("bench_kerberos").extra["keytab"]) not in listed
