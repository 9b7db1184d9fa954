"""Runs that are gone and still hold their cluster: the next run on it puts back what they left, and takes it.

A person may delete a DAG run, or mark it, before it has released its cluster. Airflow knows that; the note on the
cluster's hosts does not. Runs of another Airflow are never touched: which Airflow started a run is in its archive.
"""

from __future__ import annotations

import logging
import time
import uuid
from typing import TYPE_CHECKING, Any

from airflow.sdk import Variable

from clusterbench.base.errors import ClusterbenchError, LeaseError

if TYPE_CHECKING:
    from clusterbench.run.run import Run

log = logging.getLogger(__name__)

INSTALLATION = "clusterbench_installation"
"""The Airflow variable that tells this Airflow from others that write to the same bucket."""
GRACE_S = 30.0
"""A task of a run that was deleted may run for some seconds more, until Airflow has told it."""
OVER = ("success", "failed")
UNDER_WAY = ("scheduled", "queued", "running", "restarting", "deferred", "up_for_retry", "up_for_reschedule")


def installation() -> str:
    """This Airflow's own name, made when somebody first asks."""
    known = Variable.get(INSTALLATION, default=None)
    if not known:
        Variable.set(INSTALLATION, uuid.uuid4().hex, description="In each run's archive: which Airflow started it")
        known = Variable.get(INSTALLATION)
    return str(known)


def put_back(run: Run, refused: LeaseError, ti: Any) -> bool:
    """Whether the holder was gone, and the cluster is free now. ``run``: the one that waits for it."""
    from clusterbench.run import steps  # noqa: PLC0415  see the docstring of tasks.py
    from clusterbench.run.in_turns import together_with  # noqa: PLC0415
    from clusterbench.run.run import Run  # noqa: PLC0415

    experiment, _, run_id = refused.holder.partition("/")
    if not refused.platform or not run_id:
        return False
    gone = Run(experiment, run_id, run.connections)
    why = _why_gone(gone, ti)
    if not why:
        return False
    log.warning(
        "run %s, which holds the cluster, is gone: %s. What it changed is restored in %.0f s", gone.holder, why, GRACE_S
    )
    time.sleep(GRACE_S)
    if not _why_gone(gone, ti):
        return False
    try:
        for platform in reversed(together_with(gone, refused.platform)):
            steps.release_cluster(gone, platform)
    except ClusterbenchError as error:
        log.warning("what run %s changed could not be restored: %s", gone.holder, error)
        return False
    log.warning("what run %s changed is restored, and the cluster is free", gone.holder)
    return True


def _why_gone(gone: Run, ti: Any) -> str:
    """Empty where it is not, or where this Airflow did not start it."""
    started_by = (gone.archive.get_json("run.json") or {}).get("started_by") or {}
    if started_by.get("installation") != installation():
        return ""
    dag_id, dag_run_id = started_by["dag_id"], started_by["dag_run_id"]
    if not ti.get_dr_count(dag_id, run_ids=[dag_run_id]):
        return f"its DAG run {dag_run_id} was deleted"
    state = _word(ti.get_dagrun_state(dag_id, dag_run_id))
    tasks = (ti.get_task_states(dag_id, run_ids=[dag_run_id]).get(dag_run_id) or {}).values()
    if state not in OVER or any(_word(task) in UNDER_WAY for task in tasks):
        return ""
    return f"its DAG run {dag_run_id} has ended ({state}) without releasing it"


def _word(state: Any) -> str:
    """Airflow's enumeration, or the word it stands for."""
    return str(getattr(state, "value", state))
