"""What the bench of a slower server makes of runs whose noise, and whose slowdown, are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusterbench_lab.bench.same_runs import slower
from clusterbench_lab.bench.slower_server import COMMIT_DELAY_US, tables
from tests.results.test_same_runs import drawn

PLATFORMS = 2
"""Of the captured run."""
RUNS = 6


def test_a_slower_server_is_told_from_equal_ones_by_cell_and_measurement() -> None:
    equal, *others = (
        [replace(slower(run, times), name=f"{run.name}-{times:g}") for run in drawn(RUNS, 0.003, 0.003, seed)]
        for seed, times in ((1, 1.0), (2, 1.05), (3, 1.1))
    )
    found = {
        delay_us: (times, told)
        for delay_us, times, told in tables(dict(zip(COMMIT_DELAY_US, [equal, *others], strict=True)))
    }
    for delay_us, really in zip(COMMIT_DELAY_US, (1.0, 1.05, 1.1), strict=True):
        times, told = found[delay_us]
        assert set(told) == {"two runs", "two runs, 5 others known", "three and three"}
        assert set(told["two runs"]) == set(times), "each cell's one measurement"
        assert list(times.values()) == pytest.approx([really] * len(times), rel=0.005)
        of_all = [each for of_pairs in told["three and three"].values() for each in of_pairs]
        assert sum(of_all) <= 0.1 * len(of_all) if really == 1 else all(of_all)
    pairs = [len(next(iter(found[delay_us][1]["two runs"].values()))) for delay_us in COMMIT_DELAY_US]
    assert pairs == [PLATFORMS * RUNS * (RUNS - 1) / 2, *[PLATFORMS * RUNS**2] * 2]
