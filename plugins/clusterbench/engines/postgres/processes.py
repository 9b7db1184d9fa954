"""The server's processes, by their unit of the service manager, or by pg_ctl as whoever owns the data; their logs."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from shlex import quote
from typing import Any

from clusterbench.base import scripts
from clusterbench.base.errors import EngineError
from clusterbench.engines import instances
from clusterbench.engines.instances import COORDINATOR, Instance
from clusterbench.engines.postgres import sessions
from clusterbench.engines.postgres.server import ASK_S, Server
from clusterbench.engines.state import LOG_LINES
from clusterbench.hosts import facts_read
from clusterbench.hosts.facts_read import Told
from clusterbench.spec.leave import why_not

log = logging.getLogger(__name__)

NAME_THE_UNIT = (
    "Of a server that belongs to a unit of the service manager, write 'service: UNIT' into the platform's file"
)
READY_S = 10
"""What a server may take to answer at all: more than one takes that is only overloaded."""


def check_leave_to_stop(server: Server) -> None:
    """Raises EngineError where its platform's file does not allow it, or where other people use the server."""
    if why := why_not(server.platform, "restart"):
        raise EngineError(f"{server.where}: its servers may not be stopped: {why}")
    if server.answers() and (others := sessions.of_others(server)):
        raise EngineError(
            f"{server.where}: not stopped, because other people have sessions on the server: {', '.join(others)}. Wait "
            "until they have gone, or ask them to go; clusterbench ends nobody's session"
        )


def stop(server: Server) -> None:
    """The coordinator first, so that it does not take its segments for broken."""
    check_leave_to_stop(server)
    if server.platform.service:
        _service(server, "stop")
        return
    for stage in reversed(_stages(server)):
        remedy = f"it must stop within its time; look for a session that hangs. {NAME_THE_UNIT}"
        server.on_instances("postgres/stop", stage, remedy)


def start(server: Server) -> None:
    """What does not run. Raises EngineError where the platform's file does not let it be started."""
    if not server.platform.database_hosts:
        server.query("SELECT 1 AS up")  # all that can be done is to see that it is up
        return
    down = [row["name"] for row in look(server, server.instances()) if row["alive"] is False]
    if not down:
        return
    if why := why_not(server.platform, "recover") and why_not(server.platform, "restart"):
        raise EngineError(f"{server.where}: down: {', '.join(down)}; start it, or: {why}")
    if server.platform.service:
        _service(server, "start")
        return
    if units := server.facts_of_set_up.get("units"):
        raise EngineError(
            f"{server.where}: the server belongs to the service manager's unit "
            f"{', '.join(sorted(set(units.values())))}, and clusterbench does not start it without that manager. "
            f"{NAME_THE_UNIT}"
        )
    for stage in _stages(server):
        server.on_instances("postgres/start", stage, "the reason is in its log")


def _service(server: Server, action: str) -> None:
    """Through the service manager that the server belongs to, on each of its hosts at once."""
    service = str(server.platform.service)
    said = server.on_instances(
        "postgres/service",
        server.instances(),
        f"the login needs leave for it ('clusterbench sudoers {server.platform.platform}' prints the line); the "
        f"message of the service: journalctl -u {service}",
        service=service,
        action=action,
    )
    for host, output in said.items():
        for line in output.splitlines():
            log.warning("host %s: %s", host, line)


def _stages(server: Server) -> list[list[Instance]]:
    """In the order of starting: segments at once, then the coordinator."""
    found = server.instances()
    stages = [[i for i in found if i.content != COORDINATOR], [i for i in found if i.content == COORDINATOR]]
    return [stage for stage in stages if stage]


def end(server: Server, names: Collection[str]) -> None:
    """What these instances have left when they were killed, too: its sessions hold the memory that a new one needs."""
    if server.platform.service:
        _service(server, "end")
        return
    chosen = [each for each in server.instances() if each.name in names]
    server.on_instances("postgres/end", chosen, "end these processes yourself, then clear the trial")


def look(server: Server, found: Sequence[Instance]) -> list[dict[str, Any]]:
    """The state of these instances, as the server and their hosts tell it."""
    if not server.platform.database_hosts:
        return instances.seen(found, {}, {})
    looks, lost = server.try_each(server.instance_scripts("postgres/look", found, ready_s=READY_S), timeout_s=ASK_S)
    return instances.seen(found, looks, lost)


def log_excerpt(server: Server, faults: Sequence[str]) -> str:
    """Of the coordinator's log and of those of the instances that ``faults`` name."""
    if not server.platform.database_hosts:
        return ""
    known = server.known_instances()
    named = [i for i in known if i.content == COORDINATOR or any(fault.startswith(i.name) for fault in faults)]
    last_lines = scripts.script("engines/last_lines", line_count=LOG_LINES)
    excerpts = {host: last_lines + body for host, body in server.instance_scripts("postgres/excerpt", named).items()}
    said, lost = server.try_each(excerpts, timeout_s=ASK_S)
    return "\n".join([*said.values(), *(f"no log: {why}" for why in lost.values())])


def units(server: Server) -> dict[str, str]:
    """Data directory -> the unit of the service manager that its server belongs to, of those that belong to one."""
    said = server.on_instances("postgres/owner", server.instances(), "the login must own the server's files")
    return dict(line.split("\t") for output in said.values() for line in output.splitlines())


def losing_memory(server: Server) -> list[str]:
    """Data directories of servers whose shared memory goes when the last session of their user ends."""
    if not server.facts_of_set_up.get("units"):
        return []
    said = server.on_instances("postgres/remove_ipc", server.instances(), "the login must own the server's files")
    return [line for output in said.values() for line in output.splitlines()]


def limits(server: Server) -> dict[str, Any]:
    """The tightest limits of the units that the servers belong to: ``cpu_limit``, ``memory_limit_bytes`` and the like.

    Empty where there are none, or where no server belongs to a unit: then the limits of the hosts are its.
    """
    if not server.facts_of_set_up.get("units"):
        return {}
    scripts_of_hosts = server.instance_scripts("postgres/limits", server.instances())
    said = server.on_each(
        {host: scripts.script("hosts/cgroups") + body for host, body in scripts_of_hosts.items()},
        "the login must own the server's files",
    )
    found = [(name, value) for text in said.values() for name, value in facts_read.limits(Told(text)).items() if value]
    return {name: min(value for other, value in found if other == name) for name, _ in found}


def program_directory(server: Server, data_directory: str) -> str:
    """Of the programs of the server that runs there."""
    return server.on_host(
        f'dirname "$(readlink -f /proc/$(head -n 1 {quote(data_directory)}/postmaster.pid)/exe)"',
        f"the login needs to own the server's files in {data_directory}",
    ).strip()
