"""What the papers' best practices say of a placement, each with what was found and where it is written. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from clusterbench.spec.placed import MEMORY_PERCENT, Placed, counted, density, placed
from clusterbench.spec.platform import Platform

Grade = Literal["good", "mind", "against"]
LEVELS = ("against", "mind", "good")

MEMORY_PERCENT_FOR_GIB = 256
"""The machine for which the percentage was found; larger ones bear a little more, smaller ones should give less."""
DATANODE_DISKS = 5
HADOOP_VMS = range(2, 11)
"""On a machine of two sockets."""


@dataclass(frozen=True)
class PracticeCheck:
    """``mind``: it works, at a cost or on a condition that ``found`` names; ``against``: the paper advises not to."""

    rule: str
    level: Grade
    found: str
    source: str
    """Paper and section."""


def check_practices(one: Placed) -> list[PracticeCheck]:
    """Every best practice that can be told from what the platform's file says; what is not good comes first."""
    rules = (_numa_cpus, _numa_memory, _memory, _density, _pinning, _hypervisor, _disks, _datanode, _hadoop_vms)
    found = [judgement for rule in rules if (judgement := rule(one))]
    return sorted(found, key=lambda judgement: LEVELS.index(judgement.level))


def described(platform: Platform) -> dict[str, Any] | None:
    """Placement and judgements for the archive and ``clusterbench plan --json``; None without a placement."""
    one = placed(platform)
    if one is None:
        return None
    return {"says": one.say(), **one.as_json(), "judgements": [asdict(judgement) for judgement in check_practices(one)]}


def _numa_cpus(one: Placed) -> PracticeCheck | None:
    machine = one.machine
    if machine.sockets == 1:
        return None
    cores = machine.cores_per_socket
    threads = cores * machine.threads_per_core
    node = f"the {cores} cores of a node"

    def judged(level: Grade, found: str, source: str = "002, Virtual Machines") -> PracticeCheck:
        return PracticeCheck("CPUs in one NUMA node", level, found, source)

    if one.placement.interleaved_memory or not one.is_virtual:
        nodes = f"{machine.sockets} nodes"
        return (
            judged("mind", f"memory is interleaved over {nodes}: some of it is always remote", "000, Figure 4")
            if one.placement.interleaved_memory
            else judged("mind", f"one system on {nodes}: some of its memory is always remote")
        )
    vcpus = counted(one.size.cpus, "vCPU")
    if one.size.cpus <= cores:
        return judged("good", f"{vcpus} within {node}", "000 and 002, Best Practices")
    if one.size.cpus > threads or _is_wider_than_a_node(one):
        return judged("against", f"{vcpus} exceed {node}: the VM spans nodes", "000 and 002, Best Practices")
    if one.placement.prefer_ht:
        return judged("good", f"{vcpus} within the {threads} threads of a node, and threads count (prefer_ht)")
    return judged("mind", f"{vcpus} exceed {node}, not its {threads} threads: set numa.vcpu.preferHT and prefer_ht")


def _is_wider_than_a_node(one: Placed) -> bool:
    whole_gib, each_gib = one.machine.memory_gib, one.size.memory_gib
    return whole_gib is not None and each_gib is not None and each_gib > whole_gib / one.machine.sockets


def _numa_memory(one: Placed) -> PracticeCheck | None:
    """Of all VMs that are on one node, if they are dealt out in turn."""
    machine, each_gib = one.machine, one.size.memory_gib
    if machine.sockets == 1 or not one.is_virtual or machine.memory_gib is None or each_gib is None:
        return None
    if one.placement.interleaved_memory:  # said above
        return None
    vms = -(-one.systems // machine.sockets)
    node_gib, needed_gib = machine.memory_gib / machine.sockets, vms * each_gib
    level: Grade = "good" if needed_gib <= node_gib else "against"
    found = f"{vms} x {each_gib:g} GiB on a node of {node_gib:g} GiB"
    return PracticeCheck("memory in one NUMA node", level, found, "000 and 002, Best Practices")


def _memory(one: Placed) -> PracticeCheck | None:
    if not one.is_virtual or one.machine.memory_gib is None or one.size.memory_gib is None:
        return None
    whole_gib, given_gib = one.machine.memory_gib, one.systems * one.size.memory_gib
    percent = 100 * given_gib / whole_gib
    found = f"{given_gib:g} of {whole_gib:g} GiB, {percent:.0f} %"
    level: Grade = "good" if round(percent) <= MEMORY_PERCENT else "mind" if percent <= 100 else "against"
    if level == "against":
        found += ": the hypervisor must swap"
    elif level == "mind" and whole_gib > MEMORY_PERCENT_FOR_GIB:
        found += f": a machine with more than {MEMORY_PERCENT_FOR_GIB} GiB bears slightly more than {MEMORY_PERCENT} %"
    elif whole_gib < MEMORY_PERCENT_FOR_GIB:
        found += f": a machine with less than {MEMORY_PERCENT_FOR_GIB} GiB should give less than {MEMORY_PERCENT} %"
    return PracticeCheck(f"at most {MEMORY_PERCENT} % of the memory", level, found, "002, Best Practices")


def _density(one: Placed) -> PracticeCheck | None:
    if not one.is_virtual:
        return None
    machine = one.machine
    level, found = {
        "ideal": ("good", "ideal: {cpus} vCPUs on {cores}, each has one to itself"),
        "base": ("mind", "base: {cores} < {cpus} vCPUs <= {threads} threads, some share a core"),
        "oversubscribed": ("against", "oversubscribed: {cpus} vCPUs on {threads} threads, 1:{ratio}"),
    }[density(machine, one.cpus)]
    ratio = f"{one.cpus / machine.threads:.3g}"
    found = found.format(cpus=one.cpus, cores=counted(machine.cores, "core"), threads=machine.threads, ratio=ratio)
    return PracticeCheck("no oversubscription", level, found, "004, VM Density Scenarios")  # type: ignore[arg-type]


def _pinning(one: Placed) -> PracticeCheck | None:
    """Where VMs share cores, what a neighbour does changes from node to node; each has its own where they do not."""
    if not one.is_virtual or density(one.machine, one.cpus) != "base":
        return None
    pinned = one.placement.pinned_vcpus
    found = "pinned" if pinned else "not pinned: the speed of a node depends on its neighbours"
    return PracticeCheck("CPU pinning", "good" if pinned else "mind", found, "004, Conclusions")


def _hypervisor(one: Placed) -> PracticeCheck | None:
    if not one.is_virtual:
        return None
    threads = one.machine.threads
    left = threads - one.cpus
    level: Grade = "good" if left > 0 else "mind" if left == 0 else "against"
    found = f"{left} of {threads} threads left" if left > 0 else f"none of {threads} threads left"
    return PracticeCheck("room for the hypervisor", level, found, "003, Benchmark Design Considerations")


def _disks(one: Placed) -> PracticeCheck | None:
    disks, each = one.machine.data_disks, one.size.data_disks
    if not one.is_virtual or disks is None or each is None:
        return None
    given = one.systems * each
    level: Grade = "good" if given == disks else "mind" if given < disks else "against"
    found = f"{one.systems} x {each} of {disks}"
    found += {"good": "", "mind": f": {disks - given} idle", "against": ": VMs share disks"}[level]
    return PracticeCheck(
        "disks dealt out evenly", level, found, "000, Test Cases and Test Method; 002, Virtual Machines"
    )


def _datanode(one: Placed) -> PracticeCheck | None:
    if one.slots is None or one.size.data_disks is None:
        return None
    level: Grade = "good" if one.size.data_disks <= DATANODE_DISKS else "mind"
    return PracticeCheck(
        f"at most {DATANODE_DISKS} disks a DataNode", level, counted(one.size.data_disks, "disk"), "002, Best Practices"
    )


def _hadoop_vms(one: Placed) -> PracticeCheck | None:
    if one.slots is None or one.machine.sockets != 2:
        return None
    vms = one.placement.vms_per_machine
    level: Grade = "good" if vms in HADOOP_VMS else "mind"
    found = f"{counted(vms, 'VM') if vms else 'none'}; 4 were the fastest"
    return PracticeCheck("2 to 10 VMs on two sockets", level, found, "002, Conclusion")
