"""How far off a plan was: what would have been estimated before a run, beside what the run took.

The estimate knows the runs that are older than this one, and not the run itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from clusterbench.base.archive import RunArchive
from clusterbench.base.errors import ArchiveError
from clusterbench.results.measured import cells_of, read_measured
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.estimate import Estimate, estimate
from clusterbench.trial.measured import MeasuredCell
from clusterbench.trial.plan import Plan

GENERATION, VALIDATION = "generate_data", "validate_data"


@dataclass(frozen=True)
class Compared:
    """A cell, or a step before the first trial. Seconds are those of one trial; ``trials`` were measured."""

    platform: str
    sweep: str
    """Empty for a step."""
    cell: str
    label: str
    trials: int
    estimated_s: float
    measured_s: float
    basis: str

    @property
    def ratio(self) -> float:
        """Measured to estimated: 2 took twice as long as was said."""
        return self.measured_s / max(self.estimated_s, 1e-9)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}


@dataclass(frozen=True)
class ComparedSweep:
    """Seconds are those of all trials that were measured; ``ratios``: least, median and most of a cell."""

    platform: str
    sweep: str
    cells: int
    trials: int
    estimated_s: float
    measured_s: float
    ratios: tuple[float, float, float]
    basis: Mapping[str, int]
    """How many cells of each."""

    @property
    def ratio(self) -> float:
        return self.measured_s / max(self.estimated_s, 1e-9)


@dataclass(frozen=True)
class PlanComparison:
    run: str
    rows: tuple[Compared, ...]
    without: tuple[str, ...]
    """Cells of the plan of which no trial was completed: "platform: label"."""
    known_runs: Mapping[str, tuple[str, ...]]
    """By platform, the older runs that the estimate knew of."""

    def sweeps(self) -> list[ComparedSweep]:
        found: dict[tuple[str, str], list[Compared]] = {}
        for row in self.rows:
            if row.sweep:
                found.setdefault((row.platform, row.sweep), []).append(row)
        return [_sweep(rows) for rows in found.values()]

    def as_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "known_runs": {platform: list(runs) for platform, runs in self.known_runs.items()},
            "sweeps": [{**asdict(one), "ratio": one.ratio} for one in self.sweeps()],
            "cells": [row.as_json() for row in self.rows],
            "without": list(self.without),
        }


def _sweep(rows: Sequence[Compared]) -> ComparedSweep:
    ratios = [row.ratio for row in rows]
    kinds: dict[str, int] = {}
    for row in rows:
        kinds[row.basis] = kinds.get(row.basis, 0) + 1
    return ComparedSweep(
        rows[0].platform,
        rows[0].sweep,
        len(rows),
        sum(row.trials for row in rows),
        sum(row.trials * row.estimated_s for row in rows),
        sum(row.trials * row.measured_s for row in rows),
        (min(ratios), median(ratios), max(ratios)),
        kinds,
    )


def compare_plan(archive: RunArchive, catalog: Catalog) -> PlanComparison:
    """Raises ArchiveError where the run has no plan, or no completed trial."""
    plan = Plan.from_json(archive.need_json("plan.json"))
    known = {
        name: read_measured(archive.store, archive.experiment, name, before=archive.run_id) for name in plan.trials
    }
    rows: list[Compared] = []
    without: list[str] = []
    for one in estimate(plan, catalog, known):
        cells, missing = compare_cells(one, cells_of(archive, one.platform))
        rows += [*_steps(one, archive), *cells]
        without += missing
    if not any(row.sweep for row in rows):
        raise ArchiveError(f"run {archive.name} has no completed trial, so nothing of it can be compared with a plan")
    runs = {name: found.runs for name, found in known.items()}
    return PlanComparison(archive.name, tuple(rows), tuple(without), runs)


def compare_cells(estimated: Estimate, measured: Sequence[MeasuredCell]) -> tuple[list[Compared], list[str]]:
    """Rows, and the cells of which nothing was measured though it could be had. Pure."""
    found = {cell.cell: cell for cell in measured}
    rows, without = [], []
    for cell in estimated.cells:
        if cell.not_applicable is not None:
            continue
        if not (seen := found.get(cell.cell)):
            without.append(f"{cell.platform}: {cell.label}")
            continue
        parts = (cell.platform, cell.sweep, cell.cell, cell.label)
        rows.append(Compared(*parts, seen.trials, cell.estimate_s, seen.whole_s, cell.basis))
    return rows, without


def _steps(estimated: Estimate, archive: RunArchive) -> list[Compared]:
    """Generation, where all of the data was made in this run, and the look at it."""
    name = estimated.platform
    made = (archive.get_json(f"platforms/{name}/generated.json") or {}).get("datasets") or []
    looked = (archive.get_json(f"platforms/{name}/data.json") or {}).get("inspected") or []
    rows = []
    if made and {row["table"] for row in made} == {row["table"] for row in looked}:
        seconds = sum(float(row["seconds"]) for row in made)
        basis = _kind(estimated.generation_basis)
        rows.append(Compared(name, "", GENERATION, GENERATION, 1, estimated.generation_s, seconds, basis))
    if looked:
        seconds = sum(float(row["seconds"]) for row in looked)
        basis = _kind(estimated.validation_basis)
        rows.append(Compared(name, "", VALIDATION, VALIDATION, 1, estimated.validation_s, seconds, basis))
    return rows


def _kind(basis: str) -> str:
    return "guess" if basis.startswith("a guess") else "measured"
