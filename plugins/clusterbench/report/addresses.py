"""Where things are: below the root of these pages, and in Airflow. Pure.

A series is named by what it is and not by its number in the history database, which another rebuild may give to
another one: an address kept in a ticket shows the same result for good.
"""

from __future__ import annotations

import hashlib
import json
from urllib.parse import quote, urlencode

from clusterbench.history.model import FailedTrial, RunRow, Series
from clusterbench.spec import in_turns
from clusterbench.spec.project import dag_id

KEY_LENGTH = 10


def experiment(name: str) -> str:
    return f"/experiments/{quote(name, safe='')}"


def run(experiment: str, run_id: str) -> str:
    return f"/runs/{quote(experiment, safe='')}/{quote(run_id, safe='')}"


def week(run_id: str) -> str:
    return f"/weeks/{quote(run_id, safe='')}"


def hosts(platform: str) -> str:
    return f"/platforms/{quote(platform, safe='')}/hosts"


def now(dag_id: str, dag_run_id: str) -> str:
    """Of a run that is going on; also of one that has ended, of which only Airflow knows."""
    return f"/now/{quote(dag_id, safe='')}/{quote(dag_run_id, safe='')}"


def series(one: Series) -> str:
    parts = (one.experiment, one.scale, one.platform, key_of(one), one.measurement)
    return "/series/" + "/".join(quote(part, safe="") for part in parts)


def key_of(one: Series) -> str:
    """Short and the same in every history database: of the sweep and all levels."""
    said = json.dumps([one.sweep, sorted((name, level) for name, level in one.levels.items())])
    return hashlib.sha256(said.encode()).hexdigest()[:KEY_LENGTH]


def compare(a: RunRow, b: RunRow) -> str:
    return "/compare?" + urlencode({"a": f"{a.experiment}/{a.run_id}", "b": f"{b.experiment}/{b.run_id}"})


# In Airflow.


def dag(name: str) -> str:
    """``name``: an experiment, ``weekly``, ``baselines`` or ``remarks``, here and below."""
    return f"/dags/{quote(dag_id(name), safe='')}"


def dag_run(name: str, dag_run_id: str) -> str:
    return f"{dag(name)}/runs/{quote(dag_run_id, safe='')}"


def task(name: str, dag_run_id: str, task_id: str, map_index: int) -> str:
    """Where its log is. ``map_index``: -1 of a task that is not mapped."""
    mapped = f"/mapped/{map_index}" if map_index >= 0 else ""
    return f"{dag_run(name, dag_run_id)}/tasks/{quote(task_id, safe='')}{mapped}"


def task_log(of: RunRow, trial: FailedTrial) -> str:
    """The log of a trial's task; platforms that are measured in turns have one mapped task together."""
    group = in_turns.GROUP if trial.platform in of.in_turns else trial.platform
    return task(of.experiment, of.dag_run_id, f"{group}.trials", trial.map_index)
