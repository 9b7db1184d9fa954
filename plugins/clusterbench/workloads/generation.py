"""A dataset is made in the database by slices; what was made stays, and a retry continues where the last try ended.

The table's comment says what is in it, so nothing is kept elsewhere that could say otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from clusterbench.base.datasets import Dataset
from clusterbench.base.sql import identifier, quoted, statement
from clusterbench.workloads import tables

if TYPE_CHECKING:
    from clusterbench.engines import Database


PROGRESS_EVERY_S = 60
SLICES, SLICE_ROWS_LEAST = 64, 10_000
"""A table is cut into so many slices, but for very small and very large ones. It does not depend on how many
connections there are, which may be others at the next try: slices that overlap would be loaded twice."""


def is_generated(dataset: Dataset, engine: Database) -> bool:
    return _comment(dataset.table, engine) == _mark(dataset)


def generate(
    dataset: Dataset,
    engine: Database,
    columns: str,
    insert: Callable[[str], str],
    finish: Callable[[], None] = lambda: None,
) -> None:
    """Rows by parallel inserts inside the database, then ``finish``, such as an index. A finished table stays.

    ``columns``: what stands between the parentheses of CREATE TABLE. ``insert``: from an expression for FROM that gives
    numbers to the statement that inserts their rows (``Database.series``).
    """
    if is_generated(dataset, engine):
        return
    if _comment(dataset.table, engine) != _started(dataset, engine):
        make_empty(dataset, engine, columns)
    parts = slices(dataset.rows, _parts(dataset), engine.slice_rows_max)
    loaded = engine.load_slices(dataset.table, dataset.seed, parts, lambda a, b: insert(engine.series(a, b)))
    tell(dataset.table, dataset.rows, loaded, "rows")
    finish()
    engine.settle(dataset.table, columns=dataset.storage.analysed)
    engine.execute(tables.mark(dataset.table, _mark(dataset)))


def tell(table: str, of: int, loaded_slices: Iterable[int], what: str) -> None:
    """Progress for the task's log: at every tenth, and every minute of what may take days.

    ``of``: how many ``what`` all slices have; each slice says how many it had.
    """
    loaded, tenths, said_at = 0, 0, time.monotonic()
    for count in loaded_slices:
        loaded += count
        if loaded * 10 // of > tenths or time.monotonic() - said_at > PROGRESS_EVERY_S:
            tenths, said_at = loaded * 10 // of, time.monotonic()
            print(f"{table}: {loaded:,} of {of:,} {what} ({loaded * 100 // of} %)", flush=True)


def make_empty(dataset: Dataset, engine: Database, columns: str) -> None:
    """The table without rows, whatever was there of clusterbench's. Raises DatasetError if it is somebody else's."""
    drop(dataset, engine)
    engine.create_table(dataset.table, columns, dataset.storage, _started(dataset, engine))


def drop(dataset: Dataset, engine: Database) -> None:
    """Raises DatasetError if it is somebody else's."""
    _comment(dataset.table, engine)
    drop_tables([dataset.table], dataset.table, engine)


def drop_tables(names: Iterable[str], slices_of: str, engine: Database) -> None:
    """Tables first, then the notes of their slices, which are called ``slices_of``.

    A worker that still loads has nowhere to then, and cannot note a slice that is gone.
    """
    engine.execute(";\n".join(statement("tables", "drop", table=identifier(name)) for name in names))
    engine.forget_slices(slices_of)


def slices(rows: int, parts: int, slice_rows_max: int) -> list[tuple[int, int]]:
    """(first, last) of parts that together are 1 to ``rows``: so many, or more where they would be too large."""
    size = min(slice_rows_max, max(1, -(-rows // parts)))
    return [(first, min(first + size - 1, rows)) for first in range(1, rows + 1, size)]


def _mark(dataset: Dataset) -> str:
    return f"{tables.rows_of(dataset)}, complete"


def _started(dataset: Dataset, engine: Database) -> str:
    """With the size of its slices: one that was begun with others is made again."""
    (first, last), *_ = slices(dataset.rows, _parts(dataset), engine.slice_rows_max)
    return _mark(dataset).replace("complete", f"begun in slices of {last - first + 1}")


def _parts(dataset: Dataset) -> int:
    return max(1, min(SLICES, dataset.rows // SLICE_ROWS_LEAST))


def _comment(table: str, engine: Database) -> str:
    found = engine.query(statement("tables", "comment", relation=quoted(table)))[0]
    return tables.ours(table, found["mark"]) if found["is_there"] else ""
