"""Two platforms' facts -> what differs. By role, not by host: the two may have other hosts, and more of them. Pure.

Two platforms of one run, or one of two runs.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from clusterbench.base.words import ABSENT, plural, size
from clusterbench.hosts.facts_read import GROUPS
from clusterbench.spec.platform import Host, Hosts

DECIDING = (
    *("hosts", "cpu", "numa", "smt", "turbo", "memory", "disk", "kernel", "hypervisor", "container", "machine"),
    *("file_system", "nic", "huge_page", "transparent_huge_page", "mitigation", "microcode", "architecture"),
    *("engine", "experiment", "seed", "scale", "slow_in"),
)
"""What a fact's name begins with that makes numbers incomparable, or nearly so."""
OF_THE_HOST_ALONE = {
    "address",
    "data_address",
    "data_interface",
    "hostname",
    "boot_id",
    "clock_offset_ms",
    "clock_offset_uncertainty_ms",
    *GROUPS,
}
OF_THE_PLACE = {
    *("data_directory", "database_oid", "program_directory", "hdfs_capacity_bytes", "recovered", "utilities"),
    *("addresses", "places", "instances"),
    *("settings.listen_addresses", "settings.port", "settings.data_directory", "settings.log_directory"),
    *("settings.unix_socket_directories", "settings.external_pid_file", "settings.hba_file", "settings.ident_file"),
    *("settings.config_file", "settings.cluster_name"),
}
"""Where an engine is, not what it is: two of them on one machine differ in these."""
LIMITS = ("cpu_limit", "memory_limit_bytes", "disk_read_limit_mb_per_s")
CLOCK_STEPS_MS = (10.0, 100.0, 1000.0)
"""Hosts are sampled once a second: less than the first says nothing of a run."""
CARRYING_NICS = re.compile(r"(bond|team|vlan|eth|en|em|ib)\d*[^:]*")
"""Of the virtual ones: bonds, VLANs, and what a container has for a network. Bridges and veths come and go."""
ID_OF_A_DISK = re.compile(r"\b(root|resume|BOOT_IMAGE|rd\.[a-z.]+)=\S+ ?")
DEFAULT = "server's default"
AS_COMPARED = "as_compared"
"""In place of facts, of a host or of an engine: the texts that were made of them. The history database keeps those."""
HOSTS: TypeAdapter[dict[str, Host]] = TypeAdapter(Hosts)
RANGES_SHOWN = 4
VALUES_SHOWN = 6


@dataclass(frozen=True)
class Side:
    """A platform as a run found it: ``facts.json``, and the roles of its hosts."""

    facts: Mapping[str, Any]
    roles: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, facts: Mapping[str, Any] | None, declared: bytes | None) -> Side:
        """``declared`` is ``platform.yaml``, of which only ``hosts`` are read: other keys come and go with versions.

        Where this version cannot read them, all hosts have one role.
        """
        found = facts or {}
        try:
            hosts = HOSTS.validate_python((yaml.safe_load(declared or b"") or {}).get("hosts"))
            known: dict[str, Sequence[str]] = {name: host.roles for name, host in hosts.items()}
        except (yaml.YAMLError, ValidationError, AttributeError):
            known = {}
        return cls(found, {host: known.get(host, ["host"]) for host in found.get("hosts") or {}})

    @property
    def hosts(self) -> Mapping[str, Mapping[str, Any]]:
        return self.facts.get("hosts") or {}

    def as_compared(self) -> Side:
        """The same as the texts that are compared: it differs from another side in what this one does."""
        hosts = {host: {AS_COMPARED: comparable(facts)} for host, facts in self.hosts.items()}
        return Side({AS_COMPARED: engine_texts(self.facts), "hosts": hosts}, self.roles)

    def by_role(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for host, roles in self.roles.items():
            for role in roles:
                found.setdefault(role, []).append(host)
        return found


@dataclass(frozen=True)
class Difference:
    """``where``: "engine", or the roles of the hosts. ``decides``: numbers of the two can hardly be compared."""

    what: str
    where: str
    a: str
    b: str
    decides: bool


def differences(a: Side, b: Side) -> list[Difference]:
    """Those that decide first."""
    found = [*_of_hosts(a, b), *of_texts(engine_texts(a.facts), engine_texts(b.facts), "engine")]
    return sorted(found, key=lambda one: not one.decides)


def count_of_facts(*sides: Side) -> int:
    """How many facts of each host, and of the engine, were compared."""
    names = {name for side in sides for host in side.hosts.values() for name in comparable(host)}
    return len(names | {name for side in sides for name in engine_texts(side.facts)})


def of_texts(a: Mapping[str, str], b: Mapping[str, str], where: str) -> list[Difference]:
    """Of what there is once: an engine, a run."""
    return [
        Difference(name, where, a.get(name, _absent(name)), b.get(name, _absent(name)), _decides(name))
        for name in dict.fromkeys([*a, *b])
        if a.get(name) != b.get(name)
    ]


def _absent(name: str) -> str:
    """Of an engine's settings only those are read that the platform's file sets: another is as the server has it."""
    return DEFAULT if name.startswith("engine.settings.") else ABSENT


# Hosts.

Values = dict[str, list[str]]
"""A fact's values -> the hosts that have it."""


def _of_hosts(a: Side, b: Side) -> list[Difference]:
    roles_a, roles_b = a.by_role(), b.by_role()
    both = [role for role in roles_a if role in roles_b]
    found = [
        Difference("hosts", role, str(len(roles_a.get(role, []))), str(len(roles_b.get(role, []))), True)
        for role in dict.fromkeys([*roles_a, *roles_b])
        if len(roles_a.get(role, [])) != len(roles_b.get(role, []))
    ]
    texts_a, texts_b = ({host: comparable(facts) for host, facts in side.hosts.items()} for side in (a, b))
    names = dict.fromkeys(name for texts in (texts_a, texts_b) for host in texts.values() for name in host)
    only: dict[str, list[str]] = {"a": [], "b": []}
    for name in names:
        has_a, has_b = (any(name in host for host in texts.values()) for texts in (texts_a, texts_b))
        if has_a and has_b:
            pairs = [(r, _values(name, texts_a, roles_a[r]), _values(name, texts_b, roles_b[r])) for r in both]
            found += _merged(name, [pair for pair in pairs if not _alike(pair[1], pair[2])])
        elif both:
            only["a" if has_a else "b"].append(name)
    return found + [
        Difference("known of one only", "hosts", *((said, ABSENT) if side == "a" else (ABSENT, said)), False)
        for side, those in only.items()
        if (said := ", ".join(those))
    ]


def _values(name: str, texts: Mapping[str, Mapping[str, str]], hosts: Iterable[str]) -> Values:
    found: Values = {}
    for host in hosts:
        found.setdefault(texts[host].get(name, ABSENT), []).append(host)
    return found


def _alike(a: Values, b: Values) -> bool:
    """The same values, by the same shares of the hosts."""
    total_a, total_b = (sum(map(len, values.values())) for values in (a, b))
    return {v: len(hosts) * total_b for v, hosts in a.items()} == {v: len(hosts) * total_a for v, hosts in b.items()}


def _merged(name: str, pairs: Iterable[tuple[str, Values, Values]]) -> list[Difference]:
    """Roles whose hosts differ in the same way are told once."""
    grouped: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[list[str], Values, Values]] = {}
    for role, a, b in pairs:
        roles, all_a, all_b = grouped.setdefault((tuple(sorted(a)), tuple(sorted(b))), ([], {}, {}))
        roles.append(role)
        for into, values in ((all_a, a), (all_b, b)):
            for value, hosts in values.items():
                into[value] = list(dict.fromkeys([*into.get(value, []), *hosts]))
    return [
        Difference(name, ", ".join(roles), folded(a), folded(b), _decides(name)) for roles, a, b in grouped.values()
    ]


def folded(values: Values) -> str:
    """ "4 hosts: 2.3 GHz"; where they differ, which."""
    if len(values) == 1:
        ((value, hosts),) = values.items()
        return value if len(hosts) == 1 else f"{plural(len(hosts), 'host')}: {value}"
    ordered = sorted(values.items(), key=lambda item: -len(item[1]))
    said = "; ".join(f"{named(hosts)}: {value}" for value, hosts in ordered[:VALUES_SHOWN])
    return said + (f"; and {plural(len(values) - VALUES_SHOWN, 'other value')}" if len(values) > VALUES_SHOWN else "")


def named(hosts: Sequence[str]) -> str:
    """ "worker1–worker4, worker7": neighbours by number as one, and not more than fit on a line."""
    runs: list[list[str]] = []
    for host in hosts:
        stem, number = _stem(host)
        if runs and number is not None and _stem(runs[-1][-1]) == (stem, number - 1):
            runs[-1].append(host)
        else:
            runs.append([host])
    said = [run[0] if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
    more = sum(map(len, runs[RANGES_SHOWN:]))
    return ", ".join(said[:RANGES_SHOWN]) + (f" and {more} more" if more else "")


def _stem(host: str) -> tuple[str, int | None]:
    found = re.fullmatch(r"(.*?)(\d+)", host)
    return (found[1], int(found[2])) if found else (host, None)


def _decides(name: str) -> bool:
    return name.startswith(DECIDING)


# Facts as texts that are equal where the hosts are.


def comparable(facts: Mapping[str, Any]) -> dict[str, str]:
    """One host's facts, flat, without what differs from host to host. Names of disks and NICs are none: they change."""
    if AS_COMPARED in facts:
        return dict(facts[AS_COMPARED])
    found = {name: _text(name, value) for name, value in facts.items() if name not in OF_THE_HOST_ALONE}
    if "kernel_command_line" in found:
        found["kernel_command_line"] = ID_OF_A_DISK.sub("", found["kernel_command_line"]).strip()
    if "clock_offset_ms" in facts:
        found["clock"] = clock_offset(facts)
    if "clock_synchronised" in facts:  # every host that was asked for its limits has that, too
        found = {**dict.fromkeys(LIMITS, "none"), **found}
    found |= _counted("disk", _group(facts, "disk"), disk_text)
    found |= _counted("nic", _group(facts, "nic"), nic_text)
    virtual = {n: nic for n, nic in _group(facts, "virtual_nic").items() if CARRYING_NICS.fullmatch(n)}
    found |= _counted("virtual_nic", virtual, nic_text)
    found |= _counted("file_system", _group(facts, "file_system"), file_system_text)
    found |= {f"numa_node.{name}": numa_text(node) for name, node in _group(facts, "numa_node").items()}
    for group in ("mitigation", "version"):
        found |= {f"{group}.{name}": str(value) for name, value in _group(facts, group).items()}
    return found


def _group(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Empty in an archive of before there were groups, where "disk" was a line of text."""
    group = facts.get(name)
    return group if isinstance(group, dict) else {}


def engine_texts(facts: Mapping[str, Any]) -> dict[str, str]:
    """What an engine is, its settings one by one, and how its page cache is emptied."""
    if AS_COMPARED in facts:
        return dict(facts[AS_COMPARED])
    engine = facts.get("engine") or {}
    found = {name: _text(name, value) for name, value in engine.items() if not isinstance(value, dict | list)}
    found |= {f"settings.{name}": str(value) for name, value in (engine.get("settings") or {}).items()}
    if differing := engine.get("settings_that_differ"):
        found["settings_that_differ"] = json.dumps(differing, sort_keys=True)
    if facts.get("page_cache"):
        found["page_cache"] = str(facts["page_cache"])
    return {f"engine.{name}": value for name, value in found.items() if name not in OF_THE_PLACE}


def clock_offset(facts: Mapping[str, Any]) -> str:
    """How far off, in steps, beyond what the round trip leaves open."""
    beyond = abs(float(facts["clock_offset_ms"])) - float(facts.get("clock_offset_uncertainty_ms") or 0)
    passed = [step for step in CLOCK_STEPS_MS if beyond > step]
    return f"more than {passed[-1]:g} ms off" if passed else "as the worker's"


def disk_text(disk: Mapping[str, Any]) -> str:
    """ "6.00 TB HGST HUS726, rotational, scheduler mq-deadline, read-ahead 128 KiB"."""
    ahead = disk.get("read_ahead_bytes")
    parts = (
        disk.get("kind"),
        f"{size(disk['bytes'])} {disk.get('model', '')}".strip(),
        {"yes": "rotational", "no": "not rotational"}.get(disk.get("rotational", "")),
        disk.get("scheduler") and f"scheduler {disk['scheduler']}",
        None if ahead is None else f"read-ahead {ahead // 1024} KiB",
    )
    return ", ".join(str(part) for part in parts if part)


def nic_text(nic: Mapping[str, Any]) -> str:
    """ "ixgbe, 10000 Mbit/s, MTU 9000, up"."""
    speed, mtu = nic.get("speed_mbit_per_s"), nic.get("mtu")
    parts = (nic.get("driver"), speed and f"{speed} Mbit/s", mtu and f"MTU {mtu}", nic.get("state"))
    return ", ".join(str(part) for part in parts if part)


def file_system_text(mounted: Mapping[str, Any]) -> str:
    return f"{mounted['type']} ({mounted['options']})"


def numa_text(node: Mapping[str, Any]) -> str:
    return f"CPUs {node.get('cpus') or 'none'}, {size(node.get('memory_bytes'))}"


def _counted(name: str, things: Mapping[str, Any], say: Callable[[Mapping[str, Any]], str]) -> dict[str, str]:
    counts = Counter(say(thing) for thing in things.values())
    said = "; ".join(f"{count} × {text}" if count > 1 else text for text, count in sorted(counts.items()))
    return {name: said} if said else {}


def _text(name: str, value: object) -> str:
    """Bytes to three digits: equal hosts differ by what their firmware keeps."""
    return size(float(str(value))) if name.endswith("_bytes") and str(value).isdigit() else str(value)
