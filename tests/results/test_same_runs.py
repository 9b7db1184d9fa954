"""What the bench of equal runs makes of runs whose noise is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clusterbench.results.compare import OneRun
from clusterbench.results.gather import read_run
from clusterbench_lab.bench.same_runs import PLANTED, tables
from tests.report.test_report import CAPTURED
from tests.results.test_compare import archive_in


def drawn(count: int, between: float, within: float, seed: int = 3, results_max: int | None = None) -> list[OneRun]:
    """Equal runs: each has something in common for all repetitions of a cell, and each of these its own."""
    chance, captured = np.random.default_rng(seed), read_run(archive_in(CAPTURED / "retail" / "l1"))
    runs = []
    for number in range(count):
        results = []
        for result in captured.results[:results_max]:
            level = float(np.exp(between * chance.standard_normal()))
            values = [float(level * np.exp(within * chance.standard_normal())) for _ in range(3)]
            measured = {
                name: replace(summary, values=values, median=float(np.median(values)), n=3)
                for name, summary in result.measurements.items()
                if name == "response_time_s"
            }
            results.append(replace(result, measurements=measured))
        runs.append(replace(captured, name=f"retail/run{number:02}", results=results))
    return runs


@pytest.mark.long
def test_what_differs_from_run_to_run_is_seen_as_that() -> None:
    """By repetitions alone two thirds of the equal are told as different, where runs differ by more than these."""
    made = drawn(22, 0.03, 0.005, results_max=4)  # all of them take three times as long, and tell the same
    found = {how: {times: alone / n for times, (n, alone, _) in told.items()} for how, told in tables(made)}
    assert set(found) == {
        "two runs, by their repetitions",
        *(f"two runs, {earlier} others known" for earlier in (5, 10, 20)),
        "three and three runs",
    }
    assert found["two runs, by their repetitions"][1.0] > 0.5
    for how in ("two runs, 10 others known", "two runs, 20 others known", "three and three runs"):
        assert found[how][1.0] < 0.08, how
        assert found[how][1.0] < found[how][1.05] < found[how][1.1], how
    assert found["three and three runs"][1.1] > 0.6


def test_of_all_at_once_fewer_are_told_than_alone() -> None:
    for how, told in tables(drawn(9, 0.01, 0.01)):
        assert set(told) == set(PLANTED)
        for n, alone, at_once in told.values():
            assert n >= alone >= at_once, how
