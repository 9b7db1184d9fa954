"""What a host did in a window of its samples, and a folder of telemetry as it is collected, also of older archives."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.measurements import Phase, Reading
from clusterbench.hosts import sysstat, telemetry, telemetry_window
from tests import FIXTURES

CAPTURED = FIXTURES / "telemetry"


def rows_at(*times_s: float) -> list[dict[str, float]]:
    return [{"time_s": time_s, "cpu_percent": 10.0 * number} for number, time_s in enumerate(times_s, 1)]


def summary(
    rows: list[dict[str, float]], start_s: float, end_s: float, before_s: float | None = None
) -> dict[str, Any]:
    before_s = start_s if before_s is None else min(start_s, before_s)
    seen = telemetry_window.look(sysstat.samples(rows), [start_s, end_s], (start_s, end_s), before_s)
    return telemetry_window.summary(seen, start_s, end_s, sysstat.figures) if seen else {"samples": 0}


# The summary.


def test_summary_is_the_mean_over_the_samples_that_cover_the_window() -> None:
    found = summary(rows_at(101, 102, 103, 104, 105), 102.2, 103.7)
    assert found["samples"] == 2, "those of 102..103 and 103..104"
    assert found["mean"]["cpu_percent"] == pytest.approx((0.8 * 30 + 0.7 * 40) / 1.5)


def test_sample_counts_for_as_long_as_it_covers_the_window() -> None:
    """A host that was too busy to collect for nine seconds was busy for nine seconds, not for one sample of two."""
    found = summary(rows_at(101, 110, 111), 101.0, 111.0)
    assert found["mean"]["cpu_percent"] == pytest.approx((9 * 20 + 1 * 30) / 10)


def test_window_shorter_than_a_sample_is_described_by_the_one_that_holds_it() -> None:
    found = summary(rows_at(101, 102, 103, 104), 102.4, 102.401)
    assert (found["samples"], found["mean"]["cpu_percent"]) == (1, pytest.approx(30.0))


def test_sample_covers_the_seconds_that_the_collector_missed_before_it() -> None:
    """A busy host: nothing was collected at 102 and 103."""
    found = summary(rows_at(101, 104, 105), 102.1, 102.17)
    assert (found["samples"], found["mean"]["cpu_percent"]) == (1, pytest.approx(20.0))


@pytest.mark.parametrize(("window", "samples"), [((104.1, 104.13), 1), ((104.6, 104.63), 0)])
def test_window_between_the_last_sample_as_known_and_its_true_time_is_that_samples(
    window: tuple[float, float], samples: int
) -> None:
    found = summary(rows_at(102, 103, 104), *window)
    assert found["samples"] == samples
    assert found["mean"] == ({"cpu_percent": pytest.approx(30.0)} if samples else {})


def test_window_on_the_edges_of_samples_takes_those_within() -> None:
    found = summary(rows_at(101, 102, 103, 104), 101.0, 103.0)
    assert (found["samples"], found["mean"]["cpu_percent"]) == (2, 25.0)


def test_quiet_before_is_the_last_whole_sample_before_the_window() -> None:
    assert summary(rows_at(101, 102, 103), 102.4, 102.9)["cpu_percent_before"] == 20.0
    assert summary(rows_at(101, 102, 103), 102.0, 102.9)["cpu_percent_before"] == 20.0


def test_a_host_under_load_before_the_window_was_quiet_before_the_driver_began() -> None:
    """A ramp-up is part of the driver; the sample that holds its start is not quiet."""
    assert summary(rows_at(101, 102, 103, 104), 103.5, 104.0, 102.1)["cpu_percent_before"] == 20.0
    assert summary(rows_at(101, 102, 103, 104), 103.5, 104.0, 100.1)["cpu_percent_before"] is None


def test_no_sample_before_the_window_is_none_and_not_zero() -> None:
    assert summary(rows_at(101, 102), 100.5, 101.5)["cpu_percent_before"] is None


def test_no_samples_have_no_summary() -> None:
    assert summary([], 100.0, 101.0) == {"samples": 0}


@pytest.mark.parametrize("window", [(110.0, 111.0), (90.0, 91.0)], ids=["after", "before"])
def test_window_outside_the_samples_has_no_mean(window: tuple[float, float]) -> None:
    found = summary(rows_at(101, 102), *window)
    assert (found["samples"], found["mean"]) == (0, {})


# A folder as collected.


def test_trial_of_eleven_seconds_is_covered_by_its_samples() -> None:
    found = telemetry.read(CAPTURED / "fourteen_seconds", 1795247903.192489, 1795247914.136051)
    with gzip.open(CAPTURED / "fourteen_seconds" / telemetry.RAW_FILE_OF_SYSSTAT, "rt") as lines:
        begun_s = float((CAPTURED / "fourteen_seconds" / "telemetry.start").read_text())
        rows = list(sysstat.rows(lines, begun_s))
    assert found["samples"] == 12
    whole = sum(row["cpu_percent"] for row in rows[3:13])
    first, last = rows[2]["time_s"] - 1795247903.192489, 1795247914.136051 - rows[12]["time_s"]
    expected = (first * rows[2]["cpu_percent"] + whole + last * rows[13]["cpu_percent"]) / (first + 10 + last)
    assert found["mean"]["cpu_percent"] == pytest.approx(expected)
    assert found["cpu_percent_before"] == pytest.approx(rows[1]["cpu_percent"])
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


def test_clocks_that_drift_are_taken_to_be_off_by_what_they_were_in_the_mean() -> None:
    before, after = {"a": 2.0, "b": -0.4}, {"a": 2.2, "c": 0.2}
    assert telemetry.clocks_meanwhile(before, after) == pytest.approx({"a": 2.1, "b": -0.2, "c": 0.1})
    assert telemetry.clocks_meanwhile(before, None) == before


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
    assert shifted["samples"] == found["samples"] and shifted["mean"] == pytest.approx(found["mean"])
    assert shifted["phases"]["first"] == pytest.approx(found["phases"]["first"])
    assert shifted["course"] == {name: pytest.approx(values) for name, values in found["course"].items()}


@pytest.mark.parametrize("window", [(None, None), (1795247903.0, None), (None, 1795247914.0)])
def test_trial_that_measured_nothing_has_no_summary(window: tuple[float | None, float | None]) -> None:
    assert telemetry.read(CAPTURED / "fourteen_seconds", *window) == {"samples": 0}


def test_host_that_collected_nothing_has_no_samples(tmp_path: Path) -> None:
    assert telemetry.read(tmp_path, 1.0, 2.0) == {"samples": 0}


def test_cost_of_a_collector_that_was_killed_is_absent(tmp_path: Path) -> None:
    shutil.copytree(CAPTURED / "begun_at_003", tmp_path, dirs_exist_ok=True)
    (tmp_path / "telemetry.cpu_s").write_text("")
    found = telemetry.read(tmp_path, 1795247695.664236, 1795247695.666117)
    assert found["samples"] == 1
    assert "collector_cpu_share" not in found


@pytest.mark.parametrize(("case", "most"), [("fourteen_seconds", 10), ("kernel_counters", 10), ("begun_at_003", 2)])
def test_last_samples_are_the_last_and_in_their_order(case: str, most: int) -> None:
    found = telemetry.last_samples(CAPTURED / case, 10)
    times = [row["time_s"] for row in found]
    assert len(found) == most and times == sorted(times)
    assert all(0 <= row["cpu_percent"] <= 100 and row["memory_used_percent"] > 0 for row in found)


def test_host_without_telemetry_has_no_last_samples(tmp_path: Path) -> None:
    assert telemetry.last_samples(tmp_path, 10) == []


# Many hosts.


def test_many_hosts_are_read_by_several_processes_as_one_reads_a_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = "load 0.5 0.4 0.3 3/99 1\tmemory MemTotal 1000 MemFree 400"
    made = "".join(f"{100 + n}.0\t{beside}\tcpu {n * 30} 0 0 {n * 70} 0 0 0 0 0 0\n" for n in range(60))
    for number in range(telemetry.HOSTS_FOR_PROCESSES):
        (tmp_path / f"h{number:02d}").mkdir()
        with gzip.open(tmp_path / f"h{number:02d}" / telemetry.RAW_FILE, "wt") as file:
            file.write(f"1000100.0 100.0 4096\n{made}")
    reading = Reading({}, window_start_s=1000110.0, window_end_s=1000150.0, phases=())
    arguments = {"before_s": 1000110.0, "ahead_s": {"h01": 5.0}}
    by_several = telemetry.read_each(tmp_path, reading, ["h00"], **arguments)  # type: ignore[arg-type]
    monkeypatch.setattr(telemetry, "HOSTS_FOR_PROCESSES", 10**6)
    assert by_several == telemetry.read_each(tmp_path, reading, ["h00"], **arguments)  # type: ignore[arg-type]
    assert list(by_several) == sorted(by_several) and len(by_several) == 32
    assert {round(one["mean"]["cpu_percent"]) for one in by_several.values()} == {30}
