"""Rows into the tables of the history database. Whoever calls this is in a transaction of ``database.writing``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, LiteralString

from psycopg import sql

from clusterbench.history.database import Database
from clusterbench.history.rows import Row, RunRows, SeriesKey

PLATFORMS = ("platform", "position", "fact_set", "declared", "durability")
TRIALS = (
    *("platform", "trial", "map_index", "label", "sweep", "workload", "cell", "repetition", "levels", "outcome"),
    *("reason", "started_at", "window_start_s", "window_end_s", "samples", "errors", "measurements", "telemetry"),
)
RESULTS = ("position", "cell", "label", "planned", "completed", "outcomes", "reasons", "plan_set")
MEASUREMENTS = (*("measurement", "unit", "better", "is_plotted", "n", "median", "best", "low_95", "high_95", "values"),)
VERDICTS = ("position", "suite", "check_number", "says", "passed", "is_critical", "found")
WEEK_RUNS = ("position", "experiment", "run_id", "dag_run_id", "state", "reason")


def add_run(db: Database, rows: RunRows) -> None:
    """A run that is not there yet."""
    run = insert(db, "runs", rows.run, returning="run")
    add_fact_sets(db, rows.fact_sets)
    _add_once(db, "INSERT INTO plans (fingerprint, plan) VALUES (%s, %s) ON CONFLICT DO NOTHING", rows.plans)
    sets = "INSERT INTO plan_sets (plan_set, fingerprints) VALUES (%s, %s) ON CONFLICT DO NOTHING"
    _add_once(db, sets, rows.plan_sets)
    _copy_of_run(db, run, "run_platforms", PLATFORMS, rows.platforms)
    _copy_of_run(db, run, "trials", TRIALS, rows.trials)
    ids = series_ids(db, rows.run["experiment"], rows.run["scale"], rows.series)
    results = ((ids[key], *row) for key, row in zip(rows.series, rows.results, strict=True))
    _copy_of_run(db, run, "results", ("series", *RESULTS), results)
    measured = zip(rows.series, rows.measurements, strict=True)
    lines = ((ids[key], *row) for key, of_result in measured for row in of_result)
    _copy_of_run(db, run, "result_measurements", ("series", *MEASUREMENTS), lines)
    _copy_of_run(db, run, "verdicts", VERDICTS, rows.verdicts)
    db.execute(NEWEST_OF_SERIES, {"run": run})


def insert(db: Database, table: str, row: Mapping[str, Any], returning: str) -> int:
    query = sql.SQL("INSERT INTO {} ({}) VALUES ({}) RETURNING {}").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, row)),
        sql.SQL(", ").join(map(sql.Placeholder, row)),
        sql.Identifier(returning),
    )
    found = db.execute(query, row).fetchone()
    assert found is not None
    return int(found[0])


def add_fact_sets(db: Database, facts: Mapping[str, str]) -> None:
    """By their digests; those that are there stay."""
    _add_once(db, "INSERT INTO fact_sets (fact_set, facts) VALUES (%s, %s) ON CONFLICT DO NOTHING", facts)


def _add_once(db: Database, query: LiteralString, lines: Mapping[str, str]) -> None:
    with db.cursor() as cursor:
        cursor.executemany(query, lines.items())


def copy_into(table: str, columns: Iterable[str]) -> sql.Composed:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    return sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)


def copy_rows(db: Database, table: str, columns: Iterable[str], rows: Iterable[Row]) -> None:
    with db.cursor() as cursor, cursor.copy(copy_into(table, columns)) as copy:
        for row in rows:
            copy.write_row(row)


def _copy_of_run(db: Database, run: int, table: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
    copy_rows(db, table, ("run", *columns), ((run, *row) for row in rows))


def series_ids(db: Database, experiment: str, scale: str, keys: Sequence[SeriesKey]) -> dict[SeriesKey, int]:
    """The series of these results; those that are new are made."""
    wanted = list(dict.fromkeys(keys))
    platforms, sweeps, levels = (list(column) for column in zip(*wanted, strict=True)) if wanted else ([], [], [])
    given = {"experiment": experiment, "scale": scale, "platforms": platforms, "sweeps": sweeps, "levels": levels}
    db.execute(MAKE_SERIES, given)
    numbers: dict[int, int] = dict(db.execute(FIND_SERIES, given).fetchall())
    return {key: numbers[number] for number, key in enumerate(wanted, 1)}


MAKE_SERIES = """
INSERT INTO series (experiment, scale, platform, sweep, levels)
SELECT %(experiment)s, %(scale)s, asked.*
FROM unnest(%(platforms)s::text[], %(sweeps)s::text[], %(levels)s::jsonb[]) AS asked
ON CONFLICT DO NOTHING"""
FIND_SERIES = """
SELECT number, series
FROM unnest(%(platforms)s::text[], %(sweeps)s::text[], %(levels)s::jsonb[]) WITH ORDINALITY
    AS asked (platform, sweep, levels, number)
JOIN series USING (platform, sweep, levels)
WHERE experiment = %(experiment)s AND scale = %(scale)s"""

NEWEST_OF_SERIES = """
INSERT INTO series_measurements AS standing
SELECT series, measurement, unit, better, is_plotted, label, started_at, run_id
FROM result_measurements JOIN results USING (run, series) JOIN runs USING (run)
WHERE run = %(run)s
ON CONFLICT (series, measurement) DO UPDATE SET
    unit = excluded.unit, better = excluded.better, is_plotted = excluded.is_plotted, label = excluded.label,
    last_at = excluded.last_at, last_run_id = excluded.last_run_id
WHERE (excluded.last_at, excluded.last_run_id) >= (standing.last_at, standing.last_run_id)"""


def forget_run(db: Database, experiment: str, run_id: str) -> None:
    """A run, and what only it knew."""
    query = "SELECT array_agg(series) FROM results JOIN runs USING (run) WHERE experiment = %s AND run_id = %s"
    (touched,) = db.execute(query, [experiment, run_id]).fetchone() or (None,)
    db.execute("DELETE FROM runs WHERE experiment = %s AND run_id = %s", [experiment, run_id])
    for statement in FORGET_WHAT_ONLY_IT_KNEW:
        db.execute(statement, {"touched": touched or []})


FORGET_WHAT_ONLY_IT_KNEW = (
    "DELETE FROM series_measurements WHERE series = ANY(%(touched)s)",
    """
INSERT INTO series_measurements
SELECT DISTINCT ON (series, measurement) series, measurement, unit, better, is_plotted, label, started_at, run_id
FROM result_measurements JOIN results USING (run, series) JOIN runs USING (run)
WHERE series = ANY(%(touched)s)
ORDER BY series, measurement, started_at DESC, run_id DESC""",
    """
DELETE FROM series WHERE series = ANY(%(touched)s)
AND NOT EXISTS (SELECT FROM results WHERE results.series = series.series)
AND NOT EXISTS (SELECT FROM changes WHERE changes.series = series.series)
AND NOT EXISTS (SELECT FROM baselines WHERE baselines.series = series.series)""",
    "DELETE FROM fact_sets WHERE fact_set NOT IN (SELECT fact_set FROM run_platforms)",
    "DELETE FROM plan_sets WHERE plan_set NOT IN (SELECT plan_set FROM results WHERE plan_set IS NOT NULL)",
    """
DELETE FROM plans WHERE fingerprint NOT IN (
    SELECT value FROM plan_sets CROSS JOIN LATERAL json_each_text(fingerprints)
)""",
)
