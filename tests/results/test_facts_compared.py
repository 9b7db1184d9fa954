"""Two platforms' facts beside each other: by role, hosts alike as one, and what always differs is no difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from clusterbench.hosts.facts_read import read
from clusterbench.report.run.host_facts import host_facts
from clusterbench.results.facts_compared import (
    Difference,
    Side,
    comparable,
    count_of_facts,
    differences,
    named,
    of_texts,
)
from tests import FIXTURES

CAPTURED = FIXTURES / "facts"
SERVER = read((CAPTURED / "two_sockets.txt").read_text())
GUEST = read((CAPTURED / "virtual_machine.txt").read_text())
ENGINE = {
    "engine": "postgres",
    "version": "PostgreSQL 15.18",
    "data_directory": "/pg/a",
    "settings": {"shared_buffers": "8GB", "port": "5432"},
}


def facts_of(number: int, of: Mapping[str, Any], **changed: Any) -> dict[str, Any]:
    """A host with what is its own alone."""
    own = {"address": f"10.0.0.{number}", "hostname": f"h{number}", "boot_id": f"boot {number}"}
    return {**of, **own, "clock_offset_ms": number / 100, "clock_offset_uncertainty_ms": 0.5, **changed}


def side(segments: int = 4, engine: Mapping[str, Any] = ENGINE, name: str = "sdw", **changed: Any) -> Side:
    """A client, and segment hosts of which the last has what is ``changed``."""
    hosts = {"mdw": facts_of(1, GUEST)} | {f"{name}{n}": facts_of(10 + n, SERVER) for n in range(1, segments + 1)}
    hosts[f"{name}{segments}"] |= changed
    declared = (
        "{platform: p, title: T, engine: greenplum, cluster: c, hosts: {mdw: {ssh: m, roles: [client, coordinator]}, "
        f"{name}: {{ssh: s, roles: [segment], count: {segments}}}}}}}"
    )
    return Side.of({"hosts": hosts, "engine": engine}, declared.encode())


def found(a: Side, b: Side) -> dict[str, tuple[str, str, str]]:
    return {one.what: (one.where, one.a, one.b) for one in differences(a, b)}


def test_what_is_a_hosts_own_alone_is_no_difference_whatever_the_hosts_are_called() -> None:
    other = {**ENGINE, "data_directory": "/pg/b", "settings": {"shared_buffers": "8GB", "port": "6000"}}
    assert differences(side(), side(name="worker", engine=other)) == []
    assert count_of_facts(side(), side()) > 40


def test_other_numbers_of_hosts_are_one_difference_and_their_facts_none() -> None:
    assert found(side(4), side(8)) == {"hosts": ("segment", "4", "8")}


def test_hosts_alike_are_told_with_their_number() -> None:
    slow = Side.of(
        {"hosts": {h: {**f, "cpu_model": "Old"} if h != "mdw" else f for h, f in side(8).hosts.items()}}, None
    )
    both = {"mdw": ["client"], **{f"sdw{n}": ["segment"] for n in range(1, 9)}}
    told = found(Side(side(4).facts, {h: both[h] for h in side(4).hosts}), Side(slow.facts, both))
    assert told["cpu_model"] == ("segment", f"4 hosts: {SERVER['cpu_model']}", "8 hosts: Old")


def test_one_host_that_is_not_like_the_others_is_named() -> None:
    told = found(side(), side(cpus=32))
    assert told == {"cpus": ("segment", "4 hosts: 64", "sdw1–sdw3: 64; sdw4: 32")}


def test_a_host_of_two_roles_is_told_once() -> None:
    a, b = side(), side()
    b.facts["hosts"]["mdw"]["kernel"] = "7.0"
    assert found(a, b) == {"kernel": ("client, coordinator", GUEST["kernel"], "7.0")}


def test_what_decides_stands_first() -> None:
    engine = {**ENGINE, "version": "PostgreSQL 16.1", "settings": {"shared_buffers": "4GB", "port": "5432"}}
    versions = {**SERVER["version"], "bash": "5.2"}
    ones = differences(side(), side(engine=engine, version=versions, memory_bytes=2**37))
    assert {one.what for one in ones if one.decides} == {
        "memory_bytes",
        "engine.version",
        "engine.settings.shared_buffers",
    }
    assert [one.what for one in ones][-1] == "version.bash"
    assert not ones[-1].decides


@pytest.mark.parametrize(
    "changed",
    [
        {"memory_bytes": SERVER["memory_bytes"] - 4096},
        {"kernel_command_line": SERVER["kernel_command_line"].replace("rhel-root", "centos-root")},
        {"clock_offset_ms": 9.0},
        {"disk": {name.replace("sd", "vd"): disk for name, disk in SERVER["disk"].items()}},
        {"virtual_nic": {**SERVER["virtual_nic"], "veth99": {"mtu": 1400}}},
    ],
)
def test_hosts_alike_may_differ_by_chance(changed: dict[str, Any]) -> None:
    assert differences(side(), side(**changed)) == []


@pytest.mark.parametrize(
    ("changed", "what", "said"),
    [
        ({"clock_offset_ms": -250.0}, "clock", "sdw4: more than 100 ms off"),
        ({"cpu_limit": 4}, "cpu_limit", "sdw4: 4"),
        ({"kernel_command_line": "ro mitigations=off"}, "kernel_command_line", "sdw4: ro mitigations=off"),
        ({"nic": {"eno1": {"driver": "ixgbe", "mtu": 1500}}}, "nic", "sdw4: ixgbe, MTU 1500"),
        ({"mitigation": {"l1tf": "Vulnerable"}}, "mitigation.l1tf", "sdw4: Vulnerable"),
    ],
)
def test_what_matters_is_a_difference(changed: dict[str, Any], what: str, said: str) -> None:
    assert said in found(side(), side(**changed))[what][2]


def test_disks_are_told_by_their_kind() -> None:
    assert comparable(SERVER)["disk"].startswith("2 × 6.00\u202fTB HGST HUS726060ALS640, rotational, scheduler mq-d")


def test_facts_that_only_one_knows_are_one_line() -> None:
    """An older archive: of two of its facts there are no more, of many of ours it had none."""
    old = {"cpus": "2", "memory_bytes": str(GUEST["memory_bytes"]), "disk": "/dev/vda 1 ext4", "psql": "psql 15"}
    a = Side.of({"hosts": {"h": old}}, None)
    b = Side.of({"hosts": {"h": GUEST}}, None)
    (one,) = (each for each in differences(a, b) if each.a != "–")
    assert one == Difference("known of one only", "hosts", "psql", "–", False)


def test_platform_of_which_nothing_was_read_has_no_hosts() -> None:
    assert Side.of(None, None).hosts == {}
    assert differences(Side.of(None, None), Side.of(None, None)) == []


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        (["client"], "client"),
        (["w1", "w2", "w3", "w5"], "w1–w3, w5"),
        ([f"w{n}" for n in range(1, 641)], "w1–w640"),
        ([f"w{n}" for n in range(1, 641, 2)], "w1, w3, w5, w7 and 316 more"),
    ],
)
def test_hosts_are_named_in_a_few_words(hosts: list[str], said: str) -> None:
    assert named(hosts) == said


# In the report.


def test_six_hundred_hosts_alike_are_one_row() -> None:
    told = host_facts(side(640))
    assert [(group.count, group.hosts, group.roles) for group in told.groups] == [
        (1, "mdw", "client, coordinator"),
        (640, "sdw1–sdw640", "segment"),
    ]
    assert told.groups[1].texts[0] == (
        "64 × Intel(R) Xeon(R) CPU E5-2698 v3 @ 2.30GHz (2 sockets, 32 cores, 64 threads), limited to 12.5"
    )
    assert told.groups[0].texts[1] == "25.3\u202fGB"
    assert told.groups[1].texts[1] == "270\u202fGB, swap 4.29\u202fGB"
    assert told.groups[1].texts[-1] == "none"
    assert told.clocks == "The clock of 641 hosts that is furthest from the worker's is sdw640's: 6.5 ms, ± 0.5 ms."
    assert all(len(value) < 700 for _, value in told.details)


def test_each_fact_is_there_with_its_hosts_where_they_differ() -> None:
    details = dict(host_facts(side(cpus=32)).details)
    assert details["cpus"] == "sdw1–sdw3: 64; mdw: 2; sdw4: 32"
    assert details["cpu_limit"] == "sdw1–sdw4: 12.5; mdw: none"


def test_a_setting_that_only_one_side_sets_is_the_servers_default_on_the_other() -> None:
    name = "engine.settings.jit_above_cost"
    (found,) = of_texts({}, {name: "0"}, "engine")
    assert (found.a, found.b) == ("server's default", "0")
    (found,) = of_texts({"engine.version": "16"}, {}, "engine")
    assert (found.a, found.b) == ("16", "\u2013")
