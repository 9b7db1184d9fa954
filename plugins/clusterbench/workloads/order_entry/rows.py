"""The rows of Order-Entry's tables, as TPC-C 5.11 populates them (clause 4.3.3.1): each a function of its number and
of the seed, so any slice can be made alone and is the same everywhere. Pure, but for ``checksum``, which asks DuckDB.

Rows are made by units: a district with a tenth of its warehouse's stock. Unit 1 is district 1 of warehouse 1.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache

from clusterbench.base.sql import Value, raw, statement
from clusterbench.workloads.order_entry.schema import ITEM, tables

ITEMS = 100_000
DISTRICTS = 10
"""Units of a warehouse."""
CUSTOMERS, ORDERS, UNDELIVERED = 3000, 3000, 900
"""Of a district."""
PER_UNIT = {
    "district": 1,
    "customer": CUSTOMERS,
    "history": CUSTOMERS,
    "new_order": UNDELIVERED,
    "orders": ORDERS,
    "order_line": ORDERS,
    "stock": ITEMS // DISTRICTS,
}
"""How many numbers a unit has in each table; an order's stands for its lines."""
LINES_OF_ORDER = 10
"""On average: 5 to 15, each as likely."""
UNIT_ROWS = sum(PER_UNIT.values()) + ORDERS * (LINES_OF_ORDER - 1)
"""About how many rows a unit has."""

LAST_NAME_C = 173
"""The constant C of NURand for last names, while loading. For transactions it must differ from this by 65 to 119, and
neither by 96 nor by 112 (clause 2.1.6.1)."""
SYLLABLES = ("BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING")
"""Of last names, a digit each (clause 4.3.2.3)."""
LOADED_AT = "TIMESTAMP '2015-03-12 00:00:00'"
"""Every date of the rows: always the same, so that they are, too."""

CUT_FROM = 32
"""So many constant texts are what a short one is cut from."""


def select(table: str, seed: int, ids: str) -> str:
    """The rows of ``table`` whose numbers ``ids``, an expression for FROM, gives."""
    values: dict[str, Value] = {
        "ids": raw(ids),
        "offset": (seed * 1_000_003 + 17 + 7919 * list(tables()).index(table)) % 2_147_483_647,
        "words": array(_cut(24)),
        "texts": array(_cut(50)),
        "states": array([text.upper() for text in _letters()]),
        "syllables": array(SYLLABLES),
        "pad": _chars(600),
        "c_last": LAST_NAME_C,
        "loaded_at": raw(LOADED_AT),
    }
    if table == "order_line":
        values["orders"] = raw(select("orders", seed, ids))
    return statement("order_entry", f"rows_{table}", **values)


def numbers(table: str, first: int, last: int) -> tuple[int, int]:
    """(first, last) of the numbers that the rows of units ``first`` to ``last`` have; none where first > last."""
    if table == "warehouse":  # it is made with its first district
        return -(-(first - 1) // DISTRICTS) + 1, (last - 1) // DISTRICTS + 1
    each = PER_UNIT[table]
    return (first - 1) * each + 1, last * each


def count(table: str, warehouses: int) -> int:
    """How many numbers all its rows have."""
    return ITEMS if table == ITEM else numbers(table, 1, warehouses * DISTRICTS)[1]


@cache
def version() -> str:
    """Another text here, other rows or tables."""
    made = [select(name, 0, "ids") for name in tables()]
    return hashlib.sha256(f"{made} {tables()}".encode()).hexdigest()[:8]


def checksum(warehouses: int, seed: int) -> str:
    """Of all rows of all tables, by DuckDB, an independent engine, over rows made again."""
    import duckdb  # noqa: PLC0415  slow to import, and not needed on every path

    with duckdb.connect() as database:
        database.execute("SET integer_division = true")
        return str(sum(_sum(database.execute(_hashed(name, warehouses, seed)).fetchone()) for name in tables()))


def _hashed(name: str, warehouses: int, seed: int) -> str:
    made = raw(select(name, seed, f"generate_series(1, {count(name, warehouses)})"))
    return statement("order_entry", "checksum_duckdb", row_hash=tables()[name].row_hash("row_hash_duckdb"), rows=made)


def _sum(row: Sequence[object] | None) -> int:
    return int(str(row[0])) if row else 0


@cache
def _chars(length: int) -> str:
    """Letters and digits, always the same."""
    digests = b"".join(hashlib.sha512(str(number).encode()).digest() for number in range(length // 64 + 1))
    return base64.b64encode(digests, b"xY").decode()[:length]


def _cut(width: int) -> list[str]:
    text = _chars(CUT_FROM * width)
    return [text[first : first + width] for first in range(0, len(text), width)]


def _letters() -> list[str]:
    return [chr(ord("a") + number % 26) + chr(ord("a") + number * 7 % 26) for number in range(CUT_FROM)]


def array(values: Sequence[str]) -> Value:
    return raw(f"ARRAY[{', '.join(map(repr, values))}]")
