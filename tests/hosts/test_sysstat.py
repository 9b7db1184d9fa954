"""Telemetry as sysstat wrote it during real trials (``fixtures/telemetry``): of archives made before."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from clusterbench.hosts import sysstat, telemetry
from tests import FIXTURES

CAPTURED = FIXTURES / "telemetry"
CASES = ("begun_at_003", "begun_at_987", "fourteen_seconds", "two_in_one_second")


def raw(case: str) -> str:
    return gzip.decompress((CAPTURED / case / telemetry.RAW_FILE_OF_SYSSTAT).read_bytes()).decode()


def statistics(case: str) -> list[dict[str, Any]]:
    return list(json.loads(raw(case))["sysstat"]["hosts"][0]["statistics"])


def start_s(case: str) -> float:
    return float((CAPTURED / case / "telemetry.start").read_text())


def rows(text: str, start_s: float | None = None) -> list[dict[str, float]]:
    return list(sysstat.rows(text.splitlines(keepends=True), start_s))


# Samples.


def test_row_holds_what_sadf_printed() -> None:
    entry, row = statistics("fourteen_seconds")[0], rows(raw("fourteen_seconds"))[0]
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
    row = rows(raw("fourteen_seconds"))[0]
    assert row["disk_iops"] == 310.0
    assert row["disk_read_mb_per_s"] == pytest.approx(6180 * 1024 / 1e6)
    assert row["disk_write_mb_per_s"] == pytest.approx(48 * 1024 / 1e6)


def test_the_loopback_is_no_network() -> None:
    entry, row = statistics("fourteen_seconds")[0], rows(raw("fourteen_seconds"))[0]
    by_name = {net["iface"]: net for net in entry["network"]["net-dev"]}
    own = by_name.pop("lo")
    assert by_name
    assert row["network_received_packets_per_s"] == sum(net["rxpck"] for net in by_name.values())
    assert row["network_sent_mb_per_s"] == pytest.approx(sum(net["txkB"] for net in by_name.values()) * 1024 / 1e6)
    assert row["loopback_mb_per_s"] == pytest.approx(own["txkB"] * 1024 / 1e6)
    assert row["loopback_packets_per_s"] == own["rxpck"] == 550.0


def test_pressure_is_the_share_of_the_second_in_which_something_waited() -> None:
    entry, row = statistics("fourteen_seconds")[0], rows(raw("fourteen_seconds"))[0]
    for resource in ("cpu", "io", "mem"):
        assert row[f"pressure_{resource}_percent"] == entry["psi"][f"psi-{resource}"]["some_avg"]


def test_kernel_without_pressure_has_no_pressure_rather_than_zero() -> None:
    data = json.loads(raw("fourteen_seconds"))
    for entry in data["sysstat"]["hosts"][0]["statistics"]:
        del entry["psi"]
    assert not [name for name in rows(json.dumps(data, indent="\t"))[0] if name.startswith("pressure")]


@pytest.mark.parametrize("device", ["loop0", "ram1", "dm-0", "md127", "sr0"])
def test_device_upon_another_is_not_counted_twice(device: str) -> None:
    data = json.loads(raw("fourteen_seconds"))
    disks = data["sysstat"]["hosts"][0]["statistics"][0]["disk"]
    disks.append({**disks[0], "disk-device": device})
    assert rows(json.dumps(data, indent="\t"))[0]["disk_iops"] == 310.0


def test_second_disk_is_counted() -> None:
    data = json.loads(raw("fourteen_seconds"))
    disks = data["sysstat"]["hosts"][0]["statistics"][0]["disk"]
    disks.append({**disks[0], "disk-device": "nvme0n1"})
    assert rows(json.dumps(data, indent="\t"))[0]["disk_iops"] == 620.0


def test_printed_time_is_utc() -> None:
    row = rows(raw("fourteen_seconds"))[0]
    assert row["time_s"] == datetime(2026, 11, 21, 7, 58, 22, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("case", CASES)
def test_samples_come_whole_seconds_after_the_start_each_later_than_the_one_before(case: str) -> None:
    begun_s = start_s(case)
    times = [row["time_s"] - begun_s for row in rows(raw(case), begun_s)]
    assert times == pytest.approx([round(time) for time in times], abs=1e-6)
    assert [round(time) for time in times] == list(range(1, len(times) + 1))


@pytest.mark.parametrize("case", CASES)
def test_sample_is_less_than_a_second_after_its_printed_time(case: str) -> None:
    """Start and clock of the collector differ by some hundredths, which may cross a printed second once."""
    exact = rows(raw(case), start_s(case))
    printed = rows(raw(case))
    for one, other in zip(exact, printed, strict=True):
        assert -0.1 < one["time_s"] - other["time_s"] < 1.1


def test_two_samples_in_one_printed_second_are_two_seconds() -> None:
    """Begun at .003 of a second: the first sample fell just after a full second, the second just before the next."""
    assert len({row["time_s"] for row in rows(raw("two_in_one_second"))}) == 1
    exact = rows(raw("two_in_one_second"), start_s("two_in_one_second"))
    assert exact[1]["time_s"] - exact[0]["time_s"] == pytest.approx(1.0)


def test_second_that_the_collector_missed_stays_missing() -> None:
    data = json.loads(raw("fourteen_seconds"))
    del data["sysstat"]["hosts"][0]["statistics"][4:7]
    begun_s = start_s("fourteen_seconds")
    times = [round(row["time_s"] - begun_s) for row in rows(json.dumps(data, indent="\t"), begun_s)]
    assert times == [1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14]


def test_collector_that_was_stopped_at_once_gives_no_samples() -> None:
    data = json.loads(raw("begun_at_003"))
    data["sysstat"]["hosts"][0]["statistics"] = []
    assert rows(json.dumps(data, indent="\t"), 1.0) == []
    del data["sysstat"]["hosts"][0]["statistics"]
    assert rows(json.dumps(data, indent="\t"), 1.0) == []


def test_text_is_read_as_it_comes_a_sample_at_a_time() -> None:
    lines = iter(raw("fourteen_seconds").splitlines(keepends=True))
    first = next(sysstat.rows(lines))
    assert first["cpu_user_percent"] == 83.84
    assert sum(1 for _ in lines) > 300, "of 438 lines"


def test_rates_are_added_up_for_as_long_as_they_held() -> None:
    """The second came after three seconds, on a host that was too busy to collect."""
    first, second, third = sysstat.samples([{"time_s": 101.0, "a": 2.0}, {"time_s": 104.0, "a": 5.0, "b": 1.0}])
    assert (first.time_s, second.time_s, third.time_s) == (100.0, 101.0, 104.0)
    assert (second.counters(), third.counters()) == ({"a": 2.0}, {"a": 17.0, "b": 3.0})
    assert sysstat.figures(first.counters(), third.counters(), 4.0) == {"a": 17 / 4, "b": 3 / 4}
