"""A result over time as a figure: where its dots, levels and lines are, in the units of its viewBox. Pure.

``include/ui/chart.html.j2`` draws it. The figure has no words that the tables beside it have not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median

from clusterbench.base.words import THIN_SPACE, number
from clusterbench.history.model import Point

WIDTH, HEIGHT = 1080, 360
LEFT, RIGHT, TOP, BOTTOM = 76, 20, 34, 48
INSET = 14
"""Between the axis and the first dot."""
SPREAD_MIN = 0.1
"""Share of the value that the height shows at least, so that noise of a thousandth is no mountain."""
TICKS_X, TICKS_Y = 8, 5
APART_PX = 68
"""Words over two lines nearer than that would touch: the second is written a line lower."""


@dataclass(frozen=True)
class Break:
    """A change point: the first run of the new level."""

    run_id: str
    change_percent: float


@dataclass(frozen=True)
class Dot:
    """A run. ``y`` is None where nothing completed; ``low`` and ``high`` are its 95 % interval."""

    run_id: str
    x: float
    y: float | None
    low: float | None
    high: float | None
    is_valid: bool
    says: str


@dataclass(frozen=True)
class Level:
    """The median of the runs between two change points."""

    x1: float
    x2: float
    y: float
    says: str


@dataclass(frozen=True)
class Line:
    """Something that happened between two runs, or with one; ``row`` sets its words below those of its neighbour."""

    x: float
    text: str
    row: int = 0


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Figure:
    dots: tuple[Dot, ...]
    levels: tuple[Level, ...]
    breaks: tuple[Line, ...]
    facts: tuple[Line, ...]
    baselines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    begins_at_zero: bool
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def figure(
    points: Sequence[Point],
    unit: str,
    breaks: Sequence[Break] = (),
    facts: Mapping[str, int] | None = None,
    baselines: Mapping[str, str] | None = None,
) -> Figure | None:
    """``facts``: run with other facts than the one before -> its number in the table; ``baselines``: run -> by whom.

    None where no run has a number.
    """
    if not any(point.median is not None for point in points):
        return None
    xs, scale = _places(points), _Scale.of(points)
    at = {point.run_id: place for place, point in enumerate(points)}
    known = [each for each in breaks if each.run_id in at]
    return Figure(
        dots=tuple(_dot(x, point, scale, unit) for x, point in zip(xs, points, strict=True)),
        levels=tuple(_levels(points, xs, scale, unit, [at[each.run_id] for each in known])),
        breaks=_lines([(_before(xs, at[each.run_id]), _percent(each.change_percent)) for each in known]),
        facts=_lines([(_before(xs, at[run]), str(number)) for run, number in (facts or {}).items() if run in at], 20),
        baselines=_lines([(xs[at[run]], by) for run, by in (baselines or {}).items() if run in at]),
        x_ticks=tuple(_dates(points, xs)),
        y_ticks=tuple(Tick(scale.y(value), number(value, scale.digits)) for value in scale.ticks),
        begins_at_zero=scale.low == 0,
    )


def _percent(value: float) -> str:
    return f"{number(abs(value), 2)}{THIN_SPACE}% {'up' if value > 0 else 'down'}"


def _before(xs: Sequence[float], place: int) -> float:
    """Halfway to the run before: what changed, changed between the two."""
    return round((xs[place - 1] + xs[place]) / 2, 1) if place else xs[0] - INSET / 2


def _lines(found: Sequence[tuple[float, str]], apart: float = APART_PX) -> tuple[Line, ...]:
    made: list[Line] = []
    for x, text in sorted(found):
        is_near = bool(made) and x - made[-1].x < apart
        made.append(Line(x, text, 1 - made[-1].row if is_near else 0))
    return tuple(made)


def _places(points: Sequence[Point]) -> list[float]:
    """By time: a month without runs is a gap."""
    first, last = points[0].started_at, points[-1].started_at
    whole = (last - first).total_seconds() or 1.0
    room = WIDTH - RIGHT - LEFT - 2 * INSET
    return [round(LEFT + INSET + (each.started_at - first).total_seconds() / whole * room, 1) for each in points]


@dataclass(frozen=True)
class _Scale:
    """From values to heights. It does not begin at 0 where values lie far from it: a few percent are of interest."""

    low: float
    high: float
    step: float

    @classmethod
    def of(cls, points: Sequence[Point]) -> _Scale:
        values = [bound for each in points if each.median is not None for bound in (each.median, *_bounds(each))]
        low, high = min(values), max(values)
        spread = max(high - low, abs(low + high) / 2 * SPREAD_MIN) or 1.0
        middle = (low + high) / 2
        bottom, top = middle - spread * 0.6, middle + spread * 0.6
        if low >= 0 and bottom < 0.25 * top:
            bottom = 0.0
        step = _round_step((top - bottom) / TICKS_Y)
        return cls(math.floor(bottom / step) * step, math.ceil(top / step) * step, step)

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
        return round(TOP + share * (HEIGHT - BOTTOM - TOP), 1)


def _bounds(point: Point) -> tuple[float, ...]:
    return point.interval_95 or ()


def _round_step(rough: float) -> float:
    magnitude = 10.0 ** math.floor(math.log10(rough))
    return next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= rough)


def _dot(x: float, point: Point, scale: _Scale, unit: str) -> Dot:
    when = f"{point.started_at:%-d %b %Y}"
    if point.median is None:
        return Dot(point.run_id, x, None, None, None, point.is_valid, f"{when}: 0 of {point.planned} completed")
    low, high = map(scale.y, point.interval_95) if point.interval_95 else (None, None)
    says = f"{when}: {number(point.median, 4)}{'' if unit == '1' else ' ' + unit}, {point.n} of {point.planned}"
    says += "" if point.is_valid else "; the run is not valid"
    return Dot(point.run_id, x, scale.y(point.median), low, high, point.is_valid, says)


def _levels(
    points: Sequence[Point], xs: Sequence[float], scale: _Scale, unit: str, starts: Sequence[int]
) -> list[Level]:
    """One between every two change points; without any, the one level that all runs share."""
    bounds = [0, *(start for start in sorted(starts) if start), len(points)]
    found = []
    for first, end in pairwise(bounds):
        values = [each.median for each in points[first:end] if each.is_valid and each.median is not None]
        if values:
            middle = median(values)
            x1 = _before(xs, first) if first else xs[0]
            x2 = _before(xs, end) if end < len(points) else xs[-1]
            says = f"{number(middle, 4)}{'' if unit == '1' else ' ' + unit}"
            found.append(Level(x1, x2, scale.y(middle), says))
    return found


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


# The small one, for a line of a table.

SPARK_WIDTH, SPARK_HEIGHT = 120, 26


def spark(points: Sequence[Point]) -> Figure | None:
    """Its dots alone, on the scale that the large figure has; None with fewer than two numbers."""
    shown = [point for point in points if point.median is not None]
    if len(shown) < 2:
        return None
    scale, last = _Scale.of(shown), len(points) - 1
    share = (SPARK_HEIGHT - 6) / (HEIGHT - BOTTOM - TOP)
    dots = []
    for place, point in enumerate(points):
        y = None if point.median is None else round(3 + (scale.y(point.median) - TOP) * share, 1)
        dots.append(
            Dot(point.run_id, round(3 + place * (SPARK_WIDTH - 6) / last, 1), y, None, None, point.is_valid, "")
        )
    return Figure(tuple(dots), (), (), (), (), (), (), False, SPARK_WIDTH, SPARK_HEIGHT)
