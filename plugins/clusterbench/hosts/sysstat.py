"""Telemetry of archives made before clusterbench had a collector of its own: sysstat's JSON, one sample a second.

Pure. Read line by line, so that hours of it take no memory. It has rates, which are added up over time, so that what is
asked of it is answered as it is of the kernel's own counters (``kernel_counters``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from clusterbench.hosts.kernel_counters import is_disk_of_its_own, is_interface_of_its_own

Rates = Mapping[str, float]
"""Of a sample, with ``time_s``."""


@dataclass(frozen=True)
class AddedUp:
    """A sample: each rate times the seconds for which it held, since the first."""

    time_s: float
    over_time: Rates

    def counters(self) -> Rates:
        return self.over_time


def samples(rows: Iterable[Rates]) -> Iterator[AddedUp]:
    """A sample holds since the one before it, the first for a second."""
    over_time: dict[str, float] = {}
    before_s = None
    for row in rows:
        if before_s is None:
            before_s = row["time_s"] - 1
            yield AddedUp(before_s, {})
        seconds, before_s = row["time_s"] - before_s, row["time_s"]
        grown = {name: over_time.get(name, 0.0) + rate * seconds for name, rate in row.items() if name != "time_s"}
        over_time = {**over_time, **grown}
        yield AddedUp(before_s, over_time)


def figures(before: Rates, after: Rates, seconds: float) -> dict[str, float]:
    """As ``kernel_counters.figures``. What a kernel did not report is absent."""
    return {name: (total - before.get(name, 0.0)) / seconds for name, total in after.items()}


def rows(lines: Iterable[str], start_s: float | None = None) -> Iterator[dict[str, float]]:
    """One flat row a sample: ``time_s`` (epoch), CPU in percent of all, disks and networks summed over devices.

    sadf prints whole seconds. The collector's samples come a whole number of seconds after ``start_s``, in order, so
    that number is rounded and never falls back, however the fraction of ``start_s`` lies.
    """
    number = 0
    for entry in _entries(lines):
        row = _row(entry)
        if start_s is not None:
            number = max(number + 1, round(row["time_s"] + 0.5 - start_s))
            row["time_s"] = start_s + number
        yield row


def _entries(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """sadf gives each sample lines of its own, the braces around it in one column."""
    entry: list[str] = []
    brace = ""
    for line in lines:
        text = line.rstrip("\n")
        if entry and text.rstrip(",") == f"{brace}}}":
            yield json.loads("".join([*entry, "}"]))
            entry = []
        elif entry:
            entry.append(text)
        elif '"timestamp"' in text:
            entry = ["{", text]
        elif text.strip() == "{":
            brace = text[: -len("{")]


def _row(entry: Mapping[str, Any]) -> dict[str, float]:
    stamp = entry["timestamp"]
    cpu: Mapping[str, Any] = next((c for c in entry.get("cpu-load", []) if c["cpu"] in ("all", "-1")), {})
    disks = [d for d in entry.get("disk", []) if is_disk_of_its_own(d["disk-device"])]
    devices = entry.get("network", {}).get("net-dev", [])
    nets = [device for device in devices if is_interface_of_its_own(device["iface"])]
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
    if "interrupts" in entry:  # later ones have them in a file of their own
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
