"""Chunks of dsdgen's rows into tables: made on all hosts at once, loaded from where they lie, and removed.

Each host takes as many chunks as it has processors, makes them, has them loaded, and takes the next, until none is
left. So its disk needs room for those only, nothing passes through the worker, and a host that is faster does more. A
chunk and the note that it is loaded are one transaction: a try that is cut off continues with the chunks that are not
loaded. Files of such a try are made again.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from shlex import quote
from threading import Event, Lock
from typing import TYPE_CHECKING

from psycopg.sql import Composable

from clusterbench.base.datasets import OURS, Dataset, Storage
from clusterbench.base.errors import DatasetError
from clusterbench.base.sql import identifier, raw, statement
from clusterbench.drivers import psql_streams
from clusterbench.workloads import etl_files, tables
from clusterbench.workloads.from_duckdb import marks
from clusterbench.workloads.from_duckdb.loading import dealt, execute
from clusterbench.workloads.from_duckdb.marks import Mark
from clusterbench.workloads.tpcds import chunk_making, dsdgen, programs, schema
from clusterbench.workloads.tpcds.chunk_making import Counted, Maker
from clusterbench.workloads.tpcds.dsdgen import Chunk

if TYPE_CHECKING:
    from clusterbench.engines import BulkLoad, Database
    from clusterbench.hosts.fleet import Fleet

NOTES = "chunks"
"""The table of the dataset's schema that says which chunks are loaded; it goes when all are."""
DISK_HEADROOM = 1.3
"""Chunks are of about the same size, not of the same."""

PROCESSORS = 16
"""What a plan takes for granted of a host that makes chunks; the run asks the hosts."""


def load(names: Collection[str], scale_factor: float, dataset: Dataset, engine: Database) -> None:
    """All rows of these tables; then their keys. Raises DatasetError; what was loaded stays, and is continued."""
    making = _Making(scale_factor, dataset, engine)
    making.end_earlier_tries()
    loaded = _begin(names, dataset, engine)
    wanted = [chunk for chunk in dsdgen.chunks(scale_factor) if chunk.table in names]
    making.run([chunk for chunk in wanted if (chunk.table, chunk.number) not in loaded], of=len(wanted))
    _finish(names, wanted, dataset, engine)


def files_bytes(scale_factor: float) -> int:
    """Of load files on each host that makes them, at a time, where it has no more than ``PROCESSORS`` processors."""
    return min(dsdgen.bytes_expected(scale_factor), int(PROCESSORS * dsdgen.CHUNK_BYTES * DISK_HEADROOM))


def forget(dataset: Dataset, engine: Database) -> None:
    """The notes, which are of no use when all tables are complete or dropped."""
    if tables.comments(dataset.table, [NOTES], engine):
        engine.execute(statement("tables", "drop", table=_notes(dataset)))


# Tables and notes.


def _notes(dataset: Dataset) -> Composable:
    return identifier(f"{dataset.table}.{NOTES}")


def _begin(names: Collection[str], dataset: Dataset, engine: Database) -> set[tuple[str, int]]:
    """Empty tables where there is nothing to continue. Returns the chunks that are loaded: table and number.

    The notes are made last: where they are there, tables are of this version, too.
    """
    comment = f"{OURS}{dataset.name} version {dataset.version}, chunks of {dsdgen.CHUNK_BYTES} bytes"
    if tables.comments(dataset.table, [NOTES], engine).get(NOTES) != comment:
        forget(dataset, engine)
        _make_empty(names, dataset, engine)
        columns = statement("tpcds", "chunks")
        engine.create_table(f"{dataset.table}.{NOTES}", columns, Storage("table_name"), comment)
        return set()
    present = marks.read(dataset, schema.tables(), engine)
    if lost := [name for name in names if name not in present]:
        gone = raw(", ".join(f"'{name}'" for name in lost))
        engine.execute(statement("tpcds", "forget_chunks", chunks=_notes(dataset), tables=gone))
        _make_empty(lost, dataset, engine)
    return set(_noted(dataset, engine))


def _make_empty(names: Collection[str], dataset: Dataset, engine: Database) -> None:
    comment = Mark(0, 0, "begun").comment(dataset)
    for name in names:
        table = schema.tables()[name]
        storage = replace(dataset.storage, distributed_by=table.distributed_by)
        engine.execute(statement("tables", "drop", table=identifier(f"{dataset.table}.{name}")))
        engine.create_table(f"{dataset.table}.{name}", table.definition(), storage, comment)


def _noted(dataset: Dataset, engine: Database) -> dict[tuple[str, int], tuple[int, int]]:
    """Table and number of each chunk that is loaded -> its rows and their checksum."""
    rows = engine.query(statement("tpcds", "chunks_loaded", chunks=_notes(dataset)))
    return {(str(row["table_name"]), int(row["chunk"])): (int(row["row_count"]), int(row["checksum"])) for row in rows}


def _finish(names: Collection[str], wanted: Sequence[Chunk], dataset: Dataset, engine: Database) -> None:
    """Keys and mark of a table at once, or neither; several tables at the same time."""
    noted = _noted(dataset, engine)
    totals: dict[str, tuple[int, int]] = dict.fromkeys(names, (0, 0))
    for chunk in wanted:
        rows, checksum = noted[chunk.table, chunk.number]
        totals[chunk.table] = totals[chunk.table][0] + rows, totals[chunk.table][1] + checksum

    def finish(name: str) -> None:
        keys = schema.tables()[name].keys(dataset.table, dataset.storage.layout)
        engine.execute(";\n".join([*keys, Mark(*totals[name], "loaded").statement(dataset, name)]))

    with ThreadPoolExecutor(engine.parallelism()) as workers:
        list(workers.map(finish, totals))


# Hosts.


class _Making:
    """The hosts that make and load, and what is left to do."""

    def __init__(self, scale_factor: float, dataset: Dataset, engine: Database) -> None:
        self.scale_factor, self.dataset, self.engine = scale_factor, dataset, engine
        self.fleet: Fleet = engine.fleet
        self.hosts = etl_files.making_hosts(engine.platform)
        self.sender = etl_files.etl_host(engine)
        self.folder = f"files/{dataset.table}-chunks-{etl_files.name_of(engine)}"
        """Below a work folder; jobs' names begin with it, too."""
        self.failed = Event()
        self.saying = Lock()

    def end_earlier_tries(self) -> None:
        """What they left running must not write into the tables of this one."""
        for host in self.hosts:
            for at, job in ((self.sender, "loading"), (host, "loading"), (host, "serving"), (host, "making")):
                etl_files.end(self.fleet, at, self._job(job, host))

    def _job(self, what: str, host: str) -> str:
        return f"{self.folder}.{what}-{host}"

    def run(self, left: Sequence[Chunk], of: int) -> None:
        """Until nothing is left. One host that fails stops the others when they have loaded what they are making."""
        if not left:
            return
        with self.fleet.alone(self.sender, programs.FOLDER):
            self.programs = programs.put(self.fleet, self.hosts)
        processors = chunk_making.processors(self.fleet, self.hosts)
        queue, self.done, self.of = deque(left), of - len(left), of
        at_once = self.engine.parallelism()
        sessions = {host: max(1, at_once // len(self.hosts)) for host in self.hosts}

        def work(host: str) -> DatasetError | None:
            try:
                maker = self._maker(host)
                path = maker.path
                self.fleet.run_on(host, f"rm -rf {quote(path)}")
                room = int(processors[host] * dsdgen.CHUNK_BYTES * DISK_HEADROOM)
                etl_files.check_space(self.fleet, host, path, room, "give the work folder a larger disk")
                while not self.failed.is_set() and (batch := chunk_making.take(queue, processors[host])):
                    counted = maker.make(batch, self.scale_factor)
                    self._load(host, path, counted, sessions[host])
                    self._tell(batch, host)
                self.fleet.run_on(host, f"rm -rf {quote(path)}")
            except DatasetError as error:
                self.failed.set()
                return error
            except BaseException:
                self.failed.set()
                raise
            return None

        with ThreadPoolExecutor(len(self.hosts)) as workers:
            errors = [error for error in workers.map(work, self.hosts) if error]
        if errors:
            said = "\n  ".join(str(error) for error in errors)
            raise DatasetError(f"{self.dataset.table}: {self.done} of {of} chunks are loaded, and stay; {said}")

    def _maker(self, host: str) -> Maker:
        path = f"{self.fleet.work_dir(host)}/{self.folder}"
        return Maker(self.fleet, host, self._job("making", host), path, self.programs[host])

    def _tell(self, batch: Sequence[Chunk], host: str) -> None:
        of_table = Counter(chunk.table for chunk in batch)
        said = ", ".join(f"{table} ({count})" if count > 1 else table for table, count in of_table.items())
        with self.saying:
            self.done += len(batch)
            print(f"{self.dataset.table}: {self.done} of {self.of} chunks are loaded; {host}: {said}", flush=True)

    def _load(self, host: str, path: str, counted: Mapping[Chunk, Counted], sessions: int) -> None:
        """By as many sessions as are this host's; then the files go."""
        loads = {chunk: self._bulk_load(chunk, host) for chunk in counted}
        servers = next((load for load in loads.values() if load.before), None)
        transactions = [
            (counted[chunk].bytes, self._statements(chunk, loads[chunk], counted[chunk])) for chunk in loads
        ]
        streams = [list(chain.from_iterable(hand)) for hand in dealt(transactions, sessions)]
        work = psql_streams.Streams(streams, before="" if servers else etl_files.link(path))
        sender = self.sender if servers else host
        execute(self.engine, [load.create for load in loads.values()])
        try:
            with etl_files.serving(self.fleet, host, self._job("serving", host), path, servers):
                job = psql_streams.job(work, self.engine.endpoint(pooled=False))
                etl_files.run(self.fleet, sender, self._job("loading", host), job)
        finally:
            execute(self.engine, [load.drop for load in loads.values()])
        self.fleet.run_on(host, f"rm -rf {quote(path)}/*")

    def _bulk_load(self, chunk: Chunk, host: str) -> BulkLoad:
        table = f"{self.dataset.table}.{chunk.table}"
        return self.engine.bulk_load(table, host, [chunk.name], name=f"chunk{chunk.number}_")

    def _statements(self, chunk: Chunk, load: BulkLoad, counted: Counted) -> list[str]:
        """One transaction; the note comes first: of two tries with the same chunk one waits there, and fails."""
        note = statement(
            "tpcds",
            "note_chunk",
            chunks=_notes(self.dataset),
            table_name=chunk.table,
            chunk=chunk.number,
            row_count=counted.rows,
            checksum=raw(str(counted.checksum)),
        )
        return ["BEGIN", note, *(text for stream in load.streams for text in stream), "COMMIT"]
