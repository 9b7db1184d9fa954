"""YARN's applications: which there are, and ending those that are ours."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any

from clusterbench.base.errors import EngineError
from clusterbench.engines.hadoop import hdfs
from clusterbench.engines.hadoop.cluster import Cluster
from clusterbench.engines.hadoop.daemons import RESOURCEMANAGER

COMMAND = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"


def applications(cluster: Cluster, query: str) -> list[dict[str, Any]]:
    """YARN's own account of the applications that ``query`` selects (its REST API's words)."""
    found = cluster.get(RESOURCEMANAGER, f"/ws/v1/cluster/apps?{query}")
    return list((found.get("apps") or {}).get("app") or [])


def kill(cluster: Cluster, ids: Sequence[str]) -> None:
    """End applications, and wait until YARN says so."""
    if ids:
        named = " ".join(map(quote, ids))
        script = f"{cluster.environment()}run {COMMAND} application -kill {named} >/dev/null\n"
        cluster.on_each({cluster.platform.client: script}, "yarn application -kill does the same by hand")


def end_left(cluster: Cluster) -> list[str]:
    """Of an earlier trial whose driver was lost. Somebody else's job is not ours to end, and is told."""
    running = applications(cluster, "states=NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING")
    ours = [app for app in running if "clusterbench" in str(app.get("applicationTags"))]
    others = [f"{app['id']} ({app['name']}, user {app['user']})" for app in running if app not in ours]
    if others:
        raise EngineError(
            f"{cluster.where}: nothing else may run beside a trial, and {', '.join(others[:5])} does; wait for it, "
            "or end it with: yarn application -kill ID"
        )
    kill(cluster, [app["id"] for app in ours])
    return [f"{app['id']} ({app['name']}) was left running and was killed" for app in ours]


def clear(cluster: Cluster, tag: str) -> None:
    """End what still runs of the applications with this tag, and remove what those that were ended have staged."""
    found = applications(cluster, f"applicationTags={tag}")
    kill(cluster, [app["id"] for app in found if app["state"] not in ("FINISHED", "FAILED", "KILLED")])
    for app in found:
        if app["state"] != "FINISHED":
            job = str(app["id"]).replace("application_", "job_")
            hdfs.delete(cluster, f"/clusterbench/staging/{app['user']}/.staging/{job}")
