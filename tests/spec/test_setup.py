"""Settings of hosts in a platform's file: names that stand for many, groups, and what is refused in which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.spec import Platform
from clusterbench.spec.loading import load
from clusterbench.spec.setup import HostSettings, Setup, numbered
from tests import FIXTURES

ONE_HOST = (FIXTURES / "valid/platforms/one_host.yaml").read_text()


def platform(tmp_path: Path, setup: str) -> Platform:
    path = tmp_path / "one_host.yaml"
    path.write_text(f"{ONE_HOST}setup:\n{setup}")
    return load(path, Platform)


def refusal(tmp_path: Path, setup: str) -> list[str]:
    """Problems without the file's name."""
    with pytest.raises(SpecError) as caught:
        platform(tmp_path, setup)
    return [problem.removeprefix(f"{tmp_path}/one_host.yaml") for problem in caught.value.problems]


def test_nothing_is_declared_or_changed_unless_it_is_said() -> None:
    assert Setup() == Setup(keep=False, accepted={}, hosts=[])
    assert Setup().declared({"a": ["client"]}) == {"a": []}


@pytest.mark.parametrize(
    ("name", "each"),
    [
        ("sdb", ["sdb"]),
        ("/data1", ["/data1"]),
        ("/data[1-3]", ["/data1", "/data2", "/data3"]),
        ("sd[b-d]", ["sdb", "sdc", "sdd"]),
        ("/data[08-10]/x", ["/data08/x", "/data09/x", "/data10/x"]),
        ("/d[0-2]", ["/d0", "/d1", "/d2"]),
        ("/d[9-11]", ["/d9", "/d10", "/d11"]),
        ("sd[c-c]", ["sdc"]),
    ],
)
def test_a_range_stands_for_each_of_its_names(name: str, each: list[str]) -> None:
    assert numbered(name) == each


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sd[d-b]", "'sd[d-b]': the range is empty; write the smaller end first"),
        ("/data[1-b]", "'/data[1-b]': a range goes from number to number or from letter to letter"),
        ("/data[1-1001]", "'/data[1-1001]': the range stands for 1001 names; at most 1000 are allowed"),
        (
            "/d[1-2]x[1-2]",
            "'/d[1-2]x[1-2]': write one range of numbers or letters, as in '/data[1-16]' or 'sd[b-q]'",
        ),
        ("sd[bc]", "'sd[bc]': write one range of numbers or letters, as in '/data[1-16]' or 'sd[b-q]'"),
        ("sd[B-C]", "'sd[B-C]': write one range of numbers or letters, as in '/data[1-16]' or 'sd[b-q]'"),
    ],
)
def test_a_range_that_is_none_is_refused(name: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        numbered(name)
    assert str(caught.value) == said


def test_ranges_of_disks_and_mounts_are_written_out(tmp_path: Path) -> None:
    setup = platform(
        tmp_path,
        '  hosts:\n    - disks: {"sd[b-c]": {scheduler: none}}\n      mounts: {"/data[1-2]": {type: xfs}}\n',
    ).setup
    assert list(setup.hosts[0].disks) == ["sdb", "sdc"]
    assert list(setup.hosts[0].mounts) == ["/data1", "/data2"]


def test_a_group_is_of_hosts_with_any_of_its_roles_and_of_all_where_none_is_named() -> None:
    everyone, workers = HostSettings(mtu=9000), HostSettings(roles=["worker", "segment"], mtu=1500)
    declared = Setup(hosts=[everyone, workers]).declared(
        {"c": ["client"], "w": ["worker"], "both": ["client", "segment"]}
    )
    assert declared == {"c": [everyone], "w": [everyone, workers], "both": [everyone, workers]}


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("limits: {nofil: 3}", [
            ":13: setup.hosts.0.limits.nofil: 'nofil' is not allowed; did you mean 'nofile'? Allowed: core, data, "
            "fsize, memlock, nofile, nproc, rss, stack"]),
        ("limits: {nofile: many}", [
            ":13: setup.hosts.0.limits.nofile: must be a whole number, found 'many'",
            ":13: setup.hosts.0.limits.nofile: 'many' is not allowed; Allowed: unlimited"]),
        ("sysctl: {vm.swappiness: true}", [
            ":13: setup.hosts.0.sysctl.vm.swappiness: must be a whole number, found True",
            ":13: setup.hosts.0.sysctl.vm.swappiness: must be a text (in quotes if YAML would read something else), "
            "found True"]),
        ("transparent_huge_pages: off", [
            ":13: setup.hosts.0.transparent_huge_pages: False is not allowed; Allowed: always, madvise, never"]),
        ("services: {chrony: on}", [
            ":13: setup.hosts.0.services.chrony: True is not allowed; Allowed: running, stopped"]),
        ("mtu: 100", [":13: setup.hosts.0.mtu: must be greater than or equal to 576, found 100"]),
        ("clock_offset_ms_max: 0", [":13: setup.hosts.0.clock_offset_ms_max: must be greater than 0, found 0"]),
        ("roles: [slave]", [
            ":13: setup.hosts.0.roles.0: 'slave' is not allowed; Allowed: client, coordinator, etl, load, namenode, "
            "resourcemanager, segment, worker"]),
        ("swapiness: 1", [
            ":13: setup.hosts.0.swapiness: unknown key; Allowed: clock_offset_ms_max, clock_synchronised, disks, "
            "limits, mounts, mtu, roles, services, sysctl, transparent_huge_pages"]),
        ("disks: [sdb]", [":13: setup.hosts.0.disks: must be a mapping of keys to values, found ['sdb']"]),
        ('disks: {"/data[1-3]": {}, /data2: {}}', [
            ":13: setup.hosts.0.disks: '/data2' stands twice: by itself, and as one of those that [-] stands for"]),
        ('mounts: {"/data[3-1]": {}}', [
            ":13: setup.hosts.0.mounts: '/data[3-1]': the range is empty; write the smaller end first"]),
        ("mounts: {/data1: {options: noatime}}", [
            ":13: setup.hosts.0.mounts./data1.options: must be a list, found 'noatime'"]),
    ],
)  # fmt: skip
def test_what_is_refused_is_told_with_its_place_and_what_is_allowed(
    tmp_path: Path, group: str, said: list[str]
) -> None:
    assert refusal(tmp_path, f"  hosts:\n    - {{{group}}}\n") == said


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("keep: 1", ":12: setup.keep: must be true or false, found 1"),
        (
            "acept: {}",
            ":12: setup.acept: unknown key; did you mean 'accepted'? Allowed: accepted, hosts, keep",
        ),
    ],
)
def test_what_is_wrong_beside_the_groups_is_told_too(tmp_path: Path, key: str, said: str) -> None:
    assert refusal(tmp_path, f"  {key}\n") == [said]


@pytest.mark.parametrize(
    "group",
    [
        'sysctl: {"vm.x; reboot": 1}',
        'sysctl: {"../../etc/passwd": 1}',
        'sysctl: {"kernel..core_pattern": 1}',
        'sysctl: {"kernel.*": 1}',
        'sysctl: {vm.x: "1\\nvm.y = 2"}',
        'limits: {"nofile\\n* hard": 1}',
        'disks: {"sd*": {scheduler: none}}',
        'disks: {"../../x": {scheduler: none}}',
        'disks: {sdb: {scheduler: "$(reboot)"}}',
        'disks: {"/data 1": {scheduler: none}}',
        'mounts: {"/data1; reboot": {type: xfs}}',
        'mounts: {"/data*": {type: xfs}}',
        'mounts: {-o: {type: xfs}}',
        'mounts: {/data1: {options: ["noatime,suid"]}}',
        'mounts: {/data1: {options: ["noatime /"]}}',
        'mounts: {/data1: {type: "xfs; x"}}',
        'services: {"chrony; reboot": running}',
        'services: {"*": stopped}',
        'services: {--all: stopped}',
    ],
)  # fmt: skip
def test_a_hostile_name_or_value_never_gets_as_far_as_a_shell(tmp_path: Path, group: str) -> None:
    problems = refusal(tmp_path, f"  hosts:\n    - {{{group}}}\n")
    assert any("should match pattern" in problem or "is not allowed" in problem for problem in problems)
