"""The hypervisor's own counters over a window -> what machines and hosts did. Pure.

A sample tells of the interval that ends at its time. Of one that lies partly in the window, that part counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Series = Sequence[tuple[float, float]]
"""(end of the interval in seconds, value), in the order of time."""


@dataclass(frozen=True)
class Counter:
    """How a counter of vSphere becomes a number of ours."""

    name: str
    """In vSphere: group, counter and rollup."""
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
