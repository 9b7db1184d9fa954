"""Five years of runs that nobody measured: numbers of known shapes, as lines and rows of the history database. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

EXPERIMENTS = ("key_value", "order_entry", "retail", "terasort")
PLATFORMS = ("lab_db1", "lab_db2")
"""The second's kernel is a newer one in the second half of the weeks, see ``shape_of``."""
REPETITIONS = 3
LAST = datetime(2026, 11, 21, 20, tzinfo=UTC)
HOSTS_MANY = 636
"""Of the last experiment's second platform."""
NOISE_RUNS, NOISE_REPETITIONS = 0.02, 0.01
"""Standard deviations, as shares of the value: from week to week, and within a run."""
SHIFT = 1.08
STATEMENT_CELLS = 15
"""Of the first experiment on either platform: as many as TPC-DS has, where each of its statements is a result."""
INVALID_EVERY, FAILED_EVERY = 40, 97
"""Weeks, whose runs are invalid; trials, of which one fails."""
MEASUREMENTS = (
    ("latency_ms_mean", "ms", "lower", 12.0),
    ("throughput_per_s", "1/s", "higher", 830.0),
    ("latency_ms_p50", "ms", "lower", 10.0),
    ("latency_ms_p95", "ms", "lower", 22.0),
    ("latency_ms_p99", "ms", "lower", 31.0),
    ("latency_ms_p999", "ms", "lower", 55.0),
    ("latency_ms_max", "ms", "lower", 80.0),
    ("connection_ms_mean", "ms", "lower", 8.0),
    ("response_time_s", "s", "lower", 120.0),
    ("driver_cpu_share", "1", "neither", 0.4),
)
PLOTTED = 2
"""The first two are what is followed."""
METRICS = (
    *("context_switches_per_s", "cpu_iowait_percent", "cpu_percent", "cpu_steal_percent", "cpu_system_percent"),
    *("cpu_user_percent", "disk_iops", "disk_read_mb_per_s", "disk_write_mb_per_s", "interrupts_per_s", "load_1_min"),
    *("memory_used_mb", "memory_used_percent", "network_received_mb_per_s", "network_sent_mb_per_s"),
)
Shape = Literal["noise", "slowdown", "facts"]


def shape_of(platform: str, cell: int) -> Shape:
    """Of every four cells the second is slower by 8 % in the last quarter of the weeks (``slowdown``); on the second
    platform the third is faster by as much since its kernel is a newer one, half way (``facts``). The rest is noise.
    """
    if cell % 4 == 1:
        return "slowdown"
    return "facts" if cell % 4 == 2 and platform == PLATFORMS[1] else "noise"


class SyntheticCell:
    """What is measured: the same in every week."""

    def __init__(self, number: int) -> None:
        clients = 2 ** (number % 10)
        self.number, self.sweep, self.cell = number, f"sweep{number // 10}", f"sweep{number // 10}.clients_{clients}"
        self.label = f"sweep {number // 10}: {clients} clients"
        self.levels = json.dumps({"cache": "warm", "clients": clients, "rows": 1000 * 10 ** (number // 40)})


@dataclass(frozen=True)
class Synthetic:
    """Numbers of weeks and of trials in each, shared out evenly over experiments, platforms and repetitions."""

    weeks: int
    trials: int
    seed: int
    statements: int = 0
    """That have times of their own in ``STATEMENT_CELLS``."""

    @cached_property
    def count(self) -> int:
        """Of the cells of an experiment on a platform."""
        return max(1, self.trials // (len(EXPERIMENTS) * len(PLATFORMS) * REPETITIONS))

    @cached_property
    def cells(self) -> list[tuple[int, SyntheticCell]]:
        """Each with the number of its platform, in the order of results."""
        return [(platform, SyntheticCell(number)) for platform in range(len(PLATFORMS)) for number in range(self.count)]

    def runs(self) -> Iterator[tuple[int, int]]:
        """Week and experiment, by their numbers."""
        return ((week, experiment) for week in range(self.weeks) for experiment in range(len(EXPERIMENTS)))

    def started_at(self, week: int, experiment: int) -> datetime:
        return LAST - timedelta(weeks=self.weeks - 1 - week) + timedelta(hours=experiment)

    def run_id(self, week: int, experiment: int) -> str:
        return run_id(self.started_at(week, experiment), EXPERIMENTS[experiment])

    def values(self, week: int, experiment: int) -> NDArray[np.float64]:
        """By platform, cell, measurement and repetition. The same each time it is asked."""
        chance = np.random.default_rng([self.seed, week, experiment])
        size = (len(PLATFORMS), self.count, len(MEASUREMENTS), REPETITIONS)
        bases = np.array([base for *_, base in MEASUREMENTS])[None, None, :, None]
        by_cell = (1 + np.arange(self.count) / 10)[None, :, None, None]
        of_run = chance.normal(1, NOISE_RUNS, (*size[:3], 1))
        values = bases * by_cell * self._shifts(week) * of_run * chance.normal(1, NOISE_REPETITIONS, size)
        return np.asarray(values, dtype=float)

    def _shifts(self, week: int) -> NDArray[np.float64]:
        slower = {"noise": 1.0, "slowdown": SHIFT, "facts": 1 / SHIFT}
        since = {"noise": self.weeks, "slowdown": self.weeks * 3 // 4, "facts": self.weeks // 2}
        factors = [[_shift(shape_of(p, cell), week, since, slower) for cell in range(self.count)] for p in PLATFORMS]
        signs = np.array([{"lower": 1, "higher": -1, "neither": 0}[better] for _, _, better, _ in MEASUREMENTS])
        return np.asarray(np.array(factors)[:, :, None, None] ** signs[None, None, :, None], dtype=float)

    def failed(self, week: int, experiment: int) -> NDArray[np.bool_]:
        """By platform, cell and repetition."""
        count = len(PLATFORMS) * self.count * REPETITIONS
        numbers = np.arange(count) + (week * len(EXPERIMENTS) + experiment) * count
        lost = numbers % FAILED_EVERY == FAILED_EVERY - 1
        return np.asarray(lost, dtype=bool).reshape(len(PLATFORMS), self.count, REPETITIONS)


def _shift(shape: Shape, week: int, since: dict[str, int], slower: dict[str, float]) -> float:
    return slower[shape] if week >= since[shape] else 1.0


def run_id(at: datetime, name: str) -> str:
    return f"{at:%Y%m%dT%H%M%SZ}-{digest(f'{name} {at}')[:6]}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# Rows.


def run_row(made: Synthetic, week: int, experiment: int) -> dict[str, Any]:
    name, at = EXPERIMENTS[experiment], made.started_at(week, experiment)
    started_by = {"dag_id": name, "dag_run_id": f"scheduled__{at.isoformat()}", "how": "scheduled"}
    choices = {"scale": "laptop", "platforms": list(PLATFORMS), "seed": made.seed, "sweeps": [], "repetitions": 0}
    known = {"run_id": made.run_id(week, experiment), "experiment": name, "clusterbench": "synthetic"}
    planned = len(made.cells) * REPETITIONS
    return known | {
        "title": f"{name.replace('_', ' ').capitalize()}, synthetic",
        "scale": "laptop",
        "seed": made.seed,
        "is_valid": is_valid(week),
        "started_at": at,
        "ended_at": at + timedelta(minutes=50),
        "planned": planned,
        "completed": planned - int(made.failed(week, experiment).sum()),
        "dag_run_id": started_by["dag_run_id"],
        "opened": json.dumps(known | {"choices": choices, "started_by": started_by}, sort_keys=True),
        "durability": '{"settings": {}, "platforms": {}, "cells": {}}',
        "url": f"s3://synthetic/{name}/{known['run_id']}/",
        "manifest_sha256": digest(f"{made.seed} {name} {week}"),
    }


def is_valid(week: int) -> bool:
    return week % INVALID_EVERY != INVALID_EVERY - 1


def platform_rows(made: Synthetic, week: int, experiment: int) -> Iterator[tuple[str, int, str]]:
    """Platform, position, and its facts as JSON."""
    for position, platform in enumerate(PLATFORMS):
        many, new = position == 1 and experiment == len(EXPERIMENTS) - 1, position == 1 and week >= made.weeks // 2
        yield platform, position, _facts(HOSTS_MANY if many else 2, "6.1.0-32-amd64" if new else "6.1.0-18-amd64")


@cache
def _facts(hosts: int, kernel: str) -> str:
    host = {
        "architecture": "x86_64",
        "cpu_model": "Synthetic CPU 2.3 GHz",
        "memory_bytes": "64.0 GB",
        "kernel": kernel,
        "disk": "1.92 TB Synthetic, not rotational, scheduler none",
        **{f"mitigation.flaw{n}": "Mitigation" for n in range(12)},
        **{f"version.tool{n}": f"{n}.2" for n in range(12)},
    }
    engine = {"engine.version": "15.8", **{f"engine.settings.setting_{n}": str(n) for n in range(40)}}
    kinds = [{"roles": [role], "facts": host} for role in ("client", "coordinator")]
    return json.dumps({"engine": engine, "kinds": kinds, "hosts": [(f"host{n}", min(n, 1)) for n in range(hosts)]})


def verdict_rows(week: int) -> Iterator[tuple[Any, ...]]:
    for number in range(20):
        passed = number > 0 or is_valid(week)
        says, found = f"Expectation {number} holds", "as expected" if passed else "not so"
        yield number, "measurements", 1 + number % 7, says, passed, True, found


# Lines of COPY's text format: nothing has to take them apart again.

MEASURED = "{" + ", ".join(f'"{name}": %.6g' for name, *_ in MEASUREMENTS) + "}"
MEANS = ", ".join(f'"{name}": %(mean).5g' for name in METRICS)
TELEMETRY = "{" + ", ".join(f'"{r}": {{"hosts": 1, "mean": {{{MEANS}}}}}' for r in ("client", "coordinator")) + "}"


def trial_lines(made: Synthetic, week: int, experiment: int, run: int) -> Iterator[str]:
    """In the order of ``write.TRIALS``, after the run."""
    values, failed = made.values(week, experiment), made.failed(week, experiment)
    began = made.started_at(week, experiment).timestamp()
    for platform, cell in made.cells:
        told = f"{cell.sweep}\tkey_value\t{cell.cell}"
        for n in range(REPETITIONS):
            index = cell.number * REPETITIONS + n
            at, numbers = began + 3 * index, values[platform, cell.number, :, n]
            lost = failed[platform, cell.number, n]
            said = ("failed", "connection refused by the server") if lost else ("completed", "")
            line = (
                *(run, PLATFORMS[platform], f"{cell.cell}.r{n + 1}", index, f"{cell.label} (#{n + 1})", told, n + 1),
                *(cell.levels, *said, datetime.fromtimestamp(at, UTC), at, at + 2, 1000, 0),
                "{}" if lost else MEASURED % tuple(numbers),
                TELEMETRY % {"mean": numbers[0]},
            )
            yield "\t".join(map(str, line)) + "\n"


def result_lines(made: Synthetic, week: int, experiment: int, run: int, series: list[int]) -> Iterator[str]:
    """Run, series, then in the order of ``write.RESULTS``. ``series``: of each of the cells."""
    failed = made.failed(week, experiment).sum(axis=2)
    for position, (platform, cell) in enumerate(made.cells):
        lost = int(failed[platform, cell.number])
        outcomes = json.dumps({"completed": REPETITIONS - lost} | ({"failed": lost} if lost else {}))
        reasons = '["connection refused by the server"]' if lost else "[]"
        line = (position, cell.cell, cell.label, REPETITIONS, REPETITIONS - lost, outcomes, reasons, "\\N")
        yield "\t".join(map(str, (run, series[position], *line))) + "\n"


def measurement_lines(made: Synthetic, week: int, experiment: int, run: int, series: list[int]) -> Iterator[str]:
    """Run, series, then in the order of ``write.MEASUREMENTS``. The interval is that of three values: all of them."""
    values = made.values(week, experiment)
    for position, (platform, cell) in enumerate(made.cells):
        completed = values[platform, cell.number][:, ~made.failed(week, experiment)[platform, cell.number]]
        ordered = np.sort(completed, axis=1)
        medians = np.median(ordered, axis=1)
        for kind, least, middle, given in zip(KINDS, ordered, medians, completed, strict=True):
            best = {"lower": least[0], "higher": least[-1], "neither": middle}[kind[2]]
            bounds = f"{least[0]:.6g}\t{least[-1]:.6g}" if len(given) >= REPETITIONS else "\\N\t\\N"
            said = f"{len(given)}\t{middle:.6g}\t{best:.6g}\t{bounds}\t{{{','.join(f'{v:.6g}' for v in given)}}}"
            yield f"{run}\t{series[position]}\t{kind[0]}\t{kind[1]}\t{kind[2]}\t{kind[3]}\t{said}\n"
        if experiment == 0 and cell.number < STATEMENT_CELLS:
            yield from _statement_lines(made, week, position, f"{run}\t{series[position]}")


def _statement_lines(made: Synthetic, week: int, position: int, of: str) -> Iterator[str]:
    chance = np.random.default_rng([made.seed, week, position])
    for number, noise in enumerate(chance.normal(1, NOISE_RUNS, made.statements), 1):
        value = f"{number / 10 * noise:.6g}"
        yield f"{of}\tq{number:02d}_s\ts\tlower\tf\t1\t{value}\t{value}\t\\N\t\\N\t{{{value}}}\n"


KINDS = [(name, unit, better, "t" if n < PLOTTED else "f") for n, (name, unit, better, _) in enumerate(MEASUREMENTS)]
