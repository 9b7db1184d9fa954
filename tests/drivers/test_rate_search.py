"""The highest rate below a limit of latency, looked for where the answer is known."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from clusterbench.drivers.rate_search import (
    STEPS_MAX,
    RateFound,
    RateNotFound,
    RateStep,
    long_of,
    why_not_held,
)
from clusterbench_lab.bench import rate_search as bench
from clusterbench_lab.bench.rate_search import FASTEST_PER_S, LONG

SERVICE_MS = 2.0


def p99_ms(rate_per_s: float) -> float:
    """Of one queue before one server with exponential times: it grows without bounds towards the capacity."""
    return SERVICE_MS * 4.605 / (1 - rate_per_s / FASTEST_PER_S) if rate_per_s < FASTEST_PER_S else 60_000.0


def rate_at(limit_ms: float) -> float:
    return FASTEST_PER_S * (1 - SERVICE_MS * 4.605 / limit_ms)


def search(
    limit_ms: float, response_ms: Callable[[float, int], float] = lambda rate, _: p99_ms(rate)
) -> tuple[RateFound | RateNotFound, list[RateStep]]:
    found, steps = bench.search(limit_ms, response_ms)
    assert len(steps) <= STEPS_MAX
    return found, steps


@pytest.mark.parametrize("limit_ms", [15, 20, 50, 200])
def test_the_highest_rate_below_the_limit_is_between_the_two_that_are_told(limit_ms: float) -> None:
    found, steps = search(limit_ms)
    assert isinstance(found, RateFound)
    assert found.rate_per_s <= rate_at(limit_ms) <= found.above_per_s <= 1.17 * found.rate_per_s
    assert [step.length for step in steps[-6:]] == [LONG] * 6, "three on each side decide"
    assert steps[0].rate_per_s == 0 and steps[1].rate_per_s == 700


def test_with_a_steady_server_a_search_takes_a_dozen_steps() -> None:
    _, steps = search(20)
    assert len(steps) <= 13


@pytest.mark.parametrize(("noise", "drift", "right_min"), [(0.02, 0.0, 0.97), (0.05, 0.02, 0.92), (0.1, 0.05, 0.8)])
def test_where_windows_differ_a_search_still_says_what_the_next_ones_do(
    noise: float, drift: float, right_min: float
) -> None:
    """A window at the one rate is below the limit, and a window at the other is not: both at once, each alone more.

    Whether the trial's own window holds is what a person relies on: nine of ten, with windows that differ by 10 %.
    """
    searches = [bench.judged(noise, drift, seed) for seed in range(400)]
    assert sum(is_held for is_held, _, _, _ in searches) >= 0.9 * 400
    assert sum(is_held and is_missed for is_held, is_missed, _, _ in searches) >= right_min * 400


def test_a_long_step_that_disagrees_moves_its_side_further_and_further_away() -> None:
    """Short steps are held up to 1000 per second, long ones up to 500."""
    found, steps = search(20, lambda rate, length: 10.0 if rate < (500 if length >= LONG else 1000) else 300.0)
    assert isinstance(found, RateFound)
    tried = list(dict.fromkeys(step.rate_per_s for step in steps if step.length >= LONG))
    lower = [rate for rate in tried if rate < 1000]
    assert [round(a / b, 2) for a, b in pairwise(lower)][:3] == [1.1, 1.21, 1.46]
    assert found.rate_per_s < 500 < found.above_per_s


@pytest.mark.parametrize(("window_s", "probe_s", "long"), [(20, 3, 7), (3, 3, 3), (1800, 120, 10), (30, 5, 6)])
def test_a_long_step_lasts_as_long_as_the_window(window_s: float, probe_s: float, long: int) -> None:
    assert long_of(window_s, probe_s) == long


def test_where_no_rate_stays_below_the_limit_it_says_what_was_nearest() -> None:
    found, _ = search(9)
    assert isinstance(found, RateNotFound)
    assert "stays below 9 ms: the lowest was 9.3" in found.reason and "'probe_s'" in found.reason


def test_a_server_that_stalls_now_and_then_is_said_to_do_so() -> None:
    """Each rate is held in a short step, and in no longer one."""
    found, _ = search(50, lambda _, length: 8.25 if length < LONG else 120.0)
    assert isinstance(found, RateNotFound)
    assert "no rate was found at which 3 long steps stay below 50 ms" in found.reason
    assert "a 99th percentile of 8.25 ms in a short step, at 957 transactions/s, was below it" in found.reason
    assert "120 ms in a long one, at 49.8" in found.reason and "Look for what stalls now and then" in found.reason


def test_a_server_that_does_not_keep_up_is_not_below_whatever_the_responses_are() -> None:
    assert not RateStep(1000, 1, 900, 1.0).is_below(20)
    assert RateStep(1000, 1, 990, 1.0).is_below(20)


def test_a_window_above_the_limit_is_told() -> None:
    assert why_not_held(20, 800, 21.5) == ""
    assert "was 24 ms over the measured window, and 20 ms was the limit, at 800 transactions/s" in why_not_held(
        20, 800, 24
    )
    assert "is not known" in why_not_held(20, 800, None)
