"""What a hypervisor must be able to do. Small enough that a cloud could follow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from clusterbench.spec.machine_layout import Wanted

Say = Callable[[str], None]


@dataclass(frozen=True)
class Mark:
    """What says that a machine is ours: it is written into it, and nothing without it is ever touched."""

    name: str
    """Of the machine: a copy that somebody makes of it has another, and is not ours."""
    cluster: str
    platform: str
    host: str
    template: str
    """What it is a copy of."""
    made_by: str
    """The run that made it."""
    held_by: str = ""
    """The run that has it now, of whichever installation; empty between runs."""


@dataclass(frozen=True)
class Found:
    """A machine that the hypervisor has."""

    name: str
    on: str
    """The hypervisor's host."""
    is_on: bool
    mark: Mark | None
    """None: it is somebody else's."""


@dataclass(frozen=True)
class Guest:
    """What a guest has reported about itself through its hypervisor, which nobody else can do in its place."""

    address: str
    host_key: str
    """Its sshd's public key, type and key."""

    def as_json(self) -> dict[str, str]:
        return asdict(self)


class Hypervisor(Protocol):
    """Every method that changes something waits until it is done, and does it to all machines at once.

    Raises MachineError with the hypervisor's own words, MachineAwayError where it does not answer. In a dry run the
    calls that change something are said, and not made.
    """

    def check(self, wanted: Sequence[Wanted]) -> list[str]:
        """What of it cannot be here: a template, a host, a network that is not there. Changes nothing."""

    def look(self) -> dict[str, Found]:
        """Every machine that there is, by name, and templates."""

    def differs(self, wanted: Sequence[Wanted]) -> dict[str, list[str]]:
        """Of machines that are there: what is not as wanted, in words. Those that are as wanted are left out."""

    def make(self, wanted: Sequence[Wanted], marks: Mapping[str, Mark]) -> None:
        """Full copies of the template, marked and shaped, and shut down."""

    def shape(self, wanted: Sequence[Wanted], marks: Mapping[str, Mark]) -> None:
        """Machines that are shut down become as wanted."""

    def mark(self, marks: Mapping[str, Mark]) -> None:
        """By name, of machines that are ours."""

    def bind(self, platform: str, wanted: Sequence[Wanted]) -> None:
        """Each machine stays on the host that it was made on: none is moved while it is measured."""

    def unbind(self, platform: str, names: Sequence[str]) -> None:
        """What ``bind`` has set for a platform is taken back."""

    def start(self, names: Sequence[str]) -> None: ...

    def shut_down(self, names: Sequence[str], within_s: float) -> None:
        """In order, by their guests. One that does not end in time is reported, never switched off."""

    def delete(self, names: Sequence[str]) -> None: ...

    def guests(self, names: Collection[str]) -> dict[str, Guest]:
        """Of those that have told address and key by now."""

    def host_facts(self, hosts: Collection[str]) -> dict[str, dict[str, Any]]:
        """Model, processors, NUMA nodes, power policy, version and build, and the machines on each."""

    def clock_ahead_s(self) -> float:
        """Its clock less this machine's; 0 of one whose counters have the time at which this machine read them."""

    def totals(self, machines: Collection[str], hosts: Collection[str]) -> dict[str, Any]:
        """All counters now, of one that keeps no samples; they are noted between trials. Empty of one that does."""

    def usage(
        self,
        machines: Collection[str],
        hosts: Collection[str],
        start_s: float,
        end_s: float,
        noted: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        """What both did in a window by the hypervisor's clock, at its finest interval: see ``usage.py``.

        ``noted``: totals from before and after it, of a hypervisor that keeps no samples.
        """
