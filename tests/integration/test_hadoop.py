"""TeraSort on real daemons: a suite whose worker is killed, and what spoils, stops or refuses one."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any, cast

import pytest

from clusterbench.base.connections import Connections, from_file
from clusterbench.base.errors import EngineError, HostError
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.cli.main import main
from clusterbench.engines.hadoop import daemons, health, yarn
from clusterbench.engines.hadoop.configuration import Configuration
from clusterbench.engines.hadoop.daemons import NAMENODE, NODEMANAGER
from clusterbench.engines.hadoop.engine import GIVEN, HadoopCluster
from clusterbench.engines.hadoop.fsck import placement
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.trial.protocol import job_of, run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import load_workload
from clusterbench.workloads.microbenchmarks.network_stream import PORT
from clusterbench.workloads.terasort.jobs import path_of, tag_of
from clusterbench.workloads.terasort.teragen import checksum
from clusterbench_lab import Lab
from tests.integration.helpers import generated_run, measured_while, new_run, wait_for

pytestmark = pytest.mark.lab
PLATFORM = "lab_hadoop1"
ROWS = 200_000
SORT_MB = "mapreduce.task.io.sort.mb"
THREADS = "mapreduce.shuffle.max.threads"


@pytest.fixture(scope="module")
def there(lab: Lab) -> Connections:
    lab.up(airflow=False)
    return from_file(lab.lab_dir / "connections.json")


@pytest.fixture(scope="module")
def run(there: Connections) -> Iterator[Run]:
    """A run whose cluster is up, ready for its trials to be measured."""
    with generated_run(there, "terasort", PLATFORM) as made:
        steps.validate_data(made, PLATFORM)
        yield made


@pytest.fixture
def testbed(run: Run) -> Iterator[Testbed]:
    with run.testbed(PLATFORM) as made:
        made.engine.recover()
        yield made


@pytest.fixture
def two_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half as many tasks, where what is tested does not depend on their number: each is a Java of its own."""
    monkeypatch.setattr(Configuration, "cluster_slots", 2)


def cluster_of(testbed: Testbed) -> HadoopCluster:
    return cast(HadoopCluster, testbed.engine)


def trial(name: str, **levels: Any) -> Trial:
    factors = load_workload("terasort").factors
    filled: dict[str, Any] = {factor: declared.default for factor, declared in factors.items()}
    filled |= {"rows": ROWS, "pause_s": 0} | levels
    return Trial(f"{name}.r1", name, PLATFORM, name, "terasort", filled, 1, 7, 600, {})


def doing(testbed: Testbed, planned: Trial) -> str:
    return job_of(planned, testbed).doing()


def on_hdfs(testbed: Testbed, *arguments: str) -> str:
    """Hadoop's own ``hdfs`` on the client host."""
    programs = {"dfs": "org.apache.hadoop.fs.FsShell", "dfsadmin": "org.apache.hadoop.hdfs.tools.DFSAdmin"}
    words = " ".join(map(quote, arguments[1:]))
    script = f"{cluster_of(testbed).environment()}run {programs[arguments[0]]} {words}\n"
    return testbed.fleet.run_on(testbed.platform.client, script, timeout_s=120).output


MEASURE = """\
import sys
from pathlib import Path
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.base.connections import from_file
run = Run("terasort", sys.argv[2], from_file(Path(sys.argv[1])))
steps.measure(run, sys.argv[3], sys.argv[4])
"""


@pytest.mark.long
def test_a_suite_whose_worker_is_killed_goes_on_and_is_collected_by_the_next(
    lab: Lab, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    """As SIGKILL of an Airflow worker while TeraSort runs; nothing is submitted twice."""
    planned = next(t for t in run.plan().trials[PLATFORM] if t.sweep == "earlier_tests")
    arguments = [str(lab.lab_dir / "connections.json"), run.run_id, PLATFORM, planned.id]
    worker = subprocess.Popen([sys.executable, "-c", MEASURE, *arguments])
    with run.testbed(PLATFORM) as testbed:
        try:
            wait_for(lambda: "terasort, application_" in doing(testbed, planned), "TeraSort was submitted")
        finally:
            worker.kill()
            worker.wait()
        application = doing(testbed, planned).split()[-1]
        with caplog.at_level("INFO"):
            record = steps.measure(run, PLATFORM, planned.id)
        told = yarn.applications(cluster_of(testbed), f"applicationTags={tag_of(planned)}")
        assert not cluster_of(testbed).exists(path_of(planned, cluster_of(testbed)))

    assert f"waiting for it, not starting another: terasort, {application}" in caplog.text
    assert record.outcome == "completed", record.reason
    assert record.driver_starts == 1
    assert sorted(app["name"] for app in told) == ["TeraGen", "TeraSort", "TeraValidate"]  # each submitted once
    driver = record.evidence["driver"]
    assert {app["id"] for app in told} == {job["application"] for job in driver["jobs"].values()}
    assert application == driver["jobs"]["terasort"]["application"]
    check_measurements(record)
    assert driver["answer"] == {"rows": planned.levels["rows"], "checksum": checksum(int(planned.levels["rows"]))}


def check_measurements(record: TrialRecord) -> None:
    found = record.measurements
    assert found["map_shuffle_s"] + found["reduce_merge_s"] == pytest.approx(found["terasort_s"])
    assert 0 < found["reduce_merge_s"] < found["map_shuffle_s"]
    size_gb = int(record.trial.levels["rows"]) * 100 / 1e9
    assert found["throughput_gb_per_s"] == pytest.approx(size_gb / found["terasort_s"])
    assert found["map_output_compression"] > 2
    placed = record.evidence["driver"]["facts"]["block_placement"]
    assert placed["bytes"] == size_gb * 1e9
    assert placed["replicas"] == 2 * placed["blocks"]
    assert placed["blocks_sharing_a_machine"] == 0
    assert [phase["name"] for phase in record.evidence["phases"]] == [
        "TeraGen",
        "map-shuffle",
        "reduce-merge",
        "TeraValidate",
    ]
    check_work_by_worker(record)
    (seen, *_) = record.telemetry.values()
    assert seen["phases"]["TeraGen"]["loopback_bytes"] > 2 * size_gb * 1e9  # each replica goes to its DataNode
    assert record.telemetry["worker1"]["course"]["second"]


def check_work_by_worker(record: TrialRecord) -> None:
    """Of the jobs' histories as Hadoop has left them on HDFS: every task, by the worker's name."""
    driver = record.evidence["driver"]
    assert not [said for said in driver["warnings"] if "could not be read" in said]
    found = {stage["stage"]: stage["workers"] for stage in driver["work_by_worker"]}
    names = {"worker1", "worker2", "worker3", "worker4"}
    assert set(found) >= {"TeraGen, maps", "TeraSort, reduces"} and all(set(did) == names for did in found.values())
    assert sum(did[0] for did in found["TeraSort, reduces"].values()) == 4
    assert all(did[1] > 0 for did in found["TeraGen, maps"].values() if did[0])
    assert record.measurements["slowest_worker_over_median"] >= 1
    assert driver["facts"]["work_by_worker"]["slow_workers"]


def test_daemons_run_with_what_the_templates_and_the_platform_declare(run: Run) -> None:
    facts = run.archive.need_json(f"platforms/{PLATFORM}/facts.json")
    rows = run.archive.need_json(f"platforms/{PLATFORM}/conformance.json")["rows"]
    assert {row["verdict"] for row in rows} == {"as declared"}
    found = {row["setting"]: row["found"] for row in rows}
    assert found["dfs.blocksize"] == "268435456"
    assert found["dfs.namenode.handler.count"] == "1"
    assert int(found["yarn.nodemanager.resource.memory-mb"]) > 1000
    assert facts["engine"]["cluster_slots"] == 4


def test_a_cluster_that_a_run_holds_is_not_taken_down_by_hand(
    lab: Lab, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLUSTERBENCH_LAB_DIR", str(lab.lab_dir))
    assert main(["cluster", "status", PLATFORM]) == 0
    assert "NameNode on master                       up\n" in capsys.readouterr().out
    assert main(["cluster", "down", PLATFORM]) == 1
    assert f"cluster 'lab' is held by run terasort/{run.run_id}" in capsys.readouterr().err
    assert main(["cluster", "status", PLATFORM]) == 0


@pytest.mark.long
def test_a_daemon_that_runs_with_another_value_is_named(testbed: Testbed) -> None:
    cluster = cluster_of(testbed)
    told = {**cluster.declared_settings()}
    directory = quote(cluster.configuration.directories["worker2"])

    def start_again_with(value: int, instead_of: int) -> None:
        change = f"sed -i 's/<value>{instead_of}</<value>{value}</' {directory}/conf/hdfs-site.xml"
        testbed.fleet.run_on("worker2", f"{change}; kill $(cat {directory}/DataNode.pid)")
        wait_for(lambda: any(not row["alive"] for row in cluster.state()), "the DataNode is down")
        assert cluster.recover() == ["DataNode on worker2 was down and was started"]

    start_again_with(1048576, instead_of=4194304)
    try:
        found = cluster.settings(told)
        assert {name: value for name, value in found.items() if value != told[name]} == {
            "dfs.datanode.readahead.bytes": "1048576 (DataNode on worker2)"
        }
    finally:
        start_again_with(4194304, instead_of=1048576)
    assert cluster.settings(told) == told


@pytest.mark.usefixtures("two_slots")
@pytest.mark.long
def test_a_corrupt_part_makes_the_trial_invalid(testbed: Testbed) -> None:
    """Between TeraSort and TeraValidate some bytes of a record become others: still sorted, not what was generated.

    The driver is frozen meanwhile, its TeraValidate at the latest when Java starts.
    """
    planned = trial("corrupt")
    job = job_of(planned, testbed)
    part = f"{path_of(planned, cluster_of(testbed))}/output/part-r-00001"

    def send(signal: str) -> None:
        testbed.fleet.run_on("client", f"pkill -{signal} -s $(cat {quote(job.directory)}/pid)")

    def corrupt() -> None:
        send("STOP")
        local = f"{testbed.fleet.work_dir('client')}/part"
        try:
            on_hdfs(testbed, "dfs", "-get", "-f", part, local)
            testbed.fleet.run_on("client", f"printf XXXX | dd of={quote(local)} bs=1 seek=50 conv=notrunc status=none")
            on_hdfs(testbed, "dfs", "-put", "-f", local, part)
        finally:
            send("CONT")

    terasort_has_ended = (Path(job.directory) / "terasort.tasks.json.gz").exists
    record = measured_while(corrupt, terasort_has_ended, planned, testbed)
    assert record.outcome == "invalid", record.reason
    assert "the sorted output is not what was generated: TeraValidate's checksum is " in record.reason
    assert "answer" not in record.evidence["driver"]


@pytest.mark.usefixtures("two_slots")
@pytest.mark.long
def test_a_lost_datanode_fails_the_trial_by_name_and_the_next_one_starts_it_again(testbed: Testbed) -> None:
    planned = trial("lost")
    pid_file = Path(cluster_of(testbed).configuration.directories["worker3"]) / "DataNode.pid"

    def lose() -> None:
        os.kill(int(pid_file.read_text()), signal.SIGKILL)

    record = measured_while(lose, lambda: "terasort, application_" in doing(testbed, planned), planned, testbed)
    assert record.outcome == "failed"
    assert "DataNode on worker3 went down" in record.reason
    assert testbed.engine.recover() == ["DataNode on worker3 was down and was started"]
    assert not [row for row in testbed.engine.state() if row["status"] == "d" or not row["alive"]]


def tasks_on(host: str, cluster: HadoopCluster) -> list[int]:
    """Numbers of the processes of tasks that run on a worker of the lab."""
    directory = cluster.configuration.directories[host]
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # it has ended meanwhile
        if "org.apache.hadoop.mapred.YarnChild" in words and any(directory in word for word in words):
            found.append(int(path.parent.name))
    return found


@pytest.mark.long
def test_worker_whose_task_stands_still_for_a_while_is_named_as_the_slow_one(testbed: Testbed) -> None:
    """As one with a bad disk: its task of TeraGen takes half a minute longer than the others'."""
    cluster = cluster_of(testbed)

    def stand_still() -> None:
        frozen = tasks_on("worker3", cluster)
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(40)
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)

    record = measured_while(stand_still, lambda: bool(tasks_on("worker3", cluster)), trial("slow"), testbed)
    assert record.outcome == "completed", record.reason
    (generated, *_) = record.evidence["driver"]["work_by_worker"]
    assert (generated["stage"], generated["slowest"]) == ("TeraGen, maps", "worker3")
    assert record.measurements["slowest_worker_over_median"] > 1.5
    named = record.evidence["driver"]["facts"]["work_by_worker"]["slow_workers"]
    assert named.startswith("worker3 in TeraGen, maps: ")


def small(name: str, workload: str, **levels: Any) -> Trial:
    factors = load_workload(workload).factors
    filled: dict[str, Any] = {factor: declared.default for factor, declared in factors.items()}
    return Trial(f"{name}.r1", name, PLATFORM, name, workload, filled | levels, 1, 7, 600, {})


@pytest.mark.long
def test_hdfs_by_itself_is_written_and_read_and_nothing_is_left(testbed: Testbed) -> None:
    sizes: dict[str, Any] = {"files": 3, "file_mib": 8, "replicas": 2, "pause_s": 0}
    planned = small("dfsio", "dfsio", **sizes, **{f"server.{SORT_MB}": 64, "server.mapreduce.task.oi.sort.mb": 64})
    record = run_trial(planned, testbed)
    assert record.outcome == "completed", record.reason
    asked = {SORT_MB: "64", "mapreduce.task.oi.sort.mb": "64"}
    assert record.evidence["driver"]["server_settings"] == {"write": asked, "read": asked}
    (warning,) = record.evidence["driver"]["warnings"]
    assert warning.startswith("mapreduce.task.oi.sort.mb is in no configuration and no default")
    found = record.measurements
    assert found["write_mib_per_s"] == pytest.approx(24 / found["write_s"])
    assert 0 < found["read_mib_per_s"] < found["read_mib_per_s_of_a_task"] * 3, "starting tasks takes time, too"
    assert [phase["name"] for phase in record.evidence["phases"]] == ["write", "read"]
    assert record.evidence["driver"]["jobs"]["write"]["state"] == "SUCCEEDED"
    (seen, *_) = record.telemetry.values()
    assert seen["phases"]["write"]["loopback_bytes"] > 2 * 24e6
    assert not cluster_of(testbed).exists(path_of(planned, cluster_of(testbed)))


@pytest.mark.long
def test_a_parameter_of_daemons_is_set_read_back_and_put_back(testbed: Testbed) -> None:
    cluster, sizes = cluster_of(testbed), {"files": 1, "file_mib": 1, "replicas": 1, "pause_s": 0}
    asked = {THREADS: "60", "dfs.datanode.raedahead.bytes": "1"}
    before = cluster.settings([THREADS])
    record = run_trial(small("daemons", "dfsio", **sizes, **{f"server.{k}": int(v) for k, v in asked.items()}), testbed)
    assert record.outcome == "completed", record.reason
    assert record.evidence["server_settings"] == asked
    assert record.evidence["driver"]["server_settings"] == {}, "no job was given any"
    (warning,) = record.evidence["driver"]["warnings"]
    assert warning.startswith("dfs.datanode.raedahead.bytes is in no configuration and no default")
    assert before == {THREADS: "120"} and cluster.settings(asked) == before

    started = health.started_at_s(cluster)
    cluster.configure({})
    assert health.started_at_s(cluster) == started, "what is as it should be is not restarted"
    worker = testbed.platform.hosts_with("worker")[0]
    testbed.fleet.run_on(worker, f"rm {quote(cluster.configuration.directories[worker])}/conf/{GIVEN}")
    cluster.configure(asked)
    configured = health.started_at_s(cluster)
    assert all(configured[daemon] > since for daemon, since in started.items())
    cluster.parameters_unknown = ()
    cluster.configure(asked)  # as a worker does that continues after one that died
    assert health.started_at_s(cluster) == configured
    assert cluster.parameters_unknown == ["dfs.datanode.raedahead.bytes"]
    cluster.configure({})
    assert cluster.settings(asked) == before


@pytest.mark.long
def test_daemons_that_do_not_start_with_a_value_fail_the_trial_and_start_again_without(testbed: Testbed) -> None:
    cluster = cluster_of(testbed)
    sizes = {"files": 1, "file_mib": 1, "replicas": 1, "pause_s": 0, "server.dfs.heartbeat.interval": "often"}
    record = run_trial(small("wrong", "dfsio", **sizes), testbed)
    assert record.outcome == "failed" and not record.measurements
    assert "did not stay up" in record.reason and "often" in record.reason, record.reason
    assert cluster.settings(["dfs.heartbeat.interval"]) == {"dfs.heartbeat.interval": "1"}
    assert cluster.recover() == []


@pytest.mark.long
def test_a_parameter_that_the_cluster_declares_final_fails_the_trial_after_its_first_job(testbed: Testbed) -> None:
    directories = cluster_of(testbed).configuration.directories
    workers = testbed.platform.hosts_with("worker")
    final = f"<property><name>{SORT_MB}</name><value>100</value><final>true</final></property>"
    for host in workers:
        conf = quote(f"{directories[host]}/conf/mapred-site.xml")
        testbed.fleet.run_on(host, f"cp {conf} {conf}.kept && sed -i 's#</configuration>#{final}&#' {conf}")
    try:
        record = run_trial(
            small("final", "dfsio", files=1, file_mib=1, pause_s=0, **{f"server.{SORT_MB}": 64}), testbed
        )
    finally:
        for host in workers:
            conf = quote(f"{directories[host]}/conf/mapred-site.xml")
            testbed.fleet.run_on(host, f"mv {conf}.kept {conf}")
    assert record.outcome == "failed" and not record.measurements
    assert record.reason.startswith(f"write ran with {SORT_MB} '100', asked for was '64': ")
    assert "<final>true</final>" in record.reason
    assert list(record.evidence["driver"]["jobs"]) == ["write"], "what would not count was not begun"


@pytest.mark.skipif(not shutil.which("fio"), reason="fio is not installed here")
def test_a_disk_is_written_and_read_and_nothing_is_left(testbed: Testbed) -> None:
    planned = small("disk", "disk_stream", files=2, file_mib=16)
    record = run_trial(planned, testbed)
    assert record.outcome == "completed", record.reason
    found = record.measurements
    assert found["write_first_mib_per_s"] > 0
    assert found["read_last_over_first"] == pytest.approx(found["read_last_mib_per_s"] / found["read_first_mib_per_s"])
    assert record.evidence["driver"]["file_system"]["type"]
    assert not Path(record.evidence["workload"]["folder"]).exists()


def test_a_disk_that_is_too_small_is_said_before_anything_is_written(testbed: Testbed) -> None:
    record = run_trial(small("too_small", "disk_stream", files=10_000, file_mib=10_000_000), testbed)
    assert record.outcome == "failed"
    assert (
        "free, and the files take 105\u202f000\u202fTB: free space there, or choose fewer or smaller" in record.reason
    )


@pytest.mark.skipif(not shutil.which("iperf3"), reason="iperf3 is not installed here")
def test_a_host_sends_to_another_both_ways_and_no_server_is_left(testbed: Testbed) -> None:
    record = run_trial(small("network", "network_stream", direction="both_ways", window_s=2), testbed)
    assert record.outcome == "completed", record.reason
    assert min(record.measurements[f"{way}_mibit_per_s"] for way in ("sent", "received")) > 0
    assert record.evidence["workload"]["to"] == "worker1"
    assert not testbed.fleet.run_on("worker1", f"ss -Hltn 'sport = :{PORT}'").output


@pytest.mark.long
def test_a_cancelled_trial_kills_its_application(testbed: Testbed) -> None:
    planned = trial("cancelled")
    submitted = lambda: "teragen, application_" in doing(testbed, planned)  # noqa: E731
    record = measured_while(job_of(planned, testbed).kill, submitted, planned, testbed)
    assert record.outcome == "failed"
    (told,) = yarn.applications(cluster_of(testbed), f"applicationTags={tag_of(planned)}")
    assert (told["name"], told["state"]) == ("TeraGen", "KILLED")
    staged = f"/clusterbench/staging/{told['user']}/.staging/{told['id'].replace('application_', 'job_')}"
    assert not cluster_of(testbed).exists(staged)


def test_a_leftover_path_is_removed_and_said(testbed: Testbed) -> None:
    planned = trial("leftover")
    on_hdfs(testbed, "dfs", "-mkdir", "-p", f"{path_of(planned, cluster_of(testbed))}/input")
    prepared = load_workload("terasort").prepare(planned, testbed.engine)
    assert prepared["recovered"] == [
        f"HDFS had {path_of(planned, cluster_of(testbed))}, left by an earlier try that did not end; it was removed"
    ]
    assert not cluster_of(testbed).exists(path_of(planned, cluster_of(testbed)))


@pytest.mark.long
def test_daemons_are_restarted_before_a_trial_that_wants_it_and_data_stay(testbed: Testbed) -> None:
    cluster = cluster_of(testbed)
    on_hdfs(testbed, "dfs", "-mkdir", "-p", "/kept")
    before = health.started_at_s(cluster)
    prepared = load_workload("terasort").prepare(trial("restarted", daemons="restarted"), testbed.engine)
    after = health.started_at_s(cluster)
    assert prepared["daemons"] == "restarted"
    assert set(after) == set(before) and all(after[daemon] > before[daemon] for daemon in before)
    assert cluster.exists("/kept")
    cluster.delete("/kept")


def test_machines_that_drive_the_trial_are_not_rebooted_and_no_daemon_is_stopped(testbed: Testbed) -> None:
    """All hosts of the lab are this very machine."""
    cluster, workload, planned = cluster_of(testbed), load_workload("terasort"), trial("rebooted", daemons="rebooted")
    before = health.started_at_s(cluster)
    with pytest.raises(
        EngineError, match=r"write 'may: \[restart, recover, reboot\]' into include/platforms/lab_hadoop1"
    ):
        workload.prepare(planned, testbed.engine)
    testbed.platform.may.append("reboot")
    try:
        with pytest.raises(HostError, match="it was not rebooted, as it is"):
            workload.prepare(planned, testbed.engine)
    finally:
        testbed.platform.may.remove("reboot")
    assert health.started_at_s(cluster) == before


def test_safe_mode_is_said(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterbench.engines.hadoop.health.SAFE_MODE_S", 2)
    on_hdfs(testbed, "dfsadmin", "-safemode", "enter")
    try:
        record = run_trial(trial("safe_mode"), testbed)
    finally:
        on_hdfs(testbed, "dfsadmin", "-safemode", "leave")
    assert record.outcome == "failed"
    assert "the NameNode is in safe mode and nothing can be written" in record.reason
    assert "end it with: hdfs dfsadmin -safemode leave" in record.reason


@pytest.mark.usefixtures("two_slots")
@pytest.mark.long
def test_a_full_hdfs_is_said(testbed: Testbed) -> None:
    planned = dataclasses.replace(trial("full"), settings={"mapreduce.map.maxattempts": "1"})
    on_hdfs(testbed, "dfs", "-mkdir", "-p", f"/clusterbench/{PLATFORM}")
    on_hdfs(testbed, "dfsadmin", "-setSpaceQuota", "20m", f"/clusterbench/{PLATFORM}")
    try:
        record = run_trial(planned, testbed)
    finally:
        on_hdfs(testbed, "dfsadmin", "-clrSpaceQuota", f"/clusterbench/{PLATFORM}")
    assert record.outcome == "failed"
    assert (
        "teragen: HDFS or a local folder of a worker is full: free space there, or choose fewer rows" in record.reason
    )


def test_a_dataset_that_does_not_fit_is_refused_with_what_it_takes(run: Run, testbed: Testbed) -> None:
    record = run_trial(trial("large", rows=300_000_000_000), testbed)
    assert record.outcome == "failed"
    wanted = "takes 195,000.0 GB while it runs (6.5 times its 30,000 GB: 3 copies of the input, 3 of the output"
    assert wanted in record.reason
    full = new_run(run.connections, "terasort")
    steps.open_run(full, {"scale": "full", "platforms": [PLATFORM]}, {"by": "test"})
    with pytest.raises(EngineError, match=r"too small: a trial on terasort_300000000000 takes 243,000\.0 GB"):
        steps._check_space(full, Testbed(testbed.platform, testbed.fleet, testbed.engine, full.archive))


def test_more_replicas_than_hosts_are_not_applicable(testbed: Testbed) -> None:
    record = run_trial(trial("five", replicas=5), testbed)
    assert record.outcome == "not_applicable"
    assert record.reason == "5 replicas cannot be kept apart: the workers are on 4 machines"


def written_by(host: str, cluster: HadoopCluster) -> str:
    """The script by which a host writes a file of its own to HDFS."""
    environment = daemons.environment(cluster.configuration, host)
    return f"{environment}head -c 1000000 /dev/urandom | run org.apache.hadoop.fs.FsShell -put - /{host}\n"


def machines_of(cluster: HadoopCluster) -> dict[str, str]:
    """Address of a worker -> its physical host."""
    configuration = cluster.configuration
    return {configuration.addresses[host]: configuration.machine_of(host) for host in configuration.workers}


def once_all_replicas_are_there(testbed: Testbed, cluster: HadoopCluster, within_s: float = 90) -> str:
    """What fsck says then. HDFS may write fewer while a DataNode is busy, and makes the others afterwards."""
    url = f"{cluster.url(NAMENODE)}/fsck?ugi=x&path=/&files=1&blocks=1&racks=1"
    until = time.monotonic() + within_s
    while True:
        said = testbed.fleet.run_on("master", f"curl -sS --fail {quote(url)}").output
        short = placement(said.splitlines(), machines_of(cluster)).blocks_short_of_replicas
        if not short or time.monotonic() > until:
            return said
        time.sleep(1)


@pytest.mark.long
def test_where_workers_share_hosts_no_two_replicas_of_a_block_do(run: Run, there: Connections) -> None:
    """On a real HDFS with two DataNodes on each of three hosts. The last: it takes the hosts.

    Each worker writes a file, as a task of TeraGen's does there; then fsck.
    """
    assert run.archive.need_json("plan.json")
    other = new_run(there, "terasort")
    with other.testbed("lab_hadoop2") as testbed:
        cluster = cluster_of(testbed)
        cluster.daemons = [daemon for daemon in cluster.daemons if daemon.kind != NODEMANAGER]  # nothing runs on YARN
        try:
            cluster.set_up()
            testbed.fleet.run_each(
                {host: written_by(host, cluster) for host in cluster.configuration.workers}, timeout_s=120
            )
            said = once_all_replicas_are_there(testbed, cluster)
        finally:
            cluster.tear_down()
    machines = machines_of(cluster)
    found = placement(said.splitlines(), machines)
    assert (found.blocks, found.replicas, found.blocks_sharing_a_machine) == (6, 18, 0), said
    assert len(set(machines.values())) == 3
    assert "/rack1/machine1/" in said
    assert "/rack2/machine3/" in said
