"""The drivers' own role, where the platform's file names one, so that nothing that is measured is a superuser's.

Superusers are outside resource groups, memory limits and reserved connections: a study of concurrency that runs as one
does not see what production sees. The tables that are measured belong to the drivers' role, so that it may load, index
and vacuum them. The login of set-up makes them.
"""

from __future__ import annotations

from typing import Any

from psycopg import sql

from clusterbench.base.datasets import OURS
from clusterbench.base.errors import EngineError
from clusterbench.base.sql import identifier, quoted, statement
from clusterbench.engines.postgres.server import Server
from clusterbench.engines.postgres.tables import leaves, schema_of


def facts(server: Server) -> dict[str, Any]:
    """The drivers' login, and whether it is a superuser's."""
    login = server.driver.login
    rows = server.query(statement("postgres", "role", login=login))
    if not rows:
        raise EngineError(
            f"{server.where}: there is no role {login!r} for drivers; correct connection {server.driver.id!r}, or: "
            f"CREATE ROLE {quoted(login)} LOGIN"
        )
    return {"driver_login": login, "driver_is_superuser": bool(rows[0]["rolsuper"])}


def own_tables(server: Server) -> None:
    """Of runs before the file named that role: all that clusterbench has made becomes its own."""
    if not _is_another(server):
        return
    for row in server.query(statement("postgres", "not_owned", login=server.driver.login, made=f"{OURS}%")):
        give(server, str(row["relation"]))


def give(server: Server, relation: str) -> None:
    """A table, its partitions and its schema. Who makes none here, such as for tables that are there, gives nothing."""
    if not _is_another(server):
        return
    login = _login(server)
    if not server.query(statement("postgres", "is_let_in", login=server.driver.login))[0]["is_let_in"]:
        server.execute(statement("postgres", "let_in", login=login, database=sql.Identifier(server.dbname)))
    if schema := schema_of(relation):
        server.execute(statement("postgres", "give_schema", schema=identifier(schema), login=login))
    for table in dict.fromkeys([relation, *leaves(server, [relation])]):
        server.execute(statement("postgres", "give", table=identifier(table), login=login))


def _is_another(server: Server) -> bool:
    return server.driver.login != server.database.login


def _login(server: Server) -> sql.Identifier:
    return sql.Identifier(server.driver.login)
