"""The dataset ``order_lineitems``: five years of retail orders, one row a line item (paper 000, "Test and Measurement
Tools").

Row ``id`` of 1 to N is a function of ``id``, N and the seed, so any slice can be made alone and is the same everywhere.
What follows from that function without looking at a row is here: orders, rows of every partition. Pure, but for
``generate`` and ``inspect``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from clusterbench.base.datasets import BY_STORAGE, Dataset, Partition, Shares, row_skew_max, stored_as, stored_bytes
from clusterbench.base.factors import Factor
from clusterbench.base.sql import Value, identifier, raw, statement
from clusterbench.engines.skew import skew
from clusterbench.workloads import generation

if TYPE_CHECKING:
    from clusterbench.engines import Database

FIRST_DAY, LAST_YEAR, END = date(2006, 1, 1), date(2010, 1, 1), date(2011, 1, 1)
SECONDS = (END - FIRST_DAY).days * 86400

ROW_BYTES = 700
"""On disk. The paper: 6 TB of 8.4 billion rows; measured on PostgreSQL 15, see ``columns.sql``."""
SHARES: Shares = {
    "none": (0.85, 0.92),
    "zlib_1": (0.13, 0.26),
    "zlib_5": (0.11, 0.24),
    "zlib_9": (0.11, 0.23),
    "zstd_1": (0.11, 0.23),
    "zstd_5": (0.11, 0.22),
    "zstd_9": (0.10, 0.22),
}
"""Measured on Greenplum 6.24.3: bytes a row of 200,000 without partitions, by ``ROW_BYTES``. Partitions of few rows
take more: 101 of them took 102 MB with hardly a row in each."""
FILE_LINE_BYTES = 435
"""The paper: 1 TB of 2.3 billion rows; measured at that scale."""

PAPER_ROWS_MIN = 1_000_000_000
"""From here on estimates take a cluster like the paper's for granted; below, the lab."""

LINES_OF_ORDERS = (1, 4, 2, 1, 3, 2, 6, 1, 2, 5, 1, 3, 2, 1, 4, 2, 3, 1, 5, 1)
"""Lines of the orders of a block; blocks repeat, so that a row knows its order without looking at others."""
ORDERS_PER_BLOCK, LINES_PER_BLOCK = len(LINES_OF_ORDERS), sum(LINES_OF_ORDERS)
ORDERS_PER_CUSTOMER = 10
PRODUCTS = 10_000
CATEGORIES = (
    ("Books", "Novel"),
    ("Computers", "Laptop"),
    ("Phones", "Phone"),
    ("Garden", "Rake"),
    ("Toys", "Puzzle"),
    ("Cameras", "Camera"),
    ("Clothing", "Jacket"),
    ("Shoes", "Sneaker"),
    ("Sports", "Racket"),
    ("Furniture", "Chair"),
    ("Jewelry", "Bracelet"),
    ("Kitchen", "Blender"),
    ("Music", "Album"),
    ("Movies", "Film"),
    ("Audio", "Speaker"),
    ("Groceries", "Coffee"),
    ("Beauty", "Lotion"),
    ("Health", "Vitamins"),
    ("Baby", "Stroller"),
    ("Pets", "Leash"),
    ("Televisions", "Television"),
    ("Automotive", "Car Mat"),
    ("Tools", "Drill"),
    ("Office", "Stapler"),
)
"""Name, and the noun of its products. The five products that the paper's FullScanSQL asks for fall into five
categories of electronics: it reports "electronic orders"."""

CHECKED_BY_DUCKDB_ROWS_MAX = 10_000_000
"""Up to here DuckDB makes the rows again (some 2 s a million); above, earlier runs know the checksum."""


ROWS = Factor(
    5_000_000,
    "The rows of the table.",
    minimum=2000,
    maximum=9_999_999_999,
    wording="{} rows",
    is_dataset=True,
    is_size=True,
)


@cache
def partitions() -> tuple[Partition, ...]:
    """Monthly for the first four years, weekly for the last, as the paper's table; the last week has one day."""
    months = [date(year, month, 1) for year in range(FIRST_DAY.year, LAST_YEAR.year) for month in range(1, 13)]
    weeks = [LAST_YEAR + timedelta(days=day) for day in range(0, (END - LAST_YEAR).days, 7)]
    monthly = [Partition(f"m{start:%Y_%m}", start, end) for start, end in pairwise([*months, LAST_YEAR])]
    weekly = [Partition(f"w{start:%Y_%m_%d}", start, end) for start, end in pairwise([*weeks, END])]
    return (*monthly, *weekly)


def files_of(parts: int, layout: str) -> int:
    """Files of so many partitions on one instance: one each, or one for each of their columns."""
    columns = statement("order_lineitems", "columns").replace("numeric(10, 2)", "numeric").count(",") + 1
    return parts * (columns if layout == "append_column" else 1)


def partitions_of_last_year() -> list[Partition]:
    return [part for part in partitions() if part.start >= LAST_YEAR]


def dataset_of(
    rows: int, seed: int, *, layout: str = "heap", compression: str = BY_STORAGE, table: str = "order_lineitems"
) -> Dataset:
    """So many rows of the five years, however many there are."""
    storage = replace(
        stored_as("order_id", layout, compression),
        partitioned_by="order_datetime",
        partitions=partitions(),
        analysed=("order_datetime", "customer_id", "product_id", "product_category_id"),
    )
    return Dataset(
        "order_lineitems",
        f"{table}_{rows}{storage.suffix}",
        rows,
        seed,
        stored_bytes(rows * ROW_BYTES, storage, SHARES),
        storage,
        version=_version(),
    )


@cache
def _version() -> str:
    text = statement("order_lineitems", "columns") + select(1, 0, "ids")
    return hashlib.sha256(text.encode()).hexdigest()[:8]


# What follows from the number of rows alone.


def orders_of(rows: int) -> int:
    """How many orders ``rows`` lines belong to; the last one may be cut short."""
    blocks, rest = divmod(rows, LINES_PER_BLOCK)
    begun = sum(1 for before in accumulate(LINES_OF_ORDERS, initial=0) if before < rest)
    return blocks * ORDERS_PER_BLOCK + begun


def lines_before(order: int, rows: int) -> int:
    """Lines of all orders before number ``order``, counted from 0."""
    blocks, rest = divmod(order, ORDERS_PER_BLOCK)
    return min(rows, blocks * LINES_PER_BLOCK + sum(LINES_OF_ORDERS[:rest]))


def rows_before(moment: date, rows: int) -> int:
    """Rows that were ordered before ``moment``: orders come evenly over the years, in the order of their numbers."""
    orders = orders_of(rows)
    seconds = (moment - FIRST_DAY).days * 86400
    return lines_before(min(orders, -(-seconds * orders // SECONDS)), rows)


def rows_of(part: Partition, rows: int) -> int:
    return rows_before(part.end, rows) - rows_before(part.start, rows)


def customers_of(rows: int) -> int:
    return max(1, orders_of(rows) // ORDERS_PER_CUSTOMER)


# Statements.


def select(rows: int, seed: int, ids: str) -> str:
    """The rows of a table of ``rows`` whose numbers ``ids``, an expression for FROM, gives."""
    order_in_block = [order for order, lines in enumerate(LINES_OF_ORDERS) for _ in range(lines)]
    line_in_order = [line for lines in LINES_OF_ORDERS for line in range(1, lines + 1)]
    return statement(
        "order_lineitems",
        "rows",
        ids=raw(ids),
        seconds=SECONDS,
        orders=orders_of(rows),
        customers=customers_of(rows),
        products=PRODUCTS,
        order_offset=(seed * 1_000_003 + 17) % 2_147_483_647,
        line_offset=(seed * 998_244_353 + 29) % 2_147_483_647,
        lines_per_block=LINES_PER_BLOCK,
        orders_per_block=ORDERS_PER_BLOCK,
        order_in_block=_array(order_in_block),
        line_in_order=_array(line_in_order),
        **_categories(),
    )


def insert(dataset: Dataset, ids: str) -> str:
    rows = raw(select(dataset.rows, dataset.seed, ids))
    return statement("tables", "insert", table=identifier(dataset.table), rows=rows)


def checksum_query(table: str) -> str:
    """Rows and checksum of a table, on the engine that holds it."""
    return statement("order_lineitems", "checksum", row_hash=_row_hash("row_hash"), rows=identifier(table))


def duckdb_rows(dataset: Dataset) -> str:
    """The whole dataset, for DuckDB, as an expression for FROM."""
    return f"({select(dataset.rows, dataset.seed, f'generate_series(1, {dataset.rows})')}) AS order_lineitems"


def duckdb(query: str, *, as_text: bool = False) -> list[tuple[Any, ...]]:
    """Rows of ``query``, by the independent engine. It is taught PostgreSQL's words where it has others.

    ``as_text``: every value as PostgreSQL prints it.
    """
    import duckdb as engine  # noqa: PLC0415  slow to import, and not needed on every path

    with engine.connect() as database:
        database.execute("SET integer_division = true")
        database.execute("CREATE MACRO to_char(moment, form) AS strftime(moment, '%Y/%m')")
        database.execute("CREATE MACRO round(number, digits) AS CAST(number AS DECIMAL(38, 2))")  # it has floats only
        if as_text:
            query = statement("order_lineitems", "as_text_duckdb", query=raw(query))
        return list(database.execute(query).fetchall())


def expected_checksum(dataset: Dataset) -> str | None:
    """By DuckDB over the same rows, or None where that would take too long."""
    if dataset.rows > CHECKED_BY_DUCKDB_ROWS_MAX:
        return None
    hashed = _row_hash("row_hash_duckdb")
    query = statement("order_lineitems", "checksum", row_hash=hashed, rows=raw(duckdb_rows(dataset)))
    return str(int(duckdb(query)[0][1]))


def _row_hash(name: str) -> Value:
    return raw(statement("tables", name, row_text=raw(statement("order_lineitems", "row_text"))))


def _categories() -> dict[str, Value]:
    names, nouns = zip(*CATEGORIES, strict=True)
    return {"category_names": _array(names), "category_nouns": _array(nouns)}


def _array(values: Sequence[int | str]) -> Value:
    words = [str(value) if isinstance(value, int) else f"'{value}'" for value in values]
    return raw(f"ARRAY[{', '.join(words)}]")


# The table.


def generate(dataset: Dataset, engine: Database) -> None:
    generation.generate(dataset, engine, statement("order_lineitems", "columns"), lambda ids: insert(dataset, ids))


def inspect(dataset: Dataset, engine: Database) -> dict[str, object]:
    """Facts for the suites ``order_lineitems`` and, one row a partition, ``order_lineitems_partitions``. Two scans."""
    table = identifier(dataset.table)
    limits: dict[str, Value] = {
        "orders": orders_of(dataset.rows),
        "customers": customers_of(dataset.rows),
        "products": PRODUCTS,
        "lines_max": max(LINES_OF_ORDERS),
    }
    hashed = _row_hash("row_hash")
    segment = raw(engine.segment_of_row)
    seen = engine.query(
        statement(
            "order_lineitems", "inspect", table=table, row_hash=hashed, segment=segment, **_categories(), **limits
        )
    )
    by_order = engine.query(statement("order_lineitems", "orders", table=table))[0]
    counted = ("row_count", "wrong_products", "wrong_customers", "wrong_lines", "out_of_range", "wrong_nulls")
    facts: dict[str, Any] = {name: sum(int(row[name]) for row in seen) for name in counted}
    parts = partition_rows(dataset, seen)
    of_last_year = sum(row["row_count"] for row in parts if str(row["partition"]).startswith("w"))
    return {
        "table": dataset.table,
        "rows_expected": dataset.rows,
        **facts,
        "share_of_2010": of_last_year / max(1, facts["row_count"]),
        **{name: int(value or 0) for name, value in by_order.items()},
        "row_skew": skew(list(_rows_by_segment(seen).values()) or [0], engine.segments()),
        "row_skew_max": row_skew_max(orders_of(dataset.rows)),
        "indexes": ", ".join(engine.indexes(dataset.table)) or "none",
        "checksum": str(sum(int(row["checksum"]) for row in seen)),
        "partitions": parts,
    }


def _rows_by_segment(seen: Sequence[Mapping[str, Any]]) -> Counter[int]:
    counted: Counter[int] = Counter()
    for row in seen:
        counted[int(row["segment"])] += int(row["row_count"])
    return counted


def partition_rows(dataset: Dataset, seen: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What is in every partition beside what belongs there; one that is not there has no rows.

    ``seen``: rows of ``inspect.sql``, one a partition and segment.
    """
    by_leaf: dict[str, list[Mapping[str, Any]]] = {}
    for row in seen:
        by_leaf.setdefault(str(row["leaf"]).rsplit(".", 1)[-1].strip('"'), []).append(row)
    rows = []
    for part in dataset.storage.partitions:
        here = by_leaf.get(part.table(dataset.table), [])
        rows.append(
            {
                "partition": part.name,
                "row_count": sum(int(row["row_count"]) for row in here),
                "rows_expected": rows_of(part, dataset.rows),
                "begins": _begins(min((row["first_ordered"] for row in here), default=None), part),
                "ends": _ends(max((row["last_ordered"] for row in here), default=None), part),
            }
        )
    return rows


def _begins(first: datetime | None, part: Partition) -> str:
    return "in range" if first is None or first.date() >= part.start else f"{part.name}: too early, {first}"


def _ends(last: datetime | None, part: Partition) -> str:
    return "in range" if last is None or last.date() < part.end else f"{part.name}: too late, {last}"
