"""The skew of a table: how unevenly its rows are spread over the segments."""

from __future__ import annotations

from clusterbench.base.sql import identifier, statement
from clusterbench.engines import skew
from clusterbench.engines.postgres.server import Server


def row_skew(server: Server, table: str, segments: int) -> float:
    """How much more than its even share of rows the fullest of ``segments`` holds; 0 for a table without rows."""
    rows = server.query(statement("greenplum", "rows_by_segment", table=identifier(table)))
    return skew.skew([int(row["row_count"]) for row in rows] or [0], segments)
