"""How guests are reached: by the address and the host key that their hypervisor told, with the template's login."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from clusterbench.base.connections import Connection, Connections
from clusterbench.base.errors import MachineError
from clusterbench.machines.provider import Guest
from clusterbench.spec.machine_layout import machine_hosts
from clusterbench.spec.platform import Platform


def reaching(platform: Platform, connections: Connections, guests: Mapping[str, Guest]) -> Connections:
    """Connections in which each made host's is the platform's ``login``, with what its guest told.

    Raises MachineError when one is asked for whose guest told nothing.
    """
    if platform.machines is None:
        return connections
    login_id = platform.machines.login
    by_id = {host.ssh: name for name, host in machine_hosts(platform).items()}

    def look_up(conn_id: str) -> Connection:
        if conn_id not in by_id:
            return connections(conn_id)
        if by_id[conn_id] not in guests:
            raise MachineError(
                f"platform {platform.platform!r}: the machine of host {by_id[conn_id]!r} is not up; a run brings "
                f"it up, or: clusterbench machines up {platform.platform}"
            )
        guest, login = guests[by_id[conn_id]], connections(login_id)
        known = {key: value for key, value in login.extra.items() if key not in ("no_host_key_check", "known_hosts")}
        return replace(login, id=conn_id, host=guest.address, extra={**known, "host_key": guest.host_key})

    return look_up


def without_machines(platform: Platform) -> Platform:
    """What of a platform is there before its machines are up: the hosts that drive load."""
    made = machine_hosts(platform)
    return platform.model_copy(
        update={"hosts": {name: host for name, host in platform.hosts.items() if name not in made}, "neighbours": {}}
    )
