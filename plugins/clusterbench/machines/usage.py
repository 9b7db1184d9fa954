"""The hypervisor's own counters over a window -> what machines and hosts did. Pure.

A sample tells of the interval that ends at its time. Of one that lies partly in the window, that part counts.

A hypervisor that keeps no samples (libvirt) tells totals, which are noted between trials: see ``between_notes``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Series = Sequence[tuple[float, float]]
"""(end of the interval in seconds, value), in the order of time."""


@dataclass(frozen=True)
class Counter:
    """How a hypervisor's counter becomes a number of ours."""

    name: str
    """In vSphere: group, counter and rollup. Of libvirt: its name in the statistics of a domain, without a number."""
    ours: str
    factor: float = 1.0
    is_time_of_vcpus: bool = False
    """Milliseconds of all vCPUs in an interval, of which ours is the percentage."""


MACHINE = (
    Counter("cpu.usage.average", "cpu_percent", 0.01),
    Counter("cpu.ready.summation", "cpu_ready_percent", is_time_of_vcpus=True),
    Counter("cpu.costop.summation", "cpu_costop_percent", is_time_of_vcpus=True),
    Counter("cpu.swapwait.summation", "cpu_swapwait_percent", is_time_of_vcpus=True),
    Counter("mem.swapinRate.average", "swapped_in_kib_per_s"),
    Counter("mem.swapoutRate.average", "swapped_out_kib_per_s"),
    Counter("mem.vmmemctl.average", "balloon_mib", 1 / 1024),
    Counter("virtualDisk.read.average", "disk_read_kib_per_s"),
    Counter("virtualDisk.write.average", "disk_written_kib_per_s"),
    Counter("net.received.average", "net_received_kib_per_s"),
    Counter("net.transmitted.average", "net_sent_kib_per_s"),
)
HOST = (
    Counter("cpu.utilization.average", "cpu_percent", 0.01),
    Counter("cpu.coreUtilization.average", "core_percent", 0.01),
    Counter("cpu.usage.average", "cpu_usage_percent", 0.01),
    Counter("mem.swapinRate.average", "swapped_in_kib_per_s"),
    Counter("mem.swapoutRate.average", "swapped_out_kib_per_s"),
    Counter("mem.vmmemctl.average", "balloon_mib", 1 / 1024),
    Counter("disk.read.average", "disk_read_kib_per_s"),
    Counter("disk.write.average", "disk_written_kib_per_s"),
    Counter("net.received.average", "net_received_kib_per_s"),
    Counter("net.transmitted.average", "net_sent_kib_per_s"),
    Counter("power.power.average", "power_w"),
)


def mean(series: Series, interval_s: float, start_s: float, end_s: float) -> float | None:
    """Of the samples' parts in the window; None where no sample is of it."""
    weights = [(max(0.0, min(at, end_s) - max(at - interval_s, start_s)), value) for at, value in series]
    whole = sum(weight for weight, _ in weights)
    return sum(weight * value for weight, value in weights) / whole if whole else None


def covered(series: Series, interval_s: float, start_s: float, end_s: float) -> float:
    """Which share of the window the samples tell of, from 0 to 1."""
    if end_s <= start_s:
        return 0.0
    parts = (max(0.0, min(at, end_s) - max(at - interval_s, start_s)) for at, _ in series)
    return min(1.0, sum(parts) / (end_s - start_s))


def means(
    counters: Sequence[Counter],
    series: Mapping[str, Series],
    interval_s: float,
    window: tuple[float, float],
    vcpus: int = 1,
) -> dict[str, float]:
    """Our name -> mean in the window, of the counters that told anything in it."""
    found = {}
    for counter in counters:
        value = mean(series.get(counter.name, ()), interval_s, *window)
        if value is None:
            continue
        if counter.is_time_of_vcpus:
            value = 100 * value / (1000 * interval_s * vcpus)
        found[counter.ours] = round(value * counter.factor, 3)
    return found


# Of totals.

NO_SAMPLES = (
    "libvirt keeps no samples, only totals since a machine's start: each mean is over 'interval_s', from the totals "
    "that were noted last before the window to those noted first after it, and so of what went on around it too"
)
NOT_NOTED = (
    "libvirt keeps no samples, and totals were not noted both before and after this window, so what its hosts and "
    "machines did in it is not known"
)
RATES = (
    Counter("block.rd.bytes", "disk_read_kib_per_s", 1 / 1024),
    Counter("block.wr.bytes", "disk_written_kib_per_s", 1 / 1024),
    Counter("net.rx.bytes", "net_received_kib_per_s", 1 / 1024),
    Counter("net.tx.bytes", "net_sent_kib_per_s", 1 / 1024),
    Counter("cpu.time", "cpu_percent", 1e-9, is_time_of_vcpus=True),
    Counter("vcpu.delay", "cpu_ready_percent", 1e-9, is_time_of_vcpus=True),
    Counter("vcpu.wait", "cpu_io_wait_percent", 1e-9, is_time_of_vcpus=True),
)
"""Of libvirt's totals: bytes; nanoseconds, of all vCPUs. libvirt does not report how much a host swaps."""
HOST_BUSY, HOST_TIMES = ("cpu.user", "cpu.kernel"), ("cpu.user", "cpu.kernel", "cpu.idle", "cpu.iowait")

Totals = Mapping[str, Any]


def between_notes(
    machines: Collection[str], hosts: Collection[str], window: tuple[float, float], noted: Sequence[Totals]
) -> dict[str, Any]:
    """Means between the last totals before a window and the first after it. What began or ended between is left out.

    ``window_share``: which part of that interval the window is.
    """
    before = max((one for one in noted if one["at_s"] <= window[0]), key=lambda one: one["at_s"], default=None)
    after = min((one for one in noted if one["at_s"] >= window[1]), key=lambda one: one["at_s"], default=None)
    if before is None or after is None:
        return {"machines": {}, "hosts": {}, "others": {}, "interval_s": None, "covered": 0.0, "problem": NOT_NOTED}
    found: dict[str, Any] = {
        "machines": {
            name: told for name, told in _both(before, after, "machines", _machine).items() if name in machines
        },
        "hosts": {name: told for name, told in _both(before, after, "hosts", _host).items() if name in hosts},
        "others": _both(before, after, "others", _machine),
    }
    for name, told in found["others"].items():
        told["on"] = after["others"][name]["on"]
    interval_s = after["at_s"] - before["at_s"]
    share = (window[1] - window[0]) / interval_s if interval_s else 0.0
    is_whole = set(found["machines"]) == set(machines) and set(found["hosts"]) == set(hosts)
    return {
        **found,
        "interval_s": round(interval_s, 3),
        "window_share": round(share, 3),
        "covered": 1.0 if is_whole else 0.0,
        "remark": NO_SAMPLES,
    }


def _both(
    before: Totals, after: Totals, kind: str, means_of: Callable[[Totals, Totals], dict[str, float]]
) -> dict[str, dict[str, Any]]:
    there = {name: (before[kind].get(name), told) for name, told in after[kind].items()}
    return {name: found for name, (first, last) in there.items() if first and (found := means_of(first, last))}


def _machine(first: Totals, last: Totals) -> dict[str, float]:
    """Empty where it was restarted meanwhile, so that its totals began again."""
    seconds, vcpus = last["at_s"] - first["at_s"], last.get("vcpu.current") or 1
    grown = {one: last[one.name] - first[one.name] for one in RATES if one.name in first and one.name in last}
    if seconds <= 0 or any(value < 0 for value in grown.values()):
        return {}
    return {
        one.ours: round(value * one.factor / seconds * (100 / vcpus if one.is_time_of_vcpus else 1), 3)
        for one, value in grown.items()
    }


def _host(first: Totals, last: Totals) -> dict[str, float]:
    grown = {key: last[key] - first[key] for key in HOST_TIMES if key in first and key in last}
    whole = sum(grown.values())
    if whole <= 0 or any(value < 0 for value in grown.values()):
        return {}
    return {"cpu_percent": round(100 * sum(grown.get(key, 0) for key in HOST_BUSY) / whole, 3)}
