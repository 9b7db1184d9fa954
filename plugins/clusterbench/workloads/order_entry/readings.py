"""What the client host's reduced log says of a trial -> measurements and details. Pure."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from clusterbench.base.measurements import MeasurementKind
from clusterbench.drivers.pgbench import OPEN_LOOP, open_loop
from clusterbench.drivers.pgbench_log import ReducedLog, merged
from clusterbench.workloads.order_entry.mix import NUMBER, ROLLED_BACK, TITLES, TRANSACTIONS, WEIGHTS

PARTS_MAX = 400
"""Points of a line of throughput over time."""
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_SAID = {"p50": "Median latency", "p95": "95th percentile of latency", "p99": "99th percentile of latency"}
_SAID |= {"max": "Longest latency"}

MEASUREMENTS: Mapping[str, MeasurementKind] = {
    "throughput_per_s": MeasurementKind("1/s", "Throughput, all five transactions", "higher"),
    **{f"{name}_per_s": MeasurementKind("1/s", f"{title} throughput", "higher") for name, title in TITLES.items()},
    "rolled_back_per_s": MeasurementKind("1/s", "New-Orders rolled back", "neither"),
    "retries_per_s": MeasurementKind("1/s", "Retries after serialisation failures and deadlocks"),
    "latency_ms_mean": MeasurementKind("ms", "Mean latency, retries included"),
    **{f"latency_ms_{which}": MeasurementKind("ms", said) for which, said in _SAID.items()},
    **{
        f"{name}_ms_mean": MeasurementKind(
            "ms", f"Mean latency, {title}", statement=title, weight=WEIGHTS[name] / 10_000
        )
        for name, title in TITLES.items()
    },
    **{
        f"{name}_ms_{which}": MeasurementKind("ms", f"{said}, {title}")
        for name, title in TITLES.items()
        for which, said in _SAID.items()
    },
    **OPEN_LOOP,
    "throughput_change_percent": MeasurementKind("%", "Change of throughput over the window", "neither"),
    "clients_used": MeasurementKind("1", "Clients", "neither"),
    "driver_cpu_share": MeasurementKind("1", "Driver's own share of its threads' processor time", "neither"),
}


def measurements(log: ReducedLog, rate_per_s: float = 0) -> dict[str, float]:
    """Of the window: transactions count in the second in which they end. Latencies are without lag, with retries.

    With a rate, times from the scheduled start stand beside them, of all scripts together.
    """
    found: dict[str, float] = {}
    for name in (*TRANSACTIONS, ROLLED_BACK):
        found[f"{name}_per_s"] = sum(_ended(log, name)) / log.window_s
    found["throughput_per_s"] = sum(found[f"{name}_per_s"] for name in TRANSACTIONS)
    retried = sum(counts.retries for number in NUMBER.values() for counts in log.of_window(number))
    found["retries_per_s"] = retried / log.window_s
    latencies = {name: log.latencies[NUMBER[name]] for name in TRANSACTIONS if NUMBER[name] in log.latencies}
    every = merged(latencies.values())
    for prefix, some in {"latency": every, **latencies}.items():
        if some.count:
            found |= {f"{prefix}_ms_{which}": some.quantile_ms(share) for which, share in QUANTILES.items()}
            found |= {f"{prefix}_ms_max": some.max_ms, f"{prefix}_ms_mean": some.mean_ms}
    found["throughput_change_percent"] = change_percent(_throughput(log))
    return found | open_loop(log, rate_per_s)


def samples(log: ReducedLog) -> int:
    """Transactions that are the window's throughput."""
    return sum(_throughput(log))


def too_few(log: ReducedLog) -> list[str]:
    """Why the window says nothing: transactions of which none ended in it."""
    none = [TITLES[name] for name in TRANSACTIONS if not sum(_ended(log, name))]
    if not none:
        return []
    said = f"no {', '.join(none)} ended in the window of {log.window_s} s"
    return [f"{said}; make window_s longer, or find out what holds them up"]


def not_as_counted(log: ReducedLog, orders_made: int | None) -> list[str]:
    """Where the log and the database do not agree on how many orders were entered, ramp-up and all."""
    counted = log.ended(NUMBER["new_order"])
    if orders_made is None or counted == orders_made:
        return []
    return [f"the driver's log has {counted:,} New-Orders, but the districts counted {orders_made:,} new orders"]


def details(log: ReducedLog, *, clients: int) -> dict[str, Any]:
    """Throughput over time, the mix as it came, what was tried again, and the log's own fate."""
    kept = "it is archived" if log.is_kept else "it was removed from the client host, because it is large"
    in_parts_of = {name: in_parts(_ended(log, name), PARTS_MAX) for name in WEIGHTS}
    ended = {name: sum(_ended(log, name)) for name in WEIGHTS}
    every = merged(log.latencies.values())
    return {
        "clients": clients,
        "per_second": {name: parts for name, (parts, _) in in_parts_of.items()}
        | {"part_s": in_parts_of[ROLLED_BACK][1]},
        "mix_percent": {name: round(100 * count / max(1, sum(ended.values())), 3) for name, count in ended.items()},
        "failed_for_good": log.failed,
        "schedule_lag_ms_mean": round(every.lag_mean_ms, 3) if every.count else None,
        "log": f"{log.log_bytes:,} bytes of log were read on the client host; {kept}",
    }


def facts(log: ReducedLog, *, clients: int) -> dict[str, Any]:
    """Of a row for the suite ``order_entry_trials`` what the log tells."""
    ended = {name: sum(_ended(log, name)) for name in WEIGHTS}
    return {
        "new_orders_counted": log.ended(NUMBER["new_order"]),
        "failed_transactions": log.failed_before_end(),
        "mix_off_by": max(
            off_by(ended[name], sum(ended.values()), WEIGHTS[name] / 10_000, clients) for name in WEIGHTS
        ),
        "throughput_change_percent": change_percent(_throughput(log)),
    }


def off_by(count: int, draws: int, share: float, clients: int = 0) -> float:
    """How many standard deviations ``count`` is from what ``share`` of so many draws is.

    Drawn is what begins, and counted what ends: each client has at most one under way when the window begins, and one
    when it ends. Slow types are more often under way, so that with many clients and slow transactions it matters.
    """
    off = max(0.0, abs(count - draws * share) - clients)
    return off / (draws * share * (1 - share)) ** 0.5 if draws else 0.0


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


def _ended(log: ReducedLog, name: str) -> list[int]:
    """In each second of the window."""
    return [counts.ended for counts in log.of_window(NUMBER[name])]


def _throughput(log: ReducedLog) -> list[int]:
    return [sum(each) for each in zip(*(_ended(log, name) for name in TRANSACTIONS), strict=True)]
