"""What the hosts' libvirt have and tell: domains, pools, guests, facts and totals. Changes nothing."""

from __future__ import annotations

import base64
import ipaddress
import json
import time
import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import libvirt
import libvirt_qemu

from clusterbench.base.errors import suggest
from clusterbench.machines import libvirt_specs as specs
from clusterbench.machines.libvirt_session import Host, Session, naming, reason
from clusterbench.machines.provider import Found, Guest
from clusterbench.spec.machine_layout import Wanted

HOST_KEY_FILE = "/etc/ssh/ssh_host_ed25519_key.pub"
AGENT_S = 5
READ_BYTES = 4096
COUNTED = (
    libvirt.VIR_DOMAIN_STATS_CPU_TOTAL
    | libvirt.VIR_DOMAIN_STATS_VCPU
    | libvirt.VIR_DOMAIN_STATS_BLOCK
    | libvirt.VIR_DOMAIN_STATS_INTERFACE
)


@dataclass(frozen=True)
class Listed:
    """A machine as its host lists it."""

    domain: Any
    host: Host
    found: Found
    volumes: tuple[specs.Volume, ...]
    """That were made for it."""


@dataclass(frozen=True)
class Source:
    """A disk of a template, to be copied."""

    target: str
    volume: Any
    pool: str
    format: str
    bytes: int
    suffix: str


def listed(session: Session) -> list[Listed]:
    """Every machine of every host; what vanishes meanwhile is left out."""

    def of(host: Host) -> list[Listed]:
        with naming(host, "list its machines"):
            return [one for domain in host.conn.listAllDomains() if (one := _listed(host, domain))]

    return [one for found in session.of_each(of).values() for one in found]


def _listed(host: Host, domain: Any) -> Listed | None:
    try:
        name, is_on = domain.name(), bool(domain.isActive())
        metadata = metadata_of(domain, specs.MACHINE, libvirt.VIR_DOMAIN_AFFECT_CONFIG) if domain.isPersistent() else ""
    except libvirt.libvirtError as error:
        if reason(error).code == libvirt.VIR_ERR_NO_DOMAIN:
            return None
        raise
    mark, volumes = specs.mark_in(metadata, name), tuple(specs.volumes_in(metadata))
    return Listed(domain, host, Found(name, host.name, is_on, mark), volumes if mark else ())


def metadata_of(domain: Any, space: str, flags: int = 0) -> str:
    """What a domain's metadata has in a namespace; empty where it has nothing."""
    try:
        return str(domain.metadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, space, flags))
    except libvirt.libvirtError as error:
        if reason(error).code == libvirt.VIR_ERR_NO_DOMAIN_METADATA:
            return ""
        raise


def machines(session: Session) -> dict[str, Listed]:
    """By name. Hosts know nothing of each other: where several have one of a name, ours counts, else one that runs."""
    in_order = sorted(listed(session), key=lambda one: (one.found.mark is not None, one.found.is_on))
    return {one.found.name: one for one in in_order}


# What machines need.


def lacking(session: Session, wanted: Iterable[Wanted]) -> list[str]:
    """What they need and the hosts have not, each with the key that names it."""
    by_host: dict[str, list[Wanted]] = {}
    for one in wanted:
        by_host.setdefault(one.on, []).append(one)
    problems = [
        f"machines.hosts.{of[0].machine}: 'uris' of connection {session.connection.id!r} names no host "
        f"{name!r}{suggest(name, session.uris)}"
        for name, of in by_host.items()
        if name not in session.uris
    ]
    if problems:
        return problems
    there = machines(session)
    found = session.of_each(lambda host: _lacking_on(host, by_host[host.name], there), by_host)
    return list(dict.fromkeys(problem for of in found.values() for problem in of))


def _lacking_on(host: Host, wanted: list[Wanted], there: Mapping[str, Listed]) -> list[str]:
    with naming(host, "look at its inventory"):
        pools, networks = _active(host.conn.listAllStoragePools()), _active(host.conn.listAllNetworks())
        topology = topology_of(host)
        problems = []
        for one in wanted:
            for key, what, name, known in _needs(one, pools, networks):
                if name not in known:
                    problems.append(f"{key}: no {what} of {host.name} is called {name!r}{suggest(name, known)}")
            problems += [problem] if (problem := specs.why_not_on(topology, one)) else []
            problems += _elsewhere(one, there)
            problems += _template_lacks(host, one, pools)
    return problems


def _active(objects: Iterable[Any]) -> dict[str, Any]:
    return {each.name(): each for each in objects if each.isActive()}


def _needs(
    one: Wanted, pools: Mapping[str, Any], networks: Mapping[str, Any]
) -> Iterable[tuple[str, str, str, Mapping[str, Any]]]:
    yield from (("machines.networks", "active network", name, networks) for name in one.networks)
    if one.datastore:
        yield "machines.datastore", "active storage pool", one.datastore, pools
    for disk in one.disks:
        if disk.kind == "virtual":
            yield f"machines.disks.of.{one.machine}", "active storage pool", disk.of, pools


def _elsewhere(one: Wanted, there: Mapping[str, Listed]) -> list[str]:
    found = there.get(one.name)
    if found is None or found.found.mark is None or found.host.name == one.on:
        return []
    return [
        f"machines.hosts.{one.machine}: {one.name!r} is on {found.host.name!r}, where its disks are, and not on "
        f"{one.on!r}; write that host, or delete the machine there"
    ]


def _template_lacks(host: Host, one: Wanted, pools: Mapping[str, Any]) -> list[str]:
    domains = {each.name(): each for each in host.conn.listAllDomains()}
    template = domains.get(one.template)
    if template is None:
        meant = suggest(one.template, domains)
        return [f"machines.template.name: no machine of {host.name} is called {one.template!r}{meant}"]
    if one.name in domains:
        return []  # nothing is copied
    if template.isActive():
        return [f"machines.template.name: {one.template!r} runs on {host.name}; shut it down, to copy its disks whole"]
    sources, problems = sources_of(host, template, one.template)
    for volume in planned_volumes(one, sources):
        if volume.pool in pools and has_volume(pools[volume.pool], volume.name):
            problems.append(
                f"storage pool {volume.pool!r} of {host.name} has a volume {volume.name!r} already, which belongs "
                "to no machine of ours; rename or delete it"
            )
    return problems


def planned_volumes(one: Wanted, sources: Iterable[Source]) -> list[specs.Volume]:
    """Those of a machine that is to be made: copies of its template's disks, and its virtual data disks."""
    of_system = [
        specs.Volume(one.datastore or each.pool, f"{one.name}-{each.target}{each.suffix}", each.target)
        for each in sources
    ]
    return [*of_system, *specs.data_volumes(one)]


def sources_of(host: Host, template: Any, name: str) -> tuple[list[Source], list[str]]:
    """The disks of a template; and what of them cannot be copied."""
    found, problems = [], []
    for disk in specs.system_disks(specs.parsed(template.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE))):
        target, place = specs.target_of(disk), _source_said(disk)
        try:
            found.append(_source(host, target, disk))
        except libvirt.libvirtError as error:
            if reason(error).code not in (libvirt.VIR_ERR_NO_STORAGE_VOL, libvirt.VIR_ERR_NO_STORAGE_POOL):
                raise
            problems.append(
                f"machines.template.name: disk {target} of {name!r} on {host.name} ({place}) is in no active storage "
                "pool; define a pool of its folder, and refresh it"
            )
    return found, problems


def _source(host: Host, target: str, disk: ET.Element) -> Source:
    source = disk.find("source")
    told = source.attrib if source is not None else {}
    if disk.get("type") == "volume":
        volume = host.conn.storagePoolLookupByName(told.get("pool", "")).storageVolLookupByName(told.get("volume", ""))
    else:
        volume = host.conn.storageVolLookupByPath(told.get("file") or told.get("dev") or "")
    described = specs.parsed(volume.XMLDesc())
    kind = described.find("target/format")
    _, dot, suffix = volume.name().rpartition(".")
    return Source(
        target,
        volume,
        volume.storagePoolLookupByVolume().name(),
        kind.get("type", "raw") if kind is not None else "raw",
        volume.info()[1],
        f"{dot}{suffix}" if dot else "",
    )


def _source_said(disk: ET.Element) -> str:
    source = disk.find("source")
    return "/".join(source.attrib.values()) if source is not None else "no source"


def pool_of(host: Host, name: str) -> Any:
    return host.conn.storagePoolLookupByName(name)


def has_files(pool: Any) -> bool:
    return specs.parsed(pool.XMLDesc()).get("type") in specs.FILES


def volume_in(pool: Any, name: str) -> Any:
    """None where there is none of that name."""
    try:
        return pool.storageVolLookupByName(name)
    except libvirt.libvirtError as error:
        if reason(error).code == libvirt.VIR_ERR_NO_STORAGE_VOL:
            return None
        raise


def has_volume(pool: Any, name: str) -> bool:
    return volume_in(pool, name) is not None


def topology_of(host: Host) -> specs.Topology:
    return specs.topology(host.capabilities())


def differences(one: Listed, wanted: Wanted) -> list[str]:
    with naming(one.host, "read how its machines are configured"):
        xml = one.domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE)
        return specs.differences(xml, wanted, one.volumes, topology_of(one.host))


# Guests.


def guests(session: Session, names: Collection[str]) -> dict[str, Guest]:
    """Address and host key, by the guest's agent; where it has none, by what its host's side has noted of it.

    Both ways are the hypervisor's own: nothing is asked of the network, where somebody else could answer.
    """
    found = {}
    for name, one in machines(session).items():
        if name in names and one.found.is_on:
            with naming(one.host, "read what its guests tell"):
                address, key = specs.guest_in(metadata_of(one.domain, specs.GUEST))
                address, key = address or _address(one.domain), key or _host_key(one.domain)
            if address and (key := " ".join(key.split()[:2])):
                found[name] = Guest(address, key)
    return found


def _address(domain: Any) -> str:
    """Of the first of its cards that has one: by its agent, else by what the host's own DHCP server leased to it."""
    for source in (libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_AGENT, libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_LEASE):
        with suppress(libvirt.libvirtError):  # no agent, or it is not up yet: asked again
            cards = {str(told.get("hwaddr")).lower(): told.get("addrs") or [] for told in _cards(domain, source)}
            for card in specs.parsed(domain.XMLDesc()).iterfind("devices/interface/mac"):
                if address := _best(each["addr"] for each in cards.get(card.get("address", "").lower(), ())):
                    return address
    return ""


def _cards(domain: Any, source: int) -> Iterable[Mapping[str, Any]]:
    told: dict[str, dict[str, Any]] = domain.interfaceAddresses(source)
    return told.values()


def _best(addresses: Iterable[str]) -> str:
    """IPv4 before IPv6; none that holds on its own link only."""
    usable = [each for each in addresses if not ipaddress.ip_address(each).is_link_local]
    return min(usable, key=lambda each: ipaddress.ip_address(each).version, default="")


def _host_key(domain: Any) -> str:
    """By qemu-guest-agent, through the machine's own virtio port; empty where it does not answer yet."""
    try:
        handle = _agent(domain, "guest-file-open", path=HOST_KEY_FILE, mode="r")
        try:
            told = _agent(domain, "guest-file-read", handle=handle, count=READ_BYTES)
        finally:
            _agent(domain, "guest-file-close", handle=handle)
        return base64.b64decode(told["buf-b64"]).decode()
    except (libvirt.libvirtError, ValueError, LookupError, TypeError):
        return ""


def _agent(domain: Any, command: str, **arguments: Any) -> Any:
    asked = json.dumps({"execute": command, "arguments": arguments})
    return json.loads(libvirt_qemu.qemuAgentCommand(domain, asked, AGENT_S, 0))["return"]


# Hosts.


def host_facts(session: Session, hosts: Collection[str]) -> dict[str, dict[str, Any]]:
    on: dict[str, list[dict[str, Any]]] = {}
    for one in listed(session):
        told = {"name": one.found.name, "is_on": one.found.is_on, "ours": one.found.mark is not None}
        on.setdefault(one.host.name, []).append(told)

    def of(host: Host) -> dict[str, Any]:
        with naming(host, "read its facts"):
            return {**_facts_of(host), "machines": on.get(host.name, [])}

    return session.of_each(of, hosts)


def _facts_of(host: Host) -> dict[str, Any]:
    conn, capabilities = host.conn, host.capabilities()
    topology = specs.topology(capabilities)
    cpu_model, memory_mib, processors, mhz, nodes, sockets, cores, _ = conn.getInfo()
    system = _system(conn)
    return {
        "vendor": system.get("manufacturer"),
        "model": system.get("product"),
        "cpu_model": specs.parsed(capabilities).findtext("host/cpu/model") or cpu_model,
        "sockets": topology.sockets or nodes * sockets,
        "cores": topology.cores or nodes * sockets * cores,
        "threads": processors,
        "mhz": mhz,
        "memory_gib": round(memory_mib / 1024, 1),
        "numa_nodes": len(topology.cells) or nodes,
        "hyper_threading": processors > (topology.cores or nodes * sockets * cores),
        "huge_pages": _huge_pages(capabilities),
        "version": f"{conn.getType()} {_version(conn.getVersion())}",
        "build": f"libvirt {_version(conn.getLibVersion())}",
    }


def _system(conn: Any) -> dict[str, str]:
    """What the BIOS calls the host; not every one tells."""
    try:
        told = specs.parsed(conn.getSysinfo())
    except libvirt.libvirtError:
        return {}
    return {each.get("name", ""): each.text or "" for each in told.iterfind("system/entry")}


def _huge_pages(capabilities: str) -> dict[str, int]:
    """Size in KiB -> how many there are; of sizes of which there are any."""
    found: dict[str, int] = {}
    for cell in specs.parsed(capabilities).iterfind("host/topology/cells/cell"):
        for pages in list(cell.iterfind("pages"))[1:]:  # the first are ordinary ones
            count = int(pages.text or 0)
            found[pages.get("size", "")] = found.get(pages.get("size", ""), 0) + count
    return {size: count for size, count in found.items() if count}


def _version(number: int) -> str:
    return f"{number // 10**6}.{number // 1000 % 1000}.{number % 1000}"


# Totals.


def totals(session: Session, machines_: Collection[str], hosts: Collection[str]) -> dict[str, Any]:
    """All counters as they are now: ``usage.between`` makes means of two of these."""
    asked = session.of_each(_totals_on, hosts)
    found: dict[str, Any] = {"machines": {}, "hosts": {}, "others": {}}
    for on, (of_host, of_domains) in asked.items():
        found["hosts"][on] = of_host
        for name, told in of_domains.items():
            found["machines" if name in machines_ else "others"][name] = {**told, "on": on}
    return {"at_s": time.time(), **found}


def _totals_on(host: Host) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    with naming(host, "read its counters"):
        of_host = {
            f"cpu.{key}": value for key, value in host.conn.getCPUStats(libvirt.VIR_NODE_CPU_STATS_ALL_CPUS).items()
        }
        told = host.conn.getAllDomainStats(COUNTED, libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_ACTIVE)
        of_domains = {domain.name(): _summed(stats) for domain, stats in told}
    return {"at_s": time.time(), **of_host}, {name: {"at_s": time.time(), **each} for name, each in of_domains.items()}


def _summed(stats: Mapping[str, Any]) -> dict[str, float]:
    """``vcpu.3.delay`` and the like of all vCPUs, disks and cards in one number, ``vcpu.delay``."""
    found: dict[str, float] = {}
    for key, value in stats.items():
        group, _, rest = key.partition(".")
        number, _, counter = rest.partition(".")
        name = f"{group}.{counter}" if number.isdigit() else key
        if isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = found.get(name, 0) + value
    return found
