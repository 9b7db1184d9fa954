"""Density in the lab: VMs with CPU limits that are in force, and neighbours under the same load as the trial."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from clusterbench.base.connections import Connections
from clusterbench.base.datasets import Dataset
from clusterbench.base.errors import EngineError
from clusterbench.base.records import Trial
from clusterbench.engines import Engine
from clusterbench.hosts import facts
from clusterbench.hosts.fleet import Fleet
from clusterbench.report.run.page import render_report
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.trial import neighbours
from clusterbench.trial.protocol import job_of, run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import load_workload
from clusterbench_lab import Lab
from clusterbench_lab.cgroups import PERIOD_US, SERVERS
from clusterbench_lab.layout import NATIVE, VM64, VMS
from tests.integration.helpers import generated_run, new_run, on_testbed

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="only root limits CPUs")]

PLATFORM, WORKLOAD = "lab_oversubscribed", "full_scan"
BUSY_S = 3
# A busy loop on each of a VM's vCPUs; what they used of processors, in seconds, and how long that took.
BUSY = f"""
start=$(date +%s.%N)
for _ in 1 2; do timeout {BUSY_S} bash -c 'while :; do :; done' & done
wait || true
end=$(date +%s.%N)
awk -v start="$start" -v end="$end" -v ticks="$(getconf CLK_TCK)" \\
  '{{print ($16 + $17) / ticks, end - start}}' /proc/$$/stat
"""


def assert_failing_neighbour_is_no_load(made: Run, measured: Trial) -> None:
    """Its streams go on after each query that finds no table, and psql ends well."""
    with on_testbed(made, "lab_base") as testbed:
        (name, engine), *_ = testbed.neighbours.items()
        engine.execute("ALTER SCHEMA tpcds_sf0_01 RENAME TO away")  # type: ignore[attr-defined]
        try:
            record = run_trial(replace(measured, id="refused.r1"), testbed)
        finally:
            engine.execute("ALTER SCHEMA away RENAME TO tpcds_sf0_01")  # type: ignore[attr-defined]
    seen = record.evidence["neighbours"][name]
    assert (seen["rounds"], seen["under_load_share"]) == (0, 0.0) and "does not exist" in seen["error"], seen
    assert record.outcome == "invalid" and "was under load for 0% of the measured time" in record.reason, record


@pytest.fixture
def testbed(connections: Connections) -> Iterator[Testbed]:
    """Set up, with data, as a run has it; taken down after the test."""
    run = new_run(connections)
    with on_testbed(run, PLATFORM) as testbed:
        for engine in testbed.engines.values():
            engine.set_up()
            engine.facts()
            load_workload(WORKLOAD).generate(load_workload(WORKLOAD).dataset(LEVELS, 7), engine)
        yield testbed
        steps.end_what_runs(testbed.fleet, testbed.platform, run.holder)
        for engine in testbed.engines.values():
            engine.tear_down()


LEVELS = {name: factor.default for name, factor in load_workload(WORKLOAD).factors.items()} | {"rows": 40_000}


def trial(name: str = "partial", **levels: int) -> Trial:
    return Trial(f"{name}.r1", name, PLATFORM, name, WORKLOAD, LEVELS | levels, 1, 7, 120, {})


def used_cpus(fleet: Fleet, *hosts: str) -> list[float]:
    answers = fleet.run(hosts, BUSY)
    return [float(used) / float(took) for used, took in (answers[host].output.split() for host in hosts)]


@pytest.mark.long
def test_limits_are_in_force_for_one_vm_and_for_all_at_once(testbed: Testbed, lab: Lab) -> None:
    """What busy loops use of processors; a busy machine may give less, and a limit never more."""
    server, limits = SERVERS["server1"], lab.parts.limits
    vm_cpus, server_cpus = server.cpus("vm1"), server.all_cpus
    assert server_cpus is not None
    (alone,) = used_cpus(testbed.fleet, "vm1")
    assert 0.5 * vm_cpus < alone < 1.15 * vm_cpus
    together = used_cpus(testbed.fleet, *VMS)
    assert sum(together) < 1.15 * server_cpus < vm_cpus * len(VMS)
    assert max(together) < 1.15 * vm_cpus
    stat = dict(line.split() for line in (limits.server("server1") / "cpu.stat").read_text().splitlines())
    assert int(stat["nr_throttled"]) > 0, "the server itself was at its limit"
    quota = (limits.guests["vm1"] / "cpu.cfs_quota_us").read_text() if not limits.is_v2 else ""
    assert not quota or int(quota) == round(vm_cpus * PERIOD_US)


@pytest.mark.parametrize("host", [NATIVE, VM64])
def test_native_and_its_vm_have_the_limits_that_their_files_declare(
    connections: Connections, lab: Lab, host: str
) -> None:
    with on_testbed(new_run(connections), f"lab_{host}") as testbed:
        seen = facts.hosts(testbed.fleet)
        assert facts.unavailable(testbed.platform, seen) == {}
        (claim,) = facts.declared_hardware(testbed.platform, seen)
        assert claim[:2] == (host, "cpu_limit") and claim[-1], claim
        assert testbed.engine.settings(testbed.platform.settings) == testbed.platform.settings
    assert str(lab.pid(f"{host}_postgres")) in (lab.parts.limits.guests[host] / "cgroup.procs").read_text().split()


def test_a_restarted_database_stays_within_its_vm(testbed: Testbed, lab: Lab) -> None:
    before = lab.pid("vm1_postgres")
    testbed.engine.stop()
    testbed.engine.start()
    after = lab.pid("vm1_postgres")
    assert after not in (None, before)
    assert str(after) in (lab.parts.limits.guests["vm1"] / "cgroup.procs").read_text().split()


def test_a_trial_has_neighbours_under_the_same_load_and_says_so(testbed: Testbed, lab: Lab) -> None:
    record = run_trial(trial(streams=8), testbed)
    assert (record.outcome, record.reason) == ("completed", "")
    seen = record.evidence["neighbours"]
    assert list(seen) == ["vm2", "vm3", "vm4"]
    for one in seen.values():
        assert one["under_load_share"] >= neighbours.UNDER_LOAD_SHARE_MIN
        assert (one["failed"], one["error"]) == (0, "") and one["driver_cpu_s"] > 0
    assert {"vm1", "vm2", "vm3", "vm4"} < set(record.telemetry)
    means = record.telemetry["vm1"]["mean"]
    assert means["cpu_throttled_percent"] > 0
    assert (means["cpus_allotted"], means["cpus"]) == (SERVERS["server1"].cpus("vm1"), os.cpu_count())
    assert 5 < means["cpu_allotted_percent"] < 115, "of its own processors, beside three busy neighbours"
    assert record.telemetry["client"]["mean"]["cpus_allotted"] == os.cpu_count()
    assert_quiet(testbed)


def assert_quiet(testbed: Testbed) -> None:
    for engine in testbed.neighbours.values():
        sessions = engine.query(  # type: ignore[attr-defined]
            "SELECT count(*) AS n FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid() "
            "AND state = 'active'"
        )
        assert sessions[0]["n"] == 0
    beside = job_of(trial(), testbed).beside("*").directory
    (client,) = testbed.platform.hosts_with("client")
    left = testbed.fleet.run_on(client, f"for lock in {beside}/lock; do flock -n -s $lock true || echo $lock; done")
    assert left.output == ""


def test_a_neighbour_that_cannot_be_put_back_keeps_no_other_from_it(testbed: Testbed) -> None:
    ours = {"work_mem": "7MB"}
    down, *others = testbed.neighbours["vm3"], testbed.engine, testbed.neighbours["vm2"], testbed.neighbours["vm4"]
    for engine in testbed.engines.values():
        engine.configure(ours)
    assert [engine.settings(ours) for engine in others] == [ours] * 3
    down.stop()  # type: ignore[attr-defined]
    try:
        with pytest.raises(EngineError, match="lab_oversubscribed/vm3"):
            steps.undo_setup(testbed)
        assert all(engine.settings(ours) != ours for engine in others)
    finally:
        down.start()


@pytest.mark.long
def test_a_killed_neighbour_makes_the_trial_invalid(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its driver, by its process id, as soon as the trial's own runs; nobody starts it again."""
    one = trial("killed", streams=8)
    beside = job_of(one, testbed).beside("vm3")
    wait = type(beside).wait

    def kill_and_wait(job: object) -> object:
        beside.kill()
        return wait(job)  # type: ignore[arg-type]

    monkeypatch.setattr(type(beside), "wait", kill_and_wait)
    record = run_trial(one, testbed)
    assert record.outcome == "invalid"
    assert record.reason == "neighbour 'vm3' stopped before the trial's driver had ended"
    assert record.evidence["neighbours"]["vm2"]["under_load_share"] >= neighbours.UNDER_LOAD_SHARE_MIN


@pytest.mark.long
@pytest.mark.parametrize("generator", ["duckdb", "dsdgen"])
def test_data_are_made_for_all_neighbours_at_once(
    connections: Connections, monkeypatch: pytest.MonkeyPatch, generator: str
) -> None:
    """All four wait for each other before any begins; the suites and checksums of all then hold."""
    workload = load_workload("tpcds")
    begins, generate = threading.Barrier(4, timeout=600), workload.generate

    def together(dataset: Dataset, engine: Engine) -> None:
        begins.wait()
        generate(dataset, engine)

    monkeypatch.setattr(workload, "generate", together)
    chosen = {"sweeps": ["lite"], "levels": [f"generator={generator}"]}
    with generated_run(connections, "tpcds_density", PLATFORM, **chosen) as made:
        assert steps.validate_data(made, PLATFORM)
        told = made.archive.need_json(f"platforms/{PLATFORM}/generated.json")["datasets"]
        assert len(told) == 4 and len({one["seconds"] for one in told}) == 1, "the time of all, shared out"
        rows = made.archive.need_json(f"platforms/{PLATFORM}/data.json")["datasets"]["tpcds"]
        assert len(rows) == 4 and len({row["checksum"] for row in rows}) == 1


@pytest.mark.long
def test_what_each_vm_of_a_server_did_is_told_and_how_far_they_differ(connections: Connections) -> None:
    """The measured one and its neighbour, under the same streams of TPC-DS."""
    with generated_run(connections, "tpcds_density", "lab_base", sweeps=["lite"]) as made:
        steps.validate_data(made, "lab_base")
        records = [steps.measure(made, "lab_base", trial.id) for trial in made.plan().trials["lab_base"]]
        assert [record.outcome for record in records] == ["completed"] * 2, [record.reason for record in records]
        nodes = [record.evidence["nodes"] for record in records]
        assert all(set(did) == {"vm1", "vm2"} for did in nodes)
        assert all(one["cpu_s"] > 0 for did in nodes for one in did.values())
        assert records[-1].measurements["node_cpu_max_over_mean"] >= 1
        assert nodes[-1]["vm1"]["time_s"] == pytest.approx(records[-1].measurements["response_time_s"], abs=1e-3)
        told = records[-1].evidence["neighbours"]["vm2"]
        if told["rounds"]:  # a round that is slower than the whole window ends after it
            assert nodes[-1]["vm2"]["time_s"] == told["round_s"]
            assert records[-1].measurements["node_time_max_over_min"] >= 1
        assert "disk_bytes" not in nodes[-1]["vm1"], "the disks are those of the one machine"
        assert_failing_neighbour_is_no_load(made, records[0].trial)
        steps.release_cluster(made, "lab_base")
        steps.summarise(made)
        assert "Whether its nodes are alike" in render_report(made.archive, made.catalog)
