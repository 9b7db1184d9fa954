"""Load files into tables, several at once, by the engine's own bulk loader on the ETL host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from clusterbench.base.datasets import Dataset
from clusterbench.base.errors import DatasetError
from clusterbench.base.job import Job
from clusterbench.base.sql import identifier, statement
from clusterbench.drivers import psql_streams
from clusterbench.workloads import etl_files
from clusterbench.workloads.etl_files import etl_host
from clusterbench.workloads.from_duckdb import files, marks
from clusterbench.workloads.from_duckdb.files import Made, Source
from clusterbench.workloads.from_duckdb.marks import Mark
from clusterbench.workloads.tables import Table

if TYPE_CHECKING:
    from clusterbench.engines import BulkLoad, Database

T = TypeVar("T")

LOAD_AT_ONCE_BYTES = 1_000_000_000
"""Tables are loaded in groups of about so much, so that a try that is cut off repeats little."""


def groups(made: Mapping[str, Made]) -> list[list[str]]:
    """Tables that are loaded together: the largest first, each group of about ``LOAD_AT_ONCE_BYTES``."""
    found: list[list[str]] = []
    room = 0
    for name in sorted(made, key=lambda each: -made[each].bytes):
        if room <= 0:
            found.append([])
            room = LOAD_AT_ONCE_BYTES
        found[-1].append(name)
        room -= made[name].bytes
    return found


def dealt(work: Sequence[tuple[int, T]], sessions: int) -> list[list[T]]:
    """(bytes, such as a statement) to as many sessions, the largest first, each to the one that has least to do."""
    hands: list[list[T]] = [[] for _ in range(max(1, min(sessions, len(work))))]
    busy = [0] * len(hands)
    for size, one in sorted(work, key=lambda each: -each[0]):
        least = busy.index(min(busy))
        hands[least].append(one)
        busy[least] += size
    return hands


def make_and_load(
    of: Source, missing: Sequence[str], tables: Mapping[str, Table], dataset: Dataset, engine: Database
) -> None:
    """Files of the whole source, then the ``missing`` tables, group by group. Raises DatasetError."""
    made = files.generate(of, engine)
    for group in groups({name: made[name] for name in missing}):
        load({name: made[name] for name in group}, tables, of.folder, dataset, engine)
        print(f"{dataset.table}: loaded {', '.join(group)}", flush=True)


def complete(names: Iterable[str], dataset: Dataset, engine: Database) -> None:
    """Statistics of those that are loaded, which are then marked as complete."""
    loaded = {name: mark for name, mark in marks.read(dataset, names, engine).items() if mark.state == "loaded"}
    if loaded:
        engine.settle(*(f"{dataset.table}.{name}" for name in loaded))
        said = [replace(mark, state="complete").statement(dataset, name) for name, mark in loaded.items()]
        engine.execute(";\n".join(said))


def load(
    made: Mapping[str, Made], tables: Mapping[str, Table], folder: str, dataset: Dataset, engine: Database
) -> None:
    """Empty tables, all their files, keys; then they are marked as loaded. ``folder``: of the files on the ETL host.

    Raises DatasetError; what was begun does not count then.
    """
    host, job = etl_host(engine), f"{folder}.loading-{etl_files.name_of(engine)}"
    etl_files.end(engine.fleet, host, job)  # it must not write into the new tables
    _make_empty(made, tables, dataset, engine)
    loads = {
        name: engine.bulk_load(f"{dataset.table}.{name}", host, [part.name for part in one.parts])
        for name, one in made.items()
    }
    execute(engine, [load.create for load in loads.values()])
    work = _work(made, loads, f"{engine.fleet.work_dir(host)}/{folder}", engine)
    serves = any(load.before for load in loads.values())
    try:
        with engine.fleet.alone(host, etl_files.SERVERS) if serves else nullcontext():
            etl_files.run(engine.fleet, host, job, work)
    except DatasetError as error:
        raise DatasetError(f"{dataset.table}: none of these could be loaded: {', '.join(made)}: {error}") from None
    finally:
        execute(engine, [load.drop for load in loads.values()])
    with ThreadPoolExecutor(engine.parallelism()) as workers:
        list(workers.map(lambda name: _finish(tables[name], made[name], dataset, engine), made))


def _make_empty(made: Mapping[str, Made], tables: Mapping[str, Table], dataset: Dataset, engine: Database) -> None:
    execute(engine, [statement("tables", "drop", table=identifier(f"{dataset.table}.{name}")) for name in made])
    for name, one in made.items():
        table, comment = tables[name], Mark(one.rows, one.checksum, "begun").comment(dataset)
        kept = replace(dataset.storage, distributed_by=table.distributed_by)
        engine.create_table(f"{dataset.table}.{name}", table.definition(), kept, comment)


def _work(made: Mapping[str, Made], loads: Mapping[str, BulkLoad], folder: str, engine: Database) -> Job:
    """The file servers of the table with most files do for all: each serves the whole folder."""
    statements = [
        (made[name].bytes // len(load.streams), text)
        for name, load in loads.items()
        for stream in load.streams
        for text in stream
    ]
    servers = loads[max(made, key=lambda name: len(made[name].parts))]
    work = psql_streams.Streams(
        dealt(statements, engine.parallelism()),
        before=f"{etl_files.link(folder)}\n{servers.before}",
        after=servers.after,
    )
    return psql_streams.job(work, engine.endpoint(pooled=False))


def _finish(table: Table, made: Made, dataset: Dataset, engine: Database) -> None:
    """Keys and mark at once, or neither."""
    keys = table.keys(dataset.table, dataset.storage.layout)
    execute(engine, [*keys, Mark(made.rows, made.checksum, "loaded").statement(dataset, table.name)])


def execute(engine: Database, commands: Sequence[str]) -> None:
    """Sent at once: one transaction."""
    if any(commands):
        engine.execute(";\n".join(filter(None, commands)))
