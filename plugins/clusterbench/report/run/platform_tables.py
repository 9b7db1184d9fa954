"""Tables of the platforms of a run: what their hosts did, plans of queries, facts and settings. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from clusterbench.base.plans import fingerprint
from clusterbench.base.words import ABSENT, number, share, size
from clusterbench.engines.instances import content_name
from clusterbench.hosts.conformance import AS_DECLARED, Row, fold
from clusterbench.hosts.kernel_counters import is_interface_of_its_own
from clusterbench.report.run.host_facts import host_facts
from clusterbench.results.gather import Gathered

WAYS = ("received", "sent")
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
    (
        "Accesses to disks, and swapping",
        (
            ("disk reads", "1/s", "disk_reads_per_s"),
            ("disk writes", "1/s", "disk_writes_per_s"),
            ("swapped in", "MB/s", "swap_in_mb_per_s"),
            ("swapped out", "MB/s", "swap_out_mb_per_s"),
        ),
    ),
)
"""Tables with the same rows: all of it in one is wider than a page."""


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


def host_tables(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, tuple[HostColumn, ...]]]:
    """Without those of which nothing is known: older archives have no accesses and no swapping."""
    return [
        (title, columns)
        for title, columns in HOST_TABLES
        if any(row["means"][name] != ABSENT for row in rows for _, _, name in columns)
    ]


def interface_rows(run: Gathered) -> list[dict[str, Any]]:
    """By host and interface what went through it: medians over a sweep's trials, of hosts with more than one.

    Shows whether a bond of interfaces balances its load, as Figure 5 of paper 002 does. Archives made before have none.
    """
    grouped: dict[tuple[str, str, str], list[Mapping[str, Mapping[str, float]]]] = {}
    for record in run.trials:
        for host, seen in record.telemetry.items():
            if seen.get("interfaces"):
                grouped.setdefault((record.trial.platform, record.trial.sweep, host), []).append(seen["interfaces"])
    rows = []
    for (platform, sweep, host), trials in grouped.items():
        names = sorted({name for trial in trials for name in trial})
        if sum(is_interface_of_its_own(name) for name in names) < 2:
            continue
        for name in names:
            counted = {
                way: _median(trial.get(name, {}).get(f"{way}_mb_per_s", 0.0) for trial in trials) for way in WAYS
            }
            row = {"platform": platform, "sweep": sweep.replace("_", " "), "host": host, "interface": name}
            rows.append({**row, **{way: _percent_like(value) for way, value in counted.items()}})
    return rows


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _percent_like(value: float | None) -> str:
    """Telemetry is good for two decimals at most: 0.0004 MB/s is nothing."""
    return "0" if value is not None and abs(value) < 0.005 else number(value)


Plans = Mapping[tuple[str, str], Mapping[str, str]]
"""Platform and cell -> statement -> its plan as text."""
PLANS_SHOWN = 300
"""Of a run; a report is one page."""


def plans(run: Gathered, archived: Plans) -> list[dict[str, Any]]:
    """Distinct plans, by platform and statement; those that differ in estimates and parameters only are one.

    Of runs of before plans were archived, those of the trials' records.
    """
    grouped: dict[tuple[str, str, str], dict[str, Any]] = {}
    for record in run.trials:
        trial = record.trial
        of_cell = dict(archived.get((trial.platform, trial.cell)) or {})
        if not of_cell and (text := _plan_text((record.evidence.get("workload") or {}).get("plan"))):
            of_cell = {"": text}
        for statement, text in of_cell.items():
            new = {"text": text, "cells": [], "platform": trial.platform, "head": _plan_head(statement, text)}
            found = grouped.setdefault((trial.platform, statement, fingerprint(text)), new)
            if trial.cell_label not in found["cells"]:
                found["cells"].append(trial.cell_label)
    return list(grouped.values())[:PLANS_SHOWN]


def _plan_head(statement: str, text: str) -> str:
    node = text.splitlines()[0].split("  (")[0].strip()
    return f"{statement}: {node}" if statement else node


def _plan_text(plan: object) -> str:
    if not plan:
        return ""
    return plan if isinstance(plan, str) else json.dumps(plan, indent=1, sort_keys=True)


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
