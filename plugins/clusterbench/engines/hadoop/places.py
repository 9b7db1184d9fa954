"""Where a deployment is: its folders on the hosts, and the addresses by which its daemons know each other."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from shlex import quote

from clusterbench.base.errors import EngineError
from clusterbench.base.scripts import script
from clusterbench.engines.deployment import Deployment
from clusterbench.engines.hadoop.configuration import DAEMON_USER
from clusterbench.hosts.data_network import data_addresses

LOOK_UP = "{{ getent ahostsv4 {0} || getent ahosts {0}; }} | head -n 1"
"""Its address, of version 4 where it has one."""


def folders(deployment: Deployment, hosts: Sequence[str]) -> dict[str, list[str]]:
    """Host -> the deployment's folder, Hadoop's folder. Raises EngineError where Hadoop is not on a host."""
    hadoop = deployment.platform.hadoop
    home = hadoop.home if hadoop else "hadoop"
    name = f"hadoop.{deployment.platform.platform}"
    scripts = {
        host: script("hadoop/places", work=work, name=name, home=home)
        for host, work in deployment.fleet.work_dirs(hosts).items()
    }
    found = {host: said.splitlines() for host, said in deployment.on_each(scripts, "its login must own it").items()}
    if absent := [f"host {host!r}: {place[1]}" for host, place in found.items() if not place[1].startswith("/")]:
        raise EngineError(
            f"{deployment.where}: Hadoop is not in the folder that its file names:\n  " + "\n  ".join(absent) + "\n"
            "Unpack a distribution there, or correct 'hadoop.home' in the platform's file"
        )
    return found


def principals(deployment: Deployment, addresses: Mapping[str, str], keytab: str) -> dict[str, str]:
    """Host -> the principal of its daemons. Raises EngineError where its keytab has none."""
    look = {
        host: script("hadoop/kerberos/principal", keytab=keytab, name=DAEMON_USER, address=address)
        for host, address in addresses.items()
    }
    remedy = f"whoever runs the KDC puts {DAEMON_USER}/… and HTTP/… of a host into the keytab there"
    said = deployment.on_each(look, remedy)
    return {host: output.strip() for host, output in said.items()}


def addresses(deployment: Deployment, hosts: Sequence[str]) -> dict[str, str]:
    """Host -> IP address, by which the NameNode knows it; names are looked up there."""
    data = data_addresses(deployment.fleet, deployment.platform, hosts)
    known = {host: found.address for host, found in data.items()}
    names = {host: name for host, name in known.items() if not _is_address(name)}
    if names:
        (namenode, *_) = deployment.platform.hosts_with("namenode")
        look = "\n".join(f"echo {quote(host)} $({LOOK_UP.format(quote(name))})" for host, name in names.items())
        said = deployment.on_each({namenode: look}, "getent must be there")[namenode]
        found = {words[0]: words[1] for line in said.splitlines() if len(words := line.split()) > 1}
        if lost := [f"{host} ({name})" for host, name in names.items() if host not in found]:
            raise EngineError(
                f"{deployment.where}: host {namenode!r}, of the NameNode, does not know {', '.join(lost[:5])}; add "
                "the names to its /etc/hosts, or write addresses into the connections"
            )
        known |= found
    return known


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
