"""What every host is made of, read from the host itself."""

from __future__ import annotations

import time
from typing import Any

from clusterbench.hosts import Fleet

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
say pgbench "$(one pgbench --version)"
say pgbouncer "$(PATH=$PATH:/usr/sbin one pgbouncer --version)"
say sysstat "$(one sadf -V)"
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
