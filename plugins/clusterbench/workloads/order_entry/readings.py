"""What the client host's reduced log says of a trial of Order-Entry. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterbench.base.measurements import About, MeasurementKind
from clusterbench.drivers import mix_readings
from clusterbench.drivers.mix_readings import Scripts, change_percent
from clusterbench.drivers.pgbench_log import ReducedLog
from clusterbench.workloads.order_entry.mix import NUMBER, TITLES, WEIGHTS

SCRIPTS = Scripts(TITLES, NUMBER)
"""Orders that are rolled back are no throughput, and counted beside."""

MEASUREMENTS: Mapping[str, MeasurementKind] = mix_readings.kinds(
    TITLES,
    {name: WEIGHTS[name] / 10_000 for name in TITLES},
    "all five transactions",
    beside={
        "rolled_back_per_s": MeasurementKind(
            "1/s",
            "New-Orders rolled back",
            "neither",
            about=About(
                "New-Orders with an item that does not exist, which the test rolls back on purpose: 1 % of them.",
                leaves_out="transactions that failed",
            ),
        )
    },
)


def samples(log: ReducedLog) -> int:
    """Transactions that are the window's throughput."""
    return sum(SCRIPTS.throughput(log))


def not_as_counted(log: ReducedLog, orders_made: int | None) -> list[str]:
    """Where the log and the database do not agree on how many orders were entered, ramp-up and all."""
    counted = log.ended(NUMBER["new_order"])
    if orders_made is None or counted == orders_made:
        return []
    return [f"the driver's log has {counted:,} New-Orders, but the districts counted {orders_made:,} new orders"]


def facts(log: ReducedLog, *, clients: int) -> dict[str, Any]:
    """Of a row for the suite ``order_entry_trials`` what the log tells."""
    ended = {name: sum(SCRIPTS.ended(log, name)) for name in WEIGHTS}
    return {
        "new_orders_counted": log.ended(NUMBER["new_order"]),
        "failed_transactions": log.failed_before_end(),
        "mix_off_by": max(
            off_by(ended[name], sum(ended.values()), WEIGHTS[name] / 10_000, clients) for name in WEIGHTS
        ),
        "throughput_change_percent": change_percent(SCRIPTS.throughput(log)),
    }


def off_by(count: int, draws: int, share: float, clients: int = 0) -> float:
    """How many standard deviations ``count`` is from what ``share`` of so many draws is.

    Drawn is what begins, and counted what ends: each client has at most one under way when the window begins, and one
    when it ends. Slow types are more often under way, so that with many clients and slow transactions it matters.
    """
    off = max(0.0, abs(count - draws * share) - clients)
    return off / (draws * share * (1 - share)) ** 0.5 if draws else 0.0
