"""Repetitions -> results: n of n, median with its 95 % interval, best. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from clusterbench.records import Trial, TrialRecord
from clusterbench.workloads import Level, load_workload

RESAMPLES = 4000
REPETITIONS_MIN = 3
"""Fewer say nothing of spread, so no interval is given."""
GIVEN_UP = re.compile(r"(series .* was )?given up\b")
"""How the reason of a trial begins that its series no longer came to: ``series.given_up``."""


@dataclass(frozen=True)
class Summary:
    """One measurement over the completed repetitions of a cell; ``values`` in the order of the repetitions."""

    unit: str
    n: int
    median: float
    best: float
    interval_95: tuple[float, float] | None
    values: list[float]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Summary:
        bounds = data["interval_95"]
        return cls(**{**data, "interval_95": (bounds[0], bounds[1]) if bounds else None})


@dataclass(frozen=True)
class Result:
    """One cell of a results table. A cell that did not complete is an answer too: ``outcomes`` and ``reasons``."""

    platform: str
    sweep: str
    cell: str
    label: str
    levels: dict[str, Level]
    planned: int
    completed: int
    outcomes: dict[str, int]
    reasons: list[str]
    measurements: dict[str, Summary] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Result:
        measurements = {name: Summary.from_json(entry) for name, entry in data["measurements"].items()}
        return cls(**{**data, "measurements": measurements})

    @property
    def n_of_n(self) -> str:
        return f"{self.completed} of {self.planned}"

    @property
    def was_given_up(self) -> bool:
        """Whether repetitions were left out because a lower level had failed, which is a finding, too."""
        return any(GIVEN_UP.match(reason) for reason in self.reasons)


def results(planned: Mapping[str, Sequence[Trial]], records: Iterable[TrialRecord]) -> list[Result]:
    """One result a cell, in the order of the cells' names. A planned trial without a record counts as "not_run"."""
    found = {(record.trial.platform, record.trial.id): record for record in records}
    cells: dict[tuple[str, str], list[Trial]] = {}
    for platform, trials in planned.items():
        for trial in trials:
            cells.setdefault((platform, trial.cell), []).append(trial)
    return [
        _result(sorted(trials, key=lambda trial: trial.repetition), found)
        for _, trials in sorted(cells.items(), key=lambda item: (item[0][0], _sort_key(item[1][0])))
    ]


def _sort_key(trial: Trial) -> tuple[Any, ...]:
    """By sweep, then by levels, numbers as numbers."""
    return (trial.sweep, *((isinstance(level, str), level) for level in trial.levels.values()))


def _result(trials: list[Trial], found: Mapping[tuple[str, str], TrialRecord]) -> Result:
    records = [found.get((trial.platform, trial.id)) for trial in trials]
    completed = [record for record in records if record and record.outcome == "completed"]
    first = trials[0]
    kinds = load_workload(first.workload).measurements
    names = [name for name in kinds if any(name in record.measurements for record in completed)]
    return Result(
        platform=first.platform,
        sweep=first.sweep,
        cell=first.cell,
        label=first.cell_label,
        levels=first.levels,
        planned=len(trials),
        completed=len(completed),
        outcomes=dict(Counter(record.outcome if record else "not_run" for record in records)),
        reasons=list(dict.fromkeys(record.reason for record in records if record and record.reason)),
        measurements={
            name: summarise([record.measurements[name] for record in completed], kinds[name].unit, kinds[name].better)
            for name in names
        },
    )


def summarise(values: Sequence[float], unit: str, better: Literal["lower", "higher", "neither"]) -> Summary:
    """Median, best and interval of at least one value."""
    array = np.asarray(values, dtype=float)
    best = {"lower": array.min(), "higher": array.max(), "neither": np.median(array)}[better]
    return Summary(unit, len(values), float(np.median(values)), float(best), interval_95(values), list(values))


def ratio(values: Sequence[float], reference: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """Ratio of the medians, and its 95 % percentile bootstrap interval: both are drawn anew, independently."""
    value = float(np.median(values)) / float(np.median(reference))
    if min(len(values), len(reference)) < REPETITIONS_MIN:
        return value, None
    chance = np.random.default_rng([len(values), len(reference)])
    drawn, under = (
        np.median(chance.choice(np.asarray(each, dtype=float), (RESAMPLES, len(each))), axis=1)
        for each in (values, reference)
    )
    low, high = np.quantile(drawn / under, [0.025, 0.975])
    return value, (float(low), float(high))


def interval_95(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % percentile bootstrap interval of the median; the same values give the same interval."""
    if len(values) < REPETITIONS_MIN:
        return None
    drawn = np.random.default_rng(len(values)).choice(np.asarray(values, dtype=float), (RESAMPLES, len(values)))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return float(low), float(high)
