"""A series' last run against its level so far: the words for each case, and how often the judge is wrong, or late."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import numpy as np
import pytest
from otava.analysis import compute_change_points
from scipy.stats import binom

from clusterbench.history import drift
from clusterbench.history.change_test import (
    P_OTAVA,
    WINDOW,
    Change,
    Policy,
    _is_split,
    change_points,
    control_false_discoveries,
    detect_change,
)
from clusterbench.history.model import Baseline, Point
from clusterbench_lab.bench.regression import (
    FALSE_MAX,
    FOUND_MIN,
    LEVEL,
    NOISES,
    YEAR,
    autocorrelated,
    false_alarms,
    found_within,
    lognormal,
    points,
    verdicts,
)

POLICY = Policy()


@cache
def noise(runs: int, sd: float = 0.01) -> tuple[float, ...]:
    return tuple(lognormal(np.random.default_rng(4), runs, sd))


def series(*levels: tuple[int, float], sd: float = 0.01) -> list[Point]:
    """So many runs at so many percent above 100, one level after the other, with noise."""
    logs = [np.log1p(percent / 100) for runs, percent in levels for _ in range(runs)]
    return points(np.array(logs) + noise(len(logs), sd))


def accepted(run_id: str) -> Baseline:
    return Baseline(run_id, "ada", datetime(2025, 1, 1, tzinfo=UTC), "new release")


# Rates, on series whose answers are known. The seeds are fixed; the bounds leave what chance may do to as many series.


@pytest.mark.long
def test_a_regression_is_told_in_few_years_of_pure_noise() -> None:
    each = 20
    wrong = sum(false_alarms(noise, 1000 + seed) > 0 for noise in NOISES.values() for seed in range(each))
    assert wrong <= binom.ppf(0.99, each * len(NOISES), FALSE_MAX)


def test_a_slowdown_of_5_percent_is_found_within_three_runs_at_2_percent_noise() -> None:
    found = [verdicts(5, 0.02, YEAR, 1000 + seed) for seed in range(200)]
    assert found_within(found)[-1] >= binom.ppf(0.01, len(found), FOUND_MIN) / len(found)


def test_a_slowdown_that_stands_out_is_found_in_every_series_within_three_runs() -> None:
    assert found_within([verdicts(10, 0.02, 26, seed) for seed in range(60)])[-1] >= 0.95
    assert found_within([verdicts(5, 0.01, 26, seed) for seed in range(60)])[-1] >= 0.95


def test_it_is_told_by_how_much_and_since_when() -> None:
    told = [verdicts(5, 0.01, 26, seed)[-1] for seed in range(60)]
    regressions = [one for one in told if one.state == "regression"]
    covered = [one.interval_95_percent for one in regressions if one.interval_95_percent]
    assert sum(low <= 5 <= high for low, high in covered) >= 0.85 * len(regressions)
    assert sum(one.at_run_id == "run026" for one in regressions) >= 0.8 * len(regressions)


def test_a_series_that_otava_is_not_asked_about_is_one_in_which_it_finds_nothing() -> None:
    chance = np.random.default_rng(6)
    made = [LEVEL * np.exp(lognormal(chance, 40) + np.repeat([0, chance.choice([0, 0.03])], 20)) for _ in range(150)]
    asked = [_is_split(numbers) for numbers in made]
    assert 40 < sum(asked) < 110
    for numbers, is_asked in zip(made, asked, strict=True):
        found, _ = compute_change_points(numbers.tolist(), window_len=80, max_pvalue=P_OTAVA, min_magnitude=0)
        assert is_asked or not found


# Each state.


def test_a_regression_says_what_by_how_much_since_when_and_how_certain() -> None:
    change = detect_change(series((30, 0), (3, 8)), "lower", POLICY)
    assert (change.state, change.at_run_id, change.runs_before, change.runs_after) == ("regression", "run030", 30, 3)
    assert change.change_percent == pytest.approx(8, abs=1.5)
    assert change.says.startswith("slower: +")
    assert "since 2024-07-29 (run run030)" in change.says
    assert "95 % interval +" in change.says
    assert "p < 0.0001" in change.says
    assert re.search(r": from [\d.]+ \(\d+ runs\) to [\d.]+ \(3 runs\)\.$", change.says)


def test_direction_is_that_of_the_measurement() -> None:
    slower = series((30, 0), (3, -8))
    assert detect_change(slower, "higher", POLICY).state == "regression"
    assert detect_change(slower, "higher", POLICY).says.startswith("slower: -")
    assert detect_change(slower, "lower", POLICY).state == "improvement"
    assert detect_change(slower, "lower", POLICY).says.startswith("faster: -")


def test_where_neither_direction_is_better_a_change_is_shown_and_no_regression() -> None:
    made = series((30, 0), (3, 8))
    change = detect_change(made, "neither", POLICY)
    assert (change.state, change.at_run_id) == ("no_change", "run030")
    assert change.says.startswith("higher: +")
    assert change.says.endswith("neither direction is better, so it is no regression.")
    assert [one.run_id for one in change_points(made, POLICY)] == ["run030"]


def test_one_slow_run_is_no_level() -> None:
    assert detect_change(series((30, 0), (1, 10)), "lower", POLICY).state == "no_change"
    assert detect_change(series((30, 0), (1, 10), (2, 0)), "lower", POLICY).state == "no_change"


def test_two_runs_beyond_all_before_are_enough_for_a_large_change() -> None:
    change = detect_change(series((30, 0), (2, 10)), "lower", POLICY)
    assert (change.state, change.runs_after) == ("regression", 2)


def test_a_change_shown_to_be_smaller_than_the_threshold_is_told_and_is_none() -> None:
    small = [
        replace(point, median=100 + (number % 3) / 5 + 3 * (number >= 30))
        for number, point in enumerate(series((36, 0)))
    ]
    change = detect_change(small, "lower", POLICY)
    assert change.state == "no_change"
    assert change.says.startswith("no change yet: the last 6 runs +3.0 % ")
    assert change.says.endswith("which is smaller than the threshold of 5 %.")
    assert detect_change(small, "lower", replace(POLICY, threshold_percent=2)).state == "regression"


def test_too_few_runs_have_no_verdict_and_it_is_said_how_many_are_missing() -> None:
    change = detect_change(series((6, 0), (3, 30)), "lower", POLICY)
    assert change == Change(
        "too_few", "too few for a verdict: 9 of 10 valid runs with a number.", at_run_id=None, runs_after=9
    )
    assert detect_change(series((6, 0), (3, 30)), "lower", Policy(runs_min=9)).state == "regression"
    assert detect_change([], "lower", POLICY).says == "too few for a verdict: 0 of 10 valid runs with a number."


def test_runs_that_are_not_valid_do_not_count_and_it_is_said_of_the_last() -> None:
    made = series((30, 0), (3, 20))
    invalid = [*made[:30], *(replace(point, is_valid=False) for point in made[30:])]
    change = detect_change(invalid, "lower", POLICY)
    assert change.state == "no_change"
    assert change.says.startswith("no change shown in 30 runs")
    assert change.says.endswith("The last run is not valid and not counted.")


def test_a_number_that_is_no_longer_there_is_told() -> None:
    made = series((21, 0))
    lost = [*made[:20], replace(made[20], median=None, n=0)]
    change = detect_change(lost, "lower", POLICY)
    assert (change.state, change.at_run_id, change.runs_before) == ("no_number", "run020", 20)
    assert change.says == "no number: completed in 20 of 20 runs before, failed this week (0 of 3)."
    longer = [*made[:19], *(replace(point, median=None, n=0) for point in made[19:])]
    assert (
        detect_change(longer, "lower", POLICY).says
        == "no number: completed in 19 of 19 runs before, failed the last 2 times."
    )


def test_a_cell_that_never_completed_is_none_that_failed_now() -> None:
    never = [replace(point, median=None, n=0) for point in series((20, 0))]
    assert detect_change(never, "lower", POLICY).state == "too_few"


def test_a_regression_stays_one_until_its_level_is_accepted() -> None:
    made = series((30, 0), (20, 8))
    change = detect_change(made, "lower", POLICY)
    assert (change.state, change.at_run_id, change.runs_after) == ("regression", "run030", 20)
    assert detect_change(made, "lower", POLICY, accepted("run030")).state == "no_change"
    assert detect_change(made[:34], "lower", POLICY, accepted("run030")).says == (
        "too few for a verdict: 4 of 10 valid runs with a number since the level accepted by ada."
    )


def test_an_accepted_level_is_what_later_runs_are_compared_with() -> None:
    change = detect_change(series((30, 0), (20, 8), (3, 17)), "lower", POLICY, accepted("run030"))
    assert (change.state, change.at_run_id, change.runs_before) == ("regression", "run050", 20)
    assert change.change_percent == pytest.approx(100 * (1.17 / 1.08 - 1), abs=2)


def test_what_was_mended_is_no_regression_any_more() -> None:
    change = detect_change(series((30, 0), (10, 8), (3, 0)), "lower", POLICY)
    assert (change.state, change.at_run_id) == ("improvement", "run040")


def test_an_improvement_is_news_for_a_while() -> None:
    made = series((30, 0), (12, -8))
    assert detect_change(made[:36], "lower", POLICY).state == "improvement"
    old = detect_change(made, "lower", POLICY)
    assert (old.state, old.at_run_id) == ("no_change", "run030")
    assert old.says.startswith("no change of late; faster: -")
    worse = detect_change([*made, *series((42, 0), (3, 0))[42:]], "lower", POLICY)
    assert (worse.state, worse.at_run_id) == ("regression", "run042")


def test_a_level_older_than_what_is_looked_at_is_forgotten() -> None:
    assert detect_change(series((30, 0), (WINDOW, 8)), "lower", POLICY).state == "no_change"


def test_a_creeping_slowdown_is_found() -> None:
    creeping = points(np.linspace(0, np.log(1.15), 60) + noise(60))
    assert detect_change(creeping, "lower", POLICY).state == "regression"


def test_numbers_without_noise_and_of_zero_have_a_verdict() -> None:
    flat = [replace(point, median=100.0) for point in series((20, 0))]
    assert detect_change(flat, "lower", POLICY).state == "no_change"
    stopped = [*flat[:17], *(replace(point, median=0.0) for point in flat[17:])]
    assert detect_change(stopped, "higher", POLICY).state == "regression"
    assert detect_change([replace(point, median=0.0) for point in flat], "higher", POLICY).state == "no_change"


# Charts, many series at once, and what is archived.


def test_change_points_are_every_level_of_the_series() -> None:
    found = change_points(series((30, 0), (25, 10), (20, -5), (3, 8)), POLICY)
    assert [one.run_id for one in found] == ["run030", "run055", "run075"]
    assert [round(one.change_percent) for one in found] == pytest.approx([10, -14, 14], abs=2)
    assert change_points(series((60, 0)), POLICY) == []
    assert change_points(series((5, 0)), POLICY) == []


def test_one_of_many_that_may_well_be_chance_is_no_change_yet() -> None:
    quiet = detect_change(series((30, 0)), "lower", POLICY)
    found = next(
        one for seed in range(100) if (one := verdicts(5, 0.02, YEAR, seed)[-1]).state == "regression"
        and (one.p_value or 0) > 0.001
    )  # fmt: skip
    assert control_false_discoveries([found])[0] == found
    (told, *_) = control_false_discoveries([found, *[quiet] * 700])
    assert told.state == "no_change"
    assert told.says.startswith("no change yet: slower: +")
    assert told.says.endswith("; but of 701 results some look like this by chance.")
    assert told.at_run_id == found.at_run_id


def test_many_that_change_at_once_stand_together() -> None:
    quiet = detect_change(series((30, 0)), "lower", POLICY)
    changed = [one for seed in range(100) if (one := verdicts(5, 0.02, YEAR, seed)[-1]).state == "regression"]
    assert len(changed) > 60
    assert control_false_discoveries([*changed, *[quiet] * 600])[: len(changed)] == changed


def test_changes_of_long_ago_do_not_let_new_ones_pass() -> None:
    """Each has a tiny p, every week again."""
    quiet = detect_change(series((30, 0)), "lower", POLICY)
    old = detect_change(series((30, 0), (20, 20)), "lower", POLICY)
    assert old.state == "regression" and old.runs_after == 20 and (old.p_value or 0) < 1e-6
    new = next(
        one for seed in range(100) if (one := verdicts(5, 0.02, YEAR, seed)[-1]).state == "regression"
        and (one.p_value or 0) > 0.001
    )  # fmt: skip
    told = control_false_discoveries([new, *[old] * 60, *[quiet] * 700])
    assert told[0].state == "no_change"
    assert told[1:61] == [old] * 60


def test_drift_is_seen_in_many_series_and_makes_a_mean_less_sure() -> None:
    chance = np.random.default_rng(4)
    quiet, drifts = ([made(chance, YEAR) for _ in range(60)] for made in (lognormal, autocorrelated))
    assert drift.alikeness(quiet) < 0.1
    assert drift.alikeness(drifts) == pytest.approx(0.3, abs=0.1)
    assert drift.alikeness(drifts[:5]) == 0, "too few to tell"
    slower = [values + np.where(np.arange(YEAR) >= YEAR - 3, 0.3, 0) for values in quiet]
    assert drift.alikeness(slower) < 0.1, "a platform that has become slower of late does not drift"
    once = [values + np.where(np.arange(YEAR) >= YEAR // 2, 0.3, 0) for values in quiet]
    assert drift.alikeness(once) < 0.2, "nor one that became so long ago"
    assert drift.variance_of_mean(5, 0) == pytest.approx(0.2)
    means = [autocorrelated(chance, 55)[50:].mean() for _ in range(4000)]
    assert np.var(means) / 0.02**2 == pytest.approx(drift.variance_of_mean(5, 0.3), rel=0.1)


@pytest.mark.long
def test_noise_that_drifts_gives_no_more_false_alarms_than_other_noise() -> None:
    years = [false_alarms(autocorrelated, seed) > 0 for seed in range(100)]
    assert np.mean(years) <= 0.09, "17 % where nobody knows that it drifts"


def test_those_without_a_verdict_are_not_among_those_judged() -> None:
    lost, few = Change("no_number", "no number"), Change("too_few", "too few")
    assert control_false_discoveries([lost, few]) == [lost, few]
    assert control_false_discoveries([]) == []


def test_a_change_is_the_same_after_json() -> None:
    for made in (series((30, 0), (3, 8)), series((3, 0))):
        change = detect_change(made, "lower", POLICY)
        assert Change.from_json(change.as_json()) == change
