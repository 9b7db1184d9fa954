"""Bringing back what is down or does not answer: by pg_ctl what has no mirror, by gprecoverseg what has one."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clusterbench.base.errors import EngineError
from clusterbench.base.job import Job
from clusterbench.engines import state
from clusterbench.engines.greenplum import utilities
from clusterbench.engines.greenplum.processes import wait_for_segments
from clusterbench.engines.instances import COORDINATOR
from clusterbench.engines.postgres import processes
from clusterbench.engines.postgres.recovery import answering, check_leave
from clusterbench.engines.postgres.server import Server
from clusterbench.hosts.detached_job import DetachedJob
from clusterbench.spec.leave import why_not

log = logging.getLogger(__name__)

PROBE_S = 180
"""A probe of every segment, which waits for one that is silent as the cluster's own settings say (five times 20 s)."""
RECOVERY_TIMEOUT_S = 3600
"""What a segment may take to be in step and in its role when what was missing has been copied."""
NEVER_S = 30 * 24 * 3600


def recover(server: Server) -> list[str]:
    """What is frozen is ended first, so that its mirror takes over; then as for what was killed."""
    rows = answering(server)
    check_leave(server, broken_in(rows))
    frozen = [row["name"] for row in rows if row["problem"] == state.FROZEN]
    if frozen:
        processes.end(server, frozen)
        rows = server.state()
    if any(row["alive"] is False for row in rows) and server.answers():
        server.ask("SELECT gp_request_fts_probe_scan() AS asked", PROBE_S)  # else it may not have noticed yet
        rows = server.state()
    broken = [row["name"] for row in rows if row["status"] == "d" or row["role"] != row["preferred_role"]]
    gone = [row["name"] for row in rows if row["alive"] is False]
    check_leave(server, broken_in(rows))
    if gone:  # a session's process may outlive its server for long, and gprecoverseg leaves it alone
        processes.end(server, gone)
    if any(row["content"] == COORDINATOR and row["name"] in gone for row in rows):
        _end_left_sessions(server)
    dead = [name for name in gone if name not in broken]
    if dead:
        processes.start(server)  # what has no mirror is never marked down; what runs is left alone
    how = _recover_mirrored(server, broken) if broken else ""
    wait_for_segments(server)
    return [
        *(f"{name} was frozen and was ended" for name in frozen),
        *(f"{name} was down and was started" for name in dead),
        *(f"{name} was recovered by {how}" for name in broken),
    ]


def broken_in(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is down, frozen, or not in its role."""
    return [
        row["name"]
        for row in rows
        if row["alive"] is False
        or row["problem"] == state.FROZEN
        or row["status"] == "d"
        or row["role"] != row["preferred_role"]
    ]


def _end_left_sessions(server: Server) -> None:
    """Of a coordinator that is gone: on segments some wait for it for an hour, and hold the locks of their rows.

    (``gp_interconnect_transmit_timeout``; seen after its postmaster was killed in the middle of updates.)
    """
    segments = [each for each in server.instances() if each.content != COORDINATOR]
    server.on_instances("greenplum/end_sessions", segments, "end these processes yourself, then clear the trial")


def _recover_mirrored(server: Server, broken: Sequence[str]) -> str:
    """A primary that its mirror replaced has to be made its mirror, to catch up, and to take its role again.

    Returns by what it was done.
    """
    if "gprecoverseg" not in utilities.known(server):
        raise EngineError(
            f"{server.where}: not in its role: {', '.join(broken)}; there is no gprecoverseg "
            "here; recover it yourself (gprecoverseg -a, then gprecoverseg -a -r)"
        )
    how = "gprecoverseg"
    if any(row["status"] == "d" for row in server.state()):
        how = _copy_what_is_missing(server)
    if any(row["role"] != row["preferred_role"] for row in server.state()):
        how = _rebalance(server) or how
    return how


def _rebalance(server: Server) -> str | None:
    """It makes the instance that gives its role back catch up, too: what could not be done then is said."""
    how = None
    try:
        _run_to_its_end(server, "gprecoverseg -a -r")
    except EngineError:
        if not any(row["status"] == "d" for row in server.state()):
            raise
        how = _copy_what_is_missing(server)
    _wait_until(server, lambda row: row["role"] == row["preferred_role"], "in its role")
    return how


def _copy_what_is_missing(server: Server) -> str:
    """Only that, where it can be done; else everything, as paper 004 had to, where that is allowed."""
    how = "gprecoverseg"
    try:
        _run_to_its_end(server, "gprecoverseg -a")
    except EngineError as error:
        if why := why_not(server.platform, "full_copy"):
            raise EngineError(f"{error}\n  It could not catch up, and a full copy was not begun: {why}") from None
        log.warning("gprecoverseg could not catch up, so everything is copied: %s", error)
        _run_to_its_end(server, "gprecoverseg -a -F")
        how = "gprecoverseg -F, a full copy, because it could not catch up"
    _wait_until(server, lambda row: row["content"] == COORDINATOR or row["mode"] == "s", "in step with its mirror")
    return how


def _run_to_its_end(server: Server, command: str) -> None:
    """However long it copies: nothing cuts it off, and the next try of a task waits for one that still runs."""
    job = DetachedJob(server.fleet, server.host, f"recovery/{server.platform.cluster}")
    if job.state().phase == "ended":
        job.remove()
    if job.state().phase == "new":
        job.start(Job({}, {}, utilities.script_of(server, command)), NEVER_S)
    log.info("%s: %s; it takes as long as it copies", server.where, command)
    status, said = job.wait().exit_status, job.errors()
    job.remove()
    if status:
        raise EngineError(f"{server.where}: {command} ended with status {status}: {said}; its log is in ~/gpAdminLogs")


def _wait_until(server: Server, holds: Callable[[Mapping[str, Any]], bool], wanted: str) -> None:
    until = time.monotonic() + RECOVERY_TIMEOUT_S
    while left := [row["name"] for row in server.state() if not holds(row)]:
        if time.monotonic() > until:
            raise EngineError(
                f"{server.where}: after {RECOVERY_TIMEOUT_S} s not {wanted}: {', '.join(left)}; gpstate -e shows more"
            )
        time.sleep(2)
