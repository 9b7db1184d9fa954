"""A platform's file, and the connections to fill in, from what a cluster reports about itself. It is only asked.

A coordinator's ``gp_segment_configuration`` names the hosts of a Greenplum, a ResourceManager's REST interface the
workers of a Hadoop. Who drives the load nobody can tell, nor how hosts are logged in to: whoever asks says it, or fills
it in.
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
from clusterbench.hosts.address import SSH_PORT
from clusterbench.spec import Platform

DECLARED = ("shared_buffers", *DURABILITY_SETTINGS)
"""Settings that the file claims, as they are now: a later difference is reported."""
ASK_S = 30
HEAD = """\
# {title}: made by 'clusterbench discover'. What clusterbench may do beside looking is in 'may'.
# Every key is in docs/reference.md.
"""
TO_FILL_IN = """\
# Fill in the connections (the client host drives the load and should be no host of the cluster; the ETL host has the
# load files), see 'clusterbench doctor {name}', and then take out 'template'.
"""
BLANK = "FILL IN"


@dataclass(frozen=True)
class Access:
    """What a cluster does not tell of itself: how its hosts are logged in to, and who drives the load."""

    login: str = ""
    key_file: str = ""
    client: str = ""
    etl: str = ""
    port: int = SSH_PORT
    asks_for_keys: bool = False
    """Whether the hosts' public keys are filled in afterwards."""

    def is_enough(self, *, with_etl: bool) -> bool:
        """Whether nothing is left to be filled in."""
        said = (self.login, self.key_file, self.client, self.etl or not with_etl, self.asks_for_keys)
        return all(said)


NOTHING = Access()


@dataclass(frozen=True)
class Discovered:
    """A platform as its file has it, and its SSH connections, by id, without what is secret."""

    platform: dict[str, Any]
    connections: dict[str, dict[str, Any]]

    @property
    def yaml(self) -> str:
        Platform.model_validate(self.platform)  # what is written can be read
        known = {"title": self.platform["title"], "name": self.platform["platform"]}
        head = (HEAD + TO_FILL_IN * ("template" in self.platform)).format(**known)
        return head + yaml.safe_dump(self.platform, sort_keys=False, allow_unicode=True, width=118)


def of_database(name: str, database: Connection, access: Access = NOTHING) -> Discovered:
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
    if rows:
        return greenplum(name, database, rows, settings, access)
    return postgres(name, database, settings, access)


def postgres(name: str, database: Connection, settings: Mapping[str, str], access: Access = NOTHING) -> Discovered:
    """One server, on the host that the connection names. Pure."""
    hosts = {"db": (database.host, ["coordinator"])}
    title = f"PostgreSQL on {database.host}"
    return _made(name, title, "postgres", hosts, access, database=database.id, settings=settings)


def greenplum(
    name: str,
    database: Connection,
    rows: Sequence[Mapping[str, Any]],
    settings: Mapping[str, str],
    access: Access = NOTHING,
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
    return _made(name, f"Greenplum on {database.host}", "greenplum", hosts, access, **more)


def _is(row: Mapping[str, Any], preferred: str) -> bool:
    return str(row["preferred_role"]).strip() == preferred


def of_resourcemanager(name: str, url: str, access: Access = NOTHING, *, own_daemons: bool = False) -> Discovered:
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
    return hadoop(name, str(urlsplit(url).hostname), nodes, access, own_daemons=own_daemons)


def hadoop(
    name: str,
    resourcemanager: str,
    nodes: Sequence[Mapping[str, Any]],
    access: Access = NOTHING,
    *,
    own_daemons: bool = False,
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
    return _made(name, f"Hadoop on {resourcemanager}", "hadoop", hosts, access, page_cache="none", hadoop=of_it)


def _made(
    name: str,
    title: str,
    engine: str,
    hosts: Mapping[str, tuple[str, Sequence[str]]],
    access: Access,
    **more: Any,
) -> Discovered:
    """The file's keys in the order of the templates, and a connection for each host."""
    with_etl = engine != "hadoop"
    places = _with_drivers(hosts, access, with_etl=with_etl)
    to_fill_in = not access.is_enough(with_etl=with_etl) or "managed" in more.get("hadoop", {})
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
        **({"template": True} if to_fill_in else {}),
    }
    return Discovered(
        platform, {f"{name}_{host}": _connection(address, access) for host, (address, _) in places.items()}
    )


def _with_drivers(
    hosts: Mapping[str, tuple[str, Sequence[str]]], access: Access, *, with_etl: bool
) -> dict[str, tuple[str, list[str]]]:
    """Those who drive the load first. Who has the address of another host is that one, with one more role."""
    places: dict[str, tuple[str, list[str]]] = {}
    wanted = [("client", access.client), *([("etl", access.etl)] if with_etl else [])]
    drivers = [(role, (address, [role])) for role, address in wanted]
    for name, (address, roles) in [*drivers, *hosts.items()]:
        same = next((of for at, of in places.values() if address and at == address), None)
        if same is None:
            places[name] = (address, list(roles))
        else:
            same += [role for role in roles if role not in same]
    return places


def _connection(address: str, access: Access) -> dict[str, Any]:
    key = {"key_file": access.key_file} if access.key_file else {"private_key": BLANK}
    port = {} if access.port == SSH_PORT else {"port": access.port}
    extra = {**key, "host_key": f"{BLANK}: ssh-keyscan -t ed25519 HOST"}
    return {"conn_type": "ssh", "host": address or BLANK, **port, "login": access.login or BLANK, "extra": extra}


def _name(hostname: str) -> str:
    """What a platform's file may call a host."""
    return re.sub(r"[^a-z0-9_]", "_", hostname.partition(".")[0].lower()) or "host"
