"""Names of what a platform may be unable to do, where engines, hosts and workloads speak of the same."""

from __future__ import annotations

from collections.abc import Mapping

EVERYTHING, ALONE = "everything", "alone"
"""Of what an engine or its hosts may lack: every trial; a load that can be run once only, beside nobody."""
FOR_CACHE_STATE = {
    "cold": ("cold", "flush", "restart", "pg_buffercache"),
    "warm": ("pg_prewarm", "pg_buffercache"),
    "database_warm": ("flush", "pg_prewarm", "pg_buffercache"),
    "as_left": ("pg_buffercache",),
}
"""State of the caches -> what is needed to bring it about; others need nothing."""


def why_no_cache_state(state: str, unavailable: Mapping[str, str]) -> str | None:
    """Why this state of the caches cannot be had; None where it can."""
    return next((unavailable[each] for each in FOR_CACHE_STATE.get(state, ()) if each in unavailable), None)
