"""What a person at the command line sees of a run, from what Airflow's API tells about it."""

from __future__ import annotations

import io
from typing import Any, cast

from clusterbench.airflow import watch
from clusterbench.airflow.api import AirflowApi


class Told:
    """An Airflow that answers what it is told to, in turn."""

    url = "http://airflow"

    def __init__(self, *answers: list[dict[str, Any]]) -> None:
        self.answers = list(answers)

    def dag_run(self, _dag_id: str, _dag_run_id: str) -> dict[str, Any]:
        return {"state": "running" if len(self.answers) > 1 else "failed"}

    def task_instances(self, _dag_id: str, _dag_run_id: str) -> list[dict[str, Any]]:
        return self.answers.pop(0)


def task(task_id: str, state: str, map_index: int = -1, name: str | None = None) -> dict[str, Any]:
    return {"task_id": task_id, "state": state, "map_index": map_index, "rendered_map_index": name, "end_date": None}


def test_waiting_and_failures_are_said_once_with_the_place_of_their_log(monkeypatch: Any) -> None:
    monkeypatch.setattr(watch, "POLL_S", 0)
    waiting = [task("db1.take_cluster", "up_for_reschedule")]
    ended = [task("db1.take_cluster", "success"), task("db1.trials", "failed", 0, "1 client"), task("r", "running")]
    out = io.StringIO()
    assert watch.follow(cast(AirflowApi, Told(waiting, waiting, ended)), "smoke", "r1", out) == "failed"
    assert [line.split("] ")[-1].strip() for line in out.getvalue().splitlines()] == [
        "db1.take_cluster: waiting, another run holds the cluster",
        "its log: http://airflow/dags/smoke/runs/r1/tasks/db1.take_cluster",
        "db1.take_cluster: done",
        "1/1 db1: 1 client: FAILED",
        "its log: http://airflow/dags/smoke/runs/r1/tasks/db1.trials/mapped/0",
    ]


def test_platforms_that_were_not_chosen_have_no_lines(monkeypatch: Any) -> None:
    monkeypatch.setattr(watch, "POLL_S", 0)
    left_out = [task(f"db2.{name}", "skipped") for name in ("take_cluster", "generate_data", "release_cluster")]
    measured = [task("db1.trials", "skipped", 0, "ORCA"), task("load_history", "skipped")]
    out = io.StringIO()
    watch.follow(cast(AirflowApi, Told([*left_out, *measured])), "smoke", "r1", out)
    said = [line.split("] ")[-1].strip() for line in out.getvalue().splitlines()]
    assert said == ["1/1 db1: ORCA: skipped", "load_history: skipped"]


def test_runs_that_a_run_has_started_are_followed_until_they_are_over(monkeypatch: Any) -> None:
    monkeypatch.setattr(watch, "POLL_S", 0)
    of_week = [
        [task("retail.start", "success"), task("retail.finished", "running")],
        [task("retail.start", "success"), task("retail.finished", "running")],
        [task("retail.start", "success"), task("retail.finished", "failed")],
    ]
    of_retail = [[task("open_run", "success"), task("conclude", state)] for state in ("scheduled", "failed")]

    class Both(Told):
        def task_instances(self, dag_id: str, _dag_run_id: str) -> list[dict[str, Any]]:
            return (self.answers if dag_id == "weekly" else of_retail).pop(0)

    out = io.StringIO()
    assert watch.follow(cast(AirflowApi, Both(*of_week)), "weekly", "w1", out, lambda _: [("retail", "r1")]) == "failed"
    assert [line.split("] ")[-1].strip() for line in out.getvalue().splitlines()] == [
        "retail, open_run: done",
        "retail.start: done",
        "retail, conclude: FAILED",
        "its log: http://airflow/dags/retail/runs/r1/tasks/conclude",
        "retail.finished: FAILED",
        "its log: http://airflow/dags/weekly/runs/w1/tasks/retail.finished",
    ]
