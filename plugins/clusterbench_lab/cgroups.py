"""Servers of the lab that are smaller than this machine: hosts whose processes share a CPU quota, by server.

Where root runs the lab. A thread of a server is a small part of a processor, so that a laptop of two has room for
clients beside it. It is a share of time and no hardware thread: two threads of a core do not slow each other down.

Memory is limited where a paper's data was larger than it. The limit holds what processes take and what the kernel keeps
of their files, so that the page cache is as small as it would be there. What it does not keep is read from the disk of
this machine, of which each part of a server has its part: so many bytes a second.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from clusterbench.spec.placement import Machine
from clusterbench_lab.layout import GUESTS, NATIVE, RETAIL_HOSTS, TERASORT, TERASORT_SERVERS, VM64, VMS

GIB = 2**30
Share = TypeVar("Share", int, float)


@dataclass(frozen=True)
class PhysicalServer:
    machine: Machine
    thread_cpus: Fraction
    """Processors of the real machine that a thread is, and so a vCPU. As the platforms' files have it."""
    guests: Mapping[str, int]
    """Host -> threads that it may use at most."""
    is_shared: bool
    """Guests are loaded together and may want more than there is, so that the server has a limit of its own. Else a
    limit that is as large as the guests' would only be mistaken for what others took from them."""
    memory_gib: Mapping[str, float] = field(default_factory=dict)
    """Host -> memory that it may use at most, page cache included. As the platforms' files have it."""
    read_mb_per_s: Mapping[str, int] = field(default_factory=dict)
    """Host -> what it may read from the disk at most. Writes have no limit: version 1 would not hold most of them."""

    def cpus(self, host: str) -> float:
        return float(self.guests[host] * self.thread_cpus)

    @property
    def all_cpus(self) -> float | None:
        return float(self.machine.threads * self.thread_cpus) if self.is_shared else None


def _terasort(server: int, native_vm1_vm2: tuple[Share, Share, Share]) -> dict[str, Share]:
    """Worker -> its part of a server; workers are dealt out to servers in turn, as ``count`` and ``machines`` do it."""
    sizes = dict(zip(TERASORT, native_vm1_vm2, strict=True))
    return {
        f"{name}{number}": size
        for name, size in sizes.items()
        for number in range(server, TERASORT_SERVERS * TERASORT[name] + 1, TERASORT_SERVERS)
    }


SERVERS = {
    # Paper 004, VM Density Scenarios: more vCPUs than threads.
    "server1": PhysicalServer(
        Machine(sockets=1, cores_per_socket=3, threads_per_core=2),
        Fraction(1, 4),
        dict.fromkeys(VMS, 2),
        is_shared=True,
    ),
    # Paper 003, Benchmark Design Considerations: all threads without a hypervisor, all but 8 with one.
    "server2": PhysicalServer(
        Machine(sockets=2, cores_per_socket=18, threads_per_core=2),
        Fraction(1, 60),
        {NATIVE: 72, VM64: 64},
        is_shared=False,
    ),
    # Paper 000, Test Cases and Test Method: one server whole, and as 1, 2 and 4 VMs. Of its 96 GB VMs have 92.
    "server3": PhysicalServer(
        Machine(sockets=2, cores_per_socket=8, threads_per_core=1, memory_gib=2),
        Fraction(1, 16),
        dict(zip(RETAIL_HOSTS, (16, 16, 8, 8, 4, 4, 4, 4), strict=True)),
        is_shared=False,
        memory_gib=dict(zip(RETAIL_HOSTS, (2, 1.92, 0.96, 0.96, 0.48, 0.48, 0.48, 0.48), strict=True)),
        read_mb_per_s=dict(zip(RETAIL_HOSTS, (100, 100, 50, 50, 25, 25, 25, 25), strict=True)),
    ),
    # Paper 002, Table 1: three servers, each whole, and as 1 and 2 VMs with the same slots.
    **{
        f"server{3 + number}": PhysicalServer(
            Machine(sockets=2, cores_per_socket=1, threads_per_core=1, memory_gib=4),
            Fraction(1, 4),
            _terasort(number, (2, 2, 1)),
            is_shared=False,
            memory_gib=_terasort(number, (4, 3.76, 1.88)),
        )
        for number in range(1, TERASORT_SERVERS + 1)
    },
}

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
LIMIT_SECONDS = 5.0


class Limits:
    """The groups of one lab: in one of its own each server, and in that each guest. Version 1 of cgroups, or 2."""

    def __init__(self, lab_dir: Path, root: Path = ROOT) -> None:
        self.is_v2 = (root / "cgroup.controllers").exists()
        self.root = root if self.is_v2 else root / "cpu"
        self.lab = self.root / f"clusterbench-{hashlib.sha256(str(lab_dir).encode()).hexdigest()[:12]}"
        self.accounts = None if self.is_v2 else root / "cpuacct" / self.lab.name
        """Version 1 may count the processors' time in groups of its own, beside those with the limits."""
        self.memory = self.lab if self.is_v2 else root / "memory" / self.lab.name
        """Version 1 limits memory in groups of its own."""
        self.disk = self.lab if self.is_v2 else root / "blkio" / self.lab.name
        """And what is read from a disk."""
        self.lab_dir = lab_dir
        self.guests = {host: self.server(name) / host for name, server in SERVERS.items() for host in server.guests}
        self.guests |= {guest: self.server("machines") / guest for guest in GUESTS}

    def server(self, name: str) -> Path:
        return self.lab / name

    def make(self) -> str:
        """Make them where they are not there. Returns why that cannot be, or nothing: then they are in force."""
        if os.geteuid() != 0:
            return "none: only root can limit CPUs and memory of hosts"
        try:
            self._make(self.lab, None)
            # Among groups and processes of its level the lab would count as one; its processors are its own.
            weight, value = ("cpu.weight", 10_000) if self.is_v2 else ("cpu.shares", 262_144)
            (self.lab / weight).write_text(str(value))
            for name, server in SERVERS.items():
                self._make(self.server(name), server.all_cpus)
                for host in server.guests:
                    self._make(self.guests[host], server.cpus(host))
                    if self.accounts:
                        (self.accounts / name / host).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self.remove()
            return f"none: this system does not limit the CPUs of hosts: {_said(error, self.root)}"
        try:
            self._make_memory()
        except OSError as error:
            return f"of CPUs alone: this system does not limit the memory of hosts: {_said(error, self.memory)}"
        try:
            self._make_disk()
        except OSError as error:
            return f"of CPUs and memory: this system does not limit what hosts read: {_said(error, self.disk)}"
        return ""

    def _make_memory(self) -> None:
        """Groups that are there take a new limit, too. What is in memory above it is given up, as far as that goes."""
        limited = {host: gib for server in SERVERS.values() for host, gib in server.memory_gib.items()}
        file = "memory.max" if self.is_v2 else "memory.limit_in_bytes"
        self._limit(self.memory, "memory", file, {host: str(round(gib * GIB)) for host, gib in limited.items()})

    def _make_disk(self) -> None:
        """Of the disk that the lab's folder is on."""
        limited = {host: mb * 10**6 for server in SERVERS.values() for host, mb in server.read_mb_per_s.items()}
        file, words = ("io.max", "rbps=") if self.is_v2 else ("blkio.throttle.read_bps_device", "")
        disk = disk_of(self.lab_dir)
        self._limit(self.disk, "io", file, {host: f"{disk} {words}{rate}" for host, rate in limited.items()})

    def _limit(self, tree: Path, controller: str, file: str, values: Mapping[str, str]) -> None:
        """``values``: by host, what its group's file takes."""
        self._hand_down(controller, values)
        for host, value in values.items():
            group = self._group(tree, host)
            group.mkdir(parents=True, exist_ok=True)
            (group / file).write_text(value)

    def _hand_down(self, controller: str, hosts: Iterable[str]) -> None:
        """In version 2 a group has the files of those controllers only that its parent hands down."""
        if self.is_v2:
            above = {parent for host in hosts for parent in list(self.guests[host].parents)[:3]}
            for group in sorted(above, key=lambda group: len(group.parts)):
                (group / "cgroup.subtree_control").write_text(f"+{controller}")

    def make_guest(self, host: str, cpus: float, memory_bytes: int) -> None:
        """One that a machine has become, as large as that; does nothing where hosts have no limits."""
        if not self.lab.is_dir():
            return
        self._make(self.server("machines"), None)
        self._make(self.guests[host], cpus)
        if self.accounts:
            (self.accounts / "machines" / host).mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OSError):  # as `make` has said when the lab was brought up
            file = "memory.max" if self.is_v2 else "memory.limit_in_bytes"
            self._limit(self.memory, "memory", file, {host: str(memory_bytes)})

    def take(self, host: str, pids: Iterable[int]) -> None:
        """Processes into a guest, with all that they start from now on; does nothing where there are no limits."""
        if host not in self.guests or not self.guests[host].is_dir():
            return
        for pid, group in itertools.product(pids, self._groups(host)):
            with contextlib.suppress(ProcessLookupError):
                (group / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        """Groups without processes, the inner ones first; one that was killed a moment ago is waited for."""
        deadline = time.monotonic() + LIMIT_SECONDS
        for group in (group for tree in self._trees for group in sorted(tree.glob("**/"), reverse=True)):
            while group.is_dir():
                with contextlib.suppress(OSError):
                    group.rmdir()
                    break
                if time.monotonic() > deadline:
                    break
                time.sleep(0.05)

    @property
    def _trees(self) -> list[Path]:
        trees = [self.lab, *([self.accounts] if self.accounts else []), self.memory, self.disk]
        return list(dict.fromkeys(trees))

    def _group(self, tree: Path, host: str) -> Path:
        return tree / self.guests[host].relative_to(self.lab)

    def _groups(self, host: str) -> list[Path]:
        """Those that limit the guest, and the one that counts what it uses, where that is another."""
        optional = {self._group(tree, host) for tree in (self.memory, self.disk)}
        groups = [self._group(tree, host) for tree in self._trees]
        return [group for group in groups if group not in optional or group.is_dir()]

    def _make(self, group: Path, cpus: float | None) -> None:
        """In version 2 a group has the files of those controllers only that its parent hands down."""
        if self.is_v2:
            (group.parent / "cgroup.subtree_control").write_text("+cpu")
        group.mkdir(exist_ok=True)
        quota_us = None if cpus is None else round(cpus * PERIOD_US)
        if self.is_v2:
            (group / "cpu.max").write_text(f"{'max' if quota_us is None else quota_us} {PERIOD_US}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(-1 if quota_us is None else quota_us))


def disk_of(folder: Path) -> str:
    """Major and minor number of the disk (no partition) that a folder is on. Raises OSError where none is known."""
    number = folder.stat().st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve(strict=True)
    disk = device.parent if (device / "partition").exists() else device
    return (disk / "dev").read_text().strip()


def _said(error: OSError, folder: Path) -> str:
    return f"{error.filename or folder}: {error.strerror}"
