"""What went through disks and networks in each phase of a trial, its course over time, and which interfaces count."""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.measurements import Phase
from clusterbench.hosts import sysstat, telemetry, telemetry_window
from tests import FIXTURES

CAPTURED = FIXTURES / "telemetry" / "fourteen_seconds"
BYTES = {
    "disk_read_bytes",
    "disk_write_bytes",
    "network_received_bytes",
    "network_sent_bytes",
    "loopback_bytes",
}


def rows_from(first_s: int, *rates: float, name: str = "disk_write_mb_per_s") -> list[dict[str, float]]:
    """A sample a second: the first covers the second before ``first_s``."""
    return [{"time_s": float(first_s + number), name: rate} for number, rate in enumerate(rates)]


def totals(rows: list[dict[str, float]], start_s: float, end_s: float) -> dict[str, float]:
    seen = telemetry_window.look(sysstat.samples(rows), [start_s, end_s], (start_s, end_s), start_s)
    return telemetry_window.totals(seen, start_s, end_s, sysstat.figures) if seen else {}


def course(
    rows: list[dict[str, float]], start_s: float, end_s: float, points: int = telemetry_window.POINTS_MAX
) -> dict[str, list[float]]:
    spans = telemetry_window.course_times([Phase("all", start_s, end_s)], points)
    seen = telemetry_window.look(sysstat.samples(rows), spans, (start_s, end_s), start_s)
    return telemetry_window.course(seen, spans, sysstat.figures) if seen else {}


# Sums of a phase.


@pytest.mark.parametrize(
    ("start_s", "end_s", "megabytes"),
    [
        (100.0, 104.0, 1 + 10 + 100 + 1000),
        (101.0, 103.0, 10 + 100),
        (100.5, 101.25, 1 / 2 + 10 / 4),
        (101.25, 101.75, 10 / 2),
        (102.9, 110.0, 100 / 10 + 1000),
        (0.0, 100.5, 1 / 2),
        (101.0, 101.0, 0),
        (104.0, 200.0, 0),
        (0.0, 100.0, 0),
    ],
    ids=["all", "two", "parts of two", "part of one", "beyond the end", "before the begin", "none", "after", "before"],
)
def test_sample_counts_as_far_as_its_second_lies_in_the_phase(start_s: float, end_s: float, megabytes: float) -> None:
    found = totals(rows_from(101, 1, 10, 100, 1000), start_s, end_s)
    assert found["disk_write_bytes"] == pytest.approx(megabytes * 1e6)


def test_phases_that_follow_each_other_sum_up_to_the_whole() -> None:
    rows = rows_from(101, 3, 1, 4, 1, 5, 9, 2, 6)
    edges = [100.3, 102.85, 102.9, 105.1, 107.6]
    parts = [totals(rows, one, other)["disk_write_bytes"] for one, other in itertools.pairwise(edges)]
    assert all(parts)
    assert sum(parts) == pytest.approx(totals(rows, edges[0], edges[-1])["disk_write_bytes"])


@pytest.mark.parametrize("name", sorted(BYTES))
def test_each_kind_of_bytes_is_summed_from_its_own_rate(name: str) -> None:
    rows = rows_from(101, 2, 3, name=name.replace("_bytes", "_mb_per_s"))
    assert totals(rows, 100, 102) == {**dict.fromkeys(BYTES, 0.0), name: 5e6}


def test_time_without_samples_has_no_bytes() -> None:
    assert totals(rows_from(101, 3, 1, 4), 200, 202) == dict.fromkeys(BYTES, 0.0)


# The course.


def test_course_is_a_point_a_second_counted_from_the_start() -> None:
    found = course(rows_from(101, 1, 2, 3, name="cpu_percent"), 100.0, 103.0)
    assert found["second"] == [0.5, 1.5, 2.5]
    assert found["cpu_percent"] == [1, 2, 3]


def test_second_of_a_course_that_lies_in_two_samples_has_a_part_of_each() -> None:
    found = course(rows_from(101, 1, 2, 3, name="cpu_percent"), 100.25, 102.25)
    assert found["cpu_percent"] == [1.25, 2.25]


def test_course_has_every_series_in_the_same_length() -> None:
    found = course(rows_from(101, 1, 2, 3), 100.0, 103.0)
    assert set(found) == {
        "second", "cpu_percent", "cpu_steal_percent", "disk_read_mb_per_s", "disk_write_mb_per_s",
        "network_received_mb_per_s", "network_sent_mb_per_s", "loopback_mb_per_s",
    }  # fmt: skip
    assert {len(values) for values in found.values()} == {3}
    assert found["loopback_mb_per_s"] == [0, 0, 0]


def test_course_leaves_out_what_was_before_and_after() -> None:
    found = course(rows_from(101, *range(1, 21)), 105.0, 109.0)
    assert found["second"] == [0.5, 1.5, 2.5, 3.5]
    assert found["disk_write_mb_per_s"] == [6, 7, 8, 9]


def test_course_leaves_out_the_seconds_that_nobody_watched() -> None:
    found = course(rows_from(101, 1, 2, 3), 98.0, 106.0)
    assert found["second"] == [2.5, 3.5, 4.5]


@pytest.mark.parametrize(("seconds", "points"), [(400, 400), (401, 400), (800, 400), (5000, 400)])
def test_long_course_is_thinned_to_what_a_figure_can_show(seconds: int, points: int) -> None:
    found = course(rows_from(1, *[1.0] * seconds), 0, seconds)
    assert {len(values) for values in found.values()} == {points}
    assert points <= telemetry_window.POINTS_MAX == 400
    assert 0 < found["second"][0] < found["second"][-1] <= seconds


def test_thinned_course_has_means_so_that_no_short_peak_is_lost() -> None:
    found = course(rows_from(1, *[0.0] * 500, 90.0, *[0.0] * 499), 0, 1000)
    assert max(found["disk_write_mb_per_s"]) == 36, "a point is the mean of two and a half seconds"
    assert sum(found["disk_write_mb_per_s"]) == 36


def test_course_without_samples_is_empty() -> None:
    assert {len(values) for values in course(rows_from(50, 1, 2), 100, 200).values()} == {0}
    assert course([], 100, 200) == {}


def test_pressure_is_in_the_course_where_the_kernel_tells_it() -> None:
    rows = [{**row, "pressure_cpu_percent": 40.0} for row in rows_from(101, 1, 2)]
    assert course(rows, 100, 102)["pressure_cpu_percent"] == [40, 40]
    assert "pressure_io_percent" not in course(rows, 100, 102), "absent is not 0"


# A folder as collected.

START_S, END_S = 1795247903.192489, 1795247914.136051
PHASES = (Phase("first", START_S, START_S + 5), Phase("second", START_S + 5, END_S))


def test_each_phase_of_a_trial_has_its_sums_and_the_host_the_boot_of_its_machine(tmp_path: Path) -> None:
    shutil.copytree(CAPTURED, tmp_path, dirs_exist_ok=True)
    (tmp_path / "telemetry.boot").write_text("2f6c0a5e-0a51-4f3e-8f0e-6f5d1f6d8d7c\n")
    found = telemetry.read(tmp_path, START_S, END_S, PHASES)
    assert found["boot_id"] == "2f6c0a5e-0a51-4f3e-8f0e-6f5d1f6d8d7c"
    assert list(found["phases"]) == ["first", "second"]
    begun_s = float((CAPTURED / "telemetry.start").read_text())
    with gzip.open(CAPTURED / telemetry.RAW_FILE_OF_SYSSTAT, "rt") as lines:
        rows = list(sysstat.rows(lines, begun_s))
    whole = totals(rows, START_S, END_S)
    assert whole["disk_write_bytes"] > 0 and whole["loopback_bytes"] > 0
    for name in BYTES:
        assert sum(phase[name] for phase in found["phases"].values()) == pytest.approx(whole[name])


def test_course_is_kept_of_the_host_that_is_drawn_alone() -> None:
    assert "course" not in telemetry.read(CAPTURED, START_S, END_S, PHASES)
    drawn = telemetry.read(CAPTURED, START_S, END_S, PHASES, drawn=1)["course"]
    assert drawn["second"][0] >= 0
    assert END_S - START_S - 1 < drawn["second"][-1] < END_S - START_S
    assert len(drawn["second"]) == 10, "of 10.9 seconds: a span is a second or longer"


def test_one_phase_is_drawn_on_every_database_host_within_reason_and_several_on_one() -> None:
    hosts = [f"sdw{number}" for number in range(1, 41)]
    assert list(telemetry.drawn_hosts(hosts, PHASES)) == ["sdw1"]
    assert list(telemetry.drawn_hosts(hosts[:8], PHASES[:1])) == hosts[:8]
    assert list(telemetry.drawn_hosts(hosts, PHASES[:1])) == hosts[: telemetry.DRAWN_HOSTS_MAX]
    assert list(telemetry.drawn_hosts([], PHASES[:1])) == []


@pytest.mark.parametrize(("hosts", "points"), [(1, 400), (3, 400), (8, 150), (16, 75)])
def test_courses_of_many_hosts_are_together_no_larger_than_a_record_bears(hosts: int, points: int) -> None:
    found = course(rows_from(1, *[1.0] * 20_000), 0, 20_000, telemetry.points_each(hosts))
    assert len(found["second"]) <= points == telemetry.points_each(hosts)


def test_trial_without_phases_has_the_course_of_its_window_and_no_sums() -> None:
    found = telemetry.read(CAPTURED, START_S, END_S, (), drawn=1)
    assert "phases" not in found
    spans = telemetry.spans_of_window(START_S, END_S)
    middles = [round((first + last) / 2 - START_S, 1) for first, last in itertools.pairwise(spans)]
    assert found["course"]["second"] == middles and len(middles) == int(END_S - START_S)
    assert len(found["course"]["cpu_percent"]) == len(middles)
    assert "course" not in telemetry.read(CAPTURED, START_S, END_S, ())


def test_course_of_a_window_of_hours_has_few_points() -> None:
    assert len(telemetry.spans_of_window(0.0, 36_000.0)) == telemetry.POINTS_OF_WINDOW_MAX + 1


def test_host_whose_boot_was_not_noted_has_an_empty_one() -> None:
    assert telemetry.read(CAPTURED, START_S, END_S, PHASES)["boot_id"] == ""


# Interfaces.


def row_with(name: str) -> dict[str, float]:
    """The first captured sample, with one interface alone: it received 10 and sent 20 kB."""
    data = json.loads(gzip.decompress((CAPTURED / telemetry.RAW_FILE_OF_SYSSTAT).read_bytes()))
    entry: dict[str, Any] = data["sysstat"]["hosts"][0]["statistics"][0]
    device = {"iface": name, "rxpck": 1.0, "txpck": 2.0, "rxkB": 10.0, "txkB": 20.0}
    entry["network"]["net-dev"] = [device]
    return next(sysstat.rows(json.dumps(data, indent="\t").splitlines(keepends=True)))


@pytest.mark.parametrize(
    "name", ["eth0", "eth10", "ens3", "eno1", "enp3s0f1", "enx001122334455", "ib0", "wlan0", "bnxt0"]
)
def test_real_interface_counts(name: str) -> None:
    row = row_with(name)
    assert row["network_received_mb_per_s"] == pytest.approx(10 * 1024 / 1e6)
    assert row["network_sent_mb_per_s"] == pytest.approx(20 * 1024 / 1e6)
    assert (row["network_received_packets_per_s"], row["network_sent_packets_per_s"]) == (1, 2)
    assert row["loopback_mb_per_s"] == 0


@pytest.mark.parametrize(
    "name",
    [
        "lo", "bond0", "bond0.100", "team0", "br0", "br-4f3a", "virbr0", "docker0", "veth12ab", "vnet3", "tap0", "tun0",
        "dummy0", "ovs-system", "cni0", "flannel.1", "cali1234", "eth0.100", "enp3s0f1.7",
    ],
)  # fmt: skip
def test_interface_upon_another_is_not_counted_twice(name: str) -> None:
    row = row_with(name)
    assert row["network_received_mb_per_s"] == row["network_sent_mb_per_s"] == 0
    assert row["network_received_packets_per_s"] == row["network_sent_packets_per_s"] == 0


def test_loopback_is_counted_by_itself_and_once() -> None:
    """All that it sends it receives, too."""
    assert row_with("lo")["loopback_mb_per_s"] == pytest.approx(20 * 1024 / 1e6)
    assert row_with("docker0")["loopback_mb_per_s"] == 0


@pytest.mark.parametrize("name", ["lo1", "loc0"])
def test_only_the_loopback_itself_is_the_loopback(name: str) -> None:
    assert row_with(name)["loopback_mb_per_s"] == 0
    assert row_with(name)["network_sent_mb_per_s"] > 0


def test_bytes_are_not_lost_where_the_collector_missed_seconds() -> None:
    rows = [{"time_s": 101.0, "disk_write_mb_per_s": 10.0}, {"time_s": 105.0, "disk_write_mb_per_s": 10.0}]
    assert totals(rows, 100.0, 105.0)["disk_write_bytes"] == pytest.approx(50e6)
