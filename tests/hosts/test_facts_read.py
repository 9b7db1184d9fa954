"""What a host's script said -> facts, on captured output; which machines: see ``fixtures/facts/README.md``."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.hosts import facts
from clusterbench.hosts.facts_read import GROUPS, count_of, read
from clusterbench.spec import Platform
from tests import FIXTURES

CAPTURED = FIXTURES / "facts"


def found(machine: str, **replaced: str) -> dict[str, Any]:
    """``replaced``: a text of the capture -> another; both are given as ``old="…=>…"``."""
    text = (CAPTURED / f"{machine}.txt").read_text()
    for change in replaced.values():
        old, _, new = change.partition("=>")
        assert old in text
        text = text.replace(old, new)
    return read(text)


def test_a_virtual_machine() -> None:
    host = found("virtual_machine")
    assert (host["cpu_model"], host["cpus"]) == ("AMD EPYC", 2)
    assert (host["cpu_sockets"], host["cpu_cores"], host["cpu_threads"]) == (1, 2, 2)
    assert host["memory_bytes"] == 24684084 * 1024
    assert host["hypervisor"] == "KVM"
    assert host["disk"] == {
        "vda": {
            "bytes": 274877906944,
            "rotational": "yes",
            "scheduler": "mq-deadline",
            "read_ahead_bytes": 8 * 2**20,
        }
    }
    assert host["nic"] == {"eth0": {"driver": "virtio_net", "mtu": 1400, "state": "up"}}, "a speed of -1 is unknown"
    assert host["virtual_nic"]["lo"]["mtu"] == 65536
    assert host["transparent_huge_pages"] == "madvise"
    assert host["mitigation"]["spec_store_bypass"] == "Vulnerable"
    assert host["microcode"] == "0x1000065"
    assert host["file_system"]["/"]["type"] == "ext4"
    assert host["version"]["java"] == "Debian 17.0.15+6-Debian-1deb12u1"
    assert host["version"]["coreutils"] == "df (GNU coreutils) 9.1"
    assert host["clock_synchronised"] == "unknown"
    assert "numa_node" not in host, "of one node there is nothing to add"
    assert "cpu_limit" not in host and "memory_limit_bytes" not in host


def test_a_container_sees_all_processors_and_may_use_few() -> None:
    host = found("container")
    assert (host["container"], host["cpus"], host["cpu_limit"]) == ("docker", 2, 0.5)
    assert host["memory_bytes"] > host["memory_limit_bytes"] == 2 * 2**30
    assert host["file_system"] == {"/": {"source": "overlay", "type": "overlay", "options": "rw,relatime"}}
    assert set(host["version"]) == {"bash", "glibc", "coreutils", "util_linux"}, "what is not there is left out"


def test_without_lscpu_processors_are_counted_all_the_same() -> None:
    host = found("container_without_lscpu")
    assert (host["cpus"], host["cpu_sockets"], host["cpu_cores"], host["cpu_threads"]) == (1, 1, 2, 2)
    assert host["hypervisor"] == "of a kind unknown (no DMI)", "the processor's flag says so much"


def test_a_server_of_two_sockets() -> None:
    host = found("two_sockets")
    assert (host["cpu_sockets"], host["cpu_cores"], host["cpu_threads"], host["cpus"]) == (2, 32, 64, 64)
    assert host["numa_nodes"] == 2
    assert host["numa_node"]["1"] == {"cpus": "16-31,48-63", "memory_bytes": 132000000 * 1024}
    assert host["cpu_governor"] == "performance, powersave", "not the same on all is told"
    assert (host["turbo"], host["smt"], host["cpu_frequency_driver"]) == ("off", "on", "intel_pstate")
    assert (host["huge_pages"], host["huge_page_bytes"], host["swap_bytes"]) == (1024, 2**21, 4194300 * 1024)
    assert (host["hypervisor"], host["container"]) == ("none", "none")
    assert (host["machine"], host["bios"]) == ("Dell Inc. PowerEdge R630", "2.19.0, 12/12/2023")
    assert host["clock_synchronised"] == "yes, by chrony, stratum 3"
    assert host["version"]["java"] == 'openjdk version "1.8.0_402"'
    assert host["cpu_limit"] == 12.5, "the tightest of the groups above"


def test_disks_are_those_that_are_made_of_nothing_else() -> None:
    host = found("two_sockets")
    assert host["disks"] == 3
    assert set(host["disk"]) == {"sda", "sdb", "sdc", "dm-0"}, "not the hidden path of a disk, nor an empty drive"
    assert host["disk"]["sdb"]["model"] == "HGST HUS726060ALS640"
    assert (host["disk"]["dm-0"]["kind"], host["disk"]["dm-0"]["of"]) == ("device mapper", "sda3")


def test_virtual_nics_stand_apart() -> None:
    host = found("two_sockets")
    assert host["nic"]["eno1"] == {"driver": "ixgbe", "speed_mbit_per_s": 10000, "mtu": 9000, "state": "up"}
    assert set(host["nic"]) == {"eno1", "eno2"}
    assert set(host["virtual_nic"]) == {"bond0", "lo", "veth0a1b2c3"}


def test_file_systems_are_by_mount_point_with_all_their_options() -> None:
    assert found("two_sockets")["file_system"]["/data1"] == {
        "source": "/dev/sdb",
        "type": "xfs",
        "options": "rw,noatime,inode64,logbufs=8,noquota",
    }


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("@$chronyc\n 7F7F0101,,0,0,0,0,0,0,0,0,0,0,0,Not synchronised", "no, chrony has no source"),
        ("@$ntpq\n associd=0 status=0615 leap_none, sync_ntp, 1 event,", "yes, by ntpd"),
        ("@$ntpq\n associd=0 status=c016 leap_alarm, sync_unspec,", "no, ntpd has no source"),
        ("@/run/systemd/timesync/synchronized\n yes", "yes, by systemd-timesyncd"),
        ("@$timedatectl\n Timezone=UTC\n NTPSynchronized=yes", "yes"),
        ("@$timedatectl\n NTPSynchronized=no", "no"),
        ("", "unknown"),
    ],
)
def test_clock_is_kept_right_by(said: str, expected: str) -> None:
    assert read(said)["clock_synchronised"] == expected


def test_cgroup_v2_limits_and_the_unlimited_one_of_v1() -> None:
    memory = "@/proc/meminfo\n MemTotal: 1000 kB\n"
    limited = read(f"{memory}@/sys/fs/cgroup/a/cpu.max\n 150000 100000\n@/sys/fs/cgroup/a/memory.max\n 512000\n")
    assert (limited["cpu_limit"], limited["memory_limit_bytes"]) == (1.5, 512000)
    free = read(f"{memory}@/sys/fs/cgroup/cpu/cpu.cfs_quota_us\n -1\n@/sys/fs/cgroup/cpu/cpu.cfs_period_us\n 100000\n")
    assert "cpu_limit" not in free and "memory_limit_bytes" not in free


def test_what_a_group_may_read_from_a_disk_at_most() -> None:
    v1 = "@/sys/fs/cgroup/blkio/lab/vm/blkio.throttle.read_bps_device\n 254:0 25000000\n 254:16 50000000\n"
    assert read(f"{v1}@/sys/fs/cgroup/blkio/lab/blkio.throttle.read_bps_device\n")["disk_read_limit_mb_per_s"] == 25
    v2 = "@/sys/fs/cgroup/a/io.max\n 254:0 rbps=1000000 wbps=max riops=max wiops=max\n"
    assert read(v2)["disk_read_limit_mb_per_s"] == 1
    assert "disk_read_limit_mb_per_s" not in read("@/sys/fs/cgroup/a/io.max\n 254:0 rbps=max wbps=1 riops=1 wiops=1\n")


def test_a_host_that_can_tell_nothing_has_no_facts_but_says_that_nobody_knows_its_clock() -> None:
    assert read("") == {"clock_synchronised": "unknown"}


@pytest.mark.parametrize(("ranges", "count"), [("0-3,8", 5), ("0", 1), ("", None), ("0-", None), ("1,3,5-6", 4)])
def test_ranges_are_counted(ranges: str, count: int | None) -> None:
    assert count_of(ranges) == count


def test_every_group_has_a_name_that_a_fact_can_have() -> None:
    assert {name for name, value in found("two_sockets").items() if isinstance(value, dict)} == set(GROUPS)


def test_facts_as_read_are_what_claims_are_compared_with() -> None:
    claim = {"cpus": 64, "memory_gb": 256, "data_disks": 3}
    hosts = {"c": {"ssh": "c", "roles": ["client"]}, "s": {"ssh": "s", "roles": ["segment"]}}
    said = {"platform": "p", "title": "P", "engine": "greenplum", "cluster": "p", "hosts": hosts, "segment_host": claim}
    claims = facts.declared_hardware(Platform.model_validate(said), {"s": found("two_sockets")})
    assert [(what, as_declared) for _, what, _, _, as_declared in claims] == [
        ("cpus", True),
        ("memory_gb", True),
        ("data_disks", True),
    ]


def test_folders_are_those_that_platform_and_engine_name() -> None:
    hosts = {"c": {"ssh": "c", "roles": ["client"]}}
    hadoop = {"slots": 1, "data_dirs": ["/data1", "/data2"]}
    said = {"platform": "p", "title": "P", "engine": "hadoop", "cluster": "p", "hosts": hosts, "hadoop": hadoop}
    platform = Platform.model_validate(said)
    assert facts.folders(platform, {"data_directory": "/pg"}) == ["/pg", "/data1", "/data2"]
    assert facts.folders(platform, {"instances": [{"data_directory": "/data/gpseg0"}]})[0] == "/data/gpseg0"
