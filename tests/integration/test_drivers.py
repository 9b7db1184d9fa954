"""One load from four client hosts against one real PostgreSQL: summed, told by host, and nothing lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterbench.base.connections import Connections
from clusterbench.base.records import TrialRecord
from clusterbench.drivers.load_search import ClientLoad, NextLoad
from clusterbench.hosts.detached_job import PROBE
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.spec.catalog import Catalog
from clusterbench.trial import drivers, utilisation
from clusterbench.trial.protocol import job_of
from clusterbench.workloads import load_workload
from tests.declared import project_with
from tests.integration.helpers import measured_whole, new_run, wait_for
from tests.integration.test_declared import session
from tests.integration.test_outages import meanwhile

pytestmark = pytest.mark.lab
NAME = "lab_spread"
DRIVERS = ("client", "load1", "load2", "load3")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``lab_db1`` with three more hosts that drive load."""
    root = project_with(tmp_path, monkeypatch, "unused", {})
    shutil.rmtree(root / "include/sql/unused")
    (root / "include/platforms").unlink()
    shutil.copytree(Path(__file__).parents[2] / "include/platforms", root / "include/platforms")
    said = yaml.safe_load((root / "include/platforms/lab_db1.yaml").read_text())
    said["platform"] = NAME
    said["hosts"] |= {f"load{n}": {"ssh": f"lab_vm{n}", "roles": ["load"]} for n in (1, 2, 3)}
    (root / f"include/platforms/{NAME}.yaml").write_text(yaml.safe_dump(said))
    return root


def whole(root: Path, connections: Connections, experiment: str, **choices: Any) -> tuple[Run, list[TrialRecord]]:
    run = new_run(connections, experiment)
    run.catalog = Catalog(root)
    steps.open_run(run, {"scale": "smoke", "platforms": [NAME], **choices}, {"by": "test"})
    records = measured_whole(run, NAME)
    steps.summarise(run)
    steps.validate_results(run)
    return run, records


@pytest.mark.long
def test_four_hosts_drive_one_load_and_every_key_is_inserted_once(root: Path, connections: Connections) -> None:
    run, (record,) = whole(root, connections, "ycsb", levels=["mix=d", "clients=6", "window_s=3"])
    assert (record.outcome, record.reason) == ("completed", "")
    told = record.evidence["drivers"]
    assert [told[host]["clients"] for host in DRIVERS] == [2, 2, 1, 1]
    assert all(told[host]["ended_per_s"] > 0 for host in DRIVERS)
    total = sum(told[host]["ended_per_s"] for host in DRIVERS)
    assert record.measurements["throughput_per_s"] == pytest.approx(total)
    assert record.measurements["driver_cpu_share"] == max(told[host]["driver_cpu_share"] for host in DRIVERS)
    folder = f"{run.archive.prefix}trials/{NAME}/{record.trial.id}/drivers"
    assert run.archive.store.get(f"{folder}/load3/reduced.txt")
    steps.write_report(run)
    report = (run.archive.store.get(f"{run.archive.prefix}report.html") or b"").decode()
    assert "Who drove the load" in report and "<td>load3</td>" in report
    assert run.archive.need_json("verdicts.json")["valid"]
    table = run.archive.need_json(f"platforms/{NAME}/data.json")["datasets"]["declared"][0]["table"]
    with session(connections) as db:
        inserted = db.execute(f"SELECT count(*), count(DISTINCT jkeynum) FROM {table}.documents").fetchone()
    assert inserted and inserted[0] == inserted[1] == 10_000 + record.measurements["rows_inserted"] > 10_000


@pytest.mark.long
def test_order_entry_counts_as_many_orders_as_all_logs_have(root: Path, connections: Connections) -> None:
    choices: dict[str, Any] = {"sweeps": ["transactions"], "levels": ["clients=4"]}
    run, (record,) = whole(root, connections, "ch_benchmark", **choices)
    assert (record.outcome, record.reason) == ("completed", "")
    assert [record.evidence["drivers"][host]["clients"] for host in DRIVERS] == [1, 1, 1, 1]
    (facts,) = record.evidence["driver"]["facts"].values()
    assert facts["orders_made"] == facts["new_orders_counted"] > 0
    assert run.archive.need_json("verdicts.json")["valid"]


@pytest.mark.long
def test_lookups_of_four_hosts_are_one_load_with_a_window_or_a_number_each(
    root: Path, connections: Connections
) -> None:
    chosen = ["clients=6", "lookups_per_client=300"]
    run, records = whole(root, connections, "key_value", sweeps=["concurrency"], levels=chosen, repetitions=1)
    assert {(record.outcome, record.reason) for record in records} == {("completed", "")}
    assert len(records) > 1
    for record in records:
        told = record.evidence["drivers"]
        assert [told[host]["clients"] for host in DRIVERS] == [2, 2, 1, 1]
        is_fixed = record.trial.levels["cache"] == "cold"
        assert record.samples == 1800 if is_fixed else record.samples >= 1800
        begun, ended = record.window_start_s, record.window_end_s
        assert begun and ended and 0 <= begun - told["client"]["start_s"] < 3, "all began when they were to"
        assert 0 < told["load3"]["clock_uncertainty_s"] < 0.25
        total = sum(told[host]["ended_per_s"] for host in DRIVERS)
        assert record.measurements["throughput_per_s"] <= 1.01 * total
    assert run.archive.need_json("verdicts.json")["valid"]


@pytest.mark.long
def test_a_driver_that_dies_in_the_middle_makes_the_trial_failed_and_the_others_end(
    root: Path, connections: Connections
) -> None:
    run = new_run(connections, "ycsb")
    run.catalog = Catalog(root)
    levels = ["mix=c", "clients=4", "window_s=60"]
    steps.open_run(run, {"scale": "smoke", "platforms": [NAME], "levels": levels}, {"by": "test"})

    def die() -> None:
        with run.testbed(NAME) as testbed:
            jobs = f"{testbed.fleet.work_dir('load2')}/jobs/{run.holder}/{NAME}/*"
            driving = f"cat {jobs}/log.* 2>/dev/null | head -c 1 || true"
            wait_for(lambda: testbed.fleet.run_on("load2", driving).output, "the driver")
            testbed.fleet.run_on("load2", f"pkill -KILL -s $(cat {jobs}/pid)")

    with meanwhile(die):
        (record,) = measured_whole(run, NAME)
    assert record.outcome == "failed" and record.measurements == {}
    assert record.reason.startswith("driver on host 'load2' died without an exit status"), record.reason
    assert record.evidence["drivers"]["load2"]["ended_per_s"] == 0
    with run.testbed(NAME) as testbed:
        left = testbed.fleet.run(DRIVERS, "ls work/jobs/ycsb 2>/dev/null || true")
        assert {answer.output for answer in left.values()} == {""}


@pytest.mark.long
def test_a_step_in_search_of_a_load_is_driven_by_all_hosts(root: Path, connections: Connections) -> None:
    run = new_run(connections, "order_entry")
    run.catalog = Catalog(root)
    steps.open_run(run, {"scale": "smoke", "platforms": [NAME], "sweeps": ["utilisation"]}, {"by": "test"})
    (trial,) = run.plan().trials[NAME]
    steps.take_cluster(run, NAME)
    try:
        steps.set_up_cluster(run, NAME)
        steps.generate_data(run, NAME)
        with run.testbed(NAME) as testbed:
            workload = load_workload(trial.workload)
            workload.prepare(trial, testbed.engine)
            probe = job_of(trial, testbed).beside(PROBE)
            wanted = NextLoad(ClientLoad(6, 0.0), 1)
            short, told = utilisation.start_step(trial, workload, testbed, probe, wanted)
            assert 0 < drivers.starts_in_s(told, testbed, probe) <= utilisation.START_IN_S
            found = utilisation.reading_of(short, workload, testbed, probe, told)
            utilisation.end_step(testbed, job_of(trial, testbed))
    finally:
        steps.release_cluster(run, NAME)
    assert [told["drivers"][host]["clients"] for host in DRIVERS] == [2, 2, 1, 1]
    assert found.measurements["clients_used"] == 6 and found.measurements["throughput_per_s"] > 0
