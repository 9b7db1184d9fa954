"""All that the weekly report says, read once: from the archives of the week, and what the history database adds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.connections import Connections
from clusterbench.base.errors import ArchiveError, ClusterbenchError
from clusterbench.base.run_ids import asked_at
from clusterbench.report.run.labels import labelled
from clusterbench.report.week.papers import beside
from clusterbench.report.week.week import ExperimentRun, SeriesVerdict, Week
from clusterbench.results.gather import Gathered, gather
from clusterbench.results.run_state import RunState
from clusterbench.spec import Experiment
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.rehearsal import scale_of
from clusterbench.workloads import measurement_title

if TYPE_CHECKING:
    from clusterbench.history.database import Database
    from clusterbench.history.series_changes import SeriesChange

AIRFLOW_URLS = ("CLUSTERBENCH_AIRFLOW_URL", "AIRFLOW__API__BASE_URL")
"""In which it is looked up where the links of the page lead: the first that is set; before them, ``week.json``."""


def week_of(connections: Connections, catalog: Catalog, archive: RunArchive) -> Week:
    """With what the history database adds, where it can be reached; else the page says why it could not."""
    from clusterbench.history.database import CONNECTION_ID, opened  # noqa: PLC0415  psycopg

    try:
        with opened(connections(CONNECTION_ID)) as db:
            return gather_week(db, catalog, archive)
    except ArchiveError:
        raise
    except ClusterbenchError as error:  # away, or nobody has named its connection
        return gather_week(None, catalog, archive, str(error))


def gather_week(db: Database | None, catalog: Catalog, archive: RunArchive, away: str = "") -> Week:
    """What the weekly run left behind, its archives first.

    ``db`` is None where the history database is away, and ``away`` says why: there is a report all the same.
    """
    told, found = archive.need_json("week.json"), archive.get_json("changes.json") or {}
    suspicions = archive.get_json("suspicions.json") or {}
    known = _experiments(catalog, [str(one["experiment"]) for one in told["runs"]])
    runs = [_gathered(archive.store, catalog, one, known) for one in told["runs"]]
    week = Week(
        run_id=archive.run_id,
        dag_run_id=str(told.get("dag_run_id") or ""),
        scale=str(told["scale"]),
        started_at=asked_at(archive.run_id) or datetime.now(UTC),
        url=archive.url,
        ran=[ran for ran, _ in runs],
        judged=[_judged(entry, known, runs) for entry in found.get("changes", [])],
        beside=[lines for ran, run in runs if run and ran.is_valid and (lines := beside(run))],
        airflow_url=str(told.get("airflow_url") or _airflow_url()),
        left_out=told.get("left_out") or {},
        without_time=int(suspicions.get("left_out") or 0),
        unmeasured=list(suspicions.get("unmeasured") or []),
        is_part=told.get("extent") == "part",
        measured_nothing=bool(told.get("measured_nothing")),
        without_history="" if db else away or "It was not asked.",
        is_followed=not told.get("without_history"),
    )
    if db is None:
        return week
    from clusterbench.report.week.history import with_history  # noqa: PLC0415  only where there is one

    return with_history(db, week)


def _airflow_url() -> str:
    return next((os.environ[name] for name in AIRFLOW_URLS if os.environ.get(name)), "")


def _experiments(catalog: Catalog, names: Sequence[str]) -> dict[str, Experiment]:
    """Those that this version still has: each file is read once, and not for every result."""
    known = {}
    for name in names:
        with suppress(ClusterbenchError):
            known[name] = catalog.experiment(name)
    return known


def _gathered(
    store: Store, catalog: Catalog, told: Mapping[str, Any], known: Mapping[str, Experiment]
) -> tuple[ExperimentRun, Gathered | None]:
    """One experiment of the week: its line, and what its archive says, where there is one."""
    name, run_id = str(told["experiment"]), told.get("run_id")
    about: dict[str, Any] = {"dag_run_id": str(told.get("dag_run_id") or ""), "reason": str(told.get("reason") or "")}
    if run_id is None:
        title = known[name].title if name in known else name
        return ExperimentRun(name, title, run_id=None, is_valid=None, **about), None
    archive = RunArchive(store, name, str(run_id))
    run = labelled(gather(archive, catalog, []))
    planned = sum(map(len, run.plan.trials.values())) if run.plan else 0
    return ExperimentRun(
        name,
        run.title,
        run_id=str(run_id),
        is_valid=run.valid if archive.sealed else None,
        has_warnings=run.state is RunState.WARNINGS,
        scale=scale_of(run.opened.get("choices") or {}),
        platforms=tuple(run.platforms),
        planned=planned,
        completed=sum(result.completed for result in run.results),
        **about,
    ), run


def _judged(
    entry: Mapping[str, Any], known: Mapping[str, Experiment], runs: Sequence[tuple[ExperimentRun, Gathered | None]]
) -> SeriesVerdict:
    """One of ``changes.json``. Where the number is missing, the week's own archive says why."""
    from clusterbench.history.series_changes import SeriesChange  # noqa: PLC0415  psycopg

    told = SeriesChange.from_json(entry)
    series = told.series
    run = next((run for ran, run in runs if run and ran.experiment == series.experiment), None)
    cell = (series.platform, series.sweep, dict(series.levels))
    found = next((r for r in (run.results if run else []) if (r.platform, r.sweep, r.levels) == cell), None)
    title = measurement_title(known.get(series.experiment), series.sweep, series.measurement)
    return verdict_of(told, title, found.reasons[0] if found and found.reasons else "")


def verdict_of(told: SeriesChange, title: str, why: str = "") -> SeriesVerdict:
    """``why``: of a number that is missing."""
    return SeriesVerdict(
        told.series,
        title,
        told.change,
        told.differences,
        told.facts_run_id,
        made_of=told.explanation,
        plans=told.plans,
        work=told.work,
        held_by=told.held_by,
        events=told.events,
        confirmation=told.confirmation,
        why=why,
    )
