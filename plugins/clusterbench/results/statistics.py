"""Repetitions -> results: n of n, median with its 95 % interval, best. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterbench.base.factors import Level
from clusterbench.base.measurements import Better
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.trial.turns import pair_key
from clusterbench.workloads import load_workload

REPETITIONS_MIN = 3
"""Fewer say nothing of spread, so no interval is given."""
RANKS_MIN = 6
"""From so many values on an interval of ranks holds 95 %: of five even their range holds the median 15 times in 16."""
CONFIDENCE = 0.95
FloatArray = NDArray[np.floating[Any]]
WIDER = {3: 1.4, 4: 1.3}
WIDER_LATER = 1.2
"""Intervals of cells that were measured until they were firm, by the repetitions from which on that was looked at."""
GIVEN_UP = re.compile(r"((ramp|series) .* was )?given up\b")
"""How the reason of a trial begins that its ramp no longer came to: ``ramp.given_up``.

In archives of 0.2 and before a ramp is called a series."""


@dataclass(frozen=True)
class Summary:
    """One measurement over the completed repetitions of a cell; ``values`` in the order of the repetitions."""

    unit: str
    n: int
    median: float
    best: float
    interval_95: tuple[float, float] | None
    values: list[float]
    paired_by: list[str] = field(default_factory=list)
    """Of each value ``turns.pair_key`` of its trial; empty where trials were not measured in turns."""

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
    not_needed: str = ""
    """Why it was not measured more often, where it could have been."""
    plans: dict[str, str] = field(default_factory=dict)
    """Statement -> fingerprint of its plan, of statements that a database plans."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Result:
        measurements = {name: Summary.from_json(entry) for name, entry in data["measurements"].items()}
        return cls(**{**data, "measurements": measurements})

    @property
    def n_of_n(self) -> str:
        return f"{self.completed} of {self.planned}" + (", firm" if self.not_needed and self.completed else "")

    @property
    def was_given_up(self) -> bool:
        """Whether repetitions were left out because a lower level had failed, which is a finding, too."""
        return any(GIVEN_UP.match(reason) for reason in self.reasons)


def results(
    planned: Mapping[str, Sequence[Trial]], records: Iterable[TrialRecord], in_turns: Collection[str] = ()
) -> list[Result]:
    """One result a cell, in the order of the cells' names. A planned trial without a record counts as "not_run".

    Lead-ins and profiled trials are in none. ``in_turns``: platforms whose trials alternated.
    """
    found = {(record.trial.platform, record.trial.id): record for record in records}
    cells: dict[tuple[str, str], list[Trial]] = {}
    for platform, trials in planned.items():
        for trial in (trial for trial in trials if trial.makes_result):
            cells.setdefault((platform, trial.cell), []).append(trial)
    return [
        _result(sorted(trials, key=lambda trial: trial.repetition), found, in_turns)
        for _, trials in sorted(cells.items(), key=lambda item: (item[0][0], _sort_key(item[1][0])))
    ]


def _sort_key(trial: Trial) -> tuple[Any, ...]:
    """By sweep, then by levels, numbers as numbers."""
    return (trial.sweep, *((isinstance(level, str), level) for level in trial.levels.values()))


def _result(trials: list[Trial], found: Mapping[tuple[str, str], TrialRecord], in_turns: Collection[str]) -> Result:
    """Repetitions that were not needed are none that were planned.

    A measurement that only some repetitions have is that of those: a disk of which nothing was read in a window has no
    mean size of a read.
    """
    every = [found.get((trial.platform, trial.id)) for trial in trials]
    unneeded = [record.reason for record in every if record and record.outcome == "not_needed"]
    records = [record for record in every if record is None or record.outcome != "not_needed"]
    completed = [record for record in records if record and record.outcome == "completed"]
    keys = {record.trial.id: pair_key(record.trial, in_turns) for record in completed}
    first = trials[0]
    kinds = load_workload(first.workload).measurements
    return Result(
        platform=first.platform,
        sweep=first.sweep,
        cell=first.cell,
        label=first.cell_label,
        levels=first.levels,
        planned=len(records),
        completed=len(completed),
        outcomes=dict(Counter(record.outcome if record else "not_run" for record in records)),
        reasons=list(dict.fromkeys(record.reason for record in records if record and record.reason)),
        measurements={
            name: summarise(
                [record.measurements[name] for record in measured],
                kinds[name].unit,
                kinds[name].better,
                stopped_from=first.until.at_least if first.until else None,
                paired_by=[key for record in measured if (key := keys[record.trial.id])],
            )
            for name in kinds
            if (measured := [record for record in completed if name in record.measurements])
        },
        not_needed=next(iter(unneeded), ""),
        plans=next((dict(noted) for record in completed if (noted := record.evidence.get("plans"))), {}),
    )


def summarise(
    values: Sequence[float],
    unit: str,
    better: Better,
    stopped_from: int | None = None,
    paired_by: Sequence[str] = (),
) -> Summary:
    """Median, best and interval of at least one value. ``stopped_from``: see ``interval_of_stopped``."""
    array = np.asarray(values, dtype=float)
    best = {"lower": array.min(), "higher": array.max(), "neither": np.median(array)}[better]
    interval = interval_95(values) if stopped_from is None else interval_of_stopped(values, stopped_from)
    return Summary(unit, len(values), float(np.median(values)), float(best), interval, list(values), [*paired_by])


def interval_of_stopped(values: Sequence[float], at_least: int) -> tuple[float, float] | None:
    """As ``interval_95`` where repetitions ended because it was narrow enough, looked at from ``at_least`` of them on.

    Who looks until it is narrow finds it where it happens to be too narrow. So it is this much wider around the median,
    by which simulated ones hold 95 % (docs/method.md).
    """
    found, middle = interval_95(values), median_of(values)
    if found is None:
        return None
    wider = WIDER.get(at_least, WIDER_LATER)
    if min(*found, middle) <= 0:
        return middle - wider * (middle - found[0]), middle + wider * (found[1] - middle)
    return middle * (found[0] / middle) ** wider, middle * (found[1] / middle) ** wider


def median_of(values: Sequence[float]) -> float:
    return float(np.median(values))


def ratio(values: Sequence[float], reference: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """Ratio of the medians, and its 95 % interval. There is no interval where a value is not above 0.

    Where a side has fewer than ``RANKS_MIN`` repetitions: Student's t of the logarithms, with a variance for each side
    (Welch 1947). Else both sides' intervals of the median, put together as errors of a difference of logarithms are
    (Zou and Donner 2008), so that it is asymmetric where they are.

    Raises ValueError where the reference's median is 0.
    """
    if (middle := float(np.median(reference))) == 0:
        raise ValueError("a ratio to a median of 0 is no number")
    value = float(np.median(values)) / middle
    fewest = min(len(values), len(reference))
    if fewest < REPETITIONS_MIN or min(*values, *reference) <= 0:
        return value, None
    ours, theirs = np.log(np.asarray(values, dtype=float)), np.log(np.asarray(reference, dtype=float))
    low, high = _welch(ours, theirs) if fewest < RANKS_MIN else _of_two_medians(ours, theirs)
    return value, (math.exp(low), math.exp(high))


def p_value(values: Sequence[float], reference: Sequence[float]) -> float | None:
    """How often equals would lie as far apart: Welch's t of the logarithms. None where ``ratio`` has no interval."""
    if min(len(values), len(reference)) < REPETITIONS_MIN or min(*values, *reference) <= 0:
        return None
    logs = (np.log(np.asarray(side, dtype=float)) for side in (values, reference))
    difference, error, freedom = _difference(*logs)
    if not error:
        return float(not difference)
    return student_p(difference / error, freedom)


def ratio_of_two(ours: Summary, reference: Summary) -> tuple[float, tuple[float, float] | None]:
    """As ``ratio``; of trials that were measured in turns the median of what each is to its neighbour.

    What changes slowly is the same in both of a pair, so it is not in the interval of these (``interval_95``). Raises
    ValueError where the reference's median is 0.
    """
    if pairs := in_pairs(ours, reference):
        return median_of(pairs), interval_95(pairs)
    return ratio(ours.values, reference.values)


def p_value_of_two(ours: Summary, reference: Summary) -> float | None:
    """As ``p_value``; of neighbours in time Student's t of the logarithms of their ratios."""
    if not (pairs := in_pairs(ours, reference)):
        return p_value(ours.values, reference.values)
    logs = np.log(np.asarray(pairs, dtype=float))
    error = float(logs.std(ddof=1)) / math.sqrt(len(logs))
    if not error:
        return float(not logs.mean())
    return student_p(float(logs.mean()) / error, len(logs) - 1)


def in_pairs(ours: Summary, reference: Summary) -> list[float]:
    """What each value is to its neighbour's; empty where not every trial of either has one, or they are too few.

    So no repetition is left out. A value that is not above 0 has no ratio, and then none has.
    """
    if ours.paired_by != reference.paired_by or len(ours.paired_by) < REPETITIONS_MIN:
        return []
    if min(*ours.values, *reference.values) <= 0:
        return []
    return [a / b for a, b in zip(ours.values, reference.values, strict=True)]


def ratio_to_number(values: Sequence[float], number: float) -> tuple[float, tuple[float, float] | None]:
    """Ratio of the median to a number that has no repetitions; the interval is of the values alone.

    Raises ValueError where the number is 0.
    """
    if number == 0:
        raise ValueError("a ratio to 0 is no number")
    value = float(np.median(values)) / number
    found = interval_95(values)
    if found is None or min(*values, number) <= 0:
        return value, None
    return value, (found[0] / number, found[1] / number)


def interval_95(values: Sequence[float]) -> tuple[float, float] | None:
    """95 % interval of the median; none of fewer than ``REPETITIONS_MIN`` values.

    From ``RANKS_MIN`` on it is between ordered values, so that it holds whatever the distribution: two neighbouring
    ranks' exact chances are interpolated to 95 % (Hettmansperger and Sheather 1986, Nyblom 1992). Fewer values cannot
    reach 95 % by ranks. Theirs is Student's t, of the logarithms where all are above 0, around their mean.
    """
    if len(values) < REPETITIONS_MIN:
        return None
    array = np.asarray(values, dtype=float)
    if array.min() == array.max():
        return float(array[0]), float(array[0])
    if len(array) >= RANKS_MIN:
        return _of_ranks(array)
    if array.min() <= 0:
        return _of_student(array)
    low, high = _of_student(np.log(array))
    return math.exp(low), math.exp(high)


def _of_ranks(values: FloatArray) -> tuple[float, float]:
    ordered, n = np.sort(values), len(values)
    rank, inner = _rank(n)
    low = (1 - inner) * ordered[rank - 1] + inner * ordered[rank]
    high = (1 - inner) * ordered[n - rank] + inner * ordered[n - rank - 1]
    return float(low), float(high)


@lru_cache
def _rank(n: int) -> tuple[int, float]:
    """The innermost rank, from either end, whose interval holds 95 % or more, and how far towards the next to go."""
    from scipy.special import bdtr  # noqa: PLC0415

    def coverage(rank: int) -> float:
        return 1 - 2 * float(bdtr(rank - 1, n, 0.5))

    rank = max(rank for rank in range(1, n // 2 + 1) if coverage(rank) >= CONFIDENCE)
    outer, next_one = coverage(rank), coverage(rank + 1)
    share = (outer - CONFIDENCE) / (outer - next_one)
    return rank, (n - rank) * share / (rank + (n - 2 * rank) * share)


def _of_student(values: FloatArray) -> tuple[float, float]:
    n, middle = len(values), float(values.mean())
    reach = student_t(n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
    return middle - reach, middle + reach


def _welch(ours: FloatArray, theirs: FloatArray) -> tuple[float, float]:
    difference, error, freedom = _difference(ours, theirs)
    reach = student_t(freedom) * error if error else 0.0
    return difference - reach, difference + reach


def _difference(ours: FloatArray, theirs: FloatArray) -> tuple[float, float, float]:
    """Of the means, its standard error and degrees of freedom, with a variance for each side."""
    difference = float(ours.mean() - theirs.mean())
    errors = [float(side.var(ddof=1)) / len(side) for side in (ours, theirs)]
    if not any(errors):
        return difference, 0.0, math.inf
    of_each = sum(error**2 / (len(side) - 1) for error, side in zip(errors, (ours, theirs), strict=True))
    return difference, math.sqrt(sum(errors)), sum(errors) ** 2 / of_each


def _of_two_medians(ours: FloatArray, theirs: FloatArray) -> tuple[float, float]:
    (low_a, high_a), (low_b, high_b) = _of_ranks(ours), _of_ranks(theirs)
    a, b = float(np.median(ours)), float(np.median(theirs))
    return a - b - math.hypot(a - low_a, high_b - b), a - b + math.hypot(high_a - a, b - low_b)


def student_t(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Student's t that so often is not exceeded in either direction."""
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(freedom, (1 + confidence) / 2))


def student_p(t: float, freedom: float) -> float:
    """How often chance alone would give a t as far from 0, in either direction."""
    from scipy.special import stdtr  # noqa: PLC0415

    return 2 * float(stdtr(freedom, -abs(t)))
