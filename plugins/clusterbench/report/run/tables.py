"""The tables about the run itself: how far to trust it, what the hosts did, plans, facts, every trial. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from clusterbench.base.records import TrialRecord
from clusterbench.base.words import ABSENT, named_counts, number, plural, share, size, without_sweep
from clusterbench.engines.instances import content_name
from clusterbench.hosts.conformance import AS_DECLARED, Row, fold
from clusterbench.hosts.resource_use import MEASUREMENTS
from clusterbench.report.run.cell_words import state_of
from clusterbench.report.run.host_facts import host_facts
from clusterbench.report.run.per_type import is_of_a_type, types_of
from clusterbench.results.gather import Gathered, workload_or_none
from clusterbench.results.verdicts import Verdict
from clusterbench.workloads import Workload

CHECKS = {
    1: "The data is right",
    2: "The answers are right",
    3: "The caches were as said",
    4: "The load driver was not the bottleneck",
    5: "The hosts were quiet",
    6: "Repetitions, in random order",
    7: "Nothing is dropped",
    8: "The platform is what it claims to be",
}
"""The list "How a number earns trust" of the README; a verdict carries the number of its check."""


@dataclass(frozen=True)
class Check:
    number: int
    title: str
    state: str
    """pass, warning, fail or not measured."""
    verdicts: list[Verdict]


def checks(verdicts: Sequence[Verdict]) -> list[Check]:
    """The eight checks, and any that a suite numbers otherwise, so that no verdict is left out."""
    numbers = [*CHECKS, *sorted({verdict.check for verdict in verdicts} - set(CHECKS))]
    return [_check(number, [verdict for verdict in verdicts if verdict.check == number]) for number in numbers]


def _check(number_of_check: int, verdicts: Sequence[Verdict]) -> Check:
    merged = list(dict.fromkeys(verdicts))  # two platforms with the same finding
    ordered = sorted(merged, key=lambda verdict: (verdict.passed, not verdict.critical))
    title = CHECKS.get(number_of_check, "Other expectations")
    if not ordered:
        return Check(number_of_check, title, "not measured", [])
    states = {state_of_verdict(verdict) for verdict in ordered}
    worst = next(state for state in ("fail", "warning", "pass") if state in states)
    return Check(number_of_check, title, worst, ordered)


def state_of_verdict(verdict: Verdict) -> str:
    if verdict.passed:
        return "pass"
    return "fail" if verdict.critical else "warning"


@dataclass(frozen=True)
class Badge:
    words: str
    css: str
    meaning: str


def badge(run: Gathered) -> Badge:
    """May these numbers be used? In words, because a colour alone says nothing to some readers."""
    if run.valid is None:
        return Badge("NO VERDICT", "none", "The run was never judged, so its numbers must not be used.")
    if not run.valid:
        return Badge("INVALID", "fail", "At least one critical check failed, so its numbers must not be used.")
    warnings = sum(not verdict.passed for verdict in run.verdicts)
    if warnings or run.errors:
        said = [plural(warnings, "warning")] if warnings else []
        said += [plural(len(run.errors), "error")] if run.errors else []
        return Badge("VALID WITH WARNINGS", "warning", f"Every critical check passed, with {' and '.join(said)}.")
    return Badge("VALID", "pass", "Every check passed.")


def broken(run: Gathered) -> list[str]:
    """Critical checks that failed, each with what was found."""
    return [f"{verdict.says}: {verdict.found}" for verdict in run.verdicts if verdict.critical and not verdict.passed]


def summary(run: Gathered) -> str:
    """The run in one sentence."""
    if run.plan is None:
        return "The run ended before its trials were planned."
    planned = sum(map(len, run.plan.trials.values()))
    outcomes: dict[str, int] = {}
    for record in run.trials:
        outcomes[record.outcome] = outcomes.get(record.outcome, 0) + 1
    outcomes |= {"not_run": planned - len(run.trials)} if planned > len(run.trials) else {}
    cells = sum(bool(result.completed) for result in run.results)
    ended = named_counts(dict(sorted(outcomes.items(), key=lambda item: item[0] != "completed")))
    return f"{cells} of {plural(len(run.results), 'cell')} have numbers; of {plural(planned, 'trial')}, {ended}."


def failed_cells(run: Gathered) -> list[dict[str, Any]]:
    """Cells with a trial that failed, by reason, so that one cause reads as one."""
    grouped: dict[str, list[str]] = {}
    for result in run.results:
        bad = {name: n for name, n in result.outcomes.items() if name not in ("completed", "not_applicable", "not_run")}
        if bad:
            cell = f"{result.label}: {result.n_of_n} completed, {named_counts(bad)}"
            several = f"{result.platform}, " if run.names_platforms else ""
            grouped.setdefault("; ".join(result.reasons) or "no reason was recorded", []).append(several + cell)
    return [{"reason": reason, "cells": cells} for reason, cells in grouped.items()]


def not_run(run: Gathered) -> int:
    return sum(result.outcomes.get("not_run", 0) for result in run.results)


def shared_machines(run: Gathered) -> list[str]:
    """Sentences about hosts that are one machine, by boot id: their figures prove the pipeline, no platform."""
    by_boot: dict[str, list[str]] = {}
    for platform, facts in run.facts.items():
        for host, found in (facts.get("hosts") or {}).items():
            several = f"{platform}/" if run.names_platforms else ""
            by_boot.setdefault(str(found.get("boot_id") or f"unknown {platform} {host}"), []).append(several + host)
    shared = [hosts for hosts in by_boot.values() if len(hosts) > 1]
    if len(by_boot) == 1 and shared:
        return [
            f"All {len(shared[0])} hosts are one machine ({', '.join(shared[0])} have the same boot id): clients, "
            "servers and everything else share its processors, memory and disk. The figures prove that the pipeline "
            "works; they say nothing about a platform."
        ]
    return [
        f"{', '.join(hosts)} are one machine (they have the same boot id) and share its resources." for hosts in shared
    ]


# What the hosts did.

HostColumn = tuple[str, str, str]
"""Title, unit, name in the telemetry of a trial."""
HOST_TABLES: tuple[tuple[str, tuple[HostColumn, ...]], ...] = (
    (
        "Processors",
        (
            ("CPU", "%", "cpu_percent"),
            ("iowait", "%", "cpu_iowait_percent"),
            ("steal", "%", "cpu_steal_percent"),
            ("CPU pressure", "%", "pressure_cpu_percent"),
            ("I/O pressure", "%", "pressure_io_percent"),
            ("memory pressure", "%", "pressure_mem_percent"),
            ("at own CPU limit", "%", "cpu_throttled_percent"),
            ("at server's limit", "%", "cpu_throttled_above_percent"),
        ),
    ),
    (
        "Disks, network and memory",
        (
            ("disk read", "MB/s", "disk_read_mb_per_s"),
            ("disk write", "MB/s", "disk_write_mb_per_s"),
            ("network in", "MB/s", "network_received_mb_per_s"),
            ("network out", "MB/s", "network_sent_mb_per_s"),
            ("loopback", "MB/s", "loopback_mb_per_s"),
            ("context switches", "1/s", "context_switches_per_s"),
            ("interrupts", "1/s", "interrupts_per_s"),
            ("memory used", "MB", "memory_used_mb"),
        ),
    ),
)
"""Two tables with the same rows: all of it in one is wider than a page."""


def host_rows(run: Gathered) -> list[dict[str, Any]]:
    """Medians over a sweep's trials of each host's means over the measured window."""
    grouped: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for record in run.trials:
        for host, seen in record.telemetry.items():
            if seen.get("samples"):
                grouped.setdefault((record.trial.platform, record.trial.sweep, host), []).append(seen)
    sweeps = list(run.experiment.sweeps) if run.experiment else []
    keys = sorted(grouped, key=lambda key: (key[0], sweeps.index(key[1]) if key[1] in sweeps else 0, key[1], key[2]))
    return [_host_row(key, grouped[key]) for key in keys]


def _host_row(key: tuple[str, str, str], seen: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    platform, sweep, host = key
    return {
        "platform": platform,
        "sweep": sweep.replace("_", " "),
        "host": host,
        "trials": len(seen),
        "samples": sum(int(entry["samples"]) for entry in seen),
        "means": {
            name: _percent_like(_median((entry.get("mean") or {}).get(name) for entry in seen))
            for _, columns in HOST_TABLES
            for _, _, name in columns
        },
        "before": _percent_like(_median(entry.get("cpu_percent_before") for entry in seen)),
        "collector": share(_median(entry.get("collector_cpu_share") for entry in seen)),
    }


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _percent_like(value: float | None) -> str:
    """Telemetry is good for two decimals at most: 0.0004 MB/s is nothing."""
    return "0" if value is not None and abs(value) < 0.005 else number(value)


# Plans.


def plans(run: Gathered) -> list[dict[str, Any]]:
    """Distinct plans; those that differ in numbers only, as by the key looked up, are one."""
    grouped: dict[tuple[str, str], dict[str, Any]] = {}
    for record in run.trials:
        text = _plan_text((record.evidence.get("workload") or {}).get("plan"))
        if text:
            shape = re.sub(r"\b\d+(?:\.\d+)?\b", "#", text)
            cell = record.trial.cell_label
            found = grouped.setdefault((record.trial.platform, shape), {"text": text, "cells": []})
            found["platform"] = record.trial.platform
            if cell not in found["cells"]:
                found["cells"].append(cell)
    for found in grouped.values():
        found["cells"].sort()
        found["head"] = str(found["text"]).splitlines()[0].split("  (")[0]
    return sorted(grouped.values(), key=lambda found: (found["platform"], found["cells"][0]))


def _plan_text(plan: object) -> str:
    if not plan:
        return ""
    return plan if isinstance(plan, str) else json.dumps(plan, indent=1, sort_keys=True)


# Facts.


INSTANCES_SHOWN = 9
"""Of the instances of a setting that is not the same on all; a cluster may have thousands."""


def facts(run: Gathered) -> list[dict[str, Any]]:
    """By platform: what the engine is, what each host is, settings, datasets."""
    return [_facts(name, run) | _declared(run.conformance.get(name) or []) for name in run.platforms]


def _declared(rows: Sequence[Row]) -> dict[str, Any]:
    """What was declared and found, hosts alike as one: first what differs, and how many are as declared."""
    folded = fold(rows)
    return {
        "deviations": [each for each in folded if each.row.verdict != AS_DECLARED],
        "declared": [each for each in folded if each.row.verdict == AS_DECLARED],
    }


def _facts(name: str, run: Gathered) -> dict[str, Any]:
    found, data = run.facts.get(name) or {}, run.data.get(name) or {}
    engine = found.get("engine") or {}
    return {
        "platform": name,
        "engine": {key: _said(key, value) for key, value in engine.items() if not isinstance(value, dict | list)},
        "page_cache": found.get("page_cache"),
        "notes": found.get("notes") or [],
        "without_hosts": found.get("without_hosts"),
        "placement": found.get("placement"),
        "neighbours": list(found.get("neighbours") or {}),
        "instances": [_instance(row) for row in engine.get("instances") or []],
        "differing": [
            (setting, _differing(values))
            for setting, values in sorted((engine.get("settings_that_differ") or {}).items())
        ],
        "hosts": host_facts(run.sides[name]) if name in run.sides and found.get("hosts") else None,
        "settings": sorted((engine.get("settings") or {}).items()),
        "datasets": [_dataset(kind, rows) for kind, rows in (data.get("datasets") or {}).items()],
    }


def _instance(row: Mapping[str, Any]) -> dict[str, str]:
    in_role = "" if row["role"] == row["preferred_role"] else ", not in its preferred role"
    role = "primary" if row["role"] == "p" else "mirror"
    return {
        "instance": content_name(row["content"]),
        "role": ("" if str(row["content"]) == "-1" else role) + in_role,
        "host": str(row["host"] or row["address"]),
        "port": str(row["port"]),
        "state": "up" if row["status"] == "u" else "down",
        "data directory": str(row["data_directory"]),
    }


def _differing(values: Mapping[str, str]) -> str:
    shown = [f"{content_name(content)} {value}" for content, value in list(values.items())[:INSTANCES_SHOWN]]
    more = len(values) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _dataset(kind: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = list(dict.fromkeys(fact for row in rows for fact in row))
    ordered = sorted(names, key=lambda name: name != "table")
    return {
        "name": kind,
        "columns": [_title(name) for name in ordered],
        "rows": [[_said(name, row.get(name)) for name in ordered] for row in rows],
    }


def _title(fact: str) -> str:
    return re.sub(r" bytes$", "", fact.replace("_", " "))


def _said(fact: str, value: object) -> str:
    if value is None or value == "":
        return ABSENT
    if fact.endswith("_bytes") and str(value).isdigit():
        return size(float(str(value)))
    return str(value)


# All trials.

TRIAL_MEASUREMENTS = ("throughput", "response_time", "_p50", "_p99", "suite_s", "terasort_s")
"""Which of a workload's measurements stand beside each trial, by a part of their names."""


def trial_columns(run: Gathered) -> list[tuple[str, str]]:
    """(name, title with unit) of the measurements that the list of all trials shows."""
    found: dict[str, str] = {}
    workloads = {record.trial.workload for record in run.trials}
    known = [w for name in sorted(workloads) if (w := workload_or_none(name))]
    kinds = [{n: kind for n, kind in w.measurements.items() if not has_own_section(w, n)} for w in known]
    for part in TRIAL_MEASUREMENTS:
        for measurements in kinds:
            for name, kind in measurements.items():
                if name.startswith(part) or name.endswith(part):
                    found.setdefault(name, f"{kind.title}, {kind.unit}")
    seen = {name for record in run.trials for name in record.measurements}
    return [(name, title) for name, title in found.items() if name in seen]


def trial_rows(run: Gathered, columns: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {
            "label": record.trial.label,
            "platform": record.trial.platform,
            "outcome": record.outcome,
            "started_at": record.started_at,
            "measurements": [record.measurements.get(name) for name, _ in columns],
            "caches": _caches(record),
            "driver": share(record.measurements.get("driver_cpu_share")),
            "reason": "; ".join(filter(None, [record.reason, *_before_it(record), *_warnings(record)])),
        }
        for record in run.trials
    ]


def _before_it(record: TrialRecord) -> list[str]:
    prepared = (record.evidence.get("workload") or {}).get("recovered") or []
    return [f"before it, {done}" for done in (*(record.evidence.get("recovered") or []), *prepared)]


def _warnings(record: TrialRecord) -> list[str]:
    """What the driver said beside its numbers: tasks that were run again."""
    return list((record.evidence.get("driver") or {}).get("warnings") or [])


def logs_of_faults(run: Gathered) -> list[tuple[str, str]]:
    """(trial, last lines of the servers' logs) of trials during which an instance went down or was restarted."""
    found = ((record, (record.evidence.get("after") or {}).get("log")) for record in run.trials)
    return [(f"{record.trial.platform}, {record.trial.label}", str(log)) for record, log in found if log]


def _caches(record: TrialRecord) -> str:
    """Bytes that were in memory at the start: the evidence, not the intention."""
    caches = record.evidence.get("caches") or {}
    parts = [
        f"{size(caches[key])} {where}"
        for key, where in (("database_bytes", "database"), ("file_system_bytes", "file system"))
        if caches.get(key) is not None
    ]
    if not parts:
        return ABSENT
    total = f" of {size(caches['total_bytes'])}" if caches.get("total_bytes") is not None else ""
    return ", ".join(parts) + total


def has_own_section(workload: Workload | None, measurement: str) -> bool:
    """What the report shows by type or as the system's side; in a line of everything it would be far too wide."""
    if types_of(workload) and measurement in MEASUREMENTS:
        return True
    return is_of_a_type(workload, measurement)


def measurement_matrix(view: Any) -> dict[str, Any]:
    """Medians of what a sweep measured, a line per cell; but for what has a section of its own."""
    names = [name for name in view.measured if not has_own_section(view.workload, name)]
    kinds = [view.kind(name) for name in names]
    return {
        "columns": [kind.title + ("" if kind.unit == "1" else f", {kind.unit}") for kind in kinds],
        "rows": [
            {
                "label": without_sweep(result.label),
                "platform": result.platform,
                "state": state_of(result),
                "values": [(s.median if (s := result.measurements.get(name)) else None) for name in names],
            }
            for result in view.results
            if result.measurements
        ],
    }
