"""Generation and loading of ``order_lineitems`` against the engine's own limits, as ratios within one run."""

from __future__ import annotations

import os
import shlex
import statistics
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg

from clusterbench.base.datasets import Dataset
from clusterbench.base.errors import ClusterbenchError
from clusterbench.base.sql import identifier, raw, statement
from clusterbench.engines import as_database
from clusterbench.engines.postgres.engine import Postgres
from clusterbench.engines.postgres.loading import LOAD_FORMAT
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import generation, load_workload
from clusterbench.workloads.retail import load_files, order_lineitems
from clusterbench_lab.bench.trials import SEED, measured, trial_of

ROWS, LOAD_ROWS, PAIRS = 200_000, 500_000, 5
MEMORY_ROWS = (1_000_000, 10_000_000)
SAMPLE_S = 0.1


def measure(testbed: Testbed, say: Callable[..., bool]) -> bool:
    """Print each ratio; none has a bound. The lab's hosts are this machine, so that files and processes are at hand."""
    ratios = [_generation_against_copy(testbed, number) for number in range(PAIRS)]
    say(
        f"rows/s generated / of INSERT … SELECT of the same finished rows, median of {PAIRS}", statistics.median(ratios)
    )
    ratios = [_load_against_hand(testbed, number) for number in range(PAIRS)]
    say(f"MB/s of the 16-stream load / of one COPY per core by hand, median of {PAIRS}", statistics.median(ratios))
    small, large = (_generator_memory_mb(testbed, rows) for rows in MEMORY_ROWS)
    return say(
        f"memory of the generator, 10 million rows / 1 million rows ({large:.1f} / {small:.1f} MB)", large / small
    )


def _generation_against_copy(testbed: Testbed, number: int) -> float:
    """One session each, into empty tables; taking turns to be first."""
    engine = as_database(testbed.engine)
    made, copied = (order_lineitems.dataset_of(ROWS, SEED, table=name) for name in ("bench_generated", "bench_copied"))
    source = order_lineitems.dataset_of(ROWS, SEED, table="bench_source")
    order_lineitems.generate(source, engine)
    finished = statement("tables", "rows", table=identifier(source.table))
    inserts = {
        made: order_lineitems.insert(made, engine.series(1, ROWS)),
        copied: statement("tables", "insert", table=identifier(copied.table), rows=raw(finished)),
    }
    times_s = {}
    for dataset in list(inserts)[:: 1 if number % 2 else -1]:
        generation.make_empty(dataset, engine, statement("order_lineitems", "columns"))
        engine.execute("CHECKPOINT")
        begun = time.monotonic()
        engine.execute(inserts[dataset])
        times_s[dataset.table] = time.monotonic() - begun
        generation.drop(dataset, engine)
    return times_s[copied.table] / times_s[made.table]


def _load_against_hand(testbed: Testbed, number: int) -> float:
    trial = trial_of("data_load", {"rows": LOAD_ROWS}, number)
    dataset = load_workload("data_load").dataset(trial.levels, SEED)
    load_files.generate(dataset, as_database(testbed.engine))
    if number % 2:
        return measured(trial, testbed, "throughput_mb_per_s") / _by_hand(dataset, testbed)
    by_hand = _by_hand(dataset, testbed)
    return measured(trial, testbed, "throughput_mb_per_s") / by_hand


def _by_hand(dataset: Dataset, testbed: Testbed) -> float:
    """MB/s of one psql for each core, each with its share of the files one after the other."""
    engine = as_database(testbed.engine)
    generation.make_empty(dataset, engine, statement("order_lineitems", "columns"))
    load_files.evict(dataset, engine)
    folder = Path(testbed.fleet.work_dir("etl")) / load_files.directory(dataset)
    cores = os.cpu_count() or 1
    database = engine.database
    psql = [
        "psql",
        "-h",
        database.host,
        "-p",
        str(database.port),
        "-U",
        database.login,
        "-d",
        database.schema,
        "-q",
        "-c",
    ]
    load = shlex.join([*psql, f"\\copy {dataset.table} FROM PSTDIN WITH ({LOAD_FORMAT})"])
    environment = {**os.environ, "PGPASSWORD": database.password}
    begun = time.monotonic()
    sessions = [
        subprocess.Popen(
            ["bash", "-c", f"cat {shlex.join(load_files.names()[core::cores])} | {load}"], cwd=folder, env=environment
        )
        for core in range(cores)
    ]
    statuses = [session.wait() for session in sessions]
    if any(statuses):
        raise ClusterbenchError("the load by hand failed; psql says why above")
    seconds = time.monotonic() - begun
    size = sum((folder / name).stat().st_size for name in load_files.names())
    generation.drop(dataset, engine)
    return size / 1e6 / seconds


def _generator_memory_mb(testbed: Testbed, rows: int) -> float:
    """Largest private memory of the server process that makes ``rows``, sampled while they stream to nowhere."""
    query = order_lineitems.select(rows, SEED, f"generate_series(1, {rows})")
    assert isinstance(testbed.engine, Postgres)
    with testbed.engine.connect() as connection, closing(connection.cursor()) as cursor:
        sampler = _Sampler(connection.info.backend_pid)
        sampler.start()
        try:
            _discard(cursor, query)
        finally:
            sampler.stop()
    return sampler.largest_mb


def _discard(cursor: psycopg.Cursor[dict[str, object]], query: str) -> None:
    with cursor.copy(statement("order_lineitems", "copy_out", rows=raw(query)).encode()) as copy:
        for _ in copy:
            pass


class _Sampler(threading.Thread):
    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.path, self.largest_mb, self._ended = Path(f"/proc/{pid}/status"), 0.0, threading.Event()

    def run(self) -> None:
        while not self._ended.wait(SAMPLE_S):
            lines = dict(line.split(":", 1) for line in self.path.read_text().splitlines())
            self.largest_mb = max(self.largest_mb, int(lines["RssAnon"].split()[0]) / 1e3)

    def stop(self) -> None:
        self._ended.set()
        self.join()
