"""Sessions of drivers: as whom and where they connect, the settings that they begin with, and their end.

Where the platform's file gives leave (``session_settings``), settings are those of the drivers' role in that database.
They hold for every session, direct or through a pooler that drops start-up parameters. What the role had there before
is kept in a setting of the role itself, in the same transaction, so it can be put back by anybody, whoever dies when.
Without that leave nothing is changed: each session is opened with its settings.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg import sql

from clusterbench.base import driver_session, libpq, scripts
from clusterbench.base.plans import NO_PLAN, PLANNED, Prepared
from clusterbench.base.postgres_session import OWN, first_line
from clusterbench.base.sql import statement
from clusterbench.engines import DRIVER, Endpoint, Watch
from clusterbench.engines.postgres import pooler
from clusterbench.engines.postgres.connection import as_options
from clusterbench.engines.postgres.server import Server

BEFORE = "clusterbench.before"
"""The setting that holds what the role had before, as JSON."""
LOCK_TIMEOUT = "30s"
"""Of planning: a table that somebody has locked for longer has no plan."""
LISTS = {"search_path", "temp_tablespaces", "local_preload_libraries", "session_preload_libraries"}
"""Settings whose value is a list of names: quotes around all of it would make one name of it."""


def set_defaults(server: Server, settings: Mapping[str, str]) -> None:
    """These, and no others of ours, for every session that is opened from now on."""
    may_alter = "session_settings" in server.platform.may
    if may_alter and not settings:
        reset_defaults(server)
        return
    server.session_settings = dict(settings)
    if may_alter:
        now = _of_role(server)
        before = now.get(BEFORE, json.dumps(now))
        _replace(server, {**json.loads(before), BEFORE: before, **settings})


def reset_defaults(server: Server) -> None:
    """As the role had it; where nothing of ours is there, nothing is changed."""
    server.session_settings = {}
    now = _of_role(server)
    if BEFORE in now:
        _replace(server, json.loads(now[BEFORE]))


def _of_role(server: Server) -> dict[str, str]:
    """Setting -> value of the drivers' role in the database."""
    asked = statement("postgres", "role_settings", role=server.driver.login, database=server.dbname)
    return dict(str(row["setting"]).split("=", 1) for row in server.query(asked))


def _replace(server: Server, settings: Mapping[str, str]) -> None:
    """Exactly these; sent at once, in one transaction."""
    role, database = sql.Identifier(server.driver.login), sql.Identifier(server.dbname)
    changes: list[sql.Composable] = [sql.SQL("RESET ALL")]
    for name, value in settings.items():
        parts = _names(value) if name in LISTS else [value]
        values = sql.SQL(", ").join(map(sql.Literal, parts))
        changes.append(sql.SQL("SET {} = {}").format(sql.Identifier(*name.split(".")), values))
    commands = [sql.SQL("ALTER ROLE {} IN DATABASE {} {}").format(role, database, each) for each in changes]
    server.execute(sql.SQL(";\n").join(commands).as_string(None))


def _names(value: str) -> list[str]:
    """The names of ``"$user", public``; a name in quotes has no comma here."""
    return [part.strip().removeprefix('"').removesuffix('"') for part in value.split(",")]


def endpoint(server: Server, *, pooled: bool, settings: Mapping[str, str]) -> Endpoint:
    """Where drivers connect: the server, or the pooler before it, which has a certificate of its own.

    ``settings``: of these sessions alone, whatever the role has; a pooler drops them.
    """
    driver = server.driver
    parameters, files = libpq.beside_driver(driver)
    of_role = {} if "session_settings" in server.platform.may else server.session_settings
    if own := {**of_role, **settings}:
        parameters["options"] = f"{parameters.get('options', '')} {as_options(own)}".strip()
    port, password = server.port, driver.password
    if pooled:
        port, password = server.platform.pooler_port, pooler.password(driver)
        parameters, files = pooler.as_seen_by_drivers(server, parameters, files)
    return Endpoint(server.database.host, port, driver.login, server.dbname, password, parameters, files)


def as_seen_by_driver(server: Server) -> dict[str, str]:
    """How a driver's session on the client host is, from psql there: ``driver_session.read``. Raises EngineError.

    So what trials need of the hosts that drive is tried before any: psql, the way to the server, certificates, the
    login.
    """
    hosts = server.platform.hosts_with("client", "load")
    at = endpoint(server, pooled=False, settings={})
    name = f"session.{server.platform.platform.replace('/', '.')}"
    folders = {host: f"{work}/{name}" for host, work in server.fleet.work_dirs(hosts).items()}
    server.fleet.put_each({host: (folder, at.secrets) for host, folder in folders.items()})
    looks = {
        host: scripts.script("drivers/programs")
        + scripts.script("drivers/look_at_session", folder=folder, where=at.psql_options)
        for host, folder in folders.items()
    }
    return driver_session.read(
        server.on_each(looks, "a driver could not open a session from there")[server.platform.client]
    )


def end_driver(server: Server) -> None:
    """A server works on for a client that is gone."""
    server.query(statement("postgres", "end_driver", driver=DRIVER, login=server.driver.login))


def of_others(server: Server) -> Sequence[str]:
    """Who else has sessions on the server, in any of its databases: ``ada (2 on sales)``."""
    rows = server.ask(statement("postgres", "sessions_of_others", driver=DRIVER, own=OWN))
    return [f"{row['login']} ({row['sessions']} on {row['database']})" for row in rows]


def watch(server: Server) -> Watch:
    at = endpoint(server, pooled=False, settings={})
    return Watch(statement("postgres", "watch", driver=DRIVER), at.psql_options, at.secrets)


DRAWN = re.compile(r"\('(?:[^']|'')*'::[^()\[\]]+\[\]\)\[\(1 \+ \$\d+\)\]")
"""In a plan for all values: one of those that a parameter draws from, all of which stand there."""


def explain(server: Server, queries: Mapping[str, str | Prepared], before: str) -> dict[str, str]:
    """Each plan as text, with the drivers' settings. ``before`` runs first, in the same session."""
    settings = {**server.session_settings, "lock_timeout": LOCK_TIMEOUT}
    with server.connect(options=as_options(settings)) as session:
        if before:
            session.execute(before.encode())
        return {name: _plan(session, query) for name, query in queries.items()}


def _plan(session: psycopg.Connection[dict[str, Any]], query: str | Prepared) -> str:
    """If the server refuses one, the others still have theirs; its error is reported when the query is measured."""
    try:
        if isinstance(query, Prepared):
            return _plan_prepared(session, query)
        rows = session.execute(f"EXPLAIN {query}".encode()).fetchall()
    except psycopg.Error as error:
        if session.broken:
            raise
        return NO_PLAN + first_line(error)
    return "\n".join(row["QUERY PLAN"] for row in rows)


def _plan_prepared(session: psycopg.Connection[dict[str, Any]], query: Prepared) -> str:
    """Nothing is executed: EXPLAIN counts as an execution where the server chooses between its plans."""
    session.execute(f"PREPARE {PLANNED} AS {query.text}".encode())
    try:
        rows: list[dict[str, Any]] = []
        for values in query.executions:
            given = f"({', '.join(map(str, values))})" if values else ""
            rows = session.execute(f"EXPLAIN EXECUTE {PLANNED}{given}".encode()).fetchall()
    finally:
        session.execute(f"DEALLOCATE {PLANNED}".encode())
    return "\n".join(DRAWN.sub("'…'", row["QUERY PLAN"]) for row in rows)
