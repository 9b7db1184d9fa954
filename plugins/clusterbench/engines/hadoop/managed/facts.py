"""What a Hadoop that somebody else runs reports about itself, through its daemons' own interfaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from clusterbench.engines.hadoop import hdfs, health, settings
from clusterbench.engines.hadoop.configuration import SECURITY
from clusterbench.engines.hadoop.daemons import DATANODE, JOBHISTORY, NAMENODE, NODEMANAGER, RESOURCEMANAGER
from clusterbench.engines.hadoop.managed.client import ManagedClient
from clusterbench.engines.hadoop.managed.queues import queue_facts
from clusterbench.spec.placed import slots


def facts(cluster: ManagedClient) -> dict[str, Any]:
    """Versions, workers and racks, memory and space, the queue, and what is authenticated and encrypted."""
    info = cluster.get(RESOURCEMANAGER, "/ws/v1/cluster/info")["clusterInfo"]
    metrics = cluster.get(RESOURCEMANAGER, "/ws/v1/cluster/metrics")["clusterMetrics"]
    name_node, name_system = cluster.bean("NameNodeInfo"), cluster.name_system()
    (runtime, *_) = cluster.get(NAMENODE, "/jmx?qry=java.lang:type=Runtime")["beans"]
    data_nodes = health.data_nodes(cluster)
    nodes = [node for node in health.node_managers(cluster) if node.get("state") == "RUNNING"]
    versions = Counter(str(n.get("version")) for n in (*data_nodes.values(), *nodes) if n.get("version"))
    return {
        "engine": "hadoop",
        "run_by": "somebody else",
        "version": f"Hadoop {info['hadoopVersion']}",
        "hdfs_version": str(name_node.get("SoftwareVersion") or name_node.get("Version")),
        "java": f"{runtime.get('SpecVersion')} ({runtime.get('VmName')} {runtime.get('VmVersion')})",
        "workers": len(data_nodes),
        "node_managers": len(nodes),
        "versions_of_workers": dict(versions),
        "racks": dict(Counter(str(node.get("rack")) for node in nodes)),
        "cluster_slots": slots(cluster.hadoop) * len(data_nodes),
        "yarn_memory_mb": metrics["totalMB"],
        "yarn_virtual_cores": metrics["totalVirtualCores"],
        "hdfs_capacity_bytes": name_system["CapacityTotal"],
        "hdfs_remaining_bytes": name_system["CapacityRemaining"],
        "queue": queue(cluster),
        "security": settings.in_force(cluster, daemons(cluster), cluster.platform.settings, SECURITY),
        "encrypted_at_rest": is_encrypted(cluster),
        "programs_missing": {},
        "places": places(data_nodes),
    }


def queue(cluster: ManagedClient) -> dict[str, Any]:
    """Of the queue that jobs are submitted to, where the platform's file names one; see ``queue_facts``."""
    if not cluster.managed.queue:
        return {}
    told = cluster.get(RESOURCEMANAGER, "/ws/v1/cluster/scheduler")["scheduler"]["schedulerInfo"]
    return queue_facts(told, cluster.managed.queue)


def is_encrypted(cluster: ManagedClient) -> bool:
    """Whether what trials write lies in an encryption zone."""
    return bool(hdfs.status(cluster, cluster.managed.path).get("encBit"))


def places(data_nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Address of each DataNode -> what it is called, and the machine that it is on: each is one, as far as is known."""
    return {str(node["xferaddr"]).rpartition(":")[0]: [name.partition(":")[0]] * 2 for name, node in data_nodes.items()}


def daemons(cluster: ManagedClient) -> dict[str, str]:
    """Daemon -> its web server, of masters and of all workers."""
    masters = {kind.name: cluster.url(kind) for kind in (NAMENODE, RESOURCEMANAGER, JOBHISTORY)}
    scheme, secure = cluster.configuration.scheme(NODEMANAGER), cluster.configuration.scheme(DATANODE)
    told = "infoSecureAddr" if secure == "https" else "infoAddr"
    workers = {f"DataNode on {n}": f"{secure}://{node[told]}" for n, node in health.data_nodes(cluster).items()}
    running = [node for node in health.node_managers(cluster) if node.get("state") == "RUNNING"]
    return masters | workers | {f"NodeManager on {n['id']}": f"{scheme}://{n['nodeHTTPAddress']}" for n in running}
