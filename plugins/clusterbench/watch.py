"""Follow a run of Airflow's to its end, for people: one line per step, and results when it is over."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from clusterbench.airflow_api import AirflowApi
from clusterbench.errors import AirflowApiError

POLL_S = 2.0
ENDED = ("success", "failed", "skipped", "upstream_failed", "removed")
WAITING = {"up_for_reschedule": "waiting, another run holds the cluster", "up_for_retry": "failed, will be tried again"}
WORDS = {"success": "done", "skipped": "skipped", "failed": "FAILED", "upstream_failed": "not run", **WAITING}


def follow(api: AirflowApi, dag_id: str, dag_run_id: str, out: TextIO = sys.stdout) -> str:
    """Print each step as it ends, trials with their count, until the run ends. Returns its state."""
    seen: set[tuple[str, int, str]] = set()
    begun, lost_s = time.monotonic(), 0.0
    while True:
        try:
            state = str(api.dag_run(dag_id, dag_run_id)["state"])
            tasks = api.task_instances(dag_id, dag_run_id)
            lost_s = 0.0
        except AirflowApiError:
            lost_s += POLL_S
            if lost_s > 120:
                raise
            time.sleep(POLL_S)
            continue
        for task in sorted(tasks, key=lambda task: task["end_date"] or ""):
            key = (task["task_id"], task["map_index"], task["state"])
            if task["state"] in (*ENDED, *WAITING) and key not in seen:
                seen.add(key)
                print(_line(task, tasks, time.monotonic() - begun), file=out, flush=True)
                if task["state"] in ("failed", *WAITING):
                    print(f"         its log: {_page(api.url, dag_id, dag_run_id, task)}", file=out, flush=True)
        if state in ("success", "failed"):
            return state
        time.sleep(POLL_S)


def _line(task: Mapping[str, Any], tasks: list[dict[str, Any]], elapsed_s: float) -> str:
    name = str(task["task_id"])
    word = WORDS.get(task["state"], task["state"])
    count = ""
    if task["map_index"] >= 0:
        siblings = [other for other in tasks if other["task_id"] == name]
        ended = sum(1 for other in siblings if other["state"] in ENDED)
        count = f" {ended}/{len(siblings)}"
        name = f"{name.rsplit('.', 1)[0]}: {task.get('rendered_map_index') or task['map_index']}"
    return f"[{int(elapsed_s) // 60:3d}:{int(elapsed_s) % 60:02d}]{count} {name}: {word}"


def _page(url: str, dag_id: str, dag_run_id: str, task: Mapping[str, Any]) -> str:
    mapped = f"/mapped/{task['map_index']}" if task["map_index"] >= 0 else ""
    return f"{url}/dags/{dag_id}/runs/{dag_run_id}/tasks/{task['task_id']}{mapped}"
