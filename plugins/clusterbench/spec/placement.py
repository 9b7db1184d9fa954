"""Where a platform's hosts are: a physical machine, how many virtual machines are on it, and how large each is."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from clusterbench.spec.loading import Strict

Cpus = Annotated[int, Field(ge=1, le=10_000)]
Memory = Annotated[float, Field(gt=0, le=100_000)]
Disks = Annotated[int, Field(ge=0, le=1000)]
CpuShare = Literal["cores", "threads"]
Density = Literal["ideal", "base", "oversubscribed"]


def _fraction(said: Any) -> Any:
    """ "1/60" as the number that it is; what is no text is judged as it is."""
    try:
        return float(Fraction(said)) if isinstance(said, str) else said
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"must be a number, or a fraction as 1/60; found {said!r}") from None


class Machine(Strict):
    """A physical machine, as its data sheet has it. What is left out is not judged."""

    sockets: Annotated[int, Field(ge=1, le=64)]
    """Each is taken as one NUMA node."""
    cores_per_socket: Annotated[int, Field(ge=1, le=1024)]
    threads_per_core: Annotated[int, Field(ge=1, le=8)]
    memory_gib: Memory | None = None
    data_disks: Disks | None = None
    nics: Annotated[int, Field(ge=1, le=100)] | None = None

    @property
    def cores(self) -> int:
        return self.sockets * self.cores_per_socket

    @property
    def threads(self) -> int:
        return self.cores * self.threads_per_core


class Size(Strict):
    """What one virtual machine has, or the one system of a machine without any."""

    cpus: Cpus
    """As that system counts them: vCPUs, or hardware threads."""
    memory_gib: Memory | None = None
    data_disks: Disks | None = None


class Placement(Strict):
    """The physical side of a platform. How many machines there are follows from its ``hosts``."""

    machine: Machine
    vms_per_machine: Annotated[int, Field(ge=0, le=1000)]
    """0: none, the machine itself is the host."""
    vm: Size | None = None
    """Left out where ``segment_host`` or ``hadoop.worker`` says it; where none of them does, an even ``share``."""
    share: CpuShare = "threads"
    """What of the CPUs is dealt out evenly then."""
    thread_cpus: Annotated[float, BeforeValidator(_fraction), Field(gt=0, le=1)] | None = None
    """Where hosts are groups of processes with CPU limits, as in the lab: processors that a thread, and a vCPU, is."""
    prefer_ht: bool = False
    """Whether the hypervisor is told to count threads where it fits a VM into a NUMA node (numa.vcpu.preferHT)."""
    interleaved_memory: bool = False
    """Whether node interleaving is set in the machine's BIOS, so that no NUMA node is seen. Paper 000, Figure 4."""
    pinned_vcpus: bool = False
    """Whether each vCPU is bound to processors that no other has (CPU pinning), as paper 004 advises for clouds."""
    density: Density | None = None
    """What the placement is meant to be, in the words of paper 004; a contradiction is an error."""
