"""Before a trial: who does not answer is reported, and what is down is started again where that is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterbench.base.errors import EngineAwayError
from clusterbench.engines import state
from clusterbench.engines.postgres import processes
from clusterbench.engines.postgres.server import Server
from clusterbench.spec.leave import why_not


def recover(server: Server) -> list[str]:
    """As ``Engine.recover``."""
    done = _start_again(server, answering(server))
    if server.platform.database_hosts:
        server.ask("SELECT 1 AS up")
    return done


def _start_again(server: Server, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is down, and what is frozen, after its processes are ended."""
    frozen = {row["name"] for row in rows if row["problem"] == state.FROZEN}
    down = {row["name"] for row in rows if row["alive"] is False}
    check_leave(server, sorted(frozen | down))
    if frozen or down:
        processes.end(server, frozen | down)
        processes.start(server)
    said = dict.fromkeys(frozen, "was frozen, was ended and was started")
    said |= dict.fromkeys(down, "was down and was started")
    return [f"{row['name']} {said[row['name']]}" for row in rows if row["name"] in said]


def check_leave(server: Server, broken: Sequence[str]) -> None:
    """Raises EngineAwayError where something is broken, and the platform's file does not let it be restarted."""
    if broken and (why := why_not(server.platform, "recover")):
        raise EngineAwayError(f"{server.where}: down or frozen: {', '.join(broken)}. Bring it back; or: {why}")


def answering(server: Server) -> list[dict[str, Any]]:
    """The state, when every host and every server that runs answers. Raises EngineAwayError for who does not.

    A server that does not answer may be slow only. Nobody ends it: a person has to look. One that was stopped by a
    signal will never answer, and is for the caller.
    """
    rows = server.state()
    if lost := [f"{row['name']} {row['problem']}" for row in rows if row["problem"].startswith(state.UNREACHABLE)]:
        named = "\n  ".join(lost)
        said = f"{server.where}: hosts do not answer; start them, or repair their network\n  {named}"
        raise EngineAwayError(said, "hosts")
    if slow := [row["name"] for row in rows if row["problem"] == state.SILENT]:
        raise EngineAwayError(
            f"{server.where}: {', '.join(slow)} runs and does not answer: it is overloaded, or hung. clusterbench ends "
            "no server that may only be slow; look at its log"
        )
    return rows
