"""Repetitions become results: n of n, median, interval, best; what did not complete keeps its reason."""

from __future__ import annotations

import json
import math
import random
import statistics
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from clusterbench.base.records import Trial, TrialRecord
from clusterbench.results.statistics import (
    Summary,
    in_pairs,
    interval_95,
    p_value,
    p_value_of_two,
    ratio,
    ratio_of_two,
    ratio_to_number,
    results,
    summarise,
)
from clusterbench.workloads import load_workload
from clusterbench_lab.bench import intervals


def trial(repetition: int, **levels: Any) -> Trial:
    defaults = {name: factor.default for name, factor in load_workload("key_value").factors.items()}
    parts = ".".join(f"{name}_{level}" for name, level in levels.items())
    return Trial(
        f"lookups.{parts}.r{repetition}",
        f"lookups: {parts} (#{repetition})",
        "lab_db1",
        "lookups",
        "key_value",
        defaults | levels,
        repetition,
        7,
        3600,
        {},
    )


def completed(of: Trial, **measurements: float) -> TrialRecord:
    return TrialRecord(of, "completed", "", measurements=measurements)


THREE = [trial(number, clients=4) for number in (1, 2, 3)]


# One measurement.


@pytest.mark.parametrize("values", [[3.0], [1.0, 2.0], [9.0, 1.0, 5.0], [4.0, 1.0, 3.0, 2.0]])
def test_median_is_that_of_the_standard_library(values: list[float]) -> None:
    assert summarise(values, "s", "lower").median == statistics.median(values)


@pytest.mark.parametrize(("better", "best"), [("lower", 1.0), ("higher", 9.0), ("neither", 5.0)])
def test_best_is_by_the_direction_of_the_measurement(better: Any, best: float) -> None:
    assert summarise([9.0, 1.0, 5.0], "s", better).best == best


def test_summary_keeps_unit_count_and_values_in_their_order() -> None:
    found = summarise([9.0, 1.0, 5.0], "ms", "lower")
    assert (found.unit, found.n, found.values) == ("ms", 3, [9.0, 1.0, 5.0])


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0]])
def test_fewer_than_three_have_no_interval(values: list[float]) -> None:
    assert interval_95(values) is None


def test_of_few_it_is_students_t_of_the_logarithms() -> None:
    """Of 1, 10, 100: mean 10 and a standard error of 10 to the power of 1 / sqrt(3); t of two degrees is 4.3027."""
    low, high = interval_95([1.0, 10.0, 100.0])  # type: ignore[misc]
    assert (low, high) == pytest.approx((10 / 10 ** (4.3027 / 3**0.5), 10 * 10 ** (4.3027 / 3**0.5)), rel=1e-4)


def test_of_few_with_a_zero_among_them_it_is_students_t_of_the_values() -> None:
    low, high = interval_95([0.0, 1.0, 2.0])  # type: ignore[misc]
    assert (low, high) == pytest.approx((1 - 4.3027 / 3**0.5, 1 + 4.3027 / 3**0.5), rel=1e-4)


def test_of_many_it_is_between_ranks() -> None:
    """Of ten the second and ninth hold 97.9 %, the third and eighth 89.1 %: 95 % is between."""
    low, high = interval_95([float(n) for n in range(1, 11)])  # type: ignore[misc]
    assert 2.6 < low < 2.7
    assert low + high == pytest.approx(11)


def test_interval_of_many_knows_no_distribution() -> None:
    values = [10.0, 11.0, 12.5, 13.0, 15.0, 16.0, 17.5, 19.0]
    low, high = interval_95(values)  # type: ignore[misc]
    far = interval_95([*values[:-1], 1e9])
    assert far is not None
    assert (far[0], far[1] > high) == (low, True), "only the largest is another, and no rank is"


def test_equal_values_have_an_interval_of_no_width() -> None:
    assert interval_95([2.5] * 5) == (2.5, 2.5)


def test_interval_holds_the_median_and_stays_within_many_values() -> None:
    chooser = random.Random(1)
    for count in (3, 4, 5, 6, 10, 30):
        values = [chooser.gauss(100, 10) for _ in range(count)]
        low, high = interval_95(values)  # type: ignore[misc]
        assert low <= statistics.median(values) <= high
        assert count < 6 or (min(values) <= low and high <= max(values))


def test_interval_moves_and_grows_with_its_values() -> None:
    values = [10.0, 11.0, 12.5, 13.0, 15.0, 16.0]
    low, high = interval_95(values)  # type: ignore[misc]
    assert interval_95([10 * value + 5 for value in values]) == pytest.approx((10 * low + 5, 10 * high + 5))


def test_interval_is_of_the_median_so_one_outlier_of_many_does_not_move_it() -> None:
    calm = [10.0 + number / 100 for number in range(21)]
    low, high = interval_95(calm)  # type: ignore[misc]
    low_spoilt, high_spoilt = interval_95([*calm[:-1], 1000.0])  # type: ignore[misc]
    assert (low_spoilt, high_spoilt) == pytest.approx((low, high), abs=0.05)


def test_interval_shrinks_with_repetitions() -> None:
    chooser = random.Random(2)
    values = [chooser.gauss(100, 10) for _ in range(400)]
    widths = [high - low for low, high in (interval_95(values[:count]) for count in (10, 50, 400))]  # type: ignore[misc]
    assert all(wide > narrow for wide, narrow in pairwise(widths))


@pytest.mark.parametrize("repetitions", intervals.REPETITIONS)
@pytest.mark.parametrize("noise", intervals.NOISES)
def test_interval_covers_the_true_median_as_often_as_it_says(noise: str, repetitions: int) -> None:
    """The seed is fixed, so it is the same each time. docs/method.md has the figures."""
    assert intervals.COVERED_MIN <= intervals.covered_percent(noise, repetitions, 1000) <= 98


@pytest.mark.parametrize("noise", intervals.NOISES)
def test_true_medians_are_those_of_the_noises(noise: str) -> None:
    drawn = intervals.NOISES[noise](np.random.default_rng(5), (200_001, 1))
    assert float(np.median(drawn)) == pytest.approx(intervals.MEDIANS[noise], abs=0.0015)


# Cells.


def test_cell_is_its_repetitions_in_their_order() -> None:
    records = [completed(of, throughput_per_s=value) for of, value in zip(THREE, (300.0, 100.0, 200.0), strict=True)]
    (result,) = results({"lab_db1": [THREE[2], THREE[0], THREE[1]]}, reversed(records))
    assert (result.cell, result.label, result.n_of_n) == ("lookups.clients_4", "lookups: clients_4", "3 of 3")
    throughput = result.measurements["throughput_per_s"]
    assert (throughput.values, throughput.median, throughput.best) == ([300.0, 100.0, 200.0], 200.0, 300.0)
    assert throughput.unit == "1/s"


def test_lower_latency_is_better() -> None:
    records = [completed(of, latency_ms_p99=value) for of, value in zip(THREE, (3.0, 1.0, 2.0), strict=True)]
    assert results({"lab_db1": THREE}, records)[0].measurements["latency_ms_p99"].best == 1.0


def test_failed_repetition_is_counted_with_its_reason_and_gives_no_number() -> None:
    records = [
        completed(THREE[0], throughput_per_s=100.0),
        TrialRecord(THREE[1], "failed", "too many clients", measurements={"throughput_per_s": 1e9}),
        TrialRecord(THREE[2], "failed", "too many clients"),
    ]
    (result,) = results({"lab_db1": THREE}, records)
    assert result.n_of_n == "1 of 3"
    assert result.outcomes == {"completed": 1, "failed": 2}
    assert result.reasons == ["too many clients"]
    assert result.measurements["throughput_per_s"].values == [100.0]
    assert result.measurements["throughput_per_s"].interval_95 is None


@pytest.mark.parametrize("outcome", ["failed", "timed_out", "invalid", "not_applicable"])
def test_cell_without_a_completed_trial_is_an_answer_too(outcome: Any) -> None:
    (result,) = results(
        {"lab_db1": THREE}, [TrialRecord(of, outcome, "why", {"throughput_per_s": 1.0}) for of in THREE]
    )
    assert (result.n_of_n, result.outcomes, result.reasons) == ("0 of 3", {outcome: 3}, ["why"])
    assert result.measurements == {}


def test_trial_without_a_record_is_not_run() -> None:
    (result,) = results({"lab_db1": THREE}, [completed(THREE[0], throughput_per_s=1.0)])
    assert result.outcomes == {"completed": 1, "not_run": 2}
    assert (result.planned, result.completed, result.reasons) == (3, 1, [])


def test_record_that_was_not_planned_makes_no_cell() -> None:
    assert len(results({"lab_db1": THREE}, [completed(trial(1, clients=99), throughput_per_s=1.0)])) == 1


def test_cells_of_two_platforms_are_kept_apart() -> None:
    other = [replace(of, platform="lab_db2") for of in THREE]
    records = [completed(of, throughput_per_s=1.0) for of in THREE] + [
        completed(of, throughput_per_s=9.0) for of in other
    ]
    found = results({"lab_db2": other, "lab_db1": THREE}, records)
    assert [(one.platform, one.measurements["throughput_per_s"].median) for one in found] == [
        ("lab_db1", 1),
        ("lab_db2", 9),
    ]


def test_cells_are_in_the_order_of_their_levels_as_numbers() -> None:
    planned = [trial(1, clients=clients) for clients in (200, 1, 50, 100)]
    assert [one.levels["clients"] for one in results({"lab_db1": planned}, [])] == [1, 50, 100, 200]


def test_result_can_be_written_as_json() -> None:
    records = [completed(of, throughput_per_s=float(of.repetition)) for of in THREE]
    said = json.loads(json.dumps(results({"lab_db1": THREE}, records)[0].as_json()))
    assert said["measurements"]["throughput_per_s"]["interval_95"] == list(interval_95([1.0, 2.0, 3.0]) or ())
    assert said["levels"]["clients"] == 4


# Trials that were measured in turns.


BOTH = ("lab_db1", "lab_db2")


def of_platforms(*, in_turns: tuple[str, ...] = BOTH, without: int = 0) -> tuple[Summary, Summary]:
    """Five repetitions on two platforms, of which the second is 5 % slower, while both get slower by 10 % a trial."""
    planned = {name: [replace(trial(number, clients=4), platform=name) for number in range(1, 6)] for name in BOTH}
    records = [
        completed(of, response_time_s=times * slower * (1.10**of.repetition))
        for name, times in zip(BOTH, (1.0, 1.05), strict=True)
        for of, slower in zip(planned[name], (1.0, 1.003, 0.997, 1.001, 0.999), strict=True)
        if (name, of.repetition) != (BOTH[1], without)
    ]
    first, second = (one.measurements["response_time_s"] for one in results(planned, records, in_turns))
    return second, first


def test_what_is_slow_and_common_to_neighbours_is_not_in_their_ratio() -> None:
    slower, first = of_platforms()
    value, bounds = ratio_of_two(slower, first)
    assert value == pytest.approx(1.05) and bounds == pytest.approx((1.05, 1.05))
    assert (p_value_of_two(slower, first) or 0) < 1e-6
    by_medians = ratio(slower.values, first.values)
    assert by_medians[1] and by_medians[1][0] < 1 < by_medians[1][1], "the drift hides it"


@pytest.mark.parametrize("how", [{"in_turns": ()}, {"in_turns": BOTH[:1]}, {"without": 2}], ids=str)
def test_what_was_not_in_turns_or_lacks_a_neighbour_is_compared_by_medians(how: dict[str, Any]) -> None:
    """None is left out for the sake of pairs."""
    slower, first = of_platforms(**how)
    assert in_pairs(slower, first) == []
    assert ratio_of_two(slower, first) == ratio(slower.values, first.values)
    assert p_value_of_two(slower, first) == p_value(slower.values, first.values)


def test_two_pairs_or_a_value_of_zero_make_no_pairs() -> None:
    keys = ["a", "b", "c"]
    some = summarise([1.0, 2.0, 3.0], "s", "lower", paired_by=keys)
    assert in_pairs(some, summarise([2.0, 4.0, 3.0], "s", "lower", paired_by=keys)) == [0.5, 0.5, 1.0]
    assert in_pairs(some, summarise([0.0, 4.0, 3.0], "s", "lower", paired_by=keys)) == []
    two = [summarise([1.0, 2.0], "s", "lower", paired_by=keys[:2]) for _ in range(2)]
    assert in_pairs(*two) == []


def test_results_of_an_archive_of_before_have_no_pairs() -> None:
    slower, first = of_platforms()
    old = Summary.from_json({name: value for name, value in vars(first).items() if name != "paired_by"})
    assert old.paired_by == [] and in_pairs(slower, old) == []


@pytest.mark.parametrize("drift", intervals.DRIFTS)
@pytest.mark.parametrize("repetitions", intervals.IN_TURNS)
def test_of_equals_in_turns_as_few_are_called_different_whatever_drifts(repetitions: int, drift: float) -> None:
    assert intervals.in_turns_percent(drift, repetitions, paired=True) <= intervals.DIFFERENT_MAX


# Ratios.


def test_ratio_is_that_of_the_medians_and_inside_its_interval() -> None:
    value, bounds = ratio([10.0, 11.0, 12.0], [5.0, 5.5, 6.0])
    assert value == 2.0
    assert bounds is not None and bounds[0] <= 2.0 <= bounds[1]


def test_ratio_of_the_same_to_itself_holds_one_and_is_the_same_every_time() -> None:
    values = [1.0, 1.2, 0.9, 1.1, 1.05]
    value, bounds = ratio(values, values)
    assert value == 1.0 and bounds is not None and bounds[0] < 1 < bounds[1]
    assert ratio(values, values) == (value, bounds)


def test_ratio_that_is_far_from_one_has_an_interval_without_it() -> None:
    _, bounds = ratio([2.0, 2.1, 2.05, 1.95], [1.0, 1.1, 0.95, 1.02])
    assert bounds is not None and bounds[0] > 1.5


@pytest.mark.parametrize(("values", "reference"), [([1.0, 2.0], [1.0, 2.0, 3.0]), ([1.0, 2.0, 3.0], [1.0])])
def test_ratio_of_too_few_has_no_interval(values: list[float], reference: list[float]) -> None:
    assert ratio(values, reference)[1] is None


def test_ratio_of_few_is_welchs_of_the_logarithms() -> None:
    """Logarithms of 0, 1, 2 and 0, 0.1, 0.2: errors of 1/sqrt(3) and a tenth of it, and 2.04 degrees of freedom."""
    ours, reference = [math.exp(n) for n in (0.0, 1.0, 2.0)], [math.exp(n / 10) for n in (0.0, 1.0, 2.0)]
    value, bounds = ratio(ours, reference)
    assert value == pytest.approx(math.exp(0.9))
    reach = 4.2226 * math.sqrt((1 + 0.01) / 3)
    assert bounds == pytest.approx((math.exp(0.9 - reach), math.exp(0.9 + reach)), rel=2e-3)


def test_ratio_of_many_has_the_intervals_of_both_medians_in_it() -> None:
    ours, reference = [2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6], [1.0] * 7
    value, bounds = ratio(ours, reference)
    assert (value, bounds) == (2.3, pytest.approx(interval_95(ours), rel=5e-3)), "the reference has no spread"


def test_ratio_to_a_number_is_the_interval_of_ours_divided_by_it() -> None:
    low, high = interval_95([9.0, 10.0, 11.0])  # type: ignore[misc]
    assert ratio_to_number([9.0, 10.0, 11.0], 5.0) == (2.0, pytest.approx((low / 5, high / 5)))


def test_ratio_with_a_value_that_is_not_above_0_has_no_interval() -> None:
    assert ratio([0.0, 1.0, 2.0], [1.0, 2.0, 3.0]) == (0.5, None)
    assert ratio_to_number([-1.0, 1.0, 2.0], 2.0) == (0.5, None)


def test_ratio_to_nothing_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="a ratio to a median of 0 is no number"):
        ratio([1.0, 2.0, 3.0], [0.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="a ratio to 0 is no number"):
        ratio_to_number([1.0], 0.0)


def test_a_measurement_that_not_every_repetition_has_is_that_of_those_that_have_it() -> None:
    """A disk from which nothing was read has no mean size of a read."""
    two = [trial(1, clients=1), trial(2, clients=1)]
    records = [
        TrialRecord(two[0], "completed", "", {"throughput_per_s": 10.0, "latency_ms_p50": 1.0}),
        TrialRecord(two[1], "completed", "", {"throughput_per_s": 12.0}),
    ]
    (found,) = results({"lab_db1": two}, records)
    assert found.completed == 2
    assert (found.measurements["throughput_per_s"].n, found.measurements["latency_ms_p50"].n) == (2, 1)
    assert found.measurements["latency_ms_p50"].values == [1.0]
