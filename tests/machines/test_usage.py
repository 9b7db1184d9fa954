"""Samples of a hypervisor -> means in a window."""

from __future__ import annotations

import pytest

from clusterbench.machines.usage import HOST, MACHINE, covered, mean, means


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
