"""How long each query took at each concurrency, and which did not end: from what the driver noted of each. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from clusterbench.base.records import TrialRecord
from clusterbench.base.words import without_sweep
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.gather import Gathered
from clusterbench.workloads import Workload

WORDS_MAX = 300
"""Of an error: its beginning says what it is."""


@dataclass(frozen=True)
class QueryRow:
    """``medians``: seconds at each level, over streams and repetitions; None where no run of it ended well."""

    query: int
    medians: list[float | None]


@dataclass(frozen=True)
class QueryError:
    query: int
    times: int
    where: str
    words: str


@dataclass(frozen=True)
class QueryTable:
    """One sweep on one platform."""

    platform: str
    levels: list[str]
    rows: list[QueryRow]
    errors: list[QueryError]
    fixed: str
    """Which queries had the same parameters in all streams, and why, in one sentence."""


def is_of_a_query(workload: Workload | None, measurement: str) -> bool:
    """Whether it stands in ``query_tables``, and would only make other tables wide."""
    kind = workload.measurements.get(measurement) if workload else None
    return bool(kind and kind.statement.startswith("query "))


def query_tables(run: Gathered, view: SweepView) -> list[QueryTable]:
    made = (_table(run, view, platform) for platform in view.platforms)
    return [table for table in made if table.rows or table.errors]


def _table(run: Gathered, view: SweepView, platform: str) -> QueryTable:
    own = [r for r in run.trials if (r.trial.platform, r.trial.sweep) == (platform, view.name) and _noted(r)]
    order = {
        result.cell: view.words(result.levels, view.varied) or without_sweep(result.label) for result in view.results
    }
    levels = [label for cell, label in order.items() if any(record.trial.cell == cell for record in own)]
    times: dict[int, dict[str, list[float]]] = {}
    for record in own:
        label = order.get(record.trial.cell, record.trial.cell_label)
        for noted in _noted(record):
            if noted.get("time_s") is not None and not noted.get("error"):
                times.setdefault(int(noted["query"]), {}).setdefault(label, []).append(float(noted["time_s"]))
    rows = [
        QueryRow(query, [median(found[level]) if level in found else None for level in levels])
        for query, found in times.items()
    ]
    return QueryTable(
        platform=platform,
        levels=levels,
        rows=sorted(rows, key=lambda row: (-max(value or 0.0 for value in row.medians), row.query)),
        errors=_errors(own, order),
        fixed=_fixed(own),
    )


def _noted(record: TrialRecord) -> list[Mapping[str, Any]]:
    return (record.evidence.get("driver") or {}).get("queries") or []


def _errors(records: Sequence[TrialRecord], order: Mapping[str, str]) -> list[QueryError]:
    """By query and words, numbers in them apart; those that came most often first."""
    found: dict[tuple[int, str], list[str]] = {}
    said: dict[tuple[int, str], str] = {}
    for record in records:
        for noted in _noted(record):
            if words := " ".join(str(noted.get("error") or "").split()):
                key = (int(noted["query"]), re.sub(r"\d+", "#", words))
                found.setdefault(key, []).append(order.get(record.trial.cell, record.trial.cell_label))
                said.setdefault(key, words if len(words) <= WORDS_MAX else f"{words[:WORDS_MAX]} …")
    errors = [
        QueryError(key[0], len(levels), ", ".join(f"{n} at {level}" for level, n in Counter(levels).items()), said[key])
        for key, levels in found.items()
    ]
    return sorted(errors, key=lambda error: (-error.times, error.query))


def _fixed(records: Sequence[TrialRecord]) -> str:
    """Empty where no trial said so."""
    fixed: dict[str, str] = {}
    for record in records:
        fixed |= {str(q): str(why) for q, why in ((record.evidence["driver"]).get("fixed_parameters") or {}).items()}
    if not fixed:
        return ""
    by_reason: dict[str, list[str]] = {}
    for query in sorted(fixed, key=int):
        by_reason.setdefault(fixed[query], []).append(query)
    reasons = "; ".join(f"{', '.join(queries)} ({reason})" for reason, queries in by_reason.items())
    many = "1 query has" if len(fixed) == 1 else f"{len(fixed)} queries have"
    return f"{many} the qualification values as parameters in every stream: {reasons}."
