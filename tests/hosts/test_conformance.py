"""Declared, found, and the verdict: rows, hosts alike as one, and what is said of a platform that is another one."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.base.paths import project_root
from clusterbench.cli.cluster import _will
from clusterbench.hosts import facts
from clusterbench.hosts.conformance import (
    ENGINE,
    Folded,
    Row,
    fold,
    from_json,
    of_claims,
    of_engine,
    of_hosts,
    problem,
)
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.host_settings import Item
from clusterbench.spec.platform import Hardware
from clusterbench.spec.setup import Setup

LAB_DB1 = Catalog(project_root()).platform("lab_db1")


def platform(**setup: Any) -> Platform:
    return LAB_DB1.model_copy(update={"setup": Setup.model_validate(setup)})


def row(host: str, verdict: str = "as declared", found: str = "0", **changed: str) -> Row:
    values = {"setting": "vm.swappiness", "declared": "0", **changed}
    return Row(host=host, found=found, verdict=verdict, **values)


def test_a_host_s_row_has_what_was_declared_and_found_and_the_verdict() -> None:
    swap, options = Item("sysctl", "vm.swappiness", "0"), Item("mount_options", "/d", "noatime")
    found = {"db1": {"vm.swappiness": "60", "mount_options /d": "rw,noatime"}}
    assert of_hosts(platform(), {"db1": [swap, options], "etl": [swap]}, found) == [
        Row("db1", "vm.swappiness", "0", "60", "different"),
        Row("db1", "mount_options /d", "noatime", "rw,noatime", "as declared"),
        Row("etl", "vm.swappiness", "0", "", "different"),
    ]


def test_a_setting_of_the_engine_that_it_does_not_know_is_different() -> None:
    assert of_engine(platform(), {"fsync": "on", "fsink": "on"}, {"fsync": "on"}) == [
        Row(ENGINE, "fsync", "on", "on", "as declared"),
        Row(ENGINE, "fsink", "on", "", "different"),
    ]


def test_hardware_is_judged_where_it_was_compared() -> None:
    claims = [("db1", "memory_gb", "64", "61", True), ("db1", "cpus", "16", "8", False)]
    assert [each.verdict for each in of_claims(platform(), claims)] == ["as declared", "different"]


def test_an_accepted_deviation_has_its_reason_and_what_is_as_declared_has_none() -> None:
    accepting = platform(accepted={"vm.swappiness": "a shared host", "db1: mtu": "no jumbo frames", "fsync": "why not"})
    items = [Item("sysctl", "vm.swappiness", "0"), Item("mtu", "-", "9000")]
    found = {host: {"vm.swappiness": "60", "mtu": "1500"} for host in ("db1", "etl")}
    rows = of_hosts(accepting, {"db1": items, "etl": items}, found)
    assert [(each.host, each.setting, each.verdict, each.reason) for each in rows] == [
        ("db1", "vm.swappiness", "accepted", "a shared host"),
        ("db1", "mtu", "accepted", "no jumbo frames"),
        ("etl", "vm.swappiness", "accepted", "a shared host"),
        ("etl", "mtu", "different", ""),
    ]
    (as_declared,) = of_engine(accepting, {"fsync": "on"}, {"fsync": "on"})
    assert (as_declared.verdict, as_declared.reason) == ("as declared", "")


def test_rows_can_be_written_and_read() -> None:
    rows = [row("db1"), row("db1", "accepted", "60", reason="shared")]
    assert from_json(each.as_json() for each in rows) == rows


def test_hosts_that_are_alike_are_one_row_and_what_differs_comes_first() -> None:
    folded = fold(
        [row("a"), row("b", "accepted", "60"), row("c", "different", "30"), row("d"), row("e", "different", "60")]
    )
    assert [(each.row.verdict, each.row.found, each.hosts) for each in folded] == [
        ("different", "30", ["c"]),
        ("different", "60", ["e"]),
        ("accepted", "60", ["b"]),
        ("as declared", "0", ["a", "d"]),
    ]


@pytest.mark.parametrize(
    ("hosts", "where"),
    [
        ([ENGINE], "engine"),
        (["sdw1"], "sdw1"),
        (["sdw1", "sdw2"], "2 hosts: sdw1, sdw2"),
        ([f"w{n}" for n in range(1, 6)], "5 hosts: w1, w2, w3, w4, w5"),
        ([f"w{n}" for n in range(1, 641)], "640 hosts: w1, w2, w3, w4, w5, …"),
    ],
)
def test_where_names_a_few_hosts_and_counts_all(hosts: list[str], where: str) -> None:
    assert Folded(row(""), hosts).where == where


def test_a_platform_that_is_what_it_claims_has_no_problem() -> None:
    assert problem(platform(), []) == ""
    assert problem(platform(), [row("a"), row("b", "accepted", "60")]) == ""


def test_what_differs_is_told_with_host_and_values_and_what_to_do() -> None:
    rows = [
        row("client"),
        row("db1", "different", "60"),
        row("etl", "different", "60"),
        row("etl", "accepted", "1500", setting="mtu", declared="9000"),
        Row("db1", "limit nofile", "65536", "soft 1024", "different"),
        Row(ENGINE, "fsink", "it's on", "", "different"),
    ]
    assert problem(platform(), rows) == (
        "platform 'lab_db1' differs from its file:\n"
        "  2 hosts: db1, etl: vm.swappiness: declared '0', found '60'\n"
        "  db1: limit nofile: declared '65536', found 'soft 1024'\n"
        '  engine: fsink: declared "it\'s on", found no such setting\n'
        "Change the cluster ('clusterbench setup lab_db1' shows what would be changed), or what the file declares; or "
        "accept it there, under 'setup.accepted', with a reason"
    )


# Clocks and hardware: what hosts tell of themselves.


@pytest.mark.parametrize(
    ("offset_ms", "uncertainty_ms", "seen", "holds"),
    [
        (3.0, 0.5, "+3.0 ± 0.5", True),
        (-4.9, 0.0, "-4.9 ± 0.0", True),
        (5.5, 0.5, "+5.5 ± 0.5", True),
        (5.6, 0.5, "+5.6 ± 0.5", False),
        (-5.6, 0.5, "-5.6 ± 0.5", False),
        (80.0, 90.0, "+80.0 ± 90.0", True),
    ],
)
def test_a_clock_s_offset_is_as_declared_where_it_may_be(
    offset_ms: float, uncertainty_ms: float, seen: str, holds: bool
) -> None:
    """A slow answer tells less of a clock: what cannot be told apart from the declared is not called different."""
    told = {"clock_offset_ms": offset_ms, "clock_offset_uncertainty_ms": uncertainty_ms}
    declared = platform(hosts=[{"clock_offset_ms_max": 100.0}, {"roles": ["coordinator"], "clock_offset_ms_max": 5.0}])
    claims = facts.declared_hardware(declared, dict.fromkeys(declared.hosts, told))
    assert [claim for claim in claims if claim[0] == "db1"] == [("db1", "clock_offset_ms", "at most 5", seen, holds)]
    assert [claim[:3] for claim in claims if claim[0] != "db1"] == [
        ("client", "clock_offset_ms", "at most 100"), ("etl", "clock_offset_ms", "at most 100"),
    ]  # fmt: skip


def test_clocks_are_not_compared_unless_it_is_declared() -> None:
    assert facts.declared_hardware(platform(hosts=[{"mtu": 1500}]), {}) == []


def test_a_segment_host_s_hardware_is_claimed_piece_by_piece() -> None:
    hosts = {"db1": LAB_DB1.hosts["db1"].model_copy(update={"roles": ["segment"]})}
    claiming = LAB_DB1.model_copy(update={"hosts": hosts, "segment_host": Hardware(cpus=8, memory_gb=64, data_disks=4)})
    told = {"db1": {"cpus": "8", "memory_bytes": str(50 * 10**9), "disks": "5"}}
    assert facts.declared_hardware(claiming, told) == [
        ("db1", "cpus", "8", "8", True),
        ("db1", "memory_gb", "64", "50", False),
        ("db1", "data_disks", "4", "5", True),
    ]


# What `clusterbench setup` says that a run would do.


@pytest.mark.parametrize(
    ("each", "may", "said"),
    [
        (row("db1"), [], "as declared"),
        (row("db1", "accepted", "60", reason="shared"), [], "accepted: shared"),
        (row("db1", "different", "60"), ["host_settings"], "set-up will change it"),
        (row("db1", "different", "60"), ["engine_settings"], "stops a run: 'host_settings' is not in 'may'"),
        (row(ENGINE, "different", "off", setting="fsync"), ["engine_settings"], "set-up will change it"),
        (
            row(ENGINE, "different", "off", setting="fsync"),
            ["host_settings"],
            "stops a run: 'engine_settings' is not in 'may'",
        ),
        (
            row("db1", "different", "ext4", setting="mount_type /data1"),
            ["host_settings"],
            "stops a run: only mkfs can change it; make the file system again",
        ),
        (
            row("db1", "different", "+9.0 ± 0.1", setting="clock_offset_ms"),
            ["host_settings"],
            "see that the hosts' clocks follow the same servers",
        ),
        (
            row("db1", "different", "8", setting="cpus"),
            ["host_settings"],
            "stops a run: hardware cannot be changed; correct the platform's file, or use another host",
        ),
    ],
)
def test_what_set_up_will_do_is_said(each: Row, may: list[str], said: str) -> None:
    assert _will(platform().model_copy(update={"may": may}), Folded(each, [each.host])) == said


def test_a_hadoop_is_always_configured() -> None:
    each = row(ENGINE, "different", "1", setting="dfs.replication")
    assert _will(Catalog(project_root()).platform("lab_hadoop1"), Folded(each, [ENGINE])) == "set-up will change it"


def test_size_that_only_a_placement_states_is_compared_with_the_host() -> None:
    platform = Catalog(project_root()).platform("order_entry_vm")
    as_declared = {"cpus": "64", "memory_bytes": str(470 * 2**30), "disks": "18"}
    assert {claim[1:4] for claim in facts.declared_hardware(platform, {"db": as_declared})} == {
        ("cpus", "64", "64"),
        ("memory_gib", "475", "470"),
        ("data_disks", "16", "18"),
    }
    smaller = facts.declared_hardware(platform, {"db": {**as_declared, "cpus": "32", "memory_bytes": str(256 * 2**30)}})
    assert [what for _, what, _, _, holds in smaller if not holds] == ["cpus", "memory_gib"]


SMALL = {
    "cpus": 2,
    "cpu_limit": 0.25,
    "memory_bytes": 24 * 2**30,
    "memory_limit_bytes": round(0.48 * 2**30) // 4096 * 4096,
}


def test_memory_limit_is_compared_with_what_the_file_declares() -> None:
    """Of the VM and of its neighbours; memory of the machine around them is not theirs."""
    platform = Catalog(project_root()).platform("lab_retail_vm4")
    hosts = {f"retail_vm4_{number}": SMALL for number in range(1, 5)}
    hosts["retail_vm4_3"] = {**SMALL, "memory_limit_bytes": 2**30}
    assert facts.unavailable(platform, hosts) == {}
    claims = [claim for claim in facts.declared_hardware(platform, hosts) if claim[1] == "memory_limit_gib"]
    assert [claim[2:] for claim in claims if claim[0] != "retail_vm4_3"] == [("0.48", "0.48", True)] * 3
    assert [claim[2:] for claim in claims if claim[0] == "retail_vm4_3"] == [("0.48", "1", False)]


@pytest.mark.parametrize(
    ("absent", "said"),
    [
        (
            "memory_limit_bytes",
            "no memory limit on retail_vm4_1, retail_vm4_2: 0.48 GiB are what the platform's file declares",
        ),
        (
            "cpu_limit",
            "no CPU limit on retail_vm4_1, retail_vm4_2: 0.25 processors are what the platform's file declares",
        ),
    ],
)
def test_a_host_without_a_declared_limit_makes_every_trial_not_applicable(absent: str, said: str) -> None:
    hosts = {f"retail_vm4_{number}": dict(SMALL) for number in range(1, 5)}
    for number in (1, 2):
        del hosts[f"retail_vm4_{number}"][absent]
    (reason,) = facts.unavailable(Catalog(project_root()).platform("lab_retail_vm4"), hosts).values()
    assert reason.startswith(said)


def test_program_that_is_missing_on_a_host_is_told_before_any_trial() -> None:
    platform = Catalog(project_root()).platform("lab_db1")
    there = {"bash": "5.2.15(1)-release", "psql": "psql (PostgreSQL) 15", "pgbench": "pgbench (PostgreSQL) 15"}
    old = there | {"psql": "psql (PostgreSQL) 9.4.26"}
    hosts = {"client": {"version": there}, "etl": {"version": old}, "db1": {"version": {"bash": "4.2.46(2)-release"}}}
    found = facts.programs(platform, hosts)
    assert [(host, what) for host, what, *_, holds in found if not holds] == [
        ("etl", "program psql"),
        ("db1", "program bash"),
    ]
    assert ("client", "program pgbench", "15 or newer", "pgbench (PostgreSQL) 15", True) in found
    said = problem(platform, of_claims(platform, found))
    assert "  db1: program bash: declared '4.3 or newer', found '4.2.46(2)-release'" in said
    assert "  etl: program psql: declared '12 or newer', found 'psql (PostgreSQL) 9.4.26'" in said


@pytest.mark.parametrize("role", ["client", "worker"])
def test_hosts_of_a_hadoop_need_java(role: str) -> None:
    platform = Catalog(project_root()).platform("lab_hadoop1")
    name = platform.hosts_with(role)[0]
    found = facts.programs(platform, {name: {"version": {}}})
    assert {what for _, what, *_ in found} == {"program bash", "program java"}
