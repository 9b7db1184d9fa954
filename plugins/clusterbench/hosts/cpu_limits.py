"""What a host may use of its machine's processors, and what it used of that.

A VM of the lab, or a container, is a group of processes with a CPU limit (cgroups, version 1 or 2). What the machine's
processors do says little of it: ``/proc/stat`` is the machine's. So the group's own processor time is noted once a
second, and is told of what the group is allotted. A host without a limit is allotted the machine's processors.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CPUS, USED = "telemetry.cpus", "telemetry.cpu_used"
"""Files of a host's telemetry: how many processors there are, and the group's processor time, once a second."""

FUNCTIONS = """\
# The login's group of processes as far as processors go: sets root and group, and accounts, which says what it used.
cpu_group() {
  local controllers path
  root= group= accounts=
  while IFS=: read -r _ controllers path; do
    case ,$controllers, in *,cpu,*) root=/sys/fs/cgroup/cpu group=$path ;; esac
    case ,$controllers, in
      *,cpuacct,*) accounts=$path ;;
      ,,) [ "$root" ] || root=/sys/fs/cgroup group=$path ;;
    esac
  done </proc/self/cgroup
  if [ "$accounts" = "$group" ]; then accounts=/sys/fs/cgroup/cpuacct; else accounts=; fi
  [ -d "$root$group" ] || group=  # a container may see its own group as the root
  group=${group%/}
  [ "$root" ]
}

# Microseconds for which the login's group of processes stood still at its own CPU limit, and for which groups above it
# did at theirs, summed over processors; how many these are; the time. Nothing where there are no groups.
throttled() {
  local root group accounts name value sum own= above=0
  cpu_group || return 0
  while [ -r "$root$group/cpu.stat" ]; do
    sum=0
    while read -r name value; do
      case $name in throttled_time) sum=$((value / 1000)) ;; throttled_usec) sum=$value ;; esac
    done <"$root$group/cpu.stat"
    if [ -z "$own" ]; then own=$sum; else above=$((above + sum)); fi
    [ "$group" ] || break
    group=${group%/*}
  done
  [ -z "$own" ] || echo "$own $above $(nproc) $(date +%s.%N)"
}

# Of the nearest group around the login that has a limit: quota and period, which are the limit; used, the file whose
# first line ends with what it used; unit, how much of that is a second. False where nothing limits it.
cpu_limit() {
  local root group accounts
  cpu_group || return 1
  while quota=-1 period=1; do
    if [ -r "$root$group/cpu.max" ]; then
      read -r quota period <"$root$group/cpu.max"
    elif [ -r "$root$group/cpu.cfs_quota_us" ]; then
      read -r quota <"$root$group/cpu.cfs_quota_us"; read -r period <"$root$group/cpu.cfs_period_us"
    fi
    case $quota in max | -1) ;; *) break ;; esac
    [ "$group" ] || return 1
    group=${group%/*}
  done
  if [ -r "$root$group/cpu.max" ]; then used=$root$group/cpu.stat unit=1000000
  else used=${accounts:-/none}$group/cpuacct.usage unit=1000000000; fi
}

# Processors of the machine; where there is a limit, that, and the unit of what is used.
cpus() {
  local quota period used unit
  if cpu_limit; then echo "$(getconf _NPROCESSORS_ONLN) $quota $period $unit"; else getconf _NPROCESSORS_ONLN; fi
}

# The machine's uptime, and what the group of cpu_limit has used by then.
cpu_used() {
  local up words
  read -r up _ </proc/uptime; read -r -a words <"$used"
  echo "$up ${words[-1]}"
}

# The time, and the uptime then; after that, once a second, cpu_used. Ends with process $1, or after $2 seconds.
# No process a second, and bash 4 does not know the time: hence the uptime, and a pipe that nobody writes to.
follow_cpu() {
  local pause up second=0 what
  read -r up _ </proc/uptime; echo "$(date +%s.%N) $up"
  exec {pause}<> <(:)
  while [ $((second++)) -lt "$2" ] && IFS= read -r -d '' what <"/proc/$1/cmdline" && [ "$what" ]; do
    cpu_used
    read -r -t 1 -u "$pause" || true
  done
}
"""
"""Bash, for a shell under ``set -euo pipefail``."""


@dataclass(frozen=True)
class Cpus:
    """Processors of a host's machine, and how many of them it may use: all, or its limit."""

    machine: float
    allotted: float
    unit: float = 0.0
    """How much of what its group's file tells is a second; 0 where nothing limits it."""

    @classmethod
    def of(cls, line: str) -> Cpus:
        """As ``cpus`` tells. A limit above what the machine has is none that could be reached."""
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
    used = folder / USED
    if not cpus.unit:
        percent = machine_percent
    else:
        percent = used_percent(used.read_text() if used.exists() else "", cpus, start_s, end_s)
    return found if percent is None else {**found, "cpu_allotted_percent": percent}


def used_percent(text: str, cpus: Cpus, start_s: float, end_s: float) -> float | None:
    """Of the processors allotted, between two times, by interpolation; None where the notes do not cover both."""
    rows = [line.split() for line in text.splitlines()]
    if len(rows) < 3 or end_s <= start_s:
        return None
    offset_s = float(rows[0][0]) - float(rows[0][1])
    points = sorted((float(up) + offset_s, float(used) / cpus.unit) for up, used in rows[1:])
    begun, ended = _at(points, start_s), _at(points, end_s)
    return None if begun is None or ended is None else 100 * (ended - begun) / ((end_s - start_s) * cpus.allotted)


def _at(points: Sequence[tuple[float, float]], time_s: float) -> float | None:
    """Between two of ``points``; a value beyond them would be a guess."""
    after = bisect_left(points, (time_s,))
    if after == 0 or after == len(points):
        return None
    (before_s, before), (after_s, then) = points[after - 1], points[after]
    return before + (then - before) * (time_s - before_s) / (after_s - before_s)
