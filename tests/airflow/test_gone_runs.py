"""Who counts as gone, of the runs that hold a cluster. That what they left is put back is in test_airflow.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from clusterbench.airflow import gone_runs
from clusterbench.airflow.gone_runs import put_back
from clusterbench.base.errors import EngineError, LeaseError
from clusterbench.base.paths import project_root
from clusterbench.run import run as run_module
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.plan import make_plan, read_choices

OWN, HOLDER = "this-airflow", "retail/20261122T214000Z-abcdef"
HELD = LeaseError("cluster 'lab' is held by run …", HOLDER, "lab_db1")


@dataclass
class TaskInstance:
    """What Airflow tells of the DAG run that holds the cluster: one answer a question, the last for good."""

    states: list[str | None]
    tasks: list[str] = field(default_factory=lambda: ["success", "failed"])

    def get_dr_count(self, _dag_id: str, *, run_ids: list[str]) -> int:
        assert run_ids == ["manual__1"]
        return int(self.states[0] is not None)

    def get_dagrun_state(self, _dag_id: str, _dag_run_id: str) -> str | None:
        return self.states[0]

    def get_task_states(self, _dag_id: str, *, run_ids: list[str]) -> dict[str, dict[str, str]]:
        return {run_ids[0]: {str(number): state for number, state in enumerate(self.tasks)}}

    def some_time_passes(self, _: float) -> None:
        self.states = self.states[1:] or self.states


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The runs that are put back, each with its platform."""
    found: list[tuple[str, str]] = []
    monkeypatch.setattr(gone_runs, "installation", lambda: OWN)
    monkeypatch.setattr(steps, "release_cluster", lambda run, platform: found.append((run.holder, platform)))
    return found


def waits(
    monkeypatch: pytest.MonkeyPatch,
    ti: TaskInstance,
    held: LeaseError = HELD,
    by: str = OWN,
    plan: Mapping[str, Any] | None = None,
) -> bool:
    """What ``put_back`` says to a run that waits for a cluster; ``by``: the Airflow that started its holder."""
    started_by = {"dag_id": "retail", "dag_run_id": "manual__1", "installation": by}

    def opened(experiment: str, run_id: str, _: Any) -> Any:
        archive = SimpleNamespace(get_json={"run.json": {"started_by": started_by}, "plan.json": plan}.get)
        return SimpleNamespace(holder=f"{experiment}/{run_id}", archive=archive)

    monkeypatch.setattr(run_module, "Run", opened)
    monkeypatch.setattr(gone_runs.time, "sleep", ti.some_time_passes)
    return put_back(cast(Run, SimpleNamespace(connections=None)), held, ti)


def test_what_a_deleted_run_left_is_put_back(monkeypatch: Any, released: Any) -> None:
    assert waits(monkeypatch, TaskInstance([None])) is True
    assert released == [(HOLDER, "lab_db1")]


def test_all_platforms_in_turns_are_put_back_what_was_taken_first_last(monkeypatch: Any, released: Any) -> None:
    retail = Catalog(project_root()).experiment("retail")
    plan = make_plan(retail, read_choices(retail, {"scale": "smoke"}), Catalog(project_root())).as_json()
    assert waits(monkeypatch, TaskInstance([None]), plan=plan) is True
    assert released == [(HOLDER, "lab_db2"), (HOLDER, "lab_db1")]


def test_what_a_run_left_that_has_ended_without_releasing_is_put_back(monkeypatch: Any, released: Any) -> None:
    assert waits(monkeypatch, TaskInstance(["failed"])) is True
    assert released == [(HOLDER, "lab_db1")]


@pytest.mark.parametrize(
    "ti",
    [
        TaskInstance(["running"]),
        TaskInstance(["queued"]),
        TaskInstance(["failed"], ["failed", "running"]),
        TaskInstance(["failed"], ["failed", "up_for_retry"]),
        TaskInstance(["failed", "running"]),
    ],
    ids=["runs", "is queued", "its release runs", "its release will be tried again", "was cleared meanwhile"],
)
def test_a_run_that_is_there_is_left_alone(monkeypatch: Any, released: Any, ti: TaskInstance) -> None:
    assert waits(monkeypatch, ti) is False
    assert released == []


@pytest.mark.parametrize(
    ("held", "by"),
    [
        (HELD, "another-airflow"),
        (HELD, ""),
        (LeaseError("left changed"), OWN),
        (LeaseError("an older note", HOLDER), OWN),
        (LeaseError("unreadable", "somebody whose note is unreadable", "lab_db1"), OWN),
    ],
    ids=["of another Airflow", "of nobody knows which", "left changed", "as no platform", "unreadable"],
)
def test_what_is_not_ours_is_left_alone(monkeypatch: Any, released: Any, held: LeaseError, by: str) -> None:
    assert waits(monkeypatch, TaskInstance([None]), held, by) is False
    assert released == []


def test_what_cannot_be_put_back_stays_held(monkeypatch: Any, released: Any, caplog: Any) -> None:
    def refuse(*_: Any) -> None:
        raise EngineError("db1: does not answer")

    monkeypatch.setattr(steps, "release_cluster", refuse)
    assert waits(monkeypatch, TaskInstance([None])) is False
    assert f"what run {HOLDER} changed could not be restored: db1: does not answer" in caplog.text
