"""From what is there to the layout that is wanted, and back: which machines are made, shut down and started.

Nothing is remembered here: each call looks first, and does what is missing. So a switch whose worker died is gone on
with by whoever calls next.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from clusterbench.base.errors import MachineError
from clusterbench.base.words import some_of
from clusterbench.machines.provider import Found, Guest, Hypervisor, Mark
from clusterbench.spec.leave import why_not
from clusterbench.spec.machine_layout import Wanted, layout
from clusterbench.spec.platform import Platform

log = logging.getLogger(__name__)
LOOK_EVERY_S = 1.0


@dataclass(frozen=True)
class Switch:
    """What has to be done, in this order. Names of machines."""

    shut_down: list[str]
    """Of other layouts of the cluster, and of this one where they must be changed."""
    make: list[Wanted]
    shape: list[Wanted]
    start: list[str]

    @property
    def is_nothing(self) -> bool:
        return not (self.shut_down or self.make or self.shape or self.start)


def planned(
    platform: Platform, found: Mapping[str, Found], differs: Mapping[str, Sequence[str]], adopted: Collection[str] = ()
) -> Switch:
    """Pure. ``adopted``: names that were free when this run began to make them, so that what has them now is ours.

    Raises MachineError where a wanted name belongs to a machine that is not ours.
    """
    wanted = layout(platform)
    _refuse_strangers(platform, wanted, found, adopted)
    names = {one.name for one in wanted}
    others = [
        one.name
        for one in found.values()
        if one.is_on and one.mark and one.mark.cluster == platform.cluster and one.name not in names
    ]
    unlike = [one for one in wanted if one.name in found and (one.name in differs or found[one.name].mark is None)]
    restarted = [one.name for one in unlike if found[one.name].is_on]
    is_up = {name for name, one in found.items() if one.is_on} - set(restarted)
    return Switch(
        shut_down=[*sorted(others, reverse=True), *reversed(restarted)],
        make=[one for one in wanted if one.name not in found],
        shape=unlike,
        start=[one.name for one in wanted if one.name not in is_up],
    )


def bring_up(
    platform: Platform, hypervisor: Hypervisor, run: str, adopted: Collection[str] = (), *, is_held: bool = True
) -> Switch:
    """The layout of a platform, and no other of its cluster, is up. Returns what had to be done for it.

    ``is_held``: by ``run`` until it is released; what somebody brings up manually is free for the next run.
    Raises MachineError before anything is touched where leave, a template, a host or a network is missing.
    """
    wanted, within_s = layout(platform), _within_s(platform)
    if problems := why_not_here(platform, hypervisor, wanted):
        raise MachineError(f"platform {platform.platform!r}: its machines cannot be made:\n  " + "\n  ".join(problems))
    found = hypervisor.look()
    _refuse_held(platform, found, run)
    switch = planned(platform, found, hypervisor.differs(wanted), adopted)
    holder = run if is_held else ""
    marks = {
        one.name: Mark(one.name, platform.cluster, platform.platform, one.host, one.template, run, holder)
        for one in wanted
    }
    if switch.shut_down:
        log.info("shut down, to make room: %s", some_of(switch.shut_down))
        hypervisor.shut_down(switch.shut_down, within_s)
    if switch.make:
        log.info("made from template %s: %s", switch.make[0].template, some_of([one.name for one in switch.make]))
        hypervisor.make(switch.make, marks)
    if switch.shape:
        log.info("shaped anew: %s", some_of([one.name for one in switch.shape]))
        hypervisor.shape(switch.shape, marks)
    kept = {name: one.mark for name, one in found.items() if name in marks and one.mark}
    hypervisor.mark({name: replace(mark, held_by=holder) for name, mark in kept.items()})
    hypervisor.bind(platform.platform, wanted)
    if switch.start:
        log.info("started: %s", some_of(switch.start))
        hypervisor.start(switch.start)
    return switch


def why_not_here(platform: Platform, hypervisor: Hypervisor, wanted: Sequence[Wanted]) -> list[str]:
    """What stands in the way, all of it; empty where nothing does. Changes nothing."""
    refused = why_not(platform, "switch_machines")
    return [*([refused] if refused else []), *hypervisor.check(wanted)]


def release(platform: Platform, hypervisor: Hypervisor, run: str, was_on: Collection[str]) -> None:
    """As it was found: machines that were down are shut down again, others that made room are started again.

    Where the file says ``delete``, those that this run made are deleted; nothing is that does not carry mark and run.
    """
    assert platform.machines is not None
    wanted = layout(platform)
    names = [one.name for one in wanted]
    found = hypervisor.look()
    ours = {name: one for name in names if (one := found.get(name)) and one.mark}
    hypervisor.shut_down(
        [name for name in reversed(names) if name in ours and ours[name].is_on and name not in was_on],
        _within_s(platform),
    )
    hypervisor.unbind(platform.platform, list(ours))
    hypervisor.mark({name: replace(one.mark, held_by="") for name, one in ours.items() if one.mark})
    if platform.machines.afterwards == "delete":
        hypervisor.delete([name for name, one in ours.items() if one.mark and one.mark.made_by == run])
    again = [name for name in was_on if name in found and found[name].mark and not found[name].is_on]
    hypervisor.start([name for name in again if name not in names])


def guests_now(platform: Platform, hypervisor: Hypervisor) -> dict[str, Guest]:
    """Host -> what its guest has reported about itself, of those that have by now."""
    hosts = {one.name: one.host for one in layout(platform)}
    return {hosts[name]: guest for name, guest in hypervisor.guests(hosts).items()}


def await_guests(platform: Platform, hypervisor: Hypervisor) -> dict[str, Guest]:
    """Host -> what each guest has reported about itself. Raises MachineError with those that have not in time."""
    wanted = layout(platform)
    deadline = time.monotonic() + _within_s(platform)
    while True:
        told = guests_now(platform, hypervisor)
        missing = [one.name for one in wanted if one.host not in told]
        if not missing:
            return told
        if time.monotonic() > deadline:
            raise MachineError(
                f"platform {platform.platform!r}: {some_of(missing)} did not report address and host key within "
                f"{_within_s(platform) / 60:g} minutes of its start; check that the template runs include/machines/"
                "tell_host_key.sh at boot (docs/machines.md) and has an agent (VMware Tools, qemu-guest-agent)"
            )
        time.sleep(LOOK_EVERY_S)


def _within_s(platform: Platform) -> float:
    assert platform.machines is not None
    return platform.machines.ready_minutes * 60


def _refuse_held(platform: Platform, found: Mapping[str, Found], run: str) -> None:
    """The note on the client separates runs that share it. Those of other installations are recognised by the mark."""
    for one in found.values():
        if one.mark and one.mark.cluster == platform.cluster and one.mark.held_by not in ("", run):
            raise MachineError(
                f"platform {platform.platform!r}: machine {one.name!r} of cluster {platform.cluster!r} is held by run "
                f"{one.mark.held_by}: nothing was changed. Wait until that has ended; if it is gone, free its machines "
                f"with: clusterbench machines down {one.mark.platform}"
            )


def _refuse_strangers(
    platform: Platform, wanted: Sequence[Wanted], found: Mapping[str, Found], adopted: Collection[str]
) -> None:
    for one in wanted:
        there = found.get(one.name)
        if there is None or (there.mark is None and one.name in adopted):
            continue
        mark = there.mark
        if mark is None or (mark.cluster, mark.platform) != (platform.cluster, platform.platform):
            of = f"is of platform {mark.platform!r} in cluster {mark.cluster!r}" if mark else ""
            whose = of or "carries no mark of clusterbench"
            raise MachineError(
                f"platform {platform.platform!r}: there is a machine {one.name!r} on {there.on} already, and it "
                f"{whose}: nothing was changed. Rename that machine, or host {one.host!r} or the platform"
            )
