"""The virtual machines that a platform's hosts are, where clusterbench makes and switches them itself.

How many there are on which machine, and how large each is, is in ``placement`` and ``hosts``; here is what a hypervisor
must be told besides.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Annotated, Literal

from pydantic import Field, model_validator

from clusterbench.spec.experiment import Name
from clusterbench.spec.loading import Strict

HypervisorName = Annotated[
    str,
    Field(min_length=1, max_length=200, pattern=r"^[^/\\%\n]+$", description="a name in the hypervisor's inventory"),
]
"""A name in the hypervisor's own inventory, which may hold blanks."""
ConnectionName = Annotated[
    str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,99}$", description="the name of a connection")
]


class Template(Strict):
    """What every machine is a full copy of: its system, its engine's programs, and data that all layouts share."""

    name: HypervisorName
    """The machine or template of which every machine is a full copy. With libvirt, each host has a machine of this
    name."""
    snapshot: HypervisorName | None = None
    """The snapshot that is copied. Without it, the present state is copied. Not with libvirt."""


Names = Annotated[list[HypervisorName], Field(min_length=1)]


class MachineDisks(Strict):
    """Data disks beside the template's own. How many each machine has is in ``placement``."""

    kind: Literal["virtual", "raw"]
    """`virtual`: files in a datastore (with libvirt: volumes in a storage pool). `raw`: whole disks of the host."""
    size_gb: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """The size of each virtual disk in GB of 10⁹ bytes. Required for `virtual`, refused for `raw`."""
    of: dict[Name, Names | Annotated[list[Names], Field(min_length=1)]]
    """For each machine: its datastores or storage pools, or its disks, dealt out to its virtual machines in turn. Lists
    of lists: one for each enclosure."""

    @model_validator(mode="after")
    def _size_is_of_virtual_ones(self) -> MachineDisks:
        if (self.size_gb is None) == (self.kind == "virtual"):
            wrong = (
                "is missing: a virtual disk has no size of its own" if self.kind == "virtual" else "is the disk's own"
            )
            raise ValueError(f"size_gb: {wrong}; {'write it' if self.kind == 'virtual' else 'take it out'}")
        return self

    def dealt(self, machine: str) -> list[str]:
        """In the order in which virtual machines get them: of each enclosure in turn (paper 000, best practices)."""
        there = self.of.get(machine, [])
        enclosures = [one for one in there if isinstance(one, list)]
        in_turn = [name for names in zip_longest(*enclosures) for name in names if name]
        return in_turn or [one for one in there if isinstance(one, str)]


class Budget(Strict):
    """More than this is refused, by ``lint`` and before anything is made."""

    machines: Annotated[int, Field(ge=1, le=10_000)]
    """How many machines may be up at the same time."""
    hours: Annotated[float, Field(gt=0, le=10_000)]
    """The hours from the first start of a machine after which no trial begins."""


class Machines(Strict):
    """``machines`` of a platform's file."""

    provider: Literal["vsphere", "libvirt"]
    """What makes the machines. For `libvirt`, read docs/machines_libvirt.md."""
    connection: ConnectionName
    """The Airflow connection of the hypervisor: see docs/reference.md#connections."""
    login: ConnectionName
    """An Airflow connection of type SSH without an address: login and key of every guest. Each guest reports its
    address and host key."""
    template: Template
    """The machine that is copied."""
    hosts: Annotated[dict[Name, HypervisorName], Field(min_length=1)]
    """For each `machine` of this platform's hosts: the vCenter's name of the host, or with libvirt its name in
    `uris`."""
    folder: HypervisorName | None = None
    """The inventory's folder for the machines. Without it, this is the template's. Not with libvirt."""
    datastore: HypervisorName | None = None
    """Where the machines' own files are; with libvirt a storage pool. Without it, this is the template's."""
    disks: MachineDisks | None = None
    """The data disks of each machine. How many each has is `data_disks` of the placement."""
    networks: list[HypervisorName] = []
    """The networks of the machines' cards, in their order. Without it, these are the template's."""
    cores_per_socket: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Cores of each socket of the virtual machine. Without it: as many as a NUMA node can hold."""
    reserve_memory: bool = True
    """`true`: all of a machine's memory is reserved, so that the hypervisor neither swaps nor balloons it."""
    numa: Literal["automatic", "bound"] = "automatic"
    """`automatic`: the hypervisor chooses each machine's NUMA node. `bound`: nodes are dealt out in turn."""
    afterwards: Literal["as_found", "delete"] = "as_found"
    """`as_found`: machines that were down are shut down again and keep their data. `delete`: machines that this run
    created are deleted."""
    ready_minutes: Annotated[float, Field(gt=0, le=1000)] = 15
    """How many minutes a copy, a start and a shutdown may each take."""
    budget: Budget
    """More than this is refused by `clusterbench lint` and before anything is created."""

    @model_validator(mode="after")
    def _libvirt_has_no_inventory(self) -> Machines:
        if self.provider != "libvirt":
            return self
        if self.folder is not None:
            raise ValueError("folder: libvirt has no folders of machines; take it out")
        if self.template.snapshot is not None:
            raise ValueError(
                "template.snapshot: libvirt copies a machine's disks as they are, and none of its snapshots; make a "
                "machine of that state, and name it as the template"
            )
        return self
