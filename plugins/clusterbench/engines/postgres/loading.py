"""Rows into tables: made in slices, or loaded from files; and what is due after that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

import psycopg
from psycopg import sql

from clusterbench.base.sql import quoted
from clusterbench.engines import BulkLoad
from clusterbench.engines.postgres.server import Server
from clusterbench.engines.postgres.tables import leaves

LOAD_FORMAT = "FORMAT text, DELIMITER '|', NULL ''"
"""Of load files; Greenplum's external tables have the same words in another order."""

SLICES = (
    "CREATE TABLE IF NOT EXISTS clusterbench_slices "
    "(table_name text, seed bigint, first bigint, last bigint, PRIMARY KEY (table_name, seed, first, last))"
)


def load_slices(
    server: Server,
    table: str,
    seed: int,
    slices: Sequence[tuple[int, int]],
    insert: Callable[[int, int], str],
    *,
    at_once: int,
) -> Iterator[int]:
    """A slice and the note that it is loaded are one transaction, so a retry continues where the last try ended.

    The note goes in first: a second worker on the same slice waits there, and then skips it.
    """
    server.execute(SLICES)
    note = sql.SQL("INSERT INTO clusterbench_slices VALUES ({}, {}, {}, {})")

    def load(first: int, last: int) -> int:
        with server.connect() as session:
            try:
                with session.transaction():
                    session.execute(note.format(table, seed, first, last))
                    session.execute(insert(first, last).encode())
            except psycopg.errors.UniqueViolation:
                pass  # loaded by an earlier try
        return last - first + 1

    with ThreadPoolExecutor(at_once) as workers:
        loading = [workers.submit(load, first, last) for first, last in slices]
        for done in as_completed(loading):
            yield done.result()


def forget_slices(server: Server, table: str) -> None:
    """Before a table is made again."""
    if server.query("SELECT to_regclass('clusterbench_slices') AS found")[0]["found"]:
        server.execute(sql.SQL("DELETE FROM clusterbench_slices WHERE table_name = {}").format(table).as_string(None))


def bulk_load(table: str, files: Sequence[str]) -> BulkLoad:
    """One COPY for each file, all at once; psql reads the file where it runs."""
    return BulkLoad([[f"\\copy {quoted(table)} FROM 'files/{file}' WITH ({LOAD_FORMAT})"] for file in files])


def settle(server: Server, tables: Sequence[str], columns: Sequence[str], *, at_once: int) -> None:
    """Tables and partitions at the same time; then a checkpoint, so that none begins beside a trial."""
    named = f" ({', '.join(map(quoted, columns))})" if columns else ""
    vacuum = [f"VACUUM (FREEZE) {quoted(leaf)}" for leaf in leaves(server, tables)]
    analyse = [f"ANALYZE {quoted(table)}{named}" for table in tables]
    with ThreadPoolExecutor(at_once) as workers:
        list(workers.map(server.execute, vacuum))
        list(workers.map(server.execute, analyse))
    server.execute("CHECKPOINT")
