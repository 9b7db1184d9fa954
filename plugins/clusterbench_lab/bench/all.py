"""``make bench`` measures clusterbench: what it costs beside its drivers, its largest sizes, its statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from clusterbench.airflow.api import AirflowApi
from clusterbench.base.archive import CONNECTION_ID, Store
from clusterbench.base.connections import HISTORY, local_connections
from clusterbench.base.errors import ClusterbenchError, suggest
from clusterbench.trial.testbed import Testbed
from clusterbench_lab.bench import (
    against_hand,
    confirmation,
    driver_logs,
    generation,
    history,
    hosts,
    intervals,
    many_files,
    objects,
    own_time,
    rate_search,
    regression,
    retail,
    telemetry,
    terasort,
    watching,
)
from clusterbench_lab.bench.trials import DATABASE, cluster_taken

Part = Callable[[Path], bool]
"""Of the lab's folder. False where a bound does not hold."""


def main(lab_dir: Path, only: Sequence[str] = ()) -> int:
    """Print every figure with its bound, or those of some parts. Returns 0 when all hold.

    Raises:
        ClusterbenchError: no part has such a name.
    """
    for name in only:
        if name not in PARTS:
            raise ClusterbenchError(f"unknown part {name!r} of the benchmarks{suggest(name, PARTS)}")
    return 0 if all([PARTS[name](lab_dir) for name in only or PARTS]) else 1  # noqa: C419 -- one that fails ends nothing


def _say(what: str, value: float, bound: str = "for comparison", *, holds: bool = True) -> bool:
    print(f"{what:84} {value:7.3f}  {bound:14} {'ok' if holds else 'NOT MET'}", flush=True)
    return holds


def _alone(measure: Callable[[Callable[..., bool]], bool]) -> Part:
    """A part that needs no lab."""
    return lambda _lab_dir: measure(_say)


def _on_database(measure: Callable[[Testbed, Callable[..., bool]], bool]) -> Part:
    def part(lab_dir: Path) -> bool:
        with cluster_taken(DATABASE, local_connections(lab_dir)) as testbed:
            return measure(testbed, _say)

    return part


def _history(lab_dir: Path) -> bool:
    return history.measure(local_connections(lab_dir)(HISTORY), _say)


def _objects(lab_dir: Path) -> bool:
    return objects.measure(lab_dir, _say)


def _terasort(lab_dir: Path) -> bool:
    return terasort.measure(local_connections(lab_dir), _say)


def _own_time(lab_dir: Path) -> bool:
    store = Store.of(local_connections(lab_dir)(CONNECTION_ID))
    return own_time.of_a_trial(AirflowApi.from_environment(lab_dir), store, _say)


PARTS: dict[str, Part] = {
    "parsing": _alone(own_time.of_parsing),
    "hosts": _alone(hosts.measure),
    "telemetry": _alone(telemetry.measure),
    "logs": _alone(driver_logs.measure),
    "files": _alone(many_files.measure),
    "generation": _alone(generation.measure),
    "intervals": _alone(intervals.measure),
    "regressions": _alone(regression.measure),
    "rates": _alone(rate_search.measure),
    "confirmation": _alone(confirmation.measure),
    "history": _history,
    "objects": _objects,
    "retail": _on_database(retail.measure),
    "throughput": _on_database(against_hand.measure),
    "sessions": _on_database(watching.measure),
    "terasort": _terasort,
    "own_time": _own_time,
}
"""By the names that ``--only`` knows. Those before ``history`` need no lab."""
