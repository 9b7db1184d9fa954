"""pgbench's log of a mix, made small by awk, against the same log read line by line; captured from real trials.

``fixtures/pgbench_mix``: ``retries`` is 8 clients on one warehouse, ``rate`` 4 clients that fell behind a schedule,
``failures`` 16 clients of which none tried anything more than twice.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pytest

from clusterbench.drivers import pgbench_log
from clusterbench.drivers.pgbench_log import Counts, Latencies, ReducedLog, merged
from tests import FIXTURES

CAPTURED = FIXTURES / "pgbench_mix"
SHAPES = {"retries": (1, 3, False), "rate": (1, 3, True), "failures": (0, 2, False)}
"""Ramp-up and window in seconds, and whether there was a rate."""
AWKS = [name for name in ("mawk", "gawk") if shutil.which(name)]


@dataclass(frozen=True)
class Line:
    us: int | None
    """Latency without lag; None where it failed."""
    script: int
    end_us: int
    lag_us: int
    retries: int
    how: str

    @property
    def second(self) -> int:
        return self.end_us // 1_000_000


def lines(case: str) -> list[Line]:
    """Every line of the log, in plain Python."""
    found = []
    for log in sorted((CAPTURED / case).glob("log.*.gz")):
        for line in gzip.decompress(log.read_bytes()).decode().splitlines():
            _, _, time, script, second, us, *rest = line.split()
            lag = int(rest[0]) if len(rest) > 1 else 0
            end_us = int(second) * 1_000_000 + int(us)
            took = int(time) - lag if time.isdigit() else None
            found.append(Line(took, int(script), end_us, lag, int(rest[-1]), "" if time.isdigit() else time))
    return found


def reduced(
    folder: Path, case: str, awk: str = "mawk", extra: str = "", think_time_us: int = 0, ahead_us: int = 0
) -> ReducedLog:
    """The command run over the captured logs, as on a client host."""
    ramp_up_s, window_s, is_throttled = SHAPES[case]
    for log in (CAPTURED / case).glob("log.*.gz"):
        (folder / log.name.removesuffix(".gz")).write_bytes(gzip.decompress(log.read_bytes()) + extra.encode())
    for name, text in pgbench_log.files().items():
        (folder / name).write_text(text)
    (folder / "bin").mkdir()
    (folder / "bin" / "awk").symlink_to(str(shutil.which(awk)))
    functions = pgbench_log.functions(
        ramp_up_s=ramp_up_s,
        window_s=window_s,
        is_throttled=is_throttled,
        is_retried=True,
        think_time_us=think_time_us,
        ahead_us=ahead_us,
    )
    script = f'set -euo pipefail\nPATH="$PWD/bin:$PATH"\n{functions}reduce_log'
    subprocess.run(["bash", "-c", script], cwd=folder, check=True)
    found = pgbench_log.read(folder)
    assert found
    return found


def at_rank(values: Sequence[int], share: float) -> float:
    """The smallest that so great a share does not exceed."""
    ordered = sorted(values)
    return next(value for rank, value in enumerate(ordered, 1) if rank >= share * len(ordered))


@pytest.mark.parametrize("awk", AWKS)
@pytest.mark.parametrize("case", SHAPES)
def test_counts_are_those_of_the_log_line_by_line(tmp_path: Path, case: str, awk: str) -> None:
    found, every = reduced(tmp_path, case, awk), lines(case)
    ended = Counter((line.script, line.second) for line in every if line.us is not None)
    failed = Counter((line.script, line.second) for line in every if line.us is None)
    retries: Counter[tuple[int, int]] = Counter()
    for line in every:
        retries[line.script, line.second] += line.retries
    assert found.seconds == {key: Counts(ended[key], retries[key], failed[key]) for key in ended.keys() | failed.keys()}
    assert found.failed == Counter(line.how for line in every if line.how)
    assert found.log_bytes == sum(len(gzip.decompress(log.read_bytes())) for log in (CAPTURED / case).glob("log.*.gz"))


@pytest.mark.parametrize("awk", AWKS)
@pytest.mark.parametrize("ahead_us", [1_300_000, -400_001])
def test_times_are_told_by_the_clock_that_counts(tmp_path: Path, awk: str, ahead_us: int) -> None:
    case = next(iter(SHAPES))
    found, every = reduced(tmp_path, case, awk, ahead_us=ahead_us), lines(case)
    moved = Counter((line.script, (line.end_us - ahead_us) // 1_000_000) for line in every if line.us is not None)
    assert {key: counts.ended for key, counts in found.seconds.items() if counts.ended} == moved
    assert found.last_us == max(line.end_us for line in every if line.us is not None) - ahead_us


@pytest.mark.parametrize("case", SHAPES)
def test_window_begins_on_a_whole_second_after_the_ramp_up(tmp_path: Path, case: str) -> None:
    found, every = reduced(tmp_path, case), lines(case)
    ramp_up_s, window_s, _ = SHAPES[case]
    first_us = min(line.end_us - line.us for line in every if line.us is not None)
    assert 0 <= found.window.start - ramp_up_s - first_us / 1e6 < 1
    assert len(found.window) == window_s
    assert max(line.second for line in every) >= found.window.stop, "pgbench ran on until the window was full"


@pytest.mark.parametrize("awk", AWKS)
@pytest.mark.parametrize("case", SHAPES)
def test_latencies_are_the_log_s_within_a_thousandth_and_sums_exact(tmp_path: Path, case: str, awk: str) -> None:
    """Without the lag behind a schedule, of which only the mean is told."""
    found, every = reduced(tmp_path, case, awk), lines(case)
    for script in range(6):
        mine = [line for line in every if line.script == script and line.second in found.window and line.us is not None]
        took = [line.us for line in mine if line.us is not None]
        latencies = found.latencies.get(script, Latencies())
        assert latencies.count == len(took)
        if not took:
            continue
        assert latencies.max_ms == max(took) / 1e3
        assert latencies.mean_ms == pytest.approx(sum(took) / len(took) / 1e3, rel=1e-12)
        assert latencies.lag_mean_ms == pytest.approx(sum(line.lag_us for line in mine) / len(mine) / 1e3, rel=1e-12)
        for share in (0.01, 0.5, 0.95, 0.99, 1.0):
            assert latencies.quantile_ms(share) == pytest.approx(at_rank(took, share) / 1e3, rel=0.001)


@pytest.mark.parametrize("awk", AWKS)
def test_responses_are_from_the_scheduled_start(tmp_path: Path, awk: str) -> None:
    found, every = reduced(tmp_path, "rate", awk), lines("rate")
    mine = [line.us + line.lag_us for line in every if line.us is not None and line.second in found.window]
    responses = merged(found.responses.values())
    assert responses.count == len(mine) == merged(found.latencies.values()).count
    assert responses.max_ms == max(mine) / 1e3
    assert responses.mean_ms == pytest.approx(sum(mine) / len(mine) / 1e3, rel=1e-12)
    for share in (0.01, 0.5, 0.95, 0.99, 1.0):
        assert responses.quantile_ms(share) == pytest.approx(at_rank(mine, share) / 1e3, rel=0.001)
    last = [max(thread, key=lambda line: line.end_us).lag_us for thread in _threads("rate")]
    assert found.behind_us == pytest.approx(sum(last) / len(last))


def _threads(case: str) -> list[list[Line]]:
    """The lines of each of pgbench's threads."""
    logs = sorted((CAPTURED / case).glob("log.*.gz"))
    counts = [len(gzip.decompress(log.read_bytes()).decode().splitlines()) for log in logs]
    every = iter(lines(case))
    return [[line for line in islice(every, count) if line.us is not None] for count in counts]


def test_without_a_rate_there_is_no_scheduled_start(tmp_path: Path) -> None:
    assert reduced(tmp_path, "retries").responses == {}


def test_rate_gives_a_lag_and_retries_are_told_without_one() -> None:
    """So that the cases above have what they are to show."""
    assert sum(line.lag_us for line in lines("rate")) > 0
    assert sum(line.retries for line in lines("rate")) > 0
    assert sum(line.retries for line in lines("retries")) > 0
    assert not any(line.how for line in lines("retries"))
    assert {line.how for line in lines("failures")} == {"", "serialization"}


def test_failures_after_the_window_s_end_are_no_errors(tmp_path: Path) -> None:
    """When pgbench's time is up nothing is tried again, so there are always some."""
    found, every = reduced(tmp_path, "failures"), lines("failures")
    assert found.failed_before_end() == sum(1 for line in every if line.how and line.second < found.window.stop)
    assert 0 < found.failed_before_end() < sum(found.failed.values())


def test_line_cut_off_by_a_crash_counts_nowhere(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    assert reduced(cut, "retries", extra="3 17 2000 0 17953").seconds == reduced(whole, "retries").seconds


def test_log_is_kept_compressed_as_long_as_it_is_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, removed = tmp_path / "kept", tmp_path / "removed"
    kept.mkdir()
    removed.mkdir()
    small = reduced(kept, "retries")
    assert {log.name for log in kept.glob("log.*")} == {log.name for log in (CAPTURED / "retries").glob("log.*")}
    monkeypatch.setattr(pgbench_log, "LOG_KEPT_BYTES_MAX", small.log_bytes - 1)
    large = reduced(removed, "retries")
    assert list(removed.glob("log.*")) == []
    assert small.seconds == large.seconds
    assert not large.is_kept


def test_no_transaction_leaves_nothing_to_read(tmp_path: Path) -> None:
    functions = pgbench_log.functions(ramp_up_s=1, window_s=1, is_retried=True)
    for name, text in pgbench_log.files().items():
        (tmp_path / name).write_text(text)
    (tmp_path / "log.1").write_text("0 1 serialization 2 1795327710 227153 1\n")
    subprocess.run(["bash", "-c", f"set -euo pipefail\n{functions}reduce_log"], cwd=tmp_path, check=True)
    assert pgbench_log.read(tmp_path) is None


@pytest.mark.parametrize(
    ("name", "left"), [("window.txt", ""), ("window.txt", "begin_s"), ("reduced.txt", "second 0 1795327710 3 0")]
)
def test_what_a_full_disk_has_cut_short_is_no_reading(tmp_path: Path, name: str, left: str) -> None:
    reduced(tmp_path, "retries")
    (tmp_path / name).write_text(left)
    assert pgbench_log.read(tmp_path) is None


def test_latencies_of_several_scripts_are_merged_as_of_one() -> None:
    one, other = Latencies({10: (2, 300, 8, 180)}), Latencies({10: (1, 170, 0, 170), 11: (1, 900, 4, 900)})
    both = merged([one, other])
    assert both.buckets == {10: (3, 470, 8, 180), 11: (1, 900, 4, 900)}
    assert (both.count, both.max_ms, both.lag_mean_ms) == (4, 0.9, 0.003)


@pytest.mark.parametrize("awk", AWKS)
def test_think_time_is_no_part_of_a_latency_nor_of_a_response(tmp_path: Path, awk: str) -> None:
    (tmp_path / "as_it_is").mkdir()
    (tmp_path / "without").mkdir()
    found = reduced(tmp_path / "without", "rate", awk, think_time_us=100)
    all_of_it = reduced(tmp_path / "as_it_is", "rate", awk)
    for part, whole in ((found.latencies, all_of_it.latencies), (found.responses, all_of_it.responses)):
        for script, times in part.items():
            assert times.count == whole[script].count
            assert times.mean_ms == pytest.approx(whole[script].mean_ms - 0.1)
            assert times.max_ms == pytest.approx(whole[script].max_ms - 0.1)
    assert found.seconds == all_of_it.seconds
