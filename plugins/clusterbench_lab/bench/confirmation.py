"""What measuring again at once adds to regression detection: how soon it is right, and how often wrong.

``python -m clusterbench_lab.bench.confirmation`` prints the tables of docs/method.md. Half of the noise of a run is
in common to all results of the platform, as what a host does meanwhile is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from clusterbench.history import confirmation
from clusterbench.history.change_test import detect_change
from clusterbench.history.confirmation import OTHERS, RUNS, Measured, judge, suspicion
from clusterbench_lab.bench.regression import NOISES, POLICY, WORSE_NOISES, YEAR, Noise, lognormal, points
from clusterbench_lab.bench.tables import head, row

FOUND_MIN = 0.9
"""Of 5 % slowdowns at 2 % noise after half a year: told in the week in which they happen."""
PLATFORM = 40
"""Results of the platform; of those that do not look changed some are measured beside."""
IN_COMMON = 0.5
"""Share of a run's variance that all results of a platform share."""


def week(chance: np.random.Generator, noise: Noise, before: int, shift: float, again: float) -> tuple[str, bool]:
    """The verdict of a week, and whether it was measured again. Result 0 is ``shift`` slower from this week on.

    ``again``: what runs of a few cells do to all of them.
    """
    logs = _platform(chance, noise, before + 1)
    logs[0, -1] += shift
    return _verdict(chance, noise, logs, shift, again)


def _platform(chance: np.random.Generator, noise: Noise, runs: int) -> Any:
    common = noise(chance, runs)
    own = np.array([noise(chance, runs) for _ in range(PLATFORM)])
    return np.sqrt(IN_COMMON) * common + np.sqrt(1 - IN_COMMON) * own


def _verdict(chance: np.random.Generator, noise: Noise, logs: Any, shift: float, again: float) -> tuple[str, bool]:
    """Of result 0 as of the last run: the weekly judge's, and what measuring again makes of it."""
    change = detect_change(points(logs[0]), "lower", POLICY)
    at = logs.shape[1] - (change.runs_after if change.state == "regression" else 1)
    level = logs[0, :at]
    if change.state != "regression" and suspicion(level, logs[0, -1]) < confirmation.SUSPECT_SD:
        return change.state, False
    if change.runs_after > 5 and change.state == "regression":
        return change.state, False
    measured = _platform(chance, noise, RUNS)
    measured[0] += shift
    measured += again
    looks = [suspicion(logs[n, :-1], logs[n, -1]) for n in range(PLATFORM)]
    calm = [n for n in range(1, PLATFORM) if looks[n] < confirmation.SUSPECT_SD]
    others = [Measured(logs[n, :-1], measured[n]) for n in calm[:OTHERS]]
    moved = confirmation.moved_as_a_whole(looks, [logs[n, -1] - logs[n, :-1].mean() for n in range(PLATFORM)])
    (found,) = judge([Measured(level, measured[0])], others, moved, [1], POLICY.threshold_percent)
    states = {"confirmed": "regression", "not confirmed": "no_change", "not enough": change.state}
    return states[found.word], True


def told(percent: float, sd: float, before: int, again: float, seed: int) -> bool:
    chance = np.random.default_rng([3, seed])
    noise = partial(lognormal, sd=sd)
    return week(chance, noise, before, float(np.log1p(percent / 100)), again)[0] == "regression"


def false_alarms(noise: Noise, again: float, seed: int) -> tuple[int, int]:
    """Of a year of noise: weeks in which a regression was told, and in which it was measured again."""
    chance = np.random.default_rng([4, seed])
    logs = _platform(chance, noise, YEAR)
    found = [_verdict(chance, noise, logs[:, :runs], 0.0, again) for runs in range(POLICY.runs_min, YEAR + 1)]
    return sum(state == "regression" for state, _ in found), sum(was for _, was in found)


def measure(say: Callable[..., bool], series: int = 300) -> bool:
    """The two rates, for ``clusterbench bench``."""
    found = float(np.mean([told(5, 0.02, 26, 0.0, seed) for seed in range(series)]))
    wrong = float(np.mean([false_alarms(lognormal, 0.0, seed)[0] > 0 for seed in range(series)]))
    return all([
        say("confirmation: 5 % at 2 % told in its week", found, f">= {FOUND_MIN}", holds=found >= FOUND_MIN),
        say("confirmation: years of noise with a false alarm", wrong, "<= 0.03", holds=wrong <= 0.03),
    ])  # fmt: skip


def main(series: int) -> None:
    """The tables, as Markdown."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        head("noise", "years with a false alarm", "weeks in which it is measured again")
        for name, noise in (NOISES | WORSE_NOISES).items():
            for again in (0.0, 0.03):
                found = np.array(list(pool.map(partial(false_alarms, noise, again), range(series), chunksize=8)))
                rate = np.mean(found[:, 1]) / (YEAR - POLICY.runs_min + 1)
                said = f"{name}{', and runs of few cells are 3 % slower' if again else ''}"
                row(said, f"{100 * np.mean(found[:, 0] > 0):.1f} %", f"{100 * rate:.0f} %")
        head("slowdown", "noise", "8 weeks before", "12", "26", "52")
        for percent in (3, 5, 10):
            for sd in (0.01, 0.02, 0.04):
                cells = []
                for before in (8, 12, 26, 52):
                    if before + 1 < POLICY.runs_min:
                        cells.append("too few")
                        continue
                    hits = list(pool.map(partial(told, percent, sd, before, 0.0), range(series), chunksize=8))
                    cells.append(f"{100 * np.mean(hits):.0f} %")
                row(f"{percent} %", f"{100 * sd:g} %", *cells)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
