"""What the hosts did in each phase of a trial: over time, and summed up beside what it should be. Pure.

As paper 002 does with its Figures 3, 4 and 5, to find what an application does that nobody expects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterbench.base.records import TrialRecord
from clusterbench.results.gather import Gathered

NEAR = 0.1
"""A tenth more or less is as expected."""
WORDS = {
    "disk_read": "read from disks",
    "disk_write": "written to disks",
    "network": "sent between hosts",
    "network_at_most": "sent between hosts",
    "loopback": "sent within the one machine",
}
KEYS = {
    "disk_read": "disk_read_bytes",
    "disk_write": "disk_write_bytes",
    "network": "network_sent_bytes",
    "network_at_most": "network_sent_bytes",
    "loopback": "loopback_bytes",
}


@dataclass(frozen=True)
class Sum:
    """Bytes over all machines in one phase. ``ratio`` is None where nothing was expected.

    ``of_dataset`` is a share, None in archives that do not tell the dataset's size; ``is_most``: less is as expected.
    """

    phase: str
    what: str
    expected_bytes: float
    found_bytes: float
    ratio: float | None
    remark: str
    of_dataset: float | None = None
    is_most: bool = False


@dataclass(frozen=True)
class Course:
    """One trial on one host: ``phases`` as (name, begin, end) in seconds from the trial's begin."""

    platform: str
    cell: str
    host: str
    machines: int
    phases: list[tuple[str, float, float]]
    series: Mapping[str, Sequence[float]]
    sums: list[Sum]


def courses(run: Gathered) -> list[Course]:
    """The best repetition of every cell with several phases, as the paper shows its; in the order of the results."""
    best: dict[tuple[str, str], TrialRecord] = {}
    for record in run.trials:
        if record.outcome == "completed" and len(record.evidence.get("phases") or []) > 1:  # one: see ``series.py``
            key = (record.trial.platform, record.trial.cell)
            if key not in best or _length_s(record) < _length_s(best[key]):
                best[key] = record
    order = {(result.platform, result.cell): number for number, result in enumerate(run.results)}
    made = (_course(best[key]) for key in sorted(best, key=lambda key: order.get(key, len(order))))
    return [course for course in made if course is not None]


def _length_s(record: TrialRecord) -> float:
    return float(sum(phase["end_s"] - phase["start_s"] for phase in record.evidence["phases"]))


def _course(record: TrialRecord) -> Course | None:
    drawn = next(((host, seen["course"]) for host, seen in record.telemetry.items() if seen.get("course")), None)
    if drawn is None:
        return None
    phases = record.evidence["phases"]
    begun = phases[0]["start_s"]
    machines = _machines(record)
    return Course(
        platform=record.trial.platform,
        cell=record.trial.cell_label,
        host=drawn[0],
        machines=len(machines),
        phases=[(phase["name"], phase["start_s"] - begun, phase["end_s"] - begun) for phase in phases],
        series=drawn[1],
        sums=_sums({phase["name"]: phase.get("data_bytes") for phase in phases}, _expected(record), machines),
    )


def _expected(record: TrialRecord) -> Mapping[str, Mapping[str, float]]:
    return (record.evidence.get("driver") or {}).get("expected_bytes") or {}


def _machines(record: TrialRecord) -> list[Mapping[str, Any]]:
    """Telemetry of each machine once: hosts that share one, by its boot id, each see all of it."""
    found: dict[str, Mapping[str, Any]] = {}
    for host, seen in record.telemetry.items():
        if seen.get("phases"):
            found.setdefault(str(seen.get("boot_id") or host), seen["phases"])
    return list(found.values())


def _sums(
    phases: Mapping[str, float | None],
    expected: Mapping[str, Mapping[str, float]],
    machines: Sequence[Mapping[str, Any]],
) -> list[Sum]:
    """``phases``: name -> bytes of the dataset.

    Between hosts where there are several machines; within the one machine, where every host is an address of it.
    """
    absent = ("network", "network_at_most") if len(machines) == 1 else ("loopback",)
    rows = []
    for phase, data_bytes in phases.items():
        for what, wanted in expected.get(phase, {}).items():
            if what not in absent:
                seen = sum(machine.get(phase, {}).get(KEYS[what], 0.0) for machine in machines)
                rows.append(
                    Sum(
                        phase,
                        WORDS[what],
                        wanted,
                        seen,
                        seen / wanted if wanted else None,
                        _remark(what, wanted, seen),
                        seen / data_bytes if data_bytes else None,
                        is_most=what.endswith("_at_most"),
                    )
                )
    return rows


def _remark(what: str, expected: float, found: float) -> str:
    if not expected:
        return ""
    if what == "network_at_most":
        return _remark_on_most(expected, found)
    if abs(found / expected - 1) <= NEAR + 1e-9:
        return "as expected"
    if found > expected:
        return "more than expected; possible reasons: work files, or another program"
    return (
        "less than expected; possible reasons: it was in memory, or is not written yet"
        if what.startswith("disk")
        else "less than expected"
    )


def _remark_on_most(expected: float, found: float) -> str:
    if found > expected * (1 + NEAR):
        return "more than it can be; possible reason: another program"
    return "read on its own host" if found < expected * NEAR else "whole files are read, with blocks of other hosts"
