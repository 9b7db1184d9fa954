"""The five transactions in TPC-C's mix (5.11, clause 5.2.3), and pgbench's scripts of them. Pure.

What a transaction is given is drawn by pgbench, on the client host; the rest is one call of a function, so one round
trip: the paper counts 71,000 packets a second each way for 66,500 transactions a second. A script draws the home
warehouse over all warehouses, and not one per client as a terminal of TPC-C has it: few clients would else use a few
warehouses only, which lie in memory, and the paper warns of results from a cached database.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from zlib import crc32

from clusterbench.base.paths import own_or_built_in

TRANSACTIONS = ("new_order", "payment", "order_status", "delivery", "stock_level")
ROLLED_BACK = "rolled_back"
"""New-Orders whose last item does not exist, one in a hundred (clause 2.4.1.4). The client says ROLLBACK, so these take
three round trips. A script of their own, for the log to tell them."""
WEIGHTS: Mapping[str, int] = {
    "new_order": 4455,
    ROLLED_BACK: 45,
    "payment": 4300,
    "order_status": 400,
    "delivery": 400,
    "stock_level": 400,
}
"""In 10,000ths, in the order in which the log counts the scripts."""
NUMBER: Mapping[str, int] = {name: number for number, name in enumerate(WEIGHTS)}
"""Script -> what the log calls it."""

TITLES: Mapping[str, str] = {
    "new_order": "New-Order",
    "payment": "Payment",
    "order_status": "Order-Status",
    "delivery": "Delivery",
    "stock_level": "Stock-Level",
}
MAX_TRIES = 1000
"""Of a transaction that meets serialisation failures: one that needs more is an error."""
C: Mapping[str, int] = {"c_name": 88, "c_customer": 259, "c_item": 7911}
"""The constants C of NURand (clause 2.1.6); that of last names differs from the data's by 85, as 2.1.6.1 wants it."""


def scripts() -> dict[str, str]:
    """Name -> text, in the order of the log's numbers. A rolled back New-Order draws and calls as another."""
    files = {name: own_or_built_in(f"include/sql/order_entry/pgbench/{name}.sql") for name in WEIGHTS}
    texts = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    drawn, select, call = texts["new_order"].partition("SELECT ")
    parts = {"drawn": drawn.strip(), "call": (select + call).strip()}
    return texts | {ROLLED_BACK: Template(texts[ROLLED_BACK]).substitute(parts)}


def variables(warehouses: int) -> dict[str, int]:
    """What the scripts take as given."""
    return {"warehouses": warehouses, **C}


def random_seed(seed: int, trial: str, clients: int, rate_per_s: float) -> int:
    """For pgbench: what decides the numbers that the clients draw.

    The same on every platform and in every run, but another for each trial (repetitions are trials) and for each load
    that a search for a utilisation tries: these follow one another on the same data, and the same numbers once more
    would find all of their rows in the caches.
    """
    return seed + crc32(f"{trial}:{clients}:{rate_per_s:g}".encode())
