"""Samples of a hypervisor -> means in a window."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.machines.usage import HOST, MACHINE, between_notes, covered, mean, means


def test_a_sample_counts_with_the_part_of_its_interval_that_is_in_the_window() -> None:
    series = [(20.0, 100.0), (40.0, 50.0), (60.0, 10.0)]
    assert mean(series, 20, 20, 40) == 50
    assert mean(series, 20, 10, 40) == pytest.approx((10 * 100 + 20 * 50) / 30)
    assert mean(series, 20, 45, 50) == 10
    assert mean(series, 20, 61, 70) is None


def test_how_much_of_the_window_the_samples_tell_of() -> None:
    assert covered([(20.0, 1.0)], 20, 0, 40) == 0.5
    assert covered([(20.0, 1.0), (40.0, 1.0)], 20, 5, 35) == 1.0
    assert covered([], 20, 5, 35) == 0.0
    assert covered([(20.0, 1.0)], 20, 5, 5) == 0.0


def test_ready_time_is_a_percentage_of_the_time_of_all_vcpus() -> None:
    """4 vCPUs that were ready for 8 s of 20 s in all: a tenth of the 80 s that they had."""
    series = {"cpu.ready.summation": [(20.0, 8000.0)], "cpu.usage.average": [(20.0, 5025.0)]}
    found = means(MACHINE, series, 20, (0, 20), vcpus=4)
    assert found == {"cpu_percent": 50.25, "cpu_ready_percent": 10.0}


def test_what_was_not_told_is_left_out_and_not_zero() -> None:
    assert means(HOST, {}, 20, (0, 20)) == {}


def noted(at_s: float, ran_s: float, **more: Any) -> dict[str, Any]:
    """4 vCPUs that ran ``ran_s`` in all so far, and waited for processors half as long; a host of 8."""
    domain = {
        "at_s": at_s,
        "vcpu.current": 4,
        "cpu.time": ran_s * 1e9,
        "vcpu.delay": ran_s * 5e8,
        "block.rd.bytes": at_s * 1024 * 10,
    }
    host = {"cpu.user": at_s * 2e9, "cpu.kernel": 0, "cpu.idle": at_s * 6e9, "cpu.iowait": 0, "at_s": at_s}
    return {
        "at_s": at_s,
        "machines": {"vm": domain},
        "hosts": {"h": host},
        "others": {"x": {**domain, "on": "h"}},
        **more,
    }


def test_totals_around_a_window_are_means_over_what_is_between_them() -> None:
    notes = [noted(0, 0), noted(100, 50), noted(200, 250), noted(300, 999)]
    found = between_notes(["vm"], ["h"], (110, 160), notes)
    assert found["machines"] == {"vm": {"disk_read_kib_per_s": 10.0, "cpu_percent": 50.0, "cpu_ready_percent": 25.0}}
    assert found["hosts"] == {"h": {"cpu_percent": 25.0}}
    assert found["others"]["x"]["on"] == "h" and found["others"]["x"]["cpu_percent"] == 50.0
    assert (found["interval_s"], found["window_share"], found["covered"]) == (100, 0.5, 1.0)
    assert "keeps no samples" in found["remark"]


@pytest.mark.parametrize("notes", [[], [noted(100, 5)], [noted(120, 5), noted(200, 9)], [noted(0, 5), noted(150, 9)]])
def test_without_totals_on_both_sides_nothing_is_told(notes: list[dict[str, Any]]) -> None:
    found = between_notes(["vm"], ["h"], (110, 160), notes)
    assert found["machines"] == found["hosts"] == found["others"] == {} and found["covered"] == 0
    assert "is not known" in found["problem"]


def test_totals_of_a_machine_that_was_started_meanwhile_tell_nothing() -> None:
    """They began again; and of one that came or went there is only one of both."""
    anew = between_notes(["vm"], ["h"], (110, 160), [noted(100, 50), noted(200, 3)])
    gone = between_notes(["vm"], ["h"], (110, 160), [noted(100, 50), noted(200, 60, machines={})])
    assert anew["machines"] == gone["machines"] == {} and anew["covered"] == gone["covered"] == 0
    assert anew["hosts"] == gone["hosts"] == {"h": {"cpu_percent": 25.0}}
