"""One run of the lab's Airflow under a fault, and what it came to: valid, a failed cell with its reason, or LOST."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from clusterbench.airflow.api import AirflowApi
from clusterbench.base.archive import CONNECTION_ID, RunArchive, Store
from clusterbench.base.connections import from_file
from clusterbench.base.errors import AirflowApiError, ClusterbenchError
from clusterbench.base.run_ids import run_id_from
from clusterbench.trial.plan import Plan
from clusterbench_lab.chaos.faults import part, struck
from clusterbench_lab.chaos.scenarios import Scenario
from clusterbench_lab.lab import Lab

PLATFORM = "lab_db1"
EXPERIMENT = "key_value"
CHOICES = {"scale": "laptop", "sweeps": ["concurrency"], "concurrency": [50], "repetitions": 1}
"""Three trials of some seconds each, on tables that take some seconds to make."""
PHASE_WITHIN_S = 900
ENDED = ("success", "failed")
LOST = "LOST"


@dataclass
class Told:
    """A line of the table."""

    scenario: Scenario
    verdict: str
    completed: int = 0
    planned: int = 0
    driver_starts_max: int = 0
    reasons: list[str] = field(default_factory=list)
    waited: list[str] = field(default_factory=list)
    took_s: float = 0.0

    @property
    def is_lost(self) -> bool:
        return self.verdict == LOST or self.driver_starts_max > 1


def measure(lab: Lab, scenario: Scenario, seed: int, *, limit_s: float) -> Told:
    """Start a run, strike at its phase, bring back what was struck, and judge what the run came to."""
    api = AirflowApi(lab.airflow_url(), *lab.airflow_login())
    begun = time.monotonic()
    dag_run_id = api.trigger(EXPERIMENT, {**CHOICES, "seed": seed, "platforms": [PLATFORM]})
    asked = datetime.fromisoformat(api.dag_run(EXPERIMENT, dag_run_id)["run_after"])
    run_id = run_id_from(asked, dag_run_id)
    task_pid = _wait_for(api, dag_run_id, lambda: _pid_in(lab, api, scenario.phase, dag_run_id, run_id))
    with struck(lab, part(scenario.part), scenario.fault, task_pid):
        time.sleep(scenario.outage_s)
    state = _end_of(api, dag_run_id, time.monotonic() + limit_s)
    told = _judged(lab, scenario, run_id, state)
    told.took_s = time.monotonic() - begun
    return told


def _wait_for(api: AirflowApi, dag_run_id: str, found: Callable[[], int]) -> int:
    until = time.monotonic() + PHASE_WITHIN_S
    while not (pid := found()):
        state = api.dag_run(EXPERIMENT, dag_run_id)["state"]
        if time.monotonic() > until or state in ENDED:
            raise ClusterbenchError(f"chaos: the run never came to that phase; it is {state}")
        time.sleep(0.02)
    return pid


TASKS = {"set-up": "set_up_cluster", "generation": "generate_data", "at the seal": "seal_archive"}
"""Of the phases that are a task."""


def _pid_in(lab: Lab, api: AirflowApi, phase: str, dag_run_id: str, run_id: str) -> int:
    """The process id of the run's task where the run is in that phase, else 0. In phases of trials: of the second."""
    wanted = TASKS.get(phase, "trials")
    running = [
        task
        for task in api.task_instances(EXPERIMENT, dag_run_id)
        if task["task_id"].rsplit(".", 1)[-1] == wanted and task["state"] == "running" and task["pid"]
    ]
    if not running:
        return 0
    pid = int(running[0]["pid"])
    if wanted != "trials":
        return pid
    if int(running[0]["map_index"]) < 1:
        return 0
    return pid if _is_at(lab, run_id, phase) else 0


def _is_at(lab: Lab, run_id: str, phase: str) -> bool:
    """By the files of the trial's job on the client host. Waits for the moment, which may be short."""
    jobs = lab.layout.host_dir("client") / "work/jobs" / EXPERIMENT / run_id / PLATFORM
    before = set(_jobs(jobs, "started"))
    if phase == "before the driver":
        return True
    until = time.monotonic() + PHASE_WITHIN_S
    sign = "clock.txt" if phase == "in the window" else "status"
    done = set(_jobs(jobs, sign))
    while time.monotonic() < until:
        if set(_jobs(jobs, sign)) - done or (phase == "in the window" and before - set(_jobs(jobs, "status"))):
            return True
        time.sleep(0.01)
    return False


def _jobs(folder: Path, sign: str) -> list[str]:
    return [path.parent.name for path in folder.glob(f"*/{sign}")]


def _end_of(api: AirflowApi, dag_run_id: str, until: float) -> str:
    """The run's state when it has ended; as it is when that takes too long."""
    state = "unknown"
    while time.monotonic() < until:
        try:
            state = str(api.dag_run(EXPERIMENT, dag_run_id)["state"])
        except AirflowApiError:
            state = "unknown"
        if state in ENDED:
            return state
        time.sleep(1)
    return state


def _judged(lab: Lab, scenario: Scenario, run_id: str, state: str) -> Told:
    store = Store.of(from_file(lab.lab_dir / "connections.json")(CONNECTION_ID))
    archive = RunArchive(store, EXPERIMENT, run_id)
    plan = archive.get_json("plan.json")
    if not plan:
        return Told(scenario, LOST, reasons=[f"nothing was planned; the DAG run is {state}"])
    planned = [trial for trials in Plan.from_json(plan).trials.values() for trial in trials]
    records = archive.trials()
    manifest: dict[str, Any] = archive.get_json("manifest.json") or {}
    told = Told(
        scenario,
        "valid",
        sum(record.outcome == "completed" for record in records),
        len(planned),
        max((record.driver_starts for record in records), default=0),
        [f"{record.outcome}: {record.reason}" for record in records if record.outcome != "completed"],
        [f"{one['awaited']} ({one['step']})" for one in archive.outages()],
    )
    without = {trial.id for trial in planned} - {record.trial.id for record in records}
    problems = archive.verify()
    if state not in ENDED or problems or (without and manifest.get("valid") is not False):
        told.verdict = LOST
        told.reasons += [f"the DAG run is {state}", *problems]
    elif without:
        told.verdict = LOST
        told.reasons.append(f"{len(without)} trials have no record: {', '.join(sorted(without)[:3])}")
        told.reasons += [f"{error['step']}: {error['error']}" for error in archive.errors()]
    elif told.reasons:
        told.verdict = "failed cell"
    elif not manifest["valid"]:
        told.verdict = "not valid"
        verdicts = (archive.get_json("verdicts.json") or {}).get("verdicts", [])
        told.reasons += [f"{v['says']}: {v['found']}" for v in verdicts if v["critical"] and not v["passed"]]
    return told
