"""Facts about the rows for the suites ``order_entry`` and, one row a table, ``order_entry_tables``.

Two scans of each large table, in parts of so many warehouses, several at once: rows by themselves, and the conditions
that tie tables together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any

from clusterbench.base.datasets import Dataset, row_skew_max
from clusterbench.base.sql import Value, filled, identifier, raw, statement
from clusterbench.engines.skew import skew
from clusterbench.workloads import generation, tables
from clusterbench.workloads.order_entry import consistency, marks, rows, schema
from clusterbench.workloads.order_entry.schema import Table

if TYPE_CHECKING:
    from clusterbench.engines import Database

PART_WAREHOUSES = 200
"""Of one statement at most: 25 GB, and sums for 6 M customers and their orders."""
Seen = list[dict[str, Any]]
Parts = list[tuple[int, int]]


def inspect(dataset: Dataset, warehouses: int, engine: Database) -> dict[str, object]:
    """A table that is not there has no rows."""
    found = marks.read(dataset, engine)
    connections = engine.parallelism()
    of_parts = parts(warehouses, connections)
    with ThreadPoolExecutor(connections) as workers:
        looks = {
            name: [workers.submit(engine.query, text) for text in _looks(dataset, table, warehouses, of_parts, engine)]
            for name, table in schema.tables().items()
            if name in found
        }
        is_whole = len(found) == len(schema.tables())
        checks = [workers.submit(engine.query, text) for text in _checks(dataset, of_parts) if is_whole]
        seen = {name: [row for look in looks.get(name, ()) for row in look.result()] for name in schema.tables()}
        answered = [check.result() for check in checks]
    lines = sum(int(row["lines"] or 0) for row in seen["orders"])
    by_table = [_row(table, seen[name], warehouses, lines, engine) for name, table in schema.tables().items()]
    problems = [problem for answer in answered if (problem := consistency.problem(answer, fresh=True))]
    return {
        "table": dataset.table,
        "tables_complete": sum(state == "complete" for state in found.values()),
        "tables_expected": len(schema.tables()),
        "row_count": sum(row["row_count"] for row in by_table),
        "violations": sum(map(consistency.violations, answered)),
        "problem": (problems or ["none" if answered else "tables are missing: no condition was looked at"])[0],
        "checksum": str(sum(int(row["checksum"].split()[1]) for row in by_table)),
        "tables": by_table,
    }


def parts(warehouses: int, connections: int) -> Parts:
    """(first, last): as many as there are connections, unless they get too large."""
    return generation.slices(warehouses, connections, PART_WAREHOUSES)


def _looks(dataset: Dataset, table: Table, warehouses: int, of: Parts, engine: Database) -> Iterator[str]:
    """One a part. History has no index: each part reads it as a whole, and works on its own rows only."""
    said = _ranges()[table.name]
    limits: dict[str, Value] = {"warehouses": warehouses, "syllables": rows.array(rows.SYLLABLES)}
    for first, last in of if table.distributed_by else [(0, 0)]:
        yield statement(
            "order_entry",
            "inspect",
            table=identifier(f"{dataset.table}.{table.name}"),
            row_hash=table.row_hash("row_hash"),
            segment=raw(engine.segment_of_row if table.distributed_by else "0"),
            holds=raw(filled(said["holds"], limits)),
            tenth=raw(said.get("tenth", "false")),
            lines=raw("sum(o_ol_cnt)" if table.name == "orders" else "0"),
            part=raw(f"{table.distributed_by} BETWEEN {first} AND {last}" if last else "true"),
        )


def _checks(dataset: Dataset, of: Parts) -> Iterator[str]:
    for first, last in of:
        yield consistency.statement(dataset.table, range(first, last + 1), fresh=True)


def _row(table: Table, seen: Seen, warehouses: int, lines: int, engine: Database) -> dict[str, Any]:
    """One row for ``order_entry_tables``. Lines are as many as the orders say."""
    by_segment: Counter[Any] = Counter()
    for row in seen:  # a segment may answer several times, once for each part
        by_segment[row["segment"]] += int(row["row_count"])
    count = by_segment.total()
    is_tenth = "tenth" in _ranges()[table.name]
    return {
        "table": table.name,
        "row_count": count,
        "rows_expected": lines if table.name == "order_line" else rows.count(table.name, warehouses),
        "out_of_range": sum(int(row["out_of_range"]) for row in seen),
        "tenth_percent": sum(int(row["tenth"]) for row in seen) * 100 / max(1, count) if is_tenth else None,
        "checksum": f"{table.name} {sum(int(row['checksum'] or 0) for row in seen)}",
        "row_skew": skew(list(by_segment.values()) or [0], engine.segments()) if table.distributed_by else 0.0,
        "row_skew_max": row_skew_max(warehouses),
    }


@cache
def _ranges() -> Mapping[str, Mapping[str, str]]:
    return tables.read("order_entry", "ranges")
