"""A platform's file, and the connections to fill in, from what a cluster reports about itself. It is only asked.

A coordinator's ``gp_segment_configuration`` names the hosts of a Greenplum, a ResourceManager's REST interface the
workers of a Hadoop. Who drives the load nobody can tell: ``client`` and ``etl`` are to be filled in.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import yaml

from clusterbench.base import postgres_session
from clusterbench.base.connections import Connection
from clusterbench.base.errors import EngineError
from clusterbench.base.sql import statement
from clusterbench.engines import DURABILITY_SETTINGS
from clusterbench.engines.instances import COORDINATOR
from clusterbench.engines.postgres import connection as sessions
from clusterbench.spec import Platform

DECLARED = ("shared_buffers", *DURABILITY_SETTINGS)
"""Settings that the file claims, as they are now: a later difference is reported."""
ASK_S = 30
HEAD = """\
# {title}: made by 'clusterbench discover'. Fill in the connections (the client host drives
# the load and should be no host of the cluster; the ETL host has the load files), see 'clusterbench doctor {name}', and
# then take out 'template'. Every key is in docs/reference.md. What clusterbench may do beside looking is in 'may'.
"""


@dataclass(frozen=True)
class Discovered:
    """A platform as its file has it, and its SSH connections, by id, without what is secret."""

    platform: dict[str, Any]
    connections: dict[str, dict[str, Any]]

    @property
    def yaml(self) -> str:
        Platform.model_validate(self.platform)  # what is written can be read
        head = HEAD.format(title=self.platform["title"], name=self.platform["platform"])
        return head + yaml.safe_dump(self.platform, sort_keys=False, allow_unicode=True, width=118)


def of_database(name: str, database: Connection) -> Discovered:
    """From a coordinator, or from a PostgreSQL server. Raises EngineError where it cannot be asked."""
    where = f"database {database.host}:{database.port or postgres_session.PORT}"
    with sessions.connect(database, where) as session, sessions.shut_after(ASK_S, session):
        version = str(session.execute("SELECT version() AS version").fetchall()[0]["version"])
        asked = "SELECT name, current_setting(name) AS value FROM pg_settings"
        every = {row["name"]: row["value"] for row in session.execute(asked).fetchall()}
        rows: Sequence[Mapping[str, Any]] = []
        if "Greenplum" in version or "gp_contentid" in every or "gp_session_id" in every:
            rows = session.execute(statement("greenplum", "instances").encode()).fetchall()
    settings = {key: every[key] for key in DECLARED if key in every}
    return greenplum(name, database, rows, settings) if rows else postgres(name, database, settings)


def postgres(name: str, database: Connection, settings: Mapping[str, str]) -> Discovered:
    """One server, on the host that the connection names. Pure."""
    hosts = {"db": (database.host, ["coordinator"])}
    return _made(name, f"PostgreSQL on {database.host}", "postgres", hosts, database=database.id, settings=settings)


def greenplum(
    name: str, database: Connection, rows: Sequence[Mapping[str, Any]], settings: Mapping[str, str]
) -> Discovered:
    """From rows of ``gp_segment_configuration``. Pure."""
    hosts: dict[str, tuple[str, list[str]]] = {}
    for row in rows:
        role = "coordinator" if int(row["content"]) == COORDINATOR else "segment"
        _, roles = hosts.setdefault(_name(str(row["hostname"])), (str(row["address"]), []))
        if role not in roles:
            roles.append(role)
    counts = {
        key: Counter(row["hostname"] for row in rows if int(row["content"]) >= 0 and _is(row, preferred))
        for key, preferred in (("segments_per_host", "p"), ("mirrors_per_host", "m"))
    }
    same = {key: next(iter(of.values())) for key, of in counts.items() if len(set(of.values())) == 1}
    more = {"database": database.id, "settings": settings, **same}
    return _made(name, f"Greenplum on {database.host}", "greenplum", hosts, **more)


def _is(row: Mapping[str, Any], preferred: str) -> bool:
    return str(row["preferred_role"]).strip() == preferred


def of_resourcemanager(name: str, url: str, *, own_daemons: bool = False) -> Discovered:
    """From its REST interface, such as ``http://rm:8088``. Raises EngineError where it does not answer.

    A Hadoop that answers is somebody's: it is managed, unless daemons of our own are to run on its hosts instead.
    """
    asked = f"{url.rstrip('/')}/ws/v1/cluster/nodes"
    if urlsplit(url).scheme not in {"http", "https"}:
        raise EngineError(f"{url!r} is not the address of a ResourceManager; write it as http://HOST:8088")
    try:
        with urlopen(asked, timeout=ASK_S) as answer:  # noqa: S310  its scheme was looked at
            nodes = json.load(answer)["nodes"]["node"]
    except (URLError, OSError, ValueError, KeyError, TypeError) as error:
        raise EngineError(
            f"{asked}: {error}; is that a ResourceManager's web server, and does it have nodes?"
        ) from None
    return hadoop(name, str(urlsplit(url).hostname), nodes, own_daemons=own_daemons)


def hadoop(
    name: str, resourcemanager: str, nodes: Sequence[Mapping[str, Any]], *, own_daemons: bool = False
) -> Discovered:
    """From its nodes; how many tasks a worker may run at once is the fewest of their virtual cores. Pure."""
    cores = [int(node.get("totalVirtualCores") or node.get("availableVirtualCores", 0)) for node in nodes]
    of_it: dict[str, Any] = {"slots": max(1, min((count for count in cores if count), default=1))}
    hosts: dict[str, tuple[str, list[str]]] = {}
    if own_daemons:
        hosts["master"] = (resourcemanager, ["namenode"])
        for node in nodes:
            hosts[_name(str(node["nodeHostName"]))] = (str(node["nodeHostName"]), ["worker"])
    else:
        of_it |= {"home": "/usr/lib/hadoop", "managed": {"configuration": "/etc/hadoop/conf", "path": "/user/FILL_IN"}}
    return _made(name, f"Hadoop on {resourcemanager}", "hadoop", hosts, page_cache="none", hadoop=of_it)


def _made(
    name: str, title: str, engine: str, hosts: Mapping[str, tuple[str, Sequence[str]]], **more: Any
) -> Discovered:
    """The file's keys in the order of the templates, and a connection for each host."""
    places = {"client": ("", ["client"]), **({} if engine == "hadoop" else {"etl": ("", ["etl"])}), **hosts}
    platform = {
        "platform": name,
        "title": title,
        "engine": engine,
        "cluster": name,
        "may": [],
        **({"database": more.pop("database")} if "database" in more else {}),
        "hosts": {host: {"ssh": f"{name}_{host}", "roles": list(roles)} for host, (_, roles) in places.items()},
        "page_cache": more.pop("page_cache", "evict_files"),
        **{key: dict(value) if isinstance(value, Mapping) else value for key, value in more.items()},
        "template": True,
    }
    extra = {"private_key": "FILL IN", "host_key": "FILL IN: ssh-keyscan -t ed25519 HOST"}
    return Discovered(
        platform,
        {
            f"{name}_{host}": {"conn_type": "ssh", "host": address or "FILL IN", "login": "FILL IN", "extra": extra}
            for host, (address, _) in places.items()
        },
    )


def _name(hostname: str) -> str:
    """What a platform's file may call a host."""
    return re.sub(r"[^a-z0-9_]", "_", hostname.partition(".")[0].lower()) or "host"
