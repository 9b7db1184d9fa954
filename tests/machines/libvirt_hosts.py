"""Hosts of libvirt's own test driver: the real library, and a hypervisor within it that starts nothing.

Their state is a connection's, so each is opened once and shared. They know domains, metadata, pools, volumes and
networks. They have no agent and no counters of domains, copy no volume into another pool, shut down at once, refuse no
disk that is not there, and end the process where they are asked for addresses on a network without any. A node of a
file has no NUMA cells, either: those of ``test:///default`` are taken, two of 8 processors, 2 and 4 GiB.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import libvirt

from clusterbench.base.connections import Connection
from clusterbench.machines import libvirt_read, libvirt_session, libvirt_specs
from clusterbench.machines.libvirt_hosts import Libvirt
from clusterbench.machines.provider import Say

NODE = """
<node>
  <cpu><mhz>2400</mhz><model>x86</model><active>16</active><nodes>2</nodes><sockets>1</sockets><cores>4</cores>
    <threads>2</threads><memory>8388608</memory></cpu>
  <network><name>bench</name><bridge name='b0'/><ip address='10.7.0.1' netmask='255.255.255.0'>
    <dhcp><range start='10.7.0.10' end='10.7.0.250'/></dhcp></ip></network>
  <network><name>data</name><bridge name='b1'/><ip address='10.8.0.1' netmask='255.255.255.0'/></network>
  <pool type='dir'><name>images</name><target><path>/images</path></target></pool>
  <pool type='dir'><name>fast1</name><target><path>/fast1</path></target></pool>
  <pool type='logical'><name>vg</name><source><name>vg</name></source><target><path>/dev/vg</path></target></pool>
</node>
"""
TEMPLATE = """
<domain type='test'>
  <name>segment</name>
  <metadata><note:of xmlns:note='urn:somebody'>theirs</note:of></metadata>
  <memory unit='MiB'>512</memory><vcpu>1</vcpu>
  <os><type arch='i686'>hvm</type></os>
  <cpu mode='host-passthrough'/>
  <memoryBacking><hugepages/></memoryBacking>
  <devices>
    <disk type='file' device='disk'><driver name='qemu' type='qcow2' cache='none'/>
      <source file='/images/segment.qcow2'/><target dev='vda' bus='virtio'/></disk>
    <disk type='file' device='cdrom'><target dev='sda' bus='sata'/><readonly/></disk>
    <interface type='network'><mac address='52:54:00:11:22:33'/><source network='bench'/><model type='virtio'/>
    </interface>
    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>
  </devices>
</domain>
"""
VOLUME = """<volume><name>{name}</name><capacity>{bytes}</capacity><target><format type='{kind}'/></target></volume>"""


TOPOLOGY = libvirt_specs.topology(libvirt.open("test:///default").getCapabilities())


class Hosts:
    """``server1``, ``server2``: each with template ``segment`` and a machine ``theirs`` of somebody else that runs."""

    def __init__(self, folder: Path, names: tuple[str, ...] = ("server1", "server2")) -> None:
        self.uris, self.conns = {}, {}
        for name in names:
            node = folder / f"{name}.xml"
            node.write_text(NODE)
            self.uris[name] = f"test://{node}"
            self.conns[name] = conn = libvirt.open(self.uris[name])
            images = conn.storagePoolLookupByName("images")
            images.createXML(VOLUME.format(name="segment.qcow2", bytes=10**9, kind="qcow2"))
            conn.defineXML(TEMPLATE)
            conn.createXML(TEMPLATE.replace("segment", "theirs"))

    def connection(self, **extra: Any) -> Connection:
        return Connection("servers", "", None, "bench", "secret", "", {"uris": self.uris, **extra})

    @contextmanager
    def opened(self, say: Say | None = None, within_s: float = 5) -> Iterator[Libvirt]:
        by_uri = {self.uris[name]: conn for name, conn in self.conns.items()}
        with (
            patch.object(libvirt_session, "opened", lambda uri, _: by_uri[uri]),
            patch.object(libvirt_session.Session, "close", lambda _: None),
            patch.object(libvirt_read, "topology_of", lambda _: TOPOLOGY),
            Libvirt.of(self.connection(), within_s, say) as hypervisor,
        ):
            yield hypervisor

    def domain(self, host: str, name: str) -> Any:
        return self.conns[host].lookupByName(name)

    def volumes(self, host: str, pool: str) -> list[str]:
        return sorted(self.conns[host].storagePoolLookupByName(pool).listVolumes())

    def state(self) -> list[Any]:
        """Of all hosts, as far as it is told."""
        return [
            (
                name,
                sorted(
                    (each.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE), each.isActive()) for each in conn.listAllDomains()
                ),
                [(pool.name(), sorted(pool.listVolumes())) for pool in conn.listAllStoragePools()],
            )
            for name, conn in self.conns.items()
        ]

    def guest_tells(self, host: str, name: str, address: str, key: str) -> None:
        """As the host's side may, with ``virsh metadata``, of a guest without an agent."""
        element = f"<guest address='{address}' host_key='{key}'/>"
        kind, flags = libvirt.VIR_DOMAIN_METADATA_ELEMENT, libvirt.VIR_DOMAIN_AFFECT_CURRENT
        self.domain(host, name).setMetadata(kind, element, "clusterbench-guest", "urn:clusterbench:guest:1", flags)
