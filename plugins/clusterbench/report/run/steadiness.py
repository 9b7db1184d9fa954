"""Throughput over time: was the measured window steady, in all and of each type of transaction? Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterbench.base.records import TrialRecord
from clusterbench.base.words import number, percent, plural, without_sweep
from clusterbench.report.run.per_type import title_of, types_of
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.gather import Gathered
from clusterbench.results.utilisation import THROUGHPUT

CHANGE = "throughput_change_percent"
STEADY_PERCENT = 10.0
"""A fitted line that rises or falls by more from the window's begin to its end is no steady state."""
POINTS_MAX = 100
"""Of each line: as many as a small figure can show."""


@dataclass(frozen=True)
class Steadiness:
    """The best repetition of one cell. ``lines``: title of a type -> transactions per second, in equal parts."""

    platform: str
    cell: str
    repetition: int
    part_s: float
    lines: Mapping[str, Sequence[float]]
    trend: str
    word: str
    """steady, not steady, or nothing where no trend was measured."""
    others: str

    @property
    def total(self) -> list[float]:
        return [sum(values) for values in zip(*self.lines.values(), strict=True)]

    @property
    def sentence(self) -> str:
        mean = number(sum(self.total) / len(self.total))
        said = ", ".join(filter(None, [f"{mean} per second", self.trend, self.word]))
        return f"Throughput over time, {self.cell}, {self.platform}: {said}; {self.others}"


def steadiness(run: Gathered, views: Sequence[SweepView]) -> dict[str, list[Steadiness]]:
    """Title of a sweep -> its cells, in the order of the results."""
    found: dict[str, list[Steadiness]] = {}
    for view in views:
        for result in view.results:
            records = [r for r in run.trials if (r.trial.platform, r.trial.cell) == (result.platform, result.cell)]
            known = [record for record in records if record.outcome == "completed" and _counts(record, view)]
            if known:
                best = max(known, key=lambda record: record.measurements.get(THROUGHPUT, 0.0))
                others = [record for record in known if record is not best]
                found.setdefault(view.title, []).append(_of(best, others, view, without_sweep(result.label)))
    return found


def _counts(record: TrialRecord, view: SweepView) -> Mapping[str, Sequence[float]]:
    """Transactions of each type in each part of the window, where the driver noted any; rolled back ones are none."""
    noted = (record.evidence.get("driver") or {}).get("per_second") or {}
    return {name: noted[name] for name in types_of(view.workload) if noted.get(name)}


def _of(best: TrialRecord, others: Sequence[TrialRecord], view: SweepView, cell: str) -> Steadiness:
    counts = _counts(best, view)
    part_s = float(best.evidence["driver"]["per_second"]["part_s"])
    together = max(1, -(-max(map(len, counts.values())) // POINTS_MAX))
    change = best.measurements.get(CHANGE)
    return Steadiness(
        platform=best.trial.platform,
        cell=cell,
        repetition=best.trial.repetition,
        part_s=part_s * together,
        lines={title_of(name, view.workload): _merged(values, together, part_s) for name, values in counts.items()},
        trend="trend not measured" if change is None else f"{_signed(change)} over the window",
        word="" if change is None else "steady" if abs(change) <= STEADY_PERCENT else "not steady",
        others=_others(others),
    )


def _merged(counts: Sequence[float], together: int, part_s: float) -> list[float]:
    """Per second, over so many parts; a last span that is shorter counts as long as it is."""
    spans = [counts[first : first + together] for first in range(0, len(counts), together)]
    return [sum(span) / (len(span) * part_s) for span in spans]


def _others(records: Sequence[TrialRecord]) -> str:
    measured = [record.measurements[CHANGE] for record in records if CHANGE in record.measurements]
    changes = ", ".join(map(_signed, measured))
    said = f"the {'other' if len(records) == 1 else 'others'} {changes}" if changes else ""
    return ", ".join(
        filter(None, [f"best of {plural(len(records) + 1, 'repetition')}" if records else "the only repetition", said])
    )


def _signed(change: float) -> str:
    return percent(change, is_signed=True, decimals=1)
