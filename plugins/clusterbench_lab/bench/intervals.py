"""How often the intervals of results hold the truth, and how often equals are called different: on made-up repetitions.

``python -m clusterbench_lab.bench.intervals`` prints the tables of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterbench.results.between_runs import difference, spread_of
from clusterbench.results.firmness import half_width_percent
from clusterbench.results.statistics import interval_95, interval_of_stopped, ratio, ratio_of_two, summarise
from clusterbench_lab.bench.tables import head, row

Values = NDArray[np.floating[Any]]
Draw = Callable[[np.random.Generator, tuple[int, int]], Values]
STEADY = "normal, 2 %"
NOISES: dict[str, Draw] = {
    STEADY: lambda chance, shape: 1 + 0.02 * chance.standard_normal(shape),
    "lognormal, 15 %": lambda chance, shape: np.exp(0.15 * chance.standard_normal(shape)),
    "a tail to the right": lambda chance, shape: 1 + 0.02 * (chance.gamma(1.5, 1, shape) - GAMMA_MEDIAN),
    "heavy tails": lambda chance, shape: np.exp(0.02 * chance.standard_t(3, shape)),
    "one of seven 15 % slower": lambda chance, shape: (
        (1 + 0.02 * chance.standard_normal(shape)) * np.where(chance.random(shape) < 1 / 7, 1.15, 1)
    ),
}
"""What repetitions look like, by name. The true median of each is in ``MEDIANS``."""
GAMMA_MEDIAN = 1.18294
"""Of shape 1.5."""
MEDIANS = {**dict.fromkeys(NOISES, 1.0), "one of seven 15 % slower": 1.00425}
REPETITIONS = (3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 21)
PAIRS = ((3, 3), (4, 4), (5, 5), (3, 7), (6, 6), (7, 7), (10, 10), (15, 15), (21, 21))
RUNS = ((1, 1, 5), (1, 1, 10), (1, 1, 20), (2, 2, 0), (3, 3, 0), (5, 5, 0), (3, 3, 5), (3, 3, 20))
"""Of A, of B, and earlier ones."""
STOPPED = ((3, 2.0), (5, 1.0), (5, 1.5), (5, 2.0), (5, 3.0), (5, 5.0))
"""Repetitions from which on it is looked whether a cell is firm, and to how many percent. After 15 it ends."""
AT_MOST = 15
DRIFTS = (0.0, 0.01, 0.02, 0.05)
IN_TURNS = (3, 5, 7, 10)
COUNT = 2000
RUNS_DIFFERENT_MAX = 10.0
"""Per cent, of five earlier runs that mostly hold none of the slow ones of one in seven; of ten and more it is 7."""
COVERED_MIN, DIFFERENT_MAX = 93.0, 6.5
"""Per cent, of ``COUNT``: 95 and 5 would be exact, and that is not to be had of three values of any distribution."""


def covered_percent(noise: str, repetitions: int, count: int = COUNT) -> float:
    """How often the interval of a single median holds the true one."""
    held = 0
    for values in _rows(NOISES[noise](_chance(noise, repetitions), (count, repetitions))):
        low, high = _found(interval_95(values))
        held += low <= MEDIANS[noise] <= high
    return 100 * held / count


def different_percent(noise: str, repetitions: tuple[int, int], times: float = 1.0, count: int = COUNT) -> float:
    """How often two are called different, of which one takes ``times`` as long as the other."""
    chance = _chance(noise, *repetitions)
    ours, reference = (NOISES[noise](chance, (count, each)) for each in repetitions)
    told = 0
    for a, b in zip(_rows(times * ours), _rows(reference), strict=True):
        low, high = _found(ratio(a, b)[1])
        told += not low <= 1 <= high
    return 100 * told / count


def in_turns_percent(drift: float, repetitions: int, times: float = 1.0, count: int = COUNT, *, paired: bool) -> float:
    """How often two that were measured in turns are called different, whose common noise is ``drift``, as a share."""
    chance = np.random.default_rng([repetitions, int(1000 * drift)])
    shape = count, repetitions
    common = np.exp(drift * chance.standard_normal(shape))
    a, b = (common * NOISES[STEADY](chance, shape) for _ in range(2))
    told = 0
    for one, other in zip(_rows(times * a), _rows(b), strict=True):
        key = [str(number) for number in range(repetitions)] if paired else []
        low, high = _found(ratio_of_two(*(summarise(side, "s", "lower", paired_by=key) for side in (one, other)))[1])
        told += not low <= 1 <= high
    return 100 * told / count


def stopped_covered_percent(noise: str, until: tuple[int, float], count: int = COUNT) -> float:
    """How often the interval of a cell that is measured until it is firm holds the true median."""
    at_least, percent = until
    held = 0
    for values in _rows(NOISES[noise](_chance(noise, at_least, int(10 * percent)), (count, AT_MOST))):
        some = values[: _needed(values, at_least, percent)]
        low, high = _found(interval_of_stopped(some, at_least))
        held += low <= MEDIANS[noise] <= high
    return 100 * held / count


def needed_mean(noise: str, until: tuple[int, float], count: int = COUNT) -> float:
    """How many repetitions that took."""
    at_least, percent = until
    made = _rows(NOISES[noise](_chance(noise, at_least, int(10 * percent)), (count, AT_MOST)))
    return sum(_needed(values, at_least, percent) for values in made) / count


def _needed(values: Sequence[float], at_least: int, percent: float) -> int:
    for number in range(at_least, AT_MOST):
        half = half_width_percent(values[:number], at_least)
        if half is not None and half <= percent:
            return number
    return AT_MOST


def runs_different_percent(noise: str, runs: tuple[int, int, int], times: float = 1.0, count: int = COUNT) -> float:
    """The same of runs: what is drawn is a run's median, of the earlier ones, then of A's, then of B's."""
    of_a, of_b, earlier = runs
    medians = NOISES[noise](_chance(noise, *runs), (count, of_a + of_b + earlier))
    told = 0
    for drawn in _rows(medians):
        known, a, b = (
            drawn[:earlier],
            drawn[earlier : earlier + of_a],
            [times * each for each in drawn[earlier + of_a :]],
        )
        between = difference(a, b, spread_of(known))
        if between is None:
            raise RuntimeError("no interval, though there are runs enough")
        low, high = between.interval
        told += not low <= 1 <= high
    return 100 * told / count


def measure(say: Callable[..., bool]) -> bool:
    """Print the figures that are worst; True where they are within their bounds."""
    covered = min(covered_percent(noise, each) for noise in NOISES for each in REPETITIONS)
    stopped = min(stopped_covered_percent(noise, each) for noise in NOISES for each in STOPPED)
    different = max(different_percent(noise, pair) for noise in NOISES for pair in PAIRS)
    pairs = max(in_turns_percent(drift, each, paired=True) for drift in DRIFTS for each in IN_TURNS)
    runs = max(runs_different_percent(noise, each) for noise in NOISES for each in RUNS)
    held = [
        say(
            "% of intervals of a median that hold the true one, of the worst noise and number",
            covered,
            f"at least {COVERED_MIN}",
            holds=covered >= COVERED_MIN,
        ),
        say(
            "% of intervals of cells measured until they are firm that hold the median, of the worst",
            stopped,
            f"at least {COVERED_MIN}",
            holds=stopped >= COVERED_MIN,
        ),
        say(
            "% of equals that are called different, of the worst noise and numbers",
            different,
            f"at most {DIFFERENT_MAX}",
            holds=different <= DIFFERENT_MAX,
        ),
        say(
            "% of equals in turns that are called different, of the worst drift and number",
            pairs,
            f"at most {DIFFERENT_MAX}",
            holds=pairs <= DIFFERENT_MAX,
        ),
        say(
            "% of equal runs that are called different, of the worst noise and numbers",
            runs,
            f"at most {RUNS_DIFFERENT_MAX}",
            holds=runs <= RUNS_DIFFERENT_MAX,
        ),
    ]
    return all(held)


def _rows(values: Values) -> list[list[float]]:
    return [[float(value) for value in one] for one in values]


def _found(interval: tuple[float, float] | None) -> tuple[float, float]:
    if interval is None:
        raise RuntimeError("no interval, though there are repetitions enough")
    return interval


def _chance(noise: str, *seed: int) -> np.random.Generator:
    return np.random.default_rng([*seed, *map(ord, noise)])


def _of_pairs() -> None:
    """Each cell: equals called different, and 1.05 times found, by the medians; then the same two by pairs."""
    head("repetitions", *(f"{100 * drift:g} %" for drift in DRIFTS))
    for repetitions in IN_TURNS:
        cells = []
        for drift in DRIFTS:
            of = partial(in_turns_percent, drift, repetitions)
            medians, pairs = (f"{of(paired=way):.1f} and {of(1.05, paired=way):.0f}" for way in (False, True))
            cells.append(f"{medians} / {pairs}")
        row(repetitions, *cells)


def _table(what: str, rows: Sequence[Any], cell: Callable[[str, Any], float], unit: str = " %") -> None:
    head(what, *NOISES)
    for each in rows:
        label = " and ".join(map(str, each)) if isinstance(each, tuple) else each
        row(label, *(f"{cell(noise, each):.1f}{unit}" for noise in NOISES))


if __name__ == "__main__":
    _table("repetitions: the interval holds the median", REPETITIONS, covered_percent)
    _table("looked at from, until: the interval holds the median", STOPPED, stopped_covered_percent)
    _table("looked at from, until: repetitions", STOPPED, needed_mean, "")
    _table("repetitions: equals called different", PAIRS, different_percent)
    for slower in (1.05, 1.1):
        _table(f"repetitions: {slower} times as long found", PAIRS, partial(different_percent, times=slower))
    _of_pairs()
    _table("runs of A, of B, and earlier: equals called different", RUNS, runs_different_percent)
    for slower in (1.05, 1.1):
        _table(
            f"runs of A, of B, and earlier: {slower} times as long found",
            RUNS,
            partial(runs_different_percent, times=slower),
        )
