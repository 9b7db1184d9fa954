"""What looking at the drivers' sessions costs: the same trial with it and without, in pairs that take turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace

from clusterbench.base.records import Trial
from clusterbench.results.statistics import interval_95
from clusterbench.trial.testbed import Testbed
from clusterbench_lab.bench.against_hand import generate, lookups
from clusterbench_lab.bench.trials import measured

PAIRS = 11
"""Of a figure that is only compared; each pair takes most of a minute."""
COST_MAX = 0.01
"""Of throughput: above it nobody looks unless a platform's file asks for it."""


def measure(testbed: Testbed, say: Callable[..., bool]) -> bool:
    """Nothing is asked of the figure, as nobody looks by default."""
    generate(testbed)
    ratios = []
    for number in range(PAIRS):
        trial = lookups(number)
        pair = [(is_watched, _throughput(trial, testbed, is_watched=is_watched)) for is_watched in _turns(number)]
        found = dict(pair)
        ratios.append(found[True] / found[False])
    low, high = interval_95(ratios) or (0.0, 0.0)
    what = f"throughput with sessions looked at / without, median of {len(ratios)} (95 %: {low:.3f} to {high:.3f})"
    return say(what, statistics.median(ratios), f"{1 - COST_MAX:g} for a default")


def _turns(number: int) -> tuple[bool, bool]:
    return (True, False) if number % 2 else (False, True)


def _throughput(trial: Trial, testbed: Testbed, *, is_watched: bool) -> float:
    platform = testbed.platform
    named = f"{trial.cell}-{'watched' if is_watched else 'alone'}.r{trial.repetition}"
    testbed.platform = platform.model_copy(update={"watch_sessions": is_watched})
    try:
        return measured(replace(trial, id=named), testbed, "throughput_per_s")
    finally:
        testbed.platform = platform
