"""A result that looks worse this week, measured again at once: is it? Pure.

One run is never a new level, and waiting for the next ones takes weeks. So what looks worse (``suspicion``) is
measured in ``RUNS`` more runs the same weekend, beside results of the platform that do not look so, and judged by those
runs alone: they were not chosen for being slow.

What runs of a few cells do to all of them, as they do not begin like a whole run, is read from those others, and taken
off; but not where nearly all of the platform looked worse in the week's own run, as then it is the platform.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from clusterbench.base.words import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

RUNS = 6
"""In which a suspicious result is measured again."""
SUSPECT_SD = 0.8
"""Standard deviations by which a run is worse than its level: of 100 that did not change some 20 are measured again."""
OTHERS = 6
"""Results that do not look changed, beside the suspicious ones of a platform."""
OTHERS_MIN = 3
"""With fewer nothing is taken off."""
RUNS_MIN = 3
"""With fewer nothing is said."""
P_MAX = 0.0025
"""One-sided, as what is asked is whether it is worse."""
P_SEEN = 0.05
"""Beyond it nothing worse is seen, however wide the interval is: what the weeks' own runs show would be seen again."""
WHOLE_PLATFORM = 0.8
"""Where so large a share of a platform's results looks worse, it is the platform."""
FALSE_SHARE = 0.1
"""Of what is confirmed among many: so large a share is expected to be chance (Benjamini and Hochberg)."""
SD_MIN = 0.001

Word = Literal["confirmed", "not confirmed", "not enough"]


@dataclass(frozen=True)
class Measured:
    """Logarithms: of the runs of the level so far, and of those in which the result was measured again.

    More is worse: those of a throughput have the other sign (``Regarded``).
    """

    level: NDArray[Any]
    again: NDArray[Any]

    @property
    def shift(self) -> float:
        return float(self.again.mean() - self.level.mean())


@dataclass(frozen=True)
class Confirmation:
    """``change_percent`` is of the number itself, as in ``Change``; None where too little completed to tell.

    ``others_percent``: by how much worse others were measured beside it, which was taken off; None without others.
    """

    word: Word
    says: str
    runs: int
    change_percent: float | None = None
    interval_95_percent: tuple[float, float] | None = None
    p_value: float | None = None
    others_percent: float | None = None
    in_turns: str = ""
    """What a setting that changed does by itself, in words; empty where none did."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Confirmation:
        bounds = data["interval_95_percent"]
        return cls(**{**data, "interval_95_percent": (bounds[0], bounds[1]) if bounds else None})


def suspicion(level: NDArray[Any], newest: float) -> float:
    """By how many standard deviations of its level the newest run is worse; logarithms of which more is worse."""
    spread = max(float(level.std(ddof=1)), SD_MIN)
    return (newest - float(level.mean())) / spread


def moved_as_a_whole(suspicions: Sequence[float], shifts: Sequence[float]) -> float:
    """How much worse a platform's results were in the week's own run, in the middle; 0 where not nearly all were.

    What a host does for a day moves all results of a run a little, which says nothing of the next run.
    """
    import numpy as np  # noqa: PLC0415

    share = sum(one >= SUSPECT_SD for one in suspicions) / max(1, len(suspicions))
    return float(np.median(shifts)) if shifts and share >= WHOLE_PLATFORM else 0.0


def judge(
    suspects: Sequence[Measured],
    others: Sequence[Measured],
    moved: float,
    worse: Sequence[int],
    threshold_percent: float,
) -> list[Confirmation]:
    """Of one platform. ``moved``: as ``moved_as_a_whole`` has it, a logarithm.

    ``worse``: 1 where a higher number is worse, else -1; only words and percents need it.
    """
    offset, of_offset = _offset(others, moved)
    tests = [_test(one, offset, of_offset) for one in suspects]
    known = sorted(test.p for test in tests if test)
    limit = max((p for rank, p in enumerate(known, 1) if p <= FALSE_SHARE * rank / len(known)), default=0.0)
    taken_off = 100 * math.expm1(offset) if len(others) >= OTHERS_MIN else None
    return [
        _said(test, len(one.again), min(limit, P_MAX), threshold_percent, sign, taken_off)
        for one, test, sign in zip(suspects, tests, worse, strict=True)
    ]


def _offset(others: Sequence[Measured], moved: float) -> tuple[float, float]:
    """What measuring again does to any result, and the variance of a single one around it."""
    import numpy as np  # noqa: PLC0415

    shifts = np.array([one.shift for one in others])
    if len(shifts) < OTHERS_MIN:
        return 0.0, 0.0
    together = float(np.median(shifts))
    low, high = sorted((0.0, together))
    return together - min(max(moved, low), high), float(shifts.var(ddof=1))


@dataclass(frozen=True)
class _Test:
    difference: float
    error: float
    quantile: float
    p: float


def _test(one: Measured, offset: float, of_others: float) -> _Test | None:
    """Student's t of the runs measured again beside the level; one-sided."""
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415

    n, k = len(one.level), len(one.again)
    if k < RUNS_MIN or n < 2:
        return None
    freedom = n + k - 2
    squares = float(((one.level - one.level.mean()) ** 2).sum() + ((one.again - one.again.mean()) ** 2).sum())
    within = max(squares / freedom, SD_MIN**2) * (1 / n + 1 / k)
    error = math.sqrt(max(within, of_others) + of_others / OTHERS)
    difference = one.shift - offset
    p = float(stdtr(freedom, -difference / error))
    return _Test(difference, error, float(stdtrit(freedom, 0.975)), p)


def _said(  # noqa: PLR0917  private, and each argument is a part of what is said
    test: _Test | None, runs: int, limit: float, threshold_percent: float, worse: int, taken_off: float | None
) -> Confirmation:
    if test is None:
        return Confirmation("not enough", f"measured again, but only {runs} of the runs have a number", runs)
    reach = test.quantile * test.error
    low, high = sorted(100 * math.expm1(worse * (test.difference + side * reach)) for side in (-1, 1))
    change = 100 * math.expm1(worse * test.difference)
    worst = high if worse > 0 else -low
    if test.p <= limit and worst >= threshold_percent:
        word: Word = "confirmed"
    elif worst < threshold_percent or test.p > P_SEEN:
        word = "not confirmed"
    else:
        word = "not enough"
    off = f", {percent(taken_off, is_signed=True)} of others beside it taken off" if taken_off is not None else ""
    says = (
        f"{word}: measured again in {runs} runs at once, {percent(change, is_signed=True)} "
        f"(95 % interval {low:+.1f} to {high:+.1f} %, p = {test.p:.2g}){off}"
    )
    return Confirmation(word, says, runs, change, (low, high), test.p, taken_off)


def by_turns(pairs: Sequence[tuple[float, float]], setting: str, old: str, new: str) -> str:
    """What a setting alone does, in words: Student's t of the differences of logarithms, run by run.

    ``pairs``: with the setting as it was, and as it is.
    """
    import numpy as np  # noqa: PLC0415
    from scipy.special import stdtrit  # noqa: PLC0415

    logs = np.array([math.log(after / before) for before, after in pairs if before > 0 and after > 0])
    where = f"{setting} {new} and {old} in turns"
    if len(logs) < RUNS_MIN:
        return f"{where}: too few runs have a number"
    middle = float(logs.mean())
    reach = float(stdtrit(len(logs) - 1, 0.975)) * max(float(logs.std(ddof=1)), SD_MIN) / math.sqrt(len(logs))
    low, high = (100 * math.expm1(middle + side * reach) for side in (-1, 1))
    change = f"{percent(100 * math.expm1(middle), is_signed=True)} (95 % interval {low:+.1f} to {high:+.1f} %)"
    return f"{where}, in {len(logs)} runs: the setting makes {change}"
