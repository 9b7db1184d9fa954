"""What every host is made of, read from the host itself."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clusterbench.base.capabilities import EVERYTHING
from clusterbench.base.scripts import script
from clusterbench.hosts.data_network import DataAddress, data_addresses
from clusterbench.hosts.facts_read import read
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.by_name import engine_declaration
from clusterbench.spec.placed import cpu_limit, memory_limit_gib, placed, working_hosts
from clusterbench.spec.placement import Size
from clusterbench.spec.platform import Hardware, Platform, Worker


def hosts(fleet: Fleet, folders: Iterable[str] = (), platform: Platform | None = None) -> dict[str, dict[str, Any]]:
    """Facts by host; ``folders`` beside the work folder are those whose file systems are reported.

    Of a ``platform`` with a network for data, the address there and its interface are reported, too.

    ``clock_offset_ms`` is the host's clock less the worker's, within its uncertainty.
    """
    wanted = list(dict.fromkeys(folders))
    scripts = {host: probe([work, *wanted]) for host, work in fleet.work_dirs(fleet.names).items()}
    answers = fleet.run_each(scripts)
    clocks = fleet.clocks(fleet.names)
    data = data_addresses(fleet, platform, fleet.names) if platform and platform.data_network else {}
    return {
        host: {
            "address": fleet.addresses[host].host,
            **read(answer.output),
            **(_of_data_network(data[host]) if host in data else {}),
            "clock_offset_ms": round(clocks[host].offset_s * 1000, 2),
            "clock_offset_uncertainty_ms": round(clocks[host].uncertainty_s * 1000, 2),
        }
        for host, answer in answers.items()
    }


def _of_data_network(found: DataAddress) -> dict[str, Any]:
    return {
        "data_address": found.address,
        "data_interface": found.interface,
        "data_interface_mbit_per_s": found.speed_mbit_per_s if found.speed_mbit_per_s > 0 else "not told",
        "data_interface_mtu": found.mtu,
    }


def probe(folders: Sequence[str]) -> str:
    """Bash that tells what ``facts_read`` reads; the first of ``folders`` is the host's work folder."""
    return script("hosts/cgroups") + script("drivers/programs") + script("hosts/facts", folders=folders)


def folders(platform: Platform, engine_facts: Mapping[str, Any]) -> list[str]:
    """Where the engine keeps its data, as far as the platform or the engine says; beside the work folders. Pure."""
    of_instances = [str(instance["data_directory"]) for instance in engine_facts.get("instances") or []]
    of_server = [str(engine_facts["data_directory"])] if engine_facts.get("data_directory") else []
    return [*of_server, *of_instances, *(platform.hadoop.data_dirs if platform.hadoop else []), *platform.load_dirs]


DeclaredFact = tuple[str, str, str, str, bool]
"""Host, what, declared, found, and whether that is as declared."""
OLDEST = {"bash": (4, 3), "psql": (12,), "pgbench": (15,)}
"""Versions that can be used: bash with ``wait -n``, psql with --csv, pgbench with --max-tries."""
CPU_LIMIT_OFF = 0.001
"""Of a processor: 64 threads of 1/60 are no whole number of microseconds in a scheduler's period."""


MEMORY_LIMIT_OFF = 0.001
"""Of a GiB: the kernel counts whole pages."""


def declared_hardware(platform: Platform, hosts: Mapping[str, Mapping[str, Any]]) -> list[DeclaredFact]:
    """What the platform claims of its hosts beside what they tell. Pure.

    A little memory is kept by firmware and kernel, so a tenth less is as declared; more disks than declared, too.
    """
    found: list[DeclaredFact] = []
    if claim := platform.segment_host:
        for host in platform.hosts_with("segment"):
            found += _hardware(host, hosts[host], claim, ("memory_gb", claim.memory_gb, 1e9))
    if platform.hadoop and (worker := platform.hadoop.worker):
        for host in platform.hosts_with("worker"):
            found += _hardware(host, hosts[host], worker, ("memory_gib", worker.memory_gib, 2**30))
    if not found and (placement := placed(platform)):
        size = placement.size
        limit = cpu_limit(platform)
        for host in vms(platform):
            if limit is None:
                found += _hardware(host, hosts[host], size, ("memory_gib", size.memory_gib, 2**30))
            elif seen := hosts[host].get("cpu_limit"):  # of one without any, ``unavailable`` tells
                is_same = math.isclose(seen, limit, abs_tol=CPU_LIMIT_OFF)
                found.append((host, "cpu_limit", f"{limit:.4g}", f"{seen:.4g}", is_same))
            if (memory := memory_limit_gib(platform)) and (limited := hosts[host].get("memory_limit_bytes")):
                gib = limited / 2**30
                is_same = math.isclose(gib, memory, abs_tol=MEMORY_LIMIT_OFF)
                found.append((host, "memory_limit_gib", f"{memory:.4g}", f"{gib:.4g}", is_same))
    return found + _clocks(platform, hosts)


def vms(platform: Platform) -> list[str]:
    """The hosts that do the work, and those of neighbours, which are as large."""
    return [*working_hosts(platform), *(host for each in platform.neighbours.values() for host in each.hosts)]


def unavailable(platform: Platform, hosts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What cannot be had because of what the hosts are, as ``Engine.unavailable``. Pure."""
    cpus, memory_gib = cpu_limit(platform), memory_limit_gib(platform)
    declared = {
        "cpu_limit": ("CPU", f"{cpus:.4g} processors are" if cpus else ""),
        "memory_limit_bytes": ("memory", f"{memory_gib:.4g} GiB are" if memory_gib else ""),
    }
    for fact, (what, said) in declared.items():
        if said and (without := [host for host in vms(platform) if not hosts[host].get(fact)]):
            return {
                EVERYTHING: f"no {what} limit on {', '.join(without)}: {said} what the platform's file declares; "
                "the lab limits such hosts if root runs it and cgroups can be written"
            }
    return {}


def _hardware(
    host: str, facts: Mapping[str, Any], claim: Hardware | Worker | Size, memory: tuple[str, float | None, float]
) -> list[DeclaredFact]:
    """``memory``: name, claim, and the bytes of its unit. What a file leaves out is not compared."""
    name, wanted_memory, unit_bytes = memory
    seen_memory, disks = int(facts["memory_bytes"]) / unit_bytes, int(facts.get("disks") or 0)
    cpus = int(facts["cpus"])
    found = [(host, "cpus", str(claim.cpus), str(cpus), cpus == claim.cpus)]
    if wanted_memory is not None:
        is_near = 0.9 <= seen_memory / wanted_memory <= 1.1
        found.append((host, name, f"{wanted_memory:g}", str(round(seen_memory)), is_near))
    if claim.data_disks is not None:
        found.append((host, "data_disks", str(claim.data_disks), str(disks), disks >= claim.data_disks))
    return found


def programs(platform: Platform, hosts: Mapping[str, Mapping[str, Any]]) -> list[DeclaredFact]:
    """What is needed on each host, which must be there before the first trial wants it. Pure."""
    by_role = engine_declaration(platform.engine).programs
    found = []
    for host, facts in hosts.items():
        there = facts.get("version", {})
        of_roles = (name for role in platform.every_host[host].roles for name in by_role.get(role, ()))
        for name in dict.fromkeys(["bash", *of_roles]):
            said, oldest = str(there.get(name, "not there")), OLDEST.get(name, ())
            wanted = f"{'.'.join(map(str, oldest))} or newer" if oldest else "installed"
            found.append((host, f"program {name}", wanted, said, name in there and version_of(said) >= oldest))
    return found


def version_of(said: str) -> tuple[int, ...]:
    """(12, 6, 1) of "sysstat version 12.6.1"; nothing where there is no number."""
    number = re.search(r"(?<![\w.])(\d+(?:\.\d+)*)", said)
    return tuple(int(part) for part in number[1].split(".")) if number else ()


def _clocks(platform: Platform, hosts: Mapping[str, Mapping[str, Any]]) -> list[DeclaredFact]:
    """An offset is as declared where it may be, in view of its uncertainty."""
    found = []
    for host, groups in platform.host_settings().items():
        for most in [group.clock_offset_ms_max for group in groups if group.clock_offset_ms_max is not None][-1:]:
            offset, unsure = (float(hosts[host][f"clock_offset{name}_ms"]) for name in ("", "_uncertainty"))
            seen = f"{offset:+.1f} ± {unsure:.1f}"
            found.append((host, "clock_offset_ms", f"at most {most:g}", seen, abs(offset) - unsure <= most))
    return found
