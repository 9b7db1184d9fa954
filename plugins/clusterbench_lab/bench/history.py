"""A synthetic history of five years, and what questions to it take, as ratios within one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any

from clusterbench.base.connections import Connection
from clusterbench.history import made_of, read, write
from clusterbench.history.database import Database, migrate, opened, writing
from clusterbench.history.rows import RunRows
from clusterbench.results.compare import compare
from clusterbench_lab.bench.synthetic_history import (
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

WEEKS = (26, 260)
STATEMENTS = 99
TRIES = 5
ANSWER_S_MAX = 2.0
"""Of any question at full size."""
TABLES = ("runs", "run_platforms", "trials", "results", "result_measurements", "series", "series_measurements")


def fill(db: Database, weeks: int = 260, trials: int = 2000, seed: int = 1, statements: int = 0) -> None:
    """Weekly runs of ``history.synthetic.EXPERIMENTS``, with ``trials`` in all of a week, beside what is there.

    Constraints and indexes of the largest table are made after its rows, which is quicker.
    """
    made = Synthetic(weeks, trials, seed, statements)
    with writing(db):
        runs = _runs(db, made)
        series = [_series(db, made, name) for name in EXPERIMENTS]
        _lines(db, "trials", ("run", *write.TRIALS), (trial_lines(made, *key, run) for key, run in runs.items()))
        ours = [(*key, run, series[key[1]]) for key, run in runs.items()]
        _lines(db, "results", ("run", "series", *write.RESULTS), (result_lines(made, *one) for one in ours))
        for statement in BEFORE:
            db.execute(statement)
        columns = ("run", "series", *write.MEASUREMENTS)
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
    "ALTER TABLE result_measurements ADD PRIMARY KEY (series, measurement, run) INCLUDE (n, median, low_95, high_95)",
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
    with db.cursor() as cursor, cursor.copy(write.copy_into(table, columns)) as copy:
        for of_run in lines:
            copy.write("".join(of_run))


def _runs(db: Database, made: Synthetic) -> dict[tuple[int, int], int]:
    """Runs and what hangs on them; their numbers in the database, by week and experiment."""
    (last,) = db.execute("SELECT coalesce(max(run), 0) FROM runs").fetchone() or (0,)
    runs = {key: last + number for number, key in enumerate(made.runs(), 1)}
    columns = tuple(run_row(made, 0, 0))
    write.copy_rows(db, "runs", ("run", *columns), ((n, *run_row(made, *key).values()) for key, n in runs.items()))
    db.execute("SELECT setval(pg_get_serial_sequence('runs', 'run'), max(run)) FROM runs")
    platforms = [(run, *row) for key, run in runs.items() for row in platform_rows(made, *key)]
    write.add_fact_sets(db, {digest(facts): facts for *_, facts in platforms})
    lines = ((*known, digest(facts), '{"work_mem": "8MB"}', "") for *known, facts in platforms)
    write.copy_rows(db, "run_platforms", ("run", *write.PLATFORMS), lines)
    verdicts = ((run, *row) for key, run in runs.items() for row in verdict_rows(key[0]))
    write.copy_rows(db, "verdicts", ("run", *write.VERDICTS), verdicts)
    _weeks(db, made)
    return runs


def _weeks(db: Database, made: Synthetic) -> None:
    for week in range(made.weeks):
        at = made.started_at(week, 0) - timedelta(minutes=1)
        number = write.insert(
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
        write.copy_rows(db, "week_runs", ("week", *write.WEEK_RUNS), rows)


def _series(db: Database, made: Synthetic, experiment: str) -> list[int]:
    """Of every cell, in their order."""
    keys = [(PLATFORMS[platform], cell.sweep, cell.levels) for platform, cell in made.cells]
    ids = write.series_ids(db, experiment, "laptop", keys)
    return [ids[key] for key in keys]


# Questions.


def measure(connection: Connection, say: Callable[..., bool]) -> bool:
    """Each question to five years against the same to half a year: two schemas of this function's own, side by side."""
    schemas = {weeks: f"history_bench_{weeks}" for weeks in WEEKS}
    try:
        for weeks, schema in schemas.items():
            migrate(connection, schema)
            with opened(connection, schema) as db:
                fill(db, weeks, statements=STATEMENTS)
        with opened(connection, schemas[WEEKS[0]]) as few, opened(connection, schemas[WEEKS[1]]) as many:
            short, long = _questions(few, WEEKS[0]), _questions(many, WEEKS[1])
            held = [_say(say, what, short[what], long[what]) for what in short]  # all of them are said
            return all(held)
    finally:
        with opened(connection) as db:
            for schema in schemas.values():
                db.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())


def _say(say: Callable[..., bool], what: str, ask_few: Callable[[], object], ask_many: Callable[[], object]) -> bool:
    few, many = _quickest(ask_few), _quickest(ask_many)
    said = f"history: {what}, {WEEKS[1]} weeks / {WEEKS[0]} weeks ({many * 1000:.0f} / {few * 1000:.0f} ms)"
    return say(said, many / few, f"under {ANSWER_S_MAX:g} s", holds=many < ANSWER_S_MAX)


def _quickest(ask: Callable[[], object]) -> float:
    """Of some tries, so that what else the machine does counts little."""
    took = []
    for _ in range(TRIES):
        begun = time.perf_counter()
        ask()
        took.append(time.perf_counter() - begun)
    return min(took)


def _questions(db: Database, weeks: int) -> dict[str, Callable[[], object]]:
    """What pages, comparison and regression ask, and loading."""
    newest, before, *_ = read.runs(db, EXPERIMENTS[0])
    one = newest.experiment, newest.run_id
    followed = read.series(db, EXPERIMENTS[0])
    some = followed[0]
    points = read.points(db, some.id, some.measurement)
    facts, runs = points[-1].fact_set, made_of.newest_beside_earlier(points, 10)
    week = read.weeks(db, 1)[0].run_id
    load = _a_run_more(weeks)
    return {
        "latest state of all": lambda: read.latest(db),
        "runs of an experiment": lambda: read.runs(db, EXPERIMENTS[0]),
        "results of a run": lambda: read.results(db, *one),
        "failed trials of a run": lambda: read.failed_trials(db, *one),
        "verdicts of a run": lambda: read.verdicts(db, *one),
        "comparison of two runs": lambda: compare(
            [read.one_run(db, before.experiment, before.run_id)], [read.one_run(db, *one)]
        ),
        "how far apart equal runs lie": lambda: read.spreads(db, EXPERIMENTS[0], before.scale, [before.run_id, one[1]]),
        "series of all experiments": lambda: read.series(db),
        "points of a series": lambda: read.points(db, some.id, some.measurement),
        "points of all series of an experiment": lambda: [
            len(points) for _, points in read.points_of_many(db, followed)
        ],
        "statements that a difference is made of": lambda: made_of.parts_of(db, some.id, runs, newest.started_at),
        "facts of a platform": lambda: read.side(db, facts),
        "weekly runs": lambda: (read.weeks(db), read.week(db, week)),
        "loading a run": lambda: _load_and_forget(db, load),
    }


def _a_run_more(weeks: int) -> RunRows:
    """Of the week after the last."""
    made, week, experiment = Synthetic(weeks + 1, 2000, 2), weeks, 0
    platforms = list(platform_rows(made, week, experiment))
    cells = [(PLATFORMS[platform], cell.sweep, cell.levels) for platform, cell in made.cells]
    lines = [_columns(line) for line in measurement_lines(made, week, experiment, 0, list(range(len(cells))))]
    measured: list[list[tuple[Any, ...]]] = [[] for _ in cells]
    for line in lines:
        measured[int(line[1])].append(line[2:])
    return RunRows(
        run={**run_row(made, week, experiment), "run_id": "one more"},
        fact_sets={digest(facts): facts for *_, facts in platforms},
        platforms=[(*known, digest(facts), "{}", "") for *known, facts in platforms],
        trials=[_columns(line)[1:] for line in trial_lines(made, week, experiment, 0)],
        series=cells,
        results=[_columns(line)[2:] for line in result_lines(made, week, experiment, 0, [0] * len(cells))],
        measurements=measured,
        verdicts=list(verdict_rows(week)),
    )


def _columns(line: str) -> tuple[Any, ...]:
    return tuple(None if column == "\\N" else column for column in line.rstrip("\n").split("\t"))


def _load_and_forget(db: Database, rows: RunRows) -> None:
    with writing(db), db.transaction(force_rollback=True):
        write.add_run(db, rows)
