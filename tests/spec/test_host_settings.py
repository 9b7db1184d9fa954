"""Declared settings of hosts: what there is of each kind, whether what was found will do, and what differs."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.base.paths import project_root
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.checks import check_platform
from clusterbench.spec.host_settings import Item, accepted_reason, differing, items
from clusterbench.spec.setup import Setup

LAB_DB1 = Catalog(project_root()).platform("lab_db1")


def platform(setup: dict[str, Any], **changed: Any) -> Platform:
    return LAB_DB1.model_copy(update={"setup": Setup.model_validate(setup), **changed})


def of_db1(*groups: dict[str, Any]) -> list[tuple[str, str, str]]:
    declared = items(platform({"hosts": list(groups)}))
    return [(item.kind, item.name, item.declared) for item in declared.get("db1", [])]


EVERYTHING = {
    "sysctl": {"vm.swappiness": 0, "kernel.sem": "250  2048000\t200 8192".replace("\t", " ")},
    "limits": {"nofile": 65536, "nproc": "unlimited"},
    "services": {"chrony": "running"},
    "disks": {"sdb": {"scheduler": "none", "read_ahead_kib": 8192}},
    "mounts": {"/data1": {"type": "xfs", "options": ["noatime", "inode64"], "xfs_agcount": 32}, "/data2": {}},
    "transparent_huge_pages": "never",
    "mtu": 9000,
    "clock_synchronised": True,
    "clock_offset_ms_max": 5.0,
}


def test_every_kind_of_setting_is_an_item_but_the_clock_s_offset_which_is_a_fact() -> None:
    assert of_db1(EVERYTHING) == [
        ("sysctl", "vm.swappiness", "0"),
        ("sysctl", "kernel.sem", "250 2048000 200 8192"),
        ("limit", "nofile", "65536"),
        ("limit", "nproc", "unlimited"),
        ("service", "chrony", "running"),
        ("scheduler", "sdb", "none"),
        ("read_ahead_kib", "sdb", "8192"),
        ("mount_type", "/data1", "xfs"),
        ("mount_options", "/data1", "noatime,inode64"),
        ("xfs_agcount", "/data1", "32"),
        ("transparent_huge_pages", "-", "never"),
        ("mtu", "-", "9000"),
        ("clock_synchronised", "-", "yes"),
    ]
    assert of_db1({"clock_synchronised": False}) == [("clock_synchronised", "-", "no")]


def test_of_several_groups_the_last_that_a_host_belongs_to_wins() -> None:
    groups = [
        {"sysctl": {"vm.swappiness": 0, "vm.overcommit_memory": 2}},
        {"roles": ["coordinator"], "sysctl": {"vm.swappiness": 1}},
        {"roles": ["client"], "sysctl": {"vm.swappiness": 10}},
    ]
    assert of_db1(*groups) == [("sysctl", "vm.swappiness", "1"), ("sysctl", "vm.overcommit_memory", "2")]
    assert {host: len(own) for host, own in items(platform({"hosts": groups})).items()} == {
        "client": 2, "etl": 2, "db1": 2,
    }  # fmt: skip


def test_hosts_of_which_nothing_is_declared_are_left_out() -> None:
    assert items(platform({"hosts": [{"roles": ["coordinator"], "mtu": 9000}]})).keys() == {"db1"}
    assert items(LAB_DB1) == {}


@pytest.mark.parametrize(
    ("item", "called"),
    [
        (Item("sysctl", "vm.swappiness", "0"), "vm.swappiness"),
        (Item("limit", "nofile", "1"), "limit nofile"),
        (Item("mount_options", "/data1", "noatime"), "mount_options /data1"),
        (Item("mtu", "-", "9000"), "mtu"),
    ],
)
def test_a_setting_is_called_as_people_call_it(item: Item, called: str) -> None:
    assert item.setting == called


def test_kind_and_name_are_words_of_a_shell() -> None:
    assert Item("mount_type", "/a b'$(x)", "xfs").call == "mount_type '/a b'\"'\"'$(x)'"


@pytest.mark.parametrize(
    ("item", "found", "holds"),
    [
        (Item("sysctl", "vm.swappiness", "0"), "0", True),
        (Item("sysctl", "vm.swappiness", "0"), "60", False),
        (Item("sysctl", "vm.swappiness", "0"), "", False),
        (Item("limit", "nofile", "65536"), "soft 65536", False),
        (Item("mount_options", "/d", "noatime"), "rw,noatime,inode64", True),
        (Item("mount_options", "/d", "noatime"), "rw,relatime,noatimes", False),
        (Item("mount_options", "/d", "noatime,nodiratime"), "rw,noatime", False),
        (Item("mount_options", "/d", "noatime"), "", False),
        (Item("mount_options", "/d", "allocsize=16m"), "rw,allocsize=16384k", True),
        (Item("mount_options", "/d", "allocsize=16m"), "rw,allocsize=64k", False),
        (Item("mount_options", "/d", "size=1t"), "size=1073741824k", True),
        (Item("mount_options", "/d", "logbufs=8"), "logbufs=80", False),
    ],
)
def test_what_was_found_holds_or_does_not(item: Item, found: str, holds: bool) -> None:
    assert item.holds(found) is holds


def test_only_what_is_not_as_declared_differs_also_where_a_host_told_nothing() -> None:
    swap, mtu = Item("sysctl", "vm.swappiness", "0"), Item("mtu", "-", "9000")
    declared = {"a": [swap, mtu], "b": [swap], "c": [mtu]}
    found = {"a": {"vm.swappiness": "0", "mtu": "1500"}, "b": {"vm.swappiness": "0"}}
    assert differing(declared, found) == {"a": [mtu], "c": [mtu]}


def test_a_deviation_is_accepted_everywhere_or_on_one_host() -> None:
    accepting = platform({"accepted": {"mtu": "no jumbo frames", "db1: vm.swappiness": "shared"}})
    assert accepted_reason(accepting, "client", "mtu") == "no jumbo frames"
    assert accepted_reason(accepting, "db1", "vm.swappiness") == "shared"
    assert accepted_reason(accepting, "client", "vm.swappiness") == ""


# What the catalog refuses.


def test_what_is_accepted_must_be_declared_and_its_host_must_exist() -> None:
    hosts = [{"sysctl": {"vm.swappiness": 0}}]
    accepted = {"vm.swapiness": "x", "db2: vm.swappiness": "x", "db1: mtu": "x"}
    assert check_platform(platform({"hosts": hosts, "accepted": accepted}, settings={"fsync": "on"})) == [
        "setup.accepted: 'vm.swapiness' is declared nowhere; did you mean 'vm.swappiness'? Allowed: clock_offset_ms, "
        "cpu_limit, cpus, data_disks, fsync, memory_gb, memory_gib, memory_limit_gib, program bash, program pgbench, "
        "program psql, vm.swappiness",
        "setup.accepted: unknown host 'db2'; did you mean 'db1'? Allowed: client, db1, etl",
        "setup.accepted: 'mtu' is declared nowhere; Allowed: clock_offset_ms, cpu_limit, cpus, data_disks, fsync, "
        "memory_gb, memory_gib, memory_limit_gib, program bash, program pgbench, program psql, vm.swappiness",
    ]


def test_settings_of_hosts_and_engine_and_hardware_may_be_accepted() -> None:
    accepted = dict.fromkeys(["fsync", "mtu", "db1: mtu", "cpus", "etl: clock_offset_ms"], "a reason")
    assert check_platform(platform({"hosts": [{"mtu": 9000}], "accepted": accepted})) == []


def test_an_engine_whose_hosts_are_unknown_cannot_be_configured() -> None:
    client_only = {"client": LAB_DB1.hosts["client"]}
    assert check_platform(platform({}, hosts=client_only, may=["engine_settings"])) == [
        "may: 'engine_settings' needs a host with the role 'coordinator' or 'segment': settings are written into the "
        "server's own files; name its hosts, or take it out to compare only"
    ]
    assert check_platform(platform({}, may=["engine_settings", "host_settings"])) == []
