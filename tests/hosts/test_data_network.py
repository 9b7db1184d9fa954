"""The address that data goes through, from what hosts say of their addresses."""

from __future__ import annotations

import pytest

from clusterbench.base.errors import HostError
from clusterbench.hosts.address import bracketed
from clusterbench.hosts.data_network import DataAddress, chosen

SAID = "lo 127.0.0.1 -1 65536\neth0 192.168.1.11 1000 1500\nbond0 10.20.0.11 25000 9000\nbond0 fe80::1 25000 9000\n"


def test_it_is_the_one_in_the_network() -> None:
    found = chosen({"sdw1": SAID}, "10.20.0.0/16")
    assert found == {"sdw1": DataAddress("10.20.0.11", "bond0", 25000, 9000)}


def test_it_may_be_of_version_six() -> None:
    said = "eth0 10.0.0.1 1000 1500\neth1 2001:db8::7 -1 1500\n"
    assert chosen({"a": said}, "2001:db8::/64")["a"].address == "2001:db8::7"
    assert bracketed("2001:db8::7") == "[2001:db8::7]" and bracketed("10.0.0.1") == "10.0.0.1"


def test_a_host_with_none_or_with_several_is_named_with_what_it_has() -> None:
    several = "eth1 10.20.0.1 1000 1500\neth2 10.20.0.2 1000 1500\n"
    with pytest.raises(HostError) as caught:
        chosen({"sdw1": SAID, "sdw2": "eth0 192.168.1.12 1000 1500\n", "sdw3": several}, "10.20.0.0/16")
    assert str(caught.value) == (
        "host 'sdw2': 0 addresses in data_network 10.20.0.0/16; it has 192.168.1.12 (eth0)\n"
        "host 'sdw3': 2 addresses in data_network 10.20.0.0/16; it has 10.20.0.1 (eth1), 10.20.0.2 (eth2)\n"
        "Each host needs exactly one address in it; correct 'data_network' of the platform"
    )
