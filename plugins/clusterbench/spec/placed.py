"""Machines and virtual machines per machine -> what each host gets, and whether a platform's file agrees. Pure.

What the papers advise is in ``placement_rules``. GB of paper 000 and of ``segment_host`` are what data sheets and
hypervisors call so: GiB.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from clusterbench.spec.placement import CpuShare, Density, Machine, Placement, Size
from clusterbench.spec.platform import Hadoop, Platform, Worker

MEMORY_PERCENT = 94
"""Of a machine's memory, that its VMs may have. Paper 002, Best Practices."""
UNITS = {"cpus": "CPUs", "memory_gib": "GiB of memory", "data_disks": "data disks"}


@dataclass(frozen=True)
class Placed:
    """A placement with what follows from the rest of its platform's file."""

    placement: Placement
    size: Size
    """Of each host that does the work."""
    hosts: int
    machines: int
    slots: int | None
    """Map tasks, and as many reduce tasks, at once on a worker of a Hadoop; None for others."""

    @property
    def machine(self) -> Machine:
        return self.placement.machine

    @property
    def is_virtual(self) -> bool:
        return self.placement.vms_per_machine > 0

    @property
    def systems(self) -> int:
        """On a machine; without virtual machines it is one."""
        return max(1, self.placement.vms_per_machine)

    @property
    def cpus(self) -> int:
        """Of all systems on a machine."""
        return self.systems * self.size.cpus

    def say(self) -> str:
        """All of it in one line."""
        machine = self.machine
        each = f"{counted(self.systems, 'VM')} on each" if self.is_virtual else "no VMs"
        cores = f"{machine.sockets} x {machine.cores_per_socket} cores, {machine.threads} threads{_more(machine)}"
        nics = f", {counted(machine.nics, 'NIC')}" if machine.nics else ""
        said = f"{counted(self.machines, 'machine')} with {cores}{nics}; {each}"
        if self.is_virtual:
            said += f", of {counted(self.size.cpus, 'vCPU')}{_more(self.size)}"
        said += ", pinned" if self.placement.pinned_vcpus else ""
        said += ", memory interleaved over all nodes" if self.placement.interleaved_memory else ""
        return said + (f"; {counted(self.slots, 'slot')} a worker" if self.slots else "")

    def as_json(self) -> dict[str, Any]:
        return {
            "machine": self.machine.model_dump(),
            "machines": self.machines,
            "vms_per_machine": self.placement.vms_per_machine,
            "host": self.size.model_dump(),
            "hosts": self.hosts,
            "slots": self.slots,
            "density": density(self.machine, self.cpus) if self.is_virtual else None,
            "interleaved_memory": self.placement.interleaved_memory,
            "pinned_vcpus": self.placement.pinned_vcpus,
        }


def even_share(
    machine: Machine, vms: int, of: CpuShare, memory_gib: float | None = None, cpus_kept: int = 0
) -> Size | None:
    """What each of ``vms`` on a machine gets; None where there is no CPU for each.

    ``memory_gib``: all that the VMs have, 94 % unless said; ``cpus_kept``: by the hypervisor. Paper 000 deals out
    cores, paper 002 threads, paper 003 threads but 8.
    """
    cpus = ((machine.cores if of == "cores" else machine.threads) - cpus_kept) // vms
    if cpus < 1:
        return None
    if memory_gib is None and machine.memory_gib is not None:
        memory_gib = machine.memory_gib * MEMORY_PERCENT / 100
    return Size(
        cpus=cpus,
        memory_gib=None if memory_gib is None else memory_gib / vms,
        data_disks=None if machine.data_disks is None else machine.data_disks // vms,
    )


def density(machine: Machine, vcpus: int) -> Density:
    """The scenario of paper 004, VM Density Scenarios: vCPUs of all VMs on a machine against its cores and threads."""
    if vcpus <= machine.cores:
        return "ideal"
    return "base" if vcpus <= machine.threads else "oversubscribed"


def placed(platform: Platform) -> Placed | None:
    """The placement of a platform that has one, in which ``contradictions`` found none."""
    placement = platform.placement
    if placement is None or (size := _size(platform, placement)) is None:
        return None
    hosts = working_hosts(platform)
    return Placed(
        placement=placement,
        size=size,
        hosts=len(hosts),
        machines=len({platform.hosts[host].machine or host for host in hosts}),
        slots=slots(platform.hadoop) if platform.hadoop else None,
    )


def working_hosts(platform: Platform) -> list[str]:
    """Those that do the work, and whose size is the placement's: segments where there are any."""
    roles = ("worker", "segment", "coordinator")
    return next((found for role in roles if (found := platform.hosts_with(role))), [platform.client])


def memory_bytes(platform: Platform) -> int | None:
    """Of all hosts that do the work, as far as the file declares it."""
    one = placed(platform)
    if one:
        return round(one.hosts * one.size.memory_gib * 2**30) if one.size.memory_gib else None
    claim, hosts = platform.segment_host, platform.hosts_with("segment")
    return claim.memory_gb * len(hosts) * 2**30 if claim and hosts else None


def cpu_limit(platform: Platform) -> float | None:
    """Processors that each host may use, where it is a group of processes with a limit."""
    one = placed(platform)
    return one.size.cpus * one.placement.thread_cpus if one and one.placement.thread_cpus else None


def contradictions(platform: Platform) -> list[str]:
    """Where a placement contradicts itself or the rest of its file; each begins with the field that it is about."""
    if platform.placement is None:
        return []
    checks = (_needless, _different_size, _no_size, _too_many_hosts, _wrong_label)
    found = (check(platform, platform.placement) for check in checks)
    return next(([problem] for problem in found if problem), [])  # one follows from the other


def _needless(_platform: Platform, placement: Placement) -> str | None:
    if placement.vms_per_machine == 0:
        for key in ("vm", "density", "pinned_vcpus"):
            if getattr(placement, key):
                return f"placement.{key}: is about VMs, and vms_per_machine is 0; take one of the two out"
    return None


def _different_size(platform: Platform, placement: Placement) -> str | None:
    """Sizes that two keys say, and not alike."""
    key, other = ("vm", placement.vm) if placement.vms_per_machine else ("machine", _whole(placement.machine))
    stated = _stated(platform)
    if stated is None or other is None:
        return None
    for field, (name, said) in stated.items():
        here = getattr(other, field)
        if None not in (here, said) and here != said:
            return (
                f"placement.{key}: has {here:g} {UNITS[field]}, but {name} is {said:g}, and both are about the same "
                "hosts; make them agree"
            )
    return None


def _no_size(platform: Platform, placement: Placement) -> str | None:
    if _size(platform, placement):
        return None
    return (
        f"placement.vms_per_machine: {getattr(placement.machine, placement.share)} {placement.share} cannot be dealt "
        f"out to {placement.vms_per_machine} VMs; write fewer, or the size of each as 'vm'"
    )


def _too_many_hosts(platform: Platform, placement: Placement) -> str | None:
    hosts = Counter(host.machine for host in platform.every_host.values() if host.machine)
    for machine, count in hosts.items():
        if count > max(1, placement.vms_per_machine):
            return (
                f"placement.vms_per_machine: is {placement.vms_per_machine}, but {count} hosts are on {machine!r}; "
                "say how many a machine has, or spread them over more machines"
            )
        if platform.neighbours and count < placement.vms_per_machine:
            return (
                f"placement.vms_per_machine: is {placement.vms_per_machine}, but {counted(count, 'host')} of platform "
                f"and neighbours {'is' if count == 1 else 'are'} on {machine!r}; name more neighbours, or say fewer VMs"
            )
    return None


def _wrong_label(platform: Platform, placement: Placement) -> str | None:
    one = placed(platform)
    if one is None or placement.density is None:
        return None
    machine, found = placement.machine, density(placement.machine, one.cpus)
    if found == placement.density:
        return None
    return (
        f"placement.density: declared {placement.density!r}, but {one.cpus} vCPUs ({counted(one.systems, 'VM')} of "
        f"{one.size.cpus}) on {machine.cores} cores and {machine.threads} threads are {found!r}; write {found!r}, or "
        "change the number or the size of the VMs"
    )


def _size(platform: Platform, placement: Placement) -> Size | None:
    """As 'vm' says, or the key of the engine, or an even share; of a machine without VMs all that it has."""
    if placement.vms_per_machine == 0:
        return _whole(placement.machine)
    if placement.vm:
        return placement.vm
    if stated := _stated(platform):
        return Size.model_validate({field: said for field, (_, said) in stated.items()})
    return even_share(placement.machine, placement.vms_per_machine, placement.share)


def _stated(platform: Platform) -> dict[str, tuple[str, float | None]] | None:
    """Field of a ``Size`` -> (the key that says it already, what it says)."""
    if platform.hadoop and (worker := platform.hadoop.worker):
        return {field: (f"hadoop.worker.{field}", getattr(worker, field)) for field in UNITS}
    if host := platform.segment_host:
        return {
            "cpus": ("segment_host.cpus", host.cpus),
            "memory_gib": ("segment_host.memory_gb", float(host.memory_gb)),
            "data_disks": ("segment_host.data_disks", host.data_disks),
        }
    return None


def _whole(machine: Machine) -> Size:
    return Size(cpus=machine.threads, memory_gib=machine.memory_gib, data_disks=machine.data_disks)


def _more(size: Size | Machine) -> str:
    """Memory and disks, as far as they are known."""
    memory = f", {size.memory_gib:g} GiB" if size.memory_gib is not None else ""
    return memory + (f", {counted(size.data_disks, 'data disk')}" if size.data_disks is not None else "")


def counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def slots(hadoop: Hadoop) -> int:
    """Map tasks, and as many reduce tasks, at once on a worker: one a data disk and a tenth more, as far as the CPUs
    go, of which the daemons keep one. Paper 002, Table 1; its vm1 was tuned to fewer, which its file says.
    """
    if hadoop.slots is not None:
        return hadoop.slots
    assert hadoop.worker is not None  # the spec has checked that
    return max(1, min(_disks_and_a_tenth(hadoop.worker), hadoop.worker.cpus - 1))


def _disks_and_a_tenth(worker: Worker) -> int:
    return -(-worker.data_disks * 11 // 10)
