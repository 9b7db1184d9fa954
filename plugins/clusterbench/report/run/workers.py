"""What each worker did in each trial of the TeraSort suite, and which was the slowest (paper 002). Pure.

Archives made before do not tell which worker ran a task; then there is no table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterbench.base.records import TrialRecord
from clusterbench.base.words import ABSENT, number
from clusterbench.results.gather import Gathered
from clusterbench.workloads.terasort.workers import SPEED_SHARE_MIN

SHOWN_MAX = 20
"""Workers of the one stage whose workers are listed; the record has all of all."""
SLOW = 1 / SPEED_SHARE_MIN
"""Of the slowest worker's seconds a task by the median worker's: from here on it is marked, as the check warns."""


@dataclass(frozen=True)
class StageRow:
    """One stage of one trial over all workers."""

    trial: str
    platform: str
    stage: str
    workers: int
    tasks: str
    """Of the worker with the fewest, the median, and the worker with the most."""
    per_minute: str
    """Tasks that the median worker finished in a minute of the stage."""
    median_task_s: str
    slowest: str
    slowest_task_s: str
    ratio: float
    fewest: str
    unsuccessful: int

    @property
    def is_slow(self) -> bool:
        return self.ratio > SLOW


@dataclass(frozen=True)
class WorkerRow:
    worker: str
    tasks: int
    task_s: float
    mean_s: str
    unsuccessful: int


@dataclass(frozen=True)
class Listed:
    """The stage in which a platform's workers differ most, its slowest workers first."""

    platform: str
    of: str
    rows: list[WorkerRow]
    total: int


@dataclass(frozen=True)
class Workers:
    rows: list[StageRow]
    listed: list[Listed]


def workers(run: Gathered) -> Workers | None:
    """None where no trial of the run tells it."""
    found = [(record, stage) for record in run.trials for stage in _stages(record)]
    if not found:
        return None
    worst: dict[str, tuple[TrialRecord, Mapping[str, Any]]] = {}
    for record, stage in found:
        before = worst.get(record.trial.platform)
        if before is None or _ratio(stage) > _ratio(before[1]):
            worst[record.trial.platform] = record, stage
    rows = [_row(record, stage) for record, stage in found]
    return Workers(rows, [_listed(*worst[name]) for name in run.platforms if name in worst])


def _stages(record: TrialRecord) -> Sequence[Mapping[str, Any]]:
    return (record.evidence.get("driver") or {}).get("work_by_worker") or ()


def _ratio(stage: Mapping[str, Any]) -> float:
    return float(stage["slowest_task_s"] / stage["median_task_s"])


def _row(record: TrialRecord, stage: Mapping[str, Any]) -> StageRow:
    tasks = [did[0] for did in stage["workers"].values()]
    minutes = stage["elapsed_s"] / 60
    return StageRow(
        trial=record.trial.label,
        platform=record.trial.platform,
        stage=stage["stage"],
        workers=len(tasks),
        tasks=f"{min(tasks)} / {stage['median_tasks']:g} / {max(tasks)}",
        per_minute=number(stage["median_tasks"] / minutes) if minutes else ABSENT,
        median_task_s=number(stage["median_task_s"]),
        slowest=stage["slowest"],
        slowest_task_s=number(stage["slowest_task_s"]),
        ratio=_ratio(stage),
        fewest=ABSENT if min(tasks) == max(tasks) else stage["fewest"],
        unsuccessful=sum(did[2] for did in stage["workers"].values()),
    )


def _listed(record: TrialRecord, stage: Mapping[str, Any]) -> Listed:
    by_speed = sorted(stage["workers"].items(), key=lambda each: -_mean_s(each[1]))
    rows = [
        WorkerRow(name, did[0], did[1], number(did[1] / did[0]) if did[0] else ABSENT, did[2])
        for name, did in by_speed[:SHOWN_MAX]
    ]
    return Listed(record.trial.platform, f"{stage['stage']} of {record.trial.label}", rows, len(by_speed))


def _mean_s(did: Sequence[float]) -> float:
    """One that finished no task stands first: nobody is slower."""
    return did[1] / did[0] if did[0] else float("inf")
