"""What a vCenter has and tells: its inventory, machines, guests, hosts and counters. Changes nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pyVmomi import vim, vmodl

from clusterbench.base.errors import suggest
from clusterbench.machines import vsphere_specs as specs
from clusterbench.machines.provider import Found, Guest
from clusterbench.machines.usage import HOST, MACHINE, Counter, covered, means
from clusterbench.machines.vsphere_session import Session
from clusterbench.spec.machine_layout import Wanted

PAGE = 500
"""Objects that vCenter tells of in one answer."""
FINEST_S = 20
"""The interval of what a host keeps of the last hour; a cluster's or older ones are coarser."""
FINEST_KEPT_S = 3600
ASKED_AT_ONCE = 50
"""Machines or hosts whose counters are asked for by one call: vCenter refuses calls for too much."""


@dataclass(frozen=True)
class Listed:
    """A machine as the inventory lists it."""

    vm: Any
    found: Found
    is_template: bool


Told = list[tuple[Any, dict[str, Any]]]
"""Objects, each with its properties by name. What an object does not have is left out."""
COLLECTOR = vmodl.query.PropertyCollector


def properties(session: Session, kind: Any, names: Collection[str]) -> Told:
    """Of every object of a kind, in few answers, however many there are."""
    content = session.content
    view = content.viewManager.CreateContainerView(content.rootFolder, [kind], True)
    try:
        walk = COLLECTOR.TraversalSpec(name="view", path="view", skip=False, type=vim.view.ContainerView)
        return _retrieved(session, kind, names, [COLLECTOR.ObjectSpec(obj=view, skip=True, selectSet=[walk])])
    finally:
        view.Destroy()


def properties_of(session: Session, kind: Any, names: Collection[str], objects: Iterable[Any]) -> Told:
    """Of these objects alone, whose properties are many."""
    asked = [COLLECTOR.ObjectSpec(obj=each) for each in objects]
    return _retrieved(session, kind, names, asked) if asked else []


def _retrieved(session: Session, kind: Any, names: Collection[str], objects: list[Any]) -> Told:
    spec = COLLECTOR.FilterSpec(objectSet=objects, propSet=[COLLECTOR.PropertySpec(type=kind, pathSet=sorted(names))])
    collector = session.content.propertyCollector
    told = collector.RetrievePropertiesEx([spec], COLLECTOR.RetrieveOptions(maxObjects=PAGE))
    found = list(told.objects) if told else []
    while told and told.token:
        told = collector.ContinueRetrievePropertiesEx(told.token)
        found.extend(told.objects)
    return [(one.obj, {each.name: each.val for each in one.propSet}) for one in found]


def by_name(session: Session, kind: Any) -> dict[str, Any]:
    return {told["name"]: each for each, told in properties(session, kind, ["name"])}


def machines(session: Session) -> dict[str, Listed]:
    wanted = ("name", "runtime.powerState", "runtime.host", "config.annotation", "config.template")
    hosts = {each: told["name"] for each, told in properties(session, vim.HostSystem, ["name"])}
    found = {}
    for vm, told in properties(session, vim.VirtualMachine, wanted):
        name, on = str(told.get("name", "")), hosts.get(told.get("runtime.host"), "no host")
        mark = specs.mark_in(told.get("config.annotation"), name)
        is_on = str(told.get("runtime.powerState")) != "poweredOff"
        found[name] = Listed(vm, Found(name, on, is_on, mark), bool(told.get("config.template")))
    return found


def inventory(session: Session) -> specs.Inventory:
    kinds = (vim.VirtualMachine, vim.HostSystem, vim.Datastore, vim.Network, vim.Folder)
    return specs.Inventory(*(by_name(session, kind) for kind in kinds))


def lacking(there: specs.Inventory, one: Wanted) -> list[str]:
    """What a machine needs and this vCenter has not, each with the key that names it."""
    needs = [
        ("machines.template.name", "no machine or template is called", one.template, there.machines),
        (f"machines.hosts.{one.machine}", "no host is called", one.on, there.hosts),
        *(("machines.networks", "no network is called", name, there.networks) for name in one.networks),
        *(
            ("machines.disks.of", "no datastore is called", disk.of, there.datastores)
            for disk in one.disks
            if disk.kind == "virtual"
        ),
    ]
    if one.datastore:
        needs.append(("machines.datastore", "no datastore is called", one.datastore, there.datastores))
    if one.folder:
        needs.append(("machines.folder", "no folder is called", one.folder, there.folders))
    found = [f"{key}: {what} {name!r}{suggest(name, known)}" for key, what, name, known in needs if name not in known]
    if not found and one.snapshot and specs.snapshot_of(there.machines[one.template], one.snapshot) is None:
        found.append(f"machines.template.snapshot: {one.template!r} has no snapshot {one.snapshot!r}")
    host = there.hosts.get(one.on)
    if host is not None and (state := _why_unusable(host)):
        found.append(f"machines.hosts.{one.machine}: host {one.on!r} {state}")
    return found


def _why_unusable(host: Any) -> str:
    if str(host.runtime.connectionState) != "connected":
        return f"is {host.runtime.connectionState}; bring it back"
    return "is in maintenance mode; take it out of that" if host.runtime.inMaintenanceMode else ""


def configurations(session: Session, vms: Collection[Any]) -> dict[Any, Any]:
    return {vm: told["config"] for vm, told in properties_of(session, vim.VirtualMachine, ["config"], vms)}


def differences(config: Any, networks: Mapping[str, Any], one: Wanted) -> list[str]:
    """What of a machine is not as declared, in words. A machine on another host is not moved: its disks are there."""
    hardware, allocation = config.hardware, config.memoryAllocation
    reserved = (allocation.reservation or 0) if allocation else 0
    affinity = config.cpuAffinity.affinitySet if config.cpuAffinity else []
    options = {option.key: str(option.value) for option in config.extraConfig or []}
    pairs = [
        ("vCPUs", hardware.numCPU, one.cpus),
        ("cores a socket", hardware.numCoresPerSocket or 1, one.cores_per_socket),
        ("MiB of memory", hardware.memoryMB, one.memory_mib),
        ("MiB reserved", reserved, one.memory_mib if one.reserve_memory else 0),
        ("processors", sorted(affinity), sorted(one.processors)),
        ("data disks", len(specs.own_disks(config)), max(len(one.disks), len(specs.own_disks(config)))),
        *((key, options.get(key, _unset(key)), value) for key, value in specs.extra_config(one).items()),
    ]
    cards = specs.cards_of(config)
    pairs.append(("network cards", len(cards), max(len(one.networks), len(cards))))
    others = [
        ("network", getattr(card.backing, "deviceName", None) or "another", name)
        for card, name in zip(cards, one.networks, strict=False)
        if name in networks and not specs.is_on(card, networks[name])
    ]
    return [f"{what} {found} -> {wanted}" for what, found, wanted in [*pairs, *others] if found != wanted]


def _unset(key: str) -> str:
    return "FALSE" if key.endswith("preferHT") else ""


def guests(session: Session, names: Collection[str]) -> dict[str, Guest]:
    """Address and host key by the guest's own word; the address else as VMware Tools tell it."""
    ours = {each.vm: name for name, each in machines(session).items() if name in names and each.found.is_on}
    wanted, found = ("config.extraConfig", "guest.ipAddress"), {}
    for vm, said in properties_of(session, vim.VirtualMachine, wanted, ours):
        told = {option.key: str(option.value) for option in said.get("config.extraConfig") or []}
        key = " ".join(told.get(specs.HOST_KEY, "").split()[:2])
        address = told.get(specs.ADDRESS) or said.get("guest.ipAddress") or ""
        if key and address:
            found[ours[vm]] = Guest(str(address), key)
    return found


def clusters_of(hosts: Iterable[Any]) -> list[Any]:
    """Clusters that have them, in which vCenter may move machines. A host by itself is in none."""
    found = dict.fromkeys(host.parent for host in hosts)
    return [each for each in found if isinstance(each, vim.ClusterComputeResource)]


def host_facts(session: Session, hosts: Collection[str]) -> dict[str, dict[str, Any]]:
    there = by_name(session, vim.HostSystem)
    on = defaultdict[str, list[dict[str, Any]]](list)
    for name, each in machines(session).items():
        if not each.is_template:
            on[each.found.on].append({"name": name, "is_on": each.found.is_on, "ours": each.found.mark is not None})
    return {name: {**_facts_of(there[name]), "machines": on[name]} for name in hosts if name in there}


def _facts_of(host: Any) -> dict[str, Any]:
    hardware, numa = host.summary.hardware, host.hardware.numaInfo if host.hardware else None
    configured = host.config
    policy = configured.powerSystemInfo if configured else None
    threads = configured.hyperThread if configured else None
    product = configured.product if configured else None
    return {
        "vendor": hardware.vendor,
        "model": hardware.model,
        "cpu_model": hardware.cpuModel,
        "sockets": hardware.numCpuPkgs,
        "cores": hardware.numCpuCores,
        "threads": hardware.numCpuThreads,
        "mhz": hardware.cpuMhz,
        "memory_gib": round(hardware.memorySize / 2**30, 1),
        "nics": hardware.numNics,
        "numa_nodes": numa.numNodes if numa else None,
        "power_policy": policy.currentPolicy.shortName if policy and policy.currentPolicy else None,
        "hyper_threading": threads.active if threads else None,
        "version": product.version if product else None,
        "build": product.build if product else None,
    }


def info_of(task: Any) -> Any:
    """None of a task that is forgotten meanwhile, or that is about something else than machines and hosts."""
    try:
        return task.info
    except (vmodl.fault.ManagedObjectNotFound, TypeError):
        return None


# Counters.


def usage(
    session: Session, names: Collection[str], hosts: Collection[str], start_s: float, end_s: float
) -> dict[str, Any]:
    """Means over a window by vCenter's clock. ``interval_s``: of a sample; ``covered``: of the window, the least."""
    manager = session.content.perfManager
    ids = {f"{each.groupInfo.key}.{each.nameInfo.key}.{each.rollupType}": each.key for each in manager.perfCounter}
    now_s = session.instance.CurrentTime().timestamp()
    interval_s = FINEST_S if now_s - start_s < FINEST_KEPT_S else _coarser(manager, now_s - start_s)
    listed, there = machines(session), by_name(session, vim.HostSystem)
    asked: list[tuple[str, str, Any, tuple[Counter, ...]]] = []
    asked += [("machines", name, listed[name].vm, MACHINE) for name in names if name in listed]
    asked += [("hosts", name, there[name], HOST) for name in hosts if name in there]
    others = [
        each for each in listed.values() if each.found.on in hosts and each.found.is_on and each.found.name not in names
    ]
    asked += [("others", each.found.name, each.vm, MACHINE) for each in others]
    vms = [entity for kind, _, entity, _ in asked if kind != "hosts"]
    sizes = properties_of(session, vim.VirtualMachine, ["config.hardware.numCPU"], vms)
    vcpus_of = {vm: int(told["config.hardware.numCPU"]) for vm, told in sizes}
    window, shares = (start_s, end_s), []
    found: dict[str, dict[str, Any]] = {"machines": {}, "hosts": {}, "others": {}}
    for (kind, name, entity, counters), series in zip(
        asked, _series(manager, ids, [(each[2], each[3]) for each in asked], interval_s, window), strict=True
    ):
        vcpus = vcpus_of.get(entity, 1)
        found[kind][name] = means(counters, series, interval_s, window, vcpus)
        told = series.get("cpu.usage.average", ())
        shares += [covered(told, interval_s, *window)] if kind != "others" else []
    for each in others:
        found["others"][each.found.name]["on"] = each.found.on
    return {**found, "interval_s": interval_s, "covered": round(min(shares, default=0.0), 3)}


def _coarser(manager: Any, age_s: float) -> int:
    """The finest of vCenter's own intervals that still has what is so old."""
    kept = [each for each in manager.historicalInterval or [] if each.enabled and each.length >= age_s]
    return min((each.samplingPeriod for each in kept), default=300)


def _series(
    manager: Any,
    ids: Mapping[str, int],
    asked: list[tuple[Any, tuple[Counter, ...]]],
    interval_s: int,
    window: tuple[float, float],
) -> list[dict[str, list[tuple[float, float]]]]:
    """Of each entity: counter -> (end of the interval, value), in the order of time."""
    names = {key: name for name, key in ids.items()}
    start = datetime.fromtimestamp(window[0] - interval_s, UTC)
    end = datetime.fromtimestamp(window[1], UTC) + timedelta(seconds=interval_s)
    specs_asked = [
        vim.PerformanceManager.QuerySpec(
            entity=entity,
            metricId=[
                vim.PerformanceManager.MetricId(counterId=ids[one.name], instance="")
                for one in counters
                if one.name in ids
            ],
            intervalId=interval_s,
            startTime=start,
            endTime=end,
        )
        for entity, counters in asked
    ]
    told = {
        answer.entity: answer
        for first in range(0, len(specs_asked), ASKED_AT_ONCE)
        for answer in manager.QueryPerf(specs_asked[first : first + ASKED_AT_ONCE])
    }
    found = []
    for entity, _ in asked:
        answer: Any = told.get(entity)
        series: dict[str, list[tuple[float, float]]] = {}
        for one in answer.value if answer else ():
            samples = zip(answer.sampleInfo, one.value, strict=False)
            series[names[one.id.counterId]] = sorted((info.timestamp.timestamp(), value) for info, value in samples)
        found.append(series)
    return found
