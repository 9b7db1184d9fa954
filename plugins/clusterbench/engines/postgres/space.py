"""Bytes on disks: those that datasets may still take, and those that a table has taken."""

from __future__ import annotations

from collections.abc import Iterable

from clusterbench.base.sql import statement
from clusterbench.engines.instances import COORDINATOR
from clusterbench.engines.postgres.server import Server


def free_bytes(server: Server) -> int | None:
    """That evenly spread rows may take; None where no host can be asked."""
    if not server.platform.database_hosts:
        return None
    every = server.instances()
    data = [i for i in every if i.content != COORDINATOR] or every
    answers = server.on_instances("postgres/free", data, "df must be there")
    lines = [f"{host} {line}" for host, said in answers.items() for line in said.splitlines()]
    return free_for_rows(lines, sum(i.is_primary_segment for i in every))


def free_for_rows(lines: Iterable[str], primaries: int) -> int:
    """Bytes that evenly spread rows may take, from ``host source available`` lines, one per instance. Pure.

    Instances that share a file system share its space, and the fullest one ends the load for all.
    """
    shares: dict[tuple[str, str], list[int]] = {}
    for line in lines:
        host, source, available = line.split()
        shares.setdefault((host, source), []).append(int(available))
    return min(min(found) // len(found) for found in shares.values()) * max(1, primaries) if shares else 0


def stored_bytes(server: Server, table: str) -> int:
    """What a table takes on disk, or all of a schema; 0 where there is none."""
    return int(server.query(statement("postgres", "stored_bytes", table=table))[0]["bytes"])
