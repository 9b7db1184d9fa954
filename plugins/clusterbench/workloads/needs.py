"""What one trial asks of a cluster, as far as its levels tell. Pure.

A workload says it by a method ``needs(levels, seed)``; one without it asks for what most do (``usual``). What that is
on each host, and whether it is there, is the plan's to say (``trial/needs.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from clusterbench.base.factors import Level

if TYPE_CHECKING:
    from clusterbench.workloads import Workload

PAGE_BYTES = 8192
LOG_LINE_BYTES = 35
"""Of pgbench's log, for each transaction: 29 in the lab with few clients; numbers of many have more digits."""


@dataclass(frozen=True)
class Needs:
    """Of the measured window, unless said otherwise."""

    sessions: int = 1
    """On the database at once; 0: none, it is no database."""
    server_sessions: int | None = None
    """Of those, that reach the server, where a pooler is between."""
    reconnections: int = 0
    """Sessions that are opened and closed one after the other, beside those at once."""
    load_files: int = 0
    """That are read at once, each by a session or through a file server of its own, as the engine does it."""
    read_bytes: int | None = None
    """Of tables, indexes and files, wherever they come from; None: that depends on how fast it is."""
    written_bytes: int | None = None
    """Of tables, indexes and temporary files, each copy once; None as above."""
    temporary_bytes: int = 0
    """Of those, what is gone when the trial ends."""
    relation_bytes: int = 0
    """Of the tables and indexes whose state in the caches is part of the trial (``Workload.relations``)."""
    relation_files: int = 1
    """Files of a table that a session has open on an instance: tables, partitions, indexes, columns."""
    output_bytes: int = 0
    """The largest file of the driver's that goes to the archive."""
    client_bytes: int = 0
    """What the driver leaves on its host until it is collected."""
    declared_s: float = 0.0
    """Of the driver's time, what the levels fix, such as a window."""
    search_s: float = 0.0
    """The search for a load, before the driver."""


@runtime_checkable
class SaysNeeds(Protocol):
    """A workload that knows more than ``usual``."""

    def needs(self, levels: Mapping[str, Level], seed: int) -> Needs: ...


def needs_of(workload: Workload, levels: Mapping[str, Level], seed: int) -> Needs:
    return workload.needs(levels, seed) if isinstance(workload, SaysNeeds) else usual(workload, levels, seed)


def usual(workload: Workload, levels: Mapping[str, Level], seed: int) -> Needs:
    """As many sessions as the factor of concurrency has; nobody knows what they read."""
    sessions = (int(levels[name]) for name, factor in workload.factors.items() if factor.is_concurrency)
    return Needs(sessions=next(sessions, 1), relation_bytes=workload.dataset(levels, seed).bytes_expected)
