"""One load from four client hosts against one real PostgreSQL: summed, told by host, and nothing lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterbench.base.connections import Connections
from clusterbench.base.records import TrialRecord
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.spec.catalog import Catalog
from tests.declared import project_with
from tests.integration.helpers import measured_whole, new_run
from tests.integration.test_declared import session

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


def test_order_entry_counts_as_many_orders_as_all_logs_have(root: Path, connections: Connections) -> None:
    choices: dict[str, Any] = {"sweeps": ["transactions"], "levels": ["clients=4"]}
    run, (record,) = whole(root, connections, "ch_benchmark", **choices)
    assert (record.outcome, record.reason) == ("completed", "")
    assert [record.evidence["drivers"][host]["clients"] for host in DRIVERS] == [1, 1, 1, 1]
    (facts,) = record.evidence["driver"]["facts"].values()
    assert facts["orders_made"] == facts["new_orders_counted"] > 0
    assert run.archive.need_json("verdicts.json")["valid"]
