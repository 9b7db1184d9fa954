"""What every host is made of, read from the host itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from shlex import quote
from typing import Any

from clusterbench.facts_read import read
from clusterbench.hosts import Fleet
from clusterbench.paths import project_root
from clusterbench.spec.platform import Hardware, Platform, Worker


def hosts(fleet: Fleet, folders: Iterable[str] = ()) -> dict[str, dict[str, Any]]:
    """Facts by host; ``folders`` beside the work folder are those whose file systems are told.

    ``clock_offset_ms`` is the host's clock less the worker's, within its uncertainty.
    """
    probe = (project_root() / "include" / "hosts" / "facts.sh").read_text(encoding="utf-8")
    wanted = list(dict.fromkeys(folders))
    scripts = {host: f"FOLDERS=({_quoted([fleet.work_dir(host), *wanted])})\n{probe}" for host in fleet.names}
    answers = fleet.run_each(scripts)
    clocks = fleet.clocks(fleet.names)
    return {
        host: {
            "address": fleet.addresses[host].host,
            **read(answer.output),
            "clock_offset_ms": round(clocks[host].offset_s * 1000, 2),
            "clock_offset_uncertainty_ms": round(clocks[host].uncertainty_s * 1000, 2),
        }
        for host, answer in answers.items()
    }


def folders(platform: Platform, engine_facts: Mapping[str, Any]) -> list[str]:
    """Where the engine keeps its data, as far as the platform or the engine says; beside the work folders. Pure."""
    of_instances = [str(instance["data_directory"]) for instance in engine_facts.get("instances") or []]
    of_server = [str(engine_facts["data_directory"])] if engine_facts.get("data_directory") else []
    return [*of_server, *of_instances, *(platform.hadoop.data_dirs if platform.hadoop else [])]


def _quoted(folders: Iterable[str]) -> str:
    return " ".join(map(quote, folders))


def hardware(platform: Platform, hosts: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, str], dict[str, str]]:
    """What the platform claims of its hosts, and what was found there, both as ``host: what`` -> value. Pure.

    A little memory is kept by firmware and kernel, so a tenth less is as declared; more disks than declared, too.
    """
    declared: dict[str, str] = {}
    found: dict[str, str] = {}
    if claim := platform.segment_host:
        for host in platform.hosts_with("segment"):
            _compare(host, hosts[host], claim, ("memory_gb", claim.memory_gb, 1e9), declared, found)
    if platform.hadoop and (worker := platform.hadoop.worker):
        for host in platform.hosts_with("worker"):
            _compare(host, hosts[host], worker, ("memory_gib", worker.memory_gib, 2**30), declared, found)
    return declared, found


def _compare(  # noqa: PLR0917  private, and each argument is a part of the claim
    host: str,
    facts: Mapping[str, Any],
    claim: Hardware | Worker,
    memory: tuple[str, float, float],
    declared: dict[str, str],
    found: dict[str, str],
) -> None:
    """``memory``: name, claim, and the bytes of its unit."""
    name, wanted_memory, unit_bytes = memory
    seen_memory, disks = int(facts["memory_bytes"]) / unit_bytes, int(facts.get("disks") or 0)
    is_near = 0.9 <= seen_memory / wanted_memory <= 1.1
    pairs: list[tuple[str, float, float, bool]] = [("cpus", claim.cpus, int(facts["cpus"]), False)]
    pairs.append((name, wanted_memory, round(seen_memory), is_near))
    if claim.data_disks is not None:
        pairs.append(("data_disks", claim.data_disks, disks, disks >= claim.data_disks))
    for what, wanted, seen, as_declared in pairs:
        declared[f"{host}: {what}"] = str(wanted)
        found[f"{host}: {what}"] = str(wanted if as_declared else seen)
