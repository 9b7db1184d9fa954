"""The results of some runs, each against its series so far; and where a level changed, which facts did, and what of.

The time of one statement of many is a result, too. Where the whole changed alike, it is told as a part of that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from clusterbench.base.database_work import WorkChange
from clusterbench.base.errors import SpecError
from clusterbench.base.plans import PlanChange
from clusterbench.base.remarks import Remark
from clusterbench.history import drift, made_of, read
from clusterbench.history.again import (
    MeasuredAgain,
    Regarded,
    confirmations,
    key_of,
    settled,
    standing,
    worse_of,
)
from clusterbench.history.change_test import (
    CHANGED,
    P_MAX,
    WINDOW,
    Change,
    Policy,
    baseline_of,
    control_false_discoveries,
    detect_change,
    level_before,
    logs_of,
)
from clusterbench.history.confirmation import Confirmation
from clusterbench.history.database import Database
from clusterbench.history.model import Baseline, Point, RunRow, Series
from clusterbench.results.facts_compared import Difference, Side, differences
from clusterbench.results.statements import TOLD_MAX, Part, explanation, is_statement, statement_of
from clusterbench.spec import Regression
from clusterbench.spec.catalog import Catalog

POINTS = WINDOW + 26
"""Read of each series: half a year of them may be without a number, or of runs that are not valid."""
FACTS_NEAR = 2
"""Runs. Where a level changed is known to a run or two, which is noise's doing: the nearest change of facts is told."""


@dataclass(frozen=True)
class SeriesChange:
    """``differences``: of the platform's facts, in the run ``facts_run_id``, at or near the first of the new level.

    ``parts``: the statements that explain most of the change; ``explanation`` is of all of them, in words.
    ``plans``: those that are others in the first run of the new level than in the last one before; None where one of
    the two noted none. ``work``: what the database did more of, or less.
    """

    series: Series
    change: Change
    differences: tuple[Difference, ...] = ()
    facts_run_id: str | None = None
    parts: tuple[Part, ...] = ()
    explanation: str = ""
    plans: tuple[PlanChange, ...] | None = None
    work: tuple[WorkChange, ...] = ()
    held_by: str = ""
    """Who held the locks, where more was waited for them: read from the archive (``weekly.find_changes``)."""
    alike: float | None = None
    """How much runs of the platform were taken to be like those before them (``drift.alikeness``)."""
    events: tuple[Remark, ...] = ()
    """That people told of, between the last run before and the day of the first of the new level."""
    confirmation: Confirmation | None = None
    """What measuring it again at once has shown; None where it was not."""

    def as_json(self) -> dict[str, Any]:
        return {
            "series": asdict(self.series),
            "change": self.change.as_json(),
            "differences": [asdict(one) for one in self.differences],
            "facts_run_id": self.facts_run_id,
            "parts": [part.as_json() for part in self.parts],
            "explanation": self.explanation,
            "alike": self.alike,
            "work": [asdict(one) for one in self.work],
            "held_by": self.held_by,
            "events": [one.as_json() for one in self.events],
            "confirmation": self.confirmation.as_json() if self.confirmation else None,
            "plans": None if self.plans is None else [asdict(one) for one in self.plans],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SeriesChange:
        """Weeks before had fewer of these."""
        plans = data.get("plans")
        return cls(
            Series(**data["series"]),
            Change.from_json(data["change"]),
            tuple(Difference(**one) for one in data.get("differences") or ()),
            data.get("facts_run_id"),
            tuple(Part(**one) for one in data.get("parts") or ()),
            str(data.get("explanation") or ""),
            None if plans is None else tuple(PlanChange(**one) for one in plans),
            tuple(WorkChange(**one) for one in data.get("work") or ()),
            str(data.get("held_by") or ""),
            data.get("alike"),
            tuple(map(Remark.of, data.get("events") or ())),
            Confirmation.from_json(data["confirmation"]) if data.get("confirmation") else None,
        )


def of_week(
    db: Database, catalog: Catalog, run_ids: Mapping[str, str], again: MeasuredAgain | None = None
) -> list[SeriesChange]:
    """``run_ids``: of each experiment the run that is judged. One that is not in the history is left out."""
    return of_runs(db, catalog, _runs(db, run_ids), again)


def _runs(db: Database, run_ids: Mapping[str, str]) -> list[RunRow]:
    return [run for name, one in run_ids.items() if (run := read.run(db, name, one))]


def regarded_of_week(db: Database, catalog: Catalog, run_ids: Mapping[str, str]) -> list[Regarded]:
    """Of each result that is followed what tells whether it is to be measured again."""
    judged = [one for run in _runs(db, run_ids) for one in _changes_of_run(db, catalog, run)]
    return [one.regarded for one in _controlled([one for one in judged if one.is_drawn])]


def of_runs(
    db: Database, catalog: Catalog, runs: Sequence[RunRow], again: MeasuredAgain | None = None
) -> list[SeriesChange]:
    """What was followed in any of these runs. A verdict is one among those on all their series (``among``).

    Statements are a family of their own: a hundred times as many would hide what changed of the whole.
    """
    judged = [one for run in runs for one in _changes_of_run(db, catalog, run)]
    whole = _settled(_controlled([one for one in judged if one.is_drawn]), again)
    of_statements = _controlled([one for one in judged if not one.is_drawn])
    facts = _Facts(db, {}, {})
    return [_told(db, one, facts) for one in [*whole, *_news(of_statements, whole)]]


@dataclass(frozen=True)
class _Judged:
    """``levels``: of a change the runs on both sides; ``facts``: the two points between which facts changed.

    ``points``: its runs, up to and with that one.
    """

    series: Series
    change: Change
    is_drawn: bool
    until: datetime
    levels: made_of.RUNS
    facts: tuple[Point, Point] | None
    points: Sequence[Point]
    policy: Policy
    baseline: Baseline | None
    stands: Change | None = None
    """A change that measuring again has confirmed some weeks ago, where nothing else is told since."""
    confirmation: Confirmation | None = None

    @property
    def between(self) -> tuple[datetime, datetime] | None:
        return _between(self.points, self.change.at_run_id) if self.change.state in CHANGED else None

    @cached_property
    def regarded(self) -> Regarded:
        """More is worse in its logarithms. Its level takes as long as the verdict: made only where it is asked for."""
        worse, last = worse_of(self.series), self.points[-1]
        value = last.median if last.counts and last.median and last.median > 0 else None
        newest = None if value is None else worse * math.log(value)
        level = worse * level_before(self.points, self.policy, self.baseline, self.change)
        return Regarded(self.series, self.change, level, newest, self.policy.threshold_percent, self.stands)


def _settled(found: Sequence[_Judged], again: MeasuredAgain | None) -> list[_Judged]:
    """With what measuring again says, this week or some weeks ago."""
    said = confirmations([one.regarded for one in found], again) if again else {}
    result = []
    for one in found:
        confirmation = said.get(key_of(one.series))
        if confirmation is None and one.stands is None:
            result.append(one)
            continue
        change = settled(one.regarded, confirmation, one.points[-1].run_id)
        changed = change is not one.change and change.at_run_id != one.change.at_run_id
        levels = made_of.levels_of(one.points, change) if changed and change.state in CHANGED else one.levels
        facts = _nearest_facts(one.points, change.at_run_id) if changed else one.facts
        result.append(replace(one, change=change, levels=levels, facts=facts, confirmation=confirmation))
    return result


def _controlled(found: Sequence[_Judged]) -> list[_Judged]:
    changes = control_false_discoveries([one.change for one in found])
    return [replace(one, change=change) for one, change in zip(found, changes, strict=True)]


def _news(of_statements: Sequence[_Judged], whole: Sequence[_Judged]) -> Iterator[_Judged]:
    """Statements that changed where the whole did not likewise, of which they are a part."""
    told = {(one.series.id, one.change.state) for one in whole}
    for one in of_statements:
        if one.change.state in (*CHANGED, "no_number") and (one.series.id, one.change.state) not in told:
            yield one


def _told(db: Database, one: _Judged, facts: _Facts) -> SeriesChange:
    if one.change.state not in (*CHANGED, "no_number"):
        return SeriesChange(one.series, one.change, alike=one.policy.alike, confirmation=one.confirmation)
    differing = facts.differences(one.facts[0].fact_set, one.facts[1].fact_set) if one.facts else ()
    parts = made_of.parts_of(db, one.series.id, one.levels, one.until) if all(one.levels) else []
    is_whole = not is_statement(one.series.measurement)
    return SeriesChange(
        one.series,
        one.change,
        differing,
        one.facts[1].run_id if one.facts else None,
        tuple(parts[:TOLD_MAX]) if is_whole else (),
        explanation(parts) if is_whole else "",
        _plans(db, one, [part.statement for part in parts]),
        tuple(made_of.work_changes(db, one.series.id, one.levels, one.until)) if all(one.levels) else (),
        alike=one.policy.alike,
        events=tuple(read.events(db, one.series.experiment, one.series.platform, *one.between)) if one.between else (),
        confirmation=one.confirmation,
    )


def _plans(db: Database, one: _Judged, order: Sequence[str]) -> tuple[PlanChange, ...] | None:
    """Those that explain most first; of the time of one statement its own plan alone."""
    found = made_of.plan_changes(db, one.series.id, one.levels) if all(one.levels) else None
    if found is None:
        return None
    if is_statement(one.series.measurement):
        found = [change for change in found if change.statement == statement_of(one.series.measurement)]
    places = {statement: place for place, statement in enumerate(order)}
    return tuple(sorted(found, key=lambda change: places.get(change.statement, len(places)))[:TOLD_MAX])


def _changes_of_run(db: Database, catalog: Catalog, run: RunRow) -> Iterator[_Judged]:
    try:
        experiment = catalog.experiment(run.experiment)
    except SpecError:
        experiment = None  # its file is gone or wrong; its history is not

    def policy_of(sweep: str) -> Regression:
        return experiment.regression_of(sweep) if experiment else Regression()

    accepted = read.baselines_of(db, run.experiment)
    confirmed = read.confirmed(db, run.experiment, run.started_at, max(P_MAX))
    drawn, statements = _followed(db, run, policy_of)
    followed, at = [*drawn, *statements], run.started_at
    alike = {name: alikeness(db, run.experiment, run.scale, name, at) for name in {one.platform for one in followed}}
    for number, (series, points) in enumerate(read.points_of_many(db, followed, at, POINTS)):
        if points:
            baseline = baseline_of(accepted.get((series.id, series.measurement), ()), points)
            policy = Policy.of(policy_of(series.sweep), alike[series.platform])
            change = detect_change(points, series.better, policy, baseline, series.unit)
            levels = made_of.levels_of(points, change) if change.state in CHANGED else ((), ())
            facts = _nearest_facts(points, change.at_run_id)
            is_drawn = number < len(drawn)
            yield _Judged(
                series,
                change,
                is_drawn,
                at,
                levels,
                facts,
                points,
                policy,
                baseline,
                _stands(confirmed.get((series.id, series.measurement)), points, baseline) if is_drawn else None,
            )


def _stands(
    confirmed: tuple[datetime, Mapping[str, Any]] | None, points: Sequence[Point], baseline: Baseline | None
) -> Change | None:
    """Not where its first run does not count any more, or somebody accepted its level."""
    if confirmed is None:
        return None
    change = Change.from_json(confirmed[1])
    since = [point for point in points if point.counts and point.run_id >= (change.at_run_id or "")]
    if not since or since[0].run_id != change.at_run_id:
        return None
    if baseline is not None and baseline.from_run_id >= since[0].run_id:
        return None
    return standing(change, confirmed[0], len(since))


def alikeness(db: Database, experiment: str, scale: str, platform: str, until: datetime) -> float:
    """How much runs on a platform are like those before them, from some of its results over all sweeps."""
    drawn = read.series(db, experiment, scale, platform)
    some = drawn[:: max(1, -(-len(drawn) // drift.SERIES_MAX))]
    logs = (logs_of(points) for _, points in read.points_of_many(db, some, until, POINTS))
    return drift.alikeness([values for values in logs if len(values)])


def _followed(db: Database, run: RunRow, policy_of: Callable[[str], Regression]) -> tuple[list[Series], list[Series]]:
    """What the report draws, or what a sweep says is followed instead; and the statements of the others."""
    everything = read.series(db, run.experiment, run.scale, run_id=run.run_id, plotted_only=False)
    named = {sweep: policy_of(sweep).measurements for sweep in {one.sweep for one in everything}}
    shown = {(one.id, one.measurement) for one in read.series(db, run.experiment, run.scale, run_id=run.run_id)}
    drawn, statements = [], []
    for one in everything:
        if one.measurement in named[one.sweep] or (not named[one.sweep] and (one.id, one.measurement) in shown):
            drawn.append(one)
        elif not named[one.sweep] and is_statement(one.measurement):
            statements.append(one)
    return drawn, statements


def _between(points: Sequence[Point], at_run_id: str | None) -> tuple[datetime, datetime] | None:
    """From the start of the last run before that counts to the end of the day of the first run of the new level.

    People say the day of an event more often than its hour.
    """
    at = next((number for number, point in enumerate(points) if point.run_id == at_run_id), None)
    before = [point for point in points[:at] if point.counts]
    if at is None or not before:
        return None
    midnight = points[at].started_at.replace(hour=0, minute=0, second=0, microsecond=0)
    return before[-1].started_at, midnight + timedelta(days=1)


def _nearest_facts(points: Sequence[Point], at_run_id: str | None) -> tuple[Point, Point] | None:
    """Two runs, one after the other, between which the facts changed: nearest to the first run of the new level.

    Runs that do not count are passed over: one that was withdrawn, because a host was limited that day, has facts of
    its own, and beside it the next run would look changed.
    """
    points = [point for point in points if point.counts or point.run_id == at_run_id]
    at = next((number for number, point in enumerate(points) if point.run_id == at_run_id), None)
    if at is None:
        return None
    near = range(max(1, at - FACTS_NEAR), min(len(points), at + FACTS_NEAR + 1))
    changed = [number for number in near if points[number].fact_set != points[number - 1].fact_set]
    nearest = min(changed, key=lambda number: abs(number - at), default=None)
    return None if nearest is None else (points[nearest - 1], points[nearest])


@dataclass(frozen=True)
class _Facts:
    """Many series changed with the same facts: each pair is read and compared once."""

    db: Database
    sides: dict[str, Side]
    compared: dict[tuple[str, str], tuple[Difference, ...]]

    def differences(self, a: str, b: str) -> tuple[Difference, ...]:
        if (a, b) not in self.compared:
            for fact_set in (a, b):
                if fact_set not in self.sides:
                    self.sides[fact_set] = read.side(self.db, fact_set)
            self.compared[a, b] = tuple(differences(self.sides[a], self.sides[b]))
        return self.compared[a, b]
