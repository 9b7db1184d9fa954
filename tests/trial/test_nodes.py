"""Which hosts are the nodes of a platform, and what the record says of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.nodes import nodes_of, told
from clusterbench.workloads import load_workload

CATALOG = Catalog(project_root())
LIMITED = {"cpus": 2.0, "cpus_allotted": 0.5}


def record(platform: str, **neighbours: float | None) -> TrialRecord:
    trial = Trial("t.r1", "t", platform, "lite", "tpcds", {}, 1, 1, 60, {})
    telemetry: dict[str, Any] = {
        name: {"boot_id": "one", "mean": LIMITED | {"cpu_allotted_percent": percent}}
        for name, percent in (("vm1", 90.0), ("vm2", 80.0), ("vm3", 70.0), ("vm4", 80.0))
    }
    return TrialRecord(
        trial, "completed", "", measurements={"response_time_s": 20.0}, window_start_s=100.0, window_end_s=120.0,
        evidence={"neighbours": {name: {"round_s": round_s} for name, round_s in neighbours.items()}},
        telemetry=telemetry,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("platform", "nodes"),
    [
        ("lab_ideal", []),
        ("lab_base", ["vm1", "vm2"]),
        ("lab_oversubscribed", ["vm1", "vm2", "vm3", "vm4"]),
        ("density_ideal", [f"sdw{number}" for number in range(1, 9)]),
        ("lab_db1", []),
    ],
)
def test_nodes_are_segment_hosts_or_vms_with_a_server_each(platform: str, nodes: list[str]) -> None:
    assert list(nodes_of(CATALOG.platform(platform))) in (nodes, nodes[:1])
    assert len(nodes_of(CATALOG.platform(platform))) == len(nodes)


def test_each_vm_has_its_time_and_its_processor_time() -> None:
    found = told(record("lab_oversubscribed", vm2=25.0, vm3=20.0, vm4=22.0), CATALOG.platform("lab_oversubscribed"),
                 load_workload("tpcds"))  # fmt: skip
    assert found.evidence["nodes"]["vm1"] == {"cpu_s": 9.0, "time_s": 20.0}
    assert found.evidence["nodes"]["vm2"] == {"cpu_s": 8.0, "time_s": 25.0}
    assert found.measurements["node_time_max_over_min"] == pytest.approx(1.25)
    assert found.measurements["node_cpu_max_over_mean"] == pytest.approx(9 / 8)
    assert "node_disk_max_over_mean" not in found.measurements, "the disks are the one machine's"


def test_neighbour_that_ended_no_round_leaves_times_without_a_spread() -> None:
    found = told(record("lab_base", vm2=None), CATALOG.platform("lab_base"), load_workload("tpcds"))
    assert found.evidence["nodes"]["vm2"] == {"cpu_s": 8.0}
    assert "node_time_max_over_min" not in found.measurements


def test_trial_that_failed_tells_its_nodes_and_has_no_number() -> None:
    failed = replace(record("lab_base", vm2=30.0), outcome="failed", measurements={})
    found = told(failed, CATALOG.platform("lab_base"), load_workload("tpcds"))
    assert (found.measurements, found.evidence["nodes"]["vm1"]) == ({}, {"cpu_s": 9.0})


def test_workload_that_does_not_ask_and_a_platform_of_one_node_have_none() -> None:
    one = record("lab_base", vm2=25.0)
    assert told(one, CATALOG.platform("lab_base"), load_workload("full_scan")) == one
    assert told(one, CATALOG.platform("lab_ideal"), load_workload("tpcds")) == one
