"""How a load is dealt to several hosts, and how their logs become one."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterbench.drivers import pgbench_log
from clusterbench.drivers.pgbench_log import Counts, Latencies, ReducedLog
from clusterbench.trial.drivers import dealt, late


@pytest.mark.parametrize(
    ("clients", "drivers", "counts"), [(6, 4, [2, 2, 1, 1]), (4, 4, [1, 1, 1, 1]), (100, 3, [34, 33, 33]), (5, 1, [5])]
)
def test_clients_are_dealt_evenly_and_numbered_through(clients: int, drivers: int, counts: list[int]) -> None:
    shares = dealt(clients, drivers)
    assert [share.clients for share in shares] == counts
    numbers = [share.first_client + n for share in shares for n in range(share.clients)]
    assert numbers == list(range(clients))
    assert sum(share.of_rate(1000.0) for share in shares) == pytest.approx(1000)


def log(begin_s: int, ended: int, us: int) -> ReducedLog:
    seconds = {(0, begin_s + second): Counts(ended, retries=1) for second in range(2)}
    times = {0: Latencies({us: (2 * ended, 2 * ended * us, 0, us)})}
    first_us = begin_s * 1_000_000
    return ReducedLog(begin_s, 2, 9, seconds, times, {"deadlock": 1}, 3, 5.0, {}, 2.0, first_us, first_us + 7)


def test_windows_of_different_clocks_are_one_window() -> None:
    """The other's clock is 100 s ahead; its window began at the same time."""
    both = pgbench_log._with(log(1000, 10, 500), log(1100, 30, 900))
    assert [counts.ended for counts in both.of_window(0)] == [40, 40]
    assert [counts.retries for counts in both.of_window(0)] == [2, 2]
    times = both.latencies[0]
    assert (times.count, times.mean_ms, times.max_ms) == (80, pytest.approx(0.8), 0.9)
    assert (both.clients, both.failed, both.rate_per_s) == (6, {"deadlock": 2}, 10.0)
    assert (both.first_us, both.last_us) == (1000 * 1_000_000, 1000 * 1_000_000 + 7)


def test_a_load_of_which_one_driver_left_nothing_is_none(tmp_path: Path) -> None:
    (tmp_path / "window.txt").write_text("begin_s 1\nwindow_s 1\nlog_bytes 1\n")
    (tmp_path / "reduced.txt").write_text("second 0 1 5 0 0 0\n")
    assert pgbench_log.read_all(tmp_path) is not None
    (tmp_path / "drivers" / "load1").mkdir(parents=True)
    assert pgbench_log.read_all(tmp_path) is None


def test_each_host_that_began_late_is_named(tmp_path: Path) -> None:
    (tmp_path / "drivers" / "load1").mkdir(parents=True)
    assert late(["client", "load1"], "client", tmp_path) == []
    for folder in (tmp_path, tmp_path / "drivers" / "load1"):
        (folder / "late.txt").write_text("-1.5\n")
    assert late(["client", "load1"], "client", tmp_path) == [
        "driver on host 'client' was not ready when all were to begin",
        "driver on host 'load1' was not ready when all were to begin",
    ]
