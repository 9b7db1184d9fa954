"""What the client host's reduced log says of a mix of scripts -> measurements and details. Pure."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from clusterbench.base.measurements import NO_CLOCK, About, MeasurementKind
from clusterbench.drivers.pgbench import DRIVER_CPU, OPEN_LOOP, open_loop
from clusterbench.drivers.pgbench_log import ReducedLog, merged

PARTS_MAX = 400
"""Points of a line of throughput over time."""
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
SAID = {"p50": "Median latency", "p95": "95th percentile of latency", "p99": "99th percentile of latency"}
SAID |= {"max": "Longest latency"}
NONE_BESIDE: Mapping[str, MeasurementKind] = {}

_FAILED = "transactions that failed for good, and all that ended in the ramp-up or after the window"
THROUGHPUT = About(
    "Transactions of all types that ended within the window, per second of it.",
    leaves_out=f"{_FAILED}; of Order-Entry also New-Orders that were rolled back, as they were meant to be",
)
OF_ONE = About(
    "Transactions of this type that ended within the window, per second of it.",
    leaves_out=_FAILED,
    family="TRANSACTION_per_s",
)
RETRIES = About(
    "How often a transaction was tried again after a serialisation failure or a deadlock, per second of the window.",
)
_HOW_MUCH = {
    "mean": "the mean",
    "p50": "half took at most so long",
    "p95": "95 % took at most so long",
    "p99": "99 % took at most so long",
    "max": "the longest",
}
_LESS = "the wait for its turn in an open loop, think time, and transactions that failed for good"
LATENCY = {
    which: About(
        f"From the begin of a transaction to its end with all its retries, over all types: {much}.", leaves_out=_LESS
    )
    for which, much in _HOW_MUCH.items()
}
LATENCY_OF_ONE = {
    which: About(
        f"The same of the transactions of one type: {much}.", leaves_out=_LESS, family=f"TRANSACTION_ms_{which}"
    )
    for which, much in _HOW_MUCH.items()
}
CHANGE = About(
    "How much throughput rose from the begin to the end of the window, in percent of its mean: a straight line is "
    "fitted to the seconds. Far from 0 the ramp-up was too short, or the data grew."
)
CLIENTS = About(
    "With how many clients the window was measured: as many as were asked for, or as many as a search found.", NO_CLOCK
)


@dataclass(frozen=True)
class Scripts:
    """The scripts of a mix."""

    titles: Mapping[str, str]
    """Of those that are the throughput."""
    numbers: Mapping[str, int]
    """Script -> what the log calls it; also of those that are counted beside."""

    def ended(self, log: ReducedLog, name: str) -> list[int]:
        """In each second of the window."""
        return [counts.ended for counts in log.of_window(self.numbers[name])]

    def throughput(self, log: ReducedLog) -> list[int]:
        """Likewise, of all that are the throughput."""
        return [sum(each) for each in zip(*(self.ended(log, name) for name in self.titles), strict=True)]


def kinds(
    titles: Mapping[str, str],
    shares: Mapping[str, float],
    what: str,
    beside: Mapping[str, MeasurementKind] = NONE_BESIDE,
) -> dict[str, MeasurementKind]:
    """Of scripts with these titles, each drawn with such a share. ``what`` all of them are, in words; ``beside``: what
    is counted of others."""
    return {
        "throughput_per_s": MeasurementKind("1/s", f"Throughput, {what}", "higher", about=THROUGHPUT),
        **{
            f"{name}_per_s": MeasurementKind("1/s", f"{title} throughput", "higher", about=OF_ONE)
            for name, title in titles.items()
        },
        **beside,
        "retries_per_s": MeasurementKind("1/s", "Retries after serialisation failures and deadlocks", about=RETRIES),
        "latency_ms_mean": MeasurementKind("ms", "Mean latency, retries included", about=LATENCY["mean"]),
        **{f"latency_ms_{which}": MeasurementKind("ms", said, about=LATENCY[which]) for which, said in SAID.items()},
        **{
            f"{name}_ms_mean": MeasurementKind(
                "ms", f"Mean latency, {title}", statement=title, weight=shares[name], about=LATENCY_OF_ONE["mean"]
            )
            for name, title in titles.items()
        },
        **{
            f"{name}_ms_{which}": MeasurementKind("ms", f"{said}, {title}", about=LATENCY_OF_ONE[which])
            for name, title in titles.items()
            for which, said in SAID.items()
        },
        **OPEN_LOOP,
        "throughput_change_percent": MeasurementKind(
            "%", "Change of throughput over the window", "neither", about=CHANGE
        ),
        "clients_used": MeasurementKind("1", "Clients", "neither", about=CLIENTS),
        "driver_cpu_share": MeasurementKind(
            "1", "Driver's own share of its threads' processor time", "neither", about=DRIVER_CPU
        ),
    }


def measurements(log: ReducedLog, of: Scripts, rate_per_s: float = 0) -> dict[str, float]:
    """Of the window: transactions count in the second in which they end. Latencies are without lag, with retries.

    With a rate, times from the scheduled start stand beside them, of all scripts together.
    """
    found = {f"{name}_per_s": sum(of.ended(log, name)) / log.window_s for name in of.numbers}
    found["throughput_per_s"] = sum(found[f"{name}_per_s"] for name in of.titles)
    retried = sum(counts.retries for number in of.numbers.values() for counts in log.of_window(number))
    found["retries_per_s"] = retried / log.window_s
    latencies = {name: log.latencies[of.numbers[name]] for name in of.titles if of.numbers[name] in log.latencies}
    every = merged(latencies.values())
    for prefix, some in {"latency": every, **latencies}.items():
        if some.count:
            found |= {f"{prefix}_ms_{which}": some.quantile_ms(share) for which, share in QUANTILES.items()}
            found |= {f"{prefix}_ms_max": some.max_ms, f"{prefix}_ms_mean": some.mean_ms}
    found["throughput_change_percent"] = change_percent(of.throughput(log))
    return found | open_loop(log, rate_per_s)


def too_few(log: ReducedLog, of: Scripts) -> list[str]:
    """Why the window says nothing: transactions of which none ended in it."""
    none = [title for name, title in of.titles.items() if not sum(of.ended(log, name))]
    if not none:
        return []
    said = f"no {', '.join(none)} ended in the window of {log.window_s} s"
    return [f"{said}; make window_s longer, or find out what holds them up"]


def details(log: ReducedLog, of: Scripts, *, clients: int) -> dict[str, Any]:
    """Throughput over time, the mix as it came, what was tried again, and the log's own fate."""
    kept = "it is archived" if log.is_kept else "it was removed from the client host, because it is large"
    in_parts_of = {name: in_parts(of.ended(log, name), PARTS_MAX) for name in of.numbers}
    ended = {name: sum(of.ended(log, name)) for name in of.numbers}
    every = merged(log.latencies.values())
    return {
        "clients": clients,
        "per_second": {name: parts for name, (parts, _) in in_parts_of.items()}
        | {"part_s": next(length for _, length in in_parts_of.values())},
        "mix_percent": {name: round(100 * count / max(1, sum(ended.values())), 3) for name, count in ended.items()},
        "failed_for_good": log.failed,
        "schedule_lag_ms_mean": round(every.lag_mean_ms, 3) if every.count else None,
        "log": f"{log.log_bytes:,} bytes of log were read on the client host; {kept}",
    }


def rows(path: Path) -> list[dict[str, str]]:
    """What psql answered with --csv."""
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def change_percent(per_second: Sequence[float]) -> float:
    """How much the line fitted to the values (least squares) rises from begin to end, in percent of their mean."""
    if len(per_second) < 2 or not any(per_second):
        return 0.0
    slope = statistics.linear_regression(range(len(per_second)), per_second).slope
    return 100 * slope * len(per_second) / statistics.fmean(per_second)


def in_parts(per_second: Sequence[int], most: int) -> tuple[list[float], float]:
    """Values a second over equal parts of the time, ``most`` at most, and how long a part is."""
    seconds = len(per_second)
    parts = min(seconds, most)
    until = list(accumulate(per_second, initial=0))

    def before(part: int) -> float:
        at = part * seconds / parts
        whole = int(at)
        return until[whole] + (at - whole) * (per_second[whole] if whole < seconds else 0)

    length = seconds / parts
    return [round((b - a) / length, 3) for a, b in pairwise(before(part) for part in range(parts + 1))], length
