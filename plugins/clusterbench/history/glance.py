"""What the first page asks of many runs at once: a statement each, however many runs there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterbench.history.database import Database
from clusterbench.history.model import RunRow, Series

RunKey = tuple[str, str]
"""Experiment and run id."""
PlatformKey = tuple[str, str, str]
"""Experiment, run id, platform."""
CHANGED = ("regression", "improvement")


@dataclass(frozen=True)
class Found:
    """A series that the weekly run found changed. ``entry`` is that of ``changes.json``."""

    series: Series
    state: str
    entry: Mapping[str, Any]


def _asked(runs: Sequence[RunRow]) -> dict[str, list[str]]:
    return {"experiments": [run.experiment for run in runs], "run_ids": [run.run_id for run in runs]}


ASKED = "unnest(%(experiments)s::text[], %(run_ids)s::text[]) AS asked (experiment, run_id)"
SERIES = "series, s.experiment, s.scale, s.platform, s.sweep, label, s.levels, measurement, unit, better"


def completed(db: Database, runs: Sequence[RunRow]) -> dict[PlatformKey, tuple[int, int]]:
    """(completed, planned) trials of every platform."""
    query = f"""
        SELECT r.experiment, run_id, s.platform, sum(results.completed), sum(results.planned)
        FROM {ASKED} JOIN runs r USING (experiment, run_id) JOIN results USING (run) JOIN series s USING (series)
        GROUP BY 1, 2, 3"""
    return {tuple(key): (done, planned) for *key, done, planned in db.execute(query, _asked(runs))}  # type: ignore[misc]


def why_invalid(db: Database, runs: Sequence[RunRow]) -> dict[RunKey, str]:
    """The first critical check that failed, and what was found."""
    query = f"""
        SELECT DISTINCT ON (experiment, run_id) experiment, run_id, says, found
        FROM {ASKED} JOIN runs USING (experiment, run_id) JOIN verdicts USING (run)
        WHERE is_critical AND NOT passed ORDER BY experiment, run_id, verdicts.position"""
    return {(name, run_id): f"{says}: {found}" for name, run_id, says, found in db.execute(query, _asked(runs))}


def headlines(db: Database, runs: Sequence[RunRow]) -> dict[PlatformKey, Series]:
    """Of every platform the first measurement that its report draws: what stands for it on one line."""
    query = f"""
        SELECT DISTINCT ON (r.experiment, r.run_id, s.platform) r.run_id, {SERIES}
        FROM {ASKED} JOIN runs r USING (experiment, run_id) JOIN results USING (run) JOIN series s USING (series)
        JOIN series_measurements m USING (series)
        WHERE is_plotted AND results.completed > 0 AND better <> 'neither'
        ORDER BY r.experiment, r.run_id, s.platform, results.position, measurement"""
    query = query.replace("label", "m.label")
    found = ((run_id, Series(*row)) for run_id, *row in db.execute(query, _asked(runs)))
    return {(series.experiment, run_id, series.platform): series for run_id, series in found}


def fact_set(db: Database, experiment: str, run_id: str, platform: str) -> str | None:
    query = """
        SELECT fact_set FROM runs JOIN run_platforms USING (run)
        WHERE experiment = %s AND run_id = %s AND platform = %s"""
    row = db.execute(query, [experiment, run_id, platform]).fetchone()
    return str(row[0]) if row else None


# The weekly run.


def counts(db: Database, week_run_id: str, experiments: Collection[str]) -> dict[PlatformKey, Counter[str]]:
    """(experiment, scale, platform) -> state -> how many series."""
    query = """
        SELECT experiment, s.scale, platform, state, count(*)
        FROM weeks JOIN changes USING (week) JOIN series s USING (series)
        WHERE weeks.run_id = %s AND experiment = ANY(%s) GROUP BY 1, 2, 3, 4"""
    found: dict[PlatformKey, Counter[str]] = {}
    for experiment, scale, platform, state, count in db.execute(query, [week_run_id, list(experiments)]):
        found.setdefault((experiment, scale, platform), Counter())[state] = count
    return found


def changed(
    db: Database, week_run_id: str, experiments: Collection[str], states: Sequence[str] = CHANGED
) -> list[Found]:
    """In the order in which the weekly run told them."""
    query = f"""
        SELECT {SERIES}, state, change
        FROM weeks JOIN changes c USING (week) JOIN series s USING (series)
        JOIN series_measurements USING (series, measurement)
        WHERE weeks.run_id = %s AND s.experiment = ANY(%s) AND state = ANY(%s) ORDER BY c.position"""
    rows = db.execute(query, [week_run_id, list(experiments), list(states)])
    return [Found(Series(*row[:10]), *row[10:]) for row in rows]
