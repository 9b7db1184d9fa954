"""Where a platform's hosts are: a physical machine, how many virtual machines are on it, and how large each is."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from clusterbench.spec.loading import Strict

Cpus = Annotated[int, Field(ge=1, le=10_000)]
Memory = Annotated[float, Field(gt=0, le=100_000)]
Disks = Annotated[int, Field(ge=0, le=1000)]
DiskSize = Annotated[int, Field(ge=1, le=1_000_000)]
"""In GB, of 10⁹ bytes, as disks are sold."""
CpuShare = Literal["cores", "threads"]
Density = Literal["ideal", "base", "oversubscribed"]


def _fraction(said: Any) -> Any:
    """ "1/60" as the number that it is; what is no text is judged as it is."""
    try:
        return float(Fraction(said)) if isinstance(said, str) else said
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"must be a number, or a fraction as 1/60; found {said!r}") from None


ThreadCpus = Annotated[
    float,
    BeforeValidator(_fraction),
    Field(gt=0, le=1, description="a number above 0 and at most 1, or a fraction such as `1/60`"),
]


class Machine(Strict):
    """A physical machine, as its data sheet has it. What is left out is not judged."""

    sockets: Annotated[int, Field(ge=1, le=64)]
    """The sockets of the machine. Each counts as one NUMA node."""
    cores_per_socket: Annotated[int, Field(ge=1, le=1024)]
    """The cores of each socket."""
    threads_per_core: Annotated[int, Field(ge=1, le=8)]
    """The hardware threads of each core."""
    memory_gib: Memory | None = None
    """Memory in GiB."""
    data_disks: Disks | None = None
    """How many data disks the machine has."""
    data_disk_gb: DiskSize | None = None
    """The size of each data disk in GB of 10⁹ bytes."""
    nics: Annotated[int, Field(ge=1, le=100)] | None = None
    """How many network cards the machine has."""

    @property
    def cores(self) -> int:
        return self.sockets * self.cores_per_socket

    @property
    def threads(self) -> int:
        return self.cores * self.threads_per_core


class Size(Strict):
    """What one virtual machine has, or the one system of a machine without any."""

    cpus: Cpus
    """vCPUs, as the virtual machine's system counts them."""
    memory_gib: Memory | None = None
    """Memory in GiB."""
    data_disks: Disks | None = None
    """How many data disks the virtual machine has."""
    data_disk_gb: DiskSize | None = None
    """The size of each data disk in GB of 10⁹ bytes."""


class Placement(Strict):
    """The physical side of a platform. How many machines there are follows from its ``hosts``."""

    machine: Machine
    """One physical machine, as its data sheet describes it. The number of machines follows from `hosts`."""
    vms_per_machine: Annotated[int, Field(ge=0, le=1000)]
    """The virtual machines on each machine. 0 means that the machine itself is the host."""
    vm: Size | None = None
    """The size of each virtual machine: see docs/reference.md#size-of-a-virtual-machine."""
    share: CpuShare = "threads"
    """What an even share is a share of, if no size is declared: the machine's `threads` or its `cores`."""
    thread_cpus: ThreadCpus | None = None
    """For the lab: the share of a real processor that one thread stands for. See docs/reference.md#thread_cpus."""
    prefer_ht: bool = False
    """`true`: the hypervisor counts threads when it fits a VM into a NUMA node (numa.vcpu.preferHT)."""
    interleaved_memory: bool = False
    """`true`: node interleaving is on in the machines' BIOS, so that no NUMA node is visible. See Figure 4 of paper
    000."""
    pinned_vcpus: bool = False
    """`true`: each vCPU is bound to processors that no other vCPU uses."""
    density: Density | None = None
    """What the placement is meant to be, in the words of paper 004. A contradiction is an error: see
    docs/reference.md#density."""
