"""What a host did between two times, of its samples: means of a window, bytes of phases, the course of a trial.

Pure. One pass over the samples finds the counters at every time that is asked for; between two samples they are taken
to grow evenly. So a sample that came late, on a host too busy to collect, counts for all of the time that it covers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

from clusterbench.base.measurements import Phase

PER_SECOND = (
    "disk_read_mb_per_s",
    "disk_write_mb_per_s",
    "network_received_mb_per_s",
    "network_sent_mb_per_s",
    "loopback_mb_per_s",
)
COURSE = ("cpu_percent", "cpu_steal_percent", *PER_SECOND)
PRESSURE = ("pressure_cpu_percent", "pressure_io_percent")
"""Also part of a course where the kernel has them. Where it does not, they are left out, because 0 would be wrong."""
POINTS_MAX = 400
"""Points of one host's course over time: as many as a figure is wide. More would only make records large."""
TIME_KNOWN_TO_S = 0.5
"""How far a sample's true time may be from the one that sysstat prints."""
SHORTEST_S = 0.001
"""Of a window. Of a shorter one nothing could be said, and it is in one sample as well."""

Counters = Mapping[str, float]
Figures = Callable[[Counters, Counters, float], dict[str, float]]
"""Of the counters at two times, and the seconds between them."""


class Sample(Protocol):
    @property
    def time_s(self) -> float: ...
    def counters(self) -> Counters: ...


@dataclass(frozen=True)
class Point:
    time_s: float
    counters: Counters


@dataclass
class Seen:
    """What one pass over a host's samples has found."""

    first_s: float | None = None
    last_s: float = 0.0
    samples: int = 0
    """That cover a part of the window."""
    at: dict[float, Point] = field(default_factory=dict)
    """The counters at each time that was asked for; before the first sample they are the first's, and so at the end."""
    before: tuple[Point, Point] | None = None
    """The last sample that ends before a time, with the one before it."""
    last: tuple[Point, Point] | None = None


def look(
    samples: Iterable[Sample], times_s: Iterable[float], window: tuple[float, float], before_s: float
) -> Seen | None:
    """One pass; None where there are not two samples, of which one covers the time since the other."""
    seen, wanted = Seen(), deque(sorted(set(times_s)))
    previous: Sample | None = None
    before: tuple[Sample, Sample] | None = None
    last: tuple[Sample, Sample] | None = None
    for sample in samples:
        if previous is None:
            seen.first_s = sample.time_s
        else:
            seen.samples += sample.time_s > window[0] and previous.time_s < window[1]
            last = previous, sample
            if sample.time_s <= before_s:
                before = last
        while wanted and wanted[0] <= sample.time_s:
            time_s = wanted.popleft()
            seen.at[time_s] = _between(previous, sample, time_s)
        previous = sample
    if last is None:
        return None
    seen.last_s = last[1].time_s
    if not seen.samples and seen.last_s <= window[0] < seen.last_s + TIME_KNOWN_TO_S:
        seen.samples = 1
    seen.at |= dict.fromkeys(wanted, _point(last[1]))
    seen.before, seen.last = (pair and (_point(pair[0]), _point(pair[1])) for pair in (before, last))
    return seen


def _point(sample: Sample) -> Point:
    return Point(sample.time_s, sample.counters())


def _between(previous: Sample | None, sample: Sample, time_s: float) -> Point:
    if previous is None or time_s <= previous.time_s:
        return _point(previous or sample)
    share = (time_s - previous.time_s) / (sample.time_s - previous.time_s)
    before, after = previous.counters(), sample.counters()
    counters = {name: before.get(name, 0.0) + share * (n - before.get(name, 0.0)) for name, n in after.items()}
    return Point(time_s, counters)


def between(seen: Seen, start_s: float, end_s: float, figures: Figures) -> tuple[dict[str, float], float]:
    """The figures between two times that were asked for, and of how many seconds of it there are samples."""
    start, end = seen.at[start_s], seen.at[end_s]
    seconds = end.time_s - start.time_s
    return (figures(start.counters, end.counters, seconds), seconds) if seconds > 0 else ({}, 0.0)


def summary(seen: Seen, start_s: float, end_s: float, figures: Figures) -> dict[str, Any]:
    """Means over the measured window, and how busy the host was in the last sample before it."""
    means, _ = between(seen, start_s, end_s, figures) if seen.samples else ({}, 0.0)
    if seen.samples and not means and seen.last:  # after the last sample as printed, and before it was taken
        means = of_sample(seen.last, figures)
    return {
        "samples": seen.samples,
        "mean": means,
        "cpu_percent_before": of_sample(seen.before, figures)["cpu_percent"] if seen.before else None,
    }


def of_sample(pair: tuple[Point, Point], figures: Figures) -> dict[str, float]:
    """What a sample says of the time since the one before it."""
    before, sample = pair
    return figures(before.counters, sample.counters, sample.time_s - before.time_s)


def totals(seen: Seen, start_s: float, end_s: float, figures: Figures) -> dict[str, float]:
    """Bytes through disks and networks between two times, as far as there are samples."""
    found, seconds = between(seen, start_s, end_s, figures)
    return {f"{name.removesuffix('_mb_per_s')}_bytes": found.get(name, 0.0) * 1e6 * seconds for name in PER_SECOND}


def course_times(phases: Sequence[Phase], points: int = POINTS_MAX) -> list[float]:
    """Where the spans of a course begin and end: of equal length, a second or longer, ``points`` of them at most."""
    if not phases:
        return []
    start_s, end_s = phases[0].start_s, phases[-1].end_s
    spans = max(1, min(points, int(end_s - start_s)))
    return [start_s + (end_s - start_s) * number / spans for number in range(spans + 1)]


def course(seen: Seen, times_s: Sequence[float], figures: Figures) -> dict[str, list[float]]:
    """Means over the spans between ``times_s``, with the ``second`` of their middle; only spans with samples."""
    found: dict[str, list[float]] = {"second": [], **{name: [] for name in COURSE}}
    for start_s, end_s in pairwise(times_s):
        means, seconds = between(seen, start_s, end_s, figures)
        if seconds:
            found["second"].append(round((start_s + end_s) / 2 - times_s[0], 1))
            for name in (*COURSE, *(name for name in PRESSURE if name in means)):
                found.setdefault(name, []).append(round(means.get(name, 0.0), 2))
    return found
