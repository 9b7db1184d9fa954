"""What a database counted of each statement during a trial: from its own totals before and after. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

KEPT_MAX = 20
"""Statements that a record keeps: those of the most time."""
TEXT_MAX = 1000
"""Characters of a statement that a record keeps."""


@dataclass(frozen=True)
class Totals:
    """Since statistics were reset, or in a trial. ``time_ms``: of execution, over all sessions."""

    calls: float
    time_ms: float
    rows: float
    read_bytes: float
    temporary_bytes: float

    def as_json(self) -> dict[str, float]:
        return asdict(self)


def since(before: Mapping[str, Mapping[str, float]], after: Mapping[str, Totals]) -> dict[str, Totals]:
    """By the server's number of the statement, what took most time first; none that was reset meanwhile."""
    found = {}
    for number, now in after.items():
        then = before.get(number) or {}
        gone = {one.name: getattr(now, one.name) - then.get(one.name, 0.0) for one in fields(Totals)}
        if gone["calls"] > 0 and min(gone.values()) >= 0:
            found[number] = Totals(**gone)
    most = sorted(found, key=lambda number: (-found[number].time_ms, number))[:KEPT_MAX]
    return {number: found[number] for number in most}


@dataclass(frozen=True)
class Heavy:
    """A statement with $1, $2 in place of its constants, and what it took of the server since statistics were reset."""

    query: str
    calls: int
    time_ms: float
    rows: float = 0.0
    """That all calls answered."""
