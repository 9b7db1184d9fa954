"""Two runs, or two groups of runs: whether they differ by more than equal runs do. Pure.

Repetitions tell how far numbers of one run lie apart. What differs from one run to the next (where memory came to lie,
what else the hosts did that hour) is the same for all repetitions of a run, so that no number of them shows it. Only
other runs do: those of either group, and earlier runs of the same series. A run is one observation here: its median.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from clusterbench.results.statistics import CONFIDENCE, student_p, student_t

HISTORY_MIN, HISTORY_MAX = 5, 20
"""Runs of a series, from which on and up to which they tell how far equal runs lie apart."""
FREEDOM_MIN = 2
"""Of one degree of freedom the interval is 12.7 standard errors: it would tell of nothing."""
OF_SINGLE_RUNS = 0.97
"""What Student's t is asked for, to hold 95 %, where a side has one run: there tails do not average out (simulated)."""
NOISE_MIN = 0.001
"""Standard deviation of logarithms at least: what is smaller is rather the clock than the cluster."""


@dataclass(frozen=True)
class Spread:
    """Variance of the logarithm of a run's median, from run to run, and its degrees of freedom.

    It holds the noise of the repetitions as well, as the medians do.
    """

    variance: float
    freedom: float
    runs: int


@dataclass(frozen=True)
class Between:
    """Logarithm of B's level over A's, and its standard error with degrees of freedom."""

    difference: float
    error: float
    freedom: float
    is_of_single_runs: bool

    @property
    def interval(self) -> tuple[float, float]:
        """95 %, of the ratio."""
        reach = student_t(self.freedom, OF_SINGLE_RUNS if self.is_of_single_runs else CONFIDENCE) * self.error
        return math.exp(self.difference - reach), math.exp(self.difference + reach)

    @property
    def p_value(self) -> float:
        return student_p(self.difference / self.error, self.freedom)


def spread_of(medians: Sequence[float]) -> Spread | None:
    """Of runs of one series in order of time; None of fewer than ``HISTORY_MIN``, or where one is not above 0.

    From the squares of successive differences (von Neumann, Kent, Bellinson and Hart 1941), so that a level that
    changed some time ago counts once, and a slow drift hardly. The degrees of freedom are those of their variance.
    """
    if len(medians) < HISTORY_MIN or min(medians) <= 0:
        return None
    logs = [math.log(median) for median in medians]
    n = len(logs)
    squares = sum((after - before) ** 2 for before, after in pairwise(logs))
    return Spread(squares / (2 * (n - 1)), 2 * (n - 1) ** 2 / (3 * n - 4), n)


def pooled(spreads: Iterable[Spread | None]) -> Spread | None:
    """Of two platforms' series as one, weighed by their degrees of freedom; None where one of them has none."""
    found = list(spreads)
    known = [spread for spread in found if spread]
    if not known or len(known) < len(found):
        return None
    freedom = sum(spread.freedom for spread in known)
    variance = sum(spread.variance * spread.freedom for spread in known) / freedom
    return Spread(variance, freedom, min(spread.runs for spread in known))


def difference(a: Sequence[float], b: Sequence[float], history: Spread | None) -> Between | None:
    """``a`` and ``b``: the medians of the runs of either group. None where nothing tells how far equal runs lie apart.

    Runs of both groups and of history are taken to have one variance: few runs cannot tell two of them apart.
    """
    if min(*a, *b) <= 0:
        return None
    logs = [[math.log(median) for median in side] for side in (a, b)]
    means = [sum(side) / len(side) for side in logs]
    squares = sum((value - mean) ** 2 for side, mean in zip(logs, means, strict=True) for value in side)
    freedom: float = len(a) + len(b) - 2
    if history:
        squares, freedom = squares + history.variance * history.freedom, freedom + history.freedom
    if freedom < FREEDOM_MIN:
        return None
    deviation = max(math.sqrt(squares / freedom), NOISE_MIN)
    error = deviation * math.sqrt(1 / len(a) + 1 / len(b))
    return Between(means[1] - means[0], error, freedom, min(len(a), len(b)) == 1)


def by_chance(p_values: Mapping[int, float], false_share: float = 1 - CONFIDENCE) -> Collection[int]:
    """Of differences that are shown each alone, those that are none where all of them are looked at at once.

    Benjamini and Hochberg 1995: of those that stay at most ``false_share`` are expected to be chance. ``p_values`` are
    of all that were looked at, by their number.
    """
    ordered = sorted((p, number) for number, p in p_values.items())
    held = max((rank for rank, (p, _) in enumerate(ordered, 1) if p <= false_share * rank / len(ordered)), default=0)
    return {number for _, number in ordered[held:]}
