"""What of the server's contrib makes and proves the states of the caches, and whether it is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterbench.base.sql import statement
from clusterbench.engines.postgres.server import Server
from clusterbench.spec.platform import Platform

USES = {"pg_buffercache": "tells what is in the database's cache", "pg_prewarm": "reads tables into it"}


def lacking(server: Server) -> list[str]:
    """Those of ``USES`` that the server cannot make."""
    there = {row["name"] for row in server.query(statement("postgres", "extensions"))}
    return [name for name in USES if name not in there]


def unavailable(platform: Platform, facts: Mapping[str, Any]) -> dict[str, str]:
    """By name of the extension, as far as the server told. Pure.

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
