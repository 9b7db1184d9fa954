"""How to look at what the drivers' sessions do meanwhile, and at the work files of their statements."""

from __future__ import annotations

from dataclasses import replace

from clusterbench.base.sql import statement
from clusterbench.engines import DRIVER, Watch
from clusterbench.engines.postgres import sessions
from clusterbench.engines.postgres.server import Server

EVERY_S = 1.0
"""Each look asks all segments."""


def watch(server: Server) -> Watch:
    """Greenplum 7 says what a session waits for as PostgreSQL does; 6, which is of PostgreSQL 9.4, does not."""
    query = "SELECT count(*) AS n FROM pg_attribute WHERE attrelid = 'pg_stat_activity'::regclass AND attname = "
    found = sessions.watch(server)
    if server.ask(f"{query}'wait_event_type'")[0]["n"]:
        return found
    return replace(found, query=statement("greenplum", "watch", driver=DRIVER), every_s=EVERY_S)
