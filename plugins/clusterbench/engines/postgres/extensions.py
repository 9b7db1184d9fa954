"""What of the server's contrib makes and proves the states of the caches, and whether it is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterbench.base.datasets import OURS
from clusterbench.base.sql import quoted, statement
from clusterbench.engines.postgres.server import Server
from clusterbench.spec.platform import Platform

USES = {"pg_buffercache": "shows what is in the database's cache", "pg_prewarm": "reads tables into it"}


def lacking(server: Server) -> list[str]:
    """Those of ``USES`` that the server cannot make."""
    there = {row["name"] for row in server.query(statement("postgres", "extensions"))}
    return [name for name in USES if name not in there]


def have(server: Server, name: str) -> None:
    """Made in this database where it is not there, and marked, so that ``drop_ours`` finds it whatever happens."""
    if not any(row["name"] == name for row in _there(server)):
        extension = quoted(name)
        server.execute(
            f"CREATE EXTENSION IF NOT EXISTS {extension} SCHEMA public; "
            f"COMMENT ON EXTENSION {extension} IS '{OURS}made for its trials, and dropped after them'"
        )


def drop_ours(server: Server) -> None:
    for row in _there(server):
        if str(row["comment"]).startswith(OURS):
            server.execute(f"DROP EXTENSION IF EXISTS {quoted(row['name'])}")


def _there(server: Server) -> list[dict[str, Any]]:
    return server.look_up("SELECT extname AS name, obj_description(oid, 'pg_extension') AS comment FROM pg_extension")


def unavailable(platform: Platform, facts: Mapping[str, Any]) -> dict[str, str]:
    """By name of the extension, as far as the server reported. Pure.

    Where no host can be asked, nothing is proved, and so nothing is needed for it.
    """
    needed = USES if platform.database_hosts else {"pg_prewarm"}
    return {
        name: (
            f"this server has no extension {name}, which {USES[name]}; install the contrib modules of its version "
            "on every host of the database, where they are not in its own package"
        )
        for name in facts.get("lacking_extensions") or ()
        if name in needed
    }
