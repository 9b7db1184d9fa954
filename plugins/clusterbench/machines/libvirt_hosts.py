"""Hosts with libvirt (QEMU/KVM): machines as ``provider.py`` wants them. What is read of them: ``libvirt_read``.

Every call that changes something goes through ``_call``, which a dry run only says.

A machine is defined first, with its mark and the names of the volumes that will be made for it, and these are copied
then. So a worker that dies leaves nothing behind of which nobody knows whose it is.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

import libvirt

from clusterbench.base.connections import Connection
from clusterbench.base.errors import MachineAwayError, MachineError
from clusterbench.machines import libvirt_read as read
from clusterbench.machines import libvirt_specs as specs
from clusterbench.machines import usage
from clusterbench.machines.libvirt_session import Host, Session, naming, reason
from clusterbench.machines.provider import Found, Guest, Mark, Say
from clusterbench.spec.machine_layout import Wanted

log = logging.getLogger(__name__)
T = TypeVar("T")
LOOK_EVERY_S = 0.5
AT_ONCE = 8
"""Machines; copies of more would only wait for the same disks."""


class Libvirt:
    """A ``Hypervisor``. A context manager: connected to all hosts of its connection when entered."""

    def __init__(self, session: Session, within_s: float, say: Say | None) -> None:
        self.session, self.within_s, self._say = session, within_s, say

    @classmethod
    def of(cls, connection: Connection, within_s: float, say: Say | None = None) -> Libvirt:
        return cls(Session(connection), within_s, say)

    def __enter__(self) -> Libvirt:
        self.session.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.session.close()

    # What there is.

    def check(self, wanted: Sequence[Wanted]) -> list[str]:
        return read.lacking(self.session, wanted)

    def look(self) -> dict[str, Found]:
        return {name: one.found for name, one in read.machines(self.session).items()}

    def differs(self, wanted: Sequence[Wanted]) -> dict[str, list[str]]:
        there = read.machines(self.session)
        found = {one.name: read.differences(there[one.name], one) for one in wanted if one.name in there}
        return {name: said for name, said in found.items() if said}

    def guests(self, names: Collection[str]) -> dict[str, Guest]:
        return read.guests(self.session, names)

    def host_facts(self, hosts: Collection[str]) -> dict[str, dict[str, Any]]:
        return read.host_facts(self.session, hosts)

    def clock_ahead_s(self) -> float:
        """0: libvirt has no clock. Its counters have the time at which this worker read them."""
        return 0.0

    def totals(self, machines: Collection[str], hosts: Collection[str]) -> dict[str, Any]:
        return read.totals(self.session, machines, hosts)

    def usage(
        self,
        machines: Collection[str],
        hosts: Collection[str],
        start_s: float,
        end_s: float,
        noted: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        """libvirt keeps no samples: the report has the differences of totals that were noted around the window."""
        return usage.between_notes(machines, hosts, (start_s, end_s), noted)

    # What changes something.

    def make(self, wanted: Sequence[Wanted], marks: Mapping[str, Mark]) -> None:
        self._all(wanted, lambda one: self._make(one, marks[one.name]))

    def _make(self, one: Wanted, mark: Mark) -> None:
        host = self.session.hosts[one.on]
        with naming(host, f"look at template {one.template!r}"):
            template = host.conn.lookupByName(one.template)
            sources, problems = read.sources_of(host, template, one.template)
            volumes = read.planned_volumes(one, sources)
            self._refuse_strangers(host, volumes)
            if problems:
                raise MachineError(f"{host}: cannot copy {one.template!r}:\n  " + "\n  ".join(problems))
            formats = {each.target: _format(host, volume, each) for each, volume in _pairs(sources, volumes)}
            xml = specs.copied(template.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE), one.name, volumes, formats)
        self._define(host, one, mark, xml, volumes)
        self._fill(host, one, mark, volumes, sources)

    def shape(self, wanted: Sequence[Wanted], marks: Mapping[str, Mark]) -> None:
        there = read.machines(self.session)
        self._all(wanted, lambda one: self._shape(one, marks[one.name], there.get(one.name)))

    def _shape(self, one: Wanted, mark: Mark, there: read.Listed | None) -> None:
        """Who has made a machine stays in its mark, whoever shapes it later. One without a mark was never ours."""
        if there is None or there.found.mark is None:
            raise MachineError(
                f"libvirt host {one.on}: machine {one.name!r} "
                f"{'is not there' if there is None else 'carries no mark of clusterbench'}, so it is not shaped; "
                "rename it, or the host in the platform's file, and clear this task"
            )
        host, mark = there.host, there.found.mark
        with naming(host, f"look at machine {one.name!r}"):
            known = {volume.of for volume in there.volumes}
            missing = [volume for volume in specs.data_volumes(one) if volume.of not in known]
            self._refuse_strangers(host, missing)
            volumes = [*there.volumes, *missing]
            sources: list[read.Source] = []
            if any(not volume.is_done and not volume.of.startswith(specs.DATA) for volume in volumes):
                sources, _ = read.sources_of(host, host.conn.lookupByName(one.template), one.template)
            xml = there.domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE)
        self._define(host, one, mark, xml, volumes)
        self._fill(host, one, mark, volumes, sources)

    def _define(self, host: Host, one: Wanted, mark: Mark, xml: str, volumes: Sequence[specs.Volume]) -> None:
        there = read.topology_of(host)
        what = f"defineXML({one.name!r} on {one.on}, like {one.template!r}, {specs.said(one, there)})"
        self._call(host, what, partial(host.conn.defineXML, specs.shaped(xml, one, mark, volumes, there)))

    def _fill(
        self, host: Host, one: Wanted, mark: Mark, volumes: Sequence[specs.Volume], sources: Sequence[read.Source]
    ) -> None:
        """The volumes that are not done, each noted in its machine when it is."""
        by_target, told = {each.target: each for each in sources}, list(volumes)
        for number, volume in enumerate(told):
            if volume.is_done:
                continue
            with naming(host, f"look at storage pool {volume.pool!r}"):
                pool = read.pool_of(host, volume.pool)
                begun = read.volume_in(pool, volume.name)
            if begun is not None:
                what = f"delete(volume {volume.name!r}, begun and not ended)"
                self._call(host, what, partial(self._delete_begun, begun))
            if volume.of.startswith(specs.DATA):
                self._create(host, pool, one, volume)
            else:
                self._copy(host, pool, volume, by_target[volume.of])
            told[number] = replace(volume, is_done=True)
            element = specs.as_text(specs.machine_element(mark, told))
            what = f"setMetadata({one.name!r}, volume {volume.name!r} is done)"
            self._call(host, what, partial(_note, host, one.name, specs.MACHINE, element))

    def _create(self, host: Host, pool: Any, one: Wanted, volume: specs.Volume) -> None:
        disk = one.disks[int(volume.of.removeprefix(specs.DATA)) - 1]
        with naming(host, f"look at storage pool {volume.pool!r}"):
            kind = "raw" if read.has_files(pool) else None
        xml = specs.volume_xml(volume.name, (disk.size_gb or 0) * 10**9, kind)
        what = f"createXML({volume.name!r} in pool {volume.pool!r}, {disk.size_gb} GB)"
        self._call(host, what, partial(pool.createXML, xml, 0))

    def _copy(self, host: Host, pool: Any, volume: specs.Volume, source: read.Source) -> None:
        with naming(host, f"look at storage pool {volume.pool!r}"):
            kind = source.format if read.has_files(pool) else None
        xml = specs.volume_xml(volume.name, source.bytes, kind)
        what = f"createXMLFrom({volume.name!r} in pool {volume.pool!r}, of {source.volume.name()!r})"
        self._call(host, what, partial(pool.createXMLFrom, xml, source.volume, 0))

    def _delete_begun(self, volume: Any) -> None:
        """libvirt ends a copy by itself whose worker died, and deletes no volume before."""
        deadline = time.monotonic() + self.within_s
        while True:
            try:
                volume.delete(0)
            except libvirt.libvirtError as error:
                if "being allocated" not in reason(error).said or time.monotonic() > deadline:
                    raise
                time.sleep(LOOK_EVERY_S)
            else:
                return

    def _refuse_strangers(self, host: Host, volumes: Sequence[specs.Volume]) -> None:
        for volume in volumes:
            if read.has_volume(read.pool_of(host, volume.pool), volume.name):
                raise MachineError(
                    f"{host}: storage pool {volume.pool!r} has a volume {volume.name!r} already, which belongs to "
                    "no machine of ours: nothing was changed. Rename or delete the volume, and clear this task"
                )

    def mark(self, marks: Mapping[str, Mark]) -> None:
        there = {} if self._say else read.machines(self.session)

        def note(name: str) -> None:
            one, mark = there.get(name), marks[name]
            if one is not None and one.found.mark == mark:
                return
            element = specs.as_text(specs.machine_element(mark, one.volumes if one else ()))
            what = f"setMetadata({name!r}, held by {mark.held_by or 'nobody'})"
            host = one.host if one else None
            self._call(host, what, partial(_note, host, name, specs.MACHINE, element))

        self._all(list(marks), note)

    def start(self, names: Sequence[str]) -> None:
        """What was noted of a guest at an earlier start is forgotten first: a key that is read is one of this start."""
        there = {} if self._say else read.machines(self.session)

        def start(name: str) -> None:
            one = there.get(name)
            if one is not None and one.found.is_on:
                return
            host = one.host if one else None
            forget = partial(_note, host, name, specs.GUEST, None)
            self._call(host, f"setMetadata({name!r}, what its guest told = '')", forget)
            self._call(host, f"create({name!r})", lambda: _domain(host, name).create())

        self._all(names, start)

    def shut_down(self, names: Sequence[str], within_s: float) -> None:
        there = read.machines(self.session)
        for name in names:
            one = there.get(name)
            if one is not None and one.found.is_on:
                self._call(one.host, f"shutdown({name!r})", partial(_shut_down, one))
        if not self._say:
            self._await_off([name for name in names if name in there], within_s)

    def _await_off(self, names: Sequence[str], within_s: float) -> None:
        deadline = time.monotonic() + within_s
        while True:
            there = read.machines(self.session)
            left = [name for name in names if name in there and there[name].found.is_on]
            if not left:
                return
            if time.monotonic() > deadline:
                raise MachineError(
                    f"{self.session}: {', '.join(left)} did not shut down within {within_s / 60:g} minutes; nothing is "
                    "cut off, as data could be lost. Look at the guest's console (does it heed ACPI's power button, or "
                    "run qemu-guest-agent?), shut it down, and clear this task"
                )
            time.sleep(LOOK_EVERY_S)

    def delete(self, names: Sequence[str]) -> None:
        """Machines with our mark that are down, and the volumes that were made for them; raw disks keep their data."""
        there = read.machines(self.session)
        self._all([there[name] for name in names if name in there], self._delete)

    def _delete(self, one: read.Listed) -> None:
        name = one.found.name
        runs = one.found.is_on and not self._say  # a dry run has not shut it down
        if one.found.mark is None or runs:
            why = "runs" if one.found.mark else "carries no mark of clusterbench"
            raise MachineError(f"{one.host}: machine {name!r} {why}: it is not deleted")
        with naming(one.host, f"look at machine {name!r}"):
            found = [(each, _volume(one.host, each)) for each in one.volumes]
            flags = _undefining(one.domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE))
        for volume, there in found:
            if there is not None:
                self._call(
                    one.host, f"delete(volume {volume.name!r} of pool {volume.pool!r})", partial(there.delete, 0)
                )
        self._call(one.host, f"undefine({name!r})", partial(one.domain.undefineFlags, flags))

    def bind(self, platform: str, wanted: Sequence[Wanted]) -> None:
        """Nothing: libvirt moves no machine by itself, so each stays on the host that it was made on."""

    def unbind(self, platform: str, names: Sequence[str]) -> None:
        """Nothing, as ``bind`` has set nothing."""

    # How calls are made.

    def _call(self, host: Host | None, what: str, act: Callable[[], Any]) -> None:
        """``host`` is None of a machine that a dry run has not made."""
        if self._say:
            self._say(what)
            return
        if host is None:
            raise MachineError(f"{self.session}: cannot {what}: there is no such machine")
        log.info("%s: %s", host, what)
        with naming(host, what):
            act()

    def _all(self, things: Sequence[T], act: Callable[[T], None]) -> None:
        """On several machines at once; the errors of all are reported together. A dry run says one after the other."""

        def tried(thing: T) -> MachineError | None:
            try:
                act(thing)
            except MachineError as error:
                return error
            return None

        with ThreadPoolExecutor(1 if self._say else AT_ONCE) as workers:
            errors = [error for error in workers.map(tried, things) if error]
        if len(errors) > 1 and all(isinstance(error, MachineAwayError) for error in errors):
            raise MachineAwayError("\n".join(dict.fromkeys(map(str, errors))))
        if len(errors) > 1:
            raise MachineError("\n".join(dict.fromkeys(map(str, errors))))
        if errors:
            raise errors[0]


def _pairs(sources: Sequence[read.Source], volumes: Sequence[specs.Volume]) -> list[tuple[read.Source, specs.Volume]]:
    by_target = {volume.of: volume for volume in volumes}
    return [(source, by_target[source.target]) for source in sources]


def _format(host: Host, volume: specs.Volume, source: read.Source) -> str:
    """Of a copy: its source's, where its pool has files."""
    return source.format if read.has_files(read.pool_of(host, volume.pool)) else "raw"


def _volume(host: Host, volume: specs.Volume) -> Any:
    return read.volume_in(read.pool_of(host, volume.pool), volume.name)


def _domain(host: Host | None, name: str) -> Any:
    assert host is not None  # a dry run, in which it can be, only says
    return host.conn.lookupByName(name)


def _note(host: Host | None, name: str, space: str, element: str | None) -> None:
    """Into a machine's metadata; None takes it out."""
    kind, key = libvirt.VIR_DOMAIN_METADATA_ELEMENT, specs.KEYS[space]
    _domain(host, name).setMetadata(kind, element, key, space, libvirt.VIR_DOMAIN_AFFECT_CONFIG)


def _shut_down(one: read.Listed) -> None:
    try:
        one.domain.shutdown()
    except libvirt.libvirtError:
        if one.domain.isActive():
            raise


def _undefining(xml: str) -> int:
    """What goes with a machine. Flags for what it has not are no error with QEMU, and are one elsewhere."""
    flags = libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE | libvirt.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
    has_nvram = specs.parsed(xml).find("os/nvram") is not None
    return int(flags | (libvirt.VIR_DOMAIN_UNDEFINE_NVRAM if has_nvram else 0))
