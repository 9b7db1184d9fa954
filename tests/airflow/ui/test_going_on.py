"""How far a run is, and why it does not go on, for the page of runs that are going on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clusterbench.airflow.ui import going_on
from clusterbench.airflow.ui.going_on import AirflowNow, RunShown
from tests.airflow.ui.made_up_now import ALIVE, AT, now_with, run_of, task

TOLD = {"text": "waiting for the archive since 2026-11-22 21:38:00 UTC: object storage at s3 gives no answer"}


def all_of(asked: Iterable[str]) -> set[str]:
    return set(asked)


def shown(now: AirflowNow) -> RunShown:
    (one,) = going_on.gather(now, all_of).runs
    return one


def test_progress_counts_steps_and_trials_and_names_what_runs() -> None:
    tasks = [
        task("open_run", "success"),
        task("db1.trials", "success", 0, rendered_map_index="1 client"),
        task("db1.trials", "failed", 1, rendered_map_index="10 clients"),
        task("db1.trials", "running", 2, rendered_map_index="50 clients", heard_s_ago=3),
        task("db1.trials", "scheduled", 3),
        task("summarise", "scheduled"),
    ]
    one = shown(now_with(run_of("key_value", tasks=tasks)))
    assert (one.steps_ended, one.trials_ended, one.trials) == (3, 2, 4)
    assert one.doing == ("db1.trials: 50 clients",)
    assert one.failed == ("db1.trials: 10 clients",)
    assert one.waits == ()


def outage(task_id: str, until: str | None) -> dict[str, Any]:
    return {"task_id": task_id, "map_index": -1, "value": {**TOLD, "until": until}}


def test_who_is_waited_for_is_told_while_the_task_runs_and_the_outage_lasts() -> None:
    running = [task("db1.set_up_cluster", "running"), task("db1.generate_data", "success")]
    outages = [
        outage("db1.set_up_cluster", None),
        outage("db1.generate_data", None),
        outage("db1.set_up_cluster", "2026-11-22T21:39:00+00:00"),
    ]
    assert shown(now_with(run_of("key_value", tasks=running, outages=outages))).waits == (TOLD["text"],)


def test_worker_that_is_not_heard_of_is_told_with_what_airflow_will_do() -> None:
    silent = [task("db1.trials", "running", 4, heard_s_ago=95), task("db1.a", "running", heard_s_ago=8)]
    (line,) = shown(now_with(run_of("key_value", tasks=silent))).waits
    assert line == (
        "db1.trials 4 is running, but its worker has not been heard from for 95 s: it may have died, or lost its "
        "network. After 300 s Airflow tries the task again. A running driver continues, and is not started twice"
    )


def test_turns_of_others_and_tries_to_come_are_told() -> None:
    waiting = [task("db1.take_cluster", "up_for_reschedule"), task("db1.generate_data", "up_for_retry")]
    assert shown(now_with(run_of("key_value", tasks=waiting))).waits == (
        "db1.take_cluster waits for the cluster, which another run holds; its log names that run",
        "db1.generate_data failed, and will be tried again; the reason is in its log",
    )


def test_holder_of_a_slot_that_the_visitor_may_not_read_has_no_name() -> None:
    waiting = run_of("key_value", tasks=[task("db1.trials", "scheduled", 1, scheduled_s_ago=120)])
    holder = task("secret_step", "running", dag_id="payroll", dag_run_id="friday")
    now = now_with(waiting, holders={"cluster_lab": [holder]})
    (line,) = going_on.gather(now, lambda asked: set(asked) - {"payroll"}).runs[0].waits
    assert "held by another DAG a run that your login may not read" in line
    assert "payroll" not in line and "secret_step" not in line and "friday" not in line
    (line,) = shown(now).waits
    assert "held by payroll friday (secret_step, running)" in line


def test_dead_scheduler_is_told_while_a_run_is_going_on_and_only_then() -> None:
    dead = {**ALIVE, "scheduler": {"status": "unhealthy", "latest_scheduler_heartbeat": AT.isoformat()}}
    lasting = run_of("key_value", tasks=[])
    (line,) = going_on.gather(now_with(lasting, health=dead), all_of).airflow
    assert line.startswith("no scheduler is alive in this Airflow: its last heartbeat was at 2026-11-22 21:40:28 UTC")
    ended = run_of("key_value", tasks=[task("a", "queued", queued_s_ago=500)], state="success")
    told = going_on.gather(now_with(ended, health=dead), all_of)
    assert told.airflow == [] and told.runs[0].waits == ()
