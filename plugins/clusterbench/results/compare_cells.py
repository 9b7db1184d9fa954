"""Results of two platforms, cell by cell: both numbers, their ratio, and what it says. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from clusterbench.base.factors import Level
from clusterbench.base.measurements import Better, MeasurementKind
from clusterbench.results import between_runs
from clusterbench.results.between_runs import Between, Spread
from clusterbench.results.judgement import NOTHING_SHOWN, Judgement, Ratio, chance, compare_runs, compare_two
from clusterbench.results.statements import explanation, is_statement, parts
from clusterbench.results.statistics import Result, Summary, in_pairs, p_value, p_value_of_two, summarise
from clusterbench.results.utilisation import refusal
from clusterbench.workloads import measurement_kinds

Histories = Mapping[tuple[str, str, str], Spread]
"""How far apart equal runs lie: by platform, ``cell_key`` and measurement."""


@dataclass(frozen=True)
class Asked:
    """What is compared: the two platforms, what the two are called, and why no number of theirs may be, if so.

    ``histories`` is None for two platforms of one run: those share what differs from run to run.
    """

    platforms: tuple[str, str]
    names: tuple[str, str]
    refused: str = ""
    histories: Histories | None = None
    withdrawn: Mapping[str, str] = field(default_factory=dict)
    """By ``cell_key`` why a cell of either side is not to be judged by."""


@dataclass(frozen=True)
class ComparedCell:
    """One measurement of a cell on both sides; ``said`` stands for a number that is not there.

    ``a`` and ``b`` have one summary a run, as many as were compared and have a number.
    Ratio and verdict are made when they are asked for: a run has thousands, of which few are shown.
    """

    sweep: str
    label: str
    measurement: str
    unit: str
    of_a: tuple[Summary, ...]
    of_b: tuple[Summary, ...]
    said_a: str
    said_b: str
    better: Better = "neither"
    refused: str = ""
    """Why the two are not compared, where that is so."""
    names: tuple[str, str] = ("A", "B")
    is_of_runs: bool = False
    history: Spread | None = None
    among: int = 0
    """Results that were looked at at once, where the difference of this one may be chance among them."""

    @property
    def a(self) -> Summary | None:
        """Of one run its own; of several that of their medians."""
        return _merged(self.of_a, self.better)

    @property
    def b(self) -> Summary | None:
        return _merged(self.of_b, self.better)

    @property
    def ratio(self) -> Ratio | None:
        """B's median to A's, and its 95 % interval where it is known."""
        return self._judged[0]

    @property
    def judgement(self) -> Judgement:
        """Of B beside A."""
        return chance(self._judged[1], self.among) if self.among else self._judged[1]

    @property
    def p_value(self) -> float | None:
        """How often equals would lie as far apart; None where nothing tells."""
        if self.refused or not (self.of_a and self.of_b):
            return None
        if not self.is_of_runs:
            return p_value_of_two(self.of_b[0], self.of_a[0])
        alone = len(self.of_a) == len(self.of_b) == 1
        within = p_value(self.of_b[0].values, self.of_a[0].values) if alone else None
        if self._between is None:
            return within
        return max(filter(None, (within, self._between.p_value)), default=0.0)

    @property
    def is_paired(self) -> bool:
        """Whether the ratio is that of pairs of trials, each measured right after the other."""
        return bool(not self.is_of_runs and self.of_a and self.of_b and in_pairs(self.of_b[0], self.of_a[0]))

    @cached_property
    def _between(self) -> Between | None:
        """What runs tell of the difference, where there are any and enough of them."""
        if not (self.is_of_runs and self.of_a and self.of_b):
            return None
        a, b = ([each.median for each in side] for side in (self.of_a, self.of_b))
        return between_runs.difference(a, b, self.history)

    @cached_property
    def _judged(self) -> tuple[Ratio | None, Judgement]:
        names = (self.names[1], self.names[0])
        if not self.is_of_runs:
            return compare_two(self.b, self.a, self.better, names=names, refused=self.refused)
        return compare_runs(self.of_b, self.of_a, self.better, self._between, names=names, refused=self.refused)

    def as_json(self) -> dict[str, Any]:
        said = {name: getattr(self, name) for name in ("label", "measurement", "unit", "better", "said_a", "said_b")}
        sides = {name: vars(side) if side else None for name, side in (("a", self.a), ("b", self.b))}
        judged: dict[str, Any] = {"ratio": self.ratio, "verdict": self.judgement.word, "says": self.judgement.says}
        spread = {"history": asdict(self.history) if self.history else None} if self.is_of_runs else {}
        judged |= {"p_value": self.p_value, "among": self.among, "paired": self.is_paired}
        return {**said, **sides, **judged, **spread}


def at_once(cells: Sequence[ComparedCell]) -> list[ComparedCell]:
    """The same cells, looked at together: of many some look different by chance, and are told so."""
    p_values = {number: p for number, cell in enumerate(cells) if (p := cell.p_value) is not None}
    doubted = between_runs.by_chance(p_values)
    return [
        replace(cell, among=len(p_values)) if number in doubted and cell.judgement.word not in NOTHING_SHOWN else cell
        for number, cell in enumerate(cells)
    ]


def cells_of(a: Sequence[Sequence[Result]], b: Sequence[Sequence[Result]], asked: Asked) -> list[ComparedCell]:
    """``a`` and ``b`` have the results of a platform in one run each, or in several."""
    by_key_a, by_key_b = (_by_key(side) for side in (a, b))
    labels_a, labels_b = ({of_cell[0].label for of_cell in side.values()} for side in (by_key_a, by_key_b))
    found = []
    for key in dict.fromkeys([*by_key_a, *by_key_b]):
        of_a, of_b = by_key_a.get(key, []), by_key_b.get(key, [])
        twice = bool((not of_b and of_a[0].label in labels_b) or (not of_a and of_b[0].label in labels_a))
        found += _of_cell(key, of_a, of_b, asked, twice=twice)
    return found


def made_of(cells: Sequence[ComparedCell]) -> dict[str, str]:
    """By label of a cell of several statements that are compared: which of them the difference is made of."""
    sides: dict[str, tuple[dict[str, float], dict[str, float]]] = {}
    statements = {name for name in {cell.measurement for cell in cells} if is_statement(name)}
    for cell in cells:
        if cell.measurement in statements and not cell.refused:
            both = sides.setdefault(cell.label, ({}, {}))
            for side, summary in zip(both, (cell.a, cell.b), strict=True):
                side.update({cell.measurement: summary.median} if summary else {})
    return {label: said for label, both in sides.items() if len(both[0]) > 1 and (said := explanation(parts(*both)))}


def _by_key(runs: Sequence[Sequence[Result]]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in (result for run in runs for result in run):
        found.setdefault(cell_key(result.sweep, result.levels), []).append(result)
    return found


def cell_key(sweep: str, levels: Mapping[str, Level]) -> str:
    """All its levels: a cell's name says only those that were varied, and the same name may be another size."""
    return f"{sweep} {sorted((name, str(level)) for name, level in levels.items())}"


def _of_cell(key: str, a: Sequence[Result], b: Sequence[Result], asked: Asked, *, twice: bool) -> list[ComparedCell]:
    """``twice``: the other side has a cell of that label with other levels."""
    known = (a or b)[0]
    levels = ", ".join(f"{name} {level}" for name, level in known.levels.items())
    label = f"{known.label} ({levels})" if twice else known.label
    said_a, said_b = (_said(side, twice=twice) for side in (a, b))
    of_runs = asked.histories is not None
    bare = ComparedCell(known.sweep, label, "", "", (), (), said_a, said_b, names=asked.names, is_of_runs=of_runs)
    measured = dict.fromkeys(name for result in (*a, *b) for name in result.measurements)
    why = asked.refused or asked.withdrawn.get(key) or _utilisation(a, b, asked.names)
    kinds = measurement_kinds()  # once: each time it looks whether a workload was added
    cells = [
        replace(_with(bare, name, kinds.get(name), a, b, why), history=_history(key, name, asked)) for name in measured
    ]
    return cells or [replace(bare, refused=_lacking(bare))]


def _history(key: str, measurement: str, asked: Asked) -> Spread | None:
    if not asked.histories:
        return None
    platforms = dict.fromkeys(asked.platforms)
    return between_runs.pooled(asked.histories.get((platform, key, measurement)) for platform in platforms)


def _with(  # noqa: PLR0917  private, and each argument is a part of the cell
    bare: ComparedCell,
    name: str,
    kind: MeasurementKind | None,
    a: Sequence[Result],
    b: Sequence[Result],
    refused: str,
) -> ComparedCell:
    of_a, of_b = (tuple(result.measurements[name] for result in side if name in result.measurements) for side in (a, b))
    unit = (of_a or of_b)[0].unit
    better: Better = kind.better if kind else "neither"
    cell = replace(bare, measurement=name, unit=unit, of_a=of_a, of_b=of_b, better=better, refused=refused)
    return cell if of_a and of_b else replace(cell, refused=_lacking(cell))


def _merged(runs: Sequence[Summary], better: Better) -> Summary | None:
    if len(runs) < 2:
        return runs[0] if runs else None
    return summarise([run.median for run in runs], runs[0].unit, better)


def _lacking(cell: ComparedCell) -> str:
    """Which side has no number, and what is there in its place."""
    sides = zip(cell.names, (cell.said_a, cell.said_b), (cell.of_a, cell.of_b), strict=True)
    return "; ".join(f"{name}: {said}" for name, said, side in sides if not side)


def _utilisation(a: Sequence[Result], b: Sequence[Result], names: tuple[str, str]) -> str:
    """By what the two are called here: both runs may have a platform of that name."""
    found = (
        refusal(replace(two, platform=names[1]), replace(one, platform=names[0]))
        for one in a
        for two in b
        if one.measurements and two.measurements
    )
    return next(filter(None, found), "").removeprefix("not compared: ")


def _said(results: Sequence[Result], *, twice: bool) -> str:
    if not results:
        return "not run with these levels" if twice else "not run here"
    said = []
    for result in results:
        reason = f": {result.reasons[0]}" if result.reasons else ""
        said.append(f"{result.n_of_n} completed{'' if result.completed else reason}")
    return "; ".join(dict.fromkeys(said))
