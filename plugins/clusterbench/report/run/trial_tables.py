"""Tables of trials: every trial of a run, and a sweep's measurements in lines. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusterbench.base import database_work
from clusterbench.base.records import TrialRecord
from clusterbench.base.words import ABSENT, share, size, without_sweep
from clusterbench.hosts.resource_use import MEASUREMENTS
from clusterbench.report.run.cell_words import state_of
from clusterbench.report.run.per_type import is_of_a_type, types_of
from clusterbench.report.run.queries import is_of_a_query
from clusterbench.results.gather import Gathered, workload_or_none
from clusterbench.workloads import Workload

TRIAL_MEASUREMENTS = ("throughput", "response_time", "_p50", "_p99", "suite_s", "terasort_s")
"""Which of a workload's measurements stand beside each trial, by a part of their names."""


def trial_columns(run: Gathered) -> list[tuple[str, str]]:
    """(name, title with unit) of the measurements that the list of all trials shows."""
    found: dict[str, str] = {}
    workloads = {record.trial.workload for record in run.trials}
    known = [w for name in sorted(workloads) if (w := workload_or_none(name))]
    kinds = [{n: kind for n, kind in w.measurements.items() if not has_own_section(w, n)} for w in known]
    for part in TRIAL_MEASUREMENTS:
        for measurements in kinds:
            for name, kind in measurements.items():
                if name.startswith(part) or name.endswith(part):
                    found.setdefault(name, f"{kind.title}, {kind.unit}")
    seen = {name for record in run.trials for name in record.measurements}
    return [(name, title) for name, title in found.items() if name in seen]


def trial_rows(run: Gathered, columns: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    every = sorted([*run.trials, *run.without_result], key=lambda record: (record.started_at, record.trial.id))
    return [
        {
            "label": record.trial.label,
            "platform": record.trial.platform,
            "outcome": record.outcome,
            "started_at": record.started_at,
            "measurements": [record.measurements.get(name) for name, _ in columns],
            "caches": _caches(record),
            "driver": share(record.measurements.get("driver_cpu_share")),
            "reason": "; ".join(filter(None, [record.reason, *_before_it(record), *_warnings(record)])),
        }
        for record in every
    ]


def _before_it(record: TrialRecord) -> list[str]:
    prepared = (record.evidence.get("workload") or {}).get("recovered") or []
    return [f"before it, {done}" for done in (*(record.evidence.get("recovered") or []), *prepared)]


def _warnings(record: TrialRecord) -> list[str]:
    """What the driver said beside its numbers: tasks that were run again."""
    return list((record.evidence.get("driver") or {}).get("warnings") or [])


def _caches(record: TrialRecord) -> str:
    """Bytes that were in memory at the start: the evidence, not the intention."""
    caches = record.evidence.get("caches") or {}
    parts = [
        f"{size(caches[key])} {where}"
        for key, where in (("database_bytes", "database"), ("file_system_bytes", "file system"))
        if caches.get(key) is not None
    ]
    if not parts:
        return ABSENT
    total = f" of {size(caches['total_bytes'])}" if caches.get("total_bytes") is not None else ""
    left_by = f", as left by {caches['left_by'] or 'no trial of this run'}" if "left_by" in caches else ""
    return ", ".join(parts) + total + left_by


def has_own_section(workload: Workload | None, measurement: str) -> bool:
    """What the report shows by type or as the system's side; in a line of everything it would be far too wide."""
    if measurement in database_work.MEASUREMENTS or (types_of(workload) and measurement in MEASUREMENTS):
        return True
    return is_of_a_type(workload, measurement) or is_of_a_query(workload, measurement)


def measurement_matrix(view: Any) -> dict[str, Any]:
    """Medians of what a sweep measured, a line per cell; but for what has a section of its own."""
    names = [name for name in view.measured if not has_own_section(view.workload, name)]
    kinds = [view.kind(name) for name in names]
    return {
        "columns": [kind.title + ("" if kind.unit == "1" else f", {kind.unit}") for kind in kinds],
        "rows": [
            {
                "label": without_sweep(result.label),
                "platform": result.platform,
                "state": state_of(result),
                "values": [(s.median if (s := result.measurements.get(name)) else None) for name in names],
            }
            for result in view.results
            if result.measurements
        ],
    }
