"""Totals of what a server did that its clients do not see: ``base.database_work``."""

from __future__ import annotations

from clusterbench.base.sql import statement
from clusterbench.engines.postgres import connection
from clusterbench.engines.postgres.server import ASK_S, Server

CHECKPOINTER_FROM = 17_00_00
"""The version from which on checkpoints are counted by a view of their own."""


def totals(server: Server) -> dict[str, int]:
    with server.connect() as session, connection.shut_after(ASK_S, session):
        name = "work_17" if session.info.server_version >= CHECKPOINTER_FROM else "work"
        (found,) = session.execute(statement("postgres", name).encode()).fetchall()
    return {name: int(value) for name, value in found.items()}
