"""What the history database adds to a week: the runs before, and the points of the results that the page draws."""

from __future__ import annotations

import json
from dataclasses import replace

import psycopg

from clusterbench.base.run_ids import asked_at
from clusterbench.history import read
from clusterbench.history.database import Database
from clusterbench.history.model import RunRow, Series
from clusterbench.history.series_changes import SeriesChange
from clusterbench.report.time_series import RUNS_MAX
from clusterbench.report.week.sentences import WORDS
from clusterbench.report.week.week import SHOWN_MAX, Before, ExperimentRun, SeriesVerdict, Week


def with_history(db: Database, week: Week) -> Week:
    """With the runs before, and the points of what the page draws. An error of the database is said on the page."""
    try:
        told = _told_before(db, replace(week, ran=[_ran_before(db, one) for one in week.ran]))
        return replace(told, judged=_with_points(db, told))
    except psycopg.Error as error:
        return replace(week, without_history=str(error).strip().partition("\n")[0])


def _ran_before(db: Database, ran: ExperimentRun) -> ExperimentRun:
    this = read.run(db, ran.experiment, ran.run_id) if ran.run_id else None
    if this is None:
        return ran
    former = read.runs(db, ran.experiment, this.scale, limit=1, before=this.started_at)
    before = [Before(row.run_id, row.completed, row.planned, _took_s(row)) for row in former]
    return replace(ran, took_s=_took_s(this), before=before[0] if before else None)


def _took_s(row: RunRow) -> float | None:
    return (row.ended_at - row.started_at).total_seconds() if row.ended_at else None


def _with_points(db: Database, week: Week) -> list[SeriesVerdict]:
    """Series have other ids after a rebuild, so they are found by what they are."""
    shown = [one for state in WORDS for one in week.of(state)[:SHOWN_MAX]]
    known = {
        _key(series): series
        for experiment, scale in dict.fromkeys((one.series.experiment, one.series.scale) for one in shown)
        for series in read.series(db, experiment, scale, plotted_only=False)
    }
    until = max((when for ran in week.ran if ran.run_id and (when := asked_at(ran.run_id))), default=week.started_at)
    drawn = [known[_key(one.series)] for one in shown if _key(one.series) in known]
    points = {_key(one): tuple(found) for one, found in read.points_of_many(db, drawn, until, RUNS_MAX)}
    return [
        replace(one, points=points.get(_key(one.series), ()), since_dag_run_id=_dag_run_id(db, one))
        if any(one is each for each in shown)
        else one
        for one in week.judged
    ]


def _told_before(db: Database, week: Week) -> Week:
    """Of what got worse or better, what last week's report told, too."""
    former = read.week_before(db, week.scale, week.started_at)
    found = map(SeriesChange.from_json, former.changes if former else ())
    told = {(_key(one.series), one.change.state) for one in found if one.change.state in WORDS}
    judged = [replace(one, is_known=(_key(one.series), one.change.state) in told) for one in week.judged]
    return replace(week, judged=judged)


def _key(series: Series) -> tuple[str, ...]:
    levels = json.dumps(series.levels, sort_keys=True)
    return (series.experiment, series.scale, series.platform, series.sweep, levels, series.measurement)


def _dag_run_id(db: Database, one: SeriesVerdict) -> str:
    row = read.run(db, one.series.experiment, one.change.at_run_id or "")
    return row.dag_run_id if row else ""
