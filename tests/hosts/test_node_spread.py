"""How far nodes differ in what they do at the same time."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.hosts.node_spread import spread, work


def seen(
    boot: str, percent: float, allotted: float = 16.0, cpus: float = 16.0, megabytes: float = 10.0
) -> dict[str, Any]:
    means = {"cpus": cpus, "cpus_allotted": allotted, "cpu_allotted_percent": percent}
    return {"boot_id": boot, "mean": means | {"disk_read_mb_per_s": megabytes, "disk_write_mb_per_s": 2.0}}


def test_cpu_seconds_and_bytes_are_those_of_the_window() -> None:
    found = work({"sdw1": seen("a", 50.0), "sdw2": seen("b", 25.0, megabytes=4.0)}, ["sdw1", "sdw2"], 100.0)
    assert found == {"sdw1": {"cpu_s": 800, "disk_bytes": 1.2e9}, "sdw2": {"cpu_s": 400, "disk_bytes": 6e8}}
    assert spread(found) == {
        "node_cpu_max_over_mean": pytest.approx(800 / 600),
        "node_disk_max_over_mean": pytest.approx(1.2 / 0.9),
    }


def test_hosts_of_one_machine_have_no_disks_of_their_own_and_no_processors_without_a_limit() -> None:
    found = work({"a": seen("x", 50.0), "b": seen("x", 50.0)}, ["a", "b"], 100.0)
    assert found == {"a": {}, "b": {}}
    limited = {name: seen("x", percent, 0.5, 2.0) for name, percent in (("a", 80.0), ("b", 40.0))}
    found = work(limited, ["a", "b"], 10.0)
    assert found == {"a": {"cpu_s": 4.0}, "b": {"cpu_s": 2.0}}
    assert spread(found) == {"node_cpu_max_over_mean": pytest.approx(4 / 3)}


def test_what_one_node_does_not_tell_has_no_spread() -> None:
    found = work({"a": seen("x", 50.0), "b": {"samples": 0}}, ["a", "b"], 10.0)
    assert (found["b"], spread(found)) == ({}, {})


def test_times_are_the_longest_over_the_shortest() -> None:
    assert spread({"a": {"time_s": 30.0}, "b": {"time_s": 20.0}, "c": {"time_s": 25.0}}) == {
        "node_time_max_over_min": 1.5
    }


@pytest.mark.parametrize("nodes", [{}, {"a": {"cpu_s": 1.0}}, {"a": {"cpu_s": 0.0}, "b": {"cpu_s": 0.0}}])
def test_one_node_or_nothing_done_has_no_spread(nodes: dict[str, dict[str, float]]) -> None:
    assert spread(nodes) == {}
