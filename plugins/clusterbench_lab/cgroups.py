"""Servers of the lab that are smaller than this machine: hosts whose processes share a CPU quota, by server.

Where root runs the lab. A thread of a server is a small part of a processor, so that a laptop of two has room for
clients beside it. It is a share of time and no hardware thread: two threads of a core do not slow each other down.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from clusterbench.spec.placement import Machine
from clusterbench_lab.layout import NATIVE, VM64, VMS


@dataclass(frozen=True)
class PhysicalServer:
    machine: Machine
    thread_cpus: Fraction
    """Processors of the real machine that a thread is, and so a vCPU. As the platforms' files have it."""
    guests: Mapping[str, int]
    """Host -> threads that it may use at most."""
    is_shared: bool
    """Guests are loaded together, so that the server has a limit of its own. Else one at a time is, and a limit that
    is as large as the guest's would only be mistaken for what others took from it."""

    def cpus(self, host: str) -> float:
        return float(self.guests[host] * self.thread_cpus)

    @property
    def all_cpus(self) -> float | None:
        return float(self.machine.threads * self.thread_cpus) if self.is_shared else None


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
}

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
LIMIT_SECONDS = 5.0


class CpuLimits:
    """The groups of one lab: in one of its own each server, and in that each guest. Version 1 of cgroups, or 2."""

    def __init__(self, lab_dir: Path, root: Path = ROOT) -> None:
        self.is_v2 = (root / "cgroup.controllers").exists()
        self.root = root if self.is_v2 else root / "cpu"
        self.lab = self.root / f"clusterbench-{hashlib.sha256(str(lab_dir).encode()).hexdigest()[:12]}"
        self.accounts = None if self.is_v2 else root / "cpuacct" / self.lab.name
        """Version 1 may count the processors' time in groups of its own, beside those with the limits."""
        self.guests = {host: self.server(name) / host for name, server in SERVERS.items() for host in server.guests}

    def server(self, name: str) -> Path:
        return self.lab / name

    def make(self) -> str:
        """Make them where they are not there. Returns why that cannot be, or nothing: then they are in force."""
        if os.geteuid() != 0:
            return "only root can limit the CPUs of hosts"
        try:
            self._make(self.lab, None)
            # Among groups and processes of its level the lab would count as one; its processors are its own.
            weight, value = ("cpu.weight", 10_000) if self.is_v2 else ("cpu.shares", 262_144)
            (self.lab / weight).write_text(str(value))
            for name, server in SERVERS.items():
                self._make(self.server(name), server.all_cpus)
                for host in server.guests:
                    self._make(self.guests[host], server.cpus(host))
                    for counting in self._groups(host)[1:]:
                        counting.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self.remove()
            return f"this system does not limit the CPUs of hosts: {error.filename or self.root}: {error.strerror}"
        return ""

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
        return [self.lab, *([self.accounts] if self.accounts else [])]

    def _groups(self, host: str) -> list[Path]:
        """The one that limits the guest, and the one that counts what it uses, where that is another."""
        return [tree / self.guests[host].relative_to(self.lab) for tree in self._trees]

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
