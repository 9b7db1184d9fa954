"""Which of a host's addresses data goes through: that in the platform's ``data_network``, else the one of its login.

Clusters have a slow network to log in by and a fast one for data. What engines are told to bind, announce and read from
is the address of the latter.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from clusterbench.base.errors import HostError
from clusterbench.base.scripts import script
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.platform import Platform


@dataclass(frozen=True)
class DataAddress:
    """A host's address for data, and the interface that has it; that is empty where nobody asked the host."""

    address: str
    interface: str = ""
    speed_mbit_per_s: int = -1
    mtu: int = 0


def data_addresses(fleet: Fleet, platform: Platform, hosts: Iterable[str]) -> dict[str, DataAddress]:
    """By host; all that are not known yet are asked at once. Raises HostError for one without an address there."""
    wanted = list(hosts)
    if platform.data_network is None:
        return {host: DataAddress(fleet.addresses[host].host) for host in wanted}
    known: dict[str, DataAddress] = fleet.kept.setdefault("data addresses", {})
    if unknown := [host for host in wanted if host not in known]:
        answers = fleet.run(unknown, script("hosts/addresses"))
        known |= chosen({host: answer.output for host, answer in answers.items()}, platform.data_network)
    return {host: known[host] for host in wanted}


def data_address(fleet: Fleet, platform: Platform, host: str) -> str:
    return data_addresses(fleet, platform, [host])[host].address


def chosen(said: Mapping[str, str], network: str) -> dict[str, DataAddress]:
    """From what hosts said of their addresses: of each the only one in the network. Raises HostError. Pure."""
    inside, found, wrong = ipaddress.ip_network(network), dict[str, DataAddress](), []
    for host, lines in said.items():
        rows = [line.split() for line in lines.splitlines()]
        here = [row for row in rows if ipaddress.ip_address(row[1].split("%")[0]) in inside]
        if len(here) == 1:
            interface, address, speed, mtu = here[0]
            found[host] = DataAddress(address, interface, int(speed), int(mtu))
        else:
            others = ", ".join(f"{row[1]} ({row[0]})" for row in here or rows)
            wrong.append(f"host {host!r}: {len(here)} addresses in data_network {network}; it has {others}")
    if wrong:
        raise HostError(
            "\n".join(wrong) + "\nEach host needs exactly one address in it; correct 'data_network' of the platform"
        )
    return found
