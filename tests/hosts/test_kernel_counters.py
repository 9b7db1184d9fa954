"""Telemetry as the collector noted it on a real host (``fixtures/telemetry/kernel_counters``), and what comes of it."""

from __future__ import annotations

import gzip
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest

from clusterbench.base.scripts import script
from clusterbench.hosts import kernel_counters, telemetry
from tests import FIXTURES

CAPTURED = FIXTURES / "telemetry" / "kernel_counters"
START_S, END_S = 1795556078.5028684, 1795556092.5113385
"""Meanwhile dd wrote 3 times 200 MiB past the cache and read them again."""


def lines() -> list[str]:
    with gzip.open(CAPTURED / telemetry.RAW_FILE, "rt") as file:
        return list(file)


def changed(line: str, group: str, *words: object) -> str:
    """The line with one of its groups replaced."""
    groups = line.rstrip("\n").split("\t")
    kept = [each for each in groups if not f"{each} ".startswith(f"{group} ")]
    return "\t".join([*kept, " ".join([group, *map(str, words)])]) + "\n"


def one_second(before: str, after: str) -> dict[str, float]:
    """The figures of a second between two lines, of which the second is told a second later."""
    later = f"{float(before.split(maxsplit=1)[0]) + 1:.2f}\t{after.split(chr(9), 1)[1]}"
    first, second = kernel_counters.samples([lines()[0], before, later])
    return kernel_counters.figures(first.counters(), second.counters(), 1.0)


# A real host.


def test_bytes_of_a_window_are_those_that_were_written_and_read_in_it() -> None:
    """Of 629,145,600 bytes written; others of that machine wrote and read, too."""
    mean = telemetry.read(CAPTURED, START_S, END_S)["mean"]
    assert mean["disk_write_mb_per_s"] * (END_S - START_S) == pytest.approx(629.1, rel=0.02)
    assert mean["disk_read_mb_per_s"] * (END_S - START_S) > 629.1


def test_figures_of_a_real_host_are_what_its_kernel_says() -> None:
    first, last = lines()[1], lines()[-1]
    samples = list(kernel_counters.samples(lines()))
    seconds = samples[-1].time_s - samples[0].time_s
    assert seconds == pytest.approx(float(last.split()[0]) - float(first.split()[0]), abs=1e-6)
    found = kernel_counters.figures(samples[0].counters(), samples[-1].counters(), seconds)

    def grown(group: str, word: int) -> int:
        words = [next(each for each in line.split("\t") if each.startswith(f"{group} ")) for line in (first, last)]
        before, after = (int(each.split()[word]) for each in words)
        return after - before

    ticks = [grown("cpu", word) for word in range(1, 9)]
    assert found["cpu_percent"] == pytest.approx(100 * (sum(ticks) - ticks[3] - ticks[4]) / sum(ticks))
    assert found["disk_reads_per_s"] == pytest.approx(grown("disk vda", 2) / seconds)
    assert found["disk_writes_per_s"] == pytest.approx(grown("disk vda", 6) / seconds)
    assert found["disk_read_mb_per_s"] == pytest.approx(grown("disk vda", 4) * 512 / 1e6 / seconds)
    assert found["loopback_mb_per_s"] == pytest.approx(grown("net lo", 10) / 1e6 / seconds)
    assert found["interrupts_per_s"] == pytest.approx(grown("intr", 1) / seconds)
    assert found["context_switches_per_s"] == pytest.approx(grown("ctxt", 1) / seconds)
    assert found["pressure_cpu_percent"] == pytest.approx(grown("pressure", 2) / seconds / 1e4)


def test_every_sample_is_a_second_after_the_one_before() -> None:
    times = [sample.time_s for sample in kernel_counters.samples(lines())]
    assert len(times) == len(lines()) - 1
    assert all(0.9 < later - earlier < 1.5 for earlier, later in pairwise(times))


def test_collector_tells_what_it_cost() -> None:
    assert 0 < telemetry.read(CAPTURED, START_S, END_S)["collector_cpu_share"] < 0.01


# What the kernel's words mean.


def test_share_of_processors_leaves_out_who_waits_and_counts_guests_once() -> None:
    line = lines()[1]
    before = changed(line, "cpu", *[0] * 10)
    found = one_second(before, changed(line, "cpu", 60, 4, 10, 100, 20, 1, 2, 3, 30, 2))
    assert found["cpu_percent"] == pytest.approx(100 * 80 / 200)
    assert found["cpu_user_percent"] == pytest.approx(100 * 30 / 200)
    assert found["cpu_system_percent"] == pytest.approx(5)
    assert found["cpu_iowait_percent"] == pytest.approx(10)
    assert found["cpu_steal_percent"] == pytest.approx(1.5)


def test_pages_that_were_swapped_are_of_the_size_that_the_host_has() -> None:
    line = lines()[1]
    before, after = (changed(line, "vm", "pswpin", n, "pswpout", 2 * n) for n in (100, 350))
    found = one_second(before, after)
    assert found["swap_in_mb_per_s"] == pytest.approx(250 * 4096 / 1e6)
    assert found["swap_out_mb_per_s"] == pytest.approx(500 * 4096 / 1e6)


@pytest.mark.parametrize("device", ["loop0", "ram1", "dm-0", "md127", "sr0", "zram0"])
def test_device_upon_another_is_not_counted_twice(device: str) -> None:
    line = lines()[1]
    before, after = (changed(line, f"disk {device}", *[n] * 17) for n in (0, 1000))
    assert one_second(before, after)["disk_iops"] == one_second(line, line)["disk_iops"] == 0


def test_disk_that_was_first_used_in_the_window_is_counted_from_nothing() -> None:
    line = lines()[1]
    found = one_second(line, changed(line, "disk sdb", 10, 0, 80, 5, 20, 0, 4000, 9, 0, 3, 3))
    assert (found["disk_reads_per_s"], found["disk_writes_per_s"], found["disk_iops"]) == (10, 20, 30)
    assert found["disk_write_mb_per_s"] == pytest.approx(4000 * 512 / 1e6)


def test_bond_is_not_counted_but_told_beside_its_members() -> None:
    line = lines()[1]
    after = line
    for name, received, sent in (("bond0", 300, 50), ("ens1", 100, 20), ("ens2", 200, 30)):
        words = [received * 10**6, 9, *[0] * 6, sent * 10**6, 9, *[0] * 6]
        after = changed(after, f"net {name}", *words)
    found = one_second(line, after)
    assert (found["network_received_mb_per_s"], found["network_sent_mb_per_s"]) == (300, 50)
    first, second = (next(kernel_counters.samples([lines()[0], each])).counters() for each in (line, after))
    assert kernel_counters.interfaces(first, second, 1.0) == {
        "bond0": {"received_mb_per_s": 300, "sent_mb_per_s": 50},
        "ens1": {"received_mb_per_s": 100, "sent_mb_per_s": 20},
        "ens2": {"received_mb_per_s": 200, "sent_mb_per_s": 30},
    }


def test_memory_that_is_used_leaves_out_what_the_kernel_gives_back_and_is_averaged_over_time() -> None:
    gibibyte = 2**20  # in KiB
    line = lines()[1]
    words = ("MemTotal", 16 * gibibyte, "MemFree", 4 * gibibyte, "Buffers", 0, "Cached", 2 * gibibyte, "Slab", 0)
    as_memory = "\t".join([*line.split("\t")[:2], " ".join(["memory", *map(str, words)]), *line.split("\t")[3:]])
    found = one_second(line, as_memory)
    assert found["memory_used_percent"] == pytest.approx(100 * 10 / 16)
    assert found["memory_used_mb"] == pytest.approx(10 * 2**30 / 1e6)
    assert found["runnable_tasks"] == 7, "of 8, the collector is one"


def test_kernel_without_pressure_has_no_pressure_rather_than_zero() -> None:
    line = changed(lines()[1], "pressure")
    assert not [name for name in one_second(line, line) if name.startswith("pressure")]


def test_line_that_was_cut_off_for_want_of_room_is_left_out() -> None:
    all_of_it = lines()
    cut = [*all_of_it[:5], all_of_it[5][:700]]
    assert len(list(kernel_counters.samples(cut))) == 4
    assert list(kernel_counters.samples([])) == list(kernel_counters.samples(["179555"])) == []


def test_counter_that_began_anew_has_not_run_backwards() -> None:
    first, last = lines()[1], lines()[-1]
    assert all(value >= 0 for value in one_second(last, first).values())


# The collector.


@pytest.fixture
def collected(tmp_path: Path) -> Path:
    """A second and more of this machine, by the scripts as they run on hosts."""
    functions = script("hosts/cgroups") + script("hosts/telemetry_sample", proc="/proc", sys="/sys")
    folder = tmp_path / "collected"
    for each in (
        script("hosts/telemetry_start", directory=str(folder), seconds=100),
        "sleep 1.2\n",
        script("hosts/telemetry_stop", directory=str(folder)),
    ):
        done = subprocess.run(
            ["bash", "-s"], input=f"set -euo pipefail\n{functions}{each}", text=True, check=False, capture_output=True
        )
        assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_collector_needs_nothing_but_bash_and_ends_with_a_sample_of_the_end(collected: Path) -> None:
    ended_s = time.time()
    with gzip.open(collected / telemetry.RAW_FILE, "rt") as file:
        times = [sample.time_s for sample in kernel_counters.samples(file)]
    assert len(times) >= 2 and ended_s - times[-1] < 1.5
    assert not (collected / "telemetry.pid").exists()
    assert {path.name for path in collected.iterdir()} >= {"telemetry.cpu_s", "telemetry.boot", "telemetry.cpus"}


def test_collector_does_not_wait_for_the_rest_of_its_second_when_it_is_told_to_end(tmp_path: Path) -> None:
    """With a second of an hour, that is."""
    functions = script("hosts/cgroups") + script("hosts/telemetry_sample", proc="/proc", sys="/sys")
    folder = str(tmp_path)
    started = script("hosts/telemetry_start", directory=folder, seconds=100)
    stopped = script("hosts/telemetry_stop", directory=folder)
    slower = functions.replace("read -r -t 1 ", "read -r -t 3600 ")
    assert slower != functions
    for each in (started, "until grep -q cpu telemetry.sample; do sleep 0.02; done\n", stopped):
        subprocess.run(["bash", "-euo", "pipefail", "-s"], input=slower + each, text=True, check=True, cwd=tmp_path)
    with gzip.open(tmp_path / telemetry.RAW_FILE, "rt") as file:
        assert len(file.readlines()) == 1 + 2, "a head, and two samples: one when it began, and one when it ended"
    assert not list(tmp_path.glob("telemetry.wake"))


def test_whole_disks_are_collected_and_their_partitions_are_not(tmp_path: Path) -> None:
    """A host of 128 processors with two disks, as its kernel would show it."""
    proc, sys = tmp_path / "proc", tmp_path / "sys"
    _a_hosts_proc(proc)
    for name in ("sda", "nvme0n1", "cciss!c0d0"):
        (sys / "block" / name).mkdir(parents=True)
    disks = ("sda", "sda1", "nvme0n1", "nvme0n1p1", "cciss/c0d0", "cciss/c0d0p1", "loop0", "zram0")
    rows = [f"   8       {n} {name} {' '.join(['7'] * 17)}\n" for n, name in enumerate(disks)]
    (proc / "diskstats").write_text("".join([*rows, f"   8      99 sdz {' '.join(['0'] * 17)}\n"]))
    (proc / "stat").write_text("".join([f"cpu{n} 1 2 3 4\n" for n in range(128)]) + (proc / "stat").read_text())
    sample = script("hosts/telemetry_sample", proc=str(proc), sys=str(sys))
    done = subprocess.run(
        ["bash", "-c", f"set -euf -o pipefail\n{sample}declare -A is_disk\nsample"],
        text=True,
        check=True,
        capture_output=True,
    )
    (line,) = done.stdout.splitlines()
    names = [group.split()[1] for group in line.split("\t") if group.startswith("disk ")]
    assert names == ["sda", "nvme0n1", "cciss/c0d0"]
    (counted,) = kernel_counters.samples([f"{time.time()} {line.split()[0]} 4096\n", f"{line}\n"])
    assert counted.counters()["disk.cciss/c0d0.16"] == 7
    assert "cpu.steal" in counted.counters()
    assert not [name for name in counted.counters() if name.startswith(("udp", "tcp"))], "a kernel without them"


def test_what_networks_lose_is_what_the_kernel_counts_of_udp_and_tcp(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    _a_hosts_proc(proc)
    (proc / "diskstats").write_text("")
    rows = [line.split() for line in Path("/proc/net/snmp").read_text().splitlines()]
    sample = script("hosts/telemetry_sample", proc=str(proc), sys=str(tmp_path))
    said = []
    for resent, received, lost in ((0, 0, 0), (30, 5000, 40)):
        for titles, numbers in zip(rows[::2], rows[1::2], strict=True):
            for title, more in (("RetransSegs", resent), ("InDatagrams", received), ("InErrors", lost)):
                if title in titles and titles[0] in ("Tcp:", "Udp:"):
                    numbers[titles.index(title)] = str(int(numbers[titles.index(title)]) + more)
        (proc / "net" / "snmp").write_text("".join(f"{' '.join(row)}\n" for row in rows))
        command = f"set -euf -o pipefail\n{sample}declare -A is_disk\nsample"
        said += subprocess.run(["bash", "-c", command], text=True, check=True, capture_output=True).stdout.splitlines()
    found = one_second(*(f"{line}\n" for line in said))
    assert found["segments_resent_per_s"] == pytest.approx(30.0)
    assert (found["datagrams_per_s"], found["datagrams_lost_per_s"]) == (pytest.approx(5000.0), pytest.approx(40.0))


def _a_hosts_proc(folder: Path) -> None:
    """A copy of what the collector reads of this machine's kernel; it has no pressure."""
    (folder / "net").mkdir(parents=True)
    for name in ("uptime", "loadavg", "meminfo", "stat", "vmstat", "net/dev"):
        (folder / name).write_text(Path("/proc", name).read_text())
