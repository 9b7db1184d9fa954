"""Names that a run has in more than one place."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

WEEKLY = "weekly"
"""The DAG of all experiments, and the folder of its archives."""
BASELINES = "_baselines/"
"""The folder of accepted baselines."""


def run_id_from(asked_at: datetime, dag_run_id: str) -> str:
    """Readable and unique: the second the run was asked for, and a few letters that stand for Airflow's own id."""
    return f"{asked_at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{hash_suffix(dag_run_id)}"


def hash_suffix(dag_run_id: str) -> str:
    """What a run id ends in."""
    return hashlib.sha256(dag_run_id.encode()).hexdigest()[:6]


def run_started_by(weekly_dag_run_id: str) -> str:
    """Airflow's id of the run of every experiment that a weekly run starts, so that another try finds it."""
    return f"{WEEKLY}__{weekly_dag_run_id}"


def asked_at(run_id: str) -> datetime | None:
    """The second that the id names, if it names one."""
    try:
        return datetime.strptime(run_id.partition("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def whose(found: Mapping[str, Any], opened: Mapping[str, Any]) -> str:
    """Of a run id that is taken: whether another Airflow took it, and what to do. Both are a run.json."""
    one, other = ((each.get("started_by") or {}).get("installation") for each in (found, opened))
    if one == other:
        return ""
    return (
        ". It was started by another Airflow, which writes to the same bucket: give each of them a folder of its own, "
        "by 'prefix' in the extra of their connection clusterbench_archive"
    )
