"""The virtual machines that a platform's hosts are, where clusterbench makes and switches them itself.

How many there are on which machine, and how large each is, is in ``placement`` and ``hosts``; here is what a hypervisor
must be told besides.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from clusterbench.spec.experiment import Name
from clusterbench.spec.loading import Strict

HypervisorName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^/\\%\n]+$")]
"""A name in the hypervisor's own inventory, which may hold blanks."""
ConnectionName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,99}$")]


class Template(Strict):
    """What every machine is a full copy of: its system, its engine's programs, and data that all layouts share."""

    name: HypervisorName
    snapshot: HypervisorName | None = None
    """Its state of that name is copied; None: its present one. So data can be made once, for all layouts."""


class MachineDisks(Strict):
    """Data disks beside the template's own. How many each machine has is in ``placement``."""

    kind: Literal["virtual", "raw"]
    """``virtual``: files in a datastore (of libvirt: volumes in a storage pool), zeroed at once. ``raw``: whole disks
    of the host (RDM, physical; of libvirt: by their names in /dev/disk/by-id)."""
    size_gb: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Of each virtual disk, in GB of 10⁹ bytes."""
    of: dict[Name, Annotated[list[HypervisorName], Field(min_length=1)]]
    """Machine -> its datastores, or its disks as the hypervisor calls them. They are dealt out to its VMs in turn."""

    @model_validator(mode="after")
    def _size_is_of_virtual_ones(self) -> MachineDisks:
        if (self.size_gb is None) == (self.kind == "virtual"):
            wrong = (
                "is missing: a virtual disk has no size of its own" if self.kind == "virtual" else "is the disk's own"
            )
            raise ValueError(f"size_gb: {wrong}; {'write it' if self.kind == 'virtual' else 'take it out'}")
        return self


class Budget(Strict):
    """More than this is refused, by ``lint`` and before anything is made."""

    machines: Annotated[int, Field(ge=1, le=10_000)]
    """That are up at the same time."""
    hours: Annotated[float, Field(gt=0, le=10_000)]
    """From when a layout is brought up. Trials that would begin later are not measured, and say so."""


class Machines(Strict):
    """``machines`` of a platform's file."""

    provider: Literal["vsphere", "libvirt"]
    connection: ConnectionName
    """Of the hypervisor: where it answers, and a login with the rights that docs/machines.md lists. Of libvirt: where
    each host's answers, as each is asked by itself."""
    login: ConnectionName
    """An SSH connection without an address: login and key of every guest. Address and host key are learnt."""
    template: Template
    hosts: Annotated[dict[Name, HypervisorName], Field(min_length=1)]
    """``machine`` of this platform's hosts -> the hypervisor's host that it is."""
    folder: HypervisorName | None = None
    """Where the hypervisor's inventory has our machines; None: where the template is."""
    datastore: HypervisorName | None = None
    """Of the machines' own files, of libvirt a storage pool; None: the template's."""
    disks: MachineDisks | None = None
    networks: list[HypervisorName] = []
    """Of the machines' network cards, in their order; empty: the template's."""
    cores_per_socket: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Of the virtual machine; None: all vCPUs are one socket, as far as a NUMA node has cores for them."""
    reserve_memory: bool = True
    """Whether each machine's memory is its own from the start, so that the hypervisor neither swaps nor balloons it."""
    numa: Literal["automatic", "bound"] = "automatic"
    """Who chooses a machine's NUMA node: the hypervisor, or we, in turn (node affinity)."""
    afterwards: Literal["as_found", "delete"] = "as_found"
    """At release: those that were down are shut down again, and what a run made is kept with its data; or deleted."""
    ready_minutes: Annotated[float, Field(gt=0, le=1000)] = 15
    """How long a copy, a start and a shutdown may each take."""
    budget: Budget

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
