"""Names that a run has in more than one place."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from clusterbench.spec import Platform


def run_id_from(asked_at: datetime, dag_run_id: str) -> str:
    """Readable and unique: the second the run was asked for, and a few letters that stand for Airflow's own id."""
    letters = hashlib.sha256(dag_run_id.encode()).hexdigest()[:6]
    return f"{asked_at.astimezone(UTC):%Y%m%dT%H%M%SZ}-{letters}"


def asked_at(run_id: str) -> datetime | None:
    """The second that the id names, if it names one."""
    try:
        return datetime.strptime(run_id.partition("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def pool_of(platform: Platform) -> str:
    """Airflow's pool of a platform's cluster: one slot, deferred tasks included. ``clusterbench pools`` makes it."""
    return f"cluster_{platform.cluster}"
