"""What the hosts are, hosts alike as one, and what the platforms of a run are made of that is not the same. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterbench.base.words import ABSENT, plural, size
from clusterbench.results.facts_compared import (
    Difference,
    Side,
    comparable,
    count_of_facts,
    differences,
    folded,
    named,
)
from clusterbench.results.gather import Gathered

COLUMNS = ("processors", "memory", "disks", "file systems", "network", "system", "virtualisation")
NAMED_MAX = 8
"""Of the facts that differ, so that the sentence stays one."""


@dataclass(frozen=True)
class Group:
    """Hosts alike: "worker1–worker4", how many, what they are for, and a text for each of COLUMNS."""

    hosts: str
    count: int
    roles: str
    texts: list[str]


@dataclass(frozen=True)
class HostFacts:
    """``details``: every fact, with its hosts where it is not the same on all. ``clocks`` is a sentence."""

    groups: list[Group]
    details: list[tuple[str, str]]
    clocks: str


def host_facts(side: Side) -> HostFacts:
    found = {host: comparable(facts) for host, facts in side.hosts.items()}
    alike: dict[tuple[str, ...], list[str]] = {}
    for host, texts in found.items():
        roles = ", ".join(side.roles.get(host, []))
        alike.setdefault((roles, *_texts(side.hosts[host], texts)), []).append(host)
    return HostFacts(
        [Group(named(hosts), len(hosts), said[0], list(said[1:])) for said, hosts in alike.items()],
        _details(found),
        _clocks(side.hosts),
    )


def _texts(facts: Mapping[str, Any], said: Mapping[str, str]) -> list[str]:
    return [
        _processors(facts),
        _memory(said),
        said.get("disk") or said.get("disks") or ABSENT,
        said.get("file_system", ABSENT),
        "; ".join(said[name] for name in ("nic", "virtual_nic") if name in said) or ABSENT,
        _listed(said.get("system"), said.get("kernel"), said.get("machine")),
        _virtualisation(said),
    ]


def _virtualisation(said: Mapping[str, str]) -> str:
    """ "none" only where the host said so; ``virtualization`` is that of an older archive."""
    told = [said[name] for name in ("hypervisor", "container", "virtualization") if name in said]
    return _listed(*(name for name in told if name != "none")) if set(told) != {"none"} else "none"


def _processors(facts: Mapping[str, Any]) -> str:
    """ "8 × AMD EPYC (1 socket, 4 cores, 8 threads), limited to 2.5"."""
    counts = [(facts.get(f"cpu_{what}s"), what) for what in ("socket", "core", "thread")]
    inside = ", ".join(plural(count, what) for count, what in counts if count)
    limit = facts.get("cpu_limit")
    return (
        f"{facts.get('cpus', ABSENT)} × {facts.get('cpu_model', 'processor')}"
        + (f" ({inside})" if inside else "")
        + (f", limited to {limit:g}" if limit else "")
    )


def _memory(said: Mapping[str, str]) -> str:
    limit, swap = said.get("memory_limit_bytes"), said.get("swap_bytes")
    is_limited, has_swap = limit not in (None, "none"), swap not in (None, size(0))
    limited, swapping = f"limited to {limit}" if is_limited else None, f"swap {swap}" if has_swap else None
    return _listed(said.get("memory_bytes"), limited, swapping)


def _listed(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part) or ABSENT


def _details(found: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    details = []
    for name in dict.fromkeys(name for host in found.values() for name in host):
        values: dict[str, list[str]] = {}
        for host, texts in found.items():
            values.setdefault(texts.get(name, ABSENT), []).append(host)
        details.append((name, next(iter(values)) if len(values) == 1 else folded(values)))
    return details


def _clocks(hosts: Mapping[str, Mapping[str, Any]]) -> str:
    asked = {host: facts for host, facts in hosts.items() if "clock_offset_ms" in facts}
    if not asked:
        return ""
    worst = max(asked, key=lambda host: abs(float(asked[host]["clock_offset_ms"])))
    off, unsure = (asked[worst].get(f"clock_offset_{name}") for name in ("ms", "uncertainty_ms"))
    of_all = f"of {plural(len(asked), 'host')} " if len(asked) > 1 else ""
    return f"The clock {of_all}that is furthest from the worker's is {worst}'s: {off} ms, ± {unsure} ms."


# Platforms of one run.


@dataclass(frozen=True)
class PlatformDifferences:
    """Of a platform to the reference: a sentence, and all that differs."""

    platform: str
    reference: str
    says: str
    decides: bool
    differences: list[Difference]


def platform_differences(run: Gathered) -> list[PlatformDifferences]:
    """One a platform but for the reference, which ratios are to; none where the run has but one."""
    return [_differences(run, name, run.platforms[0]) for name in run.platforms[1:]]


def _differences(run: Gathered, name: str, reference: str) -> PlatformDifferences:
    first, other = (run.sides.get(each, Side({}, {})) for each in (reference, name))
    if not first.hosts or not other.hosts:
        unread = " and ".join(p for p, side in ((reference, first), (name, other)) if not side.hosts)
        return PlatformDifferences(name, reference, f"no facts were read of the hosts of {unread}", True, [])
    found = differences(first, other)
    if not found:
        same = f"{plural(count_of_facts(first, other), 'fact')} are the same"
        return PlatformDifferences(name, reference, same, False, [])
    deciding = _names(one for one in found if one.decides)
    says = f"{plural(len(found), 'fact')} {'differs' if len(found) == 1 else 'differ'}"
    if deciding:
        more = f" and {len(deciding) - NAMED_MAX} more" if len(deciding) > NAMED_MAX else ""
        says += f"; a ratio holds what this does, too: {', '.join(deciding[:NAMED_MAX])}{more}"
    return PlatformDifferences(name, reference, says, bool(deciding), found)


def _names(found: Iterable[Difference]) -> Sequence[str]:
    return list(dict.fromkeys(one.what.replace("_", " ") for one in found))
