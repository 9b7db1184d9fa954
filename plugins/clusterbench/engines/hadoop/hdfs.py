"""HDFS: its space, its files, and whether it has come to rest."""

from __future__ import annotations

import json
from shlex import quote
from typing import Any
from urllib.parse import quote as url_quote

from clusterbench.base.errors import EngineError
from clusterbench.engines.flush import Flushed, drop_page_cache
from clusterbench.engines.hadoop.cluster import Cluster
from clusterbench.engines.hadoop.daemons import NAMENODE
from clusterbench.hosts.fleet import DROP_PAGE_CACHE
from clusterbench.spec.leave import why_not

AT_REST_S = 300
NEEDS_ROOT = "dropping the page cache needs root there"


def free_bytes(cluster: Cluster) -> int:
    """Replicas counted each. DataNodes that share a file system share its space."""
    scripts = {}
    for host in cluster.configuration.workers:
        named = " ".join(map(quote, cluster.configuration.data_dirs(host)))
        free = f"df --block-size=1 --output=source,avail {named} | tail -n +2"
        scripts[host] = f"cat /proc/sys/kernel/random/boot_id; {free}"
    space: dict[tuple[str, str], int] = {}
    for said in cluster.on_each(scripts, "df must be there").values():
        boot, *lines = said.splitlines()
        space |= {(boot, source): int(free) for source, free in (line.split() for line in lines)}
    return min(sum(space.values()), int(cluster.name_system()["CapacityRemaining"]))


def exists(cluster: Cluster, path: str) -> bool:
    return "FileStatus" in _web_hdfs(cluster, path, "GETFILESTATUS")


def delete(cluster: Cluster, path: str) -> None:
    """With all below it; nothing where it is not there."""
    _web_hdfs(cluster, path, "DELETE&recursive=true", method="DELETE")


def _web_hdfs(cluster: Cluster, path: str, operation: str, method: str = "GET") -> dict[str, Any]:
    login = cluster.fleet.addresses[cluster.platform.client].login
    url = f"{cluster.url(NAMENODE)}/webhdfs/v1{url_quote(path)}?op={operation}&user.name={url_quote(login)}"
    host = cluster.configuration.namenode
    said = cluster.on_each(
        {host: f"curl -sS --max-time {cluster.command_s} -X {method} {quote(url)}"}, "its NameNode must answer"
    )[host]
    answer = dict(json.loads(said or "{}"))
    error = answer.get("RemoteException")
    if error and error.get("exception") != "FileNotFoundException":
        raise EngineError(f"{cluster.where}, HDFS {path}: {error.get('message', error)}")
    return answer


def settle(cluster: Cluster) -> None:
    """Until what was deleted is gone from the disks and no replica is being made, so no chore runs beside.

    A block that cannot have more replicas, as there are no more hosts, is no work.
    """
    names = ("PendingDeletionBlocks", "PendingReconstructionBlocks", "ScheduledReplicationBlocks")
    cluster.wait_while(
        lambda: any(cluster.name_system()[name] for name in names),
        AT_REST_S,
        lambda: "HDFS does not come to rest: " + ", ".join(f"{name} {cluster.name_system()[name]}" for name in names),
    )


def empty_page_cache(cluster: Cluster) -> str:
    """On every worker, where the platform's file allows it. Returns what was done, in words."""
    if why := _why_page_cache_is_left(cluster):
        return f"left as it was: {why}"
    workers = cluster.configuration.workers
    cluster.on_each(dict.fromkeys(workers, DROP_PAGE_CACHE), NEEDS_ROOT)
    return f"dropped on {len(workers)} workers"


def _why_page_cache_is_left(cluster: Cluster) -> str:
    if cluster.platform.page_cache != "drop_caches":
        return f"page_cache is {cluster.platform.page_cache}"
    return why_not(cluster.platform, "drop_caches")


def flush(cluster: Cluster) -> Flushed:
    """As ``empty_page_cache``, with a look before and after."""
    method = cluster.platform.page_cache
    if why := _why_page_cache_is_left(cluster):
        return Flushed("file system", method, why, is_tried=False)
    problem, of_hosts = drop_page_cache(cluster, cluster.configuration.workers, NEEDS_ROOT)
    before, after = (sum(seen[look] for seen in of_hosts.values()) for look in (0, 1))
    return Flushed("file system", method, problem, True, before, after, of_hosts)
