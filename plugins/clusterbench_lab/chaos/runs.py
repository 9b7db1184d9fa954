"""One run of the lab's Airflow under a fault, and what it came to: valid, a failed cell with its reason, or LOST."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from clusterbench.airflow.api import AirflowApi
from clusterbench.base.archive import CONNECTION_ID, RunArchive, Store
from clusterbench.base.connections import from_file
from clusterbench.base.errors import AirflowApiError, AirflowAwayError, ClusterbenchError
from clusterbench.base.run_ids import run_id_from
from clusterbench.trial.plan import Plan
from clusterbench_lab.chaos.faults import part, struck
from clusterbench_lab.chaos.people import ACTS, ENDING, PRESS_AGAIN, act
from clusterbench_lab.chaos.scenarios import Scenario
from clusterbench_lab.lab import Lab

PLATFORM = "lab_db1"
EXPERIMENT = "key_value"
CHOICES = {"scale": "laptop", "sweeps": ["concurrency"], "concurrency": [50], "repetitions": 1}
"""Three trials of some seconds each, on tables that take some seconds to make."""
PHASE_WITHIN_S = 900
ENDED = ("success", "failed")
VALID, ENDED_BY_HAND, FAILED_CELL = "valid", "ended by hand; the next run: valid", "failed cell"
STEP_FAILED, NOT_VALID, LOST = "failed step", "not valid", "LOST"
VERDICTS = (VALID, ENDED_BY_HAND, FAILED_CELL, STEP_FAILED, NOT_VALID, LOST)
"""The worst last."""


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

    def badness(self) -> int:
        """0: nothing came of it."""
        return VERDICTS.index(self.verdict)


@dataclass
class Chaos:
    """A lab under which runs are struck. ``patience_s``: who is away for longer is not waited for."""

    lab: Lab
    patience_s: float
    limit_s: float = 600.0
    """How long a run may take besides four times the outage."""

    def measure(self, scenario: Scenario, seed: int) -> Told:
        """Start a run, strike at its phase, bring back what was struck, and judge what the run came to."""
        begun = time.monotonic()
        one = self._started(seed)
        task_pid = _wait_for(one, lambda: _pid_in(one, scenario.phase))
        others = []
        if scenario.fault in ACTS:
            act(one.api, scenario.fault, EXPERIMENT, one.dag_run_id)
        elif scenario.fault == PRESS_AGAIN:
            others = [self._started(seed + 1)]
        else:
            with struck(self.lab, part(scenario.part), scenario.fault, task_pid):
                time.sleep(scenario.outage_s)
        until = time.monotonic() + self.limit_s + 4 * scenario.outage_s
        if scenario.fault in ENDING:
            told = self._told_of_the_next(one, scenario, seed + 1, until)
        else:
            told = max((self._told(each, scenario, until) for each in [one, *others]), key=Told.badness)
        told.took_s = time.monotonic() - begun
        return told

    def _started(self, seed: int) -> _DagRun:
        api = AirflowApi(self.lab.airflow_url(), *self.lab.airflow_login())
        dag_run_id = api.trigger(EXPERIMENT, {**CHOICES, "seed": seed, "platforms": [PLATFORM]})
        asked = datetime.fromisoformat(api.dag_run(EXPERIMENT, dag_run_id)["run_after"])
        return _DagRun(self.lab, api, dag_run_id, run_id_from(asked, dag_run_id))

    def _told(self, one: _DagRun, scenario: Scenario, until: float) -> Told:
        state = _end_of(one, until)
        is_patient = scenario.part == "archive" or scenario.outage_s < self.patience_s  # the archive's is a day
        return _judged(one.archive, scenario, state, is_patient=is_patient)

    def _told_of_the_next(self, one: _DagRun, scenario: Scenario, seed: int, until: float) -> Told:
        """A person has ended the run: its driver ends, its records stay whole, and the next run finds all as it was."""
        following = self._started(seed)
        told = self._told(following, scenario, until)
        told.reasons = [f"next run: {reason}" for reason in told.reasons]
        if running := _running_drivers(one):
            told.verdict = LOST
            told.reasons.append(f"the driver of the run that was ended still runs: {running}")
        told.reasons += (problems := one.archive.verify() if one.archive.sealed else [])
        told.driver_starts_max = max(
            [told.driver_starts_max, *(record.driver_starts for record in one.archive.trials())]
        )
        if problems:
            told.verdict = LOST
        elif told.verdict == VALID:
            told.verdict = ENDED_BY_HAND
        return told


@dataclass(frozen=True)
class _DagRun:
    lab: Lab
    api: AirflowApi
    dag_run_id: str
    run_id: str

    @property
    def archive(self) -> RunArchive:
        store = Store.of(from_file(self.lab.lab_dir / "connections.json")(CONNECTION_ID))
        return RunArchive(store, EXPERIMENT, self.run_id)

    @property
    def jobs(self) -> Path:
        """Of its trials, on the client host."""
        return self.lab.layout.host_dir("client") / "work/jobs" / EXPERIMENT / self.run_id / PLATFORM

    @property
    def state(self) -> str:
        return str(self.api.dag_run(EXPERIMENT, self.dag_run_id)["state"])

    @property
    def tasks(self) -> list[dict[str, Any]]:
        return self.api.task_instances(EXPERIMENT, self.dag_run_id)


def _wait_for(one: _DagRun, found: Callable[[], int]) -> int:
    """Nothing is struck yet: an Airflow that does not answer has too much to do, and is asked again."""
    until = time.monotonic() + PHASE_WITHIN_S
    state = "not known"
    while time.monotonic() < until and state not in ENDED:
        with suppress(AirflowAwayError):
            if pid := found():
                return pid
            state = one.state
        time.sleep(0.02)
    raise ClusterbenchError(f"chaos: the run never came to that phase; its state is {state}")


TASKS = {"set-up": "set_up_cluster", "generation": "generate_data", "at the seal": "seal_archive"}
"""Of the phases that are a task."""


def _pid_in(one: _DagRun, phase: str) -> int:
    """The process id of the run's task where the run is in that phase, else 0. In phases of trials: of the second."""
    wanted = TASKS.get(phase, "trials")
    running = [
        task
        for task in one.tasks
        if task["task_id"].rsplit(".", 1)[-1] == wanted and task["state"] == "running" and task["pid"]
    ]
    if not running:
        return 0
    pid = int(running[0]["pid"])
    if wanted != "trials":
        return pid
    if int(running[0]["map_index"]) < 1:
        return 0
    return pid if _is_at(one.jobs, phase) else 0


def _is_at(jobs: Path, phase: str) -> bool:
    """By the files of the trial's job on the client host. Waits for the moment, which may be short."""
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


def _running_drivers(one: _DagRun) -> str:
    """Process ids on the client host; empty where none is left."""
    pids = [path.read_text().strip() for path in one.jobs.glob("*/pid") if not (path.parent / "status").exists()]
    return ", ".join(pid for pid in pids if pid and Path(f"/proc/{pid}").exists())


def _end_of(one: _DagRun, until: float) -> str:
    """The run's state when it has ended; as it is when that takes too long."""
    state = "unknown"
    while time.monotonic() < until:
        try:
            state = one.state
        except AirflowApiError:
            state = "unknown"
        if state in ENDED:
            return state
        time.sleep(1)
    return state


def _judged(archive: RunArchive, scenario: Scenario, state: str, *, is_patient: bool) -> Told:
    """``is_patient``: the outage was one to be waited for."""
    plan = archive.get_json("plan.json")
    if not plan:
        return Told(scenario, LOST, reasons=[f"nothing was planned; the DAG run is {state}"])
    planned = [trial for trials in Plan.from_json(plan).trials.values() for trial in trials]
    records = archive.trials()
    manifest: dict[str, Any] = archive.get_json("manifest.json") or {}
    told = Told(
        scenario,
        VALID,
        sum(record.outcome == "completed" for record in records),
        len(planned),
        max((record.driver_starts for record in records), default=0),
        [f"{record.outcome}: {record.reason}" for record in records if record.outcome != "completed"],
        [f"{one['awaited']} ({one['step']})" for one in archive.outages()],
    )
    without = {trial.id for trial in planned} - {record.trial.id for record in records}
    errors = [f"{error['step']}: {error['error']}" for error in archive.errors()]
    if state not in ENDED or (problems := archive.verify()):
        told.verdict = LOST
        told.reasons += [f"the DAG run is {state}", *(problems if state in ENDED else [])]
    elif without:  # a step before the trials failed: it says why, and nothing claims to be measured
        is_told = errors and manifest.get("valid") is False and not is_patient
        told.verdict = STEP_FAILED if is_told else LOST
        told.reasons += [*errors, f"{len(without)} trials have no record: {', '.join(sorted(without)[:3])}"]
    elif told.reasons:
        told.verdict = FAILED_CELL
    elif not manifest["valid"]:
        told.verdict = NOT_VALID
        verdicts = (archive.get_json("verdicts.json") or {}).get("verdicts", [])
        told.reasons += [f"{v['says']}: {v['found']}" for v in verdicts if v["critical"] and not v["passed"]]
    return told
