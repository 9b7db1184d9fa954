"""The history database made again from object storage, beside the one that is read meanwhile.

It is built in a schema of its own, and the two change names when it is whole: readers see the old one or the new one,
and wait for neither. One large transaction would do that, too, but only with one connection, and reading a run takes
much longer than writing it: so several are read at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import psycopg

from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.connections import Connection
from clusterbench.base.errors import HistoryError
from clusterbench.history import load
from clusterbench.history.database import SCHEMA, WRITERS, Database, migrate, opened
from clusterbench.spec.catalog import Catalog

NEW, OLD = f"{SCHEMA}_new", f"{SCHEMA}_old"
REBUILDERS = WRITERS + 1
"""Key of the lock that one rebuild holds."""
AT_ONCE = 4
"""Runs: each of them is in memory while it is loaded."""


def rebuild(
    connection: Connection, store: Store, catalog: Catalog, say: Callable[[str], None] = lambda _: None
) -> load.Counted:
    """Returns what became of all archives: one that cannot be read is told, and the rest is loaded."""
    with opened(connection) as db:
        if db.execute(f"SELECT pg_try_advisory_lock({REBUILDERS})").fetchone() != (True,):
            raise HistoryError("the history database is being rebuilt by somebody else; wait for that one")
        for leftover in (NEW, OLD):
            db.execute(f"DROP SCHEMA IF EXISTS {leftover} CASCADE")
        migrate(connection, NEW)
        with opened(connection, NEW) as new:
            load.load_published(new, catalog)
            counted = _load_all(connection, load.missing(new, store), catalog, say)
            _swap(new, store, catalog, counted)
        _drop_old(db, say)
    return counted


def _load_all(
    connection: Connection, archives: Iterable[RunArchive], catalog: Catalog, say: Callable[[str], None]
) -> load.Counted:
    counted, waiting = load.Counted(), SimpleQueue[RunArchive]()
    for archive in archives:
        waiting.put(archive)

    def work(own: load.Counted) -> None:
        with opened(connection, NEW) as db:
            while not waiting.empty():
                load.load_counted(db, waiting.get(), catalog, own, say)

    parts = [load.Counted() for _ in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as workers:
        list(workers.map(work, parts))
    for part in parts:
        counted.add(part)
    return counted


def _swap(new: Database, store: Store, catalog: Catalog, counted: load.Counted) -> None:
    """No run is loaded into the old one from here on: what came meanwhile is loaded into the new one first."""
    new.execute(f"SELECT pg_advisory_lock({WRITERS})")
    try:
        load.load_what_is_beside(new, store)
        counted.unfinished = 0
        for archive in load.missing(new, store):
            if f"{archive.experiment}/{archive.run_id}" not in counted.problems:
                load.load_counted(new, archive, catalog, counted)
        with new.transaction():
            new.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            new.execute(f"ALTER SCHEMA {SCHEMA} RENAME TO {OLD}")
            new.execute(f"ALTER SCHEMA {NEW} RENAME TO {SCHEMA}")
    finally:
        new.execute(f"SELECT pg_advisory_unlock({WRITERS})")


def _drop_old(db: Database, say: Callable[[str], None]) -> None:
    """Somebody may still read it; then the next rebuild drops it."""
    try:
        with db.transaction():
            db.execute("SET LOCAL lock_timeout = '5s'")
            db.execute(f"DROP SCHEMA {OLD} CASCADE")
    except psycopg.errors.LockNotAvailable:
        say(f"schema {OLD!r} is still read by somebody; the next rebuild removes it")
