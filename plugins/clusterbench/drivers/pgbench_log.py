"""pgbench's log, made small on the client host: at full scale it is 120 million lines.

What is left of it are counts per script and second, how much each client did, and of the measured window a histogram of
latencies per script. Its buckets are 1 us wide below a millisecond and 0.1 % above, and a quantile is the mean of its
bucket's latencies, so it is off by 0.1 % at most. Counts, sums, the longest latency, the first begin and last end are
exact. In archives made before, buckets are 0.5 % wide.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from clusterbench.base.paths import own_or_built_in
from clusterbench.base.scripts import script

log = logging.getLogger(__name__)

LOG_KEPT_BYTES_MAX = 64_000_000
"""Up to here the log goes to the archive, compressed; a larger one is removed from the client host."""

OUTPUTS = ("log.*.gz", "reduced.txt", "window.txt")
"""A log that nobody has made small stays on the client host, however large it is: its job was killed."""

PROGRAMS = ("first", "reduce", "merge")
"""In awk: ``include/drivers/pgbench_log_*.awk``."""


def files() -> dict[str, str]:
    """What a job needs beside it for ``functions``."""
    files = {name: own_or_built_in(f"include/drivers/pgbench_log_{name}.awk") for name in PROGRAMS}
    return {f"{name}.awk": file.read_text(encoding="utf-8") for name, file in files.items()}


def functions(
    *,
    ramp_up_s: int = 0,
    window_s: int = 0,
    is_throttled: bool = False,
    is_retried: bool = False,
    think_time_us: int = 0,
    begin_s: int = 0,
    ahead_us: int = 0,
) -> str:
    """Bash with a function ``reduce_log``, by which ``log.*`` becomes ``reduced.txt`` and ``window.txt``.

    The window begins so many whole seconds after the second in which the first transaction began. Where it has no
    length, all of the log is the window. ``is_retried``: a transaction may be tried more than once. ``think_time_us``:
    how long each sleeps at its end, which is no part of its latency. ``begin_s``: the epoch second in which the window
    begins, where it is not to be told from the first transaction. ``ahead_us``: by how much the host's clock is
    ahead of the one by which all times are reported.
    """
    return script(
        "drivers/pgbench_log",
        ramp_up_s=ramp_up_s,
        window_s=window_s,
        throttled=int(is_throttled),
        retried=int(is_retried),
        think_time_us=think_time_us,
        begin_s=begin_s,
        ahead_us=ahead_us,
        log_kept_bytes_max=LOG_KEPT_BYTES_MAX,
    )


@dataclass(frozen=True)
class Latencies:
    """Of some transactions: per bucket how many, their sum, their lag's sum and the longest, in us."""

    buckets: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(bucket[0] for bucket in self.buckets.values())

    @property
    def mean_ms(self) -> float:
        return sum(bucket[1] for bucket in self.buckets.values()) / self.count / 1e3

    @property
    def lag_mean_ms(self) -> float:
        return sum(bucket[2] for bucket in self.buckets.values()) / self.count / 1e3

    @property
    def max_ms(self) -> float:
        return max(bucket[3] for bucket in self.buckets.values()) / 1e3

    def quantile_ms(self, share: float) -> float:
        """The latency that so great a share of the transactions did not exceed."""
        wanted, seen = share * self.count, 0
        for _, (count, sum_us, _, _) in sorted(self.buckets.items()):
            seen += count
            if seen >= wanted:
                return sum_us / count / 1e3
        raise ValueError("no latencies")


@dataclass(frozen=True)
class Counts:
    """Of one script in one second: transactions that ended well in it, retries, and what failed for good."""

    ended: int = 0
    retries: int = 0
    failed: int = 0


@dataclass(frozen=True)
class ReducedLog:
    begin_s: int
    window_s: int
    log_bytes: int
    seconds: dict[tuple[int, int], Counts]
    """(script, epoch second) -> counts, also outside the window."""
    latencies: dict[int, Latencies]
    """Script -> of the window."""
    failed: dict[str, int]
    """How ("serialization", "deadlock") -> how many failed for good, over the whole log."""
    clients: int = 0
    """That ended a transaction."""
    rate_per_s: float | None = None
    """What all clients did, each over the time from its first transaction's begin to its last one's end. None where the
    log does not report, as in archives made before."""
    responses: dict[int, Latencies] = field(default_factory=dict)
    """As ``latencies``, from the time at which a transaction was to begin; only where pgbench had a rate."""
    behind_us: float = 0.0
    """How far the last transactions of pgbench's threads began behind their schedule, in the mean."""
    first_us: int = 0
    """Epoch microseconds in which the first transaction began, and those in which the last one ended; 0: not told."""
    last_us: int = 0

    @property
    def is_kept(self) -> bool:
        return self.log_bytes <= LOG_KEPT_BYTES_MAX

    @property
    def window(self) -> range:
        return range(self.begin_s, self.begin_s + self.window_s)

    def of_window(self, script: int) -> list[Counts]:
        return [self.seconds.get((script, second), Counts()) for second in self.window]

    def ended(self, script: int) -> int:
        """Over the whole log."""
        return sum(counts.ended for (one, _), counts in self.seconds.items() if one == script)

    def ended_per_s(self) -> float:
        """Over the window; where all of the log is the window, over the time in which clients worked."""
        if self.window_s:
            return (
                sum(counts.ended for (_, second), counts in self.seconds.items() if second in self.window)
                / self.window_s
            )
        took_s = (self.last_us - self.first_us) / 1e6
        return sum(counts.ended for counts in self.seconds.values()) / took_s if took_s > 0 else 0.0

    def failed_before_end(self) -> int:
        """What failed for good before the window's end. Later ones count nowhere: they had no time for a retry."""
        return sum(counts.failed for (_, second), counts in self.seconds.items() if second < self.window.stop)


DRIVERS = "drivers"
"""The folder of an output in which each other driver of the same load has one of its own."""


def read_all(output: Path) -> ReducedLog | None:
    """As ``read``, of all drivers of one load, by the first one's clock. None if one left nothing."""
    found = [read(folder) for folder in (output, *others(output))]
    if any(one is None for one in found):
        return None
    first, *rest = [one for one in found if one]
    for one in rest:
        first = _with(first, one)
    return first


def others(output: Path) -> list[Path]:
    """Folders of the other drivers."""
    folder = output / DRIVERS
    return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def _with(one: ReducedLog, other: ReducedLog) -> ReducedLog:
    """Both as of one load. In archives made before, each one's window was reported by its own clock."""
    shift_s = one.begin_s - other.begin_s
    seconds = dict(one.seconds)
    for (number, second), counts in other.seconds.items():
        mine = seconds.get((number, second + shift_s), Counts())
        seconds[number, second + shift_s] = Counts(
            mine.ended + counts.ended, mine.retries + counts.retries, mine.failed + counts.failed
        )
    both = dict.fromkeys([*one.failed, *other.failed])
    rates = (one.rate_per_s, other.rate_per_s)
    return replace(
        one,
        log_bytes=max(one.log_bytes, other.log_bytes),
        seconds=seconds,
        latencies=_both(one.latencies, other.latencies),
        failed={how: one.failed.get(how, 0) + other.failed.get(how, 0) for how in both},
        clients=one.clients + other.clients,
        rate_per_s=None if None in rates else sum(filter(None, rates)),
        responses=_both(one.responses, other.responses),
        behind_us=(one.behind_us + other.behind_us) / 2,
        first_us=min(one.first_us, other.first_us + shift_s * 1_000_000),
        last_us=max(one.last_us, other.last_us + shift_s * 1_000_000),
    )


def _both(one: Mapping[int, Latencies], other: Mapping[int, Latencies]) -> dict[int, Latencies]:
    none = Latencies()
    return {number: merged((one.get(number, none), other.get(number, none))) for number in {**one, **other}}


def read(output: Path) -> ReducedLog | None:
    """What the client host left of the log. None where no transaction ended, or a full disk has cut the files short."""
    if not (output / "window.txt").exists():
        return None
    try:
        return _read(output)
    except (KeyError, ValueError) as error:
        log.warning("what was left of pgbench's log is cut short: %s", error)
        return None


def _read(output: Path) -> ReducedLog:
    window = {name: int(value) for name, value in _words(output / "window.txt")}
    seconds: dict[tuple[int, int], Counts] = {}
    buckets: dict[str, dict[int, dict[int, tuple[int, int, int, int]]]] = {"latency": {}, "response": {}}
    failed: dict[str, int] = {}
    clients, first_us, last_us, behind_us = 0, 0, 0, 0.0
    rates: list[float] = []
    for kind, number, key, *values in _words(output / "reduced.txt"):
        a, b, c, d = map(int, values)
        if kind == "second":
            seconds[int(number), int(key)] = Counts(a, b, c)
        elif kind in buckets:
            buckets[kind].setdefault(int(number), {})[int(key)] = (a, b, c, d)
        elif kind == "failed":
            failed[key] = failed.get(key, 0) + a
        elif kind == "client":
            clients += 1
            rates += [1e6 * a / (d - b)] if d > b else []
        else:
            first_us, last_us, behind_us = a, d, c / b if b else 0.0
    latencies, responses = (
        {number: Latencies(found) for number, found in of_kind.items()} for of_kind in buckets.values()
    )
    told = (window["begin_s"], window["window_s"], window["log_bytes"])
    rate = sum(rates) if len(rates) == clients else None
    return ReducedLog(*told, seconds, latencies, failed, clients, rate, responses, behind_us, first_us, last_us)


def merged(parts: Iterable[Latencies]) -> Latencies:
    """The latencies of several scripts as of one."""
    found: dict[int, tuple[int, int, int, int]] = {}
    for part in parts:
        for key, bucket in part.buckets.items():
            count, sum_us, lag_us, longest = found.get(key, (0, 0, 0, 0))
            found[key] = (count + bucket[0], sum_us + bucket[1], lag_us + bucket[2], max(longest, bucket[3]))
    return Latencies(found)


def _words(path: Path) -> Iterator[list[str]]:
    with path.open() as lines:
        yield from (line.split() for line in lines)
