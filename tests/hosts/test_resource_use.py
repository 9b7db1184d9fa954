"""The system's side: what the database's hosts did, as numbers of a trial."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.base import database_work
from clusterbench.base.measurements import Phase
from clusterbench.hosts import resource_use


def host(boot: str, percent: float, allotted: float, cpus: float = 2.0, **means: float) -> dict[str, Any]:
    counted = {"disk_iops": 100.0, "disk_read_mb_per_s": 1.0, "disk_write_mb_per_s": 2.0, "load_1_min": 3.0}
    used = {"cpus": cpus, "cpus_allotted": allotted, "cpu_allotted_percent": percent}
    return {"boot_id": boot, "mean": counted | used | means}


def test_machines_are_summed_and_processors_weigh() -> None:
    seen = {"a": host("one", 80.0, 6, 6, load_1_min=5.0), "b": host("two", 40.0, 2)}
    found = resource_use.measure(seen, ["a", "b"], 560.0)
    assert found["cpu_percent"] == pytest.approx(70.0)  # 4.8 and 0.8 of 8 processors
    assert found["transactions_per_cpu_s"] == pytest.approx(100.0)
    assert (found["disk_iops"], found["disk_mb_per_s"], found["load_1_min"]) == (200.0, 6.0, 4.0)


def test_hosts_that_share_a_machine_count_its_devices_once() -> None:
    found = resource_use.measure({"a": host("one", 80.0, 0.5), "b": host("one", 60.0, 0.5)}, ["a", "b"], 70.0)
    assert (found["disk_iops"], found["load_1_min"]) == (100.0, 3.0)
    assert found["cpu_percent"] == pytest.approx(70.0)
    assert found["transactions_per_cpu_s"] == pytest.approx(100.0)  # 0.4 and 0.3 processors, each its own


def test_hosts_without_limits_on_one_machine_have_its_processors_once() -> None:
    found = resource_use.measure({"a": host("one", 50.0, 2), "b": host("one", 50.0, 2)}, ["a", "b"], 100.0)
    assert (found["cpu_percent"], found["transactions_per_cpu_s"]) == (50.0, 100.0)


def test_what_one_host_does_not_tell_is_no_number_of_the_others() -> None:
    silent = host("two", 40.0, 2)
    del silent["mean"]["disk_iops"], silent["mean"]["cpu_allotted_percent"]
    found = resource_use.measure({"a": host("one", 80.0, 2), "b": silent}, ["a", "b"], 100.0)
    assert not {"disk_iops", "cpu_percent", "transactions_per_cpu_s", "interrupts_per_s"} & set(found)
    assert found["disk_mb_per_s"] == 6.0


@pytest.mark.parametrize("seen", [{}, {"a": {"samples": 0}}])
def test_no_telemetry_gives_no_number(seen: dict[str, Any]) -> None:
    assert resource_use.measure(seen, ["a"], 100.0) == {}
    assert resource_use.measure(seen, [], 100.0) == {}


def test_a_workload_without_throughput_has_none_for_a_processor() -> None:
    assert "transactions_per_cpu_s" not in resource_use.measure({"a": host("one", 80.0, 2)}, ["a"], None)


def test_every_number_that_can_be_had_has_a_unit_and_a_title() -> None:
    everything = dict.fromkeys([*resource_use.SUMS, *resource_use.DISK, *resource_use.SWAP], 1.0)
    found = resource_use.measure({"a": host("one", 80.0, 2, **everything)}, ["a"], 1.0)
    assert set(found) == {*resource_use.MEASUREMENTS, *database_work.NETWORK}


def test_sizes_are_of_all_reads_and_writes_and_not_means_of_hosts() -> None:
    reading = {"disk_reads_per_s": 900.0, "disk_writes_per_s": 0.0, "disk_read_mb_per_s": 9.0}
    writing = {"disk_reads_per_s": 300.0, "disk_writes_per_s": 800.0, "disk_read_mb_per_s": 2.4}
    seen = {"a": host("one", 50.0, 2, **reading, disk_write_mb_per_s=0.0)}
    seen["b"] = host("two", 50.0, 2, **writing, disk_write_mb_per_s=12.8)
    found = resource_use.measure(seen, ["a", "b"], None)
    assert found["disk_reads_percent"] == pytest.approx(60.0)
    assert found["disk_read_kb_mean"] == pytest.approx(9.5)
    assert found["disk_write_kb_mean"] == pytest.approx(16.0)
    assert (found["disk_reads_per_s"], found["disk_writes_per_s"]) == (1200.0, 800.0)


def test_disks_that_did_nothing_have_no_size_of_an_access() -> None:
    idle = {"disk_reads_per_s": 0.0, "disk_writes_per_s": 0.0}
    found = resource_use.measure({"a": host("one", 50.0, 2, **idle)}, ["a"], None)
    assert not set(resource_use.ACCESSES) & set(found)
    assert found["disk_reads_per_s"] == 0.0


def test_what_is_swapped_in_and_out_is_one_number() -> None:
    swapping = {"swap_in_mb_per_s": 1.5, "swap_out_mb_per_s": 2.0}
    assert resource_use.measure({"a": host("one", 50.0, 2, **swapping)}, ["a"], None)["swap_mb_per_s"] == 3.5


# By phase.

GEN, VALIDATE = Phase("TeraGen", 0.0, 20.0, 1e9), Phase("TeraValidate", 30.0, 40.0, 1e9)


def phased(boot: str, **sums: float) -> dict[str, Any]:
    return {"boot_id": boot, "phases": {phase.name: dict(sums) for phase in (GEN, VALIDATE)}}


def test_phases_are_summed_over_machines_by_their_length_and_by_the_dataset() -> None:
    seen = {
        "a": phased("one", disk_write_bytes=2e9, disk_read_bytes=1e9, network_sent_bytes=3e8),
        "b": phased("two", disk_write_bytes=1e9, disk_read_bytes=1e9, network_sent_bytes=2.5e8),
        "client": phased("three", network_sent_bytes=9e9),
    }
    found = resource_use.measure_phases(seen, ["a", "b"], [GEN, VALIDATE])
    assert found["teragen_disk_write_mb_per_s"] == pytest.approx(150.0)
    assert found["teravalidate_disk_read_mb_per_s"] == pytest.approx(200.0)
    assert found["teragen_network_sent_mb_per_s"] == pytest.approx(27.5)
    assert found["teravalidate_network_share"] == pytest.approx(0.55)


def test_addresses_of_one_machine_have_no_network_between_them() -> None:
    seen = {name: phased("one", disk_write_bytes=2e9, network_sent_bytes=1.0) for name in ("a", "b")}
    found = resource_use.measure_phases(seen, ["a", "b"], [GEN])
    assert found["teragen_disk_write_mb_per_s"] == pytest.approx(100.0), "what one machine did is counted once"
    assert not [name for name in found if "network" in name]


@pytest.mark.parametrize("lost", [{}, {"boot_id": "two"}], ids=["not watched", "without samples"])
def test_machine_that_was_not_watched_leaves_no_sum(lost: dict[str, Any]) -> None:
    seen = {"a": phased("one", disk_write_bytes=2e9), "b": lost}
    assert resource_use.measure_phases(seen, ["a", "b"], [GEN]) == {}


def test_phase_that_does_not_tell_its_dataset_has_no_share() -> None:
    seen = {"a": phased("one", network_sent_bytes=1e9), "b": phased("two", network_sent_bytes=1e9)}
    found = resource_use.measure_phases(seen, ["a", "b"], [Phase("map-shuffle", 0.0, 10.0)])
    assert "map_shuffle_disk_read_mb_per_s" in found and "map_shuffle_network_share" not in found
