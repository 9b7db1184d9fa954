"""A run's page: its tables, what failed in it, its facts, and where the rest of it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterbench.airflow.ui.declarations import title_of
from clusterbench.airflow.ui.page_request import NotShown
from clusterbench.base.remarks import Remark, withdrawals
from clusterbench.base.words import said_by
from clusterbench.history import host_speeds, overview, read
from clusterbench.history.database import Database
from clusterbench.history.model import FailedTrial, RunRow, Series
from clusterbench.results.compare_cells import cell_key
from clusterbench.results.facts_compared import comparable, engine_texts, folded
from clusterbench.results.statistics import Result, Summary
from clusterbench.results.verdicts import Verdict

FAILED_SHOWN = 100
CELLS_SHOWN = 150
"""Of a platform on a page."""


@dataclass(frozen=True)
class Row:
    """A cell, with the measurements that its report draws."""

    result: Result
    measured: list[tuple[Series, str, Summary]]
    """(what is followed over time, title, numbers)."""


@dataclass(frozen=True)
class Reason:
    """Trials that failed for the same reason."""

    outcome: str
    reason: str
    trials: list[FailedTrial]


@dataclass(frozen=True)
class Page:
    run: RunRow
    head: list[tuple[str, str]]
    failed_checks: list[Verdict]
    reasons: list[Reason]
    failed_count: int
    platform: str
    sweeps: list[tuple[str, list[Row]]]
    counts: dict[str, tuple[int, int]]
    """Platform -> completed and planned trials."""
    facts: list[tuple[str, str, str]]
    """(fact, where, value) of that platform."""
    with_hosts: list[str]
    """Platforms of the run whose hosts were ever measured by themselves."""
    total: int
    number: int
    pages: int

    @property
    def withdrawals(self) -> list[Remark]:
        """Those that hold: of the run, of a platform, of cells."""
        return withdrawals(self.run.remarks)


def found_run(db: Database, experiment: str, run_id: str) -> RunRow:
    run = read.run(db, experiment, run_id)
    if run is None:
        raise NotShown(
            404,
            "No such run",
            f"Run {experiment}/{run_id} is not in the history database. If it is finished and archived, load it with: "
            f"clusterbench history load {experiment}/{run_id}",
        )
    return run


def gather(db: Database, run: RunRow, platform: str, number: int) -> Page:
    """Of ``platform``, else the first that failed in something, else the first."""
    results = read.results(db, run.experiment, run.run_id)
    counts = _counts(run, results)
    platform = platform if platform in counts else _to_look_at(counts)
    cells = [result for result in results if result.platform == platform]
    pages = max(1, -(-len(cells) // CELLS_SHOWN))
    number = min(max(1, number), pages)
    followed = read.series(db, experiment=run.experiment, scale=run.scale, platform=platform, run_id=run.run_id)
    failed = read.failed_trials(db, run.experiment, run.run_id, limit=FAILED_SHOWN + 1)
    return Page(
        run,
        _head(run),
        [verdict for verdict in read.verdicts(db, run.experiment, run.run_id) if not verdict.passed],
        _reasons(failed[:FAILED_SHOWN]),
        len(failed),
        platform,
        _sweeps(cells[(number - 1) * CELLS_SHOWN : number * CELLS_SHOWN], followed),
        counts,
        _facts(db, run, platform),
        host_speeds.known_of(db, run.platforms),
        len(cells),
        number,
        pages,
    )


def _counts(run: RunRow, results: Sequence[Result]) -> dict[str, tuple[int, int]]:
    """A run that was broken off before its results has platforms without any."""
    found = dict.fromkeys(run.platforms, (0, 0))
    for result in results:
        completed, planned = found.get(result.platform, (0, 0))
        found[result.platform] = completed + result.completed, planned + result.planned
    return found


def _to_look_at(counts: Mapping[str, tuple[int, int]]) -> str:
    failed = (name for name, (completed, planned) in counts.items() if completed < planned)
    return next(failed, next(iter(counts), ""))


def _head(run: RunRow) -> list[tuple[str, str]]:
    choices = run.choices
    chosen = {
        "scale": run.scale,
        "seed": choices.get("seed"),
        "sweeps": ", ".join(choices.get("sweeps") or []),
        "started by": said_by(run.started_by),
        "note": choices.get("note"),
        "tags": ", ".join(run.tags),
        "trials": f"{run.completed} of {run.planned} completed",
    }
    return [(word, str(what)) for word, what in chosen.items() if what not in (None, "")]


def _reasons(failed: Sequence[FailedTrial]) -> list[Reason]:
    grouped: dict[tuple[str, str], list[FailedTrial]] = {}
    for trial in failed:
        grouped.setdefault((trial.outcome, trial.reason), []).append(trial)
    return [Reason(*key, trials) for key, trials in grouped.items()]


def _sweeps(cells: Sequence[Result], followed: Sequence[Series]) -> list[tuple[str, list[Row]]]:
    by_cell: dict[str, list[Series]] = {}
    for one in followed:
        by_cell.setdefault(cell_key(one.sweep, one.levels), []).append(one)
    found: dict[str, list[Row]] = {}
    for result in cells:
        measured = [
            (one, title_of(one), result.measurements[one.measurement])
            for one in by_cell.get(cell_key(result.sweep, result.levels), [])
            if one.measurement in result.measurements
        ]
        found.setdefault(result.sweep, []).append(Row(result, measured))
    return list(found.items())


def _facts(db: Database, run: RunRow, platform: str) -> list[tuple[str, str, str]]:
    """Hosts that are alike as one."""
    fact_set = overview.fact_set(db, run.experiment, run.run_id, platform)
    if fact_set is None:  # its set-up failed before they were read
        return []
    side = read.side(db, fact_set)
    of_hosts: dict[str, dict[str, list[str]]] = {}
    for host, facts in side.hosts.items():
        for name, value in comparable(facts).items():
            of_hosts.setdefault(name, {}).setdefault(value, []).append(host)
    of_engine = ((name.removeprefix("engine."), "engine", text) for name, text in engine_texts(side.facts).items())
    return [*((name, "hosts", folded(values)) for name, values in of_hosts.items()), *of_engine]
