"""What libvirt is given: the XML of domains and volumes, made from ``Wanted``. Pure, and needs no libvirt."""

from __future__ import annotations

import itertools
import json
import string
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from clusterbench.machines.provider import Mark
from clusterbench.spec.machine_layout import Wanted

MACHINE = "urn:clusterbench:machine:1"
"""Namespace of what we write into a domain's metadata: its mark, and the volumes that were made for it."""
GUEST = "urn:clusterbench:guest:1"
"""Of what the host's side may say of a guest that has no agent: ``<guest address= host_key=/>``."""
KEYS = {MACHINE: "clusterbench", GUEST: "clusterbench-guest"}
"""Prefixes of these namespaces, of which a domain has each once."""
DATA = "clusterbench-data"
"""Serial of a data disk, with its number: at most 20 bytes are seen by a guest."""
BY_ID = "/dev/disk/by-id/"
FILES = ("dir", "fs", "netfs")
"""Types of pools whose volumes are files, and so have a format; those of others are disks, and raw."""
OPEN_LIKE_A_DISK = {"name": "qemu", "type": "raw", "cache": "none", "io": "native"}
"""The host's page cache would answer what the guest's disk is asked."""

ET.register_namespace("qemu", "http://libvirt.org/schemas/domain/qemu/1.0")
for _space, _key in KEYS.items():
    ET.register_namespace(_key, _space)


@dataclass(frozen=True)
class Volume:
    """One that is made for a machine. It is written into the machine before: so none of anybody else is ours."""

    pool: str
    name: str
    of: str
    """The target of the template's disk that it is a copy of (``vda``), or the serial of a data disk."""
    is_done: bool = False
    """False: what there is of it may be part of a copy whose worker died."""


@dataclass(frozen=True)
class Topology:
    """Of a host: its NUMA cells, by their numbers, each with its logical processors and memory."""

    cells: Mapping[int, tuple[int, ...]]
    memory_mib: Mapping[int, int]
    order: tuple[int, ...]
    """All processors, the threads of a core one after the other, as ``Wanted.processors`` counts them.

    Linux often numbers the second threads of all cores after the first ones.
    """
    sockets: int
    cores: int


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314  a hypervisor's own word


def as_text(element: ET.Element) -> str:
    return ET.tostring(element, encoding="unicode")


# The mark.


def machine_element(mark: Mark, volumes: Sequence[Volume], space: str = "") -> ET.Element:
    """For ``setMetadata`` without a namespace, which libvirt adds by itself; ``space``: in braces, before each tag."""
    element = ET.Element(f"{space}machine")
    ET.SubElement(element, f"{space}mark").text = json.dumps(asdict(mark), sort_keys=True)
    for volume in volumes:
        said = {"pool": volume.pool, "name": volume.name, "of": volume.of, "done": "yes" if volume.is_done else "no"}
        ET.SubElement(element, f"{space}volume", said)
    return element


def mark_in(metadata: str | None, name: str) -> Mark | None:
    """The mark of a copy that somebody made is of the machine that it was made from, and does not count."""
    told = _machine_in(metadata)
    try:
        said = [each.text or "" for each in told if _bare(each) == "mark"] if told is not None else []
        found = Mark(**json.loads(said[0])) if said else None
    except (ValueError, TypeError):
        return None
    return found if found and found.name == name else None


def volumes_in(metadata: str | None) -> list[Volume]:
    told = _machine_in(metadata)
    found = [each for each in told if _bare(each) == "volume"] if told is not None else []
    return [
        Volume(each.get("pool", ""), each.get("name", ""), each.get("of", ""), each.get("done") == "yes")
        for each in found
    ]


def guest_in(metadata: str | None) -> tuple[str, str]:
    """Address and host key, empty where they are not told."""
    told = _element(metadata)
    return (told.get("address", ""), told.get("host_key", "")) if told is not None else ("", "")


def _element(metadata: str | None) -> ET.Element | None:
    try:
        return parsed(metadata) if metadata else None
    except ET.ParseError:
        return None


def _machine_in(metadata: str | None) -> ET.Element | None:
    found = _element(metadata)
    return found if found is not None and _bare(found) == "machine" else None


def _bare(element: ET.Element) -> str:
    """Without its namespace, which libvirt leaves out where it tells of one element alone."""
    return element.tag.rpartition("}")[2]


# A host.


def topology(capabilities: str) -> Topology:
    cells, memory, places = {}, {}, []
    for cell in parsed(capabilities).iterfind("host/topology/cells/cell"):
        number = int(cell.get("id", 0))
        processors = list(cell.iterfind("cpus/cpu"))
        cells[number] = tuple(sorted(int(each.get("id", 0)) for each in processors))
        memory[number] = int(cell.findtext("memory") or 0) // 1024
        for each in processors:
            socket, die, core = (int(each.get(key) or 0) for key in ("socket_id", "die_id", "core_id"))
            places.append((socket, number, die, core, int(each.get("id", 0))))
    return Topology(
        cells,
        memory,
        tuple(place[-1] for place in sorted(places)),
        len({place[0] for place in places}),
        len({place[:-1] for place in places}),
    )


def why_not_on(there: Topology, one: Wanted) -> str:
    """Why a machine cannot be bound as it is declared; empty where it can."""
    if one.processors and max(one.processors) >= len(there.order):
        return (
            f"placement.machine: vCPUs of {one.name!r} would be bound to processor {max(one.processors)} of "
            f"{one.on!r}, which has {len(there.order)}; correct sockets, cores_per_socket or threads_per_core"
        )
    if one.numa_node is None:
        return ""
    if one.numa_node >= len(there.cells):
        return f"machines.numa: {one.on!r} has no NUMA node {one.numa_node}, only {len(there.cells)}; write 'automatic'"
    node = sorted(there.cells)[one.numa_node]
    if one.memory_mib > there.memory_mib[node]:
        return (
            f"machines.numa: {one.name!r} has {one.memory_mib} MiB, and NUMA node {node} of {one.on!r} has "
            f"{there.memory_mib[node]}; make it smaller, or write 'automatic'"
        )
    if elsewhere := [each for each in pins(one, there) if each not in there.cells[node]]:
        return (
            f"machines.numa: memory of {one.name!r} would be bound to NUMA node {node} of {one.on!r}, and vCPUs to "
            f"processor {elsewhere[0]}, which is in another; take pinned_vcpus out, or write 'automatic'"
        )
    return ""


def pins(one: Wanted, there: Topology) -> list[int]:
    """The host's own numbers of the processors that the vCPUs are bound to, one each."""
    return [there.order[number] for number in one.processors]


# A machine.


def system_disks(domain: ET.Element) -> list[ET.Element]:
    """All but our data disks, and what is no disk."""
    return [each for each in _disks(domain) if not (each.findtext("serial") or "").startswith(DATA)]


def data_disks(domain: ET.Element) -> list[ET.Element]:
    return [each for each in _disks(domain) if (each.findtext("serial") or "").startswith(DATA)]


def _disks(domain: ET.Element) -> list[ET.Element]:
    return [each for each in domain.iterfind("devices/disk") if each.get("device", "disk") == "disk"]


def target_of(disk: ET.Element) -> str:
    target = disk.find("target")
    return target.get("dev", "") if target is not None else ""


def data_volumes(one: Wanted) -> list[Volume]:
    return [
        Volume(disk.of, f"{one.name}-data{number}", f"{DATA}{number}")
        for number, disk in enumerate(one.disks, 1)
        if disk.kind == "virtual"
    ]


def volume_xml(name: str, bytes_: int, kind: str | None) -> str:
    """All of its space is taken at once. ``kind``: its format, None where its pool has none."""
    volume = ET.Element("volume")
    ET.SubElement(volume, "name").text = name
    for tag in ("capacity", "allocation"):
        ET.SubElement(volume, tag, unit="bytes").text = str(bytes_)
    if kind:
        ET.SubElement(ET.SubElement(volume, "target"), "format", type=kind)
    return as_text(volume)


def copied(template: str, name: str, volumes: Sequence[Volume], formats: Mapping[str, str]) -> str:
    """A template's domain with another name, and the volumes in place of its disks. ``formats``: target -> format.

    What must differ between two domains is left out, and libvirt chooses new ones.
    """
    domain = parsed(template)
    for tag in ("uuid", "genid", "title", "metadata"):
        _drop(domain, tag)
    _set(domain, "name", name)
    nvram = domain.find("os/nvram")
    if nvram is not None:  # its own variables, from the same template
        nvram.text = None
        for each in list(nvram):
            nvram.remove(each)
    for card in domain.iterfind("devices/interface"):
        _drop(card, "mac", "target")
    for channel in domain.iterfind("devices/channel[@type='unix']"):
        _drop(channel, "source")
    for port in [*domain.iterfind("devices/serial[@type='file']"), *domain.iterfind("devices/console[@type='file']")]:
        port.set("type", "pty")  # two machines cannot write into one file
        _drop(port, "source")
    for disk in data_disks(domain):  # another machine's, which this template was
        _child(domain, "devices").remove(disk)
    by_target = {volume.of: volume for volume in volumes}
    for disk in system_disks(domain):
        target = target_of(disk)
        _drop(disk, "source", "backingStore")
        disk.set("type", "volume")
        ET.SubElement(disk, "source", pool=by_target[target].pool, volume=by_target[target].name)
        driver = disk.find("driver")
        if driver is not None:
            driver.set("type", formats[target])
    return as_text(domain)


def shaped(xml: str, one: Wanted, mark: Mark, volumes: Sequence[Volume], there: Topology) -> str:
    """A machine as it is wanted, its mark included; what is not declared stays as it is."""
    domain = parsed(xml)
    metadata = domain.find("metadata")
    if metadata is None:
        metadata = ET.SubElement(domain, "metadata")
    space = f"{{{MACHINE}}}"
    _drop(metadata, f"{space}machine")
    metadata.append(machine_element(mark, volumes, space))
    _shape(domain, one, there)
    return as_text(domain)


def _shape(domain: ET.Element, one: Wanted, there: Topology) -> None:
    _shape_processors(domain, one, there)
    _shape_memory(domain, one)
    _shape_disks(domain, one)
    _shape_cards(domain, one)


def _shape_processors(domain: ET.Element, one: Wanted, there: Topology) -> None:
    node = None if one.numa_node is None else sorted(there.cells)[one.numa_node]
    _drop(domain, "vcpus", "numatune")
    vcpu = _set(domain, "vcpu", str(one.cpus), placement="static")
    if node is not None:
        vcpu.set("cpuset", _listed(there.cells[node]))
        ET.SubElement(ET.SubElement(domain, "numatune"), "memory", mode="strict", nodeset=str(node))
    cpu = _child(domain, "cpu")
    _drop(cpu, "numa")
    sockets = one.cpus // one.cores_per_socket
    _set(cpu, "topology", None, sockets=str(sockets), cores=str(one.cores_per_socket), threads="1")
    tune = _child(domain, "cputune")
    _drop(tune, "vcpupin", "emulatorpin")
    for number, processor in enumerate(pins(one, there)):
        ET.SubElement(tune, "vcpupin", vcpu=str(number), cpuset=str(processor))
    if one.processors:  # so that what QEMU does beside takes no other machine's
        ET.SubElement(tune, "emulatorpin", cpuset=_listed(pins(one, there)))
    if not len(tune):
        domain.remove(tune)


def _shape_memory(domain: ET.Element, one: Wanted) -> None:
    for tag in ("memory", "currentMemory"):
        _set(domain, tag, str(one.memory_mib * 1024), unit="KiB")
    backing = _child(domain, "memoryBacking")
    _drop(backing, "locked", "allocation", "nosharepages")
    if one.reserve_memory:
        ET.SubElement(backing, "nosharepages")
        ET.SubElement(backing, "locked")
        ET.SubElement(backing, "allocation", mode="immediate")
    if not len(backing):
        domain.remove(backing)


def _shape_disks(domain: ET.Element, one: Wanted) -> None:
    """Those that are missing. None is ever taken away: its data would go with it."""
    known = {each.findtext("serial") for each in data_disks(domain)}
    volumes = {volume.of: volume for volume in data_volumes(one)}
    free = _free_targets(domain)
    for number, disk in enumerate(one.disks, 1):
        serial = f"{DATA}{number}"
        if serial in known:
            continue
        element = ET.SubElement(_child(domain, "devices"), "disk", device="disk")
        ET.SubElement(element, "driver", OPEN_LIKE_A_DISK)
        if serial in volumes:
            element.set("type", "volume")
            ET.SubElement(element, "source", pool=volumes[serial].pool, volume=volumes[serial].name)
        else:
            element.set("type", "block")
            ET.SubElement(element, "source", dev=BY_ID + disk.of)
        ET.SubElement(element, "target", dev=next(free), bus="virtio")
        ET.SubElement(element, "serial").text = serial


def _free_targets(domain: ET.Element) -> Iterator[str]:
    taken = {target_of(each) for each in domain.iterfind("devices/disk")}
    letters = itertools.chain(string.ascii_lowercase, map("".join, itertools.product(string.ascii_lowercase, repeat=2)))
    return (name for name in (f"vd{each}" for each in letters) if name not in taken)


def _shape_cards(domain: ET.Element, one: Wanted) -> None:
    """The template's cards, on the networks that are declared; more of virtio where it has too few."""
    cards = domain.findall("devices/interface")
    for number, name in enumerate(one.networks):
        if number < len(cards):
            card = cards[number]
            if network_of(card) == name:
                continue
            _drop(card, "source", "virtualport")
        else:
            card = ET.SubElement(_child(domain, "devices"), "interface")
            ET.SubElement(card, "model", type="virtio")
        card.set("type", "network")
        ET.SubElement(card, "source", network=name)


def network_of(card: ET.Element) -> str:
    source = card.find("source")
    return source.get("network", "") if source is not None else ""


def differences(xml: str, one: Wanted, volumes: Sequence[Volume], there: Topology) -> list[str]:
    """What of a machine is not as declared, in words: what shaping it would change."""
    domain = parsed(xml)
    found = _facts(domain)
    _shape(domain, one, there)
    wanted = _facts(domain)
    said = [f"{what} {_told(found[what])} -> {_told(value)}" for what, value in wanted.items() if found[what] != value]
    return [*said, *(f"volume {each.name!r} is not copied to its end" for each in volumes if not each.is_done)]


def _facts(domain: ET.Element) -> dict[str, Any]:
    """What is shaped, as it reads however libvirt writes it."""
    topology_ = domain.find("cpu/topology")
    nodes = domain.find("numatune/memory")
    vcpu = domain.find("vcpu")
    return {
        "vCPUs": int(domain.findtext("vcpu") or 0),
        "cores a socket": int(topology_.get("cores", 1)) if topology_ is not None else 1,
        "KiB of memory": int(domain.findtext("memory") or 0),
        "KiB of memory at present": int(domain.findtext("currentMemory") or 0),
        "memory is its own": domain.find("memoryBacking/locked") is not None,
        "processors": [numbers(pin.get("cpuset", "")) for pin in _sorted_pins(domain)],
        "any of processors": numbers(vcpu.get("cpuset", "")) if vcpu is not None else [],
        "NUMA nodes": numbers(nodes.get("nodeset", "")) if nodes is not None else [],
        "data disks": sorted(each.findtext("serial") or "" for each in data_disks(domain)),
        "networks": [network_of(card) for card in domain.iterfind("devices/interface")],
    }


def _sorted_pins(domain: ET.Element) -> list[ET.Element]:
    return sorted(domain.iterfind("cputune/vcpupin"), key=lambda pin: int(pin.get("vcpu", 0)))


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_told(each) for each in value) or "none"
    return str(value)


def numbers(said: str) -> list[int]:
    """Of a set as libvirt writes it: ``0-3,^2,8`` is 0, 1, 3 and 8."""
    found = set[int]()
    for part in filter(None, said.split(",")):
        first, _, last = part.lstrip("^").partition("-")
        span = set(range(int(first), int(last or first) + 1))
        found = found - span if part.startswith("^") else found | span
    return sorted(found)


def said(one: Wanted, there: Topology) -> str:
    """What ``shaped`` makes of a machine, in one line."""
    parts = [f"{one.cpus} vCPUs ({one.cores_per_socket} a socket)", f"{one.memory_mib} MiB"]
    parts += ["locked, not shared"] if one.reserve_memory else []
    parts += [f"processors {_listed(pins(one, there))}"] if one.processors else []
    parts += [f"NUMA node {sorted(there.cells)[one.numa_node]}"] if one.numa_node is not None else []
    parts += [f"{disk.kind} disk {disk.of}" + (f" {disk.size_gb} GB" if disk.size_gb else "") for disk in one.disks]
    parts += [f"networks {', '.join(one.networks)}"] if one.networks else []
    return ", ".join(parts)


def _listed(found: Sequence[int]) -> str:
    return ",".join(map(str, found))


def _child(parent: ET.Element, tag: str) -> ET.Element:
    found = parent.find(tag)
    return found if found is not None else ET.SubElement(parent, tag)


def _set(parent: ET.Element, tag: str, text: str | None, **attributes: str) -> ET.Element:
    _drop(parent, tag)
    element = ET.SubElement(parent, tag, attributes)
    element.text = text
    return element


def _drop(parent: ET.Element, *tags: str) -> None:
    for tag in tags:
        for each in parent.findall(tag):
            parent.remove(each)
