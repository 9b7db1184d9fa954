"""What the database did while a sweep was measured: its own totals, and what its sessions waited for. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from clusterbench.base.database_work import MEASUREMENTS
from clusterbench.base.records import TrialRecord
from clusterbench.base.words import number, without_sweep
from clusterbench.report.run import segments
from clusterbench.report.run.segments import SegmentRow
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.gather import Gathered
from clusterbench.results.lock_holders import held_by

WAITS_SHOWN = 4
STATEMENTS_SHOWN = 5
"""Of a cell; the record has twenty."""


@dataclass(frozen=True)
class DatabaseRow:
    """Medians of a cell, and its longest waits in words."""

    cell: str
    platform: str
    values: list[float | None]
    waits: str


@dataclass(frozen=True)
class StatementRow:
    """What the server counted of a statement in all trials of a cell."""

    cell: str
    platform: str
    statement: str
    calls: float
    mean_ms: float
    share: float
    """Of the time of all statements that it counted."""
    read_mb: float


@dataclass(frozen=True)
class DatabaseTable:
    """``problem``: why sessions were not looked at, where they were to be."""

    columns: list[str]
    rows: list[DatabaseRow]
    problem: str = ""
    statements: list[StatementRow] = field(default_factory=list)
    segments: list[SegmentRow] = field(default_factory=list)

    @property
    def has_waits(self) -> bool:
        return any(row.waits for row in self.rows)


def database_table(run: Gathered, view: SweepView) -> DatabaseTable | None:
    """None where the engine counts nothing of it."""
    names = [name for name in view.measured if name in MEASUREMENTS]
    if not names:
        return None
    of_cell: dict[tuple[str, str], list[TrialRecord]] = {}
    for record in run.trials:
        of_cell.setdefault((record.trial.platform, record.trial.cell), []).append(record)
    kinds = [MEASUREMENTS[name] for name in names]
    cells = [
        (without_sweep(result.label), result.platform, of_cell.get((result.platform, result.cell), []))
        for result in view.results
    ]
    return DatabaseTable(
        [kind.title + ("" if kind.unit == "1" else f", {kind.unit}") for kind in kinds],
        [
            DatabaseRow(
                without_sweep(result.label),
                result.platform,
                [summary.median if (summary := result.measurements.get(name)) else None for name in names],
                _waits(of_cell.get((result.platform, result.cell), [])),
            )
            for result in view.results
            if result.measurements
        ],
        next(filter(None, (_told(record).get("problem", "") for record in run.trials)), ""),
        [row for cell in cells for row in _statements(*cell)],
        [row for cell in cells if (row := segments.row_of(*cell))],
    )


def _statements(cell: str, platform: str, records: Sequence[TrialRecord]) -> list[StatementRow]:
    """Those of the most time, where the server has pg_stat_statements."""
    summed: dict[str, Counter[str]] = {}
    for record in records:
        for one in (record.evidence.get("after") or {}).get("statements") or ():
            numbers = {name: value for name, value in one.items() if name != "statement"}
            summed.setdefault(one["statement"], Counter()).update(numbers)
    total_ms = sum(one["time_ms"] for one in summed.values())
    most = sorted(summed.items(), key=lambda item: -item[1]["time_ms"])[:STATEMENTS_SHOWN]
    return [
        StatementRow(
            cell,
            platform,
            text,
            did["calls"],
            did["time_ms"] / did["calls"],
            did["time_ms"] / total_ms,
            did["read_bytes"] / 1e6,
        )
        for text, did in most
        if total_ms
    ]


def _told(record: TrialRecord) -> dict[str, str]:
    return dict(record.evidence.get("waits") or {})


def _waits(records: Sequence[TrialRecord]) -> str:
    """Those of the most sessions, in the mean of the trials that looked: "Lock relation of query 64: 2.1"."""
    looked = [found for record in records if (found := (record.evidence.get("waits") or {}).get("waits")) is not None]
    summed: Counter[str] = Counter()
    for waits in looked:
        for wait in waits:
            event = "" if wait["event"] == "-" else f" {wait['event']}"
            statement = "" if wait["statement"] == "-" else f" of {wait['statement']}"
            summed[f"{wait['type']}{event}{statement}"] += wait["sessions"]
    said = [f"{name}: {number(count / len(looked), 2)}" for name, count in summed.most_common(WAITS_SHOWN)]
    return "; ".join(filter(None, [*said, held_by(records)]))
