"""Hosts that are slower than their peers, or than themselves some time ago, from how fast each is by itself. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from clusterbench.base.words import number, percent, plural
from clusterbench.hosts.speed_kinds import KINDS

PEERS_MIN = 2
"""Others of the same roles. With one, nobody knows which of the two is the slow one."""
EARLIER_MIN, EARLIER_MAX = 3, 10
"""Measurements of the same host before, of which the median is taken."""
Speeds = Mapping[str, Mapping[str, float]]
"""Host -> name of ``speed_kinds.KINDS`` -> value; higher is better."""


@dataclass(frozen=True)
class Straggler:
    """``than``: its peers, or itself before. ``slower_percent``: by how much less than ``usual``, their median."""

    host: str
    what: str
    value: float
    usual: float
    than: str

    @property
    def slower_percent(self) -> float:
        return 100 * (1 - self.value / self.usual)

    def __str__(self) -> str:
        return (
            f"{self.host}: {KINDS[self.what].title} {percent(self.slower_percent)} slower than {self.than} "
            f"({number(self.value)} instead of {number(self.usual)})"
        )

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "slower_percent": self.slower_percent, "says": str(self)}


def find(
    speeds: Speeds, roles: Mapping[str, Sequence[str]], earlier: Sequence[Speeds], slower_percent: float
) -> list[Straggler]:
    """The slowest first, each host and measurement once. ``earlier``: the newest last."""
    alike: dict[tuple[tuple[str, ...], str], list[float]] = {}
    for host, values in speeds.items():
        for what, value in values.items():
            alike.setdefault((_kind(host, roles), what), []).append(value)
    for same in alike.values():
        same.sort()
    found = [
        one
        for host, values in speeds.items()
        for what, value in values.items()
        for one in _of(host, what, value, alike[_kind(host, roles), what], earlier[-EARLIER_MAX:])
        if one.slower_percent >= slower_percent
    ]
    worst: dict[tuple[str, str], Straggler] = {}
    for one in sorted(found, key=lambda each: -each.slower_percent):
        worst.setdefault((one.host, one.what), one)
    return list(worst.values())


def _kind(host: str, roles: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Hosts with the same roles are peers."""
    return tuple(sorted(roles.get(host, ())))


def _of(host: str, what: str, value: float, same: list[float], earlier: Sequence[Speeds]) -> list[Straggler]:
    """``same``: the values of all hosts with its roles, its own among them, in rising order."""
    own = bisect_left(same, value)
    peers = same[:own] + same[own + 1 :]
    before = [of[host][what] for of in earlier if what in of.get(host, {})]
    found = []
    if len(peers) >= PEERS_MIN:
        found.append(Straggler(host, what, value, median(peers), f"its {len(peers)} peers"))
    if len(before) >= EARLIER_MIN:
        found.append(Straggler(host, what, value, median(before), f"in {plural(len(before), 'measurement')} before"))
    return [one for one in found if one.usual > 0]


def slow_in(found: Sequence[Straggler], hosts: Sequence[str]) -> dict[str, str]:
    """A fact of each host, which stays the same while it is slow in the same: "memory and processors", or "nothing"."""
    slow: dict[str, set[str]] = {host: set() for host in hosts}
    for one in found:
        slow.setdefault(one.host, set()).add(KINDS[one.what].title)
    return {host: " and ".join(sorted(what)) or "nothing" for host, what in slow.items()}
