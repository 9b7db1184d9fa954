"""The consistency conditions of TPC-C 5.11, clause 3.3.2: one statement that looks at warehouses, and what it says.

Pure: the statement runs wherever SQL does.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from clusterbench.base.sql import Value, identifier, raw
from clusterbench.base.sql import statement as sql_of
from clusterbench.workloads.order_entry.rows import ORDERS, UNDELIVERED
from clusterbench.workloads.order_entry.schema import tables

CONDITIONS: Mapping[int, str] = {
    1: "W_YTD = sum(D_YTD)",
    2: "D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)",
    3: "max(NO_O_ID) - min(NO_O_ID) + 1 = rows of NEW-ORDER in the district",
    4: "sum(O_OL_CNT) = rows of ORDER-LINE in the district",
    5: "O_CARRIER_ID is null where, and only where, NEW-ORDER has the order",
    6: "O_OL_CNT = rows of ORDER-LINE of the order",
    7: "OL_DELIVERY_D is null where, and only where, O_CARRIER_ID is",
    8: "W_YTD = sum(H_AMOUNT)",
    9: "D_YTD = sum(H_AMOUNT)",
    10: "C_BALANCE = sum(OL_AMOUNT) of what was delivered - sum(H_AMOUNT)",
    11: "rows of ORDER - rows of NEW-ORDER = 2100",
    12: "C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT) of what was delivered",
}
FRESH_ONLY = 11
"""Holds only until the first transaction."""
CLAUSE = "TPC-C 5.11, clause 3.3.2"


def sample(warehouses: int, count: int, seed: int, repetition: int) -> list[int]:
    """Which of 1 to ``warehouses`` are looked at: other ones at each repetition, the same in each run."""
    chosen = random.Random(f"{seed} {repetition}")  # noqa: S311  no secret
    return sorted(chosen.sample(range(1, warehouses + 1), min(count, warehouses)))


def statement(schema: str, warehouses: Sequence[int], *, fresh: bool = False) -> str:
    """One row a condition: ``condition``, ``violations``, ``example``. ``fresh``: also what only fresh data fulfils.

    Every large table is read once, as far as it is of ``warehouses``; history, which has no index, as a whole.
    """
    names: dict[str, Value] = {name: identifier(f"{schema}.{name}") for name in tables()}
    last = sql_of("order_entry", "condition_fresh", delivered=ORDERS - UNDELIVERED) if fresh else ""
    return sql_of("order_entry", "conditions", chosen=_among(warehouses), fresh=raw(last), **names).strip()


def violations(rows: Sequence[Mapping[str, Any]]) -> int:
    return sum(int(row["violations"]) for row in rows)


def problem(rows: Sequence[Mapping[str, Any]], *, fresh: bool = False) -> str | None:
    """What does not hold, in words, each condition with an example; or None."""
    seen = {int(row["condition"]): row for row in rows}
    expected = [number for number in CONDITIONS if fresh or number != FRESH_ONLY]
    if missing := [str(number) for number in expected if number not in seen]:
        return f"{CLAUSE}: nobody knows whether these conditions hold: {', '.join(missing)}; the check did not end"
    broken = [_words(seen[number]) for number in expected if int(seen[number]["violations"])]
    return f"{CLAUSE}: {'; '.join(broken)}" if broken else None


def _words(row: Mapping[str, Any]) -> str:
    number, count = int(row["condition"]), int(row["violations"])
    times = "once" if count == 1 else f"{count:,} times"
    return f"condition {number} ({CONDITIONS[number]}) is violated {times}: {row['example']}"


def _among(warehouses: Sequence[int]) -> Value:
    """A range where they are one: a planner knows better what that costs, and a list of thousands is slow."""
    first, last = min(warehouses), max(warehouses)
    if last - first + 1 == len(set(warehouses)):
        return raw(f"BETWEEN {first} AND {last}")
    return raw(f"IN ({', '.join(map(str, warehouses))})")
