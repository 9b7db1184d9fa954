"""What ``include/hosts/telemetry_sample.sh`` noted once a second of a host's kernel, and the figures that come of it.

Pure. Counters only grow, so the figures between any two times are differences, whatever was missed meanwhile. What the
kernel tells of a moment (memory, load) is added up over time, so that it is averaged like the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

VIRTUAL_INTERFACE = re.compile(
    r"lo$|bond|team\d|br-|[a-z]*br\d|kube-bridge|docker|podman|veth|vnet|v?lan\d+$|vlan|vxlan|genev|(mac)?v?tap|tun|wg\d|"
    r"dummy|ovs|cni|flannel|cali|weave|ifb\d|[^.]+[.]\d+$"
)
"""Interfaces that would count twice what goes through the network's own: bonds, bridges, VLANs; and the loopback."""
DISK_UPON_ANOTHER = ("loop", "ram", "zram", "dm-", "md", "sr")
"""They count twice what goes through disks, or are memory. The kernel's list of disks has them, too."""

SECTOR_BYTES = 512
"""Of ``/proc/diskstats``, whatever the disk's own are (Documentation/admin-guide/iostats.rst)."""
CPU = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
"""The words of the line ``cpu`` in ``/proc/stat``, in ticks of all processors. Guests are part of user and nice."""
READS, SECTORS_READ, WRITES, SECTORS_WRITTEN, DISCARDS = 0, 2, 4, 6, 11
"""Of ``/proc/diskstats``, after the name."""
BYTES_IN, PACKETS_IN, BYTES_OUT, PACKETS_OUT = 0, 1, 8, 9
"""Of ``/proc/net/dev``, after the name."""
NETWORK = {
    "udp.received": "datagrams_per_s",
    "udp.lost": "datagrams_lost_per_s",
    "tcp.resent": "segments_resent_per_s",
}
"""Of ``/proc/net/snmp``; lost are those that the host had no room for, or whose checksum was wrong."""
GAUGES = ("memory_used_mb", "memory_used_percent", "load_1_min", "runnable_tasks")
NOT_USED = ("MemFree", "Buffers", "Cached", "Slab")
"""What of ``MemTotal`` does not count as used: the caches that the kernel gives back, as sysstat counts it."""
Counters = Mapping[str, float]


@dataclass(frozen=True)
class Noted:
    """One sample. Its line is taken apart only where it is asked for: of 36,000 of a trial a few hundred are."""

    time_s: float
    gauges_over_time: tuple[float, ...]
    """Each of ``GAUGES`` times the seconds for which it stood, since the first sample."""
    line: str
    page_bytes: int

    def counters(self) -> Counters:
        """Everything that grows, by name: ``cpu.idle``, ``disk.sda.0``, ``net.eth0.8``, ``pressure.io_some`` …"""
        found = dict(zip(GAUGES, self.gauges_over_time, strict=True))
        for group in self.line.split("\t")[3:]:
            name, *words = group.split()
            if name in ("disk", "net"):
                found |= {f"{name}.{words[0]}.{n}": float(word) for n, word in enumerate(words[1:])}
            elif name == "cpu":
                found |= {f"cpu.{kind}": float(word) for kind, word in zip(CPU, words, strict=False)}
            elif name in ("vm", "pressure", "tcp", "udp"):
                found |= {f"{name}.{kind}": float(n) for kind, n in zip(words[::2], words[1::2], strict=True)}
            else:
                found[name] = float(words[0])
        found["swap.in_bytes"] = found.get("vm.pswpin", 0.0) * self.page_bytes
        found["swap.out_bytes"] = found.get("vm.pswpout", 0.0) * self.page_bytes
        return found


def samples(lines: Iterable[str]) -> Iterator[Noted]:
    """From the file's lines, one after the other. A last line that was cut off, for want of room, is left out."""
    lines = iter(lines)
    told = next(lines, "").split()
    if len(told) != 3:
        return
    offset_s, page_bytes = float(told[0]) - float(told[1]), int(told[2])
    over_time, before_s = (0.0,) * len(GAUGES), None
    for line in lines:
        if not line.endswith("\n"):
            return
        uptime, load, memory, _ = line.split("\t", 3)
        time_s = float(uptime) + offset_s
        if before_s is not None:
            if time_s <= before_s:
                continue
            seconds = time_s - before_s
            over_time = tuple(
                [total + gauge * seconds for total, gauge in zip(over_time, _gauges(load, memory), strict=True)]
            )
        before_s = time_s
        yield Noted(time_s, over_time, line, page_bytes)


def _gauges(load: str, memory: str) -> tuple[float, float, float, float]:
    """In the order of ``GAUGES``."""
    _, load_1_min, _, _, tasks, _ = load.split()
    words = memory.split()
    kib = dict(zip(words[1::2], words[2::2], strict=True))
    total = int(kib["MemTotal"])
    used = total - sum([int(kib.get(name, 0)) for name in NOT_USED])
    runnable = float(tasks.partition("/")[0]) - 1  # the collector is one
    return used * 1024 / 1e6, 100 * used / total, float(load_1_min), max(0.0, runnable)


def figures(before: Counters, after: Counters, seconds: float) -> dict[str, float]:
    """Means of the time between two samples, or of any other two times: rates in a second, and shares in percent."""
    grown = {name: max(0.0, value - before.get(name, 0.0)) for name, value in after.items()}
    disks = _devices(grown, "disk", is_disk_of_its_own)
    nets = _devices(grown, "net", is_interface_of_its_own)
    found = {**_cpu(grown), **_disks(disks, seconds)}
    for name, way, packets in (("received", BYTES_IN, PACKETS_IN), ("sent", BYTES_OUT, PACKETS_OUT)):
        found[f"network_{name}_packets_per_s"] = _sum(nets, packets) / seconds
        found[f"network_{name}_mb_per_s"] = _sum(nets, way) / seconds / 1e6
    own = _devices(grown, "net", lambda name: name == "lo")
    found |= {
        "loopback_packets_per_s": _sum(own, PACKETS_OUT) / seconds,
        "loopback_mb_per_s": _sum(own, BYTES_OUT) / seconds / 1e6,
        "interrupts_per_s": grown.get("intr", 0.0) / seconds,
        "context_switches_per_s": grown.get("ctxt", 0.0) / seconds,
        "swap_in_mb_per_s": grown["swap.in_bytes"] / seconds / 1e6,
        "swap_out_mb_per_s": grown["swap.out_bytes"] / seconds / 1e6,
        **{name: grown[name] / seconds for name in GAUGES},
    }
    for counter, figure in NETWORK.items():
        if counter in grown:
            found[figure] = grown[counter] / seconds
    for resource, short in (("cpu", "cpu"), ("io", "io"), ("memory", "mem")):
        if (waited_us := grown.get(f"pressure.{resource}_some")) is not None:
            found[f"pressure_{short}_percent"] = waited_us / seconds / 1e4
    return found


def interfaces(before: Counters, after: Counters, seconds: float) -> dict[str, dict[str, float]]:
    """What went through each interface through which anything went, but the loopback: a bond beside its members."""
    grown = {name: max(0.0, value - before.get(name, 0.0)) for name, value in after.items() if name.startswith("net.")}
    return {
        name: {
            "received_mb_per_s": counted.get(BYTES_IN, 0.0) / seconds / 1e6,
            "sent_mb_per_s": counted.get(BYTES_OUT, 0.0) / seconds / 1e6,
        }
        for name, counted in _by_device(grown, "net").items()
        if name != "lo" and (counted.get(BYTES_IN) or counted.get(BYTES_OUT))
    }


def _cpu(grown: Counters) -> dict[str, float]:
    ticks = {kind: grown.get(f"cpu.{kind}", 0.0) for kind in CPU}
    guests = ticks["guest"] + ticks["guest_nice"]
    total = sum(ticks.values()) - guests or 1.0
    share = {kind: 100 * value / total for kind, value in ticks.items()}
    return {
        "cpu_percent": 100.0 - share["idle"] - share["iowait"],
        "cpu_user_percent": share["user"] - share["guest"],
        "cpu_system_percent": share["system"],
        "cpu_iowait_percent": share["iowait"],
        "cpu_steal_percent": share["steal"],
    }


def _disks(disks: list[Mapping[int, float]], seconds: float) -> dict[str, float]:
    reads, writes = _sum(disks, READS), _sum(disks, WRITES)
    return {
        "disk_iops": (reads + writes + _sum(disks, DISCARDS)) / seconds,
        "disk_reads_per_s": reads / seconds,
        "disk_writes_per_s": writes / seconds,
        "disk_read_mb_per_s": _sum(disks, SECTORS_READ) * SECTOR_BYTES / seconds / 1e6,
        "disk_write_mb_per_s": _sum(disks, SECTORS_WRITTEN) * SECTOR_BYTES / seconds / 1e6,
    }


def _devices(grown: Counters, kind: str, counts: Callable[[str], bool]) -> list[Mapping[int, float]]:
    return [counted for name, counted in _by_device(grown, kind).items() if counts(name)]


def _by_device(grown: Counters, kind: str) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for name, value in grown.items():
        if name.startswith(f"{kind}."):
            device, _, number = name[len(kind) + 1 :].rpartition(".")
            found.setdefault(device, {})[int(number)] = value
    return found


def _sum(devices: Iterable[Mapping[int, float]], number: int) -> float:
    return sum([device.get(number, 0.0) for device in devices])


@cache
def is_interface_of_its_own(name: str) -> bool:
    return VIRTUAL_INTERFACE.match(name) is None


@cache
def is_disk_of_its_own(name: str) -> bool:
    return not name.startswith(DISK_UPON_ANOTHER)
