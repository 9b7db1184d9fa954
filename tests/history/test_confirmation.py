"""What measuring again at once makes of a suspicion. How often it is right is measured by the bench."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clusterbench.history.confirmation import (
    OTHERS_MIN,
    RUNS,
    SUSPECT_SD,
    Confirmation,
    Measured,
    by_turns,
    judge,
    moved_as_a_whole,
    suspicion,
)
from clusterbench_lab.bench import confirmation as bench

NOISE = 0.02


def logs(runs: int, shift: float = 0.0, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(shift, NOISE, runs)


def measured(shift: float, runs: int = RUNS, seed: int = 0) -> Measured:
    return Measured(logs(26, seed=seed), logs(runs, shift, seed + 100))


OTHERS = [measured(0.0, seed=seed) for seed in range(1, 7)]


def one(shift: float, others: list[Measured] = OTHERS, worse: int = 1, moved: float = 0.0) -> Confirmation:
    return judge([measured(shift)], others, moved, [worse], 5.0)[0]


def test_a_slowdown_is_confirmed_and_noise_is_not() -> None:
    slower = one(0.08)
    assert slower.word == "confirmed"
    assert slower.change_percent == pytest.approx(8.3, abs=2)
    assert slower.interval_95_percent is not None
    assert slower.interval_95_percent[0] < 8.3 < slower.interval_95_percent[1]
    assert "confirmed: measured again in 6 runs at once, +" in slower.says
    assert one(0.0).word == "not confirmed"


def test_percents_are_of_the_number_itself() -> None:
    """A throughput: the logarithms have the other sign, as more is worse in them."""
    lower = one(0.08, worse=-1)
    assert lower.word == "confirmed"
    assert lower.change_percent == pytest.approx(-7.7, abs=2)


def test_what_runs_of_few_cells_do_to_all_is_taken_off() -> None:
    all_slower = [measured(0.08, seed=seed) for seed in range(1, 7)]
    found = one(0.08, all_slower)
    assert found.word == "not confirmed"
    assert found.others_percent == pytest.approx(8, abs=2)
    assert "of others beside it taken off" in found.says


def test_not_where_the_whole_platform_looked_worse_before() -> None:
    all_slower = [measured(0.08, seed=seed) for seed in range(1, 7)]
    assert one(0.08, all_slower, moved=0.08).word == "confirmed"
    assert moved_as_a_whole([SUSPECT_SD] * 8 + [0.0] * 2, [0.08] * 10) == pytest.approx(0.08)
    assert moved_as_a_whole([SUSPECT_SD] * 7 + [0.0] * 3, [0.08] * 10) == 0.0


def test_with_few_others_nothing_is_taken_off() -> None:
    few = [measured(0.08, seed=seed) for seed in range(1, OTHERS_MIN)]
    assert one(0.08, few).word == "confirmed"
    assert one(0.08, few).others_percent is None


def test_a_change_that_is_certainly_below_the_threshold_is_none() -> None:
    quiet = Measured(logs(26) / 20, logs(RUNS) / 20 + 0.02)
    found = judge([quiet], [], 0.0, [1], 5.0)[0]
    assert found.word == "not confirmed"
    assert found.p_value is not None and found.p_value < 0.0001


def test_runs_that_failed_tell_nothing() -> None:
    found = judge([measured(0.08, runs=2)], OTHERS, 0.0, [1], 5.0)[0]
    assert (found.word, found.runs, found.change_percent) == ("not enough", 2, None)
    assert found.says == "measured again, but only 2 of the runs have a number"
    assert Confirmation.from_json(found.as_json()) == found


def test_of_many_more_is_asked() -> None:
    """A p that would do for one of one is chance among a hundred."""
    weak = measured(0.026)
    alone = judge([weak], OTHERS, 0.0, [1], 1.0)[0]
    assert alone.word == "confirmed"
    noise = [measured(0.0, seed=seed) for seed in range(200, 300)]
    assert judge([weak, *noise], OTHERS, 0.0, [1] * 101, 1.0)[0].word == "not enough"


def test_suspicion_is_in_standard_deviations_of_the_level() -> None:
    level = np.array([-0.02, 0.0, 0.02])
    assert suspicion(level, 0.04) == pytest.approx(2.0)
    assert suspicion(level, -0.04) == pytest.approx(-2.0)


@pytest.mark.parametrize(("percent", "least", "most"), [(5.0, 0.8, 1.0), (0.0, 0.0, 0.05)])
def test_as_often_right_as_the_page_says(percent: float, least: float, most: float) -> None:
    told = [bench.told(percent, NOISE, 26, 0.0, seed) for seed in range(60)]
    assert least <= np.mean(told) <= most


def test_a_setting_that_changed_is_measured_both_ways_and_says_what_it_does() -> None:
    turns = ("shared_buffers", "8GB", "1GB")
    said = by_turns([(100 + n, 1.08 * (100 + n) + n / 10) for n in range(6)], *turns)
    assert said.startswith("shared_buffers 1GB and 8GB in turns, in 6 runs: the setting makes +8.")
    assert by_turns([(100, 108)] * 2, *turns).endswith("too few runs have a number")
