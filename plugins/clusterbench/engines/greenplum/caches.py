"""Warming tables of every layout: the database caches heap tables only."""

from __future__ import annotations

from collections.abc import Sequence

from clusterbench.base.sql import identifier, statement
from clusterbench.engines.greenplum.tables import is_append_optimised
from clusterbench.engines.postgres import caches
from clusterbench.engines.postgres.server import Server
from clusterbench.engines.postgres.tables import leaves


def warm(server: Server, relations: Sequence[str]) -> None:
    found = leaves(server, relations)
    appended = [relation for relation in found if is_append_optimised(server, relation)]
    for relation in appended:  # pg_prewarm does not know them, and the database does not cache them
        server.query(statement("greenplum", "read_all", table=identifier(relation)))
    caches.warm(server, [relation for relation in found if relation not in appended])
