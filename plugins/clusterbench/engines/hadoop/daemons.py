"""Hadoop's daemons: which runs where, and the bash that starts and looks after those of one host. Pure.

They are started by their own classes as whoever logs in; nothing is needed on a host but Java, curl and Hadoop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterbench.base.scripts import script
from clusterbench.engines import state
from clusterbench.engines.hadoop.configuration import Configuration, classpath
from clusterbench.hosts.address import bracketed


@dataclass(frozen=True)
class Kind:
    """A kind of daemon, and where its own web server is, with TLS and without."""

    name: str
    main_class: str
    http_port: int
    https_port: int


NAMENODE = Kind("NameNode", "org.apache.hadoop.hdfs.server.namenode.NameNode", 9870, 9871)
DATANODE = Kind("DataNode", "org.apache.hadoop.hdfs.server.datanode.DataNode", 9864, 9865)
RESOURCEMANAGER = Kind("ResourceManager", "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager", 8088, 8090)
NODEMANAGER = Kind("NodeManager", "org.apache.hadoop.yarn.server.nodemanager.NodeManager", 8042, 8044)
JOBHISTORY = Kind("JobHistoryServer", "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer", 19888, 19890)


@dataclass(frozen=True)
class Daemon:
    kind: Kind
    host: str

    @property
    def name(self) -> str:
        return f"{self.kind.name} on {self.host}"


def daemons(configuration: Configuration) -> list[Daemon]:
    """In the order of starting."""
    masters = [
        Daemon(NAMENODE, configuration.namenode),
        Daemon(RESOURCEMANAGER, configuration.resourcemanager),
        Daemon(JOBHISTORY, configuration.resourcemanager),
    ]
    return masters + [Daemon(kind, host) for kind in (DATANODE, NODEMANAGER) for host in configuration.workers]


def url(configuration: Configuration, daemon: Daemon) -> str:
    """Of its web server. Kerberos takes TLS for those of HDFS, through which its data can be had."""
    address = bracketed(configuration.addresses[daemon.host])
    if configuration.services and daemon.kind in (NAMENODE, DATANODE):
        return f"https://{address}:{daemon.kind.https_port}"
    return f"http://{address}:{daemon.kind.http_port}"


def row(daemon: Daemon, *, known: bool | None, started_at_s: int | None) -> dict[str, Any]:
    """The daemon's state. ``known``: whether its master counts on it."""
    return state.row(
        daemon.name,
        alive=started_at_s is not None,
        started_at_s=started_at_s,
        status="d" if known is False else "u",
    )


def environment(configuration: Configuration, host: str) -> str:
    """Lines of bash after which ``run CLASS`` runs a class of Hadoop's, in a heap as large as a daemon's."""
    home, hadoop = configuration.homes[host], configuration.hadoop
    return script(
        "hadoop/environment",
        hadoop_directory=configuration.directories[host],
        hadoop_home=home,
        hadoop_jars=classpath(home).replace(",", ":"),
        heap_mb=hadoop.daemon_heap_mb,
        java_options=configuration.java_options,
    )


def _of_daemons(configuration: Configuration, host: str) -> str:
    return script("hadoop/daemons", hadoop_directory=configuration.directories[host])


def start(configuration: Configuration, host: str, chosen: Sequence[Daemon]) -> str:
    """Start those that do not run; returns at once."""
    kinds = [daemon.kind for daemon in chosen]
    body = script("hadoop/start", kinds=_names(chosen), main_classes=[kind.main_class for kind in kinds])
    return environment(configuration, host) + _of_daemons(configuration, host) + body


def look(configuration: Configuration, host: str, chosen: Sequence[Daemon]) -> str:
    """A line for each that runs: its kind, and since when, in epoch seconds."""
    return _of_daemons(configuration, host) + script("hadoop/look", kinds=_names(chosen))


def excerpt(configuration: Configuration, host: str, chosen: Sequence[Daemon]) -> str:
    """The end of their logs."""
    last_lines = script("engines/last_lines", line_count=state.LOG_LINES)
    return _of_daemons(configuration, host) + last_lines + script("hadoop/excerpt", kinds=_names(chosen))


def _names(chosen: Sequence[Daemon]) -> list[str]:
    return [daemon.kind.name for daemon in chosen]


def format_namenode(configuration: Configuration, *, is_lost: bool) -> str:
    """A file system for the NameNode, where there is none; one that is there stays, unless it ``is_lost``."""
    host = configuration.namenode
    directory = f"{configuration.directories[host]}/name"
    lost = "yes" if is_lost else ""
    body = script("hadoop/format_namenode", name_directory=directory, main_class=NAMENODE.main_class, is_lost=lost)
    return environment(configuration, host) + _of_daemons(configuration, host) + body


def since(said: Mapping[str, str]) -> dict[tuple[str, str], int]:
    """(host, kind) -> start, from what ``look`` said on each host."""
    lines = [(host, line.split("\t")) for host, output in said.items() for line in output.splitlines()]
    return {(host, kind): int(when) for host, (kind, when) in lines}
