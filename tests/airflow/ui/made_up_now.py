"""What Airflow's database may tell of runs that are going on, made up for tests of the pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from clusterbench.airflow.ui.going_on import AirflowNow, DagRunNow

AT = datetime(2026, 11, 22, 21, 40, 28, tzinfo=UTC)
ASKED = AT - timedelta(minutes=10)
ALIVE = {
    "metadatabase": {"status": "healthy"},
    "scheduler": {"status": "healthy", "latest_scheduler_heartbeat": AT.isoformat()},
}
NOTHING_GOES_ON = AirflowNow(AT, [], ALIVE, {}, 300.0)


def task(
    task_id: str,
    state: str,
    map_index: int = -1,
    *,
    queued_s_ago: float | None = None,
    scheduled_s_ago: float | None = None,
    heard_s_ago: float | None = None,
    **others: Any,
) -> dict[str, Any]:
    """As ``airflow_now`` reads a task instance."""
    ago = {"queued_when": queued_s_ago, "scheduled_when": scheduled_s_ago, "last_heartbeat_at": heard_s_ago}
    moments = {name: AT - timedelta(seconds=seconds) if seconds is not None else None for name, seconds in ago.items()}
    known = {"dag_id": "key_value", "dag_run_id": "r1", "task_id": task_id, "map_index": map_index, "state": state}
    return {**known, "rendered_map_index": None, "pool": "cluster_lab", "try_number": 1, **moments, **others}


def run_of(
    dag_id: str, *, tasks: Sequence[dict[str, Any]], outages: Sequence[dict[str, Any]] = (), state: str = "running"
) -> DagRunNow:
    dag_run_id = f"manual__{dag_id}"
    own = [{**one, "dag_id": dag_id, "dag_run_id": dag_run_id} for one in tasks]
    return DagRunNow(dag_id, dag_run_id, state, ASKED, ASKED, own, outages)


def now_with(*runs: DagRunNow, **others: Any) -> AirflowNow:
    return replace(NOTHING_GOES_ON, runs=runs, **others)
