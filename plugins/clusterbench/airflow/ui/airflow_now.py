"""What Airflow's own database tells of runs at this moment. Only the API server may ask it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from airflow.api.common.airflow_health import get_airflow_health
from airflow.configuration import conf
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.utils.session import create_session
from sqlalchemy import select
from sqlalchemy.orm import Session

from clusterbench.airflow.standing import WAITING, pools_waited_for
from clusterbench.airflow.ui.going_on import AirflowNow, DagRunNow

RUNS_MAX = 30
HOLDERS_MAX = 10
GOING_ON = ("running", "queued")
HOLDING = ("queued", "running", "deferred")
COLUMNS: dict[str, Any] = {
    "dag_id": TaskInstance.dag_id,
    "dag_run_id": TaskInstance.run_id,
    "task_id": TaskInstance.task_id,
    "map_index": TaskInstance.map_index,
    "rendered_map_index": TaskInstance.rendered_map_index,
    "state": TaskInstance.state,
    "pool": TaskInstance.pool,
    "try_number": TaskInstance.try_number,
    "max_tries": TaskInstance.max_tries,
    "scheduled_when": TaskInstance.scheduled_dttm,
    "queued_when": TaskInstance.queued_dttm,
    "last_heartbeat_at": TaskInstance.last_heartbeat_at,
}
"""Name in Airflow's REST API -> column."""


def look(dag_ids: Collection[str], dag_run_id: str | None = None) -> AirflowNow:
    """Runs of these DAGs that are going on, the newest first; with ``dag_run_id`` that one, ended or not."""
    at = datetime.now(UTC)
    wanted = select(DagRun).where(DagRun.dag_id.in_(dag_ids)).order_by(DagRun.run_after.desc()).limit(RUNS_MAX)
    is_wanted = DagRun.run_id == dag_run_id if dag_run_id else DagRun.state.in_(GOING_ON)
    with create_session() as session:
        runs = [_run(session, one) for one in session.scalars(wanted.where(is_wanted))]
        pools = {pool for run in runs for pool in pools_waited_for(run.tasks, at)}
        holders = {pool: _tasks(session, TaskInstance.pool == pool, states=HOLDING) for pool in pools}
    timeout_s = conf.getfloat("scheduler", "task_instance_heartbeat_timeout")
    return AirflowNow(at, runs, get_airflow_health(), holders, timeout_s)


def _run(session: Session, run: DagRun) -> DagRunNow:
    tasks = _tasks(session, TaskInstance.dag_id == run.dag_id, TaskInstance.run_id == run.run_id)
    told: Iterable[Any] = session.scalars(XComModel.get_many(run_id=run.run_id, dag_ids=run.dag_id, key=WAITING))
    outages = [
        {"task_id": one.task_id, "map_index": one.map_index, "value": XComModel.deserialize_value(one)} for one in told
    ]
    return DagRunNow(run.dag_id, run.run_id, str(run.state), run.run_after, run.start_date, tasks, outages)


def _tasks(session: Session, *conditions: Any, states: Iterable[str] = ()) -> Sequence[Mapping[str, Any]]:
    asked = select(*COLUMNS.values()).where(*conditions).order_by(TaskInstance.task_id, TaskInstance.map_index)
    if states:
        asked = asked.where(TaskInstance.state.in_(tuple(states))).limit(HOLDERS_MAX)
    return [dict(zip(COLUMNS, row, strict=True)) for row in session.execute(asked)]
