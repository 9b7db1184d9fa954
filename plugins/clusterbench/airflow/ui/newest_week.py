"""What the newest weekly run found, in the words of the weekly report, for one who may not see all of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict

from clusterbench.airflow.ui.declarations import title_of
from clusterbench.history import overview, read
from clusterbench.history.database import Database
from clusterbench.history.model import WeekRow
from clusterbench.history.series_changes import SeriesChange
from clusterbench.report.week.gather import verdict_of
from clusterbench.report.week.week import ExperimentRun, Week


def newest(db: Database) -> WeekRow | None:
    return next(iter(read.weeks(db, limit=1)), None)


def week_of(db: Database, row: WeekRow, experiments: Collection[str]) -> Week:
    """Of these experiments."""
    judged = [
        verdict_of(SeriesChange.from_json({**found.entry, "series": asdict(found.series)}), title_of(found.series))
        for found in overview.week_changes(db, row.run_id, experiments)
    ]
    known = overview.validity(db, row.runs)
    ran = [
        ExperimentRun(
            one.experiment,
            one.experiment,
            one.dag_run_id,
            one.run_id,
            one.reason,
            *known.get((one.experiment, one.run_id or ""), (None, False)),
        )
        for one in row.runs
        if one.experiment in experiments
    ]
    return Week(row.run_id, row.dag_run_id, row.scale, row.started_at, row.url, ran, judged)
