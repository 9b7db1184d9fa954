"""A synthetic history of five years, and what questions to it take, as ratios within one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta

from clusterbench.history import load
from clusterbench.history.database import Database, writing
from clusterbench.history.synthetic import (
    EXPERIMENTS,
    PLATFORMS,
    Synthetic,
    digest,
    is_valid,
    measurement_lines,
    platform_rows,
    result_lines,
    run_id,
    run_row,
    trial_lines,
    verdict_rows,
)

TABLES = ("runs", "run_platforms", "trials", "results", "result_measurements", "series", "series_measurements")


def fill(db: Database, weeks: int = 260, trials: int = 2000, seed: int = 1) -> None:
    """Weekly runs of ``history.synthetic.EXPERIMENTS``, with ``trials`` in all of a week, beside what is there.

    Constraints and indexes of the largest table are made after its rows, which is quicker.
    """
    made = Synthetic(weeks, trials, seed)
    with writing(db):
        runs = _runs(db, made)
        series = [_series(db, made, name) for name in EXPERIMENTS]
        _lines(db, "trials", ("run", *load.TRIALS), (trial_lines(made, *key, run) for key, run in runs.items()))
        ours = [(*key, run, series[key[1]]) for key, run in runs.items()]
        _lines(db, "results", ("run", "series", *load.RESULTS), (result_lines(made, *one) for one in ours))
        for statement in BEFORE:
            db.execute(statement)
        columns = ("run", "series", *load.MEASUREMENTS)
        _lines(db, "result_measurements", columns, (measurement_lines(made, *one) for one in ours))
        for statement in AFTER:
            db.execute(statement)
    for table in TABLES:
        db.execute(f"VACUUM ANALYZE {table}".encode())


BEFORE = (
    "ALTER TABLE result_measurements DROP CONSTRAINT result_measurements_run_series_fkey",
    "ALTER TABLE result_measurements DROP CONSTRAINT result_measurements_pkey",
    "DROP INDEX result_measurements_by_run",
)
AFTER = (
    "ALTER TABLE result_measurements ADD PRIMARY KEY (series, measurement, run)",
    "CREATE INDEX result_measurements_by_run ON result_measurements (run, series)",
    "ALTER TABLE result_measurements ADD FOREIGN KEY (run, series) REFERENCES results ON DELETE CASCADE",
    """
INSERT INTO series_measurements
SELECT DISTINCT ON (series, measurement) series, measurement, unit, better, is_plotted, label, started_at, run_id
FROM result_measurements JOIN results USING (run, series) JOIN runs USING (run)
ORDER BY series, measurement, started_at DESC
ON CONFLICT DO NOTHING""",
)


def _lines(db: Database, table: str, columns: Iterable[str], lines: Iterable[Iterator[str]]) -> None:
    """A run's at once."""
    with db.cursor() as cursor, cursor.copy(load.copy_into(table, columns)) as copy:
        for of_run in lines:
            copy.write("".join(of_run))


def _runs(db: Database, made: Synthetic) -> dict[tuple[int, int], int]:
    """Runs and what hangs on them; their numbers in the database, by week and experiment."""
    (last,) = db.execute("SELECT coalesce(max(run), 0) FROM runs").fetchone() or (0,)
    runs = {key: last + number for number, key in enumerate(made.runs(), 1)}
    columns = tuple(run_row(made, 0, 0))
    load.copy_rows(db, "runs", ("run", *columns), ((n, *run_row(made, *key).values()) for key, n in runs.items()))
    db.execute("SELECT setval(pg_get_serial_sequence('runs', 'run'), max(run)) FROM runs")
    platforms = [(run, *row) for key, run in runs.items() for row in platform_rows(made, *key)]
    load.add_fact_sets(db, {digest(facts): facts for *_, facts in platforms})
    lines = ((*known, digest(facts), '{"work_mem": "8MB"}', "") for *known, facts in platforms)
    load.copy_rows(db, "run_platforms", ("run", *load.PLATFORMS), lines)
    verdicts = ((run, *row) for key, run in runs.items() for row in verdict_rows(key[0]))
    load.copy_rows(db, "verdicts", ("run", *load.VERDICTS), verdicts)
    _weeks(db, made)
    return runs


def _weeks(db: Database, made: Synthetic) -> None:
    for week in range(made.weeks):
        at = made.started_at(week, 0) - timedelta(minutes=1)
        number = load.insert(
            db,
            "weeks",
            {
                "run_id": run_id(at, "weekly"),
                "scale": "laptop",
                "started_at": at,
                "dag_run_id": f"scheduled__{at.isoformat()}",
                "url": "s3://synthetic/weekly/",
                "manifest_sha256": digest(f"{made.seed} {week}"),
            },
            returning="week",
        )
        said = ("success", "") if is_valid(week) else ("failed", "Expectation 0 holds: not so")
        rows = [(number, n, name, made.run_id(week, n), "", *said) for n, name in enumerate(EXPERIMENTS)]
        load.copy_rows(db, "week_runs", ("week", *load.WEEK_RUNS), rows)


def _series(db: Database, made: Synthetic, experiment: str) -> list[int]:
    """Of every cell, in their order."""
    keys = [(PLATFORMS[platform], cell.sweep, cell.levels) for platform, cell in made.cells]
    ids = load.series_ids(db, experiment, "laptop", keys)
    return [ids[key] for key in keys]
