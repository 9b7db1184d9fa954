"""The wires of the field: a network namespace for each host, and a switch with a bridge for each of two networks.

The management network is slow, the data network is not. Only the bastion has a third wire, to whoever runs the tests;
it forwards nothing by itself. The addresses follow from the process, so that two fields can stand side by side.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

MANAGEMENT, DATA, WAY_IN = "eth0", "eth1", "eth2"
"""What a host calls its interfaces."""
SLOW = ("tbf", "rate", "20mbit", "burst", "32k", "latency", "50ms")
END_S = 30
NAMESPACE = re.compile(r"cbf(?P<maker>\d+)x\d+[a-z]")
_FIELDS = itertools.count()


@dataclass(frozen=True)
class Network:
    """The namespaces and addresses of one field."""

    key: str
    """In every name that the whole machine sees."""
    number: int
    hosts: tuple[str, ...]

    @property
    def here(self) -> str:
        """The address of whoever runs the tests, on the wire to the bastion."""
        return self._way_in(1)

    @property
    def silent(self) -> str:
        """An address on that wire too, to which packets go and from which nothing comes."""
        return self._way_in(3)

    @property
    def bastion(self) -> str:
        return self._way_in(2)

    def management(self, host: str) -> str:
        return f"10.215.{self.number % 256}.{10 + self.hosts.index(host)}"

    def data(self, host: str) -> str:
        return f"10.216.{self.number % 256}.{10 + self.hosts.index(host)}"

    @property
    def data_network(self) -> str:
        return f"10.216.{self.number % 256}.0/24"

    def nobody(self, host_byte: int = 250) -> str:
        """An address of the management network that nobody has."""
        return f"10.215.{self.number % 256}.{host_byte}"

    def namespace(self, host: str) -> str:
        return f"cbf{self.key}{host}"

    def bytes_through(self, host: str, interface: str) -> int:
        """Received and sent so far, as the kernel counts them."""
        shown = do("ip", "-n", self.namespace(host), "-json", "-statistics", "link", "show", "dev", interface)
        counted = json.loads(shown)[0]["stats64"]
        return int(counted["rx"]["bytes"] + counted["tx"]["bytes"])

    def cut_off(self, host: str) -> None:
        """As a pulled cable of the management network: what is sent to it is lost, and nobody is told."""
        do("ip", "-n", self.namespace("switch"), "link", "set", f"{host}{MANAGEMENT[-1]}", "down")

    def connect(self, host: str) -> None:
        do("ip", "-n", self.namespace("switch"), "link", "set", f"{host}{MANAGEMENT[-1]}", "up")

    def _way_in(self, last: int) -> str:
        n = self.number
        return f"10.{224 + (n >> 13) % 16}.{(n >> 5) % 256}.{(n % 32) * 8 + last}"


@contextmanager
def network(bastion: str, hosts: Sequence[str]) -> Iterator[Network]:
    """All wires, up on entry. On exit every process that is left in one of the namespaces is ended, and they go."""
    serial = next(_FIELDS)
    with ExitStack() as stack:
        made = Network(f"{os.getpid()}x{serial}", os.getpid() * 4 + serial % 4, (bastion, *hosts))
        for name in ("switch", *made.hosts):
            stack.enter_context(_namespace(made.namespace(name)))
        switch = made.namespace("switch")
        for bridge in (MANAGEMENT, DATA):
            do("ip", "-n", switch, "link", "add", f"br-{bridge}", "type", "bridge")
            do("ip", "-n", switch, "link", "set", f"br-{bridge}", "up")
        for host in made.hosts:
            _plug_in(made, host, MANAGEMENT, made.management(host))
            do("tc", "-n", made.namespace(host), "qdisc", "add", "dev", MANAGEMENT, "root", *SLOW)
        for host in hosts:
            _plug_in(made, host, DATA, made.data(host))
        _way_in(made, bastion)
        yield made


def _plug_in(made: Network, host: str, interface: str, address: str) -> None:
    namespace, switch, port = made.namespace(host), made.namespace("switch"), f"{host}{interface[-1]}"
    peer = ("peer", "name", port, "netns", switch)
    do("ip", "link", "add", interface, "netns", namespace, "type", "veth", *peer)
    do("ip", "-n", switch, "link", "set", port, "master", f"br-{interface}", "up")
    do("ip", "-n", namespace, "address", "add", f"{address}/24", "dev", interface)
    do("ip", "-n", namespace, "link", "set", interface, "up")


def _way_in(made: Network, bastion: str) -> None:
    """The interface here goes with the one in the bastion's namespace."""
    namespace, here = made.namespace(bastion), f"cbf{made.key}"
    do("ip", "link", "add", WAY_IN, "netns", namespace, "type", "veth", "peer", "name", here)
    do("ip", "-n", namespace, "address", "add", f"{made.bastion}/29", "dev", WAY_IN)
    do("ip", "-n", namespace, "link", "set", WAY_IN, "up")
    do("ip", "address", "add", f"{made.here}/29", "dev", here)
    do("ip", "link", "set", here, "up")
    nobody = ("lladdr", "02:00:00:00:00:01", "nud", "permanent")
    do(
        "ip", "neighbour", "add", made.silent, *nobody, "dev", here
    )  # else the kernel says after 3 s that nobody is there


@contextmanager
def _namespace(name: str) -> Iterator[None]:
    do("ip", "netns", "add", name)
    try:
        do("ip", "-n", name, "link", "set", "lo", "up")
        # A new namespace may forward as the machine does; a bastion that forwards packets would be none.
        do("ip", "netns", "exec", name, "bash", "-c", "echo 0 >/proc/sys/net/ipv4/ip_forward")
        yield
    finally:
        until = time.monotonic() + END_S
        while (pids := _processes(name)) and time.monotonic() < until:
            subprocess.run(["kill", "-KILL", *pids], capture_output=True, check=False)
            time.sleep(0.05)
        do("ip", "netns", "delete", name)


def _processes(namespace: str) -> list[str]:
    return do("ip", "netns", "pids", namespace).split()


def do(*command: str, given: str = "") -> str:
    """What the command says. A test fails with its words where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, input=given, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr or done.stdout}"
    return done.stdout
