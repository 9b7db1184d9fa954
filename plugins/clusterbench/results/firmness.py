"""When repetitions of a cell are enough: its result is known to so many percent. Pure.

Trials are measured in rounds, each cell once a round in random order (a randomised block design), and in each round
those cells are left out that are firm. Who stops when the interval happens to be narrow has intervals that hold the
truth less often, so theirs are made wider (``statistics.interval_of_stopped``), and it is those that must be narrow
enough. How often they hold was simulated: docs/method.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from clusterbench.base.records import Trial, TrialRecord
from clusterbench.results.statistics import interval_of_stopped, median_of


def not_needed(trial: Trial, earlier: Sequence[TrialRecord]) -> str | None:
    """Why the trial is not worth measuring; None where it is. ``earlier``: those of its cell that have a record."""
    until = trial.until
    if until is None or trial.repetition <= until.at_least:
        return None
    values = [record.measurements[until.measurement] for record in earlier if until.measurement in record.measurements]
    name = until.measurement
    if not values:
        outcomes = ", ".join(dict.fromkeys(record.outcome.replace("_", " ") for record in earlier))
        return f"none of {len(earlier)} repetitions has a {name} ({outcomes or 'none was measured'})"
    half = half_width_percent(values, until.at_least)
    if half is None or half > until.until_percent:
        return None
    return (
        f"{name} is firm after {len(values)} repetitions: {median_of(values):.4g} to within {half:.2g} %, and "
        f"{until.until_percent:g} % was asked for"
    )


def half_width_percent(values: Sequence[float], at_least: int) -> float | None:
    """Of the 95 % interval, of the median; None where there is no interval yet, or the median is 0."""
    interval, median = interval_of_stopped(values, at_least), median_of(values)
    if interval is None or not median:
        return None
    return 50 * (interval[1] - interval[0]) / abs(median)
