"""YARN's applications: which there are, and ending those that are ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from clusterbench.base.errors import EngineError
from clusterbench.engines.hadoop import hdfs
from clusterbench.engines.hadoop.client import HadoopClient
from clusterbench.engines.hadoop.daemons import RESOURCEMANAGER

UNFINISHED = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"
COMMAND = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"


def applications(client: HadoopClient, query: str) -> list[dict[str, Any]]:
    """YARN's own account of the applications that ``query`` selects (its REST API's words)."""
    found = client.get(RESOURCEMANAGER, f"/ws/v1/cluster/apps?{query}")
    return list((found.get("apps") or {}).get("app") or [])


def kill(client: HadoopClient, ids: Sequence[str]) -> None:
    """End applications, and wait until YARN says so."""
    if ids:
        client.run([COMMAND, "application", "-kill", *ids], "you can do it yourself with: yarn application -kill")


def is_of_a_trial(app: Mapping[str, Any]) -> bool:
    """By its tag; of whose trial it does not say."""
    return "clusterbench" in str(app.get("applicationTags"))


def unfinished(
    client: HadoopClient, is_ours: Callable[[Mapping[str, Any]], bool]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Applications that have not ended: those that trials have left, and those that are somebody else's."""
    running = applications(client, f"states={UNFINISHED}")
    return [app for app in running if is_ours(app)], [app for app in running if not is_ours(app)]


def named(apps: Iterable[Mapping[str, Any]]) -> list[str]:
    return [f"{app['id']} ({app['name']}, user {app['user']})" for app in apps]


def end_left(client: HadoopClient) -> list[str]:
    """Of an earlier trial whose driver was lost. Somebody else's job is not ours to end, and is reported."""
    ours, others = unfinished(client, is_of_a_trial)
    if others:
        raise EngineError(
            f"{client.where}: nothing else may run during a trial, but {', '.join(named(others)[:5])} does; wait "
            "until it ends, or end it with: yarn application -kill ID"
        )
    return kill_left(client, ours)


def kill_left(client: HadoopClient, ours: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns what was done, in words."""
    kill(client, [app["id"] for app in ours])
    return [f"{app['id']} ({app['name']}) was left running and was killed" for app in ours]


def clear(client: HadoopClient, tag: str) -> None:
    """End what still runs of the applications with this tag, and remove what those that were ended have staged."""
    found = applications(client, f"applicationTags={tag}")
    kill(client, [app["id"] for app in found if app["state"] not in ("FINISHED", "FAILED", "KILLED")])
    for app in found:
        if app["state"] != "FINISHED":
            job = str(app["id"]).replace("application_", "job_")
            hdfs.delete(client, f"{client.staging_dir}/{app['user']}/.staging/{job}")
