"""What a database did during a trial that a client does not see: from its own totals before and after. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clusterbench.base.measurements import KERNELS, NO_CLOCK, SERVER, About, MeasurementKind
from clusterbench.base.words import quantity

WAITS: Mapping[str, str] = {
    "CPU": "sessions_on_cpu",
    "Lock": "sessions_waiting_for_locks",
    "LWLock": "sessions_waiting_for_latches",
    "IO": "sessions_waiting_for_io",
    "Client": "sessions_waiting_for_clients",
    "Work": "sessions_at_work",
    "": "sessions_waiting_for_others",
}
"""PostgreSQL's type of a wait -> the measurement that counts it; "": all other types. "Work" is Greenplum 6's."""
TOTALS: Mapping[str, MeasurementKind] = {
    "temporary_mb": MeasurementKind(
        "MB",
        "Written to temporary files",
        "neither",
        about=About("Bytes that sorts, hashes and the like wrote because they had too little memory.", NO_CLOCK),
    ),
    "read_mb": MeasurementKind(
        "MB",
        "Read from outside of the database's cache",
        "neither",
        about=About(
            "Blocks that were not in the database's cache, times their size.",
            NO_CLOCK,
            "whether they came from a disk or from the file system's cache",
        ),
    ),
    "wal_mb": MeasurementKind(
        "MB",
        "Written to the write-ahead log",
        "neither",
        about=About("How far the write-ahead log of the server went on, in bytes. Not of Greenplum.", NO_CLOCK),
    ),
    "data_written_mb": MeasurementKind(
        "MB",
        "Written to the files of tables and indexes",
        "neither",
        about=About(
            "Bytes written to files of tables and indexes, by all processes of the server. From PostgreSQL 16 on; not "
            "of Greenplum.",
            NO_CLOCK,
        ),
    ),
    "data_written_by_sessions_mb": MeasurementKind(
        "MB",
        "Written to the files of tables and indexes by sessions themselves",
        "neither",
        about=About(
            "The part of it that sessions wrote, because nobody else had done it in time. From PostgreSQL 16 on; not "
            "of Greenplum.",
            NO_CLOCK,
        ),
    ),
    "checkpoints": MeasurementKind(
        "1",
        "Checkpoints",
        "neither",
        about=About("Checkpoints that were done, by time or by size. Not of Greenplum.", NO_CLOCK),
    ),
    "deadlocks": MeasurementKind(
        "1", "Deadlocks", "neither", about=About("Deadlocks that the server found and ended.", NO_CLOCK)
    ),
}
SESSIONS: Mapping[str, MeasurementKind] = {
    "sessions_on_cpu": MeasurementKind(
        "1",
        "Sessions that waited for nothing but a processor",
        "neither",
        about=About("Those that ran, or stood in line for a processor.", SERVER),
    ),
    "sessions_waiting_for_locks": MeasurementKind(
        "1",
        "Sessions that waited for locks",
        "neither",
        about=About("Those that waited for a lock of a row, a table or a transaction.", SERVER),
    ),
    "sessions_waiting_for_latches": MeasurementKind(
        "1",
        "Sessions that waited for latches of the server",
        "neither",
        about=About("Those that waited for a lock of the server's own memory (LWLock).", SERVER),
    ),
    "sessions_waiting_for_io": MeasurementKind(
        "1",
        "Sessions that waited for disks",
        "neither",
        about=About("Those that waited for a read or a write of a file.", SERVER),
    ),
    "sessions_waiting_for_clients": MeasurementKind(
        "1",
        "Sessions that waited for their clients",
        "neither",
        about=About("Those within a statement or transaction whose client had the turn.", SERVER),
    ),
    "sessions_at_work": MeasurementKind(
        "1",
        "Sessions whose statement worked, or waited for no lock",
        "neither",
        about=About("Those that waited for no lock. Only Greenplum 6 has it.", SERVER),
    ),
    "sessions_waiting_for_others": MeasurementKind(
        "1",
        "Sessions that waited for something else",
        "neither",
        about=About("Those whose wait is of no type above.", SERVER),
    ),
}
NETWORK: Mapping[str, MeasurementKind] = {
    "datagrams_per_s": MeasurementKind(
        "1/s",
        "UDP datagrams received",
        "neither",
        about=About("UDP datagrams that the database's hosts received; Greenplum's interconnect sends them.", KERNELS),
    ),
    "datagrams_lost_per_s": MeasurementKind(
        "1/s",
        "UDP datagrams lost by the receiver",
        "neither",
        about=About(
            "UDP datagrams that arrived and were thrown away, mostly because a buffer was full.",
            KERNELS,
            "datagrams that the network lost",
        ),
    ),
    "segments_resent_per_s": MeasurementKind(
        "1/s",
        "TCP segments sent again",
        "neither",
        about=About("TCP segments that the database's hosts sent again, because nobody acknowledged them.", KERNELS),
    ),
}
"""Of the database's hosts, which their kernels count: Greenplum's interconnect sends UDP, or TCP where told to."""
MEASUREMENTS: Mapping[str, MeasurementKind] = {**TOTALS, **SESSIONS, **NETWORK}
"""From just before the driver until just after it, so with the checking of answers. An engine tells those that it
counts: Greenplum those of its segments, without log and checkpoints. Sessions are means over the measured window, where
they were looked at (``trial/waits.py``)."""
OTHERS_MB_S, ALL_MB_S = "others_mb_s", "yarn_mb_s"
"""Running totals: memory that other people's applications have held, and that YARN has had, each times seconds."""
BYTES_PER_MB = 1e6
CHANGED_MIN = 1.5
"""Times as much, or a part as little, from which on it is reported as a change."""
FLOORS = {"temporary_mb": 1.0, "read_mb": 10.0, "wal_mb": 10.0, "checkpoints": 1.0, "deadlocks": 1.0}
FLOORS |= {"data_written_mb": 10.0, "data_written_by_sessions_mb": 10.0}
FLOORS |= dict.fromkeys(WAITS.values(), 0.2)
FLOORS |= {"datagrams_per_s": 1000.0, "datagrams_lost_per_s": 10.0, "segments_resent_per_s": 10.0}
"""Differences that are smaller are none: statistics and checks of our own cost as much."""


@dataclass(frozen=True)
class WorkChange:
    """Means of the runs of either level."""

    measurement: str
    before: float
    after: float

    @property
    def is_of_locks(self) -> bool:
        """More was waited for locks, which is a cause; that fewer were is the effect of something else."""
        return self.measurement == WAITS["Lock"] and self.after > self.before

    def __str__(self) -> str:
        kind = MEASUREMENTS[self.measurement]
        sides = (quantity(value, kind.unit) for value in (self.before, self.after))
        return f"{kind.title.lower()}: {' before, '.join(sides)} after"


def of_trial(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Differences of an engine's totals; none of what was reset meanwhile, as when a server was restarted."""
    found = {}
    for name in TOTALS:
        total = f"{name.removesuffix('_mb')}_bytes" if name.endswith("_mb") else name
        if total in before and total in after and after[total] >= before[total]:
            difference = float(after[total] - before[total])
            found[name] = difference / BYTES_PER_MB if name.endswith("_mb") else difference
    return found | _of_others(before, after)


def _of_others(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Of a managed Hadoop: the share of YARN's memory that other people's applications had."""
    if not {OTHERS_MB_S, ALL_MB_S} <= before.keys() & after.keys():
        return {}
    had, all_of_it = (after[name] - before[name] for name in (OTHERS_MB_S, ALL_MB_S))
    return {"others_memory_share": had / all_of_it} if had >= 0 and all_of_it > 0 else {}


def changes(before: Mapping[str, float], after: Mapping[str, float]) -> list[WorkChange]:
    """By measurement; the largest in proportion first."""
    found = [WorkChange(name, before[name], after[name]) for name in MEASUREMENTS if name in before and name in after]
    return sorted(filter(_counts, found), key=_proportion, reverse=True)


def _counts(one: WorkChange) -> bool:
    return abs(one.after - one.before) >= FLOORS[one.measurement] and _proportion(one) >= CHANGED_MIN


def _proportion(one: WorkChange) -> float:
    low, high = sorted((one.before, one.after))
    return high / max(low, FLOORS[one.measurement])
