"""Follow a run of Airflow's to its end, for people: one line per step, and results when it is over."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TextIO

from clusterbench.airflow.api import AirflowApi
from clusterbench.base.errors import AirflowApiError
from clusterbench.report import addresses

POLL_S = 2.0
ENDED = ("success", "failed", "skipped", "upstream_failed", "removed")
WAITING = {"up_for_reschedule": "waiting, another run holds the cluster", "up_for_retry": "failed, will be tried again"}
WORDS = {"success": "done", "skipped": "skipped", "failed": "FAILED", "upstream_failed": "not run", **WAITING}


Tasks = list[dict[str, Any]]
Started = Callable[[Tasks], Iterable[tuple[str, str]]]
"""From a run's task instances to the runs, DAG and id, that they have started and that are to be followed as well."""


def follow(
    api: AirflowApi, dag_id: str, dag_run_id: str, out: TextIO = sys.stdout, started: Started = lambda _: ()
) -> str:
    """Print each step as it ends, trials with their count, until the run ends. Returns its state."""
    seen: set[tuple[str, str, int, str]] = set()
    over: set[tuple[str, str]] = set()
    begun, lost_s = time.monotonic(), 0.0
    while True:
        try:
            state = str(api.dag_run(dag_id, dag_run_id)["state"])
            tasks = api.task_instances(dag_id, dag_run_id)
            within = [(*run, api.task_instances(*run)) for run in started(tasks) if run not in over]
            lost_s = 0.0
        except AirflowApiError:
            lost_s += POLL_S
            if lost_s > 120:
                raise
            time.sleep(POLL_S)
            continue
        over |= {(name, run_id) for name, run_id, found in within if _is_over(found)}
        for name, run_id, found in [*within, (dag_id, dag_run_id, tasks)]:
            for task in sorted(found, key=lambda task: task["end_date"] or ""):
                key = (name, task["task_id"], task["map_index"], task["state"])
                if task["state"] in (*ENDED, *WAITING) and key not in seen and not _was_not_chosen(task):
                    seen.add(key)
                    prefix = "" if name == dag_id else f"{name}, "
                    print(_line(task, found, time.monotonic() - begun, prefix), file=out, flush=True)
                    if task["state"] in ("failed", *WAITING):
                        log = addresses.task(name, run_id, task["task_id"], task["map_index"])
                        print(f"         its log: {api.url}{log}", file=out, flush=True)
        if state in ("success", "failed"):
            return state
        time.sleep(POLL_S)


def _is_over(tasks: Tasks) -> bool:
    return bool(tasks) and all(task["state"] in ENDED for task in tasks)


def _was_not_chosen(task: Mapping[str, Any]) -> bool:
    """A step of a platform that the run leaves out: there are more of them than of those that ran."""
    return task["state"] == "skipped" and task["map_index"] < 0 and "." in str(task["task_id"])


def _line(task: Mapping[str, Any], tasks: Tasks, elapsed_s: float, prefix: str) -> str:
    name = str(task["task_id"])
    word = WORDS.get(task["state"], task["state"])
    count = ""
    if task["map_index"] >= 0:
        siblings = [other for other in tasks if other["task_id"] == name]
        ended = sum(1 for other in siblings if other["state"] in ENDED)
        count = f" {ended}/{len(siblings)}"
        name = f"{name.rsplit('.', 1)[0]}: {task.get('rendered_map_index') or task['map_index']}"
    return f"[{int(elapsed_s) // 60:3d}:{int(elapsed_s) % 60:02d}]{count} {prefix}{name}: {word}"
