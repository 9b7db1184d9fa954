"""Which daemons run, whether their masters count on them, and whether HDFS can be written."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from clusterbench.base.errors import EngineError
from clusterbench.engines.hadoop import daemons
from clusterbench.engines.hadoop.client import HadoopClient
from clusterbench.engines.hadoop.cluster import Cluster
from clusterbench.engines.hadoop.daemons import DATANODE, JOBHISTORY, NAMENODE, NODEMANAGER, RESOURCEMANAGER, Daemon

UP_S = 300
"""What the daemons may take until one more of them is found by its master. Hundreds of them come one after the other,
and a NameNode with many blocks reads for minutes."""
HEARD_S = 20
"""A DataNode reports about itself every second."""
SAFE_MODE_S = 60
"""A NameNode leaves it by itself soon after the DataNodes have come; later than this a person must look."""


def state(cluster: Cluster) -> list[dict[str, Any]]:
    """A row of each daemon, as its host and its master see it."""
    started = started_at_s(cluster)
    try:
        unknown = _unknown(cluster)
    except EngineError:  # the masters are away, which their rows show
        unknown = {}
    return [
        daemons.row(daemon, known=daemon not in unknown, started_at_s=started.get((daemon.host, daemon.kind.name)))
        for daemon in cluster.daemons
    ]


def started_at_s(cluster: Cluster) -> dict[tuple[str, str], int]:
    """(host, kind) of each daemon that runs -> its start in epoch seconds."""
    remedy = "the login must be the one that started them"
    return daemons.since(cluster.on_daemons(daemons.look, cluster.daemons, remedy))


def log_excerpt(cluster: Cluster, faults: Sequence[str]) -> str:
    """Of the NameNode's log and of those of the daemons that ``faults`` name."""
    named = [d for d in cluster.daemons if d.kind == NAMENODE or any(fault.startswith(d.name) for fault in faults)]
    return "\n".join(cluster.on_daemons(daemons.excerpt, named, "its logs must be readable").values())


def wait_until_up(cluster: Cluster, started: Sequence[Daemon]) -> None:
    """Until all daemons have found each other, and those that were started answer."""
    least, deadline = len(cluster.daemons) + len(started), time.monotonic() + UP_S
    while missing := _missing(cluster, started):
        if len(missing) < least and len(missing) > 1:  # a single one may be why nobody knows of the others
            least, deadline = len(missing), time.monotonic() + UP_S
        if dead := [row["name"] for row in state(cluster) if not row["alive"]]:
            raise EngineError(f"{cluster.where}: {', '.join(dead)} did not stay up:\n{log_excerpt(cluster, dead)}")
        if time.monotonic() > deadline:
            said = "\n".join(missing[:10])
            raise EngineError(
                f"{cluster.where}: nothing more came up for {UP_S} s:\n{said}\n{log_excerpt(cluster, missing)}"
            )
        time.sleep(1)


def _missing(cluster: Cluster, started: Sequence[Daemon]) -> list[str]:
    """What is not as it must be before a job may run, one line each."""
    try:
        problems = [f"{daemon.name}: {why}" for daemon, why in _unknown(cluster).items()]
        problems += [f"{daemon.name}: its web server does not answer yet" for daemon in _silent(cluster, started)]
        cluster.get(JOBHISTORY, "/ws/v1/history/info")
        if in_safe_mode(cluster):
            problems.append("the NameNode is in safe mode")
    except EngineError as error:
        return [str(error)]
    return problems


def _silent(cluster: Cluster, started: Sequence[Daemon]) -> list[Daemon]:
    """Those that do not answer; their masters may still count on one that they were before."""
    urls = {
        daemon: f"{daemons.url(cluster.configuration, daemon)}/conf?name=fs.defaultFS&format=xml" for daemon in started
    }
    answered = cluster.get_each(urls.values(), [])
    return [daemon for daemon, url in urls.items() if url not in answered]


def _unknown(cluster: Cluster) -> dict[Daemon, str]:
    """Those on workers that their masters do not count on, and why, in the masters' words."""
    live = {node["xferaddr"].rsplit(":", 1)[0]: node for node in data_nodes(cluster).values()}
    nodes = {node["nodeHostName"]: node for node in node_managers(cluster)}  # the newest of a host comes last
    found = {}
    for daemon in cluster.daemons:
        address = cluster.configuration.addresses[daemon.host]
        if daemon.kind == DATANODE and (why := not_serving(live.get(address))):
            found[daemon] = why
        # A NodeManager goes by its address, or, where a name server has one for that, by its name.
        node = nodes.get(address) or nodes.get(cluster.fleet.addresses[daemon.host].host) or {}
        if daemon.kind == NODEMANAGER and node.get("state") != "RUNNING":
            its_state, health = node.get("state", "never registered"), str(node.get("healthReport") or "")
            found[daemon] = f"the ResourceManager reports {its_state}{f', {health}' if health else ''}"
    return found


def data_nodes(client: HadoopClient) -> dict[str, dict[str, Any]]:
    """Those that the NameNode has heard of, by name."""
    return dict(json.loads(client.bean("NameNodeInfo")["LiveNodes"]))


def node_managers(client: HadoopClient) -> list[dict[str, Any]]:
    """All that the ResourceManager knows, also those that are lost."""
    return list((client.get(RESOURCEMANAGER, "/ws/v1/cluster/nodes").get("nodes") or {}).get("node") or [])


def not_serving(node: Mapping[str, Any] | None) -> str:
    """Why the NameNode cannot count on a DataNode, from what it tells of it; nothing where it can.

    One that died is reported as live for half a minute, one that has come has no space yet.
    """
    if node is None:
        return "the NameNode does not know it"
    if int(node["lastContact"]) > HEARD_S:
        return f"the NameNode has not heard of it for {node['lastContact']} s"
    return "" if int(node["capacity"]) else "the NameNode does not know its space yet"


def wait_for_writes(client: HadoopClient) -> None:
    """Until the NameNode has left safe mode."""
    client.wait_while(lambda: in_safe_mode(client), SAFE_MODE_S, lambda: _say_safe_mode(client))


def in_safe_mode(client: HadoopClient) -> bool:
    return bool(client.name_system()["FSState"] == "safeMode")


def _say_safe_mode(client: HadoopClient) -> str:
    why = str(client.bean("NameNodeInfo").get("Safemode") or "it does not say why").strip()
    return (
        f"the NameNode is in safe mode and nothing can be written: {why}\n  bring the missing DataNodes back or "
        "free space in its folder; if somebody turned safe mode on, end it with: hdfs dfsadmin -safemode leave"
    )
