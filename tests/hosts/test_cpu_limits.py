"""What a host may use of its machine's processors, and what it used of that: the bash, and how its notes read."""

from __future__ import annotations

import itertools
import subprocess
import time
from pathlib import Path

import pytest

from clusterbench.base.scripts import script
from clusterbench.hosts import cpu_limits, notes
from clusterbench.hosts.cpu_limits import Cpus

LIMIT = 'if cpu_limit; then echo "$quota $period $unit ${used##*/cgroup}"; else echo none; fi'


def bash(text: str, cgroup: Path, groups: str) -> str:
    """``text`` on a host whose groups are the files below ``cgroup``, and whose login is in ``groups``."""
    (cgroup.parent / "groups").write_text(groups)
    functions = script("hosts/cgroups") + script("hosts/telemetry_sample", proc="/proc", sys="/sys")
    functions = functions.replace("/sys/fs/cgroup", str(cgroup))
    functions = functions.replace('"/proc/${2:-self}/cgroup"', str(cgroup.parent / "groups"))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", functions + text], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def written(cgroup: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (cgroup / name).parent.mkdir(parents=True, exist_ok=True)
        (cgroup / name).write_text(text + "\n")
    return cgroup


V1 = {
    "cpu/cpu.shares": "1024",
    "cpu/server/cpu.cfs_quota_us": "150000",
    "cpu/server/cpu.cfs_period_us": "100000",
    "cpu/server/vm1/cpu.cfs_quota_us": "50000",
    "cpu/server/vm1/cpu.cfs_period_us": "100000",
    "cpu/server/open/cpu.cfs_quota_us": "-1",
    "cpu/server/open/cpu.cfs_period_us": "100000",
}
V2 = {"a/cpu.max": "max 100000", "a/b/cpu.max": "25000 50000", "a/b/c/cpu.max": "max 100000", "cgroup.procs": "1"}


@pytest.mark.parametrize(
    ("files", "groups", "said"),
    [
        (V1, "2:cpuacct:/server/vm1\n1:cpu:/server/vm1\n0::/\n", "50000 100000 1000000000 /cpuacct/server/vm1/"),
        (V1, "3:cpu,cpuacct:/server/open\n0::/\n", "150000 100000 1000000000 /cpuacct/server/"),
        (V1, "2:cpuacct:/\n1:cpu:/\n0::/\n", "none"),
        (V2, "0::/a/b/c\n", "25000 50000 1000000 /a/b/cpu.stat"),
        (V2, "0::/a\n", "none"),
        ({"cpu.max": "50000 100000"}, "0::/\n", "50000 100000 1000000 /cpu.stat"),
        ({"cpu.max": "50000 100000"}, "0::/docker/abc\n", "50000 100000 1000000 /cpu.stat"),
        ({}, "", "none"),
    ],
    ids=["v1", "v1 above", "v1 none", "v2 above", "v2 none", "container", "container sees itself only", "no groups"],
)
def test_the_nearest_group_with_a_limit_is_the_host(
    tmp_path: Path, files: dict[str, str], groups: str, said: str
) -> None:
    cgroup = written(tmp_path / "cgroup", files)
    assert bash(LIMIT, cgroup, groups).replace("cpuacct.usage", "") == said


def test_processor_time_counted_elsewhere_is_not_taken_for_the_groups(tmp_path: Path) -> None:
    cgroup = written(tmp_path / "cgroup", V1 | {"cpuacct/cpuacct.usage": "1"})
    assert bash(LIMIT + '; [ -r "$used" ] || echo unknown', cgroup, "2:cpuacct:/\n1:cpu:/server/vm1\n").endswith(
        "unknown"
    )


def test_host_without_a_limit_has_the_processors_of_its_machine(tmp_path: Path) -> None:
    cgroup = written(tmp_path / "cgroup", V2)
    assert Cpus.of(bash("cpus", cgroup, "0::/a\n")).unit == 0
    limited = Cpus.of(bash("cpus", cgroup, "0::/a/b\n"))
    assert (limited.allotted, limited.unit) == (0.5, 1e6)
    assert Cpus.of("2 400000 100000 1000000").allotted == 2


def test_notes_are_made_once_a_second_until_their_maker_is_told_to_end_and_then_once_more(tmp_path: Path) -> None:
    files = {"cpu.max": "50000 100000", "cpu.stat": "usage_usec 3000000\nuser_usec 1"}
    begun_s = time.time()
    follow = f"cd {tmp_path}; cpu_limit; follow 100 cpu_used sample & sleep 2.5; kill $!; wait $!"
    bash(follow, written(tmp_path / "cgroup", files), "0::/\n")
    used = noted(tmp_path, "cpu_used")
    assert abs(used[0][0] - begun_s) < 1
    assert len(used) == 5 == len((tmp_path / "telemetry.sample").read_text().splitlines())
    assert all(then[0] - one[0] > 0.9 for one, then in itertools.pairwise(used[1:4]))
    assert [row[1] for row in used[1:]] == [3_000_000] * 4
    assert len(notes.points_of((tmp_path / "telemetry.cpu_used").read_text())) == 4
    assert len((tmp_path / "telemetry.costs").read_text().split()) > 40


def test_notes_end_where_there_is_no_room_for_them(tmp_path: Path) -> None:
    """So that whoever looks finds no collector, and starts another when there is room."""
    (tmp_path / "telemetry.cpu_used").symlink_to("/dev/full")
    cgroup = written(tmp_path / "cgroup", {"cpu.max": "50000 100000", "cpu.stat": "usage_usec 1"})
    said = bash(f"cd {tmp_path}; cpu_limit; follow 100 cpu_used 2>&1 || echo ended", cgroup, "0::/\n")
    assert said.endswith("ended") and "No space left on device" in said


def noted(folder: Path, name: str) -> list[list[float]]:
    return [[float(word) for word in line.split()] for line in (folder / f"telemetry.{name}").read_text().splitlines()]


def test_notes_end_by_themselves(tmp_path: Path) -> None:
    cgroup = written(tmp_path / "cgroup", {"cpu.max": "50000 100000", "cpu.stat": "usage_usec 1"})
    bash(f"cd {tmp_path}; cpu_limit; follow 1 cpu_used", cgroup, "0::/\n")
    assert len(noted(tmp_path, "cpu_used")) == 2


NOTES = "1000.0 50.0\n50.0 0\n51.0 400000000\n52.0 400000000\n53.0 900000000\n"


@pytest.mark.parametrize(
    ("start", "end", "percent"),
    [(1000.1, 1001.0, 80.0), (1000.5, 1001.0, 80.0), (1000.5, 1002.5, 100 * 0.45 / 1.0), (1001.25, 1001.75, 0.0)],
)
def test_use_between_two_times_is_interpolated(start: float, end: float, percent: float, tmp_path: Path) -> None:
    (tmp_path / cpu_limits.CPUS).write_text("2 50000 100000 1000000000\n")
    (tmp_path / cpu_limits.USED).write_text(NOTES)
    assert cpu_limits.read(tmp_path, start, end, 84.7)["cpu_allotted_percent"] == pytest.approx(percent)


@pytest.mark.parametrize(
    ("text", "window"),
    [
        (NOTES, (999.0, 1001.0)),
        (NOTES, (1001.0, 1003.5)),
        ("", (1.0, 2.0)),
        (NOTES, (1001, 1001)),
        (NOTES + "54.", (1003.5, 1003.9)),
    ],
)
def test_a_window_that_the_notes_do_not_cover_has_no_figure(
    text: str, window: tuple[float, float], tmp_path: Path
) -> None:
    (tmp_path / "noted").write_text(text)
    assert notes.per_s(tmp_path / "noted", *window) is None


def test_of_a_host_that_noted_nothing_there_is_nothing(tmp_path: Path) -> None:
    assert notes.per_s(tmp_path / "noted", 1, 2) is None


def test_of_a_host_without_a_limit_it_is_the_machines(tmp_path: Path) -> None:
    (tmp_path / cpu_limits.CPUS).write_text("72\n")
    assert cpu_limits.read(tmp_path, 1, 2, 84.7) == {"cpus": 72, "cpus_allotted": 72, "cpu_allotted_percent": 84.7}


def test_of_a_limited_host_without_notes_the_use_is_unknown_and_not_the_machines(tmp_path: Path) -> None:
    (tmp_path / cpu_limits.CPUS).write_text("2 50000 100000 1000000000\n")
    assert cpu_limits.read(tmp_path, 1, 2, 84.7) == {"cpus": 2, "cpus_allotted": 0.5}


def test_of_a_host_that_told_nothing_there_is_nothing(tmp_path: Path) -> None:
    assert cpu_limits.read(tmp_path, 1, 2, 84.7) == {}
