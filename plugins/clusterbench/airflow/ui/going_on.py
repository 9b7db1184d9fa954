"""Runs that are going on: how far each is, and whether something keeps it from going on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clusterbench.airflow.liveness import Liveness
from clusterbench.airflow.standing import Standstill
from clusterbench.base.run_ids import WEEKLY, run_id_from
from clusterbench.spec.catalog import project_catalog

ENDED_STATES = ("success", "failed", "skipped", "upstream_failed", "removed")
TRIALS = "trials"
"""The mapped task of a platform that measures."""
SECRET = {"dag_id": "another DAG", "dag_run_id": "a run that your login may not read", "task_id": "", "map_index": -1}


@dataclass(frozen=True)
class DagRunNow:
    """A DAG run as Airflow's database has it at this moment."""

    dag_id: str
    dag_run_id: str
    state: str
    asked_at: datetime
    started_at: datetime | None
    tasks: Sequence[Mapping[str, Any]]
    """Task instances with the names of Airflow's REST API, and ``last_heartbeat_at``."""
    outages: Sequence[Mapping[str, Any]]
    """XComs of tasks that wait for somebody."""

    @property
    def is_over(self) -> bool:
        return self.state in ("success", "failed")


@dataclass(frozen=True)
class AirflowNow:
    """What Airflow's database tells at one moment."""

    at: datetime
    runs: Sequence[DagRunNow]
    health: Mapping[str, Any]
    holders: Mapping[str, Sequence[Mapping[str, Any]]]
    """Pool -> the task instances, of any run, that have a slot of it."""
    heartbeat_timeout_s: float


@dataclass(frozen=True)
class RunShown:
    """A run on the page."""

    run: DagRunNow
    run_id: str
    """Its id in archive and history."""
    steps_ended: int
    trials_ended: int
    trials: int
    """Tasks that measure: each holds one trial, or some where there are very many."""
    doing: tuple[str, ...]
    """Tasks that run."""
    failed: tuple[str, ...]
    waits: tuple[str, ...]
    """Sentences: why something of it does not go on."""


@dataclass(frozen=True)
class GoingOn:
    """All runs that a visitor may read, the newest first, and what is wrong with Airflow itself."""

    runs: list[RunShown]
    airflow: list[str]

    @property
    def is_any_waiting(self) -> bool:
        return bool(self.airflow) or any(shown.waits for shown in self.runs)


def names() -> list[str]:
    """Of the DAGs whose runs are benchmarks."""
    return [*(file.stem for file in project_catalog().experiment_files), WEEKLY]


def gather(now: AirflowNow, readable: Callable[[Iterable[str]], Collection[str]]) -> GoingOn:
    """``now``: runs that the visitor may read. Who holds a slot they wait for may be somebody else's."""
    asked = {one["dag_id"] for held in now.holders.values() for one in held}
    known = readable(asked)
    holders = {
        pool: [one if one["dag_id"] in known else {**one, **SECRET} for one in held]
        for pool, held in now.holders.items()
    }
    lasting = [run for run in now.runs if not run.is_over]
    said = Liveness().changes(now.health, now.at) if lasting else []
    return GoingOn([_shown(run, now, holders) for run in now.runs], said)


def _shown(run: DagRunNow, now: AirflowNow, holders: Mapping[str, Sequence[Mapping[str, Any]]]) -> RunShown:
    trials = [task for task in run.tasks if _is_trial(task)]
    return RunShown(
        run,
        run_id_from(run.asked_at, run.dag_run_id),
        _count_ended(run.tasks),
        _count_ended(trials),
        len(trials),
        tuple(_named(task) for task in run.tasks if task["state"] == "running"),
        tuple(_named(task) for task in run.tasks if task["state"] == "failed"),
        () if run.is_over else tuple(_waits(run, now, holders)),
    )


def _waits(run: DagRunNow, now: AirflowNow, holders: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    standstill = Standstill()
    running = {(task["task_id"], task["map_index"]) for task in run.tasks if task["state"] == "running"}
    lasting = [
        entry
        for entry in run.outages
        if not entry["value"]["until"] and (entry["task_id"], entry["map_index"]) in running
    ]
    return [
        *standstill.outages(lasting),
        *standstill.queued(run.tasks, now.at),
        *standstill.pools(run.tasks, holders, now.at),
        *standstill.unheard(run.tasks, now.at, now.heartbeat_timeout_s),
        *standstill.tried_again(run.tasks),
    ]


def _is_trial(task: Mapping[str, Any]) -> bool:
    return str(task["task_id"]).rpartition(".")[2] == TRIALS and task["map_index"] >= 0


def _count_ended(tasks: Sequence[Mapping[str, Any]]) -> int:
    counted = Counter(task["state"] in ENDED_STATES for task in tasks)
    return counted[True]


def _named(task: Mapping[str, Any]) -> str:
    """Such as "lab_db1.trials: 50 clients"."""
    name = task.get("rendered_map_index") or (task["map_index"] if task["map_index"] >= 0 else "")
    return f"{task['task_id']}: {name}" if name != "" else str(task["task_id"])
