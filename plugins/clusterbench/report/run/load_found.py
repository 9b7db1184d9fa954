"""How a load was found, by the processors' utilisation or by a limit of latency: every step of the search. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterbench.base.records import TrialRecord
from clusterbench.base.words import plural
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.gather import Gathered
from clusterbench.results.utilisation import TARGET, THROUGHPUT

RESPONSE = "response_ms_p99"


@dataclass(frozen=True)
class LoadSearchRow:
    """Of one trial. ``rows``: clients, rate, CPU, throughput and 99th percentile from the scheduled start of each step.

    The last is of the trial itself.
    """

    platform: str
    trial: str
    found: str
    rows: list[tuple[str, list[float | None]]]


def searches(run: Gathered, view: SweepView) -> list[LoadSearchRow]:
    records = [record for record in run.trials if record.trial.sweep == view.name and _steps(record)]
    order = {name: number for number, name in enumerate(run.platforms)}
    records.sort(key=lambda record: (order.get(record.trial.platform, 0), record.trial.cell, record.trial.repetition))
    return [_search(record) for record in records]


def _load(record: TrialRecord) -> Mapping[str, Any]:
    return record.evidence.get("load") or {}


def _steps(record: TrialRecord) -> list[Mapping[str, Any]]:
    return list(_load(record).get("steps") or [])


def _search(record: TrialRecord) -> LoadSearchRow:
    rows = [(f"step {number}", _values(step)) for number, step in enumerate(_steps(record), 1)]
    used = record.measurements.get("clients_used", _load(record).get("clients"))
    rate = _load(record).get("rate_per_s") or None
    held = f", held at {rate:g} per second" if rate else ""
    if above := _load(record).get("above_per_s"):
        held += f"; the highest rate below the limit is between that and {above:g}"
    found = f"{plural(int(used), 'client')}{held}" if used is not None else record.reason
    if record.measurements:
        measured = [used, rate, *(record.measurements.get(name) for name in (TARGET, THROUGHPUT, RESPONSE))]
        rows.append(("measured", measured))
    return LoadSearchRow(record.trial.platform, record.trial.label.split(": ", 1)[-1], found, rows)


def _values(step: Mapping[str, Any]) -> list[float | None]:
    """A rate of 0 is none: as fast as it goes."""
    load = step.get("load") or step
    measured = (step.get(name) for name in ("cpu_percent", "throughput_per_s", "response_ms"))
    return [load.get("clients"), load.get("rate_per_s") or None, *measured]
