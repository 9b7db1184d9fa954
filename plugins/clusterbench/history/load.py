"""Finished archives -> the history database. The same one again changes nothing; a run is there whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import sql

from clusterbench.archive import MANIFEST, RunArchive, Store
from clusterbench.catalog import Catalog
from clusterbench.errors import ArchiveError, ClusterbenchError, HistoryError
from clusterbench.history.database import Database, writing
from clusterbench.history.rows import Row, RunRows, SeriesKey, rows_of

PLATFORMS = ("platform", "position", "fact_set", "declared", "durability")
TRIALS = (
    *("platform", "trial", "map_index", "label", "sweep", "workload", "cell", "repetition", "levels", "outcome"),
    *("reason", "started_at", "window_start_s", "window_end_s", "samples", "errors", "measurements", "telemetry"),
)
RESULTS = ("position", "cell", "label", "planned", "completed", "outcomes", "reasons")
MEASUREMENTS = (*("measurement", "unit", "better", "is_plotted", "n", "median", "best", "low_95", "high_95", "values"),)
VERDICTS = ("position", "suite", "check_number", "says", "passed", "is_critical", "found")
WEEK_RUNS = ("position", "experiment", "run_id", "dag_run_id", "state", "reason")
WEEKLY, BASELINES = "weekly", "_baselines"
"""Folders of the archive that are no experiment's."""


@dataclass(frozen=True)
class Sealed(Store):
    """A run as its manifest seals it: what was changed or lost since is an error, what came later is not there."""

    digests: Mapping[str, str] = field(default_factory=dict)

    def get(self, key: str) -> bytes | None:
        if key not in self.digests:
            return None
        body = super().get(key)
        if body is None or hashlib.sha256(body).hexdigest() != self.digests[key]:
            what = "is in the manifest but missing" if body is None else "was changed after the run"
            raise ArchiveError(f"{self.url}{key}: {what}; 'clusterbench verify' says more of that run")
        return body


def load_run(db: Database, archive: RunArchive, catalog: Catalog) -> bool:
    """Whether anything had to be loaded. Raises HistoryError for a run that is not finished, or cannot be read."""
    sealed, manifest_sha256 = _sealed(archive)
    if _loaded(db, archive) == manifest_sha256:
        return False
    try:
        rows = rows_of(sealed, catalog, manifest_sha256)
    except ClusterbenchError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HistoryError(
            f"{archive.url}: cannot be read by this version of clusterbench ({type(error).__name__}: {error}); "
            "nothing of it was loaded"
        ) from error
    with writing(db):
        standing = _loaded(db, archive)
        if standing == manifest_sha256:
            return False  # another loader was quicker
        if standing:
            _forget(db, archive)
        _write(db, rows)
    return True


def _sealed(archive: RunArchive) -> tuple[RunArchive, str]:
    raw = archive.store.get(archive.prefix + MANIFEST)
    if raw is None:
        opened = archive.get_json("run.json") or archive.get_json("week.json")
        found = "is not finished: it has no manifest yet" if opened else "is not there"
        raise HistoryError(
            f"{archive.url}: {found}; only a finished run is loaded, which its DAG run does itself at its end"
        )
    try:
        objects = json.loads(raw)["objects"]
        digests = {archive.prefix + key: entry["sha256"] for key, entry in objects.items()}
    except (ValueError, KeyError, TypeError) as error:
        raise HistoryError(f"{archive.url}{MANIFEST}: is no manifest ({type(error).__name__}: {error})") from None
    store = archive.store
    sealed = Sealed(store.client, store.bucket, store.endpoint, store.prefix, digests)
    return RunArchive(sealed, archive.experiment, archive.run_id), hashlib.sha256(raw).hexdigest()


def _loaded(db: Database, archive: RunArchive) -> str | None:
    """Digest of the manifest that was loaded of this run, if one was."""
    query = "SELECT manifest_sha256 FROM runs WHERE experiment = %s AND run_id = %s"
    found = db.execute(query, [archive.experiment, archive.run_id]).fetchone()
    return found[0] if found else None


def _write(db: Database, rows: RunRows) -> None:
    run = insert(db, "runs", rows.run, returning="run")
    add_fact_sets(db, rows.fact_sets)
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
    query = "INSERT INTO fact_sets (fact_set, facts) VALUES (%s, %s) ON CONFLICT DO NOTHING"
    with db.cursor() as cursor:
        cursor.executemany(query, facts.items())


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
    numbers = dict(db.execute(FIND_SERIES, given).fetchall())
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


def _forget(db: Database, archive: RunArchive) -> None:
    """A run whose manifest is another now, and what only it knew."""
    query = "SELECT array_agg(series) FROM results JOIN runs USING (run) WHERE experiment = %s AND run_id = %s"
    (touched,) = db.execute(query, [archive.experiment, archive.run_id]).fetchone() or (None,)
    db.execute("DELETE FROM runs WHERE experiment = %s AND run_id = %s", [archive.experiment, archive.run_id])
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
)
