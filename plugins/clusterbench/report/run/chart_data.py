"""What a figure of a run shows: lines of marks, and the paper's values beside them. ``charts`` draws it. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from clusterbench.base.words import quantity


@dataclass(frozen=True)
class Mark:
    """One cell in a figure: ``y`` is None where nothing completed, and ``note`` says what happened instead."""

    x: float
    label: str
    y: float | None
    interval_95: tuple[float, float] | None
    note: str = ""


@dataclass(frozen=True)
class Line:
    """Marks that belong together. Colour and dash are numbers, so that one factor has one look."""

    name: str
    colour: int
    dash: int
    marks: list[Mark]


@dataclass(frozen=True)
class PaperMark:
    x: float
    y: float
    colour: int | None
    label: str


@dataclass(frozen=True)
class Chart:
    """Numbers along x where ``levels`` says so, else one row per category, whose names are ``rows``."""

    title: str
    unit: str
    x_title: str
    lines: list[Line]
    papers: list[PaperMark]
    rows: list[str]
    reference: float | None = None
    """A value to compare with, such as 1 of ratios; the axis then begins near the values, not at zero."""

    @property
    def is_numeric(self) -> bool:
        return not self.rows

    @cached_property
    def values(self) -> list[float]:
        """Everything that the value axis must hold."""
        ours = [v for line in self.lines for m in line.marks if m.y is not None for v in (m.y, *(m.interval_95 or ()))]
        return ours + [paper.y for paper in self.papers]

    @property
    def has_few(self) -> bool:
        """Whether a cell has too few repetitions for an interval."""
        return any(mark.y is not None and mark.interval_95 is None for line in self.lines for mark in line.marks)

    @property
    def has_failed(self) -> bool:
        return self.is_numeric and any(mark.note.endswith("completed") for line in self.lines for mark in line.marks)

    @property
    def sentence(self) -> str:
        """What the figure shows, for those who hear it."""
        parts = []
        for line in self.lines:
            said = [f"{mark.label} {quantity(mark.y, self.unit) if mark.y else mark.note}" for mark in line.marks]
            parts.append(f"{line.name}: {', '.join(said)}")
        papers = [f"paper: {paper.label}" for paper in self.papers]
        return f"{self.title} by {self.x_title}. {'; '.join([*parts, *papers])}."


def axis_is_log(values: Sequence[float]) -> bool:
    """Whether levels lie more evenly on a logarithmic axis; two levels, when they are a decade apart."""
    levels = sorted(set(values))
    if len(levels) < 2 or levels[0] <= 0:
        return False
    if len(levels) == 2:
        return levels[1] >= 10 * levels[0]
    return _widest_gap([math.log(level) for level in levels]) < _widest_gap(levels)


def _widest_gap(levels: Sequence[float]) -> float:
    """The largest step as a share of the whole."""
    return max(b - a for a, b in itertools.pairwise(levels)) / (levels[-1] - levels[0])
