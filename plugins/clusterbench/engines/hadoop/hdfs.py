"""HDFS: its space, its files, and whether it has come to rest."""

from __future__ import annotations

import json
from shlex import quote
from typing import Any
from urllib.parse import quote as url_quote

from clusterbench.base.errors import EngineError
from clusterbench.engines.flush import Flushed, drop_page_cache
from clusterbench.engines.hadoop.client import FILE_SYSTEM, HadoopClient
from clusterbench.engines.hadoop.cluster import Cluster
from clusterbench.engines.hadoop.daemons import NAMENODE
from clusterbench.hosts.fleet import DROP_PAGE_CACHE
from clusterbench.spec.leave import why_not
from clusterbench.spec.platform import Platform

AT_REST_S = 300
CHORES = ("PendingDeletionBlocks", "PendingReconstructionBlocks", "ScheduledReplicationBlocks")
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


def exists(client: HadoopClient, path: str) -> bool:
    return bool(status(client, path))


def status(client: HadoopClient, path: str) -> dict[str, Any]:
    """Of a file or folder, in WebHDFS's words; empty where it is not there."""
    return dict(_web_hdfs(client, path, "GETFILESTATUS").get("FileStatus") or {})


def summary(client: HadoopClient, path: str) -> dict[str, Any]:
    """Space and quotas of all that is below a folder, in WebHDFS's words."""
    return dict(_web_hdfs(client, path, "GETCONTENTSUMMARY").get("ContentSummary") or {})


def _web_hdfs(client: HadoopClient, path: str, operation: str) -> dict[str, Any]:
    login = client.fleet.addresses[client.platform.client].login
    who = "" if client.tickets else f"&user.name={url_quote(login)}"
    url = f"{client.url(NAMENODE)}/webhdfs/v1{url_quote(path)}?op={operation}{who}"
    said = client.on_client(
        f"{client.asking()}ask --no-fail --max-time {client.command_s} {quote(url)}\n", "its NameNode must answer"
    )
    try:
        answer = dict(json.loads(said or "{}"))
    except ValueError:
        raise EngineError(f"{client.where}, HDFS {path}: the NameNode answered {url} with: {said[:200]!r}") from None
    error = answer.get("RemoteException")
    if error and error.get("exception") != "FileNotFoundException":
        raise EngineError(f"{client.where}, HDFS {path}: {error.get('message', error)}")
    return answer


def delete(client: HadoopClient, path: str) -> None:
    """With all below it, past the trash, in which it would still take its space; nothing where it is not there."""
    client.run([FILE_SYSTEM, "-rm", "-r", "-f", "-skipTrash", path], f"HDFS must let the login remove {path}")


def settle(client: HadoopClient) -> None:
    """Until what was deleted is gone from the disks and no replica is being made, so no chore runs beside.

    A block that cannot have more replicas, as there are no more hosts, is no work.
    """
    client.wait_while(
        lambda: any(client.name_system()[name] for name in CHORES),
        AT_REST_S,
        lambda: f"HDFS does not come to rest: {chores(client)}",
    )


def chores(client: HadoopClient) -> str:
    """What HDFS has to do yet, in its own words; empty where there is nothing."""
    told = client.name_system()
    return ", ".join(f"{name} {told[name]}" for name in CHORES if told[name])


def empty_page_cache(client: HadoopClient) -> str:
    """On every worker, where the platform's file allows it. Returns what was done, in words."""
    if why := _why_page_cache_is_left(client.platform):
        return f"left as it was: {why}"
    workers = client.platform.hosts_with("worker")
    client.on_each(dict.fromkeys(workers, DROP_PAGE_CACHE), NEEDS_ROOT)
    return f"dropped on {len(workers)} workers"


def _why_page_cache_is_left(platform: Platform) -> str:
    if not platform.hosts_with("worker"):
        return "the platform's file names no workers' hosts, and none are ours to flush"
    if platform.page_cache != "drop_caches":
        return f"page_cache is {platform.page_cache}"
    return why_not(platform, "drop_caches")


def flush(client: HadoopClient) -> Flushed:
    """As ``empty_page_cache``, with a look before and after."""
    method = client.platform.page_cache
    if why := _why_page_cache_is_left(client.platform):
        return Flushed("file system", method, why, is_tried=False)
    problem, of_hosts = drop_page_cache(client, client.platform.hosts_with("worker"), NEEDS_ROOT)
    before, after = (sum(seen[look] for seen in of_hosts.values()) for look in (0, 1))
    return Flushed("file system", method, problem, True, before, after, of_hosts)
