"""Every cache of the database and of its hosts' file systems, emptied once and looked at."""

from __future__ import annotations

from clusterbench.base.errors import AwayError, EngineError
from clusterbench.base.sql import raw, statement
from clusterbench.engines.flush import LEFT_BYTES_MAX, Flushed, drop_page_cache, left, why_not_done
from clusterbench.engines.postgres import extensions
from clusterbench.engines.postgres.caches import DROPPING, empty_file_system_cache
from clusterbench.engines.postgres.server import Server

LOOKING = "fincore (Debian package util-linux-extra) must be there, and the login must own the server's files"


def flush(server: Server) -> list[Flushed]:
    """The database's cache by a restart, and that of the file systems while it is down, as far as there is leave.

    The server runs afterwards, whatever was in the way; EngineError where it cannot be started again.
    """
    server.start()  # an earlier try may have ended while it was down
    no_restart, no_flush = (server.unavailable.get(name, "") for name in ("restart", "flush"))
    before, _ = (None, "") if no_restart else _buffered(server)
    why_running = no_restart or why_not_done(server.stop)
    try:
        method = server.platform.page_cache
        file_system = _not_tried(method, no_flush) if no_flush else _empty_file_system(server)
    finally:
        server.start()
    if why_running:
        return [Flushed("database", "restart", why_running, not no_restart, before), file_system]
    after, why_unseen = _buffered(server)
    problem = why_unseen or left("the database's tables and indexes", after or 0, _most(server))
    return [Flushed("database", "restart", problem, True, before, after), file_system]


def _buffered(server: Server) -> tuple[int | None, str]:
    """``buffered_bytes``, or why it cannot be told."""
    if why := server.unavailable.get("pg_buffercache"):
        return None, why
    try:
        return buffered_bytes(server), ""
    except AwayError:
        raise
    except EngineError as error:
        return None, str(error)


def _not_tried(method: str, why: str) -> Flushed:
    return Flushed("file system", method, why, is_tried=False)


def _empty_file_system(server: Server) -> Flushed:
    """Of whole hosts, or of the server's files; either way the latter are looked at."""
    method = server.platform.page_cache
    of_hosts: dict[str, list[int]] = {}
    try:
        before = resident_bytes(server)
        if method == "drop_caches":
            problem, of_hosts = drop_page_cache(server, server.platform.database_hosts, DROPPING)
        else:
            problem = why_not_done(lambda: empty_file_system_cache(server))
        after = resident_bytes(server)
    except AwayError:
        raise
    except EngineError as error:  # nobody can look
        return Flushed("file system", method, str(error), is_tried=True)
    problem = problem or left("the database's files", after, _most(server))
    return Flushed("file system", method, problem, True, before, after, of_hosts)


def _most(server: Server) -> int:
    return LEFT_BYTES_MAX * len(server.instances())


def buffered_bytes(server: Server) -> int:
    """Of the database's tables and indexes in its own cache, over all instances."""
    extensions.have(server, "pg_buffercache")
    buffers, oid = raw(server.everywhere("pg_buffercache")), int(server.fact("database_oid"))
    rows = server.query(statement("postgres", "buffered_all", pg_buffercache=buffers, database_oid=oid))
    return sum(int(row["bytes"]) for row in rows)


def resident_bytes(server: Server) -> int:
    """Of the database's files in the file systems' caches, over all instances, whether they run or not."""
    oid = int(server.fact("database_oid"))
    said = server.on_instances("postgres/resident", server.known_instances(), LOOKING, database_oid=oid)
    return sum(int(line) for output in said.values() for line in output.split())
