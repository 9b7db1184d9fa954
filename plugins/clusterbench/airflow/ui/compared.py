"""Two runs beside each other: first what they ran on, then the results, those that differ most first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from clusterbench.airflow.ui.declarations import title
from clusterbench.airflow.ui.page_request import NotShown
from clusterbench.base.errors import ArchiveError
from clusterbench.history import read
from clusterbench.history.database import Database
from clusterbench.history.model import RunRow
from clusterbench.results.compare import Comparison, Pair, compare
from clusterbench.results.compare_cells import ComparedCell
from clusterbench.results.judgement import NOTHING_SHOWN

RUNS_OFFERED = 300
"""To choose from: five years of weeks, and some by the button."""
CELLS_SHOWN = 200
"""Of a platform: the others are less different than these, and counted."""
NOTHING = "no difference shown"


@dataclass(frozen=True)
class Shown:
    """``made_of``: which statements a shown difference is made of."""

    cell: ComparedCell
    title: str
    made_of: str = ""


@dataclass(frozen=True)
class PairShown:
    pair: Pair
    cells: list[Shown]
    counts: list[tuple[str, int]]
    """How many cells have each verdict."""
    more: int


@dataclass(frozen=True)
class Page:
    experiment: str
    experiments: list[str]
    runs: list[RunRow]
    a: str
    b: str
    runs_compared: tuple[RunRow, RunRow] | None
    comparison: Comparison | None
    pairs: list[PairShown]
    trouble: str


def offered(db: Database, experiments: Sequence[str], experiment: str) -> list[RunRow]:
    return read.runs(db, experiment, limit=RUNS_OFFERED) if experiment in experiments else []


def gather(db: Database, experiments: list[str], experiment: str, a: str, b: str) -> Page:
    """``a`` and ``b``: "experiment/run id"; either may be empty, as it is before somebody has chosen."""
    experiment = experiment or a.partition("/")[0] or (experiments[0] if experiments else "")
    runs = offered(db, experiments, experiment)
    if not (a and b):
        names = [f"{run.experiment}/{run.run_id}" for run in runs[:2]]
        newest, former = (*names, "", "")[:2]
        return Page(experiment, experiments, runs, a or former, b or newest, None, None, [], "")
    rows = _row(db, a), _row(db, b)
    try:
        run_a, run_b = (read.one_run(db, row.experiment, row.run_id) for row in rows)
        found = compare([run_a], [run_b], histories=read.spreads_for(db, [run_a, run_b]))
    except ArchiveError as error:
        return Page(experiment, experiments, runs, a, b, None, None, [], str(error))
    drawn = _drawn(db, rows)
    found = found.at_once(lambda cell: cell.measurement in drawn or not cell.measurement)
    pairs = [_shown(pair, rows[1].experiment) for pair in found.pairs]
    return Page(experiment, experiments, runs, a, b, rows, found, pairs, "")


def _row(db: Database, name: str) -> RunRow:
    experiment, _, run_id = name.partition("/")
    run = read.run(db, experiment, run_id)
    if run is None:
        raise NotShown(404, "No such run", f"Run {name!r} is not in the history database. Choose another one.")
    return run


def _drawn(db: Database, rows: Sequence[RunRow]) -> set[str]:
    """The measurements that reports draw: a cell has many others, which nobody compares."""
    return {one.measurement for row in rows for one in read.series(db, experiment=row.experiment, scale=row.scale)}


def _shown(pair: Pair, experiment: str) -> PairShown:
    cells = sorted(pair.cells, key=_how_different, reverse=True)
    counts: dict[str, int] = {}
    for cell in cells:
        counts[cell.judgement.word] = counts.get(cell.judgement.word, 0) + 1
    shown = [
        Shown(cell, title(experiment, cell.sweep, cell.measurement), _made_of(pair, cell))
        for cell in cells[:CELLS_SHOWN]
    ]
    return PairShown(pair, shown, sorted(counts.items(), key=lambda one: -one[1]), len(cells) - len(shown))


def _made_of(pair: Pair, cell: ComparedCell) -> str:
    return "" if cell.judgement.word in NOTHING_SHOWN else pair.made_of.get(cell.label, "")


def _how_different(cell: ComparedCell) -> tuple[bool, bool, float]:
    """Shown differences by their size, then those that are none; what cannot be compared comes last."""
    word, ratio = cell.judgement.word, cell.ratio
    far = abs(math.log(ratio[0])) if ratio and ratio[0] > 0 else 0.0
    return word not in ("not comparable", NOTHING), word == NOTHING, far
