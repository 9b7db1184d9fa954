"""What a person at the command line sees of a run, from what Airflow's API tells about it."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from clusterbench.airflow import watch
from clusterbench.airflow.api import AirflowApi
from clusterbench.airflow.liveness import Liveness
from clusterbench.airflow.standing import Standstill, Unmoved, pools_waited_for
from clusterbench.base.errors import AirflowApiError, AirflowAwayError


class Told:
    """An Airflow that answers what it is told to, in turn."""

    url = "http://airflow"

    def __init__(self, *answers: list[dict[str, Any]]) -> None:
        self.answers = list(answers)

    def dag_run(self, _dag_id: str, _dag_run_id: str) -> dict[str, Any]:
        return {"state": "running" if len(self.answers) > 1 else "failed"}

    def task_instances(self, _dag_id: str, _dag_run_id: str) -> list[dict[str, Any]]:
        return self.answers.pop(0)

    def health(self) -> dict[str, Any]:
        return HEALTHY

    def xcoms(self, _dag_id: str, _dag_run_id: str, _key: str) -> list[dict[str, Any]]:
        return []

    def holders(self, _pool: str) -> list[dict[str, Any]]:
        return []


# Captured from Airflow 3.3.2.
HEARTBEAT = "2026-11-22T21:40:05.121212+00:00"
HEALTHY: dict[str, Any] = {
    "metadatabase": {"status": "healthy"},
    "scheduler": {"status": "healthy", "latest_scheduler_heartbeat": HEARTBEAT},
    "triggerer": {"status": "healthy", "latest_triggerer_heartbeat": "2026-11-22T21:40:04.464646+00:00"},
    "dag_processor": {"status": "healthy", "latest_dag_processor_heartbeat": "2026-11-22T21:40:03.484848+00:00"},
}


def unhealthy(part: str, heartbeat: str | None = HEARTBEAT) -> dict[str, Any]:
    return {**HEALTHY, part: {"status": "unhealthy", f"latest_{part}_heartbeat": heartbeat}}


AWAY: dict[str, Any] = {part: {"status": "unhealthy", f"latest_{part}_heartbeat": None} for part in HEALTHY}
"""As captured while its database is down."""
NOW = datetime(2026, 11, 22, 21, 40, 28, tzinfo=UTC)


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


def test_trials_that_ended_between_two_looks_are_counted_one_by_one(monkeypatch: Any) -> None:
    monkeypatch.setattr(watch, "POLL_S", 0)
    out = io.StringIO()
    ended = [{**task("db1.trials", "success", n, f"trial {n}"), "end_date": f"10:00:0{9 - n}"} for n in (0, 1, 2)]
    watch.follow(cast(AirflowApi, Told([task("db1.trials", "running", 0)], ended)), "smoke", "r1", out)
    said = [line.split("] ")[-1].strip() for line in out.getvalue().splitlines()]
    assert said == ["1/3 db1: trial 2: done", "2/3 db1: trial 1: done", "3/3 db1: trial 0: done"]


def test_only_who_takes_a_cluster_waits_for_another_run(monkeypatch: Any) -> None:
    """As where Airflow's workers cannot read the DAGs, and try again, or where a host is away."""
    monkeypatch.setattr(watch, "POLL_S", 0)
    out = io.StringIO()
    answers = [task("open_run", "up_for_reschedule")], [task("open_run", "success")]
    watch.follow(cast(AirflowApi, Told(*answers)), "smoke", "r1", out)
    assert out.getvalue().splitlines()[0].endswith("open_run: waiting; its log names the reason")


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


# What keeps a run from going on.


def test_dead_scheduler_is_told_once_with_what_to_do_and_so_is_that_it_is_back() -> None:
    liveness = Liveness("http://airflow")
    assert liveness.changes(HEALTHY, NOW) == []
    (line,) = liveness.changes(unhealthy("scheduler"), NOW)
    assert line == (
        "no scheduler is alive in Airflow at http://airflow: its last heartbeat was at 2026-11-22 21:40:05 UTC, "
        "23 s ago; no step starts until one is. In the lab, start it again with 'make up' or 'clusterbench lab up'; "
        "elsewhere start Airflow's scheduler. Then the run continues by itself"
    )
    assert liveness.changes(unhealthy("scheduler"), NOW) == []
    assert liveness.changes(AWAY, NOW) == [], "its database is away, so it can tell nothing"
    assert liveness.changes(HEALTHY, NOW) == ["a scheduler is alive again; the run continues"]
    assert len(liveness.changes(unhealthy("scheduler"), NOW)) == 1, "and what dies again is told again"


def test_scheduler_that_never_was_is_told_as_that() -> None:
    (line,) = Liveness("http://airflow").changes(unhealthy("scheduler", None), NOW)
    assert "no scheduler is alive in Airflow at http://airflow: there never was one; no step starts" in line


def test_dead_dag_processor_and_a_dead_triggerer_are_told() -> None:
    liveness = Liveness("http://airflow")
    (line,) = liveness.changes(unhealthy("dag_processor"), NOW)
    assert line.startswith("no DAG processor is alive in Airflow at http://airflow: its last heartbeat was at ")
    assert "DAGs that are new or were changed are not read until one is" in line
    (line,) = liveness.changes({**unhealthy("triggerer"), "dag_processor": {"status": None}}, NOW)
    assert line.startswith("no triggerer is alive in Airflow at http://airflow: its last heartbeat was at ")
    assert liveness.changes(HEALTHY, NOW) == [
        "a triggerer is alive again; the run continues",
        "a DAG processor is alive again; the run continues",
    ]
    without = {key: value for key, value in HEALTHY.items() if key != "dag_processor"}
    assert liveness.changes(without, NOW) == [], "an Airflow that does not tell of it"


SCHEDULED = {
    **task("db1.trials", "scheduled", 7),
    "dag_run_id": "r2",
    "pool": "cluster_db1",
    "scheduled_when": "2026-11-22T21:38:28+00:00",
}


def test_who_is_waited_for_is_said_once_and_so_is_that_they_are_back() -> None:
    standstill = Standstill()
    waiting = {"value": {"text": "waiting for the archive since 2026-11-22 21:40:00 UTC: object storage at s3", "n": 1}}
    assert standstill.outages([waiting]) == [waiting["value"]["text"]]
    assert standstill.outages([waiting]) == []
    back = {"value": {"text": "the archive was waited for, 0:03:00 from 2026-11-22 21:40:00 UTC: object storage"}}
    assert standstill.outages([back]) == [back["value"]["text"]]


def test_task_that_no_worker_takes_is_told() -> None:
    queued = {**SCHEDULED, "state": "queued", "queued_when": "2026-11-22T21:39:28+00:00"}
    standstill = Standstill()
    (line,) = standstill.queued([queued], NOW)
    assert line.startswith(
        "db1.trials 7 has been queued for 60 s, and no worker has begun it: check that a worker is alive"
    )
    assert standstill.queued([queued], NOW) == []
    soon = {**queued, "queued_when": "2026-11-22T21:40:20+00:00"}
    assert Standstill().queued([soon], NOW) == []


def test_slot_that_another_run_holds_is_told_with_that_run() -> None:
    assert pools_waited_for([SCHEDULED, task("a", "success")], NOW) == {"cluster_db1"}
    other = {**task("db1.set_up_cluster", "running"), "dag_id": "retail", "dag_run_id": "r1"}
    own = {**task("db1.trials", "running", 6), "dag_id": "retail", "dag_run_id": "r2"}
    standstill = Standstill()
    (line,) = standstill.pools([SCHEDULED], {"cluster_db1": [own, other]}, NOW)
    assert line == (
        "db1.trials 7 has waited for 120 s for a slot of pool 'cluster_db1', held by retail r1 (db1.set_up_cluster, "
        "running). If that run is gone, mark its task as failed in the UI"
    )
    assert standstill.pools([SCHEDULED], {"cluster_db1": [other]}, NOW) == []
    assert Standstill().pools([SCHEDULED], {"cluster_db1": [own]}, NOW) == [], "it waits for its own run's trials"
    (nobody,) = Standstill().pools([SCHEDULED], {"cluster_db1": []}, NOW)
    assert nobody.endswith(
        "and nobody has one. A slow scheduler needs nothing but time; if this goes on, the pool may not exist: "
        "'clusterbench pools' creates the pools of all clusters"
    )


def test_mapped_task_that_waits_for_the_turn_before_it_is_not_told() -> None:
    """Of ``measure_again`` one is let run at a time; Airflow lets the others wait as if for a slot."""
    turns = [{**SCHEDULED, "map_index": 7}, {**task("db1.trials", "deferred", 6), "dag_run_id": "r2"}]
    other = {**task("again.load_history", "running"), "dag_id": "key_value", "dag_run_id": "r1"}
    assert Standstill().pools(turns, {"cluster_db1": [other]}, NOW) == []
    assert Standstill().pools(turns, {"cluster_db1": []}, NOW) == []
    assert pools_waited_for(turns, NOW) == set()
    of_another_run = {**turns[1], "dag_run_id": "r9"}
    assert pools_waited_for([SCHEDULED, of_another_run], NOW) == {"cluster_db1"}


def test_trial_whose_turn_comes_after_one_that_has_just_ended_is_not_told() -> None:
    """Between two trials nobody has the slot; a trial was scheduled with all others, long ago."""
    before = {**task("db1.trials", "success", 6), "dag_run_id": "r2", "end_date": "2026-11-22T21:40:27+00:00"}
    assert Standstill().pools([before, SCHEDULED], {"cluster_db1": []}, NOW) == []
    assert pools_waited_for([before, SCHEDULED], NOW) == set()
    long_ago = {**before, "end_date": "2026-11-22T21:39:50+00:00"}
    (line,) = Standstill().pools([long_ago, SCHEDULED], {"cluster_db1": []}, NOW)
    assert line.startswith("db1.trials 7 has waited for 38 s for a slot of pool")


def test_run_stands_still_while_nothing_runs_and_nothing_changes() -> None:
    unmoved = Unmoved(100.0)
    queued = {"open_run": "success", "db1.trials_0": "queued"}
    assert unmoved.for_s(queued, 110.0) == 0
    assert unmoved.for_s(queued, 170.0) == 60
    assert unmoved.for_s({**queued, "db1.trials_0": "running"}, 500.0) == 0
    assert unmoved.for_s({**queued, "db1.trials_0": "running"}, 9000.0) == 0, "a trial may take hours"


class Clock:
    """Time that passes while the follower sleeps, so that minutes of it take none."""

    def __init__(self, monkeypatch: Any) -> None:
        self.at_s = 1000.0
        monkeypatch.setattr(watch.time, "monotonic", lambda: self.at_s)
        monkeypatch.setattr(watch.time, "sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.at_s += seconds


def until(end_s: float, clock: Clock, of_health: dict[str, Any], error: AirflowApiError | None = None) -> AirflowApi:
    """An Airflow with a run that ends so many seconds after its begin, and stands still for 60 s from the 20th on."""
    begun = clock.at_s

    class Standing(Told):
        def dag_run(self, _dag_id: str, _dag_run_id: str) -> dict[str, Any]:
            if error and 20 <= clock.at_s - begun < 80:
                raise error
            return {"state": "success" if clock.at_s - begun >= end_s else "running"}

        def task_instances(self, _dag_id: str, _dag_run_id: str) -> list[dict[str, Any]]:
            return [task("open_run", "success")] if clock.at_s - begun >= 80 else []

        def health(self) -> dict[str, Any]:
            return of_health if 20 <= clock.at_s - begun < 80 else HEALTHY

    return cast(AirflowApi, Standing())


def test_follower_asks_for_the_scheduler_every_few_seconds(monkeypatch: Any) -> None:
    clock, out = Clock(monkeypatch), io.StringIO()
    api = until(120, clock, unhealthy("scheduler"))
    assert watch.follow(api, "smoke", "r1", out) == "success"
    died, back, step = out.getvalue().splitlines()
    assert died.startswith("[  0:20] no scheduler is alive in Airflow at http://airflow: its last heartbeat was at ")
    assert back == "[  1:20] a scheduler is alive again; the run continues"
    assert step == "[  1:20] open_run: done"


def test_return_of_the_scheduler_is_said_although_the_run_has_ended_meanwhile(monkeypatch: Any) -> None:
    clock, out = Clock(monkeypatch), io.StringIO()
    assert watch.follow(until(80, clock, unhealthy("scheduler")), "smoke", "r1", out) == "success"
    assert [line[9:] for line in out.getvalue().splitlines()[1:]] == [
        "a scheduler is alive again; the run continues",
        "open_run: done",
    ]


def test_run_that_is_over_is_told_although_no_scheduler_is_alive(monkeypatch: Any) -> None:
    clock, out = Clock(monkeypatch), io.StringIO()
    assert watch.follow(until(0, clock, unhealthy("scheduler")), "smoke", "r1", out) == "success"
    assert out.getvalue() == ""


def test_follower_says_that_airflow_does_not_answer_and_goes_on_trying(monkeypatch: Any) -> None:
    clock, out = Clock(monkeypatch), io.StringIO()
    api = until(90, clock, HEALTHY, AirflowAwayError("Airflow at http://airflow cannot be reached: refused"))
    assert watch.follow(api, "smoke", "r1", out) == "success"
    assert out.getvalue().splitlines() == [
        "[  0:30] no answer for 10 s; asking again for 10 minutes. The run continues without this command. "
        "Airflow at http://airflow cannot be reached: refused",
        "[  1:20] Airflow at http://airflow answers again",
        "[  1:20] open_run: done",
    ]


@pytest.mark.parametrize(("error", "limit_s"), [(AirflowAwayError("away"), 600), (AirflowApiError("refused"), 120)])
def test_follower_ends_when_airflow_stays_away(monkeypatch: Any, error: AirflowApiError, limit_s: float) -> None:
    clock, out = Clock(monkeypatch), io.StringIO()
    begun = clock.at_s

    class Away(Told):
        def dag_run(self, _dag_id: str, _dag_run_id: str) -> dict[str, Any]:
            raise error

    with pytest.raises(AirflowApiError, match=str(error)):
        watch.follow(cast(AirflowApi, Away()), "smoke", "r1", out)
    assert limit_s < clock.at_s - begun <= limit_s + 2 * watch.POLL_S
    assert len(out.getvalue().splitlines()) == 1
