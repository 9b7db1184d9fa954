"""Each type of transaction by itself: how many per second, and how long they took. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterbench.base.words import without_sweep
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.statistics import Result
from clusterbench.results.utilisation import THROUGHPUT
from clusterbench.workloads import Workload

LATENCIES = {"p50": "median", "p95": "p95", "p99": "p99", "max": "highest"}
BESIDES = {"rolled_back_per_s": "rolled back, 1/s", "retries_per_s": "retries, 1/s"}
"""Measurements of all types together, of which no type has one of its own."""
ALL = "latency"


@dataclass(frozen=True)
class TypeRow:
    cell: str
    platform: str
    n_of_n: str
    values: list[float | None]


@dataclass(frozen=True)
class TypeTable:
    """A sweep: medians, a group of rows for each type."""

    columns: list[str]
    groups: list[tuple[str, list[TypeRow]]]


def types_of(workload: Workload | None) -> list[str]:
    """Types of transactions, of a workload that measures any by themselves: those with a latency and a rate."""
    known = workload.measurements if workload else {}
    return [name.removesuffix("_ms_p50") for name in known if f"{name.removesuffix('_ms_p50')}_per_s" in known]


def is_of_a_type(workload: Workload | None, measurement: str) -> bool:
    """Whether it stands in ``type_table`` and would only make other tables wide."""
    return any(measurement == f"{name}_per_s" or measurement.startswith(f"{name}_ms_") for name in types_of(workload))


def title_of(kind: str, workload: Workload | None) -> str:
    """As the workload calls it, which may not be there any more; "new_order" as "New-Order", as TPC-C writes it."""
    said = workload.measurements.get(f"{kind}_ms_mean") if workload else None
    return said.statement if said and said.statement else "-".join(part.capitalize() for part in kind.split("_"))


def type_table(view: SweepView) -> TypeTable | None:
    types = types_of(view.workload)
    results = [result for result in view.results if result.measurements]
    if not types or not results:
        return None
    every = [THROUGHPUT, *(f"{ALL}_ms_{name}" for name in LATENCIES), *BESIDES]
    groups = [("All types", [_row(result, every) for result in results])]
    for kind in types:
        names = [f"{kind}_per_s", *(f"{kind}_ms_{name}" for name in LATENCIES)]
        groups.append((title_of(kind, view.workload), [_row(result, names) for result in results]))
    return TypeTable(["1/s", *(f"{title}, ms" for title in LATENCIES.values()), *BESIDES.values()], groups)


def _row(result: Result, names: Sequence[str]) -> TypeRow:
    found = (result.measurements.get(name) for name in names)
    values = [summary.median if summary else None for summary in found]
    return TypeRow(without_sweep(result.label), result.platform, result.n_of_n, values)
