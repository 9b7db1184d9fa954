"""How evenly Greenplum's segments worked in the trials of a sweep, and the work files of its statements. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from clusterbench.base.database_work import TOTALS
from clusterbench.base.records import TrialRecord
from clusterbench.base.words import number, quantity

EVEN_MAX = 1.1
"""Times the mean of all segments, up to which the one that did most is not named: there is always one."""
LEAST_MB = 1.0
"""Of a segment, in the mean of all: less is statistics and catalogs."""
OPERATIONS_SHOWN = 4


@dataclass(frozen=True)
class SegmentRow:
    """What the segments of a cell did, in words."""

    cell: str
    platform: str
    evenness: Sequence[str]
    work_files: str


def row_of(cell: str, platform: str, records: Sequence[TrialRecord]) -> SegmentRow | None:
    """None where nobody counted by segment, or nothing is worth a line."""
    counted = [found for record in records if (found := (record.evidence.get("after") or {}).get("segments"))]
    looked = [found for record in records if (found := (record.evidence.get("waits") or {}).get("work_files"))]
    looks = sum("waits" in (record.evidence.get("waits") or {}) for record in records)
    evenness = [said for name in TOTALS if (said := _evenness(name, [one[name] for one in counted if name in one]))]
    files = _work_files(looked, looks) if looked else ""
    return SegmentRow(cell, platform, evenness, files) if evenness or files else None


def _evenness(name: str, trials: Sequence[Mapping[str, Any]]) -> str:
    """Of one total: "written to temporary files: evenly by 8 segments", or the segment that did most."""
    if not trials or mean(one["mb"] / one["segments"] for one in trials) < LEAST_MB:
        return ""
    title, segments = TOTALS[name].title.lower(), trials[-1]["segments"]
    times = mean(one["most_mb"] * one["segments"] / one["mb"] for one in trials)
    if times <= EVEN_MAX:
        return f"{title}: evenly by {segments} segments"
    by_number = Counter(one["segment"] for one in trials)
    (segment, seen) = by_number.most_common(1)[0]
    who = f"segment {segment}" if seen == len(trials) else "one segment, not the same in each trial,"
    return f"{title}: {who} did {number(times, 3)} times the mean of {segments}"


def _work_files(trials: Sequence[Mapping[str, Any]], looks: int) -> str:
    """On disk in the mean of ``looks`` trials, by operation; and the most that was there at once."""
    by_operation: Counter[str] = Counter()
    for one in trials:
        for each in one["operations"]:
            statement = "" if each["statement"] == "-" else f" of {each['statement']}"
            by_operation[f"{each['operation']}{statement}"] += each["mean_mb"]
    said = [f"{what}: {quantity(mb / looks, 'MB')}" for what, mb in by_operation.most_common(OPERATIONS_SHOWN)]
    peak = max(trials, key=lambda one: one["peak_mb"])
    largest = f"{quantity(peak['largest']['peak_mb'], 'MB')} on segment {peak['largest']['segment']}"
    return f"{'; '.join(said)}; at most {quantity(peak['peak_mb'], 'MB')} at once, {largest}"
