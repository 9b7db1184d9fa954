"""What a deployment has and takes, as far as its file and its facts show, for a plan. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusterbench.spec.placed import placed, working_hosts
from clusterbench.spec.platform import Platform

SIZE = re.compile(r"^\s*(\d+)\s*(B|kB|MB|GB|TB)?\s*$")
UNITS = {"B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


@dataclass(frozen=True)
class Known:
    """A number, and who says it: "max_connections in its file"."""

    value: int
    said_by: str


@dataclass(frozen=True)
class Capacity:
    """Of one deployment. What is None nobody has said, so that nothing can be refused by it."""

    data_roles: tuple[str, ...]
    """Roles of the hosts that hold the rows: the first that any host has."""
    sessions_max: Known | None = None
    """That drivers may have at once."""
    sessions_remedy: str = ""
    running_at_once: Known | None = None
    """Of them; the others wait for their turn, because somebody has limited it. None: nobody has, or nobody said so."""
    processes_per_session: int = 0
    """On each host that holds rows, at least."""
    session_bytes: int = 0
    """Memory that a process of a session takes at least."""
    memory_fixed_bytes: int = 0
    """On each of these hosts, whoever is connected: shared buffers, daemons, containers."""
    memory_said_by: str = ""
    copies: int = 1
    """How often the engine keeps each byte of a table."""
    has_file_servers: bool = False
    """Load files are read through servers on the ETL host, not by sessions of their own."""
    open_files_of_process_max: int = 0
    """A process closes files when it has more open; 0: it opens none of tables."""
    connections_fixed: int = 0
    """On each host, whoever is connected, such as those of a shuffle."""
    open_files_fixed: int = 0
    generating_processes: int = 1
    """That make rows at once, over all hosts."""


def cpus(platform: Platform) -> int | None:
    """Processors, cores where they are known, of all hosts that do the work; None where the file tells none."""
    hosts, one = len(working_hosts(platform)), placed(platform)
    if one:
        each = one.size.cpus if one.is_virtual else one.machine.cores
        return max(1, round(hosts * each * (one.placement.thread_cpus or 1)))
    return hosts * platform.segment_host.cpus if platform.segment_host else None


def size_bytes(text: str, unit: int) -> int | None:
    """``430GB`` or, in units of ``unit`` bytes, ``16384``, as a server prints them; None for what is no size."""
    found = SIZE.match(text)
    if not found:
        return None
    return int(found[1]) * (UNITS[found[2]] if found[2] else unit)
