"""How far the nodes of a cluster differ in what they do at the same time. Pure.

Paper 004 says of its first scenario that it "ensures … the same performance of each cluster node", and of the two
others that the performance of nodes "is not constant" and "also inconsistent". It prints no number of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from clusterbench.base.measurements import KERNELS, About, MeasurementKind

CPU, DISK, TIME = "cpu_s", "disk_bytes", "time_s"
MEASUREMENTS: Mapping[str, MeasurementKind] = {
    "node_cpu_max_over_mean": MeasurementKind(
        "1",
        "CPU-seconds of the busiest node over the mean",
        about=About(
            "Processor time of the node that used most, divided by the mean of all nodes. 1: all did as much.",
            KERNELS,
            "trials in which one node is not known by itself",
        ),
    ),
    "node_disk_max_over_mean": MeasurementKind(
        "1",
        "Bytes through disks of the busiest node over the mean",
        about=About(
            "Bytes read and written by the node that moved most, divided by the mean of all nodes.",
            KERNELS,
            "nodes that share one machine's disks",
        ),
    ),
    "node_time_max_over_min": MeasurementKind(
        "1",
        "Time of the slowest node's streams over the fastest's",
        about=About(
            "Of nodes that each have a server and streams of their own: the longest time of a node's streams, divided "
            "by the shortest."
        ),
    ),
}
"""A workload declares those that it wants. A node is a host with segments, or a VM with a server of its own."""
DISKS = ("disk_read_mb_per_s", "disk_write_mb_per_s")
Nodes = Mapping[str, Mapping[str, float]]


def work(
    telemetry: Mapping[str, Mapping[str, Any]], hosts: Sequence[str], window_s: float
) -> dict[str, dict[str, float]]:
    """Host -> CPU-seconds and bytes through its disks in the window, as far as they are its own.

    Hosts that are one machine (by its boot id) each tell the machine's disks, so theirs are nobody's; their processor
    time is their own where a limit is set on them, as on the VMs of the lab.
    """
    sharing = Counter(str(telemetry.get(host, {}).get("boot_id") or host) for host in hosts)
    found: dict[str, dict[str, float]] = {}
    for host in hosts:
        seen = telemetry.get(host, {})
        means = seen.get("mean") or {}
        is_alone = sharing[str(seen.get("boot_id") or host)] == 1
        is_limited = means.get("cpus_allotted", 0.0) < means.get("cpus", 0.0)
        did = found[host] = {}
        if "cpu_allotted_percent" in means and (is_alone or is_limited):
            did[CPU] = means["cpu_allotted_percent"] / 100 * means["cpus_allotted"] * window_s
        if is_alone and all(name in means for name in DISKS):
            did[DISK] = sum(means[name] for name in DISKS) * 1e6 * window_s
    return found


def spread(nodes: Nodes) -> dict[str, float]:
    """Of two nodes or more, where all tell it: the others' alone would be too even."""
    found = {}
    for key, name in ((CPU, "node_cpu_max_over_mean"), (DISK, "node_disk_max_over_mean")):
        values = told_by_all(nodes, key)
        if sum(values):
            found[name] = max(values) * len(values) / sum(values)
    times = told_by_all(nodes, TIME)
    if times and min(times) > 0:
        found["node_time_max_over_min"] = max(times) / min(times)
    return found


def told_by_all(nodes: Nodes, key: str) -> list[float]:
    """A value of each node; empty where one lacks it, or where there is one node only."""
    values = [did[key] for did in nodes.values() if key in did]
    return values if len(values) == len(nodes) > 1 else []
