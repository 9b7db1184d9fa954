"""Two archived runs side by side: first what they ran on, then the results that both have, as ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from clusterbench.archive import RunArchive
from clusterbench.conformance import archived
from clusterbench.durability import Durability
from clusterbench.durability import archived as durability_of
from clusterbench.errors import ArchiveError, suggest
from clusterbench.report.facts_compared import (
    Difference,
    Side,
    count_of_facts,
    differences,
    of_texts,
)
from clusterbench.statistics import Result, Summary, ratio


@dataclass(frozen=True)
class OneRun:
    """What of a run is compared, by platform; ``declared``: setting -> what the platform file says of it."""

    name: str
    opened: Mapping[str, Any]
    sides: Mapping[str, Side]
    declared: Mapping[str, Mapping[str, str]]
    results: Sequence[Result]
    kept: Durability = field(default_factory=Durability)

    def results_on(self, platform: str) -> dict[str, Result]:
        return {_cell_key(result): result for result in self.results if result.platform == platform}


@dataclass(frozen=True)
class Cell:
    """One measurement of a cell in both runs; ``said`` stands for a number that is not there."""

    label: str
    measurement: str
    unit: str
    a: Summary | None
    b: Summary | None
    said_a: str
    said_b: str

    @property
    def ratio(self) -> tuple[float, tuple[float, float] | None] | None:
        """B's median to A's, and its 95 % bootstrap interval where both have repetitions enough."""
        return ratio(self.b.values, self.a.values) if self.a and self.b and self.a.median else None


@dataclass(frozen=True)
class Pair:
    """A platform of either run."""

    a: str
    b: str
    facts: int
    hosts: tuple[int, int]
    differences: list[Difference]
    declared: list[Difference]
    cells: list[Cell]
    durability: tuple[str, str] = ("", "")
    """How either traded durability away; empty where it did not, or where that is not known."""

    def as_json(self) -> dict[str, Any]:
        cells = [{**asdict(cell), "ratio": cell.ratio} for cell in self.cells]
        return {**asdict(self), "cells": cells}


@dataclass(frozen=True)
class Comparison:
    runs: tuple[str, str]
    run_differences: list[Difference]
    pairs: list[Pair]
    alone: tuple[list[str], list[str]]
    """Platforms that only one of the runs has."""

    def as_json(self) -> dict[str, Any]:
        of_runs = [asdict(one) for one in self.run_differences]
        pairs = [pair.as_json() for pair in self.pairs]
        return {"runs": self.runs, "run_differences": of_runs, "platforms": pairs, "alone": self.alone}


def read_run(archive: RunArchive) -> OneRun:
    """Raises ArchiveError where the run has no results yet."""
    found = archive.need_json("results.json")
    results = [Result.from_json(entry) for entry in found["results"]]
    platforms = dict.fromkeys(result.platform for result in results)
    facts = {name: archive.get_json(f"platforms/{name}/facts.json") for name in platforms}
    sides = {
        name: Side.of(facts[name], archive.store.get(f"{archive.prefix}platforms/{name}/platform.yaml"))
        for name in platforms
    }
    declared = {name: _declared(archive.get_json(f"platforms/{name}/conformance.json")) for name in platforms}
    kept = durability_of(found, {name: known or {} for name, known in facts.items()})
    name, opened = f"{archive.experiment}/{archive.run_id}", archive.need_json("run.json")
    return OneRun(name, opened, sides, declared, kept.labelled(results), kept)


def _declared(conformance: Mapping[str, Any] | None) -> dict[str, str]:
    """Hosts of the same setting as one: they have other names in other runs."""
    found: dict[str, dict[str, None]] = {}
    for row in archived(conformance):
        found.setdefault(row.setting, {})[row.declared] = None
    return {setting: ", ".join(sorted(values)) for setting, values in found.items()}


def compare(a: OneRun, b: OneRun, asked: Sequence[str] = ()) -> Comparison:
    """``asked``: platforms of both, or "native=vm1" for one of A and another of B. Pure."""
    pairs = _asked(a, b, asked) if asked else _natural(a, b)
    used_a, used_b = ({pair[side] for pair in pairs} for side in (0, 1))
    alone = ([name for name in a.sides if name not in used_a], [name for name in b.sides if name not in used_b])
    of_runs = of_texts(_of_the_run(a), _of_the_run(b), "run")
    return Comparison((a.name, b.name), of_runs, [_pair(a, b, *pair) for pair in pairs], ([], []) if asked else alone)


def _natural(a: OneRun, b: OneRun) -> list[tuple[str, str]]:
    """Platforms of the same name; of two runs with one platform each, those."""
    if len(a.sides) == len(b.sides) == 1:
        return [(next(iter(a.sides)), next(iter(b.sides)))]
    return [(name, name) for name in a.sides if name in b.sides]


def _asked(a: OneRun, b: OneRun, asked: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for words in asked:
        first, _, second = words.partition("=")
        for run, name in ((a, first), (b, second or first)):
            if name not in run.sides:
                raise ArchiveError(f"run {run.name} has no platform {name!r}{suggest(name, run.sides)}")
        pairs.append((first, second or first))
    return pairs


def _of_the_run(run: OneRun) -> dict[str, str]:
    choices = run.opened.get("choices") or {}
    said = {"experiment": run.name.partition("/")[0], "scale": choices.get("scale"), "seed": choices.get("seed")}
    said["clusterbench"] = run.opened.get("clusterbench")
    return {name: str(value) for name, value in said.items() if value is not None}


def _pair(a: OneRun, b: OneRun, name_a: str, name_b: str) -> Pair:
    side_a, side_b = a.sides[name_a], b.sides[name_b]
    return Pair(
        name_a,
        name_b,
        count_of_facts(side_a, side_b),
        (len(side_a.hosts), len(side_b.hosts)),
        differences(side_a, side_b),
        of_texts(a.declared[name_a], b.declared[name_b], "platform file"),
        _cells(a.results_on(name_a), b.results_on(name_b)),
        (a.kept.platforms.get(name_a, ""), b.kept.platforms.get(name_b, "")),
    )


def _cell_key(result: Result) -> str:
    """All its levels: a cell's name says only those that were varied, and the same name may be another size."""
    return f"{result.sweep} {sorted((name, str(level)) for name, level in result.levels.items())}"


def _cells(a: Mapping[str, Result], b: Mapping[str, Result]) -> list[Cell]:
    return [
        cell
        for key in dict.fromkeys([*a, *b])
        for cell in _of_cell(a.get(key), b.get(key), twice=_is_ambiguous(key, a, b))
    ]


def _is_ambiguous(key: str, a: Mapping[str, Result], b: Mapping[str, Result]) -> bool:
    """Whether the other run has a cell of that label with other levels."""
    mine, others = (a[key], b) if key in a else (b[key], a)
    return key not in others and any(other.label == mine.label for other in others.values())


def _of_cell(a: Result | None, b: Result | None, *, twice: bool) -> list[Cell]:
    known = next(result for result in (a, b) if result)
    levels = ", ".join(f"{name} {level}" for name, level in known.levels.items())
    label = f"{known.label} ({levels})" if twice else known.label
    names = dict.fromkeys(name for result in (a, b) if result for name in result.measurements)
    said = _said(a), _said(b)
    if not names:
        return [Cell(label, "", "", None, None, *said)]
    cells = []
    for name in names:
        of_a, of_b = (result.measurements.get(name) if result else None for result in (a, b))
        unit = next(summary.unit for summary in (of_a, of_b) if summary)
        cells.append(Cell(label, name, unit, of_a, of_b, *said))
    return cells


def _said(result: Result | None) -> str:
    if result is None:
        return "not in this run"
    reason = f": {result.reasons[0]}" if result.reasons else ""
    return f"{result.n_of_n} completed{'' if result.completed else reason}"
