"""The dataset ``order_entry``: nine tables in a schema of their own; statements find them by ``search_path``.

Trials change it. So the comments of its tables note whether a trial has begun since they were made (``marks``), and
used data is made again if it must be as it was. A try that was interrupted continues with the missing slices.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from clusterbench.base.datasets import Dataset
from clusterbench.base.errors import DatasetError
from clusterbench.base.sql import Value, identifier, raw, statement
from clusterbench.workloads import generation
from clusterbench.workloads.order_entry import inspection, marks, rows, schema
from clusterbench.workloads.order_entry.schema import ITEM

if TYPE_CHECKING:
    from clusterbench.engines import Database

BYTES_PER_WAREHOUSE = 118_750_000
BYTES_LEAST = 20_000_000
"""Tables and indexes. The paper: 3.8 TB for 32,000 warehouses; measured on PostgreSQL 15: 113.2 MB each, and the items
13 MB."""
CHECKED_BY_DUCKDB_WAREHOUSES_MAX = 20
"""Up to here DuckDB makes the rows again on the worker; above, earlier runs know the checksum."""
SLICES_PER_STATEMENT = 4
"""A slice is so much smaller than the most rows of one statement: all connections have some to do at small sizes, too.
It does not depend on how many connections there are, which may be others at the next try: slices that overlap would be
loaded twice."""


def dataset_of(warehouses: int, seed: int) -> Dataset:
    """``rows`` is about how many: orders have 5 to 15 lines."""
    return Dataset(
        "order_entry",
        f"order_entry_w{warehouses}",
        rows.ITEMS + warehouses * rows.DISTRICTS * rows.UNIT_ROWS,
        seed,
        BYTES_LEAST + warehouses * BYTES_PER_WAREHOUSE,
        schema.tables()["warehouse"].storage(),
        version=rows.version(),
    )


def warehouses_of(dataset: Dataset) -> int:
    found = re.fullmatch(r"order_entry_w(\d+)", dataset.table)
    if not found:
        raise DatasetError(f"{dataset.table!r} is not a schema of Order-Entry; their names are like order_entry_w10")
    return int(found[1])


def relations(dataset: Dataset) -> list[str]:
    """The tables and their indexes, as ``schema.name``."""
    indexes = [name for table in schema.tables().values() for name in table.index_names(dataset.table)]
    return [f"{dataset.table}.{name}" for name in schema.tables()] + indexes


def checksum(dataset: Dataset) -> str | None:
    """By DuckDB over rows made again, or None where that would take too long."""
    warehouses = warehouses_of(dataset)
    return rows.checksum(warehouses, dataset.seed) if warehouses <= CHECKED_BY_DUCKDB_WAREHOUSES_MAX else None


def inspect(dataset: Dataset, engine: Database) -> dict[str, object]:
    return inspection.inspect(dataset, warehouses_of(dataset), engine)


# Making it.


def is_generated(dataset: Dataset, engine: Database) -> bool:
    """All there, and untouched by trials."""
    found = marks.read(dataset, engine)
    return all(found.get(name) == "complete" for name in schema.tables())


def generate(dataset: Dataset, engine: Database) -> None:
    """Rows, keys, statistics; what is there already stays, unless a trial has used it."""
    _make(dataset, [ITEM], [(1, rows.ITEMS)], engine)
    units = warehouses_of(dataset) * rows.DISTRICTS
    at_most = max(1, engine.slice_rows_max // SLICES_PER_STATEMENT // rows.UNIT_ROWS)
    _make(dataset, [table.name for table in schema.changing()], generation.slices(units, 1, at_most), engine)


def _make(dataset: Dataset, names: Collection[str], slices: Sequence[tuple[int, int]], engine: Database) -> None:
    """These tables, whose rows are loaded together: each step only where no try, or another worker, has done it."""
    if _are(dataset, names, {"complete"}, engine):
        return
    if not _are(dataset, names, {"begun", "keyed", "complete"}, engine):
        _make_empty(dataset, names, engine)
    if not _are(dataset, names, {"keyed", "complete"}, engine):
        loaded = engine.load_slices(
            _slices_of(dataset, names), dataset.seed, slices, lambda a, b: _insert(dataset, names, a, b, engine)
        )
        what = "items" if ITEM in names else "districts"
        generation.tell(dataset.table, slices[-1][1], loaded, what)
        with ThreadPoolExecutor(engine.parallelism()) as workers:
            list(workers.map(lambda name: _make_keys(dataset, name, engine), _by_size(names)))
    engine.settle(*(f"{dataset.table}.{name}" for name in _by_size(names)))
    if _are(dataset, names, {"keyed", "complete"}, engine):  # another worker may have completed some
        engine.execute(";\n".join(marks.statement(dataset, name, "complete") for name in names))


def _are(dataset: Dataset, names: Collection[str], states: Collection[str], engine: Database) -> bool:
    found = marks.read(dataset, engine)
    return all(found.get(name) in states for name in names)


def _make_empty(dataset: Dataset, names: Collection[str], engine: Database) -> None:
    generation.drop_tables([f"{dataset.table}.{name}" for name in names], _slices_of(dataset, names), engine)
    for name in names:
        table = schema.tables()[name]
        created = marks.comment(dataset, "created")
        engine.create_table(f"{dataset.table}.{name}", table.definition(), table.storage(), created)
    ready = [
        text
        for name in names
        for text in (schema.tables()[name].leave_room(dataset.table), marks.statement(dataset, name, "begun"))
    ]
    engine.execute(";\n".join(ready))


def _slices_of(dataset: Dataset, names: Collection[str]) -> str:
    """What the notes of loaded slices call these tables."""
    return f"{dataset.table}.{ITEM}" if ITEM in names else dataset.table


def _insert(dataset: Dataset, names: Collection[str], first: int, last: int, engine: Database) -> str:
    """Statements that insert the rows of a slice into all tables."""
    texts = []
    for name in names:
        begin, end = (first, last) if name == ITEM else rows.numbers(name, first, last)
        if begin <= end:
            made = raw(rows.select(name, dataset.seed, engine.series(begin, end)))
            texts.append(statement("tables", "insert", table=_table(dataset, name), rows=made))
    return ";\n".join(texts)


def _make_keys(dataset: Dataset, name: str, engine: Database) -> None:
    """Keys and mark at once, or neither; not where another worker is farther."""
    if marks.read(dataset, engine).get(name) == "begun":
        keys = schema.tables()[name].make_keys(dataset.table)
        engine.execute(";\n".join([*keys, marks.statement(dataset, name, "keyed")]))


def _by_size(names: Collection[str]) -> list[str]:
    """The largest first, so that none of them is begun last and alone."""
    return sorted(names, key=lambda name: -rows.count(name, 1) * (rows.LINES_OF_ORDER if name == "order_line" else 1))


def _table(dataset: Dataset, name: str) -> Value:
    return identifier(f"{dataset.table}.{name}")


# Using it.


def make_ready(dataset: Dataset, engine: Database, growth_percent_max: float) -> dict[str, object]:
    """Before a trial: the data is marked as used, and made again first where earlier trials let it grow too far.

    ``growth_percent_max``: of the orders, since the data was made; 0: any use at all is too much. Asks the districts
    only, which know the number of their next order.
    """
    changing = [table.name for table in schema.changing()]
    is_whole = _are(dataset, schema.tables(), {"complete", "used"}, engine)
    is_fresh = is_generated(dataset, engine)
    grown = _grown_percent(dataset, engine) if is_whole else 0.0
    anew = not is_whole or grown > growth_percent_max or (growth_percent_max == 0 and not is_fresh)
    if anew:
        if is_fresh:  # changed by nobody's trial
            marks.write(dataset, changing, "used", engine)
        generate(dataset, engine)
    if anew or is_fresh:
        marks.write(dataset, changing, "used", engine)
    return {"orders_grown_percent": grown, "made_anew": anew}


def tidy(dataset: Dataset, engine: Database, *, autovacuum: bool) -> None:
    """Before a trial: without autovacuum, what earlier trials left is cleared up here, and nothing does it beside one.

    Both ways end with a checkpoint, so that trials begin alike.
    """
    changing = schema.changing()
    engine.execute(";\n".join(table.set_autovacuum(dataset.table, is_on=autovacuum) for table in changing))
    engine.settle(*(() if autovacuum else (f"{dataset.table}.{table.name}" for table in changing)))


def _grown_percent(dataset: Dataset, engine: Database) -> float:
    found = engine.query(statement("order_entry", "orders_entered", district=_table(dataset, "district")))[0]
    entered, loaded = int(found["entered"] or 0), int(found["districts"]) * rows.ORDERS
    return (entered - loaded) * 100 / loaded if loaded else 0.0
