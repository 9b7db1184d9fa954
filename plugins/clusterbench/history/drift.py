"""Noise that drifts: weeks that are like those before them, because what slows a host down stays a while. Pure.

A test that takes runs for independent sees new levels in such noise. One series is too short to show how much it
drifts, so it is found from many series of one platform at once: all of them lie on the same hosts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

RUNS_MIN = 10
"""Of a series that tells of it, without the newest."""
NEWEST = 5
"""Runs that may be a new level on all of a platform's series at once: drift is what was there before."""
SERIES_MIN, SERIES_MAX = 8, 100
"""Fewer series tell too little; more tell nothing new."""
ALIKE_MAX = 0.8
KEPT = 0.85
"""Share of the differences that count."""


def alikeness(logs: Sequence[NDArray[Any]]) -> float:
    """Correlation of a run with the one before it: the median over series of logarithms, 0 where it is not shown.

    Of a first-order autoregression, runs that are two apart differ by 1 + that correlation as much (in squares) as runs
    that follow one another. The largest of either are left out, among which is the difference of a level that changed.
    """
    import numpy as np  # noqa: PLC0415

    def size(differences: NDArray[Any]) -> float:
        squares = np.sort(differences**2)
        return float(squares[: math.ceil(KEPT * len(squares))].mean())

    before = [values[:-NEWEST] for values in logs if len(values) >= RUNS_MIN + NEWEST]
    sizes = [(size(values[2:] - values[:-2]), size(values[1:] - values[:-1])) for values in before[:SERIES_MAX]]
    found = [two_apart / next_one - 1 for two_apart, next_one in sizes if next_one]
    if len(found) < SERIES_MIN:
        return 0.0
    return min(max(0.0, float(np.median(found))), ALIKE_MAX)


def variance_of_mean(n: int, alike: float) -> float:
    """Of n runs of variance 1, each like the one before it."""
    if not alike:
        return 1 / n
    return (1 + 2 * sum((1 - lag / n) * alike**lag for lag in range(1, n))) / n


def freedom_left(freedom: int, alike: float) -> float:
    """Degrees of freedom of as many independent runs as tell as much of the variance."""
    return max(1.0, freedom * (1 - alike) / (1 + alike))
