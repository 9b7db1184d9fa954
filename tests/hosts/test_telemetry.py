"""Telemetry as sysstat wrote it during real trials (``fixtures/telemetry``), and its summary over a window."""

from __future__ import annotations

import gzip
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.measurements import Phase
from clusterbench.hosts import telemetry
from tests import FIXTURES

CAPTURED = FIXTURES / "telemetry"
CASES = ("begun_at_003", "begun_at_987", "fourteen_seconds", "two_in_one_second")


def raw(case: str) -> str:
    return gzip.decompress((CAPTURED / case / telemetry.RAW_FILE).read_bytes()).decode()


def statistics(case: str) -> list[dict[str, Any]]:
    return list(json.loads(raw(case))["sysstat"]["hosts"][0]["statistics"])


def start_s(case: str) -> float:
    return float((CAPTURED / case / "telemetry.start").read_text())


def rows_at(*times_s: float) -> list[dict[str, float]]:
    return [{"time_s": time_s, "cpu_percent": 10.0 * number} for number, time_s in enumerate(times_s, 1)]


# Samples.


def test_row_holds_what_sadf_printed() -> None:
    entry, row = statistics("fourteen_seconds")[0], telemetry.samples(raw("fourteen_seconds"))[0]
    cpu = entry["cpu-load"][0]
    assert row["cpu_user_percent"] == cpu["usr"] == 83.84
    assert row["cpu_steal_percent"] == cpu["steal"] == 2.53
    assert row["cpu_iowait_percent"] == cpu["iowait"] == 0.51
    assert row["cpu_percent"] == pytest.approx(100 - 0.51 - 0.51)  # neither idle nor waiting for a disk
    assert row["context_switches_per_s"] == 2198.0
    assert row["interrupts_per_s"] == 963.0
    assert row["memory_used_percent"] == 12.91
    assert row["memory_used_mb"] == pytest.approx(3185912 * 1024 / 1e6)
    assert row["load_1_min"] == 4.71
    assert row["runnable_tasks"] == 2


def test_disks_and_networks_are_summed_in_megabytes() -> None:
    row = telemetry.samples(raw("fourteen_seconds"))[0]
    assert row["disk_iops"] == 310.0
    assert row["disk_read_mb_per_s"] == pytest.approx(6180 * 1024 / 1e6)
    assert row["disk_write_mb_per_s"] == pytest.approx(48 * 1024 / 1e6)


def test_the_loopback_is_no_network() -> None:
    entry, row = statistics("fourteen_seconds")[0], telemetry.samples(raw("fourteen_seconds"))[0]
    by_name = {net["iface"]: net for net in entry["network"]["net-dev"]}
    own = by_name.pop("lo")
    assert by_name
    assert row["network_received_packets_per_s"] == sum(net["rxpck"] for net in by_name.values())
    assert row["network_sent_mb_per_s"] == pytest.approx(sum(net["txkB"] for net in by_name.values()) * 1024 / 1e6)
    assert row["loopback_mb_per_s"] == pytest.approx(own["txkB"] * 1024 / 1e6)
    assert row["loopback_packets_per_s"] == own["rxpck"] == 550.0


def test_pressure_is_the_share_of_the_second_in_which_something_waited() -> None:
    entry, row = statistics("fourteen_seconds")[0], telemetry.samples(raw("fourteen_seconds"))[0]
    for resource in ("cpu", "io", "mem"):
        assert row[f"pressure_{resource}_percent"] == entry["psi"][f"psi-{resource}"]["some_avg"]


def test_kernel_without_pressure_has_no_pressure_rather_than_zero() -> None:
    data = json.loads(raw("fourteen_seconds"))
    for entry in data["sysstat"]["hosts"][0]["statistics"]:
        del entry["psi"]
    assert not [name for name in telemetry.samples(json.dumps(data))[0] if name.startswith("pressure")]


@pytest.mark.parametrize("device", ["loop0", "ram1", "dm-0", "md127", "sr0"])
def test_device_upon_another_is_not_counted_twice(device: str) -> None:
    data = json.loads(raw("fourteen_seconds"))
    disks = data["sysstat"]["hosts"][0]["statistics"][0]["disk"]
    disks.append({**disks[0], "disk-device": device})
    assert telemetry.samples(json.dumps(data))[0]["disk_iops"] == 310.0


def test_second_disk_is_counted() -> None:
    data = json.loads(raw("fourteen_seconds"))
    disks = data["sysstat"]["hosts"][0]["statistics"][0]["disk"]
    disks.append({**disks[0], "disk-device": "nvme0n1"})
    assert telemetry.samples(json.dumps(data))[0]["disk_iops"] == 620.0


def test_printed_time_is_utc() -> None:
    row = telemetry.samples(raw("fourteen_seconds"))[0]
    assert row["time_s"] == datetime(2026, 11, 21, 7, 58, 22, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("case", CASES)
def test_samples_come_whole_seconds_after_the_start_each_later_than_the_one_before(case: str) -> None:
    begun_s = start_s(case)
    times = [row["time_s"] - begun_s for row in telemetry.samples(raw(case), begun_s)]
    assert times == pytest.approx([round(time) for time in times], abs=1e-6)
    assert [round(time) for time in times] == list(range(1, len(times) + 1))


@pytest.mark.parametrize("case", CASES)
def test_sample_is_less_than_a_second_after_its_printed_time(case: str) -> None:
    """Start and clock of the collector differ by some hundredths, which may cross a printed second once."""
    exact = telemetry.samples(raw(case), start_s(case))
    printed = telemetry.samples(raw(case))
    for one, other in zip(exact, printed, strict=True):
        assert -0.1 < one["time_s"] - other["time_s"] < 1.1


def test_two_samples_in_one_printed_second_are_two_seconds() -> None:
    """Begun at .003 of a second: the first sample fell just after a full second, the second just before the next."""
    assert len({row["time_s"] for row in telemetry.samples(raw("two_in_one_second"))}) == 1
    exact = telemetry.samples(raw("two_in_one_second"), start_s("two_in_one_second"))
    assert exact[1]["time_s"] - exact[0]["time_s"] == pytest.approx(1.0)


def test_second_that_the_collector_missed_stays_missing() -> None:
    data = json.loads(raw("fourteen_seconds"))
    del data["sysstat"]["hosts"][0]["statistics"][4:7]
    begun_s = start_s("fourteen_seconds")
    times = [round(row["time_s"] - begun_s) for row in telemetry.samples(json.dumps(data), begun_s)]
    assert times == [1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14]


def test_collector_that_was_stopped_at_once_gives_no_samples() -> None:
    data = json.loads(raw("begun_at_003"))
    data["sysstat"]["hosts"][0]["statistics"] = []
    assert telemetry.samples(json.dumps(data), 1.0) == []
    del data["sysstat"]["hosts"][0]["statistics"]
    assert telemetry.samples(json.dumps(data), 1.0) == []


# The summary.


def test_summary_is_the_mean_over_the_samples_that_cover_the_window() -> None:
    found = telemetry.summary(rows_at(101, 102, 103, 104, 105), 102.2, 103.7)
    assert (found["samples"], found["mean"]["cpu_percent"]) == (2, 35.0)  # those of 102..103 and 103..104


def test_window_shorter_than_a_sample_is_described_by_the_one_that_holds_it() -> None:
    found = telemetry.summary(rows_at(101, 102, 103, 104), 102.4, 102.401)
    assert (found["samples"], found["mean"]["cpu_percent"]) == (1, 30.0)


def test_sample_covers_the_seconds_that_the_collector_missed_before_it() -> None:
    """A busy host: nothing was collected at 102 and 103."""
    found = telemetry.summary(rows_at(101, 104, 105), 102.1, 102.17)
    assert (found["samples"], found["mean"]["cpu_percent"]) == (1, 20.0)


@pytest.mark.parametrize(("window", "samples"), [((104.1, 104.13), 1), ((104.6, 104.63), 0)])
def test_window_between_the_last_sample_as_known_and_its_true_time_is_that_samples(
    window: tuple[float, float], samples: int
) -> None:
    assert telemetry.summary(rows_at(102, 103, 104), *window)["samples"] == samples


def test_window_on_the_edges_of_samples_takes_those_within() -> None:
    found = telemetry.summary(rows_at(101, 102, 103, 104), 101.0, 103.0)
    assert (found["samples"], found["mean"]["cpu_percent"]) == (2, 25.0)


def test_quiet_before_is_the_last_whole_sample_before_the_window() -> None:
    assert telemetry.summary(rows_at(101, 102, 103), 102.4, 102.9)["cpu_percent_before"] == 20.0
    assert telemetry.summary(rows_at(101, 102, 103), 102.0, 102.9)["cpu_percent_before"] == 20.0


def test_a_host_under_load_before_the_window_was_quiet_before_the_driver_began() -> None:
    """A ramp-up is part of the driver; the sample that holds its start is not quiet."""
    assert telemetry.summary(rows_at(101, 102, 103, 104), 103.5, 104.0, 102.1)["cpu_percent_before"] == 20.0
    assert telemetry.summary(rows_at(101, 102, 103, 104), 103.5, 104.0, 100.1)["cpu_percent_before"] is None


def test_no_sample_before_the_window_is_none_and_not_zero() -> None:
    assert telemetry.summary(rows_at(101, 102), 100.5, 101.5)["cpu_percent_before"] is None


@pytest.mark.parametrize("window", [(None, None), (100.0, None), (None, 100.0)])
def test_trial_that_measured_nothing_has_no_summary(window: tuple[float | None, float | None]) -> None:
    assert telemetry.summary(rows_at(101, 102), *window) == {"samples": 0}


def test_no_samples_have_no_summary() -> None:
    assert telemetry.summary([], 100.0, 101.0) == {"samples": 0}


@pytest.mark.parametrize("window", [(110.0, 111.0), (90.0, 91.0)], ids=["after", "before"])
def test_window_outside_the_samples_has_no_mean(window: tuple[float, float]) -> None:
    found = telemetry.summary(rows_at(101, 102), *window)
    assert (found["samples"], found["mean"]) == (0, {})


# A folder as collected.


def test_trial_of_eleven_seconds_is_covered_by_its_samples() -> None:
    found = telemetry.read(CAPTURED / "fourteen_seconds", 1795247903.192489, 1795247914.136051)
    rows = telemetry.samples(raw("fourteen_seconds"), start_s("fourteen_seconds"))
    assert found["samples"] == 12
    assert found["mean"]["cpu_percent"] == pytest.approx(sum(row["cpu_percent"] for row in rows[2:14]) / 12)
    assert found["cpu_percent_before"] == rows[1]["cpu_percent"]
    assert found["collector_cpu_share"] == pytest.approx(0.01 / 14)


@pytest.mark.parametrize(
    ("case", "start", "end"),
    [
        ("begun_at_003", 1795247695.664236, 1795247695.666117),
        ("two_in_one_second", 1795247664.182045, 1795247664.741056),
        ("begun_at_987", 1795247957.311341, 1795247958.467704),
    ],
)
def test_short_trial_is_covered_and_has_a_second_before(case: str, start: float, end: float) -> None:
    found = telemetry.read(CAPTURED / case, start, end)
    assert found["samples"] >= 1
    assert found["cpu_percent_before"] is not None


@pytest.mark.parametrize("ahead_s", [-3.0, 3.0])
def test_host_whose_clock_is_off_that_of_the_driver_is_seen_in_the_same_seconds(ahead_s: float) -> None:
    start, end = 1795247903.192489, 1795247914.136051
    phases = [Phase("first", start, start + 5)]
    found = telemetry.read(CAPTURED / "fourteen_seconds", start, end, phases, drawn=1, before_s=start)
    told = [Phase("first", start - ahead_s, start + 5 - ahead_s)]
    as_told = (start - ahead_s, end - ahead_s, told)
    shifted = telemetry.read(
        CAPTURED / "fourteen_seconds", *as_told, drawn=1, before_s=start - ahead_s, ahead_s=ahead_s
    )
    assert shifted["samples"] == found["samples"] and shifted["mean"] == found["mean"]
    assert shifted["phases"]["first"] == pytest.approx(found["phases"]["first"])
    assert shifted["course"] == found["course"]


def test_host_that_collected_nothing_has_no_samples(tmp_path: Path) -> None:
    assert telemetry.read(tmp_path, 1.0, 2.0) == {"samples": 0}


def test_cost_of_a_collector_that_was_killed_is_absent(tmp_path: Path) -> None:
    shutil.copytree(CAPTURED / "begun_at_003", tmp_path, dirs_exist_ok=True)
    (tmp_path / "telemetry.cpu_s").write_text("")
    found = telemetry.read(tmp_path, 1795247695.664236, 1795247695.666117)
    assert found["samples"] == 1
    assert "collector_cpu_share" not in found
