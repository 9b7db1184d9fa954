"""The XML that libvirt is told, from XML as QEMU's driver writes it. Needs no libvirt."""

from __future__ import annotations

import pytest

from clusterbench.machines import libvirt_specs as specs
from clusterbench.machines.libvirt_specs import Topology, Volume
from clusterbench.machines.provider import Mark
from clusterbench.spec.machine_layout import Disk, Wanted

MARK = Mark("vm2-db1", "c", "vm2", "db1", "segment", "retail/r1")
THREADS_APART = Topology({0: (0, 1, 4, 5), 1: (2, 3, 6, 7)}, {0: 4096, 1: 4096}, (0, 4, 1, 5, 2, 6, 3, 7), 2, 4)
TEMPLATE = """
<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>segment</name><uuid>6695eb01-f6a4-8304-79aa-97f2502e193f</uuid><genid>1</genid>
  <metadata>
    <libosinfo:os xmlns:libosinfo='http://libosinfo.org/xmlns/libvirt/domain/1.0'/>
    <g:guest xmlns:g='urn:clusterbench:guest:1' host_key='of the template'/>
  </metadata>
  <memory unit='KiB'>1048576</memory><currentMemory unit='KiB'>524288</currentMemory>
  <vcpu placement='static' current='1'>2</vcpu>
  <vcpus><vcpu id='0' enabled='yes'/><vcpu id='1' enabled='no'/></vcpus>
  <cputune><shares>2048</shares><vcpupin vcpu='0' cpuset='3'/></cputune>
  <os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type>
    <loader readonly='yes' type='pflash'>/OVMF_CODE.fd</loader>
    <nvram template='/OVMF_VARS.fd'>/nvram/segment_VARS.fd</nvram></os>
  <cpu mode='host-passthrough'><numa><cell id='0' cpus='0-1' memory='1048576' unit='KiB'/></numa></cpu>
  <devices>
    <disk type='block' device='disk'><driver name='qemu' type='raw' cache='none'/><source dev='/dev/vg/segment'/>
      <backingStore/><target dev='vda' bus='virtio'/></disk>
    <disk type='volume' device='disk'><source pool='p' volume='segment-data1'/><target dev='vdb' bus='virtio'/>
      <serial>clusterbench-data1</serial></disk>
    <interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br0'/><target dev='vnet7'/></interface>
    <serial type='file'><source path='/log/segment.console'/><target port='0'/></serial>
    <channel type='unix'><source mode='bind' path='/channel/segment.agent'/>
      <target type='virtio' name='org.qemu.guest_agent.0'/></channel>
  </devices>
  <qemu:commandline><qemu:arg value='-no-hpet'/></qemu:commandline>
</domain>
"""


def wanted(**changes: object) -> Wanted:
    said: dict[str, object] = {
        "name": "vm2-db1",
        "host": "db1",
        "machine": "server",
        "on": "server1",
        "template": "segment",
        "snapshot": None,
        "folder": None,
        "datastore": None,
        "cpus": 4,
        "cores_per_socket": 4,
        "memory_mib": 2048,
        "reserve_memory": True,
        "prefer_ht": False,
        "numa_node": None,
        "processors": (),
        "networks": (),
        "disks": (),
    }
    return Wanted(**{**said, **changes})  # type: ignore[arg-type]


def made(one: Wanted, there: Topology = THREADS_APART) -> str:
    volumes = [Volume("vg", "vm2-db1-vda", "vda"), *specs.data_volumes(one)]
    return specs.shaped(specs.copied(TEMPLATE, one.name, volumes, {"vda": "raw"}), one, MARK, volumes, there)


def test_what_must_differ_between_two_machines_is_not_copied() -> None:
    copy = made(wanted())
    for of_template in (
        "6695eb01",
        "genid",
        "00:00:01",
        "vnet7",
        "segment_VARS",
        "segment.agent",
        "segment.console",
        "/vg/seg",
    ):
        assert of_template not in copy
    assert "of the template" not in copy and "segment-data1" not in copy, "a key and data of another machine"
    assert "OVMF_VARS.fd" in copy and "-no-hpet" in copy and "<shares>2048</shares>" in copy
    assert "host-passthrough" in copy and 'volume="vm2-db1-vda"' in copy


def test_a_machine_has_what_was_declared() -> None:
    made_so = specs.parsed(made(wanted(cpus=4, cores_per_socket=2, reserve_memory=True)))
    assert made_so.findtext("vcpu") == "4" and made_so.find("vcpus") is None and made_so.find("cpu/numa") is None
    topology = made_so.find("cpu/topology")
    assert topology is not None and topology.attrib == {"sockets": "2", "cores": "2", "threads": "1"}
    assert made_so.findtext("memory") == made_so.findtext("currentMemory") == str(2048 * 1024)
    assert made_so.find("memoryBacking/locked") is not None and made_so.find("cputune/vcpupin") is None
    loose = specs.parsed(made(wanted(reserve_memory=False)))
    assert loose.find("memoryBacking") is None


def test_pinned_vcpus_have_cores_each_however_the_host_numbers_its_threads() -> None:
    """Paper 004's advice. ``Wanted`` counts a core's threads one after the other; this host has 0 and 4 as a core."""
    made_so = specs.parsed(made(wanted(processors=(0, 2, 4, 6))))
    assert [pin.get("cpuset") for pin in made_so.iterfind("cputune/vcpupin")] == ["0", "1", "2", "3"]
    emulator = made_so.find("cputune/emulatorpin")
    assert emulator is not None and emulator.get("cpuset") == "0,1,2,3"


def test_a_bound_machine_has_memory_and_processors_of_one_node() -> None:
    made_so = specs.parsed(made(wanted(numa_node=1)))
    memory, vcpu = made_so.find("numatune/memory"), made_so.find("vcpu")
    assert memory is not None and memory.attrib == {"mode": "strict", "nodeset": "1"}
    assert vcpu is not None and vcpu.get("cpuset") == "2,3,6,7"


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (wanted(processors=(9,)), "placement.machine: vCPUs of 'vm2-db1' would be bound to processor 9 of 'server1'"),
        (wanted(numa_node=2), "machines.numa: 'server1' has no NUMA node 2, only 2; write 'automatic'"),
        (wanted(numa_node=1, memory_mib=5000), "has 5000 MiB, and NUMA node 1 of 'server1' has 4096"),
        (wanted(numa_node=1, processors=(0, 2)), "bound to NUMA node 1 of 'server1', and vCPUs to processor 0, which"),
        (wanted(numa_node=0, processors=(0, 2)), ""),
    ],
)
def test_what_a_host_cannot_bind(one: Wanted, said: str) -> None:
    found = specs.why_not_on(THREADS_APART, one)
    assert said in found and bool(said) == bool(found)


def test_data_disks_are_added_past_the_hosts_cache_and_none_twice() -> None:
    disks = (Disk("virtual", "fast", 7), Disk("virtual", "fast2", 7))
    first = made(wanted(disks=disks[:1]))
    again = specs.shaped(first, wanted(disks=disks), MARK, [], THREADS_APART)
    found = specs.data_disks(specs.parsed(again))
    assert [specs.target_of(disk) for disk in found] == ["vdb", "vdc"]
    assert [disk.findtext("serial") for disk in found] == ["clusterbench-data1", "clusterbench-data2"]
    assert all('cache="none"' in specs.as_text(disk) for disk in found)
    assert 'pool="fast2" volume="vm2-db1-data2"' in again
    raw = specs.parsed(made(wanted(disks=(Disk("raw", "wwn-0x5000", None),))))
    assert "/dev/disk/by-id/wwn-0x5000" in specs.as_text(specs.data_disks(raw)[0])


def test_a_card_is_put_on_the_network_that_is_declared_and_more_are_added() -> None:
    cards = list(specs.parsed(made(wanted(networks=("bench", "data")))).iterfind("devices/interface"))
    assert [(card.get("type"), specs.network_of(card)) for card in cards] == [("network", "bench"), ("network", "data")]
    assert "br0" in made(wanted()), "without any declared, the template's"


def test_what_is_as_wanted_does_not_differ_however_it_is_written() -> None:
    one = wanted(numa_node=0, processors=(0, 1), cpus=2, cores_per_socket=2, disks=(Disk("virtual", "p", 1),))
    done = [Volume("vg", "vm2-db1-vda", "vda", True)]
    xml = made(one).replace('cpuset="0,1,4,5"', 'cpuset="0-1,4-5"')
    assert specs.differences(xml, one, done, THREADS_APART) == []
    other = wanted(numa_node=1, cpus=2, cores_per_socket=2)
    assert specs.differences(xml, other, [Volume("vg", "v", "vda")], THREADS_APART) == [
        "processors 0, 4 -> none",
        "any of processors 0, 1, 4, 5 -> 2, 3, 6, 7",
        "NUMA nodes 0 -> 1",
        "volume 'v' is not copied to its end",
    ]


def test_a_mark_counts_only_in_the_machine_that_it_names() -> None:
    said = specs.as_text(specs.machine_element(MARK, [Volume("p", "v", "vda", True), Volume("p", "w", "vdb")]))
    assert specs.mark_in(said, "vm2-db1") == MARK and specs.mark_in(said, "vm2-db1-clone") is None
    assert specs.volumes_in(said) == [Volume("p", "v", "vda", True), Volume("p", "w", "vdb")]
    spaced = specs.as_text(specs.machine_element(MARK, [], f"{{{specs.MACHINE}}}"))
    assert specs.mark_in(spaced, "vm2-db1") == MARK
    for spoiled in ("", None, "<machine/>", "<machine><mark>{}</mark></machine>", "<other/>", "no XML"):
        assert specs.mark_in(spoiled, "vm2-db1") is None and specs.volumes_in(spoiled) == []


def test_a_hosts_processors_in_the_order_of_their_cores() -> None:
    cell = "<cell id='{0}'><memory unit='KiB'>4194304</memory><cpus>{1}</cpus></cell>"
    cpu = "<cpu id='{0}' socket_id='{1}' die_id='0' core_id='{2}'/>"
    places = {0: [(0, 0, 0), (1, 0, 1), (4, 0, 0), (5, 0, 1)], 1: [(2, 1, 0), (3, 1, 1), (6, 1, 0), (7, 1, 1)]}
    cells = "".join(cell.format(node, "".join(cpu.format(*place) for place in of)) for node, of in places.items())
    told = f"<capabilities><host><topology><cells num='2'>{cells}</cells></topology></host></capabilities>"
    assert specs.topology(told) == THREADS_APART


def test_sets_as_libvirt_writes_them() -> None:
    assert specs.numbers("0-3,^2,8") == [0, 1, 3, 8] and specs.numbers("") == []


def test_a_volumes_space_is_taken_at_once_and_a_disk_of_a_volume_group_has_no_format() -> None:
    assert specs.volume_xml("v", 5, "raw") == (
        '<volume><name>v</name><capacity unit="bytes">5</capacity><allocation unit="bytes">5</allocation>'
        '<target><format type="raw" /></target></volume>'
    )
    assert "format" not in specs.volume_xml("v", 5, None)
