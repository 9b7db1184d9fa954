"""vCenter, by pyvmomi: machines as ``provider.py`` wants them. What is read of them: ``vsphere_read``.

Every call that changes something goes through ``_call``, which a dry run only says.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any

from pyVmomi import vim

from clusterbench.base.connections import Connection
from clusterbench.base.errors import MachineError
from clusterbench.machines import vsphere_read as read
from clusterbench.machines import vsphere_specs as specs
from clusterbench.machines.provider import Found, Guest, Mark, Say
from clusterbench.machines.vsphere_session import Session, naming
from clusterbench.spec.machine_layout import Wanted

log = logging.getLogger(__name__)
LOOK_EVERY_S = 0.5


class VSphere:
    """A ``Hypervisor``. A context manager: logged in when entered."""

    def __init__(self, session: Session, within_s: float, say: Say | None) -> None:
        self.session, self.within_s, self._say = session, within_s, say

    @classmethod
    def of(cls, connection: Connection, within_s: float, say: Say | None = None) -> VSphere:
        return cls(Session(connection), within_s, say)

    def __enter__(self) -> VSphere:
        self.session.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.session.close()

    # What there is.

    def check(self, wanted: Sequence[Wanted]) -> list[str]:
        with naming(self.session, "look at its inventory"):
            there = read.inventory(self.session)
            return list(dict.fromkeys(problem for one in wanted for problem in read.lacking(there, one)))

    def look(self) -> dict[str, Found]:
        self._await_copies()
        with naming(self.session, "list its machines"):
            return {name: one.found for name, one in read.machines(self.session).items()}

    def differs(self, wanted: Sequence[Wanted]) -> dict[str, list[str]]:
        with naming(self.session, "read how its machines are configured"):
            there = read.machines(self.session)
            networks = read.by_name(self.session, vim.Network)
            known = read.configurations(self.session, [there[one.name].vm for one in wanted if one.name in there])
            found = {
                one.name: read.differences(known[there[one.name].vm], networks, one)
                for one in wanted
                if one.name in there
            }
            return {name: said for name, said in found.items() if said}

    def guests(self, names: Collection[str]) -> dict[str, Guest]:
        with naming(self.session, "read what its guests tell"):
            return read.guests(self.session, names)

    def host_facts(self, hosts: Collection[str]) -> dict[str, dict[str, Any]]:
        with naming(self.session, "read the facts of its hosts"):
            return read.host_facts(self.session, hosts)

    def clock_ahead_s(self) -> float:
        with naming(self.session, "read its clock"):
            before = time.time()
            told = self.session.instance.CurrentTime().timestamp()
            return float(told - (before + time.time()) / 2)

    def totals(self, machines: Collection[str], hosts: Collection[str]) -> dict[str, Any]:  # noqa: ARG002
        """Empty: vCenter keeps samples."""
        return {}

    def usage(
        self,
        machines: Collection[str],
        hosts: Collection[str],
        start_s: float,
        end_s: float,
        noted: Sequence[Mapping[str, Any]] = (),  # noqa: ARG002  its own samples are finer
    ) -> dict[str, Any]:
        with naming(self.session, "read its performance counters"):
            return read.usage(self.session, machines, hosts, start_s, end_s)

    # What changes something.

    def make(self, wanted: Sequence[Wanted], marks: Mapping[str, Mark]) -> None:
        there = read.inventory(self.session)
        tasks = []
        for one in wanted:
            clone = specs.clone(one, marks[one.name], there)
            folder = there.folders[one.folder] if one.folder else there.machines[one.template].parent
            what = f"CloneVM_Task({one.template!r}, name={one.name!r}, host={one.on!r}{_from(one)}{_of(one.folder)})"
            source = there.machines[one.template]
            tasks.append(self._call(what, partial(source.CloneVM_Task, folder, one.name, clone)))
        self._await(tasks, f"copy template {wanted[0].template!r}")
        self.shape(wanted, marks)

    def shape(self, wanted: Sequence[Wanted], marks: Mapping[str, Mark]) -> None:
        there = {} if self._say else read.machines(self.session)
        networks = read.by_name(self.session, vim.Network)
        known = read.configurations(self.session, [there[one.name].vm for one in wanted if one.name in there])
        tasks = []
        for one in wanted:
            vm = there[one.name].vm if one.name in there else None
            mark = _first(there[one.name].found.mark if one.name in there else None, marks[one.name])
            config = specs.config(one, mark, known.get(vm), networks)
            what = f"ReconfigVM_Task({one.name!r}, {specs.said(one)})"
            tasks.append(self._call(what, partial(_configure, vm, config)))
        self._await(tasks, "configure machines")

    def mark(self, marks: Mapping[str, Mark]) -> None:
        there = {} if self._say else read.machines(self.session)
        tasks = []
        for name, mark in marks.items():
            vm = there[name].vm if name in there else None
            if vm is None or there[name].found.mark != mark:
                held = f"held by {mark.held_by}" if mark.held_by else "held by nobody"
                tasks.append(
                    self._call(f"ReconfigVM_Task({name!r}, {held})", partial(_configure, vm, specs.marking(mark)))
                )
        self._await(tasks, "mark machines")

    def start(self, names: Sequence[str]) -> None:
        """What a guest has told at an earlier start is forgotten first: a key that is read is one of this start."""
        there = {} if self._say else read.machines(self.session)
        forget = specs.forgetting()
        for verb, said in (("ReconfigVM_Task", "guestinfo of clusterbench = ''"), ("PowerOnVM_Task", "")):
            tasks = []
            for name in names:
                vm = there[name].vm if name in there else None
                if vm is not None and vm.runtime.powerState == "poweredOn":
                    continue
                act = partial(_configure, vm, forget) if said else partial(_power_on, vm)
                tasks.append(self._call(f"{verb}({name!r}{', ' + said if said else ''})", act))
            self._await(tasks, "start machines")

    def shut_down(self, names: Sequence[str], within_s: float) -> None:
        there = read.machines(self.session)
        for name in names:
            vm = there[name].vm if name in there else None
            self._call(f"ShutdownGuest({name!r})", partial(_shut_down, vm))
        if not self._say:
            self._await_off([name for name in names if name in there], within_s)

    def delete(self, names: Sequence[str]) -> None:
        there = read.machines(self.session)
        tasks = [self._call(f"Destroy_Task({name!r})", there[name].vm.Destroy_Task) for name in names if name in there]
        self._await(tasks, "delete machines")

    def bind(self, platform: str, wanted: Sequence[Wanted]) -> None:
        """In each cluster: a rule for each host, of the platform's name, that its machines must run there."""
        there = {} if self._say else {name: one.vm for name, one in read.machines(self.session).items()}
        hosts = read.by_name(self.session, vim.HostSystem)
        for cluster in read.clusters_of([hosts[one.on] for one in wanted]):
            self._reconfigure(cluster, *specs.rules(platform, wanted, there, hosts, cluster))

    def unbind(self, platform: str, names: Sequence[str]) -> None:
        there = read.machines(self.session)
        hosts = [there[name].vm.runtime.host for name in names if name in there]
        for cluster in read.clusters_of(hosts):
            self._reconfigure(cluster, *specs.no_rules(platform, cluster))

    def _reconfigure(self, cluster: Any, spec: Any, said: str) -> None:
        if said:
            what = f"ReconfigureComputeResource_Task({cluster.name!r}, {said})"
            task = self._call(what, partial(cluster.ReconfigureComputeResource_Task, spec, True))
            self._await([task], "keep machines on their hosts")

    # How calls are made.

    def _call(self, what: str, act: Callable[[], Any]) -> Any:
        """The task, or None in a dry run and of what has no task."""
        if self._say:
            self._say(what)
            return None
        log.info("vSphere: %s", what)
        with naming(self.session, what):
            return act()

    def _await(self, tasks: Sequence[Any], doing: str) -> None:
        """All of them; the errors of all are reported together."""
        deadline, errors = time.monotonic() + self.within_s, dict[str, None]()
        for task in filter(None, tasks):
            with naming(self.session, doing):
                while (info := task.info).state in ("queued", "running"):
                    if time.monotonic() > deadline:
                        raise MachineError(
                            f"{self.session}: to {doing} took longer than {self.within_s / 60:g} minutes "
                            f"('ready_minutes' of 'machines'), at {info.entityName}: {info.progress or 0} %. It goes "
                            "on there; clear this task when it has ended"
                        )
                    time.sleep(LOOK_EVERY_S if info.state == "running" else LOOK_EVERY_S / 5)
                if info.state == "error":
                    errors[f"{info.entityName}: {specs.words_of(info.error)}"] = None
        if errors:
            raise MachineError(f"{self.session}: could not {doing}:\n  " + "\n  ".join(errors))

    def _await_copies(self) -> None:
        """That a worker before us began, and that are still under way: a name would be taken twice."""
        with naming(self.session, "look at its tasks"):
            mine = self.session.user
            for task in self.session.content.taskManager.recentTask:
                info = read.info_of(task)
                if info and info.state in ("queued", "running") and _is_copy(info) and _who(info) in (mine, ""):
                    self._await([task], "go on with a copy that an earlier try began")

    def _await_off(self, names: Sequence[str], within_s: float) -> None:
        deadline = time.monotonic() + within_s
        while True:
            with naming(self.session, "wait until machines are down"):
                there = read.machines(self.session)
            left = [name for name in names if name in there and there[name].found.is_on]
            if not left:
                return
            if time.monotonic() > deadline:
                raise MachineError(
                    f"{self.session}: {', '.join(left)} did not shut down within {within_s / 60:g} minutes; nothing is "
                    "cut off, as data could be lost. Look at the guest's console, shut it down, and clear this task"
                )
            time.sleep(LOOK_EVERY_S)


def _configure(vm: Any, config: Any) -> Any:
    """Called when nothing is a dry run, in which a machine that is to be made is not there."""
    return vm.ReconfigVM_Task(config)


def _power_on(vm: Any) -> Any:
    return vm.PowerOnVM_Task()


def _shut_down(vm: Any) -> None:
    try:
        vm.ShutdownGuest()
    except vim.fault.InvalidPowerState:
        return  # it is down
    except vim.fault.ToolsUnavailable:
        raise MachineError(
            f"machine {vm.name!r}: VMware Tools do not run in its guest, so it cannot be shut down properly; shut it "
            "down yourself, install open-vm-tools in the template, and clear this task"
        ) from None


def _first(there: Mark | None, ours: Mark) -> Mark:
    """Who has made it stays in the mark, whoever shapes it later."""
    return there or ours


def _from(one: Wanted) -> str:
    return f", snapshot={one.snapshot!r}" if one.snapshot else ""


def _of(folder: str | None) -> str:
    return f", folder={folder!r}" if folder else ""


def _is_copy(info: Any) -> bool:
    return "clone" in str(info.descriptionId).lower()


def _who(info: Any) -> str:
    return str(getattr(info.reason, "userName", "") or "")
