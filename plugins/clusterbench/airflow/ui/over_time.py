"""A result over time: the figure, what changed and when, and all of it as tables and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise

from clusterbench.airflow.ui.declarations import experiments, policy_of, title_of
from clusterbench.airflow.ui.page_request import NotShown
from clusterbench.base.plans import PlanChange, changes
from clusterbench.base.remarks import Remark
from clusterbench.history import made_of, overview, read
from clusterbench.history.change_test import (
    CHANGED,
    Change,
    ChangePoint,
    Policy,
    baseline_of,
    change_points,
    detect_change,
)
from clusterbench.history.database import Database
from clusterbench.history.model import Baseline, Point, Series
from clusterbench.history.series_changes import POINTS, alikeness
from clusterbench.report import addresses
from clusterbench.report.time_series import Break, Figure, history_figure, letter
from clusterbench.results.facts_compared import Difference, Side, differences
from clusterbench.results.statements import Part, explanation

RUNS = (26, 52, 104, 260)
"""Half a year, a year, two, five, where there is a run a week."""
EARLIER = 10
"""Runs that the newest is compared with statement by statement, where no change says which."""
PLANS_MAX = 10
"""Times that plans changed, the newest."""
EVENTS_MAX = 26
"""Events that are shown: the newest. Each has a letter."""
FACTS_MAX = 40
"""Changes of facts that are shown: the newest. Where they change at each run, nobody reads them all."""


@dataclass(frozen=True)
class FactsChanged:
    """``number`` is what the figure calls it."""

    number: int
    point: Point
    differences: list[Difference]


@dataclass(frozen=True)
class MadeOf:
    """Statements of the cell, on both sides: levels of a change, or the newest run beside some before it.

    ``links``: from a measurement to its series. ``runs``: how many are on either side.
    """

    parts: list[Part]
    links: Mapping[str, Series]
    runs: tuple[int, int]
    is_of_change: bool
    explanation: str


@dataclass(frozen=True)
class PlansChanged:
    """``point``: the first run with them. ``before`` and ``after``: the whole plans, by statement."""

    point: Point
    changes: list[PlanChange]
    before: Mapping[str, str]
    after: Mapping[str, str]


@dataclass(frozen=True)
class Page:
    """``change`` is the verdict of the weekly run, where the newest run belongs to one, which
    judged all results together. Else this result is judged alone, and ``weekly`` is None."""

    series: Series
    title: str
    points: list[Point]
    asked: int
    change: Change
    weekly: overview.WeeklyVerdict | None
    change_points: list[ChangePoint]
    facts: list[FactsChanged]
    baselines: list[Baseline]
    figure: Figure | None
    policy: Policy
    made_of: MadeOf | None
    plans: list[PlansChanged]
    has_plans: bool
    events: list[Remark]
    """That people told of, from the first of these runs on."""

    def letter_of(self, event: Remark) -> str:
        """As the figure has it."""
        return letter(self.events.index(event))


@dataclass(frozen=True)
class Wanted:
    """A series as its address has it (``addresses.series``)."""

    experiment: str
    scale: str
    platform: str
    key: str
    measurement: str

    @property
    def file_name(self) -> str:
        return "-".join((self.experiment, self.scale, self.platform, self.key, self.measurement))


def find(db: Database, wanted: Wanted) -> Series:
    asked = {"experiment": wanted.experiment, "scale": wanted.scale, "platform": wanted.platform}
    for one in read.series(db, **asked, plotted_only=False):
        if one.measurement == wanted.measurement and addresses.key_of(one) == wanted.key:
            return one
    raise NotShown(
        404,
        "No such result",
        f"The history database has no {wanted.measurement!r} of a cell {wanted.key} of {wanted.experiment} on "
        f"{wanted.platform} at {wanted.scale} scale. Choose a result on the experiment's page.",
    )


def gather(db: Database, series: Series, runs: int) -> Page:
    known = read.points(db, series.id, series.measurement, limit=max(runs, POINTS))
    judged, points = known[-POINTS:], known[-runs:]  # what is shown changes no verdict
    accepted = read.baselines(db, series.id, series.measurement)
    weekly = _weekly_verdict(db, series, judged, accepted)
    policy, baseline = _policy(db, series, judged, weekly), baseline_of(accepted, judged)
    shown = {point.run_id for point in points}
    found = [one for one in change_points(judged, policy, baseline) if one.run_id in shown]
    facts, plans = _facts_changed(db, points), read.plans_of_cell(db, series.id)
    events = _events(db, series, points)
    change = (
        Change.from_json(weekly.change)
        if weekly
        else detect_change(judged, series.better, policy, baseline, series.unit)
    )
    return Page(
        series,
        title_of(series),
        points,
        runs,
        change,
        weekly,
        found,
        facts,
        accepted,
        history_figure(
            points,
            series.unit,
            breaks=[Break(one.run_id, one.change_percent) for one in found],
            facts={one.point.run_id: one.number for one in facts},
            baselines={one.from_run_id: one.accepted_by for one in accepted},
            told=[event.happened_at for event in events if event.happened_at],
        ),
        policy,
        _made_of(db, series, judged, change),
        _plans_changed(db, points, plans),
        bool(plans),
        events,
    )


def _events(db: Database, series: Series, points: Sequence[Point]) -> list[Remark]:
    if not points:
        return []
    found = read.events(db, series.experiment, series.platform, points[0].started_at, datetime.now(UTC))
    return found[-EVENTS_MAX:]


def _made_of(db: Database, series: Series, points: Sequence[Point], change: Change) -> MadeOf | None:
    """None of a cell of one statement, or that has no two runs."""
    is_of_change = change.state in CHANGED
    runs = made_of.levels_of(points, change) if is_of_change else made_of.newest_beside_earlier(points, EARLIER)
    if not all(runs):
        return None
    found = made_of.parts_of(db, series.id, runs, points[-1].started_at)
    if not found:
        return None
    links = made_of.series_by_measurement(db, series.id)
    return MadeOf(found, links, (len(runs[0]), len(runs[1])), is_of_change, explanation(found))


def _plans_changed(db: Database, points: Sequence[Point], plans: Mapping[str, Mapping[str, str]]) -> list[PlansChanged]:
    """Those between a run and the last one before it that noted any, the newest first."""
    noted = [point for point in points if point.run_id in plans]
    pairs = [(a, b) for a, b in pairwise(noted) if plans[a.run_id] != plans[b.run_id]][-PLANS_MAX:]
    texts = read.plan_texts(db, {known for pair in pairs for one in pair for known in plans[one.run_id].values()})
    found = []
    for a, b in pairs:
        sides = plans[a.run_id], plans[b.run_id]
        changed = changes(*sides, texts)
        before, after = ({one.statement: texts.get(side[one.statement], "") for one in changed} for side in sides)
        found.append(PlansChanged(b, changed, before, after))
    return found[::-1]


def _policy(db: Database, series: Series, judged: Sequence[Point], weekly: overview.WeeklyVerdict | None) -> Policy:
    """As the weekly run has it. Where none has noted it, many other series of the platform are asked."""
    if not judged:
        return policy_of(series)
    alike = weekly.alike if weekly else None
    if alike is None:
        alike = alikeness(db, series.experiment, series.scale, series.platform, judged[-1].started_at)
    return replace(policy_of(series), alike=alike)


def _weekly_verdict(
    db: Database, series: Series, points: Sequence[Point], accepted: Sequence[Baseline]
) -> overview.WeeklyVerdict | None:
    """Not where somebody has accepted a level since: it was judged against another one."""
    found = overview.weekly_verdict(db, series, points[-1].run_id) if points else None
    return found if found and all(one.accepted_at < found.started_at for one in accepted) else None


def warm() -> None:
    """Change points need otava and scipy, which take seconds to import; policies are in YAML files."""
    now = datetime.now(UTC)
    points = [Point(str(n), now, True, 3, 3, 100.0 + n % 3, None, "") for n in range(40)]
    detect_change(points, "lower", Policy())
    experiments()


def _facts_changed(db: Database, points: Sequence[Point]) -> list[FactsChanged]:
    """Those between a run and the run before, the newest first."""
    pairs = [(a, b) for a, b in pairwise(points) if a.fact_set != b.fact_set][-FACTS_MAX:]
    sides: dict[str, Side] = {}
    for fact_set in {point.fact_set for pair in pairs for point in pair}:
        sides[fact_set] = read.side(db, fact_set)
    found = [
        FactsChanged(number, b, differences(sides[a.fact_set], sides[b.fact_set]))
        for number, (a, b) in enumerate(pairs, 1)
    ]
    return found[::-1]


def as_csv(series: Series, points: Sequence[Point]) -> str:
    """One line a run, numbers as they are."""
    text = io.StringIO()
    lines = csv.writer(text)
    lines.writerow(
        [
            "run",
            "started_at",
            "valid",
            "withdrawn",
            "completed",
            "planned",
            f"median_{series.unit}",
            "low_95",
            "high_95",
        ]
    )
    for one in points:
        low, high = one.interval_95 or ("", "")
        median = "" if one.median is None else one.median
        lines.writerow(
            [one.run_id, one.started_at.isoformat(), one.is_valid, one.withdrawn, one.n, one.planned, median, low, high]
        )
    return text.getvalue()
