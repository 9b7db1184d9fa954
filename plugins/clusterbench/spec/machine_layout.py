"""A platform's file -> the virtual machines that it wants, each with all that a hypervisor is told of it. Pure."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

from clusterbench.spec.machines import Machines
from clusterbench.spec.placed import Placed, placed
from clusterbench.spec.platform import Host, Platform

MIB_PER_GIB = 1024
MEMORY_STEP_MIB = 4
"""Of vSphere: a machine has so many MiB, or a multiple."""
FIRST = ("namenode", "coordinator")
"""Roles of those that are started first and shut down last."""


@dataclass(frozen=True)
class Disk:
    """One data disk of a machine."""

    kind: str
    """``virtual`` or ``raw``."""
    of: str
    """Its datastore, or the host's disk."""
    size_gb: int | None


@dataclass(frozen=True)
class Wanted:
    """One virtual machine, as the platform's file has it."""

    name: str
    """In the hypervisor's inventory."""
    host: str
    """In the platform's file."""
    machine: str
    on: str
    """The hypervisor's host that ``machine`` is."""
    template: str
    snapshot: str | None
    folder: str | None
    datastore: str | None
    cpus: int
    cores_per_socket: int
    memory_mib: int
    reserve_memory: bool
    prefer_ht: bool
    numa_node: int | None
    processors: tuple[int, ...]
    """Logical processors of the host that its vCPUs are bound to; none: any."""
    networks: tuple[str, ...]
    disks: tuple[Disk, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def machine_hosts(platform: Platform) -> dict[str, Host]:
    """Hosts of platform and neighbours that are virtual machines of ours; those that are started first come first."""
    if platform.machines is None:
        return {}
    found = {name: host for name, host in platform.every_host.items() if host.machine}
    return dict(sorted(found.items(), key=lambda item: not set(item[1].roles) & set(FIRST)))


def name_of(platform: Platform, host: str) -> str:
    """Of a machine, in the inventory: dashes, because some guests take it for their own name."""
    return f"{platform.platform}-{host}".replace("_", "-")


def layout(platform: Platform) -> list[Wanted]:
    """Every machine of a platform, in the order in which they are started."""
    one, machines = placed(platform), platform.machines
    if one is None or machines is None or one.size.memory_gib is None:
        return []
    wanted, index_on = [], defaultdict[str, int](int)
    for name, host in machine_hosts(platform).items():
        assert host.machine is not None  # that is how they were chosen
        index = index_on[host.machine]
        index_on[host.machine] += 1
        wanted.append(
            Wanted(
                name=name_of(platform, name),
                host=name,
                machine=host.machine,
                on=machines.hosts[host.machine],
                template=machines.template.name,
                snapshot=machines.template.snapshot,
                folder=machines.folder,
                datastore=machines.datastore,
                cpus=one.size.cpus,
                cores_per_socket=_cores_per_socket(one, machines),
                memory_mib=int(one.size.memory_gib * MIB_PER_GIB) // MEMORY_STEP_MIB * MEMORY_STEP_MIB,
                reserve_memory=machines.reserve_memory,
                prefer_ht=one.placement.prefer_ht,
                numa_node=index % one.machine.sockets if machines.numa == "bound" else None,
                processors=_processors(one, index),
                networks=tuple(machines.networks),
                disks=_disks(one, machines, host.machine, index),
            )
        )
    return wanted


def problems(platform: Platform) -> list[str]:
    """What of ``machines`` cannot be, before anything is made; each begins with the key that it is about."""
    machines = platform.machines
    if machines is None:
        return []
    checks = (
        *(_no_placement, _no_machine, _driver_is_one, _disks_do_not_do, _too_large, _too_many_pinned, _over_budget),
    )
    found = (check(platform, machines) for check in checks)
    return next(([problem] for problem in found if problem), [])  # one follows from the other


def _no_placement(platform: Platform, _machines: Machines) -> str | None:
    if platform.placement is None or platform.placement.vms_per_machine == 0:
        return (
            "machines: needs a 'placement' with vms_per_machine of 1 or more, from which number and size of the "
            "machines follow; without VMs a host is no machine that a hypervisor could make"
        )
    one = placed(platform)
    if one is None or one.size.memory_gib is None:
        return (
            "machines: the memory of each is not known; write placement.vm.memory_gib, or placement.machine.memory_gib"
        )
    return None


def _no_machine(platform: Platform, machines: Machines) -> str | None:
    named = {host.machine for host in platform.every_host.values() if host.machine}
    if not named:
        return "machines: no host of this file has a 'machine', so there is nothing to make; say on which each host is"
    if missing := sorted(named - machines.hosts.keys()):
        return f"machines.hosts: which host of the hypervisor is {missing[0]!r}? Write '{missing[0]}: NAME'"
    if unused := sorted(machines.hosts.keys() - named):
        return f"machines.hosts: no host of this file is on {unused[0]!r}; the names are those of 'machine' in 'hosts'"
    return None


def _driver_is_one(platform: Platform, _machines: Machines) -> str | None:
    for name in platform.hosts_with("client", "load", "etl"):
        if platform.hosts[name].machine:
            return (
                f"hosts.{name}.machine: drives the load, and is the same on every layout; a machine that is shut down "
                "with its layout cannot hold the clock. Take 'machine' out there"
            )
    return None


def _disks_do_not_do(platform: Platform, machines: Machines) -> str | None:
    one = placed(platform)
    assert one is not None
    each = one.size.data_disks or 0
    if machines.disks is None:
        return None
    if not each:
        return "machines.disks: how many has each machine? Write 'data_disks' in placement (vm or machine)"
    for machine in sorted({host.machine for host in machine_hosts(platform).values() if host.machine}):
        there = machines.disks.dealt(machine)
        needed = each * sum(host.machine == machine for host in machine_hosts(platform).values())
        if not there or (machines.disks.kind == "raw" and len(there) < needed):
            return (
                f"machines.disks.of.{machine}: has {len(there)}, and its machines need {needed} ({each} each); "
                "name more, or say fewer data_disks"
            )
    return None


def _too_large(platform: Platform, machines: Machines) -> str | None:
    """More memory than there is cannot be reserved; the hypervisor would refuse the last machine of a host."""
    one = placed(platform)
    assert one is not None
    whole, each = one.machine.memory_gib, one.size.memory_gib or 0
    if whole is not None and machines.reserve_memory and one.systems * each > whole:
        return (
            f"machines.reserve_memory: {one.systems} machines of {each:g} GiB do not fit into the {whole:g} GiB of a "
            "host; make them smaller, or write 'reserve_memory: false', and the hypervisor swaps"
        )
    return None


def _too_many_pinned(platform: Platform, _machines: Machines) -> str | None:
    one = placed(platform)
    assert one is not None
    if one.placement.pinned_vcpus and one.cpus > one.machine.threads:
        return (
            f"placement.pinned_vcpus: {one.cpus} vCPUs cannot each have one of {one.machine.threads} threads to "
            "itself; take it out, or make the VMs smaller or fewer"
        )
    return None


def _over_budget(platform: Platform, machines: Machines) -> str | None:
    count = len(machine_hosts(platform))
    if count > machines.budget.machines:
        return (
            f"machines.budget.machines: is {machines.budget.machines}, and this file wants {count}; raise it, or name "
            "fewer hosts"
        )
    return None


def _cores_per_socket(one: Placed, machines: Machines) -> int:
    """As declared; else the largest that divides the vCPUs and that a NUMA node has cores for."""
    if machines.cores_per_socket:
        return machines.cores_per_socket
    threads = one.machine.threads_per_core if one.placement.prefer_ht else 1
    most = min(one.size.cpus, one.machine.cores_per_socket * threads)
    return next(cores for cores in range(most, 0, -1) if one.size.cpus % cores == 0)


def _processors(one: Placed, index: int) -> tuple[int, ...]:
    """Of the machine's ``index``-th VM, where they are pinned: processors that no other has, a core each if there are.

    The threads of a core are numbered one after the other, as vSphere does it.
    """
    if not one.placement.pinned_vcpus:
        return ()
    step = one.machine.threads_per_core if one.cpus <= one.machine.cores else 1
    first = index * one.size.cpus
    return tuple(step * number for number in range(first, first + one.size.cpus))


def _disks(one: Placed, machines: Machines, machine: str, index: int) -> tuple[Disk, ...]:
    if machines.disks is None or not one.size.data_disks:
        return ()
    there, each = machines.disks.dealt(machine), one.size.data_disks
    return tuple(
        Disk(machines.disks.kind, there[number % len(there)], machines.disks.size_gb)
        for number in range(index * each, (index + 1) * each)
    )
