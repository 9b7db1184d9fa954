"""What a host may use of its machine's processors, and what it used of that.

A VM of the lab, or a container, is a group of processes with a CPU limit (cgroups, version 1 or 2). What the machine's
processors do says little of it: ``/proc/stat`` is the machine's. So the group's own processor time is noted once a
second, and is given as a share of what the group may use. A host without a limit may use all of the machine's
processors. ``include/hosts/cgroups.sh`` takes the notes that are read here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clusterbench.hosts import notes

CPUS, USED = "telemetry.cpus", "telemetry.cpu_used"
"""Files of a host's telemetry: how many processors there are, and the group's processor time, once a second."""


@dataclass(frozen=True)
class Cpus:
    """Processors of a host's machine, and how many of them it may use: all, or its limit."""

    machine: float
    allotted: float
    unit: float = 0.0
    """How many units of the group's accounting file make a second; 0 where nothing limits the host."""

    @classmethod
    def of(cls, line: str) -> Cpus:
        """From the line that ``cpus`` of ``cgroups.sh`` prints.

        A limit above the number of the machine's processors limits nothing.
        """
        machine, *limit = map(float, line.split())
        if not limit:
            return cls(machine, machine)
        quota, period, unit = limit
        return cls(machine, min(machine, quota / period), unit)


def throttled(start: Path, end: Path) -> dict[str, float]:
    """Share of the processors' time for which the host's processes stood still at a CPU limit, from start to stop.

    At their own, which is how large the host is; and at that of a group around it, which is what steal is on a
    hypervisor: the host wanted to run, and others had the processors. Empty where a host has no such groups.
    """
    noted = [path.read_text().split() for path in (start, end) if path.exists()]
    if len(noted) < 2 or not all(noted):
        return {}
    (own, above, cpus, at), (own_then, above_then, _, then) = (map(float, words) for words in noted)
    cpu_us = 1e6 * cpus * (then - at)
    return {
        "cpu_throttled_percent": 100 * (own_then - own) / cpu_us,
        "cpu_throttled_above_percent": 100 * (above_then - above) / cpu_us,
    }


def read(folder: Path, start_s: float, end_s: float, machine_percent: float | None) -> dict[str, float]:
    """``cpus``, ``cpus_allotted``, and ``cpu_allotted_percent`` between two times, of one host's telemetry.

    ``machine_percent``, the machine's, is also that of a host without a limit. Absent is what is not known.
    """
    noted = folder / CPUS
    if not noted.exists() or not (line := noted.read_text().strip()):
        return {}
    cpus = Cpus.of(line)
    found = {"cpus": cpus.machine, "cpus_allotted": cpus.allotted}
    percent = machine_percent
    if cpus.unit:
        used = notes.per_s(folder / USED, start_s, end_s)
        percent = None if used is None else 100 * used / (cpus.unit * cpus.allotted)
    return found if percent is None else {**found, "cpu_allotted_percent": percent}
