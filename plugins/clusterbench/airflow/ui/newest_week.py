"""What the newest weekly run found, in the words of the weekly report, for one who may not see all of it."""

from __future__ import annotations

from collections.abc import Collection

from clusterbench.airflow.ui.declarations import title_of
from clusterbench.history import overview, read
from clusterbench.history.change_test import Change
from clusterbench.history.database import Database
from clusterbench.history.model import WeekRow
from clusterbench.report.week.week import ExperimentRun, SeriesVerdict, Week
from clusterbench.results.facts_compared import Difference


def newest(db: Database) -> WeekRow | None:
    return next(iter(read.weeks(db, limit=1)), None)


def week_of(db: Database, row: WeekRow, experiments: Collection[str]) -> Week:
    """Of these experiments."""
    judged = [
        SeriesVerdict(
            found.series,
            title_of(found.series),
            Change.from_json(found.entry["change"]),
            tuple(Difference(**one) for one in found.entry.get("differences") or ()),
        )
        for found in overview.week_changes(db, row.run_id, experiments)
    ]
    ran = [
        ExperimentRun(
            one.experiment, one.experiment, one.dag_run_id, one.run_id, one.reason, _is_valid(one.run_id, one.reason)
        )
        for one in row.runs
        if one.experiment in experiments
    ]
    return Week(row.run_id, row.dag_run_id, row.scale, row.started_at, row.url, ran, judged)


def _is_valid(run_id: str | None, reason: str) -> bool | None:
    return None if run_id is None else not reason
