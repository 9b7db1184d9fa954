"""What the server itself counts of each statement, where the extension pg_stat_statements is there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from typing import Any

import psycopg

from clusterbench.base.errors import EngineError
from clusterbench.base.sql import identifier, statement
from clusterbench.base.statement_work import Heavy, Totals
from clusterbench.engines.postgres import connection
from clusterbench.engines.postgres.server import ASK_S, Server

EXECUTION_TIME_FROM = 13_00_00
"""The version from which on planning is counted by itself."""
CONSTANTS_NUMBERED_FROM = 10_00_00
"""Servers before it, as Greenplum 6, write ? for each constant; the others write $1, $2."""
CONSTANT = re.compile(
    r"""(?P<kept> '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | \?(?=\s*\?) | \?[|&] ) | \?""",
    re.VERBOSE | re.DOTALL,
)
"""A ? outside of quotes and comments. One that another follows is an operator, and that one its constant."""
NOT_TO_BE_HAD = (
    psycopg.errors.ObjectNotInPrerequisiteState,  # it is not among shared_preload_libraries
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.UndefinedColumn,  # it was never updated after the server was
    psycopg.errors.UndefinedFunction,
)
"""A trial does without it then."""
INSTALLED = """
SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
WHERE extname = 'pg_stat_statements'"""


def totals(server: Server) -> dict[str, Totals]:
    """By the server's number of the statement. Empty where the extension is not there, or cannot be asked."""
    with server.connect() as session, connection.shut_after(ASK_S, session):
        found = session.execute(INSTALLED.encode()).fetchall()
        if not found:
            return {}
        is_newer = session.info.server_version >= EXECUTION_TIME_FROM
        query = statement(
            "postgres",
            "statement_totals",
            time=identifier("total_exec_time" if is_newer else "total_time"),
            schema=identifier(found[0]["nspname"]),
            login=server.driver.login,
        )
        try:
            rows = session.execute(query.encode()).fetchall()
        except NOT_TO_BE_HAD:
            return {}
    return {row.pop("id"): Totals(**{name: float(value) for name, value in row.items()}) for row in rows}


def heaviest(server: Server, statements_max: int) -> list[Heavy]:
    """Of anybody but clusterbench, the most time first. Raises EngineError where the server counts none."""
    with server.connect() as session, connection.shut_after(ASK_S, session):
        found = session.execute(INSTALLED.encode()).fetchall()
        if not found:
            raise EngineError(
                f"{server.where}: database {server.dbname!r} has no extension pg_stat_statements, which counts "
                "statements; create it there (shared_preload_libraries, and CREATE EXTENSION), or give a file of "
                "statements by --log"
            )
        is_newer = session.info.server_version >= EXECUTION_TIME_FROM
        query = statement(
            "postgres",
            "heaviest",
            time=identifier("total_exec_time" if is_newer else "total_time"),
            schema=identifier(found[0]["nspname"]),
            statements_max=statements_max,
        )
        rows = session.execute(query.encode()).fetchall()
        is_numbered = session.info.server_version >= CONSTANTS_NUMBERED_FROM
    read = str if is_numbered else numbered
    return [
        Heavy(read(row["query"]), int(row["calls"]), float(row["time_ms"]), float(row["row_count"])) for row in rows
    ]


def numbered(query: str) -> str:
    """With $1, $2 in place of its constants, where the server wrote ? for each; after those that it has. Pure."""
    numbers = count(1 + max((int(number) for number in re.findall(r"\$(\d+)", query)), default=0))
    return CONSTANT.sub(lambda found: found["kept"] or f"${next(numbers)}", query)


def texts(server: Server, ids: Sequence[str]) -> dict[str, str]:
    """Of these statements, as the server has made them equal: with $1, $2 in place of their constants."""
    with server.connect() as session, connection.shut_after(ASK_S, session):
        found: list[dict[str, Any]] = session.execute(INSTALLED.encode()).fetchall()
        query = statement("postgres", "statement_texts", schema=identifier(found[0]["nspname"]))
        return {row["id"]: row["query"] for row in session.execute(query.encode(), [list(map(int, ids))]).fetchall()}
