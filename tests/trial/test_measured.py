"""From trials that were measured to the time of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from clusterbench.base.factors import Level
from clusterbench.trial.measured import Measured, MeasuredCell, Rate, rate, trial_time
from clusterbench.workloads import load_workload

GUESS_S, DISK_BYTES_PER_S = 77.0, 57e6


def levels(workload: str = "key_value", **chosen: Level) -> dict[str, Level]:
    return {name: factor.default for name, factor in load_workload(workload).factors.items()} | chosen


def cell(whole_s: float, driver_s: float, workload: str = "key_value", **chosen: Level) -> MeasuredCell:
    found = levels(workload, **chosen)
    return MeasuredCell("x/new", "a.b", "a: b", workload, found, 3, whole_s, driver_s)


def time_of(wanted: Mapping[str, Level], *known: MeasuredCell, workload: str = "key_value") -> tuple[float, str, str]:
    time, _ = trial_time(workload, wanted, 7, Measured(cells=known), GUESS_S, DISK_BYTES_PER_S)
    return round(time.seconds, 6), time.kind, time.basis


def test_same_levels_take_as_long_as_in_the_newest_run() -> None:
    older = replace(cell(99.0, 80.0, clients=10), run="x/old")
    found = time_of(levels(clients=10), cell(40.0, 30.0, clients=10), older)
    assert found == (40.0, "measured", "measured in run x/new")


def test_more_lookups_take_longer_by_their_bytes_and_the_rest_stays() -> None:
    known = cell(40.0, 30.0, clients=10)
    assert time_of(levels(clients=30), known) == (
        10.0 + 1.0 + 3 * 29.0,
        "scaled",
        "by bytes, 3 times those of 'a: b' in run x/new",
    )


def test_a_larger_table_takes_longer_to_be_read_into_warm_caches() -> None:
    """1.71 GB more at 57 MB/s are 30 s; a cold trial reads none of it beforehand."""
    known = [cell(40.0, 30.0, clients=10, rows=1_000_000, cache=cache) for cache in ("warm", "cold")]
    assert time_of(levels(clients=10, rows=4_000_000), *known)[:2] == (40.0 + 30.0, "scaled")
    assert time_of(levels(clients=10, rows=4_000_000, cache="cold"), *known)[:2] == (40.0, "scaled")


def test_cold_is_no_measure_for_warm() -> None:
    assert time_of(levels(clients=30), cell(40.0, 30.0, clients=10, cache="cold"))[:2] == (GUESS_S, "guess")


def test_the_nearest_by_bytes_is_taken() -> None:
    near, far = cell(40.0, 30.0, clients=10), replace(cell(10.0, 1.0, clients=1), label="far")
    assert "'a: b'" in time_of(levels(clients=20), far, near)[2]


def test_what_is_more_than_a_hundred_times_as_large_says_nothing() -> None:
    known = cell(40.0, 30.0, clients=1)
    assert time_of(levels(clients=100), known)[1] == "scaled"
    assert time_of(levels(clients=101), known)[:2] == (GUESS_S, "guess")


def test_another_workload_says_nothing() -> None:
    assert time_of(levels(), cell(40.0, 30.0, "index_build"))[1] == "guess"


def test_a_declared_window_is_as_long_as_it_is_declared() -> None:
    """12 s beside the window of 10 + 60 + 2 s stay; the other window is an hour."""
    known = cell(84.0, 75.0, "order_entry", clients=4)
    found = time_of(levels("order_entry", clients=4, window_s=3600), known, workload="order_entry")
    assert found[:2] == (84.0 - 60 + 3600, "scaled")


def test_the_search_for_a_load_is_as_long_as_its_steps() -> None:
    known = cell(400.0, 75.0, "order_entry", cpu_percent=85, probe_s=10)
    wanted = levels("order_entry", cpu_percent=85, probe_s=120)
    assert time_of(wanted, known, workload="order_entry")[0] == 400.0 + 16 * 110


def test_rates_are_of_about_so_many_bytes() -> None:
    rates = [Rate("x/3", 10**6, 1.0), Rate("x/2", 10**9, 10.0), Rate("x/1", 10**9, 5.0)]
    assert rate(rates, 10**10) == (1.5e8, "x/2")
    assert rate(rates, 10**13) is None
