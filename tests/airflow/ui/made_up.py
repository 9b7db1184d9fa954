"""A made-up history of three experiments, a year of weeks long, in which something got slower at its end.

Numbers are noise around levels; a change of facts and a slowdown lie where the constants below say.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

from clusterbench.base.run_ids import run_id_from
from clusterbench.history import read, write
from clusterbench.history.change_test import Change, Policy, detect_change
from clusterbench.history.database import Database
from clusterbench.history.rows import RunRows
from clusterbench.hosts.speed_kinds import FOLDER
from clusterbench.workloads import measurement_kinds

LAST = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
APART, MOMENT = timedelta(minutes=40), timedelta(minutes=1)
"""Between the experiments of a week; and the weekly run is the newest of its second."""
WEEKS = 44
REPETITIONS = 5
SLOWER_SINCE = 2
"""Runs of the new level: the key-value lookups on vm4, since its hosts have another kernel."""
FASTER_SINCE = 19
INVALID = 12
"""Runs ago; the hosts were not quiet."""
FAILED = 7
"""Runs ago; a cell of which nothing completed."""
KERNELS = ("6.1.0-25-amd64", "6.1.0-31-amd64")


@dataclass(frozen=True)
class Measured:
    experiment: str
    title: str
    platforms: tuple[str, ...]
    sweep: str
    workload: str
    cells: dict[str, dict[str, Any]]
    """Label -> levels."""
    measurements: dict[str, float]
    """Name -> what it is about in the first cell."""
    noise: float = 0.012
    hosts: tuple[str, ...] = ("segment1", "segment2", "segment3", "segment4")
    settings: dict[str, str] = field(default_factory=dict)


KEY_VALUE = Measured(
    "key_value",
    "Key-value lookups by many clients",
    ("native", "vm1", "vm4"),
    "concurrency",
    "key_value",
    {
        f"concurrency: {clients} clients, 1M rows, {cache}": {"concurrency": clients, "rows": 1_000_000, "cache": cache}
        for clients in (1, 50, 100, 200)
        for cache in ("warm", "cold")
    },
    {"throughput_per_s": 51_000.0, "latency_ms_p95": 4.2},
    settings={"shared_buffers": "8GB", "max_connections": "300"},
)
RETAIL = Measured(
    "retail",
    "Retail orders: load, index and scans",
    ("native", "vm4"),
    "data_load",
    "data_load",
    {f"data load: {servers} file servers": {"file_servers": servers} for servers in (1, 4, 16)},
    {"throughput_rows_per_s": 812_000.0},
)
TERASORT = Measured(
    "terasort",
    "TeraGen, TeraSort and TeraValidate",
    ("hadoop_native", "hadoop_vm4"),
    "platforms",
    "terasort",
    {f"platforms: {size} GB": {"gigabytes": size} for size in (100, 1000)},
    {"terasort_s": 441.0},
    noise=0.02,
    hosts=("worker1", "worker2"),
)
ALL = (KEY_VALUE, RETAIL, TERASORT)


def fill(db: Database, weeks: int = WEEKS, scale: str = "laptop") -> None:
    """All runs, and the last two weekly runs with what they found."""
    for number in range(weeks):
        for place, one in enumerate(ALL):
            started = LAST - timedelta(weeks=weeks - 1 - number) + place * APART
            write.add_run(db, _run(one, started, weeks - number, scale))
    for ago in (1, 0):
        _week(db, LAST - timedelta(weeks=ago) + MOMENT, scale)


def host_speeds_of(hosts: int, times: int) -> list[tuple[Any, ...]]:
    """Rows of platform vm4: once a week, and in the last one ``segment7`` has slow memory."""
    chance = random.Random(f"{hosts} {times}")
    rows = []
    for ago in range(times):
        at = LAST - timedelta(weeks=ago)
        for number in range(1, hosts + 1):
            for measurement, usual in (("memory_mib_per_s", 9000.0), ("network_sent_mibit_per_s", 9400.0)):
                is_slow = (ago, number, measurement) == (0, 7, "memory_mib_per_s")
                value = usual * (1 + chance.gauss(0, 0.01)) * (0.6 if is_slow else 1)
                run_id = run_id_of("key_value", at)
                rows.append(
                    (
                        f"{FOLDER}vm4/{run_id}.json",
                        "vm4",
                        at,
                        run_id,
                        f"segment{number}",
                        ["segment"],
                        measurement,
                        value,
                    )
                )
    return rows


def week_run_id(weeks_ago: int = 0) -> str:
    return run_id_of("weekly", LAST - timedelta(weeks=weeks_ago) + MOMENT)


def run_id_of(experiment: str, started: datetime) -> str:
    return run_id_from(started, f"{experiment} {started.isoformat()}")


def _run(one: Measured, started: datetime, back: int, scale: str) -> RunRows:
    """``back``: 1 for the newest run."""
    chance = random.Random(f"{one.experiment} {started.isoformat()}")
    is_valid, run_id = not (one is RETAIL and back == INVALID), run_id_of(one.experiment, started)
    results, measurements, series, trials = [], [], [], []
    for platform in one.platforms:
        for position, (label, levels) in enumerate(one.cells.items()):
            failed = one is TERASORT and position == 1 and platform == "hadoop_vm4" and back == FAILED
            short = (
                one is KEY_VALUE and platform == "vm4" and label.endswith("200 clients, 1M rows, cold") and back == 1
            )
            completed = 0 if failed else REPETITIONS - short
            reason = (
                "driver ended with 1: org.apache.hadoop.hdfs: could only be written to 0 of 1 nodes" if failed else ""
            )
            reason = reason or ("timed out after 600 s: no answer from segment3" if short else "")
            series.append((platform, one.sweep, json.dumps(levels, sort_keys=True)))
            outcomes = {"completed": completed, **({"failed": REPETITIONS - completed} if reason else {})}
            results.append(
                (
                    len(results),
                    label,
                    label,
                    REPETITIONS,
                    completed,
                    json.dumps(outcomes),
                    json.dumps([reason] * bool(reason)),
                    None,
                )
            )
            measurements.append(list(_measured(one, platform, position, back, completed, chance)))
            for repetition in range(1, REPETITIONS + 1):
                is_done = repetition <= completed
                name = f"{one.sweep}.{position}.r{repetition}"
                trials.append(
                    _trial(one, platform, name, label, levels, repetition, len(trials), started, is_done, reason)
                )
    facts = {platform: json.dumps(_facts(one, platform, back)) for platform in one.platforms}
    return RunRows(
        run={
            "experiment": one.experiment,
            "run_id": run_id,
            "title": one.title,
            "scale": scale,
            "seed": 7,
            "is_valid": is_valid,
            "started_at": started,
            "ended_at": started + timedelta(minutes=35),
            "planned": len(trials),
            "completed": sum(trial[9] == "completed" for trial in trials),
            "dag_run_id": f"scheduled__{started.isoformat()}",
            "opened": json.dumps(_opened(one, scale)),
            "durability": json.dumps({"platforms": {}, "cells": {}, "settings": {}}),
            "clusterbench": "0.9",
            "url": f"s3://clusterbench/{one.experiment}/{run_id}/",
            "manifest_sha256": "0" * 64,
        },
        fact_sets={f"{hash_of(text)}": text for text in facts.values()},
        platforms=[(name, n, hash_of(facts[name]), "{}", "") for n, name in enumerate(one.platforms)],
        trials=trials,
        series=series,
        results=results,
        measurements=measurements,
        verdicts=_verdicts(is_valid),
    )


def _opened(one: Measured, scale: str) -> dict[str, Any]:
    choices = {"scale": scale, "seed": 7, "platforms": list(one.platforms), "sweeps": [one.sweep]}
    return {"choices": choices, "started_by": {"dag_id": one.experiment, "how": "scheduled"}, "clusterbench": "0.9"}


def hash_of(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


def _level(one: Measured, platform: str, position: int, name: str, back: int) -> float:
    """What a result is about: its platform, its cell, and what happened to it."""
    better = measurement_kinds()[name].better
    value = one.measurements[name] * (1 + 0.35 * position) ** (-1 if better == "higher" else 1)
    cost = {"native": 1.0, "hadoop_native": 1.0, "vm1": 1.06, "vm4": 1.11, "hadoop_vm4": 1.17}[platform]
    if one is KEY_VALUE and platform == "vm4" and position >= 4 and back <= SLOWER_SINCE:
        cost *= 1.074
    if one is RETAIL and platform == "native" and position == 2 and back <= FASTER_SINCE:
        cost *= 0.885
    return value / cost if better == "higher" else value * cost


def _measured(
    one: Measured, platform: str, position: int, back: int, completed: int, chance: random.Random
) -> Iterator[tuple[Any, ...]]:
    for name in one.measurements if completed else ():
        kind = measurement_kinds()[name]
        drift = chance.gauss(0, one.noise)
        level = _level(one, platform, position, name, back)
        values = [level * (1 + drift + chance.gauss(0, one.noise / 2)) for _ in range(completed)]
        best = max(values) if kind.better == "higher" else min(values)
        yield (name, kind.unit, kind.better, True, completed, median(values), best, min(values), max(values), values)


def _trial(
    one: Measured,
    platform: str,
    name: str,
    label: str,
    levels: dict[str, Any],
    repetition: int,
    index: int,
    started: datetime,
    is_done: bool,
    reason: str,
) -> tuple[Any, ...]:
    outcome = "completed" if is_done else "failed"
    window = started.timestamp() + index
    return (
        *(platform, name, index, label, one.sweep, one.workload, label, repetition, json.dumps(levels), outcome),
        *("" if is_done else reason, started + timedelta(seconds=index), window, window + 1, 1000, 0, "{}", "{}"),
    )


def _facts(one: Measured, platform: str, back: int) -> dict[str, Any]:
    """Hosts and engine as the history keeps them; ``vm4`` has a newer kernel of late."""
    kernel = KERNELS[platform == "vm4" and back <= SLOWER_SINCE]
    minor = "15.18" if back <= FASTER_SINCE + 8 else "15.17"
    facts = {"kernel": kernel, "cpu_model": "Intel Xeon Gold 6230R", "cpus": "32", "memory_bytes": "256 GB"}
    settings = {f"engine.settings.{name}": value for name, value in one.settings.items()}
    return {
        "engine": {"engine.version": minor, **settings},
        "kinds": [{"roles": ["segment"], "facts": facts}],
        "hosts": [[host, 0] for host in one.hosts],
    }


def _verdicts(is_valid: bool) -> list[tuple[Any, ...]]:
    found = "20 of 20 as expected" if is_valid else "17 of 20 as expected; not so: 31.5, 44.0, 38.25"
    return [
        (0, "data", 1, "Every table has its rows", True, True, "3 of 3 as expected"),
        (1, "measurements", 5, "The hosts were quiet before each trial", is_valid, True, found),
    ]


def _entry(change: Change, *, platform_is_vm4: bool) -> dict[str, Any]:
    """As ``regressions.py`` writes it, but for the series, which the row has."""
    moved = change.state == "regression" and platform_is_vm4
    kernel = {"what": "kernel", "where": "segment", "a": f"4 hosts: {KERNELS[0]}", "b": f"4 hosts: {KERNELS[1]}"}
    return {"change": change.as_json(), "differences": [{**kernel, "decides": True}] if moved else []}


def _week(db: Database, started: datetime, scale: str) -> None:
    query = """
        INSERT INTO weeks (run_id, scale, started_at, dag_run_id, url, manifest_sha256)
        VALUES (%s, %s, %s, %s, %s, '') RETURNING week"""
    run_id = run_id_of("weekly", started)
    row = db.execute(
        query, [run_id, scale, started, f"scheduled__{started}", f"s3://clusterbench/weekly/{run_id}/"]
    ).fetchone()
    assert row is not None
    for position, one in enumerate(ALL):
        of = started - MOMENT + position * APART
        db.execute(
            "INSERT INTO week_runs (week, position, experiment, run_id, dag_run_id, state, reason)"
            " VALUES (%s, %s, %s, %s, %s, 'success', '')",
            [row[0], position, one.experiment, run_id_of(one.experiment, of), f"scheduled__{of.isoformat()}"],
        )
    until = started + timedelta(days=1)
    for position, (series, points) in enumerate(read.points_of_many(db, read.series(db, scale=scale), until=until)):
        change = detect_change(points, series.better, Policy())
        db.execute(
            "INSERT INTO changes (week, position, series, measurement, state, change) VALUES (%s, %s, %s, %s, %s, %s)",
            [
                row[0],
                position,
                series.id,
                series.measurement,
                change.state,
                json.dumps(_entry(change, platform_is_vm4=series.platform == "vm4")),
            ],
        )
