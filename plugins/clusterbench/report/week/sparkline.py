"""A result over time as a small picture: where its dots, levels and lines are, in the units of its viewBox. Pure.

``include/report/sparkline.html.j2`` draws it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from clusterbench.base.words import number
from clusterbench.history.model import Point

WIDTH, HEIGHT = 380, 130
LEFT, RIGHT, TOP, BOTTOM = 54, 10, 12, 22
RUNS_MAX = 52
"""A year of weeks. More would be a smear at this width."""
APART = 13.0
"""Height of a label: two nearer than that are moved."""
SPREAD_MIN = 0.02
"""Share of the value that the height shows at least, so that noise of a thousandth is no mountain."""


@dataclass(frozen=True)
class Dot:
    """A run. ``y`` is None where nothing completed; ``low`` and ``high`` are its 95 % interval."""

    x: float
    y: float | None
    low: float | None
    high: float | None
    is_valid: bool
    says: str


@dataclass(frozen=True)
class LevelLine:
    x1: float
    x2: float
    y: float
    text: str
    text_y: float
    is_new: bool


@dataclass(frozen=True)
class Sparkline:
    dots: tuple[Dot, ...]
    levels: tuple[LevelLine, ...]
    changed_x: float | None
    facts_x: tuple[float, ...]
    first: str
    last: str
    unit: str
    """With which way is better."""
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def sparkline(  # noqa: PLR0917  private to the reports, and each is a part of the picture
    points: Sequence[Point],
    before: float | None,
    after: float | None,
    at_run_id: str,
    runs_before: int,
    unit: str,
    better: str,
) -> Sparkline | None:
    """None where there is nothing to draw: fewer than two runs with a number."""
    shown = points[-RUNS_MAX:]
    if sum(point.median is not None for point in shown) < 2:
        return None
    scale = _Scale.of(shown, before, after)
    xs = [_x(place, len(shown)) for place in range(len(shown))]
    at = next((place for place, point in enumerate(shown) if point.run_id == at_run_id), None)
    gap = (xs[1] - xs[0]) / 2
    return Sparkline(
        dots=tuple(_dot(x, point, scale, unit) for x, point in zip(xs, shown, strict=True)),
        levels=tuple(_levels(xs, scale, before, after, at, runs_before)),
        changed_x=xs[at] - gap if at else None,
        facts_x=tuple(xs[place] - gap for place in _facts_changed(shown)),
        first=f"{shown[0].started_at:%-d %b %Y}",
        last=f"{shown[-1].started_at:%-d %b %Y}",
        unit=f"{unit}, {better} is better" if better != "neither" else unit,
    )


@dataclass(frozen=True)
class _Scale:
    """From values to heights. It does not begin at 0: what is of interest is a few percent."""

    low: float
    high: float

    @classmethod
    def of(cls, points: Iterable[Point], *levels: float | None) -> _Scale:
        values = [value for value in levels if value is not None]
        for point in points:
            if point.median is not None:
                values += [point.median, *(point.interval_95 or ())]
        middle = (min(values) + max(values)) / 2
        spread = max(max(values) - min(values), abs(middle) * SPREAD_MIN) or 1.0
        return cls(middle - spread / 2, middle + spread / 2)

    def y(self, value: float) -> float:
        return round(TOP + (self.high - value) / (self.high - self.low) * (HEIGHT - BOTTOM - TOP), 1)


def _x(place: int, count: int) -> float:
    inner = 6
    return round(LEFT + inner + place * (WIDTH - RIGHT - LEFT - 2 * inner) / max(1, count - 1), 1)


def _dot(x: float, point: Point, scale: _Scale, unit: str) -> Dot:
    when = f"{point.started_at:%-d %b %Y}"
    if point.median is None:
        return Dot(x, None, None, None, point.is_valid, f"{when}: {point.n} of {point.planned} completed")
    low, high = map(scale.y, point.interval_95) if point.interval_95 else (None, None)
    invalid = "" if point.is_valid else ", run not valid"
    says = f"{when}: {number(point.median, 4)}{'' if unit == '1' else ' ' + unit}{invalid}"
    return Dot(x, scale.y(point.median), low, high, point.is_valid, says)


def _levels(  # noqa: PLR0917  private, and each is a part of the picture
    xs: Sequence[float], scale: _Scale, before: float | None, after: float | None, at: int | None, runs_before: int
) -> list[LevelLine]:
    """Two, with the value of each at the left; where the change is older than the picture, the new one alone."""
    gap = (xs[1] - xs[0]) / 2
    found: list[LevelLine] = []
    start = xs[at] - gap if at is not None else xs[0]
    if after is not None:
        y = scale.y(after)
        found.append(LevelLine(start, xs[-1], y, number(after, 4), y, True))
    if before is not None and at:
        first = xs[max(0, at - runs_before)] if runs_before else xs[0]
        y = scale.y(before)
        found.append(LevelLine(first, start, y, number(before, 4), _moved(y, found), False))
    return found


def _moved(y: float, others: Sequence[LevelLine]) -> float:
    """Height of a label that does not touch the other."""
    if not others or abs(y - others[0].text_y) >= APART:
        return y
    up = y <= others[0].text_y
    moved = others[0].text_y + (-APART if up else APART)
    return moved if TOP <= moved <= HEIGHT - BOTTOM else others[0].text_y + (APART if up else -APART)


def _facts_changed(points: Sequence[Point]) -> list[int]:
    return [place for place, (former, point) in enumerate(pairwise(points), 1) if former.fact_set != point.fact_set]
