"""Totals of what a server did that its clients do not see: ``base.database_work``."""

from __future__ import annotations

from clusterbench.base.sql import statement
from clusterbench.engines.postgres import connection
from clusterbench.engines.postgres.server import ASK_S, Server

BY_VERSION = {18_00_00: "work_18", 17_00_00: "work_17", 16_00_00: "work_16", 0: "work"}
"""The first version that has the views of a statement -> the statement; the newest first."""


def totals(server: Server) -> dict[str, int]:
    with server.connect() as session, connection.shut_after(ASK_S, session):
        version = session.info.server_version
        name = next(name for first, name in BY_VERSION.items() if version >= first)
        (found,) = session.execute(statement("postgres", name).encode()).fetchall()
    return {name: int(value) for name, value in found.items()}
