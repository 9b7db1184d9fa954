"""How long trials took on a platform, as earlier runs say, and from that how long others will take. Pure.

``results/measured.py`` reads it from the archive. Without it times are guesses: those of ``Workload.estimate_s``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

from clusterbench.base.factors import Level
from clusterbench.workloads import WARM, load_workload
from clusterbench.workloads.needs import Needs, needs_of

SCALED_AT_MOST = 100
"""Times more or fewer bytes. What is farther off says nothing: the one fits into memory, and the other does not."""

DRIVER_BEGINS_S = 1.0
"""Of a driver's time, what it takes to begin, to connect and to be found to have ended, however little it does."""

Kind = Literal["measured", "scaled", "guess"]


@dataclass(frozen=True)
class MeasuredCell:
    """Seconds are medians over the repetitions of one cell of one run."""

    run: str
    cell: str
    label: str
    workload: str
    levels: Mapping[str, Level]
    trials: int
    whole_s: float
    """From the beginning of a trial to that of the next one."""
    driver_s: float
    read_bytes: int | None = None
    """From the disks of all hosts within the window, as telemetry has it; None where it has not."""
    written_bytes: int | None = None


@dataclass(frozen=True)
class Rate:
    """Bytes a second of making or looking at data, over all datasets of a run."""

    run: str
    bytes: int
    seconds: float

    @property
    def bytes_per_s(self) -> float:
        return self.bytes / max(self.seconds, 1e-3)


@dataclass(frozen=True)
class Measured:
    """Of one platform, from its newest valid runs; ``runs`` the newest first. ``facts`` are those of the newest."""

    runs: tuple[str, ...] = ()
    cells: tuple[MeasuredCell, ...] = ()
    generated: tuple[Rate, ...] = ()
    inspected: tuple[Rate, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    why_none: str = "no valid run of this experiment on this platform is in the archive"


@dataclass(frozen=True)
class Time:
    """Of one trial, from its beginning to that of the next."""

    seconds: float
    kind: Kind
    basis: str
    """Where it comes from, in words."""


def trial_time(  # noqa: PLR0917  each is a part of the question
    workload: str,
    levels: Mapping[str, Level],
    seed: int,
    measured: Measured,
    guess_s: float,
    disk_bytes_per_s: float,
) -> tuple[Time, MeasuredCell | None]:
    """The time of a trial, and the cell that is the same where one was measured.

    Of the same levels: as measured. Else by the one whose words are the same (cold is no measure for warm) and whose
    bytes are nearest: its driver's time by the bytes, and the rest as it was; what a larger table has more is read into
    warm caches at the rate of the disks.
    """
    known = [cell for cell in measured.cells if cell.workload == workload]
    same = [cell for cell in known if dict(cell.levels) == dict(levels)]
    if same:
        newest = same[0]
        return Time(newest.whole_s, "measured", f"measured in run {newest.run}"), newest
    if near := _nearest(workload, levels, seed, known, disk_bytes_per_s):
        return near, None
    return Time(guess_s, "guess", "a guess, from the papers and from the lab"), None


def _nearest(
    workload: str, levels: Mapping[str, Level], seed: int, known: Sequence[MeasuredCell], disk_bytes_per_s: float
) -> Time | None:
    own = needs_of(load_workload(workload), levels, seed)
    found = []
    for cell in known:
        if set(cell.levels) != set(levels) or _words(cell.levels) != _words(levels):
            continue
        other = needs_of(load_workload(workload), cell.levels, seed)
        times = _times(own, other)
        if times is not None and 1 / SCALED_AT_MOST <= times <= SCALED_AT_MOST:
            found.append((abs(math.log(times)), cell, other, times))
    if not found:
        return None
    _, cell, other, times = min(found, key=lambda one: one[0])
    more = max(0, own.relation_bytes - other.relation_bytes) if levels.get("cache") in WARM else 0
    rest_s = max(0.0, cell.whole_s - cell.driver_s - other.search_s)  # with the caches
    begins_s = min(DRIVER_BEGINS_S, cell.driver_s)
    work_s = max(0.0, cell.driver_s - other.declared_s - begins_s)
    seconds = rest_s + own.search_s + more / disk_bytes_per_s + own.declared_s + begins_s + work_s * times
    return Time(seconds, "scaled", f"by bytes, {times:.3g} times those of {cell.label!r} in run {cell.run}")


def _words(levels: Mapping[str, Level]) -> dict[str, Level]:
    return {name: level for name, level in levels.items() if isinstance(level, str | bool)}


def _times(own: Needs, other: Needs) -> float | None:
    """How many times as many bytes; 1 where nobody knows how many, which is where the levels fix the time."""
    if own.read_bytes is None or other.read_bytes is None:
        return 1.0 if own.declared_s else None
    bytes_own, bytes_other = (each.read_bytes + (each.written_bytes or 0) for each in (own, other))  # type: ignore[operator]
    return bytes_own / bytes_other if bytes_own and bytes_other else None


def rate(rates: Sequence[Rate], for_bytes: int) -> tuple[float, str] | None:
    """Bytes a second, the median over runs, and the newest of them; None where none of about so many was measured."""
    near = [one for one in rates if 1 / SCALED_AT_MOST <= for_bytes / one.bytes <= SCALED_AT_MOST]
    return (median(one.bytes_per_s for one in near), near[0].run) if near else None
