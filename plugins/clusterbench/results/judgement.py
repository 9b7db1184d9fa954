"""From a ratio with its interval to a plain word: faster, slower, no difference shown, or why the two are none. Pure.

Percents are of what was measured: "12 % slower" is 12 % more time, or 12 % less throughput.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from clusterbench.base.measurements import Better
from clusterbench.base.words import percent_digits
from clusterbench.results.between_runs import HISTORY_MIN, Between
from clusterbench.results.statistics import REPETITIONS_MIN, Summary, ratio_of_two

Word = Literal[
    "faster",
    "slower",
    "higher",
    "lower",
    "higher in these runs",
    "lower in these runs",
    "no difference shown",
    "not comparable",
]
Ratio = tuple[float, tuple[float, float] | None]
TIMES = ("s", "ms", "us", "µs", "min", "h")
TIMES_AS_MUCH = 2.0
"""From here on "3.1 times as long" reads better than "210 % slower"."""
FACTS_NAMED = 4
REPETITIONS_NEEDED = f"an interval needs {REPETITIONS_MIN} repetitions"
NOT_POSITIVE = "a ratio needs values above 0"
RUNS_NEEDED = f"it takes two runs on either side, or {HISTORY_MIN} earlier valid runs of both in the history database"
NOTHING_SHOWN = ("no difference shown", "not comparable")


@dataclass(frozen=True)
class Judgement:
    """``says``: "12 % slower (8 to 16 %)". ``facts``: those that decide and differ, where they do; also a sentence."""

    word: Word
    says: str
    facts: str = ""

    @property
    def full(self) -> str:
        """For where the verdict stands alone: a ratio holds what the facts do to it as well."""
        return f"{self.says}, with {self.facts}" if self.facts and self.word != "not comparable" else self.says

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def describe_ratio(
    ratio: float | None,
    interval_95: tuple[float, float] | None,
    better: Better,
    unit: str = "1",
    *,
    refused: str = "",
    deciding: Sequence[str] = (),
) -> Judgement:
    """``refused``: why the two are not compared, though they have numbers. ``deciding``: names of facts that differ."""
    facts = say_deciding(deciding)
    if refused or ratio is None:
        return Judgement("not comparable", f"not comparable: {refused or 'a side has no number'}", facts)
    if interval_95 is None:
        return Judgement("not comparable", f"not comparable: {REPETITIONS_NEEDED} on either side", facts)
    low, high = interval_95
    if low <= 1 <= high:
        return Judgement("no difference shown", _no_difference(low, high, better, unit), facts)
    return Judgement(word_of(ratio, better, unit), _difference(ratio, (low, high), better, unit), facts)


def compare_two(
    ours: Summary | None,
    reference: Summary | None,
    better: Better,
    *,
    names: tuple[str, str] = ("this", "the reference"),
    refused: str = "",
    deciding: Sequence[str] = (),
) -> tuple[Ratio | None, Judgement]:
    """The ratio of ours to the reference, where there is one, and what it says. ``names``: what the two are called."""
    unit = next((summary.unit for summary in (ours, reference) if summary), "1")
    why = refused or _unlike(ours, reference, names)
    if why or ours is None or reference is None:
        return None, describe_ratio(None, None, better, unit, refused=why, deciding=deciding)
    if not any((*ours.values, *reference.values)):
        return None, Judgement("no difference shown", "no difference shown: all values are 0", say_deciding(deciding))
    if reference.median <= 0 or ours.median <= 0:
        return None, describe_ratio(None, None, better, unit, refused=NOT_POSITIVE, deciding=deciding)
    value, interval = ratio_of_two(ours, reference)
    why = _no_interval((ours, reference), names) if interval is None else ""
    return (value, interval), describe_ratio(value, interval, better, unit, refused=why, deciding=deciding)


def compare_runs(
    ours: Sequence[Summary],
    reference: Sequence[Summary],
    better: Better,
    between: Between | None,
    *,
    names: tuple[str, str],
    refused: str = "",
) -> tuple[Ratio | None, Judgement]:
    """As ``compare_two``, of the same result in other runs: one of either side, or several.

    The interval holds what differs from run to run (``between``), and is never less than that of the repetitions. Where
    nothing tells how far equal runs lie apart, a difference is said to be one of these runs, and not to be one of what
    they measured.
    """
    if not (ours and reference):
        return compare_two(next(iter(ours), None), next(iter(reference), None), better, names=names, refused=refused)
    one, other = (replace(side[0], paired_by=[]) for side in (ours, reference))  # runs do not take turns
    alone = len(ours) == len(reference) == 1
    ratio, judged = compare_two(one, other, better, names=names, refused=refused)
    if ratio is None:
        return ratio, judged
    if between is None:
        return (ratio, _in_these_runs(ratio, judged)) if alone else (None, _more_runs(judged))
    low, high = between.interval
    if alone and ratio[1]:
        low, high = min(low, ratio[1][0]), max(high, ratio[1][1])
    value = ratio[0] if alone else math.exp(between.difference)
    return (value, (low, high)), describe_ratio(value, (low, high), better, one.unit)


def chance(judged: Judgement, count: int) -> Judgement:
    """Of a difference that is none among ``count`` results that were looked at at once."""
    says = f"no difference shown: {judged.says}, but of {count} results some look like this by chance"
    return replace(judged, word="no difference shown", says=says)


def word_of(ratio: float, better: Better, unit: str) -> Word:
    """Of a ratio that is not 1."""
    if not is_speed(better, unit):
        return "higher" if ratio > 1 else "lower"
    return "faster" if (ratio > 1) == (better == "higher") else "slower"


def is_speed(better: Better, unit: str) -> bool:
    """Whether "faster" is the word: of times and of what is done in a second, not of fewer retries a second."""
    return unit in TIMES if better == "lower" else better == "higher" and unit.endswith("/s")


def say_deciding(names: Sequence[str]) -> str:
    """ "2 important differences: kernel, cpus"; nothing where there are none."""
    known = list(dict.fromkeys(names))
    if not known:
        return ""
    said = ", ".join(name.replace("_", " ") for name in known[:FACTS_NAMED]) + (", …" if known[FACTS_NAMED:] else "")
    return f"{len(known)} important differences: {said}" if known[1:] else f"1 important difference: {said}"


def _unlike(ours: Summary | None, reference: Summary | None, names: tuple[str, str]) -> str:
    lacking = [name for name, side in zip(names, (ours, reference), strict=True) if side is None]
    if lacking:
        return f"{' and '.join(lacking)} {'have' if lacking[1:] else 'has'} no number"
    units = [side.unit for side in (ours, reference) if side]
    return "" if units[0] == units[1] else f"one is in {units[0]}, the other in {units[1]}"


def _no_interval(sides: Sequence[Summary], names: tuple[str, str]) -> str:
    few = [
        f"{name} has {len(s.values)}" for name, s in zip(names, sides, strict=True) if len(s.values) < REPETITIONS_MIN
    ]
    return f"{REPETITIONS_NEEDED}, {', '.join(few)}" if few else NOT_POSITIVE


def _difference(ratio: float, interval: tuple[float, float], better: Better, unit: str) -> str:
    word = word_of(ratio, better, unit)
    which = "" if is_speed(better, unit) or better == "neither" else f", which is {_good(ratio, better)}"
    low, high = interval
    if ratio >= TIMES_AS_MUCH:
        said = "as long" if unit in TIMES else "as much"
        return f"{word}: {_times(ratio)} times {said} ({_times(low)} to {_times(high)}){which}"
    near, far = sorted(abs(bound - 1) for bound in (low, high))
    return f"{percent_digits(abs(ratio - 1))} % {word} ({percent_digits(near)} to {percent_digits(far)} %){which}"


def _in_these_runs(ratio: Ratio, judged: Judgement) -> Judgement:
    value, interval = ratio
    if judged.word in NOTHING_SHOWN or interval is None:
        return judged
    way = word_of(value, "neither", "1")
    word: Word = "higher in these runs" if way == "higher" else "lower in these runs"
    said = _difference(value, interval, "neither", "1")
    return replace(judged, word=word, says=said.replace(way, f"{way} in these two runs", 1))


def _more_runs(judged: Judgement) -> Judgement:
    return replace(judged, word="not comparable", says=f"not comparable: {RUNS_NEEDED}")


def _times(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 10 else f"{ratio:,.0f}"


def _good(ratio: float, better: Better) -> str:
    return "better" if (ratio > 1) == (better == "higher") else "worse"


def _no_difference(low: float, high: float, better: Better, unit: str) -> str:
    """With what is not excluded."""
    if low == high:
        return "no difference shown"
    bounds = ((low, word_of(0, better, unit)), (high, word_of(2, better, unit)))
    under, over = (f"{percent_digits(abs(bound - 1))} % {word}" for bound, word in bounds)
    return f"no difference shown ({under} to {over})"
