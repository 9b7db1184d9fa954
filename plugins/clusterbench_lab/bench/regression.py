"""How often regression detection is wrong, and how soon it is right: on synthetic series whose answers are known.

``python -m clusterbench_lab.bench.regression`` prints the tables of docs/method.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np

from clusterbench.history import drift
from clusterbench.history.change_test import CHANCES, FALSE_SHARE, Change, Policy, detect_change, is_new
from clusterbench.history.model import Point
from clusterbench_lab.bench.tables import head, row

YEAR = 52
FALSE_MAX = 0.05
"""Of years of pure noise, judged anew each week, those in which a regression was ever told."""
FOUND_MIN = 0.7
"""Of 5 % slowdowns at 2 % noise after a year of weeks: found within three runs."""
CORRECTED = (0.007, 0.002, 0.001, 0.0005, 0.00025)
"""What p of a single result may be, so that it is told as new among some 15 to 400 others that did not change."""
MANY = 50
"""Times as many series of a single week: p so small are rare."""
SLOWDOWNS = [(percent, sd) for percent in (3, 5, 10) for sd in (0.01, 0.02, 0.04)]
LEVEL = 100.0
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
POLICY = Policy()
NEIGHBOURS = 40
MEASURED = (
    *(-1.56, -1.41, -1.26, -1.20, -1.10, -1.07, -1.04, -0.98, -0.92, -0.86, -0.80, -0.72, -0.68, -0.59, -0.49, -0.43),
    *(-0.37, -0.32, -0.26, -0.19, -0.12, 0.03, 0.09, 0.15, 0.19, 0.26, 0.37, 0.44, 0.56, 0.70, 0.77, 0.87, 0.93, 1.13),
    *(1.24, 1.28, 1.38, 1.75, 1.85, 2.49),
)
"""Quantiles of 150 mean latencies of pgbench, 2 s each on a machine with other work, as logarithms; here of 2 %."""

Numbers = Any  # numpy.ndarray; what its operators return is no better known
Noise = Callable[[np.random.Generator, int], Numbers]


def lognormal(chance: np.random.Generator, runs: int, sd: float = 0.02) -> Numbers:
    return chance.normal(0, sd, runs)


def measured(chance: np.random.Generator, runs: int) -> Numbers:
    """Each run the median of three repetitions."""
    medians = np.median(chance.choice(MEASURED, (runs, 3)), axis=1)
    return 0.02 * medians / 0.68


def skewed(chance: np.random.Generator, runs: int) -> Numbers:
    """A heavy tail to the right: gamma of shape 2, whose skewness is 1.4."""
    return 0.02 * (chance.gamma(2, 1, runs) - 2) / np.sqrt(2)


def outliers(chance: np.random.Generator, runs: int) -> Numbers:
    """One run in twenty with three times the noise."""
    return chance.normal(0, 0.02, runs) * np.where(chance.random(runs) < 0.05, 3, 1)


def slow_weeks(chance: np.random.Generator, runs: int, share: float = 0.02) -> Numbers:
    """About one week a year is 10 % slower, which is no level."""
    return chance.normal(0, 0.02, runs) + np.where(chance.random(runs) < share, np.log(1.10), 0)


def many_slow_weeks(chance: np.random.Generator, runs: int) -> Numbers:
    return slow_weeks(chance, runs, 0.05)


def loud(chance: np.random.Generator, runs: int) -> Numbers:
    return lognormal(chance, runs, 0.05)


def autocorrelated(chance: np.random.Generator, runs: int, rho: float = 0.3) -> Numbers:
    made = chance.normal(0, 0.02, runs)
    for run in range(1, runs):
        made[run] = rho * made[run - 1] + np.sqrt(1 - rho**2) * made[run]
    return made


NOISES: dict[str, Noise] = {
    "lognormal, 2 %": lognormal,
    "lognormal, 5 %": loud,
    "measured (pgbench, medians of 3), scaled to 2 %": measured,
    "skewed to the right, 2 %": skewed,
    "2 %, one run in 20 with three times that": outliers,
    "2 %, one week in 50 is 10 % slower": slow_weeks,
}
"""On which at most FALSE_MAX is promised."""
WORSE_NOISES: dict[str, Noise] = {
    "2 %, one week in 20 is 10 % slower": many_slow_weeks,
    "2 %, autocorrelated by 0.3": autocorrelated,
}


def points(logs: Iterable[float]) -> list[Point]:
    """Weekly runs whose medians are LEVEL times e to these."""
    return [
        Point(f"run{week:03}", FIRST + timedelta(weeks=week), True, 3, 3, LEVEL * float(np.exp(log)), None, "facts")
        for week, log in enumerate(logs)
    ]


def false_alarms(noise: Noise, seed: int) -> int:
    """Weeks of a year of pure noise in which it was told that there is a regression, as each week judged anew.

    How much weeks are like those before them is found from the series and ``NEIGHBOURS`` others of its platform, which
    have half of their noise in common with it.
    """
    chance = np.random.default_rng([1, seed])
    logs = noise(chance, YEAR)
    others = [np.sqrt(0.5) * (logs + noise(chance, YEAR)) for _ in range(NEIGHBOURS)]
    made, told = points(logs), 0
    for week in range(POLICY.runs_min, YEAR + 1):
        alike = drift.alikeness([each[:week] for each in (logs, *others)])
        told += detect_change(made[:week], "lower", replace(POLICY, alike=alike)).state == "regression"
    return told


def verdicts(percent: float, sd: float, before: int, seed: int, runs: int = 3) -> list[Change]:
    """After each of the runs since a slowdown by ``percent``."""
    logs = lognormal(np.random.default_rng([2, seed]), before + runs, sd)
    logs[before:] += np.log1p(percent / 100)
    made = points(logs)
    return [detect_change(made[: before + count], "lower", POLICY) for count in range(1, runs + 1)]


def found_within(found: Sequence[Sequence[Change]], at_once: int = 1) -> list[float]:
    """Share of the series in which it was told after one run, within two, and so on; ``at_once``: series of a week."""
    limit = FALSE_SHARE / at_once / CHANCES if at_once > 1 else 1.0
    hits = [[one.state == "regression" and (one.p_value or 0) <= limit for one in series] for series in found]
    return [float(share) for share in np.mean(np.logical_or.accumulate(hits, axis=1), axis=0)]


def corrected_p(noise: Noise, before: int, seed: int) -> float:
    """Of pure noise in one week, what Benjamini and Hochberg's procedure takes for p; 1 where nothing new is told."""
    made = detect_change(points(noise(np.random.default_rng([3, seed]), before + 1)), "lower", POLICY)
    return min(1.0, CHANCES * (made.p_value or 0.0)) if is_new(made) else 1.0


def told_size(percent: float, sd: float, before: int, seed: int, runs: int = 3) -> tuple[float, bool] | None:
    """How large a slowdown is when it is told for the first time, and whether its interval has the true size."""
    for change in verdicts(percent, sd, before, seed, runs):
        if change.state == "regression" and change.change_percent is not None and change.interval_95_percent:
            low, high = change.interval_95_percent
            return change.change_percent, low <= percent <= high
    return None


def measure(say: Callable[..., bool], series: int = 200) -> bool:
    """The two rates, for ``clusterbench bench``."""
    wrong = np.mean([false_alarms(lognormal, seed) > 0 for seed in range(series)])
    found = found_within([verdicts(5, 0.02, YEAR, seed) for seed in range(series)])[-1]
    return all([
        say("regression: years of pure noise with a false alarm", wrong, f"<= {FALSE_MAX}", holds=wrong <= FALSE_MAX),
        say("regression: 5 % slowdown found in 3 runs at 2 %", found, f">= {FOUND_MIN}", holds=found >= FOUND_MIN),
    ])  # fmt: skip


def main(series: int) -> None:
    """The tables, as Markdown."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for table in (_false_alarms, _delays, _among_many, _corrected, _sizes):
            table(pool, series)


def _false_alarms(pool: ProcessPoolExecutor, series: int) -> None:
    head("noise", "years with a false alarm", "of all weeks")
    for name, noise in (NOISES | WORSE_NOISES).items():
        weeks = np.array(list(pool.map(partial(false_alarms, noise), range(series), chunksize=8)))
        share = np.mean(weeks) / (YEAR - POLICY.runs_min + 1)
        row(name, f"{100 * np.mean(weeks > 0):.1f} %", f"{100 * share:.2f} %")


def _delays(pool: ProcessPoolExecutor, series: int) -> None:
    head("slowdown", "noise", "8 weeks before", "12", "26", "52")
    for percent, sd in SLOWDOWNS:
        cells = [_cell(pool, percent, sd, before, series) for before in (8, 12, 26, 52)]
        row(f"{percent} %", f"{100 * sd:g} %", *cells)


def _among_many(pool: ProcessPoolExecutor, series: int) -> None:
    head("judged at once", "within 3 runs", "4", "5", "8")
    told = list(pool.map(partial(verdicts, 5, 0.02, YEAR, runs=8), range(series), chunksize=8))
    for at_once in (1, 10, 100, 800):
        shares = found_within(told, at_once)
        row(at_once, *(f"{100 * shares[runs - 1]:.0f} %" for runs in (3, 4, 5, 8)))


def _corrected(pool: ProcessPoolExecutor, series: int) -> None:
    head("noise", *(f"p at most {p:g}" for p in CORRECTED))
    for name, noise in NOISES.items():
        found = np.array(list(pool.map(partial(corrected_p, noise, YEAR), range(MANY * series), chunksize=100)))
        row(name, *(f"{np.mean(found <= p):.5f}" for p in CORRECTED))


def _sizes(pool: ProcessPoolExecutor, series: int) -> None:
    head("slowdown", "noise", "reported", "median of what is reported", "its interval has the true size")
    for percent, sd in SLOWDOWNS:
        every = pool.map(partial(told_size, percent, sd, YEAR // 2), range(series), chunksize=8)
        if sizes := [one for one in every if one]:
            median, held = np.median([size for size, _ in sizes]), np.mean([has for _, has in sizes])
            share = 100 * len(sizes) / series
            row(f"{percent} %", f"{100 * sd:g} %", f"{share:.0f} %", f"{median:.1f} %", f"{100 * held:.0f} %")


def _cell(pool: ProcessPoolExecutor, percent: float, sd: float, before: int, series: int) -> str:
    told = list(pool.map(partial(verdicts, percent, sd, before), range(series), chunksize=8))
    return " / ".join(f"{100 * share:.0f}" for share in found_within(told))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
