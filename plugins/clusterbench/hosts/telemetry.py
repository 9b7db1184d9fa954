"""What the hosts did during a trial, once a second, by sysstat's collector: start it, stop it, fetch and read it."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from clusterbench.base.measurements import Phase
from clusterbench.base.scripts import script
from clusterbench.hosts import cpu_limits, notes
from clusterbench.hosts.fleet import Fleet

SETTLE_S = 1.1
"""From the start of telemetry to the start of the driver: one whole sample, which shows whether the host was quiet."""
RAW_FILE = "telemetry.json.gz"
VIRTUAL = re.compile(
    r"lo$|bond|team\d|br-|[a-z]*br\d|kube-bridge|docker|podman|veth|vnet|v?lan\d+$|vlan|vxlan|genev|(mac)?v?tap|tun|wg\d|"
    r"dummy|ovs|cni|flannel|cali|weave|[^.]+[.]\d+$"
)
"""Interfaces that would count twice what goes through the network's own: bonds, bridges, VLANs; and the loopback."""
PER_SECOND = (
    "disk_read_mb_per_s",
    "disk_write_mb_per_s",
    "network_received_mb_per_s",
    "network_sent_mb_per_s",
    "loopback_mb_per_s",
)
COURSE = ("cpu_percent", "cpu_steal_percent", *PER_SECOND)
PRESSURE = ("pressure_cpu_percent", "pressure_io_percent")
"""Also part of a course where the kernel has them. Where it does not, they are left out, because 0 would be wrong."""
POINTS_MAX = 400
"""Points of one host's course over time: as many as a figure is wide. More would only make records large."""
POINTS_OF_ALL_MAX = 1200
"""Points of all courses of a trial together, so that records stay small with many hosts."""
DRAWN_HOSTS_MAX = 16
TIME_KNOWN_TO_S = 0.5
"""How far a sample's true time may be from the one that ``samples`` finds."""
CLOCKS_AGREE_S = 0.1
"""Clocks that differ by less than this part of a sample are taken for the same."""
CONVERT_S = 1800.0
"""So long may a host take to turn what was collected into JSON, after a window of hours. One that is lost is found lost
before, by SSH's keepalives."""
LONGEST_S = 7 * 24 * 3600
"""The collector ends by itself after this, whatever happens to the worker."""


def start(fleet: Fleet, name: str) -> None:
    """Start collecting on every host, into the directory ``name`` below its work folder.

    A host that already collects there is left as it is.
    """
    scripts = {
        host: _functions() + script("hosts/telemetry_start", directory=directory, samples=LONGEST_S)
        for host, directory in _directories(fleet, name).items()
    }
    fleet.run_each(scripts)


def _functions() -> str:
    return script("hosts/cgroups") + script("hosts/telemetry_follow")


def clocks_ahead(fleet: Fleet, host: str) -> dict[str, float]:
    """The clocks that are off that of ``host``, by which a trial's times are told: each less that one, in seconds."""
    offsets = {each: clock.offset_s for each, clock in fleet.clocks(fleet.names).items()}
    ahead = {each: round(offset - offsets[host], 3) for each, offset in offsets.items()}
    return {each: seconds for each, seconds in ahead.items() if abs(seconds) >= CLOCKS_AGREE_S}


def stop(fleet: Fleet, name: str) -> dict[str, str]:
    """End collecting on every host and turn what was collected into JSON there, after the measured window.

    Returns, of a host where that failed, why: one that died meanwhile does not cost the others' telemetry.
    """
    scripts = {
        host: _functions() + script("hosts/telemetry_stop", directory=directory, file=RAW_FILE)
        for host, directory in _directories(fleet, name).items()
    }
    answers, failures = fleet.try_each(scripts, timeout_s=CONVERT_S)
    for host, answer in answers.items():
        if answer.exit_status:
            failures[host] = f"host {fleet.addresses[host]}: its telemetry could not be read: {answer.error.strip()}"
    return failures


def collect(fleet: Fleet, name: str, into: Path, failed: Mapping[str, str]) -> list[str]:
    """Fetch every host's telemetry to the folder ``into/<host>``, but of those that ``stop`` says have none.

    Returns what is missing, one line a host.
    """
    directories = _directories(fleet, name)
    places = {host: (directories[host], into / host) for host in fleet.names if host not in failed}
    missing = fleet.fetch_each(places, [RAW_FILE, "telemetry.*"])
    absent = [host for host in places if host not in missing and not (into / host / RAW_FILE).exists()]
    return [*failed.values(), *missing.values(), *(f"host {host!r}: no telemetry was collected" for host in absent)]


def clean_up(fleet: Fleet, name: str) -> None:
    """End collectors that a lost worker left behind below ``name``, and remove what was collected and archived."""
    scripts = {
        host: script("hosts/telemetry_clean_up", directory=directory)
        for host, directory in _directories(fleet, name).items()
    }
    fleet.run_each(scripts)


def _directories(fleet: Fleet, name: str) -> dict[str, str]:
    return {host: f"{work}/{name}" for host, work in fleet.work_dirs(fleet.names).items()}


def drawn_hosts(hosts: Sequence[str], phases: Sequence[Phase]) -> Sequence[str]:
    """The hosts whose course a record keeps: one for a trial in several phases, else ``DRAWN_HOSTS_MAX`` at most."""
    return hosts[: DRAWN_HOSTS_MAX if len(phases) == 1 else 1]


def read(
    folder: Path,
    start_s: float | None,
    end_s: float | None,
    phases: Sequence[Phase] = (),
    *,
    drawn: int = 0,
    before_s: float | None = None,
    ahead_s: float = 0.0,
) -> dict[str, Any]:
    """The summary of one host's collected telemetry, with the collector's own cost.

    All times are told by the driver's host; ``ahead_s``: as ``clocks_ahead`` has it of this one.
    Of ``phases`` it has the bytes that went through disks and networks, and its course over time where it is one of
    ``drawn`` hosts. ``boot_id`` tells hosts that are one machine, of which each shows all. The host was to be quiet
    until ``before_s``: the driver's start, where that is before the window.
    """
    start_s, end_s, before_s = (None if told is None else told + ahead_s for told in (start_s, end_s, before_s))
    phases = [Phase(phase.name, phase.start_s + ahead_s, phase.end_s + ahead_s) for phase in phases]
    raw = folder / RAW_FILE
    begun, boot = folder / "telemetry.start", folder / "telemetry.boot"
    start_at_s = float(begun.read_text()) if begun.exists() else None
    rows = samples(gzip.decompress(raw.read_bytes()).decode(), start_at_s) if raw.exists() else []
    found = summary(rows, start_s, end_s, before_s)
    if rows:
        found["boot_id"] = boot.read_text().strip() if boot.exists() else ""
    if phases and rows:
        found["phases"] = {phase.name: totals(rows, phase.start_s, phase.end_s) for phase in phases}
        if drawn:
            found["course"] = course(rows, phases[0].start_s, phases[-1].end_s, points_each(drawn))
    cost = folder / "telemetry.cpu_s"
    if cost.exists() and rows and cost.read_text().strip():
        found["collector_cpu_share"] = float(cost.read_text()) / max(1.0, rows[-1]["time_s"] - rows[0]["time_s"] + 1)
    if "mean" in found and start_s is not None and end_s is not None:
        found["mean"] |= cpu_limits.throttled(*(folder / f"telemetry.throttled_at_{when}" for when in ("start", "end")))
        found["mean"] |= cpu_limits.read(folder, start_s, end_s, found["mean"].get("cpu_percent"))
        if (rate := notes.per_s(folder / "telemetry.interrupts", start_s, end_s)) is not None:
            found["mean"]["interrupts_per_s"] = rate
    return found


# From here on pure: reading what sadf wrote.


def samples(text: str, start_s: float | None = None) -> list[dict[str, float]]:
    """One flat row a second: ``time_s`` (epoch), CPU in percent of all, disks and networks summed over devices.

    sadf prints whole seconds. The collector's samples come a whole number of seconds after ``start_s``, in order, so
    that number is rounded and never falls back, however the fraction of ``start_s`` lies.
    """
    host = json.loads(text)["sysstat"]["hosts"][0]
    rows = [_row(entry) for entry in host.get("statistics", []) if "timestamp" in entry]
    if start_s is None:
        return rows
    number = 0
    for row in rows:
        number = max(number + 1, round(row["time_s"] + 0.5 - start_s))
        row["time_s"] = start_s + number
    return rows


def _row(entry: Mapping[str, Any]) -> dict[str, float]:
    stamp = entry["timestamp"]
    cpu: Mapping[str, Any] = next((c for c in entry.get("cpu-load", []) if c["cpu"] in ("all", "-1")), {})
    disks = [d for d in entry.get("disk", []) if not _is_partition_or_loop(d["disk-device"])]
    devices = entry.get("network", {}).get("net-dev", [])
    nets = [device for device in devices if not _is_virtual(device["iface"])]
    own = [device for device in devices if device["iface"] == "lo"]
    queue, memory = entry.get("queue", {}), entry.get("memory", {})
    psi = entry.get("psi", {})
    switches = entry.get("process-and-context-switch", {})
    row = {
        "time_s": _midnight_s(stamp["date"]) + _second_of_day(stamp["time"]),
        "cpu_percent": 100.0 - float(cpu.get("idle", 100.0)) - float(cpu.get("iowait", 0.0)),
        "cpu_user_percent": float(cpu.get("usr", 0.0)),
        "cpu_system_percent": float(cpu.get("sys", 0.0)),
        "cpu_iowait_percent": float(cpu.get("iowait", 0.0)),
        "cpu_steal_percent": float(cpu.get("steal", 0.0)),
        "disk_iops": _total(disks, "tps"),
        "disk_read_mb_per_s": _total(disks, "rkB") * 1024 / 1e6,
        "disk_write_mb_per_s": _total(disks, "wkB") * 1024 / 1e6,
        "network_received_packets_per_s": _total(nets, "rxpck"),
        "network_sent_packets_per_s": _total(nets, "txpck"),
        "network_received_mb_per_s": _total(nets, "rxkB") * 1024 / 1e6,
        "network_sent_mb_per_s": _total(nets, "txkB") * 1024 / 1e6,
        "loopback_packets_per_s": _total(own, "txpck"),
        "loopback_mb_per_s": _total(own, "txkB") * 1024 / 1e6,
        "context_switches_per_s": float(switches.get("cswch", 0.0)),
        "load_1_min": float(queue.get("ldavg-1", 0.0)),
        "runnable_tasks": float(queue.get("runq-sz", 0.0)),
        "memory_used_percent": float(memory.get("memused-percent", 0.0)),
        "memory_used_mb": float(memory.get("memused", 0.0)) * 1024 / 1e6,
    }
    if "interrupts" in entry:  # of older archives
        row["interrupts_per_s"] = _total(entry["interrupts"], "all")
    for resource in ("cpu", "io", "mem"):
        share = psi.get(f"psi-{resource}", {}).get("some_avg")
        if share is not None:
            row[f"pressure_{resource}_percent"] = float(share)
    return row


def _total(devices: Iterable[Mapping[str, Any]], key: str) -> float:
    return float(sum([device.get(key, 0.0) for device in devices]))


@cache
def _midnight_s(date: str) -> float:
    return datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp()


def _second_of_day(time: str) -> int:
    hours, minutes, seconds = time.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds)


@cache
def _is_virtual(interface: str) -> bool:
    return VIRTUAL.match(interface) is not None


@cache
def _is_partition_or_loop(device: str) -> bool:
    """Whole disks only: sysstat lists none of the partitions, but loop, ram and device-mapper would count twice."""
    return device.startswith(("loop", "ram", "dm-", "md", "sr"))


def summary(
    rows: list[dict[str, float]], start_s: float | None, end_s: float | None, before_s: float | None = None
) -> dict[str, Any]:
    """Means over the measured window, and how busy the host was in the sample before it, or before ``before_s``.

    A sample covers the time since the one before it: mostly a second, more where the host was too busy to collect.
    A window shorter than a sample is described by the one that holds it.
    """
    if not rows or start_s is None or end_s is None:
        return {"samples": 0}
    inside = _of_window(rows, start_s, end_s)
    before = [row for row in rows if row["time_s"] <= (start_s if before_s is None else min(before_s, start_s))]
    names = sorted({name for row in inside for name in row if name != "time_s"})
    means = {name: sum(row.get(name, 0.0) for row in inside) / len(inside) for name in names}
    return {
        "samples": len(inside),
        "mean": means,
        "cpu_percent_before": before[-1]["cpu_percent"] if before else None,
    }


def _of_window(rows: list[dict[str, float]], start_s: float, end_s: float) -> list[dict[str, float]]:
    """The samples that cover a part of the window; the last one as long as its true time may be."""
    begins = _begins(rows)
    ends = [*begins[1:], rows[-1]["time_s"] + TIME_KNOWN_TO_S]
    return [row for begun, ended, row in zip(begins, ends, rows, strict=True) if ended > start_s and begun < end_s]


def _begins(rows: Sequence[Mapping[str, float]]) -> list[float]:
    """When the time begins that each sample covers: at the sample before it."""
    return [rows[0]["time_s"] - 1, *(row["time_s"] for row in rows[:-1])] if rows else []


def totals(rows: Sequence[Mapping[str, float]], start_s: float, end_s: float) -> dict[str, float]:
    """Bytes through disks and networks between two times.

    A sample is the mean since the one before it, mostly of a second, and counts as far as that lies between them.
    """
    weights = [
        max(0.0, min(row["time_s"], end_s) - max(begun, start_s))
        for begun, row in zip(_begins(rows), rows, strict=True)
    ]
    return {
        f"{name.removesuffix('_mb_per_s')}_bytes": sum(
            weight * row.get(name, 0.0) * 1e6 for weight, row in zip(weights, rows, strict=True)
        )
        for name in PER_SECOND
    }


def points_each(hosts: int) -> int:
    return min(POINTS_MAX, POINTS_OF_ALL_MAX // hosts)


def course(
    rows: Sequence[Mapping[str, float]], start_s: float, end_s: float, points: int = POINTS_MAX
) -> dict[str, list[float]]:
    """Means over spans of equal length, ``points`` of them at most, with ``second``, counted from ``start_s``."""
    inside = [row for row in rows if start_s <= row["time_s"] <= end_s + 1]
    span = max(1, -(-len(inside) // points))
    groups = [inside[first : first + span] for first in range(0, len(inside), span)]
    found = {"second": [round(sum(row["time_s"] for row in group) / len(group) - start_s, 1) for group in groups]}
    for name in (*COURSE, *(name for name in PRESSURE if any(name in row for row in inside))):
        found[name] = [round(sum(row.get(name, 0.0) for row in group) / len(group), 2) for group in groups]
    return found
