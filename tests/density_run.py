"""A made-up run of a density experiment: three scenarios and two tests, one of which collapses where it is crowded."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from clusterbench.base.factors import Level
from clusterbench.base.records import Outcome, Trial, TrialRecord
from clusterbench.results.statistics import Result, results, summarise
from clusterbench.trial.plan import Choices, Plan

PLATFORMS = {"lab_ideal": (1, "ideal"), "lab_base": (4, "base"), "lab_crowded": (8, "oversubscribed")}
LEVELS = {"lite": [1, 4, 20, 24, 28], "full": [1, 2]}
SLOWER = {"lab_ideal": 1.0, "lab_base": 1.5, "lab_crowded": 2.6}
SECONDS = {"lite": 12.0, "full": 90.0}
BEGUN_S = 1_795_000_000.0
GIVEN_UP = "ramp 'lite.r1' was given up: concurrency 24 (failed) did not complete, and its rule is 'give_up_after: 1'"
HOSTS = ("sdw1", "sdw2")


def outcome_of(platform: str, sweep: str, level: int, repetition: int) -> tuple[Outcome, str]:
    if (platform, sweep) == ("lab_crowded", "lite"):
        if level == 24 and repetition > 1:
            return "failed", "sdw1 does not answer: connection refused"
        if level > 24:
            return "not_applicable", GIVEN_UP
    return "completed", ""


def record(platform: str, sweep: str, level: int, repetition: int, hosts: tuple[str, ...] = HOSTS) -> TrialRecord:
    """As the trial protocol leaves it; a second ramp is a little slower than the first."""
    trial = Trial(
        id=f"{sweep}.streams_{level}.r{repetition}",
        label=f"{sweep}: {level} streams (#{repetition})",
        platform=platform,
        sweep=sweep,
        workload="full_scan",
        levels={"streams": level},
        repetition=repetition,
        seed=1,
        timeout_s=100,
        settings={},
    )
    outcome, reason = outcome_of(platform, sweep, level, repetition)
    if outcome == "not_applicable":
        return TrialRecord(trial, outcome, reason, started_at="2026-11-22T02:00:00.000+00:00")
    time_s = SECONDS[sweep] * level**0.9 * SLOWER[platform] * (1 + 0.01 * repetition)
    begun = BEGUN_S + 10_000 * repetition + 100 * level
    queries = [
        {"stream": stream, "query": query, "time_s": time_s / (100 + query)}
        for stream in range(level)
        for query in (3, 96)
    ]
    if outcome == "failed":
        queries[-1] |= {"time_s": None, "error": f"server closed the connection unexpectedly (process {9000 + level})"}
    return TrialRecord(
        trial,
        outcome,
        reason,
        measurements={"response_time_s": time_s, "driver_cpu_share": 0.04} if outcome == "completed" else {},
        window_start_s=begun,
        window_end_s=begun + time_s,
        evidence={
            "phases": [{"name": "streams", "start_s": begun, "end_s": begun + time_s}],
            "driver": {"queries": queries, "fixed_parameters": {"14": "two queries in one text"}},
        },
        telemetry={
            host: {"samples": 9, "mean": {}, "course": course(time_s, level, platform, number)}
            for number, host in enumerate(hosts)
        },
        started_at=f"2026-11-22T0{repetition}:{level:02}:00.000+00:00",
        driver_starts=1,
    )


def course(time_s: float, level: int, platform: str, number: int) -> dict[str, list[float]]:
    points = max(2, min(120, int(time_s)))
    seconds = [time_s * (point + 0.5) / points for point in range(points)]
    busy = [min(97.0, 20 + 6 * level + 9 * math.sin(second / 7 + number)) for second in seconds]
    steal = max(0.0, SLOWER[platform] - 2) * min(38, 2 * level)
    return {
        "second": [round(second, 1) for second in seconds],
        "cpu_percent": busy,
        "cpu_steal_percent": [max(0.0, steal * (1 + 0.5 * math.sin(second / 5 + number))) for second in seconds],
        "pressure_cpu_percent": [value * SLOWER[platform] / 3 for value in busy],
    }


def records(platforms: Mapping[str, object] = PLATFORMS, repetitions: int = 3) -> list[TrialRecord]:
    return [
        record(platform, sweep, level, repetition)
        for repetition in range(1, repetitions + 1)
        for platform in platforms
        for sweep, levels in LEVELS.items()
        for level in levels
    ]


def results_of(found: list[TrialRecord]) -> list[Result]:
    """With warnings, which only a workload of another engine counts: from 20 streams on where it is crowded."""
    planned: dict[str, list[Trial]] = {}
    for each in found:
        planned.setdefault(each.trial.platform, []).append(each.trial)
    made = results(planned, found)
    for result in made:
        if result.completed:
            counts = warnings_of(result.platform, result.levels["streams"])
            result.measurements["interconnect_warnings"] = summarise([counts] * result.completed, "1", "lower")
    return made


def warnings_of(platform: str, streams: Level) -> float:
    assert isinstance(streams, int)
    return 80.0 if platform == "lab_crowded" and streams >= 20 else 0.0


def platform_file(name: str) -> dict[str, Any]:
    vms, density = PLATFORMS[name]
    return {
        "platform": name,
        "engine": "postgres",
        "placement": {
            "machine": {"sockets": 2, "cores_per_socket": 24, "threads_per_core": 2},
            "vms_per_machine": vms,
            "density": density,
        },
    }


def facts(name: str) -> dict[str, Any]:
    vms, density = PLATFORMS[name]
    machine = {"sockets": 2, "cores_per_socket": 24, "threads_per_core": 2}
    placement = {"machine": machine, "machines": 1, "vms_per_machine": vms, "host": {"cpus": 16}, "density": density}
    return {"placement": {"says": "machines", "judgements": [], **placement}}


EXPERIMENT = {
    "experiment": "tpcds_density",
    "title": "TPC-DS at rising concurrency and VM density",
    "description": "D",
    "platforms": list(PLATFORMS),
    "seed": 1,
    "published": "tpcds_density",
    "sweeps": {
        name: {
            "title": title,
            "workload": "full_scan",
            "factors": {"streams": LEVELS[name]},
            "plots": ["response_time_s"],
        }
        for name, title in (("lite", "Lite: the 51 fastest queries"), ("full", "Full: all 99 queries"))
    },
}


def write(folder: Path, found: list[TrialRecord] | None = None) -> Path:
    """A run's archive as files; returns its folder."""
    found = records() if found is None else found
    platforms = list(dict.fromkeys(each.trial.platform for each in found))
    choices = Choices(scale="laptop", platforms=platforms, seed=1)
    plan = Plan("tpcds_density", choices, {p: [r.trial for r in found if r.trial.platform == p] for p in platforms})
    files: dict[str, Any] = {
        "run.json": {"choices": choices.model_dump(), "started_by": {"by": "a test"}},
        "plan.json": plan.as_json(),
        "results.json": {"results": [result.as_json() for result in results_of(found)]},
        "verdicts.json": {"valid": True, "verdicts": []},
        **{f"platforms/{name}/facts.json": facts(name) for name in platforms},
        **{f"trials/{r.trial.platform}/{r.trial.id}/trial.json": {"format": 1, **asdict(r)} for r in found},
    }
    texts = {name: json.dumps(data) for name, data in files.items()}
    texts |= {"experiment.yaml": yaml.safe_dump(EXPERIMENT, sort_keys=False)}
    texts |= {f"platforms/{name}/platform.yaml": yaml.safe_dump(platform_file(name)) for name in platforms}
    for name, text in texts.items():
        path = folder / "tpcds_density" / "d1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "tpcds_density" / "d1"
