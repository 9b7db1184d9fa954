"""What every host is made of, read from the host itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from clusterbench.hosts import Fleet
from clusterbench.spec.platform import Hardware, Platform, Worker

PROBE = r"""
say() { printf '%s\t%s\n' "$1" "$2"; }
one() { "$@" 2>/dev/null | head -n 1 || true; }
say clock "$(date +%s.%N)"
say hostname "$(uname -n)"
say kernel "$(uname -r)"
say system "$(. /etc/os-release 2>/dev/null && echo "$PRETTY_NAME")"
say architecture "$(uname -m)"
say cpu_model "$(one sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo)"
say cpus "$(nproc)"
say memory_bytes "$(awk '/^MemTotal/ {printf "%.0f", $2 * 1024}' /proc/meminfo)"
say virtualization "$(one systemd-detect-virt)"
say boot_id "$(cat /proc/sys/kernel/random/boot_id)"
say disk "$(one df --output=source,size,fstype --block-size=1 . | tail -n 1)"
say disks "$(lsblk --nodeps --noheadings --output TYPE 2>/dev/null | grep -c disk || true)"
say psql "$(one psql --version)"
say pgbench "$(one pgbench --version)"
say pgbouncer "$(PATH=$PATH:/usr/sbin one pgbouncer --version)"
say sysstat "$(one sadf -V)"
say java "$(! command -v java >/dev/null || java -version 2>&1 | head -n 1)"
"""


def hosts(fleet: Fleet) -> dict[str, dict[str, Any]]:
    """Facts by host. ``clock_offset_ms`` is the host's clock less the worker's, within its uncertainty."""
    before = time.time()
    answers = fleet.run(fleet.names, PROBE)
    after = time.time()
    found = {}
    for host, answer in answers.items():
        facts: dict[str, Any] = dict(line.split("\t", 1) for line in answer.output.splitlines() if "\t" in line)
        clock_s = float(facts.pop("clock"))
        facts["clock_offset_ms"] = round((clock_s - (before + after) / 2) * 1000, 1)
        facts["clock_offset_uncertainty_ms"] = round((after - before) / 2 * 1000, 1)
        found[host] = {"address": fleet.addresses[host].host, **facts}
    return found


Claim = tuple[str, str, str, str, bool]
"""Host, what, declared, found, and whether that is as declared."""


def claims(platform: Platform, hosts: Mapping[str, Mapping[str, Any]]) -> list[Claim]:
    """What the platform claims of its hosts beside what they tell. Pure.

    A little memory is kept by firmware and kernel, so a tenth less is as declared; more disks than declared, too.
    """
    found: list[Claim] = []
    if claim := platform.segment_host:
        for host in platform.hosts_with("segment"):
            found += _hardware(host, hosts[host], claim, ("memory_gb", claim.memory_gb, 1e9))
    if platform.hadoop and (worker := platform.hadoop.worker):
        for host in platform.hosts_with("worker"):
            found += _hardware(host, hosts[host], worker, ("memory_gib", worker.memory_gib, 2**30))
    return found + _clocks(platform, hosts)


def _hardware(
    host: str, facts: Mapping[str, Any], claim: Hardware | Worker, memory: tuple[str, float, float]
) -> list[Claim]:
    """``memory``: name, claim, and the bytes of its unit."""
    name, wanted_memory, unit_bytes = memory
    seen_memory, disks = int(facts["memory_bytes"]) / unit_bytes, int(facts["disks"] or 0)
    is_near = 0.9 <= seen_memory / wanted_memory <= 1.1
    cpus = int(facts["cpus"])
    found = [
        (host, "cpus", str(claim.cpus), str(cpus), cpus == claim.cpus),
        (host, name, str(wanted_memory), str(round(seen_memory)), is_near),
    ]
    if claim.data_disks is not None:
        found.append((host, "data_disks", str(claim.data_disks), str(disks), disks >= claim.data_disks))
    return found


def _clocks(platform: Platform, hosts: Mapping[str, Mapping[str, Any]]) -> list[Claim]:
    """An offset is as declared where it may be, in view of its uncertainty."""
    roles = {name: list(host.roles) for name, host in platform.hosts.items()}
    found = []
    for host, groups in platform.setup.declared(roles).items():
        for most in [group.clock_offset_ms_max for group in groups if group.clock_offset_ms_max is not None][-1:]:
            offset, unsure = (float(hosts[host][f"clock_offset{name}_ms"]) for name in ("", "_uncertainty"))
            seen = f"{offset:+.1f} ± {unsure:.1f}"
            found.append((host, "clock_offset_ms", f"at most {most:g}", seen, abs(offset) - unsure <= most))
    return found
