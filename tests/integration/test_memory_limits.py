"""Memory of the lab's hosts: a limit that the page cache keeps, too, and a PostgreSQL within it. And their disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from clusterbench.base.connections import Connections
from clusterbench.hosts import facts
from clusterbench.hosts.fleet import Fleet
from clusterbench_lab import Lab, temporary_lab
from clusterbench_lab.cgroups import GIB, SERVERS, Limits, disk_of
from tests import BLOCK
from tests.integration.helpers import new_run, on_testbed
from tests.integration.planted import first_line

pytestmark = [
    pytest.mark.lab,
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root limits the memory of hosts"),
]

PLATFORM, HOST = "lab_retail_vm4", "retail_vm4_1"
LIMIT_BYTES = round(SERVERS["server3"].memory_gib[HOST] * GIB)
FILE_MIB = 2 * LIMIT_BYTES // 2**20
READ = f"""
dd if=/dev/zero of=large bs=1M count={FILE_MIB} status=none conv=fsync
dd if=large of=/dev/null bs=1M status=none
fincore --bytes --noheadings --raw --output RES large
rm large
"""
READ_MB = 60
READ_COLD = f"""
dd if=/dev/zero of=read bs=1M count={READ_MB} status=none conv=fsync
dd if=read iflag=nocache count=0 status=none
before=$EPOCHREALTIME
dd if=read of=/dev/null bs=1M status=none
echo $((${{EPOCHREALTIME//[.,]/}} - ${{before//[.,]/}}))
rm read
"""


def cached_bytes(fleet: Fleet, host: str) -> int:
    """How much of a file twice as large as the limit is in memory after it was read."""
    return int(fleet.run([host], READ)[host].output)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """With the hosts that are parts of a server."""
    with temporary_lab(block=BLOCK + 3, partitions=True) as made:
        yield made


def test_a_host_s_page_cache_is_as_small_as_its_memory(connections: Connections, lab: Lab) -> None:
    with on_testbed(new_run(connections), PLATFORM) as testbed:
        limited, free = (cached_bytes(testbed.fleet, host) for host in (HOST, "client"))
    assert 0 < limited < LIMIT_BYTES
    assert free > 1.5 * LIMIT_BYTES, "the same file, on a host of the same machine without a limit"
    assert lab.parts.limits.memory.is_dir()


def test_a_host_reads_no_more_of_the_disk_than_its_part(connections: Connections, lab: Lab) -> None:
    may_mb_per_s = SERVERS["server3"].read_mb_per_s[HOST]
    with on_testbed(new_run(connections), PLATFORM) as testbed:
        assert facts.hosts(testbed.fleet)[HOST]["disk_read_limit_mb_per_s"] == may_mb_per_s
        took_us = int(testbed.fleet.run([HOST], READ_COLD)[HOST].output)
    assert READ_MB * 2**20 / took_us < 1.2 * may_mb_per_s, "MB/s; a busy machine reads even less"


@pytest.mark.parametrize("platform", ["lab_retail_native", "lab_retail_vm1", "lab_retail_vm2", PLATFORM])
def test_limits_are_read_back_as_the_platform_s_file_declares_them(connections: Connections, platform: str) -> None:
    with on_testbed(new_run(connections), platform) as testbed:
        seen = facts.hosts(testbed.fleet)
        assert facts.unavailable(testbed.platform, seen) == {}
        claims = facts.declared_hardware(testbed.platform, seen)
        hosts = facts.vms(testbed.platform)
    assert [claim[:2] for claim in claims] == [
        (host, what) for host in hosts for what in ("cpu_limit", "memory_limit_gib")
    ]
    assert all(claim[-1] for claim in claims), claims


@pytest.mark.parametrize("name", ["lab_terasort_native", "lab_terasort_vm1", "lab_terasort_vm2"])
def test_workers_of_one_budget_have_their_even_parts_of_it(connections: Connections, name: str) -> None:
    with on_testbed(new_run(connections), name) as testbed:
        seen = facts.hosts(testbed.fleet)
        assert facts.unavailable(testbed.platform, seen) == {}
        claims = facts.declared_hardware(testbed.platform, seen)
    assert {what for _, what, *_ in claims} == {"cpu_limit", "memory_limit_gib"}
    assert all(claim[-1] for claim in claims), claims


@pytest.mark.long
def test_postgresql_starts_and_works_on_data_larger_than_its_host_s_memory(connections: Connections, lab: Lab) -> None:
    rows = 2 * LIMIT_BYTES // 1000
    with on_testbed(new_run(connections), PLATFORM) as testbed:
        engine = testbed.engine
        engine.set_up()
        assert engine.settings(testbed.platform.settings) == testbed.platform.settings
        engine.execute("DROP TABLE IF EXISTS larger")
        engine.execute(
            f"CREATE TABLE larger AS SELECT id, repeat('x', 1000) AS text FROM generate_series(1, {rows}) id"
        )
        (found,) = engine.query("SELECT count(*) AS rows, sum(length(text)) AS letters FROM larger")
        assert (found["rows"], found["letters"]) == (rows, 1000 * rows)
        engine.stop()
        engine.start()
        assert (
            str(lab.pid(f"{HOST}_postgres"))
            in (lab.parts.limits.memory / f"server3/{HOST}/cgroup.procs").read_text().split()
        )
        assert engine.query("SELECT count(*) AS rows FROM larger") == [{"rows": rows}]
        engine.execute("DROP TABLE larger")
        engine.tear_down()
    used = {
        line.split()[0]: int(line.split()[1])
        for line in (lab.parts.limits.memory / f"server3/{HOST}/memory.oom_control").read_text().splitlines()
    }
    assert used["oom_kill"] == 0


@pytest.mark.parametrize(
    ("plant", "says"),
    [
        (lambda limits: limits._make(limits.guests[HOST], 0.2), "cpu limit"),
        (lambda limits: limits._limit(limits.disk, "io", *throttle(limits)), "disk read limit, MB/s"),
    ],
)
def test_a_limit_that_somebody_set_is_the_first_line_of_why(
    connections: Connections, lab: Lab, plant: Callable[[Limits], None], says: str
) -> None:
    with on_testbed(new_run(connections), PLATFORM) as testbed:
        before = {"hosts": facts.hosts(testbed.fleet)}
        try:
            plant(lab.parts.limits)
            after = {"hosts": facts.hosts(testbed.fleet)}
        finally:
            lab.parts.limits.make()
        assert HOST in before["hosts"]
        line = first_line(testbed.platform, (before, after))
    assert line.startswith(f"Facts that changed there: {says} ("), line
    assert HOST in line


def throttle(limits: Limits) -> tuple[str, dict[str, str]]:
    file, words = ("io.max", "rbps=") if limits.is_v2 else ("blkio.throttle.read_bps_device", "")
    return file, {HOST: f"{disk_of(limits.lab_dir)} {words}{1_000_000}"}
