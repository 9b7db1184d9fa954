"""Other people's applications on a Hadoop that is not ours: how much they take, and whether that is noise."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from clusterbench.base.database_work import ALL_MB_S, OTHERS_MB_S, of_trial
from clusterbench.base.errors import EngineAwayError
from clusterbench.base.words import percent_digits
from clusterbench.engines.hadoop import yarn
from clusterbench.engines.hadoop.client import HadoopClient
from clusterbench.engines.hadoop.daemons import RESOURCEMANAGER

NAMED = 5


def yarn_mb(client: HadoopClient) -> int:
    """Memory of all workers together."""
    return int(client.get(RESOURCEMANAGER, "/ws/v1/cluster/metrics")["clusterMetrics"]["totalMB"])


def wait_for_others(client: HadoopClient, others: Sequence[Mapping[str, Any]], share_max: float) -> None:
    """Raises EngineAwayError, which is waited out, while others have more of YARN's memory than is noise."""
    held = {str(app["id"]): max(0, int(app.get("allocatedMB") or 0)) for app in others}
    total = yarn_mb(client)
    if not total or sum(held.values()) <= share_max * total:
        return
    most = sorted(others, key=lambda app: -held[str(app["id"])])[:NAMED]
    sizes = (f"{held[str(app['id'])]:,} MB" for app in most)
    named = ", ".join(f"{one}, {size}" for one, size in zip(yarn.named(most), sizes, strict=True))
    raise EngineAwayError(
        f"{client.where}: other people's applications have {percent_digits(sum(held.values()) / total)} % of YARN's "
        f"memory, and up to {percent_digits(share_max)} % is noise ('hadoop.managed.others'): {named}"
    )


def totals(client: HadoopClient, is_ours: Any) -> dict[str, int]:
    """As far as the ResourceManager remembers; it forgets those that ended long ago (see ``disturbed``)."""
    others = [app for app in yarn.applications(client, "deSelects=resourceRequests") if not is_ours(app)]
    held = sum(max(0, int(app.get("memorySeconds") or 0)) for app in others)
    return {OTHERS_MB_S: held, ALL_MB_S: int(yarn_mb(client) * time.time())}


def disturbed(before: Mapping[str, float], after: Mapping[str, float], share_max: float) -> str:
    """Why a trial between these totals is not the cluster's own number; empty where others were noise."""
    if OTHERS_MB_S not in before:
        return ""
    found = of_trial(before, after).get("others_memory_share")
    if found is None:
        return (
            "it is not known what other people's applications took during the trial: the ResourceManager was "
            "restarted, or has forgotten some that ended (yarn.resourcemanager.max-completed-applications)"
        )
    if found <= share_max:
        return ""
    return (
        f"other people's applications had {percent_digits(found)} % of YARN's memory during the trial, and up to "
        f"{percent_digits(share_max)} % is noise ('hadoop.managed.others' of the platform's file)"
    )
