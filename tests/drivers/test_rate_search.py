"""The highest rate below a limit of latency, looked for on queues whose answer is known."""

from __future__ import annotations

import random

import pytest

from clusterbench.drivers.rate_search import (
    STEPS_MAX,
    NextRate,
    RateFound,
    RateNotFound,
    RateStep,
    next_rate,
    why_not_held,
)

CAPACITY_PER_S, SERVICE_MS = 1000.0, 2.0


def p99_ms(rate_per_s: float) -> float:
    """Of one queue before one server with exponential times: it grows without bounds towards the capacity."""
    return SERVICE_MS * 4.605 / (1 - rate_per_s / CAPACITY_PER_S) if rate_per_s < CAPACITY_PER_S else 60_000.0


def rate_at(limit_ms: float) -> float:
    return CAPACITY_PER_S * (1 - SERVICE_MS * 4.605 / limit_ms)


def search(limit_ms: float, noise: float = 0.0, seed: int = 1) -> tuple[RateFound | RateNotFound, list[RateStep]]:
    chance, steps = random.Random(seed), list[RateStep]()
    while isinstance(said := next_rate(steps, limit_ms), NextRate):
        times = chance.lognormvariate(0, noise / said.length**0.5)
        if said.rate_per_s:
            step = RateStep(
                said.rate_per_s, said.length, min(said.rate_per_s, CAPACITY_PER_S), p99_ms(said.rate_per_s) * times
            )
        else:
            step = RateStep(0.0, said.length, CAPACITY_PER_S, 30 * SERVICE_MS)
        steps.append(step)
        assert len(steps) <= STEPS_MAX
    return said, steps


@pytest.mark.parametrize("limit_ms", [15, 20, 50, 200])
def test_the_highest_rate_below_the_limit_is_found_to_one_in_twenty(limit_ms: float) -> None:
    found, steps = search(limit_ms)
    assert isinstance(found, RateFound)
    assert found.rate_per_s <= rate_at(limit_ms) <= found.above_per_s <= 1.06 * found.rate_per_s
    assert [step.length for step in steps[-2:]] == [3, 3], "it was confirmed by longer steps"
    assert steps[0].rate_per_s == 0 and steps[1].rate_per_s == 700


def test_of_noisy_steps_nine_of_ten_searches_end_below_the_limit_and_near_it() -> None:
    """A 99th percentile of a step is off by 5 %, and by less in a longer one."""
    truth = rate_at(20)
    found = [said.rate_per_s for seed in range(200) if isinstance(said := search(20, 0.05, seed)[0], RateFound)]
    near = [rate for rate in found if 0.88 * truth <= rate <= 1.05 * truth]
    assert len(found) == 200 and len(near) >= 180


def test_where_no_rate_stays_below_the_limit_it_says_what_was_nearest() -> None:
    found, _ = search(9)
    assert isinstance(found, RateNotFound)
    assert "stays below 9 ms: the lowest was 9.3" in found.reason and "'probe_s'" in found.reason


def test_a_server_that_stalls_now_and_then_is_said_to_do_so() -> None:
    """Each rate is held in a short step, and in no longer one."""
    steps: list[RateStep] = []
    while isinstance(said := next_rate(steps, 50), NextRate):
        rate = said.rate_per_s
        steps.append(RateStep(rate, said.length, rate or 1000.0, 8.25 if said.length == 1 else 120.0))
    assert isinstance(said, RateNotFound)
    assert (
        "to stay below 50 ms: at " in said.reason
        and "was 8.25 ms and 120 ms. Look for what stalls now and then" in said.reason
    )


def test_a_server_that_does_not_keep_up_is_not_below_whatever_the_responses_are() -> None:
    assert not RateStep(1000, 1, 900, 1.0).is_below(20)
    assert RateStep(1000, 1, 990, 1.0).is_below(20)


def test_a_window_above_the_limit_is_told() -> None:
    assert why_not_held(20, 800, 21.5) == ""
    assert "was 24 ms over the measured window, and 20 ms was the limit, at 800 transactions/s" in why_not_held(
        20, 800, 24
    )
    assert "is not known" in why_not_held(20, 800, None)
