"""The system's side of a load, as Tables 2 and 3 of paper 003 tell it: what throughput took of the database's hosts.

Pure: from what ``telemetry.read`` said of each host over the measured window.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clusterbench.base import database_work
from clusterbench.base.measurements import KERNELS, About, MeasurementKind, Phase

_OFTEN = "Mean over the measured window."
MEASUREMENTS: Mapping[str, MeasurementKind] = {
    "cpu_percent": MeasurementKind(
        "%",
        "CPU utilisation of the database hosts",
        "neither",
        about=About(
            "Busy processor time of the database's hosts, in percent of the processors that they may use. "
            "Waiting for disks is not busy.",
            KERNELS,
            "client and ETL hosts",
        ),
    ),
    "transactions_per_cpu_s": MeasurementKind(
        "1/s",
        "Transactions per second of a busy processor",
        "higher",
        about=About("Throughput divided by the number of processors that were busy, of all machines.", KERNELS),
    ),
    "disk_iops": MeasurementKind(
        "1/s", "Disk operations", "neither", about=About(f"Reads and writes of the disks per second. {_OFTEN}", KERNELS)
    ),
    "disk_mb_per_s": MeasurementKind(
        "MB/s", "Disk reads and writes", "neither", about=About(f"Bytes read from disks and written. {_OFTEN}", KERNELS)
    ),
    "disk_reads_per_s": MeasurementKind("1/s", "Disk reads", "neither", about=About(f"Reads. {_OFTEN}", KERNELS)),
    "disk_writes_per_s": MeasurementKind("1/s", "Disk writes", "neither", about=About(f"Writes. {_OFTEN}", KERNELS)),
    "disk_reads_percent": MeasurementKind(
        "%",
        "Reads among disk reads and writes",
        "neither",
        about=About("Reads, in percent of all reads and writes; absent if there was none.", KERNELS),
    ),
    "disk_read_kb_mean": MeasurementKind(
        "kB",
        "Mean size of a disk read",
        "neither",
        about=About("Bytes read divided by reads, over all machines; absent if there was none.", KERNELS),
    ),
    "disk_write_kb_mean": MeasurementKind(
        "kB",
        "Mean size of a disk write",
        "neither",
        about=About("Bytes written divided by writes, over all machines; absent if there was none.", KERNELS),
    ),
    "swap_mb_per_s": MeasurementKind(
        "MB/s", "Swapped in and out", "neither", about=About(f"Bytes swapped in and out. {_OFTEN}", KERNELS)
    ),
    "network_received_packets_per_s": MeasurementKind(
        "1/s",
        "Packets received",
        "neither",
        about=About(f"Packets received by network interfaces. {_OFTEN}", KERNELS, "the loopback"),
    ),
    "network_sent_packets_per_s": MeasurementKind(
        "1/s",
        "Packets sent",
        "neither",
        about=About(f"Packets sent by network interfaces. {_OFTEN}", KERNELS, "the loopback"),
    ),
    "network_received_mb_per_s": MeasurementKind(
        "MB/s",
        "Network, received",
        "neither",
        about=About(f"Bytes received by network interfaces. {_OFTEN}", KERNELS, "the loopback"),
    ),
    "network_sent_mb_per_s": MeasurementKind(
        "MB/s",
        "Network, sent",
        "neither",
        about=About(f"Bytes sent by network interfaces. {_OFTEN}", KERNELS, "the loopback"),
    ),
    "loopback_packets_per_s": MeasurementKind(
        "1/s",
        "Packets over the loopback",
        "neither",
        about=About(f"Packets that a host sent to itself. {_OFTEN}", KERNELS),
    ),
    "loopback_mb_per_s": MeasurementKind(
        "MB/s", "Loopback", "neither", about=About(f"Bytes that a host sent to itself. {_OFTEN}", KERNELS)
    ),
    "interrupts_per_s": MeasurementKind(
        "1/s", "Interrupts", "neither", about=About(f"Interrupts of the processors. {_OFTEN}", KERNELS)
    ),
    "context_switches_per_s": MeasurementKind(
        "1/s",
        "Context switches",
        "neither",
        about=About(f"How often a processor went from one thread to another. {_OFTEN}", KERNELS),
    ),
    "load_1_min": MeasurementKind(
        "1",
        "Load average of a minute",
        "neither",
        about=About(
            "Threads that ran, waited for a processor or for a disk, as the kernel averages them over a minute; the "
            "mean of the machines, not their sum. It begins before a short window does.",
            KERNELS,
        ),
    ),
}
"""A workload declares those of them that it wants measured. CPU utilisation is a share of what the hosts may use. All
others are the machines' figures, summed over the machines; only the load is their mean, and a mean size is that of all
their reads or writes."""

DISK = ("disk_read_mb_per_s", "disk_write_mb_per_s")
SWAP = ("swap_in_mb_per_s", "swap_out_mb_per_s")
ACCESSES = ("disk_reads_percent", "disk_read_kb_mean", "disk_write_kb_mean")
OTHERS = ("cpu_percent", "transactions_per_cpu_s", "load_1_min", *ACCESSES)
SUMS = (*(name for name in MEASUREMENTS if name not in OTHERS), *database_work.NETWORK)
PHASE_SUMS = ("disk_read", "disk_write", "network_sent")
BUSY = "cpus_busy"
Means = Mapping[str, float]


def measure(
    telemetry: Mapping[str, Mapping[str, Any]], hosts: Sequence[str], throughput_per_s: float | None
) -> dict[str, float]:
    """Measurements of ``hosts``, those of the database.

    A figure that one of them lacks is left out, because the sum of the others would be too small.
    """
    seen = [telemetry.get(host, {}) for host in hosts]
    each = [_with_sums(one.get("mean", {})) for one in seen]
    machines: dict[str, list[Means]] = {}
    for host, one, means in zip(hosts, seen, each, strict=True):
        machines.setdefault(str(one.get("boot_id") or host), []).append(means)
    firsts = [sharing[0] for sharing in machines.values()]
    found = {name: _sum(means.get(name) for means in firsts) for name in SUMS}
    found |= _accesses(firsts)
    load = _sum(means.get("load_1_min") for means in firsts)
    found["load_1_min"] = None if load is None else load / len(firsts)
    allotted = _sum(means.get("cpus_allotted") for means in each)
    used = _sum(means.get(BUSY) for means in each)
    found["cpu_percent"] = 100 * used / allotted if used is not None and allotted else None
    busy = _sum(_busy(sharing) for sharing in machines.values())
    found["transactions_per_cpu_s"] = throughput_per_s / busy if throughput_per_s is not None and busy else None
    return {name: value for name, value in found.items() if value is not None}


def measure_phases(
    telemetry: Mapping[str, Mapping[str, Any]], hosts: Sequence[str], phases: Iterable[Phase]
) -> dict[str, float]:
    """ "teragen_disk_write_mb_per_s", …: of each phase what went through disks and network, summed over the machines.

    "teravalidate_network_share" is bytes between them by those of the dataset. Nothing where a host was not watched;
    no network where all hosts are one machine, whose addresses speak over its loopback.
    """
    seen = [telemetry.get(host, {}) for host in hosts]
    machines = {str(one.get("boot_id") or host): one.get("phases") for host, one in zip(hosts, seen, strict=True)}
    known = [of_phases for of_phases in machines.values() if of_phases]
    found: dict[str, float] = {}
    if not machines or len(known) < len(machines):
        return found
    for phase in phases:
        name = phase.name.lower().replace("-", "_")
        sums = {key: sum(each.get(phase.name, {}).get(f"{key}_bytes", 0.0) for each in known) for key in PHASE_SUMS}
        if len(known) == 1:
            del sums["network_sent"]
        if (seconds := phase.end_s - phase.start_s) > 0:
            found |= {f"{name}_{key}_mb_per_s": sent / 1e6 / seconds for key, sent in sums.items()}
        if phase.data_bytes and "network_sent" in sums:
            found[f"{name}_network_share"] = sums["network_sent"] / phase.data_bytes
    return found


def _accesses(machines: Sequence[Means]) -> dict[str, float]:
    """How many of the disks' accesses were reads, and how large they were; absent where there were none."""
    found = {}
    counts = {way: _sum(means.get(f"disk_{way}s_per_s") for means in machines) or 0.0 for way in ("read", "write")}
    for way, count in counts.items():
        megabytes = _sum(means.get(f"disk_{way}_mb_per_s") for means in machines)
        if count and megabytes is not None:
            found[f"disk_{way}_kb_mean"] = megabytes * 1000 / count
    if total := sum(counts.values()):
        found["disk_reads_percent"] = 100 * counts["read"] / total
    return found


def _with_sums(means: Means) -> dict[str, float]:
    found = dict(means)
    if all(name in means for name in DISK):
        found["disk_mb_per_s"] = sum(means[name] for name in DISK)
    if all(name in means for name in SWAP):
        found["swap_mb_per_s"] = sum(means[name] for name in SWAP)
    if "cpu_allotted_percent" in means:
        found[BUSY] = means["cpu_allotted_percent"] / 100 * means["cpus_allotted"]
    return found


def _busy(sharing: Sequence[Means]) -> float | None:
    """Busy processors of the hosts that share a machine. A host without a limit stands for the whole machine."""
    whole = [means for means in sharing if means.get("cpus_allotted", 0.0) >= means.get("cpus", 0.0)]
    return whole[0].get(BUSY) if whole else _sum(means.get(BUSY) for means in sharing)


def _sum(values: Iterable[float | None]) -> float | None:
    """None where a value is unknown or there are no values."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if known and len(known) == len(listed) else None
