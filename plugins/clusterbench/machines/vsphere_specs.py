"""What vSphere is given: specifications of copies, configurations and rules, made from ``Wanted``. No connection."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pyVmomi import vim

from clusterbench.machines.provider import Mark

if TYPE_CHECKING:
    from clusterbench.spec.machine_layout import Disk, Wanted

MARKED = "Made by clusterbench. Do not change the next line.\n"
"""Notes of a machine begin so, where people see it; the mark follows in JSON."""
ADDRESS, HOST_KEY = "guestinfo.clusterbench.address", "guestinfo.clusterbench.host_key"
"""Written by the guest: include/machines/tell_host_key.sh."""
UNITS = {7}
"""Of a SCSI controller, that no disk may have: it is the controller's own."""
DISKS_OF_CONTROLLER = 16


@dataclass(frozen=True)
class Inventory:
    """By name."""

    machines: Mapping[str, Any]
    hosts: Mapping[str, Any]
    datastores: Mapping[str, Any]
    networks: Mapping[str, Any]
    folders: Mapping[str, Any]


def annotation(mark: Mark) -> str:
    return MARKED + json.dumps(asdict(mark), sort_keys=True)


def mark_in(notes: str | None, name: str) -> Mark | None:
    """Of a machine's notes. The mark of a copy is of the machine that it was made from, and does not count."""
    if not notes or not notes.startswith(MARKED):
        return None
    try:
        found = Mark(**json.loads(notes.removeprefix(MARKED).splitlines()[0]))
    except (ValueError, TypeError, IndexError):
        return None
    return found if found.name == name else None


def clone(one: Wanted, mark: Mark, there: Inventory) -> Any:
    host = there.hosts[one.on]
    where = vim.vm.RelocateSpec(host=host, pool=host.parent.resourcePool)
    if one.datastore:
        where.datastore = there.datastores[one.datastore]
    marked = vim.vm.ConfigSpec(annotation=annotation(mark))
    snapshot = snapshot_of(there.machines[one.template], one.snapshot) if one.snapshot else None
    return vim.vm.CloneSpec(location=where, powerOn=False, template=False, config=marked, snapshot=snapshot)


def snapshot_of(vm: Any, name: str) -> Any:
    """The newest of that name; None where there is none."""
    there = getattr(vm, "snapshot", None)  # some versions leave the property out where there is none
    found, waiting = None, list(there.rootSnapshotList) if there else []
    for each in waiting:  # grows while it is gone through
        waiting.extend(each.childSnapshotList)
        found = each.snapshot if each.name == name else found
    return found


def extra_config(one: Wanted) -> dict[str, str]:
    """What has no field of its own."""
    return {
        "numa.vcpu.preferHT": "TRUE" if one.prefer_ht else "FALSE",
        "numa.nodeAffinity": "" if one.numa_node is None else str(one.numa_node),
    }


def config(one: Wanted, mark: Mark, there: Any, networks: Mapping[str, Any]) -> Any:
    """Everything that a machine is to be, its mark included. ``there``: its configuration; None in a dry run."""
    spec = vim.vm.ConfigSpec(
        annotation=annotation(mark),
        numCPUs=one.cpus,
        numCoresPerSocket=one.cores_per_socket,
        memoryMB=one.memory_mib,
        memoryReservationLockedToMax=one.reserve_memory,
        memoryAllocation=vim.ResourceAllocationInfo(reservation=one.memory_mib if one.reserve_memory else 0),
        cpuAffinity=vim.vm.AffinityInfo(affinitySet=list(one.processors)),
        extraConfig=[vim.option.OptionValue(key=key, value=value) for key, value in extra_config(one).items()],
    )
    if there is not None:
        spec.deviceChange = [*_disks(one, there), *_cards(one, there, networks)]
    return spec


def said(one: Wanted) -> str:
    """What ``config`` holds, in one line."""
    parts = [f"{one.cpus} vCPUs ({one.cores_per_socket} a socket)", f"{one.memory_mib} MiB"]
    parts += ["all reserved"] if one.reserve_memory else []
    parts += [f"processors {','.join(map(str, one.processors))}"] if one.processors else []
    parts += [f"NUMA node {one.numa_node}"] if one.numa_node is not None else []
    parts += ["preferHT"] if one.prefer_ht else []
    parts += [f"{disk.kind} disk {disk.of}" + (f" {disk.size_gb} GB" if disk.size_gb else "") for disk in one.disks]
    parts += [f"networks {', '.join(one.networks)}"] if one.networks else []
    return ", ".join(parts)


def forgetting() -> Any:
    """What a guest has told."""
    keys = (ADDRESS, HOST_KEY)
    return vim.vm.ConfigSpec(extraConfig=[vim.option.OptionValue(key=key, value="") for key in keys])


def marking(mark: Mark) -> Any:
    return vim.vm.ConfigSpec(annotation=annotation(mark))


def backing_of(disk: Disk) -> Any:
    if disk.kind == "raw":
        return vim.vm.device.VirtualDisk.RawDiskMappingVer1BackingInfo(
            fileName="",
            deviceName=f"/vmfs/devices/disks/{disk.of}",
            compatibilityMode="physicalMode",
            diskMode="independent_persistent",
        )
    return vim.vm.device.VirtualDisk.FlatVer2BackingInfo(
        fileName=f"[{disk.of}]", diskMode="independent_persistent", thinProvisioned=False, eagerlyScrub=True
    )


def own_disks(config: Any) -> list[Any]:
    """Data disks: all but the template's own, which snapshots would hold too."""
    disks = [each for each in config.hardware.device if isinstance(each, vim.vm.device.VirtualDisk)]
    return [each for each in disks if str(getattr(each.backing, "diskMode", "")).startswith("independent")]


def _disks(one: Wanted, config: Any) -> list[Any]:
    """Those that are missing. None is ever taken away: its data would go with it."""
    missing = one.disks[len(own_disks(config)) :]
    controllers = [each for each in config.hardware.device if isinstance(each, vim.vm.device.VirtualSCSIController)]
    if not missing or not controllers:
        return []
    taken = {(each.controllerKey, each.unitNumber) for each in config.hardware.device if each.controllerKey}
    places = (
        (controller.key, unit)
        for controller in controllers
        for unit in range(DISKS_OF_CONTROLLER)
        if unit not in UNITS and (controller.key, unit) not in taken
    )
    changes = []
    for number, (disk, (controller, unit)) in enumerate(zip(missing, places, strict=False), 1):
        device = vim.vm.device.VirtualDisk(
            key=-number,
            controllerKey=controller,
            unitNumber=unit,
            capacityInKB=(disk.size_gb or 0) * 10**9 // 1024,
            backing=backing_of(disk),
        )
        changes.append(vim.vm.device.VirtualDeviceSpec(operation="add", fileOperation="create", device=device))
    return changes


def cards_of(config: Any) -> list[Any]:
    return [each for each in config.hardware.device if isinstance(each, vim.vm.device.VirtualEthernetCard)]


def _cards(one: Wanted, config: Any, networks: Mapping[str, Any]) -> list[Any]:
    """The template's cards, on the networks that are declared; more of VMXNET3 where it has too few."""
    changes, cards = [], cards_of(config)
    for number, name in enumerate(one.networks):
        backing = backing_on(networks[name])
        if number < len(cards):
            card = cards[number]
            if not is_on(card, networks[name]):
                card.backing = backing
                changes.append(vim.vm.device.VirtualDeviceSpec(operation="edit", device=card))
        else:
            card = vim.vm.device.VirtualVmxnet3(
                key=-100 - number,
                backing=backing,
                connectable=vim.vm.device.VirtualDevice.ConnectInfo(
                    startConnected=True, connected=True, allowGuestControl=True
                ),
            )
            changes.append(vim.vm.device.VirtualDeviceSpec(operation="add", device=card))
    return changes


def backing_on(network: Any) -> Any:
    if isinstance(network, vim.dvs.DistributedVirtualPortgroup):
        port = vim.dvs.PortConnection(portgroupKey=network.key, switchUuid=network.config.distributedVirtualSwitch.uuid)
        return vim.vm.device.VirtualEthernetCard.DistributedVirtualPortBackingInfo(port=port)
    return vim.vm.device.VirtualEthernetCard.NetworkBackingInfo(deviceName=network.name, network=network)


def is_on(card: Any, network: Any) -> bool:
    """Whether a network card is on a network."""
    port = getattr(card.backing, "port", None)
    if port is not None:
        return bool(port.portgroupKey == getattr(network, "key", None))
    return bool(getattr(card.backing, "deviceName", None) == network.name)


def rules(
    platform: str, wanted: Sequence[Wanted], there: Mapping[str, Any], hosts: Mapping[str, Any], cluster: Any
) -> tuple[Any, str]:
    """For each host of a cluster the rule that is missing, with its two groups; and that in words."""
    known = {rule.name for rule in cluster.configurationEx.rule or []}
    groups = {group.name: group for group in cluster.configurationEx.group or []}
    spec, words = vim.cluster.ConfigSpecEx(), []
    for on in dict.fromkeys(one.on for one in wanted if hosts[one.on].parent == cluster):
        name = _named(platform, on)
        names = [one.name for one in wanted if one.on == on]
        machines, host = f"{name} machines", f"{name} host"
        of_vms = vim.cluster.VmGroup(name=machines, vm=[there[each] for each in names if each in there])
        if name in known and machines in groups and set(groups[machines].vm) == set(of_vms.vm):
            continue
        words.append(f"{', '.join(names)} must run on {on}")
        if name in known:  # of machines that were there before
            spec.groupSpec.append(vim.cluster.GroupSpec(operation="edit", info=of_vms))
            continue
        info = vim.cluster.VmHostRuleInfo(
            name=name, enabled=True, mandatory=True, userCreated=True, vmGroupName=machines, affineHostGroupName=host
        )
        of_host = vim.cluster.HostGroup(name=host, host=[hosts[on]])
        spec.groupSpec += [vim.cluster.GroupSpec(operation="add", info=each) for each in (of_vms, of_host)]
        spec.rulesSpec.append(vim.cluster.RuleSpec(operation="add", info=info))
    return spec, "; ".join(words)


def no_rules(platform: str, cluster: Any) -> tuple[Any, str]:
    """The same taken back: what of it is there, and that in words."""
    known, ours = cluster.configurationEx, _named(platform, "")
    rules_there = [rule for rule in known.rule or [] if rule.name.startswith(ours)]
    groups = [group for group in known.group or [] if group.name.startswith(ours)]
    spec = vim.cluster.ConfigSpecEx(
        rulesSpec=[vim.cluster.RuleSpec(operation="remove", removeKey=rule.key) for rule in rules_there],
        groupSpec=[vim.cluster.GroupSpec(operation="remove", removeKey=group.name) for group in groups],
    )
    return spec, "; ".join(f"no rule {rule.name!r}" for rule in rules_there) or ", ".join(g.name for g in groups)


def _named(platform: str, on: str) -> str:
    """Of a rule; no other platform's name begins so, as none of them holds a blank."""
    return f"clusterbench {platform} {on}"


def words_of(fault: Any) -> str:
    """A fault as people say it: its message, else its name, with the details it holds."""
    kind = type(fault).__name__.rpartition(".")[2]
    message = str(getattr(fault, "localizedMessage", None) or getattr(fault, "msg", None) or "").strip()
    message = message if message and not message.startswith("*types.") else ""
    details = [
        f"{key} {value}"
        for key in ("name", "unreserved", "requested", "existingState", "requestedState", "reason")
        if isinstance(value := getattr(fault, key, None), str | int)
    ]
    return f"{message or kind}" + (f" ({kind}: {', '.join(details)})" if details else f" ({kind})" if message else "")
