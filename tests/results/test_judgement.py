"""Verdicts of ratios: how often they are wrong on numbers whose truth is known, and how they read."""

from __future__ import annotations

import numpy as np
import pytest

from clusterbench.base.measurements import Better
from clusterbench.results.judgement import compare_two, describe_ratio
from clusterbench.results.statistics import summarise
from clusterbench_lab.bench.intervals import DIFFERENT_MAX, NOISES, PAIRS, different_percent

# How often they are right.


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("repetitions", PAIRS)
def test_equals_are_called_different_once_in_twenty_at_most(noise: str, repetitions: tuple[int, int]) -> None:
    assert 0.5 < different_percent(noise, repetitions, count=1000) < DIFFERENT_MAX


@pytest.mark.parametrize(("repetitions", "found_at_least"), [(5, 0.99), (3, 0.9)])
def test_ten_percent_more_time_is_found_at_two_percent_of_noise(repetitions: int, found_at_least: float) -> None:
    chance = np.random.default_rng(3)
    slow, fast = (NOISES["normal, 2 %"](chance, (400, repetitions)) for _ in range(2))
    words = [
        compare_two(summarise(a, "s", "lower"), summarise(b, "s", "lower"), "lower")[1].word
        for a, b in zip((1.1 * slow).tolist(), fast.tolist(), strict=True)
    ]
    assert words.count("slower") / 400 >= found_at_least
    assert "faster" not in words


# How they read.


@pytest.mark.parametrize(
    ("value", "bounds", "better", "unit", "says"),
    [
        (1.12, (1.08, 1.16), "lower", "s", "12 % slower (8 to 16 %)"),
        (1.12, (1.08, 1.16), "higher", "1/s", "12 % faster (8 to 16 %)"),
        (0.88, (0.84, 0.92), "lower", "ms", "12 % faster (8 to 16 %)"),
        (0.88, (0.84, 0.92), "higher", "MB/s", "12 % slower (8 to 16 %)"),
        (1.004, (1.0012, 1.0068), "lower", "s", "0.4 % slower (0.12 to 0.68 %)"),
        (3.12, (2.9, 3.34), "lower", "s", "slower: 3.1 times as long (2.9 to 3.3)"),
        (3.12, (2.9, 3.34), "higher", "1/s", "faster: 3.1 times as much (2.9 to 3.3)"),
        (112.0, (98.0, 130.0), "lower", "s", "slower: 112 times as long (98 to 130)"),
        (1.12, (1.08, 1.16), "neither", "%", "12 % higher (8 to 16 %)"),
        (0.88, (0.84, 0.92), "neither", "1/s", "12 % lower (8 to 16 %)"),
        (1.12, (1.08, 1.16), "lower", "1/s", "12 % higher (8 to 16 %), which is worse"),
        (1.12, (1.08, 1.16), "higher", "1", "12 % higher (8 to 16 %), which is better"),
        (1.02, (0.96, 1.08), "lower", "s", "no difference shown (4 % faster to 8 % slower)"),
        (1.02, (0.96, 1.08), "higher", "1/s", "no difference shown (4 % slower to 8 % faster)"),
        (1.0, (1.0, 1.0), "lower", "s", "no difference shown"),
        (1.2, None, "lower", "s", "not comparable: an interval needs 3 repetitions on either side"),
        (None, None, "lower", "s", "not comparable: a side has no number"),
    ],
)
def test_sentence(
    value: float | None, bounds: tuple[float, float] | None, better: Better, unit: str, says: str
) -> None:
    judgement = describe_ratio(value, bounds, better, unit)
    assert judgement.says == says
    assert judgement.word in says


def test_refusal_goes_before_the_numbers_and_says_why() -> None:
    judgement = describe_ratio(1.2, (1.1, 1.3), "lower", "s", refused="another moon")
    assert (judgement.word, judgement.says) == ("not comparable", "not comparable: another moon")


def test_facts_that_decide_are_said_with_the_verdict() -> None:
    one = describe_ratio(1.12, (1.08, 1.16), "lower", "s", deciding=["kernel"])
    assert one.full == "12 % slower (8 to 16 %), with 1 important difference: kernel"
    many = describe_ratio(1.12, (1.08, 1.16), "lower", "s", deciding=["kernel", "cpu_model", "cpus", "disk", "numa"])
    assert many.full.endswith("with 5 important differences: kernel, cpu model, cpus, disk, …")
    assert many.says == one.says
    refused = describe_ratio(None, None, "lower", "s", deciding=["kernel"])
    assert refused.full == refused.says


@pytest.mark.parametrize(
    ("ours", "reference", "says"),
    [
        ([0.0] * 3, [0.0] * 3, "no difference shown: all values are 0"),
        ([1.0] * 3, [0.0] * 3, "not comparable: a ratio needs values above 0"),
        ([0.0, 1.0, 1.0], [1.0] * 3, "not comparable: a ratio needs values above 0"),
        ([-1.0, 1.0, 1.0], [1.0] * 3, "not comparable: a ratio needs values above 0"),
        ([1.0] * 3, [1.0] * 2, "not comparable: an interval needs 3 repetitions, A has 2"),
    ],
)
def test_values_that_have_no_ratio(ours: list[float], reference: list[float], says: str) -> None:
    sides = summarise(ours, "1", "neither"), summarise(reference, "1", "neither")
    assert compare_two(*sides, "neither", names=("B", "A"))[1].says == says


def test_side_without_a_number_is_named() -> None:
    side = summarise([1.0] * 3, "s", "lower")
    assert compare_two(None, side, "lower", names=("B", "A"))[1].says == "not comparable: B has no number"
    assert compare_two(None, None, "lower", names=("B", "A"))[1].says == "not comparable: B and A have no number"
