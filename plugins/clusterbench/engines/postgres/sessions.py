"""Sessions of drivers: the settings that they begin with, where they connect, and their end.

A role's defaults hold for every session, direct or through a pooler that drops start-up parameters.
"""

from __future__ import annotations

from collections.abc import Mapping

from psycopg import sql

from clusterbench.base.sql import statement
from clusterbench.engines import DRIVER, Endpoint
from clusterbench.engines.postgres.server import Server


def set_defaults(server: Server, settings: Mapping[str, str]) -> None:
    """These, and no others, for every session that is opened from now on."""
    reset_defaults(server)
    for name, value in settings.items():
        parts = value.split(", ") if name == "search_path" else [value]  # a list, which quotes would make one name
        values = sql.SQL(", ").join(map(sql.Literal, parts))
        _alter_role(server, sql.SQL("SET {} = {}").format(sql.Identifier(name), values))


def reset_defaults(server: Server) -> None:
    _alter_role(server, sql.SQL("RESET ALL"))


def _alter_role(server: Server, change: sql.Composable) -> None:
    role, database = sql.Identifier(server.database.login), sql.Identifier(server.database.schema)
    server.execute(sql.SQL("ALTER ROLE {} IN DATABASE {} {}").format(role, database, change).as_string(None))


def endpoint(server: Server, *, pooled: bool) -> Endpoint:
    port = server.platform.pooler_port if pooled else server.port
    return Endpoint(server.database.host, port, server.database.login, server.database.schema)


def end_driver(server: Server) -> None:
    """A server works on for a client that is gone."""
    server.query(statement("postgres", "end_driver", driver=DRIVER))


def explain(server: Server, query: str, before: str) -> str:
    """The plan as text. ``before`` runs first, in the same session."""
    with server.connect() as session:
        if before:
            session.execute(before.encode())
        rows = session.execute(f"EXPLAIN {query}".encode()).fetchall()
        return "\n".join(row["QUERY PLAN"] for row in rows)
