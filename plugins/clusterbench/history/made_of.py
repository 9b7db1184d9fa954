"""What a cell's time was made of in some of its runs, and in others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from clusterbench.base import database_work
from clusterbench.base.database_work import WorkChange
from clusterbench.base.plans import PlanChange, changes
from clusterbench.history import read
from clusterbench.history.change_test import Change
from clusterbench.history.database import Database
from clusterbench.history.model import Point, Series
from clusterbench.results.statements import Part, is_statement, parts

RUNS = tuple[Sequence[str], Sequence[str]]
"""Ids of the runs of a level, and of those of the next."""


def levels_of(points: Sequence[Point], change: Change) -> RUNS:
    """The runs on both sides of a change: valid ones with a number."""
    counted = _counted(points)
    if change.at_run_id not in counted:
        return (), ()
    at = counted.index(change.at_run_id)
    return counted[max(0, at - change.runs_before) : at], counted[at : at + change.runs_after]


def newest_beside_earlier(points: Sequence[Point], most: int) -> RUNS:
    """The newest run that has a number, and so many at most before it."""
    counted = _counted(points)
    return counted[-most - 1 : -1], counted[-1:]


def _counted(points: Sequence[Point]) -> list[str]:
    return [point.run_id for point in points if point.counts]


def parts_of(db: Database, cell: int, runs: RUNS, until: datetime) -> list[Part]:
    """Each statement's mean over the medians of either side's runs. Empty for a cell of one statement.

    ``cell`` is a series' id; ``until``: as ``read.points_of_many`` has it.
    """
    followed = [one for one in read.measured_in(db, cell) if is_statement(one.measurement)]
    return parts(*_means(db, followed, runs, until)) if len(followed) > 1 else []


def plan_changes(db: Database, cell: int, runs: RUNS) -> list[PlanChange] | None:
    """Between the last run of the one side and the first of the other; None where one of them noted no plans."""
    known = read.plans_of_cell(db, cell)
    before, after = known.get(runs[0][-1]), known.get(runs[1][0])
    if before is None or after is None:
        return None
    return changes(before, after, read.plan_texts(db, {*before.values(), *after.values()}))


def work_changes(db: Database, cell: int, runs: RUNS, until: datetime) -> list[WorkChange]:
    """What the database did more of, or less, at the second level: means over the medians of either side's runs."""
    followed = [one for one in read.measured_in(db, cell) if one.measurement in database_work.MEASUREMENTS]
    return database_work.changes(*_means(db, followed, runs, until))


def _means(
    db: Database, followed: Sequence[Series], runs: RUNS, until: datetime
) -> tuple[dict[str, float], dict[str, float]]:
    """By measurement, of either side's runs."""
    sides: tuple[dict[str, float], dict[str, float]] = {}, {}
    for series, points in read.points_of_many(db, followed, until):
        for side, ids in zip(sides, runs, strict=True):
            if values := _medians(points, ids):
                side[series.measurement] = sum(values) / len(values)
    return sides


def _medians(points: Sequence[Point], run_ids: Collection[str]) -> list[float]:
    return [point.median for point in points if point.median is not None and point.run_id in run_ids]


def series_by_measurement(db: Database, cell: int) -> Mapping[str, Series]:
    """For links from a statement to its own page."""
    return {one.measurement: one for one in read.measured_in(db, cell)}
