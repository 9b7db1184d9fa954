"""What the first page asks of many runs at once: a statement each, however many runs there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clusterbench.history.change_test import UNJUDGED, State
from clusterbench.history.database import Database
from clusterbench.history.model import RunRow, Series, WeekRun
from clusterbench.history.read import HAS_WARNINGS

RunKey = tuple[str, str]
"""Experiment and run id."""
PlatformKey = tuple[str, str, str]
"""Experiment, run id or scale, platform."""

COMPLETED = """
SELECT r.experiment, run_id, s.platform, sum(results.completed), sum(results.planned)
FROM unnest(%(experiments)s::text[], %(run_ids)s::text[]) AS asked (experiment, run_id)
JOIN runs r USING (experiment, run_id) JOIN results USING (run) JOIN series s USING (series)
GROUP BY 1, 2, 3"""

WHY_INVALID = """
SELECT DISTINCT ON (experiment, run_id) experiment, run_id, says, found
FROM unnest(%(experiments)s::text[], %(run_ids)s::text[]) AS asked (experiment, run_id)
JOIN runs USING (experiment, run_id) JOIN verdicts USING (run)
WHERE is_critical AND NOT passed ORDER BY experiment, run_id, verdicts.position"""

VALIDITY = " ".join(["SELECT experiment, run_id, is_valid,", HAS_WARNINGS, """
FROM unnest(%(experiments)s::text[], %(run_ids)s::text[]) AS asked (experiment, run_id)
JOIN runs USING (experiment, run_id)"""])  # fmt: skip

HEADLINES = """
SELECT DISTINCT ON (r.experiment, r.run_id, s.platform) r.run_id,
    s.series, s.experiment, s.scale, s.platform, s.sweep, m.label, s.levels, measurement, m.unit, m.better
FROM unnest(%(experiments)s::text[], %(run_ids)s::text[]) AS asked (experiment, run_id)
JOIN runs r USING (experiment, run_id) JOIN results USING (run) JOIN series s USING (series)
JOIN series_measurements m USING (series)
WHERE is_plotted AND results.completed > 0
ORDER BY r.experiment, r.run_id, s.platform, better = 'neither', results.position, measurement"""

COUNTS = """
SELECT experiment, s.scale, platform, state, count(*)
FROM weeks JOIN changes USING (week) JOIN series s USING (series)
WHERE weeks.run_id = %s AND experiment = ANY(%s) GROUP BY 1, 2, 3, 4"""

WEEK_CHANGES = """
SELECT s.series, s.experiment, s.scale, s.platform, s.sweep, m.label, s.levels, measurement, m.unit, m.better,
    state, change
FROM weeks JOIN changes c USING (week) JOIN series s USING (series)
JOIN series_measurements m USING (series, measurement)
WHERE weeks.run_id = %s AND s.experiment = ANY(%s) ORDER BY c.position"""


WEEKLY_VERDICT = """
SELECT weeks.run_id, weeks.started_at, change -> 'change', CAST(change ->> 'alike' AS double precision),
    (SELECT count(*) FROM changes j WHERE j.week = weeks.week AND state <> ALL(%(unjudged)s))
FROM week_runs JOIN weeks USING (week) JOIN changes USING (week)
WHERE experiment = %(experiment)s AND week_runs.run_id = %(run_id)s
    AND series = %(series)s AND measurement = %(measurement)s
ORDER BY started_at DESC LIMIT 1"""


@dataclass(frozen=True)
class WeeklyVerdict:
    """What a weekly run said of one result, among ``judged`` that it judged together."""

    run_id: str
    started_at: datetime
    change: Mapping[str, Any]
    alike: float | None
    """As it was taken then; weeks before did not note it."""
    judged: int


@dataclass(frozen=True)
class WeekChange:
    """What the weekly run found of a series. ``entry`` is that of ``changes.json``."""

    series: Series
    state: str
    entry: Mapping[str, Any]


def _asked(runs: Sequence[RunRow]) -> dict[str, list[str]]:
    return {"experiments": [run.experiment for run in runs], "run_ids": [run.run_id for run in runs]}


def completed(db: Database, runs: Sequence[RunRow]) -> dict[PlatformKey, tuple[int, int]]:
    """(completed, planned) trials of every platform."""
    rows = db.execute(COMPLETED, _asked(runs))
    return {(name, run_id, platform): (int(done), int(planned)) for name, run_id, platform, done, planned in rows}


def why_invalid(db: Database, runs: Sequence[RunRow]) -> dict[RunKey, str]:
    """The first critical check that failed, and what was found."""
    rows = db.execute(WHY_INVALID, _asked(runs))
    return {(name, run_id): f"{says}: {found}" for name, run_id, says, found in rows}


def validity(db: Database, runs: Sequence[WeekRun]) -> dict[RunKey, tuple[bool, bool]]:
    """(is it valid, has it warnings) of those runs of a week that were sealed, and so loaded."""
    asked = [(one.experiment, one.run_id) for one in runs if one.run_id]
    given = {"experiments": [experiment for experiment, _ in asked], "run_ids": [run_id for _, run_id in asked]}
    return {(experiment, run_id): (valid, warned) for experiment, run_id, valid, warned in db.execute(VALIDITY, given)}


def headlines(db: Database, runs: Sequence[RunRow]) -> dict[PlatformKey, Series]:
    """Of every platform the first measurement that its report draws: what stands for it on one line."""
    found = ((row[0], Series(*row[1:])) for row in db.execute(HEADLINES, _asked(runs)))
    return {(series.experiment, run_id, series.platform): series for run_id, series in found}


def fact_set(db: Database, experiment: str, run_id: str, platform: str) -> str | None:
    query = """
        SELECT fact_set FROM runs JOIN run_platforms USING (run)
        WHERE experiment = %s AND run_id = %s AND platform = %s"""
    row = db.execute(query, [experiment, run_id, platform]).fetchone()
    return str(row[0]) if row else None


# The weekly run.


def counts(db: Database, week_run_id: str, experiments: Collection[str]) -> dict[PlatformKey, Counter[State]]:
    """(experiment, scale, platform) -> state -> how many series."""
    found: dict[PlatformKey, Counter[State]] = {}
    for experiment, scale, platform, state, count in db.execute(COUNTS, [week_run_id, list(experiments)]):
        found.setdefault((experiment, scale, platform), Counter())[state] = count
    return found


def week_changes(db: Database, week_run_id: str, experiments: Collection[str]) -> list[WeekChange]:
    """In the order in which the weekly run told them."""
    return [
        WeekChange(Series(*row[:10]), *row[10:]) for row in db.execute(WEEK_CHANGES, [week_run_id, list(experiments)])
    ]


def weekly_verdict(db: Database, one: Series, run_id: str) -> WeeklyVerdict | None:
    """By the weekly run that started run ``run_id``; None where it was started by another, or is not of the history."""
    asked = {"experiment": one.experiment, "run_id": run_id, "series": one.id, "measurement": one.measurement}
    row = db.execute(WEEKLY_VERDICT, {**asked, "unjudged": list(UNJUDGED)}).fetchone()
    return WeeklyVerdict(*row) if row else None
