"""Counters that a host noted once a second, beside its samples: how much they grew between two times.

``include/hosts/telemetry_sample.sh`` takes the notes: a line that begins with the time and the machine's uptime then;
after that, lines with the uptime and the counter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path


def per_s(noted: Path, start_s: float, end_s: float) -> float | None:
    """Mean growth of a counter in a second, by interpolation; None where the notes do not cover both times."""
    points = points_of(noted.read_text() if noted.exists() else "")
    if end_s <= start_s:
        return None
    begun, ended = at(points, start_s), at(points, end_s)
    return None if begun is None or ended is None else (ended - begun) / (end_s - start_s)


def points_of(text: str) -> list[tuple[float, float]]:
    """(epoch seconds, counter), in the order of time; none of fewer than two notes."""
    head, *lines = text.splitlines() or [""]
    rows = [head.split()[:2], *(words for line in lines if len(words := line.split()) == 2)]
    if len(rows) < 3:
        return []
    offset_s = float(rows[0][0]) - float(rows[0][1])
    return sorted((float(up) + offset_s, float(counter)) for up, counter in rows[1:])


def at(points: Sequence[tuple[float, float]], time_s: float) -> float | None:
    """Between two of ``points``; a value beyond them would be a guess."""
    after = bisect_left(points, (time_s,))
    if after == 0 or after == len(points):
        return None
    (before_s, before), (after_s, then) = points[after - 1], points[after]
    return before + (then - before) * (time_s - before_s) / (after_s - before_s)
