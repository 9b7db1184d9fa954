"""What the lab's hosts say of themselves, over their real sshd, beside what this machine says to other questions."""

from __future__ import annotations

import os
import platform as this
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.connections import Connections
from clusterbench.base.paths import project_root
from clusterbench.hosts import facts
from clusterbench.hosts.fleet import Fleet
from clusterbench.results.facts_compared import Side, differences
from clusterbench.spec.catalog import Catalog

pytestmark = pytest.mark.lab
PLATFORM, OTHER = (Catalog(project_root()).platform(name) for name in ("lab_db1", "lab_db2"))


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def found(connections: Connections) -> dict[str, dict[str, Any]]:
    with Fleet.of(PLATFORM, connections) as fleet:
        return facts.hosts(fleet, ["/dev/shm", "/not there"])


def test_processors_memory_and_kernel_are_what_this_machine_says_elsewhere(found: dict[str, dict[str, Any]]) -> None:
    assert set(found) == {"client", "etl", "db1"}
    rows = [line.split(",") for line in said("lscpu", "--parse=CPU,CORE,SOCKET").splitlines() if line[0] != "#"]
    for host in found.values():
        assert host["cpus"] == int(said("nproc"))
        assert host["cpu_threads"] == len(rows)
        assert host["cpu_cores"] == len({(core, socket) for _, core, socket in rows})
        assert host["cpu_sockets"] == len({socket for *_, socket in rows})
        assert host["memory_bytes"] == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        assert host["kernel"] == this.release()
        assert host["hostname"] == this.node()
        assert host["architecture"] == this.machine()
        assert host["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def test_disks_network_and_file_systems_are_those_of_this_machine(found: dict[str, dict[str, Any]]) -> None:
    host = found["db1"]
    listed = said("lsblk", "--nodeps", "--noheadings", "--bytes", "--raw", "--output", "NAME,SIZE,SCHED").splitlines()
    sizes = {name: (int(size), rest) for name, size, *rest in map(str.split, listed)}
    assert host["disks"] == sum("kind" not in disk for disk in host["disk"].values()) > 0
    for name, disk in host["disk"].items():
        if "kind" not in disk:
            assert disk["bytes"] == sizes[name][0]
            assert disk.get("scheduler") in (None, *sizes[name][1])
    assert set(host["nic"]) == {nic.name for nic in Path("/sys/class/net").iterdir() if (nic / "device").exists()}
    assert host["virtual_nic"]["lo"]["mtu"] == 65536
    shm = host["file_system"]["/dev/shm"]
    assert shm["type"] == said("stat", "--file-system", "--format=%T", "/dev/shm") == "tmpfs"
    work = found["db1"]["file_system"]
    assert len(work) == 2, "that of the work folder, and the one that was asked for; what is not there has none"


def test_versions_are_those_that_the_programs_print(found: dict[str, dict[str, Any]]) -> None:
    versions = found["client"]["version"]
    assert versions["psql"] == said("psql", "--version")
    assert versions["pgbench"] == said("pgbench", "--version")
    assert versions["glibc"] == said("getconf", "GNU_LIBC_VERSION")
    assert versions["coreutils"] == said("df", "--version").splitlines()[0]
    assert versions["bash"] in said("bash", "--version")
    number = versions["java"].split()[-1].split("+")[0]
    assert number in subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr


def test_clock_of_this_machine_is_its_own_within_the_uncertainty(found: dict[str, dict[str, Any]]) -> None:
    for host in found.values():
        assert abs(host["clock_offset_ms"]) <= host["clock_offset_uncertainty_ms"] + 0.01  # both are rounded
        assert host["clock_offset_uncertainty_ms"] > 0


def test_one_machine_is_never_unlike_itself(found: dict[str, dict[str, Any]], connections: Connections) -> None:
    """Read again, and as another platform's hosts: what always differs is no difference."""
    with Fleet.of(OTHER, connections) as fleet:
        again = facts.hosts(fleet, ["/dev/shm", "/not there"])
    assert set(again) != set(found)
    ours, others = (
        Side({"hosts": hosts}, {name: host.roles for name, host in platform.hosts.items()})
        for platform, hosts in ((PLATFORM, found), (OTHER, again))
    )
    assert differences(ours, others) == []
