"""What machines of the lab's vCenter are: hosts of the lab, that live and die with them.

A machine that is switched on becomes an sshd with an address, a host key and a home of its own, limits of CPUs and
memory as large as it is, and the servers that its template holds. It tells address and key through its vCenter, as a
guest does with VMware Tools. One that is switched off has no process left; of one that is deleted nothing stays.

``GuestFollower`` is the process that sees to it.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from pyVmomi import vim

from clusterbench.base.connections import Connection, from_file
from clusterbench.base.errors import LabError, MachineError
from clusterbench.machines import vsphere_specs as specs
from clusterbench.machines.vsphere_read import Listed, by_name, machines
from clusterbench.machines.vsphere_session import Session
from clusterbench_lab import account as accounts
from clusterbench_lab import processes
from clusterbench_lab.account import Account, write_private
from clusterbench_lab.cgroups import Limits
from clusterbench_lab.credentials import Credentials
from clusterbench_lab.hadoop import HadoopJars
from clusterbench_lab.layout import GUESTS, Layout
from clusterbench_lab.postgres import RETAIL_SETTINGS, Postgres
from clusterbench_lab.processes import Record
from clusterbench_lab.server import RecordedServer
from clusterbench_lab.ssh import SshHost

log = logging.getLogger(__name__)

POSTGRES, HADOOP = "postgresql", "hadoop"
TEMPLATES = (POSTGRES, HADOOP)
"""What machines can be copies of."""
THREAD_CPUS = {"DC0_C0_H0": Fraction(1, 16)}
"""Host of the vCenter -> processors of the real machine that a vCPU there is."""
OTHER_THREAD_CPUS = Fraction(1, 8)
LOOK_EVERY_S = 0.5
CONNECTION = "lab_vcenter"
FOLLOW = "from clusterbench_lab.guests import main; main()"


class GuestHost(SshHost):
    """An sshd with a home of its own: guests share no folder."""

    @property
    def home(self) -> Path:
        return self.host_dir / "home"

    def prepare(self) -> str:
        self.account.make_directory(self.host_dir)
        self.account.make_directory(self.home)
        return super().prepare()


class GuestLayout(Layout):
    """Ports of guests are their own affair: each has an address to itself."""

    def save(self) -> None:
        pass


@dataclass
class Guests:
    """Machines that are on, and what they are in the lab."""

    lab_dir: Path
    slots: dict[str, str] = field(default_factory=dict)
    """Machine -> which of the lab's guests it is, for as long as it is in the inventory."""

    def __post_init__(self) -> None:
        known = Layout.load(self.lab_dir, None)
        self.layout = GuestLayout(self.lab_dir, known.block, {})
        self.account = accounts.server_account()
        self.credentials = Credentials.load_or_make(self.lab_dir / "credentials.json")
        self.limits = Limits(self.lab_dir)
        self.hadoop = HadoopJars(self.layout, self.account)

    def follow(self, session: Session) -> None:
        """Once: what is on in the vCenter lives, what is off does not."""
        there = {
            name: one for name, one in machines(session).items() if not one.is_template and one.found.mark is not None
        }
        for gone in [name for name in self.slots if name not in there]:
            self._end(self.slots[gone])
            shutil.rmtree(self.layout.host_dir(self.slots.pop(gone)), ignore_errors=True)
        changed = [(name, one) for name, one in there.items() if one.found.is_on != self._lives(name)]
        for name, _ in changed:
            self.slots.setdefault(name, self._free_slot())
        if changed:
            write_private(self.lab_dir / "guests.json", json.dumps(self.slots, indent=2))
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda each: self._change(*each), changed))

    def end_all(self) -> None:
        for slot in GUESTS:
            if (self.layout.records_dir / f"{slot}.json").exists():
                self._end(slot)

    def _lives(self, name: str) -> bool:
        return name in self.slots and self._host(self.slots[name]).pid() is not None

    def _free_slot(self) -> str:
        for slot in GUESTS:
            if slot not in self.slots.values():
                shutil.rmtree(self.layout.host_dir(slot), ignore_errors=True)  # of a vCenter that is no more
                return slot
        raise LabError(f"guests: the lab has room for {len(GUESTS)} machines; delete some")

    def _change(self, name: str, one: Listed) -> None:
        slot = self.slots[name]
        try:
            if one.found.is_on:
                self._begin(slot, one)
            else:
                self._end(slot)
        except Exception:
            log.exception("machine %s (%s)", name, slot)

    def _begin(self, slot: str, one: Listed) -> None:
        hardware, host = one.vm.config.hardware, self._host(slot)
        cpus = float(hardware.numCPU * THREAD_CPUS.get(one.found.on, OTHER_THREAD_CPUS))
        self.limits.make_guest(slot, cpus, hardware.memoryMB * 2**20)
        host.up()
        if one.found.mark and one.found.mark.template == POSTGRES:
            self._postgres(slot).up()
        work_dir = host.home / ".clusterbench" / platform.node()
        for folder in (work_dir.parent, work_dir):
            self.account.make_directory(folder)
        self.hadoop.link(work_dir)
        told = {specs.ADDRESS: host.address, specs.HOST_KEY: host.host_key(), "SET.guest.ipAddress": host.address}
        options = [vim.option.OptionValue(key=key, value=value) for key, value in told.items()]
        one.vm.ReconfigVM_Task(vim.vm.ConfigSpec(extraConfig=options))
        log.info("%s is on: %s on %s, %.3g processors", one.found.name, slot, host.address, cpus)

    def _end(self, slot: str) -> None:
        """As a guest shuts down: its database in order, then whatever else runs there."""
        if self._postgres(slot).was_started():
            self._postgres(slot).down()
        self._host(slot).down()
        processes.kill_all(processes.marked("CLUSTERBENCH_HOST", slot, self.account))
        log.info("%s is off", slot)

    def _host(self, slot: str) -> GuestHost:
        return GuestHost(slot, self.layout, self.account)

    def _postgres(self, slot: str) -> Postgres:
        password = self.credentials.db1_password
        return Postgres(
            f"{slot}_postgres", slot, self.layout, self.account, password=password, settings=RETAIL_SETTINGS
        )


class GuestFollower(RecordedServer):
    """The process that follows the vCenter. It runs as whoever brought the lab up, who may limit CPUs."""

    kind = "guests"
    ready_limit_seconds = 60.0
    stop_grace_seconds = 60.0

    def __init__(self, layout: Layout, account: Account) -> None:
        super().__init__("guests", layout, account, "")

    @property
    def log_file(self) -> Path:
        return self.layout.lab_dir / "vcenter" / "guests.log"

    @property
    def ready_file(self) -> Path:
        return self.layout.lab_dir / "vcenter" / "guests.ready"

    def prepare(self) -> str:
        return "1"

    def claim(self) -> None:
        self.ready_file.unlink(missing_ok=True)

    def start(self, fingerprint: str) -> Record:
        return processes.spawn(
            [sys.executable, "-c", FOLLOW, str(self.layout.lab_dir)],
            account=accounts.myself(),
            environment={**accounts.myself().environment(), "PYTHONPATH": str(Path(__file__).parents[1])},
            log_file=self.log_file,
            cwd=self.layout.lab_dir,
            fingerprint=fingerprint,
        )

    def is_ready(self) -> bool:
        return self.ready_file.exists()


def make_templates(connection: Connection) -> None:
    """In an inventory that is new: the simulator's one machine is copied, once for each template."""
    session = Session(connection)
    session.open()
    try:
        known = by_name(session, vim.VirtualMachine)
        source = next(iter(known.values()))
        for name in TEMPLATES:
            if name in known:
                continue
            made = _ended(source.CloneVM_Task(source.parent, name, _bare(source))).result
            if str(made.runtime.powerState) == "poweredOn":
                _ended(made.PowerOffVM_Task())
            made.MarkAsTemplate()
    finally:
        session.close()


def _bare(source: Any) -> Any:
    where = vim.vm.RelocateSpec(host=source.runtime.host, pool=source.resourcePool)
    return vim.vm.CloneSpec(location=where, powerOn=False, template=False)


def _ended(task: Any) -> Any:
    while task.info.state in ("queued", "running"):
        time.sleep(0.05)
    if task.info.state == "error":
        raise LabError(f"vcenter: {specs.words_of(task.info.error)}")
    return task.info


def follow(lab_dir: Path) -> None:
    """Until this process is ended. A vCenter that is away is waited for; machines live on meanwhile."""
    guests = Guests(lab_dir)
    guests.end_all()  # of a vCenter that is no more, and whose inventory nobody remembers
    ready = lab_dir / "vcenter" / "guests.ready"
    session: Session | None = None
    while True:
        try:
            if session is None:
                session = Session(from_file(lab_dir / "connections.json")(CONNECTION))
                session.open()
            guests.follow(session)
            ready.touch()
        except (MachineError, OSError) as error:
            log.warning("%s", error)
            session = None
        except Exception:
            log.exception("a look at the vCenter")
            session = None
        time.sleep(LOOK_EVERY_S)


def main() -> None:
    os.umask(0o022)  # the lab's user reads its limits
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    follow(Path(sys.argv[1]))
