"""One of our numbers beside one that a paper printed: the interval is that of ours, as a paper's has none. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from clusterbench.base.factors import Level
from clusterbench.base.measurements import Better
from clusterbench.results.judgement import NOT_POSITIVE, REPETITIONS_NEEDED, Judgement, Ratio, describe_ratio
from clusterbench.results.statistics import REPETITIONS_MIN, Result, ratio_to_number
from clusterbench.spec import PublishedValue
from clusterbench.spec.published import published_text
from clusterbench.workloads import size_factors


def fits(levels: Mapping[str, Level], result: Result) -> bool:
    return all(result.levels.get(name) == level for name, level in levels.items())


def without_sizes(levels: Mapping[str, Level]) -> dict[str, Level]:
    return {name: level for name, level in levels.items() if name not in size_factors()}


def belongs(value: PublishedValue, result: Result) -> bool:
    """Whether the paper's cell is this cell, as far as the paper says."""
    return value.sweep == result.sweep and fits(value.levels, result)


def stands_beside(value: PublishedValue, result: Result) -> bool:
    """Whether it is shown beside this cell: a ratio or a share also where the size of the data is another."""
    levels = without_sizes(value.levels) if value.is_relative else value.levels
    return value.sweep == result.sweep and fits(levels, result)


def other_size(value: PublishedValue, result: Result) -> str:
    """ "8400M rows": the size that the paper measured, where ours is another; must be said beside the value."""
    sizes = [name for name in value.levels if name in size_factors() and result.levels.get(name) != value.levels[name]]
    return ", ".join(size_factors()[name].say(value.levels[name]) for name in sizes)


def reference_of(value: PublishedValue, ours: Result, platform: str, results: Iterable[Result]) -> Result | None:
    """The cell on ``platform`` that the paper would have divided ours by: at the same levels, or at those it names."""
    levels = {**ours.levels, **value.ratio_to_levels}
    return next((r for r in results if (r.platform, r.sweep, r.levels) == (platform, ours.sweep, levels)), None)


def median_beside(value: PublishedValue, values: Sequence[float], unit: str, better: Better) -> tuple[Ratio, Judgement]:
    """Of a measurement's repetitions."""
    ours = ratio_to_number(values, float(value.value))
    refused = f"ours is in {unit}, the paper's in {value.unit}" if unit != value.unit else ""
    if ours[1] is None and not refused:
        few = len(values) < REPETITIONS_MIN
        refused = f"{REPETITIONS_NEEDED}, ours has {len(values)}" if few else NOT_POSITIVE
    return ours, _judged(value, ours, better, refused)


def ratio_beside(value: PublishedValue, ours: Ratio) -> tuple[Ratio, Judgement]:
    """Of a ratio of two platforms: neither of two such ratios is the better one."""
    middle, interval = (ours[0] / value.value), tuple(bound / value.value for bound in ours[1]) if ours[1] else None
    ratio = middle, (interval[0], interval[1]) if interval else None
    return ratio, _judged(value, ratio, "neither", "" if interval else f"{REPETITIONS_NEEDED} on either platform")


def _judged(value: PublishedValue, ratio: Ratio, better: Better, refused: str) -> Judgement:
    return describe_ratio(*ratio, better, value.unit, refused=refused or _beyond_bound(value, ratio))


def _beyond_bound(value: PublishedValue, ratio: Ratio) -> str:
    """A paper that says "less than 5" can be told from 6 and not from 4."""
    if ratio[1] is None:
        return ""
    low, high = ratio[1]
    if (value.qualifier == "less_than" and low <= 1) or (value.qualifier == "at_least" and high >= 1):
        return f"the paper gives a bound only, {published_text(value)}"
    return ""
