"""Repetitions -> results: n of n, median with its 95 % interval, best. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterbench.base.factors import Level
from clusterbench.base.measurements import Better
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.workloads import load_workload

RESAMPLES = 4000
REPETITIONS_MIN = 3
"""Fewer say nothing of spread, so no interval is given."""
WIDENED_OF_TWO = {3: 1.416, 4: 1.248}
"""Fewest repetitions of a side -> Student's t of 2 (n - 1) degrees of freedom over the normal's 1.96.

Of three and three the bootstrap knows no more than the extremes, and calls one in ten pairs of equals different; so
widened it is one in twenty. From five on it needs no help. Measured: docs/archive.md.
"""
WIDENED_OF_ONE = {3: 4.3, 4: 1.7}
"""The same for a median beside a number that is known: the range of three holds the true median 75 times in 100."""
FloatArray = NDArray[np.floating[Any]]
RankArray = NDArray[np.int64]
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
    """One result a cell, in the order of the cells' names. A planned trial without a record counts as "not_run".

    Lead-ins are in none.
    """
    found = {(record.trial.platform, record.trial.id): record for record in records}
    cells: dict[tuple[str, str], list[Trial]] = {}
    for platform, trials in planned.items():
        for trial in (trial for trial in trials if not trial.lead_in):
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


def summarise(values: Sequence[float], unit: str, better: Better) -> Summary:
    """Median, best and interval of at least one value."""
    array = np.asarray(values, dtype=float)
    best = {"lower": array.min(), "higher": array.max(), "neither": np.median(array)}[better]
    return Summary(unit, len(values), float(np.median(values)), float(best), interval_95(values), list(values))


def ratio(values: Sequence[float], reference: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """Ratio of the medians, and its 95 % bootstrap interval: both are drawn anew, independently.

    The interval is that of percentiles, in logarithms, widened where a side has few repetitions. There is none where a
    value is not above 0. The same values give the same interval.
    """
    value = float(np.median(values)) / float(np.median(reference))
    fewest = min(len(values), len(reference))
    if fewest < REPETITIONS_MIN or min(*values, *reference) <= 0:
        return value, None
    drawn = np.log(_medians_drawn(values, 0)) - np.log(_medians_drawn(reference, 1))
    low, high = _widened(drawn, math.log(value), WIDENED_OF_TWO.get(fewest, 1.0))
    return value, (math.exp(low), math.exp(high))


def ratio_to_number(values: Sequence[float], number: float) -> tuple[float, tuple[float, float] | None]:
    """Ratio of the median to a number that has no repetitions; the interval is of the values alone."""
    value = float(np.median(values)) / number
    if len(values) < REPETITIONS_MIN or min(*values, number) <= 0:
        return value, None
    drawn = np.log(_medians_drawn(values, 0) / number)
    low, high = _widened(drawn, math.log(value), WIDENED_OF_ONE.get(len(values), 1.0))
    return value, (math.exp(low), math.exp(high))


def interval_95(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % percentile bootstrap interval of the median; the same values give the same interval.

    To be shown, not to be judged by: of three values it is their range, which holds the true median 75 times in 100.
    """
    if len(values) < REPETITIONS_MIN:
        return None
    low, high = np.quantile(_medians_drawn(values, 0), [0.025, 0.975])
    return float(low), float(high)


def _widened(drawn: FloatArray, middle: float, times: float) -> tuple[float, float]:
    """Percentiles of what was drawn, ``times`` as far from the middle."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(middle + times * (low - middle)), float(middle + times * (high - middle))


def _medians_drawn(values: Sequence[float], side: int) -> FloatArray:
    """The median of each resample."""
    ordered: FloatArray = np.sort(np.asarray(values, dtype=np.float64))
    low, high = _middle_ranks(len(values), side)
    middle: FloatArray = (ordered[low] + ordered[high]) / 2
    return middle


@lru_cache(maxsize=64)
def _middle_ranks(count: int, side: int) -> tuple[RankArray, RankArray]:
    """Which of ``count`` ordered values are in the middle of each resample: drawn once, for all cells of so many."""
    ranks = np.random.default_rng([count, side]).integers(0, count, (RESAMPLES, count))
    ranks.sort(axis=1)
    return ranks[:, (count - 1) // 2], ranks[:, count // 2]
