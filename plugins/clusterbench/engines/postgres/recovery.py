"""Before a trial: hosts that do not answer are waited for, and what is down or does not answer is started again."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

from clusterbench.base.errors import EngineError
from clusterbench.engines import state
from clusterbench.engines.postgres import processes
from clusterbench.engines.postgres.server import Server

REACHABLE_S = float(os.environ.get("CLUSTERBENCH_WAIT_FOR_HOSTS_S", "300"))
"""How long a host that does not answer is waited for before a trial: it may be starting."""
WAITED_MIN = 60
"""So long after it was waited for in vain it is not waited for again: a run's other trials shall end, too."""


def recover(server: Server) -> list[str]:
    """As ``Engine.recover``."""
    done = _start_again(server, reached(server))
    if server.platform.database_hosts:
        server.ask("SELECT 1 AS up")
    return done


def _start_again(server: Server, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is down, and what does not answer, after its processes are ended."""
    silent = {row["name"] for row in rows if row["problem"] == state.SILENT}
    down = {row["name"] for row in rows if row["alive"] is False}
    if silent or down:
        processes.end(server, silent | down)
        server.start()
    said = dict.fromkeys(silent, "did not answer, was ended and was started")
    said |= dict.fromkeys(down, "was down and was started")
    return [f"{row['name']} {said[row['name']]}" for row in rows if row["name"] in said]


def reached(server: Server) -> list[dict[str, Any]]:
    """The state, when every host answers. Raises EngineError for one that does not come back."""
    until = time.monotonic() + REACHABLE_S
    while True:
        rows = server.state()
        lost = [row for row in rows if row["problem"].startswith(state.UNREACHABLE)]
        if not lost:
            return rows
        was_noted = _note_of_waiting(server, "find {} -mmin -{}")
        if was_noted or time.monotonic() >= until:
            if not was_noted:
                _note_of_waiting(server, "touch {}")
            named = "\n  ".join(f"{row['name']} {row['problem']}" for row in lost)
            raise EngineError(
                f"{server.where}: waited {REACHABLE_S:g} s for hosts that do not answer; start them, or mend their "
                f"network. For {WAITED_MIN} min other trials fail without waiting again\n  {named}"
            )
        time.sleep(min(5, REACHABLE_S))
        server.fleet.forget_unreachable()


def _note_of_waiting(server: Server, command: str) -> str:
    """What ``command`` says of the note that hosts were waited for in vain; the client keeps it for all workers."""
    client = server.platform.client
    note = quote(f"{server.fleet.work_dir(client)}/waited.{server.platform.platform.replace('/', '.')}")
    return server.fleet.run_on(client, f"{command.format(note, WAITED_MIN)} 2>/dev/null || true").output.strip()
