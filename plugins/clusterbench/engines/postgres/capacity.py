"""What a PostgreSQL has and takes, one server or one of a cluster, as far as file and facts show. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterbench.engines.capacity import Capacity, Known, cpus, size_bytes
from clusterbench.spec.platform import Platform

SHARED_BUFFERS = "128MB"
BLOCK_BYTES = 8192
RESERVED = 3
"""superuser_reserved_connections, where it is not said."""
SESSION_BYTES = 2_000_000
"""Of a process's own memory, at least: 1.4 to 1.6 MB measured on PostgreSQL 15 after 300 lookups, and its page tables;
without what sorts and hashes take (``work_mem``)."""
OPEN_FILES_MAX = 1000
"""max_files_per_process, where it is not said."""
CONNECTIONS = 4
"""That generate data at once where the number of processors is not known (``Postgres.parallelism``)."""


def capacity(platform: Platform, facts: Mapping[str, Any]) -> Capacity:
    """Of a single server."""
    buffers = shared_buffers(platform, facts)
    return Capacity(
        data_roles=("coordinator", "segment"),
        sessions_max=sessions_max(platform, facts),
        sessions_remedy="raise max_connections in 'settings' of its file, or choose fewer clients",
        processes_per_session=1,
        session_bytes=SESSION_BYTES,
        memory_fixed_bytes=buffers.value,
        memory_said_by=buffers.said_by,
        open_files_of_process_max=OPEN_FILES_MAX,
        generating_processes=cpus(platform) or CONNECTIONS,
    )


def sessions_max(platform: Platform, facts: Mapping[str, Any]) -> Known | None:
    """``max_connections`` less those that are kept for superusers; None where neither file nor facts say it."""
    said = setting("max_connections", platform, facts)
    if said is None or not said[0].isdigit():
        return None
    kept = setting("superuser_reserved_connections", platform, facts)
    reserved = int(kept[0]) if kept and kept[0].isdigit() else RESERVED
    return Known(int(said[0]) - reserved, f"max_connections {said[0]} {said[1]}, less {reserved} for superusers")


def shared_buffers(platform: Platform, facts: Mapping[str, Any], default: str = SHARED_BUFFERS) -> Known:
    text, source = setting("shared_buffers", platform, facts) or (default, "as it is unless set")
    return Known(size_bytes(text, BLOCK_BYTES) or 0, f"shared_buffers {text} {source}")


def setting(name: str, platform: Platform, facts: Mapping[str, Any]) -> tuple[str, str] | None:
    """Its value, and who says it: the platform's file, or an earlier run's look at the server."""
    if name in platform.settings:
        return platform.settings[name], "in its file"
    found = (facts.get("settings") or {}).get(name)
    return (str(found), "as an earlier run found it") if found is not None else None
