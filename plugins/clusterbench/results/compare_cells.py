"""Results of two platforms, cell by cell: both numbers, their ratio, and what it says. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from clusterbench.base.factors import Level
from clusterbench.base.measurements import Better
from clusterbench.results.judgement import Judgement, Ratio, compare_two
from clusterbench.results.statistics import Result, Summary
from clusterbench.results.utilisation import refusal
from clusterbench.workloads import measurement_kinds


@dataclass(frozen=True)
class ComparedCell:
    """One measurement of a cell on both sides; ``said`` stands for a number that is not there.

    Ratio and verdict are made when they are asked for: a run has thousands, of which few are shown.
    """

    sweep: str
    label: str
    measurement: str
    unit: str
    a: Summary | None
    b: Summary | None
    said_a: str
    said_b: str
    better: Better = "neither"
    refused: str = ""
    """Why the two are not compared, where that is so."""
    names: tuple[str, str] = ("A", "B")

    @property
    def ratio(self) -> Ratio | None:
        """B's median to A's, and its 95 % interval where both have repetitions enough."""
        return self._judged[0]

    @property
    def judgement(self) -> Judgement:
        """Of B beside A."""
        return self._judged[1]

    @cached_property
    def _judged(self) -> tuple[Ratio | None, Judgement]:
        return compare_two(self.b, self.a, self.better, names=(self.names[1], self.names[0]), refused=self.refused)

    def as_json(self) -> dict[str, Any]:
        said = {name: getattr(self, name) for name in ("label", "measurement", "unit", "better", "said_a", "said_b")}
        sides = {name: vars(side) if side else None for name, side in (("a", self.a), ("b", self.b))}
        judged = {"ratio": self.ratio, "verdict": self.judgement.word, "says": self.judgement.says}
        return {**said, **sides, **judged}


def cells_of(a: Sequence[Result], b: Sequence[Result], names: tuple[str, str], refused: str = "") -> list[ComparedCell]:
    """``refused``: why no number of the two may be compared; empty where they may be."""
    by_key_a, by_key_b = ({cell_key(result.sweep, result.levels): result for result in side} for side in (a, b))
    labels_a, labels_b = ({result.label for result in side} for side in (a, b))
    found = []
    for key in dict.fromkeys([*by_key_a, *by_key_b]):
        of_a, of_b = by_key_a.get(key), by_key_b.get(key)
        twice = (of_b is None and of_a is not None and of_a.label in labels_b) or (
            of_a is None and of_b is not None and of_b.label in labels_a
        )
        found += _of_cell(of_a, of_b, names, refused, twice=twice)
    return found


def cell_key(sweep: str, levels: Mapping[str, Level]) -> str:
    """All its levels: a cell's name says only those that were varied, and the same name may be another size."""
    return f"{sweep} {sorted((name, str(level)) for name, level in levels.items())}"


def _of_cell(
    a: Result | None, b: Result | None, names: tuple[str, str], refused: str, *, twice: bool
) -> list[ComparedCell]:
    """``twice``: the other side has a cell of that label with other levels."""
    known = next(result for result in (a, b) if result)
    levels = ", ".join(f"{name} {level}" for name, level in known.levels.items())
    label = f"{known.label} ({levels})" if twice else known.label
    bare = ComparedCell(
        known.sweep, label, "", "", None, None, _said(a, twice=twice), _said(b, twice=twice), names=names
    )
    measured = dict.fromkeys(name for result in (a, b) if result for name in result.measurements)
    why = refused or _utilisation(a, b, names)
    return [_with(bare, name, a, b, why) for name in measured] or [replace(bare, refused=_lacking(bare))]


def _with(bare: ComparedCell, name: str, a: Result | None, b: Result | None, refused: str) -> ComparedCell:
    of_a, of_b = (result.measurements.get(name) if result else None for result in (a, b))
    unit = next(side.unit for side in (of_a, of_b) if side)
    kind = measurement_kinds().get(name)
    better: Better = kind.better if kind else "neither"
    cell = replace(bare, measurement=name, unit=unit, a=of_a, b=of_b, better=better, refused=refused)
    return cell if of_a and of_b else replace(cell, refused=_lacking(cell))


def _lacking(cell: ComparedCell) -> str:
    """Which side has no number, and what is there in its place."""
    sides = zip(cell.names, (cell.said_a, cell.said_b), (cell.a, cell.b), strict=True)
    return "; ".join(f"{name}: {said}" for name, said, side in sides if side is None)


def _utilisation(a: Result | None, b: Result | None, names: tuple[str, str]) -> str:
    """By what the two are called here: both runs may have a platform of that name."""
    if not (a and b and a.measurements and b.measurements):
        return ""
    found = refusal(replace(b, platform=names[1]), replace(a, platform=names[0]))
    return found.removeprefix("not compared: ")


def _said(result: Result | None, *, twice: bool) -> str:
    if result is None:
        return "not run with these levels" if twice else "not run here"
    reason = f": {result.reasons[0]}" if result.reasons else ""
    return f"{result.n_of_n} completed{'' if result.completed else reason}"
