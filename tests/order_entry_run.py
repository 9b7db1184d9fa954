"""A made-up run of Order-Entry on three platforms whose numbers are known: native, a VM, and one that is too busy."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import yaml

from clusterbench.base.factors import Level
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.results.durability import of_run
from clusterbench.results.statistics import results
from clusterbench.results.verdicts import Verdict
from clusterbench.trial.plan import Choices, Plan
from clusterbench.workloads import load_workload

PLATFORMS = ("lab_native", "lab_vm64", "lab_busy")
SPEED = {"lab_native": 1.0, "lab_vm64": 0.895, "lab_busy": 0.95}
UTILISATION = {"lab_native": 60.2, "lab_vm64": 59.4, "lab_busy": 64.5}
SHARES = {"new_order": 0.45, "payment": 0.43, "order_status": 0.04, "delivery": 0.04, "stock_level": 0.04}
SWEEPS: dict[str, tuple[str, dict[str, list[Level]]]] = {
    "clients": ("Throughput by clients", {"clients": [1, 16], "warehouses": [10]}),
    "utilisation": ("Native and virtual at equal CPU utilisation", {"cpu_percent": [60], "clients": [64]}),
    "durability": ("What durability costs", {"clients": [16], "synchronous_commit": ["on", "off"]}),
}
ALL_ON = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
PART_S = 0.5
PARTS = 240
BEGUN_S = 1_795_000_000.0
NOTICE = "Derived from TPC-C, a non-compliant batch implementation: not comparable to published TPC-C results."


def levels_of(sweep: str) -> list[dict[str, Level]]:
    found: list[dict[str, Level]] = [{}]
    for name, levels in SWEEPS[sweep][1].items():
        found = [{**one, name: level} for one in found for level in levels]
    return found


def throughput(platform: str, levels: Mapping[str, Level], repetition: int) -> float:
    """The second repetition is the median, the third the best; without waiting for commits it is half as much again."""
    base = 60.0 * float(levels["clients"]) ** 0.7 if not levels.get("cpu_percent") else 1000.0
    faster = 1.5 if levels.get("synchronous_commit") == "off" else 1.0
    return base * faster * SPEED[platform] * (1 + 0.01 * (repetition - 2))


def change_of(sweep: str, platform: str, repetition: int) -> float:
    """The busy platform slows down while it is measured."""
    return (-24.0 if (platform, sweep) == ("lab_busy", "utilisation") else -1.2) + repetition


def record(platform: str, sweep: str, levels: Mapping[str, Level], repetition: int) -> TrialRecord:
    """As the trial protocol leaves it."""
    said = ", ".join(load_workload("order_entry").factors[name].say(level) for name, level in levels.items())
    rate = throughput(platform, levels, repetition)
    trial = Trial(
        id=f"{sweep}.{'.'.join(map(str, levels.values()))}.r{repetition}",
        label=f"{sweep}: {said} (#{repetition})",
        platform=platform,
        sweep=sweep,
        workload="order_entry",
        levels={"synchronous_commit": "as_set", "cpu_percent": 0, "warehouses": 10, **levels},
        repetition=repetition,
        seed=1,
        timeout_s=100,
        settings={},
    )
    begun = BEGUN_S + 10_000 * repetition
    change = change_of(sweep, platform, repetition)
    return TrialRecord(
        trial,
        "completed",
        "",
        measurements=measurements(platform, levels, rate, change),
        window_start_s=begun,
        window_end_s=begun + PARTS * PART_S,
        evidence={
            "workload": {"durability": durability_of(levels)},
            "driver": {"per_second": per_second(rate, change)},
            **({"load": search(platform, rate)} if levels.get("cpu_percent") else {}),
        },
        telemetry={"db": {"samples": 120, "mean": {"cpu_percent": 60.0}}},
        started_at=f"2026-11-22T0{repetition}:{len(said):02}:00.000+00:00",
        driver_starts=1,
    )


def durability_of(levels: Mapping[str, Level]) -> dict[str, str]:
    chosen = str(levels.get("synchronous_commit", "as_set"))
    return {**ALL_ON, **({} if chosen == "as_set" else {"synchronous_commit": chosen})}


def measurements(platform: str, levels: Mapping[str, Level], rate: float, change: float) -> dict[str, float]:
    """No network beside the loopback: every host is one machine."""
    clients = 7 if levels.get("cpu_percent") else float(levels["clients"])
    mean_ms = 1000 * clients / rate
    found = {"throughput_per_s": rate, "rolled_back_per_s": 0.0045 * rate, "retries_per_s": 0.02 * rate}
    spread = {"p50": 0.8, "p95": 2.5, "p99": 5.0, "max": 40.0}
    for name, share in SHARES.items():
        found[f"{name}_per_s"] = share * rate
        heavier = 6 if name == "delivery" else 1
        found |= {f"{name}_ms_{which}": mean_ms * factor * heavier for which, factor in spread.items()}
    found |= {f"latency_ms_{which}": mean_ms * factor for which, factor in spread.items()}
    busy = UTILISATION[platform] if levels.get("cpu_percent") else min(97.0, 20 * clients**0.5)
    return found | {
        "latency_ms_mean": mean_ms,
        "throughput_change_percent": change,
        "clients_used": clients,
        "driver_cpu_share": 0.05,
        "cpu_percent": busy,
        "transactions_per_cpu_s": rate / (1.2 * busy / 100),
        "disk_iops": 2.6 * rate,
        "disk_mb_per_s": 0.014 * rate,
        **{f"network_{way}_{what}_per_s": 0.0 for way in ("received", "sent") for what in ("packets", "mb")},
        "loopback_packets_per_s": 4.2 * rate,
        "loopback_mb_per_s": 0.003 * rate,
        "interrupts_per_s": 4.9 * rate,
        "context_switches_per_s": 4.3 * rate,
        "load_1_min": 3.5,
    }


def per_second(rate: float, change: float) -> dict[str, Any]:
    """A wave on a line that changes by so many percent."""

    def count(share: float, number: int) -> int:
        line = 1 + change / 100 * (number / (PARTS - 1) - 0.5)
        return round(share * rate * PART_S * (line + 0.06 * math.sin(number / 5 + 30 * share)))

    shares = {**SHARES, "rolled_back": 0.0045}
    return {"part_s": PART_S, **{name: [count(share, n) for n in range(PARTS)] for name, share in shares.items()}}


def search(platform: str, rate: float) -> dict[str, Any]:
    """Of ``utilisation.reach``: doubled until it is too much, then held at a rate."""
    tries = [(1, 0.0, 20.0), (4, 0.0, 44.0), (8, 0.0, 71.0), (7, 0.9 * rate, UTILISATION[platform])]
    steps = [
        {
            "load": {"clients": clients, "rate_per_s": held},
            "seconds": 3.0,
            "cpu_percent": percent,
            "throughput_per_s": rate * percent / UTILISATION[platform],
            "iowait_percent": 1.0,
            "driver_cpu_share": 0.05,
        }
        for clients, held, percent in tries
    ]
    return {"cpu_percent": 60.0, "steps": steps, "clients": 7, "rate_per_s": 0.9 * rate}


def records(platforms: Sequence[str] = PLATFORMS, repetitions: int = 3) -> list[TrialRecord]:
    return [
        record(platform, sweep, levels, repetition)
        for repetition in range(1, repetitions + 1)
        for platform in platforms
        for sweep in SWEEPS
        for levels in levels_of(sweep)
    ]


def as_the_papers(platforms: Sequence[str] = PLATFORMS[:2]) -> list[TrialRecord]:
    """At the paper's size and at its two utilisations: 85 % natively, and 90 % of the VM's guest."""
    found = []
    for platform in platforms:
        for percent, held in ((85, 84.8), (90, 90.3)):
            levels: dict[str, Level] = {"cpu_percent": percent, "clients": 1024, "warehouses": 32000}
            for repetition in (1, 2, 3):
                made = record(platform, "utilisation", levels, repetition)
                found.append(replace(made, measurements={**made.measurements, "cpu_percent": held}))
    return found


def facts(durability: Mapping[str, str] = ALL_ON) -> dict[str, Any]:
    """Client and database are one machine."""
    host = {"boot_id": "b1", "system": "Debian 12", "kernel": "6.1.0", "hypervisor": "KVM", "cpus": 2}
    engine = {"engine": "postgres", "version": "PostgreSQL 15.18 (Debian)", "version_number": 150018, "settings": {}}
    return {"engine": engine, "hosts": {"client": host, "db": host}, "durability": dict(durability)}


def platform_file(name: str) -> dict[str, Any]:
    hosts = {"client": {"ssh": "c", "roles": ["client"]}, "db": {"ssh": "d", "roles": ["coordinator"]}}
    return {
        "platform": name,
        "title": "T",
        "engine": "postgres",
        "cluster": "c",
        "database": f"{name}_database",
        "hosts": hosts,
        "placement": {"vms_per_machine": int("vm" in name)},
    }


EXPERIMENT = {
    "experiment": "order_entry",
    "title": "Order-Entry: OLTP throughput, native against virtual",
    "description": "D",
    "platforms": list(PLATFORMS),
    "seed": 1,
    "published": "order_entry",
    "notice": NOTICE,
    "sweeps": {
        name: {"title": title, "workload": "order_entry", "factors": factors, "plots": ["throughput_per_s"]}
        for name, (title, factors) in SWEEPS.items()
    },
}


def write(
    folder: Path,
    found: Sequence[TrialRecord] | None = None,
    durability: Mapping[str, Mapping[str, str]] | None = None,
    run: str = "o1",
    *,
    without_evidence: bool = False,
) -> Path:
    """A run's archive as files; returns its folder. ``durability``: of platforms that are not all on.

    ``without_evidence``: trials read no settings back.
    """
    found = records() if found is None else list(found)
    if without_evidence:
        found = [replace(each, evidence={**each.evidence, "workload": {}}) for each in found]
    platforms = list(dict.fromkeys(each.trial.platform for each in found))
    choices = Choices(scale="laptop", platforms=platforms, seed=1)
    planned = {name: [each.trial for each in found if each.trial.platform == name] for name in platforms}
    verdict = Verdict("platforms", 8, "Every platform is what it claims to be", True, True, ", ".join(platforms))
    known = {name: facts((durability or {}).get(name, ALL_ON)) for name in platforms}
    of_cells = [result.as_json() for result in results(planned, found)]
    files: dict[str, Any] = {
        "run.json": {"choices": choices.model_dump(), "started_by": {"by": "a test"}},
        "plan.json": Plan("order_entry", choices, planned).as_json(),
        "results.json": {"results": of_cells, "durability": of_run(known, found).as_json()},
        "verdicts.json": {"valid": True, "verdicts": [verdict.as_json()]},
        **{f"platforms/{name}/facts.json": found_there for name, found_there in known.items()},
        **{f"trials/{r.trial.platform}/{r.trial.id}/trial.json": {"format": 1, **asdict(r)} for r in found},
    }
    texts = {name: json.dumps(data) for name, data in files.items()}
    texts |= {"experiment.yaml": yaml.safe_dump(EXPERIMENT, sort_keys=False)}
    texts |= {f"platforms/{name}/platform.yaml": yaml.safe_dump(platform_file(name)) for name in platforms}
    for name, text in texts.items():
        path = folder / "order_entry" / run / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "order_entry" / run
