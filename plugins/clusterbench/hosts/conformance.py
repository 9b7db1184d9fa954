"""Is the platform what its file says: every declared setting, what was found, where, and whether that will do. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from clusterbench.spec.host_settings import Item, accepted_reason
from clusterbench.spec.platform import Platform

AS_DECLARED, ACCEPTED, DIFFERENT = "as declared", "accepted", "different"
ENGINE = "engine"
"""Stands for a host in the rows of settings that the engine as a whole has; of a neighbour, its name follows."""
HOSTS_NAMED = 5


@dataclass(frozen=True)
class Row:
    """One declared setting of one host, or of the engine. ``found`` is empty where it is unknown there."""

    host: str
    setting: str
    declared: str
    found: str
    verdict: str
    reason: str = ""

    def as_json(self) -> dict[str, str]:
        return asdict(self)


@dataclass(frozen=True)
class Folded:
    """The rows of all hosts that are alike but for the host."""

    row: Row
    hosts: Sequence[str]

    @property
    def where(self) -> str:
        """``engine``, ``sdw1``, ``4 hosts: sdw1, sdw2, sdw3, sdw4``; of many the first few."""
        if len(self.hosts) == 1:
            return self.hosts[0]
        named = ", ".join(self.hosts[:HOSTS_NAMED]) + (", …" if len(self.hosts) > HOSTS_NAMED else "")
        return f"{len(self.hosts)} hosts: {named}"


def of_hosts(
    platform: Platform, declared: Mapping[str, Sequence[Item]], found: Mapping[str, Mapping[str, str]]
) -> list[Row]:
    return [
        _row(platform, host, item.setting, item.declared, value, holds=item.holds(value))
        for host, items in declared.items()
        for item in items
        for value in [found.get(host, {}).get(item.setting, "")]
    ]


def of_engine(
    platform: Platform, declared: Mapping[str, str], found: Mapping[str, str], engine: str = ENGINE
) -> list[Row]:
    return [
        _row(platform, engine, name, value, found.get(name, ""), holds=found.get(name) == value)
        for name, value in declared.items()
    ]


def of_claims(platform: Platform, claims: Iterable[tuple[str, str, str, str, bool]]) -> list[Row]:
    """``claims``: host, what, declared, found, and whether that is as declared."""
    return [_row(platform, host, what, wanted, seen, holds=holds) for host, what, wanted, seen, holds in claims]


def _row(platform: Platform, host: str, setting: str, declared: str, found: str, *, holds: bool) -> Row:
    row = Row(host, setting, declared, found, AS_DECLARED if holds else DIFFERENT)
    reason = "" if holds else accepted_reason(platform, host, setting)
    return replace(row, verdict=ACCEPTED, reason=reason) if reason else row


def fold(rows: Iterable[Row]) -> list[Folded]:
    """Rows of hosts that are alike as one; what differs comes first, then what is accepted."""
    alike: dict[Row, list[str]] = {}
    for row in rows:
        alike.setdefault(replace(row, host=""), []).append(row.host)
    order = (DIFFERENT, ACCEPTED, AS_DECLARED)
    folded = [Folded(row, hosts) for row, hosts in alike.items()]
    return sorted(folded, key=lambda each: order.index(each.row.verdict))


def problem(platform: Platform, rows: Sequence[Row]) -> str:
    """What differs and is not accepted, in words for people; empty where all is as declared."""
    wrong = [each for each in fold(rows) if each.row.verdict == DIFFERENT]
    if not wrong:
        return ""
    lines = [
        f"  {each.where}: {each.row.setting}: declared {each.row.declared!r}, "
        + (f"found {each.row.found!r}" if each.row.found else "found no such setting")
        for each in wrong
    ]
    return (
        f"platform {platform.platform!r} differs from its file:\n" + "\n".join(lines) + "\n"
        f"Change the cluster ('clusterbench setup {platform.platform}' shows what would be changed), or what the file "
        "declares; or accept it there, under 'setup.accepted', with a reason"
    )


def archived(document: Mapping[str, Any] | None) -> list[Row]:
    """The rows of a run's ``conformance.json``; none where it has no such object."""
    return from_json((document or {}).get("rows") or [])


def from_json(entries: Iterable[Mapping[str, Any]]) -> list[Row]:
    return [Row(**entry) for entry in entries]
