"""The results of some runs, each against its series so far, and which facts changed where its level did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from clusterbench.base.errors import SpecError
from clusterbench.history import drift, read
from clusterbench.history.change_test import (
    CHANGED,
    WINDOW,
    Change,
    Policy,
    baseline_of,
    control_false_discoveries,
    detect_change,
    logs_of,
)
from clusterbench.history.database import Database
from clusterbench.history.model import Point, RunRow, Series
from clusterbench.results.facts_compared import Difference, Side, differences
from clusterbench.spec import Regression
from clusterbench.spec.catalog import Catalog

POINTS = WINDOW + 26
"""Read of each series: half a year of them may be without a number, or of runs that are not valid."""
FACTS_NEAR = 2
"""Runs. Where a level changed is known to a run or two, which is noise's doing: the nearest change of facts is told."""


@dataclass(frozen=True)
class SeriesChange:
    """``differences``: of the platform's facts, in the run ``facts_run_id``, at or near the first of the new level."""

    series: Series
    change: Change
    differences: tuple[Difference, ...] = ()
    facts_run_id: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "series": asdict(self.series),
            "change": self.change.as_json(),
            "differences": [asdict(one) for one in self.differences],
            "facts_run_id": self.facts_run_id,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> SeriesChange:
        found = tuple(Difference(**one) for one in data["differences"])
        return cls(Series(**data["series"]), Change.from_json(data["change"]), found, data["facts_run_id"])


def of_week(db: Database, catalog: Catalog, run_ids: Mapping[str, str]) -> list[SeriesChange]:
    """``run_ids``: of each experiment the run that is judged. One that is not in the history is left out."""
    return of_runs(db, catalog, [run for name, one in run_ids.items() if (run := read.run(db, name, one))])


def of_runs(db: Database, catalog: Catalog, runs: Sequence[RunRow]) -> list[SeriesChange]:
    """What was followed in any of these runs. A verdict is one among those on all their series (``among``)."""
    judged, changes, facts = [], [], _Facts(db, {}, {})
    for run in runs:
        for series, points, change in _changes_of_run(db, catalog, run):
            changes.append(change)
            judged.append((series, _nearest_facts(points, change.at_run_id)))
    found = []
    for (series, changed), change in zip(judged, control_false_discoveries(changes), strict=True):
        if changed and change.state in (*CHANGED, "no_number"):
            before, after = changed
            differing = facts.differences(before.fact_set, after.fact_set)
            found.append(SeriesChange(series, change, differing, after.run_id))
        else:
            found.append(SeriesChange(series, change))
    return found


def _changes_of_run(db: Database, catalog: Catalog, run: RunRow) -> Iterator[tuple[Series, list[Point], Change]]:
    try:
        experiment = catalog.experiment(run.experiment)
    except SpecError:
        experiment = None  # its file is gone or wrong; its history is not

    def policy_of(sweep: str) -> Regression:
        return experiment.regression_of(sweep) if experiment else Regression()

    accepted = read.baselines_of(db, run.experiment)
    followed = _followed(db, run, policy_of)
    at = run.started_at
    alike = {name: alikeness(db, run.experiment, run.scale, name, at) for name in {one.platform for one in followed}}
    for series, points in read.points_of_many(db, followed, run.started_at, POINTS):
        if points:
            baseline = baseline_of(accepted.get((series.id, series.measurement), ()), points)
            policy = Policy.of(policy_of(series.sweep), alike[series.platform])
            yield series, points, detect_change(points, series.better, policy, baseline)


def alikeness(db: Database, experiment: str, scale: str, platform: str, until: datetime) -> float:
    """How much runs on a platform are like those before them, from some of its results over all sweeps."""
    drawn = read.series(db, experiment, scale, platform)
    some = drawn[:: max(1, -(-len(drawn) // drift.SERIES_MAX))]
    logs = (logs_of(points) for _, points in read.points_of_many(db, some, until, POINTS))
    return drift.alikeness([values for values in logs if len(values)])


def _followed(db: Database, run: RunRow, policy_of: Callable[[str], Regression]) -> list[Series]:
    """What the report draws, but for sweeps of which it is said what is followed."""
    drawn = read.series(db, run.experiment, run.scale, run_id=run.run_id)
    named = {sweep: policy_of(sweep).measurements for sweep in {one.sweep for one in drawn}}
    found = [one for one in drawn if not named[one.sweep]]
    if len(found) < len(drawn):
        everything = read.series(db, run.experiment, run.scale, run_id=run.run_id, plotted_only=False)
        found += [one for one in everything if one.measurement in named.get(one.sweep, ())]
    return found


def _nearest_facts(points: Sequence[Point], at_run_id: str | None) -> tuple[Point, Point] | None:
    """Two runs, one after the other, between which the facts changed: nearest to the first run of the new level."""
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
