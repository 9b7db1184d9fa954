"""VMs of the lab: hosts whose processes share a CPU quota, all of them on one "server", which has a quota, too.

Where root runs the lab. A thread of that server is a quarter of a processor, so that a laptop of two has room for
clients beside it. It is a share of time and no hardware thread: two threads of a core do not slow each other down.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import time
from collections.abc import Iterable
from pathlib import Path

from clusterbench.lab.layout import VMS
from clusterbench.spec.placement import Machine

SERVER = Machine(sockets=1, cores_per_socket=3, threads_per_core=2)
VM_CPUS = 2
THREAD_CPUS = 0.25
"""Processors of the real machine that a thread of the server is, and so a vCPU. As the platforms' files have it."""

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
LIMIT_SECONDS = 5.0


class VmLimits:
    """The groups of one lab: the server, and in it one for each VM. Version 1 of cgroups, or 2."""

    def __init__(self, lab_dir: Path, root: Path = ROOT) -> None:
        self.is_v2 = (root / "cgroup.controllers").exists()
        self.root = root if self.is_v2 else root / "cpu"
        self.server = self.root / f"clusterbench-{hashlib.sha256(str(lab_dir).encode()).hexdigest()[:12]}"
        self.accounts = None if self.is_v2 else root / "cpuacct" / self.server.name
        """Version 1 may count the processors' time in groups of its own, beside those with the limits."""

    def vm(self, host: str) -> Path:
        return self.server / host

    def make(self) -> str:
        """Make them where they are not there. Returns why that cannot be, or nothing: then they are in force."""
        if os.geteuid() != 0:
            return "only root can limit the CPUs of VMs"
        try:
            self._make(self.server, SERVER.threads * THREAD_CPUS, self.root)
            # Among groups and processes of its level the server would count as one; its processors are its own.
            name, weight = ("cpu.weight", 10_000) if self.is_v2 else ("cpu.shares", 262_144)
            (self.server / name).write_text(str(weight))
            for host in VMS:
                self._make(self.vm(host), VM_CPUS * THREAD_CPUS, self.server)
                if self.accounts:
                    (self.accounts / host).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self.remove()
            return f"this system does not limit the CPUs of VMs: {error.filename or self.root}: {error.strerror}"
        return ""

    def take(self, host: str, pids: Iterable[int]) -> None:
        """Processes into a VM, with all that they start from now on; does nothing where there are no limits."""
        if not self.vm(host).is_dir():
            return
        for pid, server in itertools.product(pids, self._servers):
            with contextlib.suppress(ProcessLookupError):
                (server / host / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        """Groups without processes; one that was killed a moment ago is waited for."""
        deadline = time.monotonic() + LIMIT_SECONDS
        for group in (place / host for place in self._servers for host in (*VMS, "")):
            while group.is_dir():
                with contextlib.suppress(OSError):
                    group.rmdir()
                    break
                if time.monotonic() > deadline:
                    break
                time.sleep(0.05)

    @property
    def _servers(self) -> list[Path]:
        return [self.server, *([self.accounts] if self.accounts else [])]

    def _make(self, group: Path, cpus: float, parent: Path) -> None:
        """In version 2 a group has the files of those controllers only that its parent hands down."""
        if self.is_v2:
            (parent / "cgroup.subtree_control").write_text("+cpu")
        group.mkdir(exist_ok=True)
        quota_us = round(cpus * PERIOD_US)
        if self.is_v2:
            (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))
