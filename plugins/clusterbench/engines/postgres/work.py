"""Totals of what a server did that its clients do not see: ``base.database_work``."""

from __future__ import annotations

from clusterbench.base.sql import statement
from clusterbench.engines.postgres import connection
from clusterbench.engines.postgres.server import ASK_S, Server

WORK = {17_00_00: "work_17", 0: "work"}
DATA_WRITTEN = {18_00_00: "data_written_18", 16_00_00: "data_written"}
"""The first version that has the views of a statement -> the statement; the newest first."""


def totals(server: Server) -> dict[str, int]:
    with server.connect() as session, connection.shut_after(ASK_S, session):
        version = session.info.server_version
        found: dict[str, int] = {}
        for by_version in (WORK, DATA_WRITTEN):
            if name := next((name for first, name in by_version.items() if version >= first), ""):
                (row,) = session.execute(statement("postgres", name).encode()).fetchall()
                found |= row
    return {name: int(value) for name, value in found.items()}
