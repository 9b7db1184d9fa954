"""What each cell of a plan needs of its platform, and what of that cannot be had. Pure: touches no host.

Refused is only what contradicts something that the platform's file declares, or that an earlier run has read back;
everything else is said, and nobody knows whether it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from clusterbench.base.factors import Level
from clusterbench.base.records import Trial
from clusterbench.engines.capacity import Capacity
from clusterbench.hosts.telemetry import LONGEST_S
from clusterbench.spec import Platform, host_settings
from clusterbench.spec.placed import host_memory_bytes
from clusterbench.trial.measured import Kind, Time
from clusterbench.workloads import WARM
from clusterbench.workloads.needs import Needs

EPHEMERAL_PORTS = (32768, 60999)
"""net.ipv4.ip_local_port_range, where it is not said."""
PORT_KEPT_S = 60
"""So long a closed connection keeps its port on the side that closed it (TIME_WAIT)."""
TELEMETRY_BYTES_PER_S = 600
"""Of one host, compressed: 420 measured in the lab, with two processors and one disk; more disks are more."""
PORT_MAX = 65535


@dataclass(frozen=True)
class CellNeeds:
    """One cell of a platform. Numbers of hosts are of the one that needs most; bytes read and written of all."""

    platform: str
    sweep: str
    cell: str
    label: str
    levels: Mapping[str, Level]
    trials: int
    not_applicable: str | None
    """Why it cannot be had there; then it needs nothing."""
    read_bytes: int | None = None
    written_bytes: int | None = None
    """None, as of what is read: it depends on how fast the platform is."""
    memory_bytes: int | None = None
    """At least, on a host that does the work; None where no host of the engine is known."""
    connections: int = 0
    """Of the drivers, at once, from their host; where there are none, those of a worker to other workers."""
    open_files: int = 0
    """Of tables at most, on a host that does the work."""
    ports: int = 0
    """On the host that drives it, at most."""
    largest_object_bytes: int = 0
    estimate_s: float = 0.0
    """Of one trial, from its beginning to that of the next."""
    basis: Kind | Literal[""] = ""
    basis_says: str = ""
    refused: tuple[str, ...] = ()
    """Why it cannot be: number and remedy."""
    mind: tuple[str, ...] = ()
    """What may go wrong, where nobody has declared enough to tell."""

    @property
    def total_s(self) -> float:
        return self.trials * self.estimate_s


@dataclass(frozen=True)
class Ground:
    """What a platform has, as far as it is known, for all of its cells."""

    platform: Platform
    capacity: Capacity
    host_memory: int | None = None
    """Of each host that does the work, declared or read back."""
    host_memory_said_by: str = ""
    port_range: tuple[int, int] = EPHEMERAL_PORTS
    is_port_range_declared: bool = False
    open_files_limit: int | None = None
    """Of a process of the engine, declared."""
    engines: int = field(default=1)
    """The platform's own and its neighbours', which are under the same load from the same host."""


def ground_of(platform: Platform, capacity: Capacity, facts: Mapping[str, object]) -> Ground:
    """``facts``: of an earlier run, or nothing."""
    memory, said_by = host_memory_bytes(platform), "in its file"
    if memory is None and (seen := _memory_seen(platform, capacity, facts)):
        memory, said_by = seen, "as an earlier run found it"
    settings = host_settings.items(platform)
    declared = _declared(settings.get(platform.client, []), "net.ipv4.ip_local_port_range")
    low, high = map(int, declared.split()[:2]) if declared else EPHEMERAL_PORTS
    hosts = [settings.get(host, []) for host in platform.hosts_with(*capacity.data_roles)]
    limits = [int(found) for items in hosts if (found := _declared(items, "limit nofile")).isdigit()]
    return Ground(
        platform,
        capacity,
        memory,
        said_by,
        (low, high),
        bool(declared),
        min(limits, default=None),
        1 + len(platform.neighbours),
    )


def _memory_seen(platform: Platform, capacity: Capacity, facts: Mapping[str, object]) -> int | None:
    hosts = facts.get("hosts")
    if not isinstance(hosts, Mapping):
        return None
    told = [hosts[host].get("memory_bytes") for host in platform.hosts_with(*capacity.data_roles) if host in hosts]
    return min((int(found) for found in told if found), default=None)


def _declared(items: Sequence[host_settings.Item], setting: str) -> str:
    """Of one host; nothing where its file does not say it."""
    return next((item.declared for item in items if item.setting == setting), "")


def cell_needs(trials: Sequence[Trial], needs: Needs, time: Time, ground: Ground) -> CellNeeds:
    """Of the trials of one cell that can be had."""
    first, capacity = trials[0], ground.capacity
    sessions = max(needs.sessions, 0 if capacity.has_file_servers else needs.load_files)
    servers = needs.load_files if capacity.has_file_servers else 0
    processes = (needs.server_sessions or sessions) * capacity.processes_per_session
    reads = needs.read_bytes
    if reads is not None and first.levels.get("cache") in WARM:
        reads += needs.relation_bytes  # into the caches, unless they are there already
    files = min(needs.relation_files, capacity.open_files_of_process_max)
    found = CellNeeds(
        platform=first.platform,
        sweep=first.sweep,
        cell=first.cell,
        label=first.cell_label,
        levels=first.levels,
        trials=len(trials),
        not_applicable=None,
        read_bytes=None if reads is None else reads * ground.engines,
        written_bytes=_written(needs, capacity, ground.engines),
        memory_bytes=_memory(processes, ground),
        connections=sessions * ground.engines if needs.sessions else capacity.connections_fixed,
        open_files=processes * files + capacity.open_files_fixed,
        ports=(sessions + needs.reconnections) * ground.engines + servers,
        largest_object_bytes=max(needs.output_bytes, _telemetry_bytes(time.seconds, ground.platform)),
        estimate_s=time.seconds,
        basis=time.kind,
        basis_says=time.basis,
    )
    refused = tuple(_refusals(found, needs, sessions, files, ground))
    return CellNeeds(**{**vars(found), "refused": refused, "mind": tuple(_minds(needs, sessions, ground))})


def _telemetry_bytes(seconds: float, platform: Platform) -> int:
    """Of all hosts, as the archive has it: one object a trial."""
    return int(min(seconds, LONGEST_S) * TELEMETRY_BYTES_PER_S) * len(platform.every_host)


def not_had(trials: Sequence[Trial], why: str) -> CellNeeds:
    """Of a cell that is not applicable."""
    first = trials[0]
    return CellNeeds(first.platform, first.sweep, first.cell, first.cell_label, first.levels, len(trials), why)


def _written(needs: Needs, capacity: Capacity, engines: int) -> int | None:
    """Mirrors write all that stays once more."""
    if needs.written_bytes is None:
        return None
    stays = needs.written_bytes - min(needs.temporary_bytes, needs.written_bytes)
    return engines * (needs.written_bytes + (capacity.copies - 1) * stays)


def _memory(processes: int, ground: Ground) -> int | None:
    if not ground.platform.hosts_with(*ground.capacity.data_roles):
        return None
    return ground.capacity.memory_fixed_bytes + processes * ground.capacity.session_bytes


def _refusals(cell: CellNeeds, needs: Needs, sessions: int, files: int, ground: Ground) -> Iterator[str]:
    capacity = ground.capacity
    reaching = needs.server_sessions or sessions
    if (most := capacity.sessions_max) and reaching > most.value:
        yield (
            f"{reaching:,} sessions on the server at once, and it takes {most.value:,} ({most.said_by}); "
            f"{capacity.sessions_remedy}"
        )
    if ground.host_memory and cell.memory_bytes and cell.memory_bytes > ground.host_memory:
        yield (
            f"{cell.memory_bytes / 2**30:,.1f} GiB of memory on a host at least ({capacity.memory_said_by}, and its "
            f"sessions), and it has {ground.host_memory / 2**30:,.1f} GiB {ground.host_memory_said_by}; choose smaller "
            "buffers or containers, or fewer clients"
        )
    low, high = ground.port_range
    at_once = sessions * ground.engines
    if ground.is_port_range_declared and at_once > high - low + 1:
        yield (
            f"{at_once:,} connections at once from host {ground.platform.client!r}, which has {high - low + 1:,} ports "
            f"for them (net.ipv4.ip_local_port_range {low} {high} in its file); widen it, or choose fewer clients"
        )
    if needs.load_files and capacity.has_file_servers:
        last = ground.platform.gpfdist_port + needs.load_files - 1
        if last > PORT_MAX:
            yield f"file servers on ports up to {last}, and {PORT_MAX} is the last; lower gpfdist_port in its file"
    if ground.open_files_limit and files > ground.open_files_limit:
        yield (
            f"{files:,} open files of one process, and its file limits them to {ground.open_files_limit:,} "
            "(limits, nofile); raise that"
        )


def _minds(needs: Needs, sessions: int, ground: Ground) -> Iterator[str]:
    low, high = ground.port_range
    if (most := ground.capacity.running_at_once) and sessions > most.value:
        yield (
            f"{sessions:,} sessions, and {most.said_by} at once: {most.value:,}. The others wait for their turn, and "
            "that is in the times. It is what the role gets every day; to measure the servers, give the role more"
        )
    ports = high - low + 1
    if needs.reconnections > ports:
        said = "as its file declares" if ground.is_port_range_declared else "unless it is set otherwise"
        yield (
            "opens so many connections, one after the other, as stands below 'ports'; host "
            f"{ground.platform.client!r} has {ports:,} ports for them ({said}), and each stays taken for "
            f"{PORT_KEPT_S} s: more than {ports // PORT_KEPT_S:,} a second end in 'Cannot assign requested address'. "
            "Set net.ipv4.ip_local_port_range to 1024 65535 and net.ipv4.tcp_tw_reuse to 1 there"
        )
