"""What is made of a reduced log: of captured ones of real trials, and of made ones that have what those lack."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base import database_work
from clusterbench.base.records import Trial
from clusterbench.drivers import mix_readings, pgbench_log
from clusterbench.drivers.pgbench import OPEN_LOOP
from clusterbench.drivers.pgbench_log import Counts, ReducedLog, merged
from clusterbench.hosts import resource_use
from clusterbench.workloads import load_workload
from clusterbench.workloads.order_entry import consistency, mix, readings
from tests import FIXTURES

CAPTURED = FIXTURES / "pgbench_mix"
WORKLOAD = load_workload("order_entry")


def trial(**levels: Any) -> Trial:
    chosen = {name: factor.default for name, factor in WORKLOAD.factors.items()} | levels
    return Trial("t.r1", "t", "lab_db1", "t", "order_entry", chosen, 1, 7, 60, {})


def captured(case: str) -> ReducedLog:
    log = pgbench_log.read(CAPTURED / case)
    assert log
    return log


def made(per_second: list[int], begin_s: int = 1000) -> ReducedLog:
    """A log in which every second of the window has so many transactions of each script, and no latencies."""
    seconds = {
        (number, begin_s + second): Counts(count)
        for number in mix.NUMBER.values()
        for second, count in enumerate(per_second)
    }
    return ReducedLog(begin_s, len(per_second), 1, seconds, {}, {})


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """A trial's real output, consistent, that a test may spoil."""
    found = Path(shutil.copytree(CAPTURED / "retries", tmp_path / "output"))
    conditions = [number for number in consistency.CONDITIONS if number != consistency.FRESH_ONLY]
    rows = "".join(f"{number},0,\n" for number in conditions)
    (found / "after.consistency.csv").write_text("condition,violations,example\n" + rows)
    return found


# Measurements.


def test_throughput_is_of_all_five_and_without_what_was_rolled_back() -> None:
    found = mix_readings.measurements(captured("retries"), readings.SCRIPTS)
    assert found["throughput_per_s"] == pytest.approx(sum(found[f"{name}_per_s"] for name in mix.TRANSACTIONS))
    log = captured("retries")
    ended = sum(c.ended for (script, second), c in log.seconds.items() if script != 1 and second in log.window)
    assert found["throughput_per_s"] == pytest.approx(ended / log.window_s)  # from 3.12 on, sum() rounds once
    assert found["rolled_back_per_s"] > 0


def test_retries_are_counted_over_all_scripts() -> None:
    log = captured("retries")
    expected = sum(counts.retries for (_, second), counts in log.seconds.items() if second in log.window)
    assert mix_readings.measurements(log, readings.SCRIPTS)["retries_per_s"] == expected / log.window_s > 0


@pytest.mark.parametrize("case", ["retries", "rate", "failures"])
def test_percentiles_rise_and_overall_ones_lie_among_those_of_the_types(case: str) -> None:
    found = mix_readings.measurements(captured(case), readings.SCRIPTS)
    for prefix in ("latency", *mix.TRANSACTIONS):
        rising = [found[f"{prefix}_ms_{which}"] for which in ("p50", "p95", "p99", "max")]
        assert rising == sorted(rising), prefix
    for which in ("p50", "max"):
        each = [found[f"{name}_ms_{which}"] for name in mix.TRANSACTIONS]
        assert min(each) <= found[f"latency_ms_{which}"] <= max(each)


def test_every_measurement_is_declared_and_the_other_way_round(output: Path) -> None:
    read = set(WORKLOAD.read(output, trial(clients=8), {}).measurements)
    of_others = {*resource_use.MEASUREMENTS, *OPEN_LOOP, *database_work.MEASUREMENTS}
    assert read | of_others == set(WORKLOAD.measurements)
    with_rate = mix_readings.measurements(captured("rate"), readings.SCRIPTS, 200.0)
    assert set(OPEN_LOOP) <= set(with_rate)
    assert not set(OPEN_LOOP) & set(mix_readings.measurements(captured("rate"), readings.SCRIPTS))


def test_who_fell_behind_a_schedule_has_responses_that_latencies_hide() -> None:
    found = mix_readings.measurements(captured("rate"), readings.SCRIPTS, 200.0)
    assert found["response_ms_mean"] == pytest.approx(
        merged(captured("rate").latencies.values()).mean_ms + found["schedule_lag_ms_mean"]
    )
    assert found["response_ms_p99"] > found["latency_ms_p99"]
    assert found["not_started"] == 0, "it had caught up at the end"


def test_steady_throughput_changes_by_nothing_and_a_rising_one_by_its_rise() -> None:
    assert mix_readings.change_percent([50] * 10) == 0
    assert mix_readings.change_percent([95, 105] * 50) == pytest.approx(0, abs=0.5)
    assert mix_readings.change_percent(range(50, 150)) == pytest.approx(100, abs=1)
    assert mix_readings.change_percent(range(150, 50, -1)) == pytest.approx(-100, abs=1)
    assert mix_readings.change_percent([7]) == mix_readings.change_percent([0, 0, 0]) == 0


@pytest.mark.parametrize(("seconds", "parts", "length"), [(3, 3, 1.0), (400, 400, 1.0), (1801, 400, 4.5025)])
def test_line_of_throughput_has_equal_parts_and_loses_nothing(seconds: int, parts: int, length: float) -> None:
    per_second = [(second * 37) % 101 for second in range(seconds)]
    found, part_s = mix_readings.in_parts(per_second, 400)
    assert (len(found), part_s) == (parts, pytest.approx(length))
    assert sum(found) * part_s == pytest.approx(sum(per_second), rel=1e-4)
    if seconds == parts:
        assert found == per_second


def test_details_have_a_line_for_each_script() -> None:
    found = mix_readings.details(captured("retries"), readings.SCRIPTS, clients=8)
    assert set(found["per_second"]) == {*mix.WEIGHTS, "part_s"}
    assert all(len(found["per_second"][name]) == 3 for name in mix.WEIGHTS)
    assert sum(found["mix_percent"].values()) == pytest.approx(100, abs=0.01)


def test_lag_behind_a_schedule_is_a_detail_and_no_latency() -> None:
    found = mix_readings.details(captured("rate"), readings.SCRIPTS, clients=4)
    assert found["schedule_lag_ms_mean"] > 10
    assert mix_readings.details(captured("retries"), readings.SCRIPTS, clients=8)["schedule_lag_ms_mean"] == 0


def test_large_log_that_was_removed_is_said() -> None:
    assert "it is archived" in mix_readings.details(made([1]), readings.SCRIPTS, clients=1)["log"]
    large = ReducedLog(0, 1, pgbench_log.LOG_KEPT_BYTES_MAX + 1, {}, {}, {})
    said = mix_readings.details(large, readings.SCRIPTS, clients=1)["log"]
    assert said == (
        "64,000,001 bytes of log were read on the client host; it was removed from the client host, because it is large"
    )


def test_half_an_hour_at_the_paper_s_rate_is_a_few_hundred_points() -> None:
    log = made([11_083] * 1800)
    assert mix_readings.measurements(log, readings.SCRIPTS)["throughput_per_s"] == pytest.approx(5 * 11_083)
    assert (
        len(mix_readings.details(log, readings.SCRIPTS, clients=1000)["per_second"]["payment"])
        == mix_readings.PARTS_MAX
    )


# What makes a trial invalid, or failed.


def test_trial_that_is_all_right_has_no_objection(output: Path) -> None:
    read = WORKLOAD.read(output, trial(clients=8), {})
    assert (read.errors, read.invalid) == (0, ())
    assert read.samples == round(read.measurements["throughput_per_s"] * 3) > 0
    assert (read.window_end_s or 0) - (read.window_start_s or 0) == 3
    assert read.measurements["clients_used"] == 8


def test_load_that_was_found_is_the_one_that_is_told(output: Path) -> None:
    """``clients`` of the plan is then the most that may be used."""
    assert WORKLOAD.read(output, trial(clients=5), {}).measurements["clients_used"] == 5


def test_orders_that_the_database_lost_make_it_invalid(output: Path) -> None:
    after = output / "after.orders.csv"
    _, values = after.read_text().split()
    districts, entered = map(int, values.split(","))
    after.write_text(f"districts,entered\n{districts},{entered - 3}\n")
    (said,) = WORKLOAD.read(output, trial(), {}).invalid
    counted = captured("retries").ended(mix.NUMBER["new_order"])
    assert said == (
        f"the driver's log has {counted:,} New-Orders, but the districts counted {counted - 3:,} new orders"
    )


def test_broken_condition_makes_it_invalid_and_is_told_in_tpc_c_s_words(output: Path) -> None:
    path = output / "after.consistency.csv"
    path.write_text(path.read_text().replace("1,0,", '1,1,"warehouse 1: W_YTD 5.00, sum(D_YTD) 4.00"', 1))
    read = WORKLOAD.read(output, trial(), {})
    (said,) = read.invalid
    assert said.startswith("after the trial: TPC-C 5.11, clause 3.3.2: condition 1 (W_YTD = sum(D_YTD))")
    assert "warehouse 1: W_YTD 5.00, sum(D_YTD) 4.00" in said
    assert read.details["facts"]["order_entry_trials"]["violations_after"] == 1  # type: ignore[index]


def test_check_that_did_not_happen_makes_it_invalid(output: Path) -> None:
    (output / "after.consistency.csv").unlink()
    (said,) = WORKLOAD.read(output, trial(), {}).invalid
    assert said == "after the trial: the database was not asked: there is no after.consistency"


def test_nothing_is_missed_where_nothing_was_to_be_checked(output: Path) -> None:
    for path in output.glob("*.csv"):
        path.unlink()
    read = WORKLOAD.read(output, trial(checked_warehouses=0), {})
    assert read.invalid == ()
    assert read.details["facts"]["order_entry_trials"]["orders_made"] is None  # type: ignore[index]


def test_window_without_any_of_a_transaction_is_invalid() -> None:
    log = made([5, 5])
    without = {key: counts for key, counts in log.seconds.items() if key[0] != mix.NUMBER["delivery"]}
    said = mix_readings.too_few(ReducedLog(1000, 2, 1, without, {}, {}), readings.SCRIPTS)
    assert said == ["no Delivery ended in the window of 2 s; make window_s longer, or find out what holds them up"]
    assert mix_readings.too_few(log, readings.SCRIPTS) == []


def test_transactions_that_failed_for_good_are_errors_and_never_dropped() -> None:
    read = WORKLOAD.read(CAPTURED / "failures", trial(clients=16, checked_warehouses=0), {})
    assert read.errors == captured("failures").failed_before_end() > 0
    assert read.details["failed_for_good"] == {"serialization": 807}


def test_driver_that_ended_no_transaction_is_an_error_with_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "driver_errors.txt").write_text("pgbench: error: connection to server failed: refused\n")
    read = WORKLOAD.read(tmp_path, trial(), {})
    assert (read.measurements, read.errors) == ({}, 1)
    assert "refused" in str(read.details["driver_errors"])


def test_mix_is_judged_by_what_chance_does_to_so_many_draws() -> None:
    assert readings.facts(captured("retries"), clients=8)["mix_off_by"] < 5
    assert readings.facts(made([1000]), clients=8)["mix_off_by"] > 5, "as many of each is not the mix"


def test_what_clients_have_under_way_at_the_edges_of_a_window_is_no_other_mix() -> None:
    assert readings.off_by(560, 5200, 0.04) > 5
    assert readings.off_by(560, 5200, 0.04, clients=1024) == 0
    assert readings.off_by(26_000, 520_000, 0.04, clients=1024) > 5, "in a long window they do not count"
