"""A result over time as a figure: where its dots, levels and lines are, in the units of its viewBox. Pure.

There are three sizes of it: ``history_figure`` for the page of a result, ``change_figure`` for a change in the weekly
report, and ``line_figure`` for a line of a table. ``include/report/time_series.html.j2`` draws all of them. A figure
has no words that the tables or sentences beside it have not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median

from clusterbench.base.measurements import Better
from clusterbench.base.words import number, percent
from clusterbench.history.change_test import Change
from clusterbench.history.model import Point

SPREAD_MIN = 0.1
"""Share of the value that the height shows at least, so that noise of a thousandth is no mountain."""
RUNS_MAX = 52
"""In the weekly report: a year of weeks. More would be a smear at its width."""
TICKS_X, TICKS_Y = 8, 5
APART_PX = 68
"""Words over two lines nearer than that would touch: the second is written a line lower."""
LABEL_PX = 13.0
"""Height of a level's label: of two that are nearer than that, one is moved."""


@dataclass(frozen=True)
class Size:
    """All in units of the viewBox. ``left``, ``right``, ``top`` and ``bottom`` are where the axes end."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    inset: int
    """Between an axis and the first dot."""
    dot: float
    """Radius."""
    cross: int
    """Half the width of the cross that stands for a run without a number."""
    flag: tuple[int, int, int]
    """Of the triangle where facts changed: its tip below the horizontal axis, half its width, its height."""

    def x(self, share: float) -> float:
        """``share``: 0 is the first dot's place, 1 the last one's."""
        return round(self.left + self.inset + share * (self.right - self.left - 2 * self.inset), 1)


HISTORY = Size(1080, 360, left=76, right=1060, top=34, bottom=312, inset=14, dot=3.2, cross=4, flag=(-9, 5, 9))
CHANGE = Size(380, 130, left=54, right=370, top=12, bottom=108, inset=6, dot=2.4, cross=3, flag=(0, 4, 7))
LINE = Size(120, 26, left=0, right=120, top=3, bottom=23, inset=3, dot=2.5, cross=0, flag=(0, 0, 0))


@dataclass(frozen=True)
class Break:
    """A change point: the first run of the new level."""

    run_id: str
    change_percent: float


@dataclass(frozen=True)
class Dot:
    """A run. ``y`` is None where nothing completed; ``low`` and ``high`` are its 95 % interval."""

    x: float
    y: float | None
    low: float | None
    high: float | None
    counts: bool
    """Whether others are judged by it: its run is valid, and nobody withdrew it."""
    says: str


@dataclass(frozen=True)
class Level:
    """What the runs between two changes have in common. ``text_y``: height of a label beside the vertical axis."""

    x1: float
    x2: float
    y: float
    says: str
    text_y: float | None = None
    is_new: bool = False


@dataclass(frozen=True)
class Event:
    """Something that happened between two runs, or with one; ``row`` sets its words below those of its neighbour."""

    x: float
    text: str = ""
    row: int = 0


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Caption:
    """Words below the horizontal axis. ``anchor`` is the CSS class that says which end of them is at ``x``."""

    x: float
    text: str
    anchor: str = ""


@dataclass(frozen=True)
class Figure:
    size: Size
    dots: tuple[Dot, ...]
    levels: tuple[Level, ...] = ()
    breaks: tuple[Event, ...] = ()
    facts: tuple[Event, ...] = ()
    baselines: tuple[Event, ...] = ()
    told: tuple[Event, ...] = ()
    """Events that people told of, by their numbers in the table."""
    x_ticks: tuple[Tick, ...] = ()
    y_ticks: tuple[Tick, ...] = ()
    captions: tuple[Caption, ...] = ()
    begins_at_zero: bool = False


def history_figure(  # noqa: PLR0917  (all but the first two are given by name)
    points: Sequence[Point],
    unit: str,
    breaks: Sequence[Break] = (),
    facts: Mapping[str, int] | None = None,
    baselines: Mapping[str, str] | None = None,
    told: Sequence[datetime] = (),
) -> Figure | None:
    """The large one, by time: a month without runs is a gap. None where no run has a number.

    ``facts``: run with other facts than the one before -> its number in the table; ``baselines``: run -> by whom.
    ``told``: when events happened, of which those before the first run or after the last are left out.
    """
    if not any(point.median is not None for point in points):
        return None
    first = points[0].started_at
    whole = (points[-1].started_at - first).total_seconds() or 1.0
    xs = [HISTORY.x((point.started_at - first).total_seconds() / whole) for point in points]
    scale = _Scale.rounded(points, HISTORY)
    at = {point.run_id: place for place, point in enumerate(points)}
    known = [each for each in breaks if each.run_id in at]
    return Figure(
        HISTORY,
        dots=tuple(_dot(x, point, scale, unit) for x, point in zip(xs, points, strict=True)),
        levels=tuple(_levels(points, xs, scale, unit, [at[each.run_id] for each in known])),
        breaks=_events([(_before(xs, at[each.run_id]), _up_or_down(each.change_percent)) for each in known]),
        facts=_events([(_before(xs, at[run]), str(number)) for run, number in (facts or {}).items() if run in at], 20),
        baselines=_events([(xs[at[run]], by) for run, by in (baselines or {}).items() if run in at]),
        told=_events(
            [
                (HISTORY.x((at - first).total_seconds() / whole), letter(place))
                for place, at in enumerate(told)
                if first <= at <= points[-1].started_at
            ],
            20,
        ),
        x_ticks=tuple(_dates(points, xs)),
        y_ticks=tuple(Tick(scale.y(value), number(value, scale.digits)) for value in scale.ticks),
        begins_at_zero=scale.low == 0,
    )


def change_figure(points: Sequence[Point], change: Change, unit: str, better: Better) -> Figure | None:
    """The one of a change, run by run, of the last ``RUNS_MAX``. None with fewer than two numbers."""
    shown = points[-RUNS_MAX:]
    if sum(point.median is not None for point in shown) < 2:
        return None
    xs = _evenly(len(shown), CHANGE)
    scale = _Scale.of(shown, CHANGE, change.before, change.after)
    at = next((place for place, point in enumerate(shown) if point.run_id == change.at_run_id), None)
    changed_facts = [place for place, (a, b) in enumerate(pairwise(shown), 1) if a.fact_set != b.fact_set]
    return Figure(
        CHANGE,
        dots=tuple(_dot(x, point, scale, unit) for x, point in zip(xs, shown, strict=True)),
        levels=tuple(_two_levels(xs, scale, change, at)),
        breaks=(Event(_before(xs, at)),) if at else (),
        facts=tuple(Event(_before(xs, place)) for place in changed_facts),
        captions=(
            Caption(CHANGE.left, f"{shown[0].started_at:%-d %b %Y}"),
            Caption(CHANGE.right, f"{shown[-1].started_at:%-d %b %Y}", "end"),
            Caption(
                (CHANGE.left + CHANGE.right) / 2,
                f"{unit}, {better} is better" if better != "neither" else unit,
                "middle",
            ),
        ),
    )


def line_figure(points: Sequence[Point]) -> Figure | None:
    """The small one: dots alone, on the scale of the large one. None with fewer than two numbers."""
    if sum(point.median is not None for point in points) < 2:
        return None
    scale, xs = _Scale.rounded(points, LINE), _evenly(len(points), LINE)
    return Figure(LINE, tuple(_dot(x, point, scale, "1") for x, point in zip(xs, points, strict=True)))


# Where a value is.


@dataclass(frozen=True)
class _Scale:
    """From values to heights. It does not begin at 0 where values lie far from it: a few percent are of interest."""

    low: float
    high: float
    size: Size
    step: float = 0.0
    """From one tick to the next."""

    @classmethod
    def of(cls, points: Iterable[Point], size: Size, *levels: float | None) -> _Scale:
        """From the lowest to the highest value, intervals and levels included."""
        values = [value for value in levels if value is not None]
        for point in points:
            if point.median is not None:
                values += [point.median, *(point.interval_95 or ())]
        middle = (min(values) + max(values)) / 2
        spread = max(max(values) - min(values), abs(middle) * SPREAD_MIN) or 1.0
        return cls(middle - spread / 2, middle + spread / 2, size)

    @classmethod
    def rounded(cls, points: Iterable[Point], size: Size) -> _Scale:
        """The same with some room above and below, from one round number to another."""
        known = [point for point in points if point.median is not None]
        lowest = min(value for point in known for value in (point.median or 0.0, *(point.interval_95 or ())))
        tight = cls.of(known, size)
        room = (tight.high - tight.low) / 10
        bottom, top = tight.low - room, tight.high + room
        if lowest >= 0 and bottom < 0.25 * top:
            bottom = 0.0
        step = _round_step((top - bottom) / TICKS_Y)
        return cls(math.floor(bottom / step) * step, math.ceil(top / step) * step, size, step)

    @property
    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [self.low + self.step * place for place in range(count + 1)]

    @property
    def digits(self) -> int:
        """As many as tell one tick from the next."""
        largest = max(abs(self.low), abs(self.high))
        return max(2, math.floor(math.log10(largest)) - math.floor(math.log10(self.step)) + 2)

    def y(self, value: float) -> float:
        share = (self.high - value) / (self.high - self.low)
        return round(self.size.top + share * (self.size.bottom - self.size.top), 1)


def _round_step(rough: float) -> float:
    magnitude = 10.0 ** math.floor(math.log10(rough))
    return next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= rough)


def _evenly(count: int, size: Size) -> list[float]:
    return [size.x(place / (count - 1)) for place in range(count)]


def _before(xs: Sequence[float], place: int) -> float:
    """Halfway to the run before: what changed, changed between the two."""
    return round((xs[place - 1] + xs[place]) / 2, 1) if place else xs[0] - HISTORY.inset / 2


# What is drawn.


def _dot(x: float, point: Point, scale: _Scale, unit: str) -> Dot:
    when = f"{point.started_at:%-d %b %Y}"
    not_valid = "" if point.is_valid else "the run is not valid"
    beside = "".join(f"; {said}" for said in (not_valid, point.withdrawn) if said)
    if point.median is None:
        return Dot(x, None, None, None, point.counts, f"{when}: {point.n} of {point.planned} completed{beside}")
    low, high = map(scale.y, point.interval_95) if point.interval_95 else (None, None)
    says = f"{when}: {_value(point.median, unit)}, {point.n} of {point.planned}{beside}"
    return Dot(x, scale.y(point.median), low, high, point.counts, says)


def _value(value: float, unit: str) -> str:
    return f"{number(value, 4)}{'' if unit == '1' else ' ' + unit}"


def letter(place: int) -> str:
    """Of the first 26 events that people told of."""
    return chr(ord("A") + place)


def _up_or_down(change: float) -> str:
    return f"{percent(abs(change))} {'up' if change > 0 else 'down'}"


def _events(found: Sequence[tuple[float, str]], apart: float = APART_PX) -> tuple[Event, ...]:
    made: list[Event] = []
    for x, text in sorted(found):
        is_near = bool(made) and x - made[-1].x < apart
        made.append(Event(x, text, 1 - made[-1].row if is_near else 0))
    return tuple(made)


def _levels(
    points: Sequence[Point], xs: Sequence[float], scale: _Scale, unit: str, starts: Sequence[int]
) -> list[Level]:
    """The median of the valid runs between every two change points; without any, that of all."""
    bounds = [0, *(start for start in sorted(starts) if start), len(points)]
    found = []
    for first, end in pairwise(bounds):
        values = [each.median for each in points[first:end] if each.median is not None and each.counts]
        if values:
            middle = median(values)
            x1 = _before(xs, first) if first else xs[0]
            x2 = _before(xs, end) if end < len(points) else xs[-1]
            found.append(Level(x1, x2, scale.y(middle), f"median of these runs: {_value(middle, unit)}"))
    return found


def _two_levels(xs: Sequence[float], scale: _Scale, change: Change, at: int | None) -> list[Level]:
    """Before and after, with the value of each at the left. Where the change is older than the figure, the new alone.

    ``at``: place of the first run of the new level, None where it is not shown.
    """
    start = _before(xs, at) if at else xs[0]
    found: list[Level] = []
    if change.after is not None:
        y = scale.y(change.after)
        found.append(Level(start, xs[-1], y, number(change.after, 4), y, is_new=True))
    if change.before is not None and at:
        first = xs[max(0, at - change.runs_before)] if change.runs_before else xs[0]
        y = scale.y(change.before)
        found.append(Level(first, start, y, number(change.before, 4), _moved(y, found)))
    return found


def _moved(y: float, others: Sequence[Level]) -> float:
    """Height of a label that does not touch the other."""
    other = others[0].text_y if others else None
    if other is None or abs(y - other) >= LABEL_PX:
        return y
    moved = other + (-LABEL_PX if y <= other else LABEL_PX)
    return moved if CHANGE.top <= moved <= CHANGE.bottom else 2 * other - moved


def _dates(points: Sequence[Point], xs: Sequence[float]) -> list[Tick]:
    """Months or years where there are enough of them, else the days of runs."""
    first, last = points[0].started_at, points[-1].started_at
    months = (last.year - first.year) * 12 + last.month - first.month
    if months < 3:
        step = max(1, math.ceil(len(points) / TICKS_X))
        return [Tick(xs[place], f"{points[place].started_at:%-d %b}") for place in range(0, len(points), step)]
    every = next(step for step in (1, 2, 3, 6, 12, 24, 60) if months / step <= TICKS_X)
    whole = (last - first).total_seconds()
    ticks = []
    for month in range(first.year * 12 + first.month, last.year * 12 + last.month):
        if month % every == 0:
            when = datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC)
            share = (when - first).total_seconds() / whole
            ticks.append(Tick(round(xs[0] + share * (xs[-1] - xs[0]), 1), f"{when:%b %Y}"))
    return ticks
