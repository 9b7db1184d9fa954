"""The first page: what got slower this week, and the latest state of every experiment and platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterbench.airflow.ui import newest_week
from clusterbench.airflow.ui.declarations import title_of
from clusterbench.airflow.ui.page_request import PageRequest
from clusterbench.base.words import plural
from clusterbench.history import overview, read
from clusterbench.history.change_test import State
from clusterbench.history.changes import STATES, counted
from clusterbench.history.database import Database
from clusterbench.history.model import Point, RunRow, Series
from clusterbench.report.time_series import Figure, line_figure
from clusterbench.report.week import sentences as said
from clusterbench.report.week.week import SeriesVerdict, Week
from clusterbench.report.week.why import why

SHOWN_MAX = 5
"""Changed results of each kind that stand one by one: the page is read at a glance. The weekly report has more."""
WHY_SHOWN = 2
SPARK_RUNS = 30
COLOURS: dict[State, str] = {"regression": "fail", "improvement": "pass", "no_number": "warning"}


@dataclass(frozen=True)
class ShownChange:
    """A result that changed, in the weekly report's words."""

    series: Series
    where: str
    amount: str
    levels: str
    since: str
    interval: str
    certainty: str
    why: list[str]
    """The first of the evidence that the weekly report has, in sentences."""


@dataclass(frozen=True)
class Kind:
    """Results that changed in one direction, the largest change first."""

    state: State
    title: str
    changes: list[ShownChange]
    more: int


@dataclass(frozen=True)
class WeekShown:
    week: Week
    title: str
    headline: str
    kinds: list[Kind]
    is_worse: bool
    unfinished: list[tuple[str, str]]
    """(experiment, why): what did not run to its end, or is not valid."""


@dataclass(frozen=True)
class Line:
    """A platform in the newest run of an experiment at a scale. ``series``: what changed most on it, or its first."""

    run: RunRow
    platform: str
    why: str
    completed: int
    planned: int
    changes: Sequence[tuple[str, str]]
    """(css, words)."""
    series: Series | None
    title: str
    last: Point | None
    figure: Figure | None


@dataclass(frozen=True)
class Latest:
    week: WeekShown | None
    experiments: list[tuple[RunRow, list[Line]]]


def gather(db: Database, visit: PageRequest) -> Latest:
    """Of the experiments that the visitor may read."""
    runs = read.latest(db)
    readable = visit.readable(run.experiment for run in runs)
    runs = [run for run in runs if run.experiment in readable]
    row = newest_week.newest(db)
    week = newest_week.week_of(db, row, readable) if row else None
    return Latest(week_shown(week) if week else None, _experiments(db, runs, week))


def week_shown(week: Week) -> WeekShown:
    kinds = []
    for state in ("regression", "improvement"):
        found = week.of(state)
        if found:
            title = f"{plural(len(found), 'result')} got {said.verb(found, state)}"
            kinds.append(Kind(state, title, [shown_change(one) for one in found[:SHOWN_MAX]], len(found[SHOWN_MAX:])))
    unfinished = [(ran.experiment, ran.reason or said.state_of(ran)) for ran in week.ran if not ran.is_valid]
    return WeekShown(week, said.title(week), said.headline(week), kinds, bool(week.of("regression")), unfinished)


def shown_change(one: SeriesVerdict) -> ShownChange:
    return ShownChange(
        one.series,
        f"{one.series.experiment} on {one.series.platform}, {said.what(one)}",
        said.amount(one),
        said.levels(one),
        said.since(one),
        said.interval(one),
        said.certainty(one),
        why(one)[:WHY_SHOWN],
    )


def _experiments(db: Database, runs: Sequence[RunRow], week: Week | None) -> list[tuple[RunRow, list[Line]]]:
    """The experiment with the newest run first; a line of each platform of it, at each scale."""
    done, why = overview.completed(db, runs), overview.why_invalid(db, runs)
    worst = _worst(week)
    heads = {
        (run.experiment, run.run_id, platform): found.series
        for run in runs
        for platform in run.platforms
        if (found := worst.get((run.experiment, run.scale, platform)))
    }
    heads = {**overview.headlines(db, runs), **heads}
    points = points_of(db, list(heads.values()))
    counted = overview.counts(db, week.run_id, {run.experiment for run in runs}) if week else {}
    grouped: dict[str, tuple[RunRow, list[Line]]] = {}
    for run in sorted(runs, key=lambda each: each.started_at, reverse=True):
        _, lines = grouped.setdefault(run.experiment, (run, []))
        for platform in run.platforms:
            key, place = (run.experiment, run.run_id, platform), (run.experiment, run.scale, platform)
            reason = "" if run.is_valid else why.get((run.experiment, run.run_id), "")
            series = heads.get(key)
            course = points.get((series.id, series.measurement), []) if series else []
            lines.append(
                Line(
                    run,
                    platform,
                    reason,
                    *done.get(key, (0, 0)),
                    _counted(counted.get(place, {})),
                    series,
                    title_of(series) if series else "",
                    course[-1] if course else None,
                    line_figure(course),
                )
            )
    return list(grouped.values())


def points_of(db: Database, series: Sequence[Series]) -> dict[tuple[int, str], list[Point]]:
    """(id of the cell, measurement) -> what a line of a table shows of it."""
    many = read.points_of_many(db, series, limit=SPARK_RUNS) if series else ()
    return {(one.id, one.measurement): found for one, found in many}


def _worst(week: Week | None) -> dict[tuple[str, str, str], SeriesVerdict]:
    """(experiment, scale, platform) -> its largest regression, or else its largest improvement."""
    found: dict[tuple[str, str, str], SeriesVerdict] = {}
    for state in ("regression", "improvement"):
        for one in week.of(state) if week else []:
            found.setdefault((one.series.experiment, one.series.scale, one.series.platform), one)
    return found


def _counted(states: Mapping[State, int]) -> list[tuple[str, str]]:
    return [
        (COLOURS.get(state, "none"), said)
        for state in STATES
        if states.get(state)
        for said in counted({state: states[state]})
    ]
