"""Hadoop: HDFS, YARN and MapReduce as one deployment, configured, started and stopped over SSH."""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from shlex import quote
from typing import Any
from urllib.parse import quote as url_quote
from xml.etree import ElementTree as ET

from clusterbench.base.connections import Connection
from clusterbench.base.errors import EngineError, HostError
from clusterbench.engines.deployment import Deployment
from clusterbench.engines.hadoop import daemons
from clusterbench.engines.hadoop.configuration import REPLICAS_MAX, Configuration
from clusterbench.engines.hadoop.daemons import (
    DATANODE,
    JOBHISTORY,
    NAMENODE,
    NODEMANAGER,
    RESOURCEMANAGER,
    Daemon,
    Kind,
)
from clusterbench.hosts.fleet import DROP_PAGE_CACHE, Fleet
from clusterbench.spec.platform import Platform

UP_S = 300
"""What the daemons may take to find each other; a NameNode with many blocks reads for minutes."""
HEARD_S = 20
"""A DataNode tells of itself every second."""
SAFE_MODE_S = 60
"""A NameNode leaves it by itself soon after the DataNodes have come; later than this a person must look."""
PAGES = "webapps/{hdfs,datanode,secondary,cluster,node,jobhistory}"

PLACES = """\
mkdir -p {work}/{name}; cd {work}/{name}; pwd -P
cd ..; if [ -d {home} ]; then cd {home}; pwd; else echo "no folder {home} in $PWD"; fi
"""

CHECK = """\
for program in java curl; do
  command -v $program >/dev/null || {{ echo "no $program on PATH: install a JRE (8, 11 or 17) and curl" >&2; exit 1; }}
done
cd {directory}; mkdir -p logs {dirs} pages/{pages}
"""

STOP_OTHERS = """\
cd {work}
for each in hadoop.*/*.pid; do
  [ -e "$each" ] || continue
  pid=$(cat "$each")
  tr '\\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q -- '-Dclusterbench.daemon=' || continue
  kill "$pid" && echo "$pid" || true
done | while read -r pid; do
  for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  ! kill -0 "$pid" 2>/dev/null || kill -KILL "$pid"
done
rm -f hadoop.*/*.pid
"""

READ_BACK = """\
curl -sS --fail --max-time 30 'http://{address}:{port}/conf?format=xml' | grep -F 'site.xml</source>'
"""
"""One property a line, of those that come from files."""


class HadoopCluster(Deployment):
    """One HDFS with one YARN, reached over SSH alone: their web servers are asked by curl on their own hosts."""

    title = "Hadoop"

    def __init__(
        self,
        platform: Platform,
        fleet: Fleet,
        database: Connection | None = None,  # noqa: ARG002  as every engine has it
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(platform, fleet, facts)

    @classmethod
    def unavailable_on(cls, platform: Platform, facts: Mapping[str, Any]) -> dict[str, str]:  # noqa: ARG003  as the protocol
        hosts = (platform.hosts[name] for name in platform.hosts_with("worker"))
        machines = len({host.machine or host.ssh for host in hosts})
        if not machines:
            return {"workers": "the platform's file names no host with the role 'worker'"}
        return {
            f"replicas_{count}": f"{count} replicas cannot be kept apart: the workers are on {machines} machines"
            for count in range(machines + 1, REPLICAS_MAX + 1)
        }

    @cached_property
    def configuration(self) -> Configuration:
        """With the folders as the hosts see them. Raises EngineError where Hadoop is not on a host."""
        places = self.facts_of_set_up.get("places") or self._ask_places()
        addresses = self.facts_of_set_up.get("addresses") or self._ask_addresses()
        return Configuration(
            self.platform,
            addresses,
            {host: place[0] for host, place in places.items()},
            {host: place[1] for host, place in places.items()},
        )

    def _ask_addresses(self) -> dict[str, str]:
        """Host -> IP address, by which the NameNode knows it; names are looked up there."""
        known = {host: self.fleet.addresses[host].host for host in self._hosts}
        names = {host: name for host, name in known.items() if not _is_address(name)}
        if names:
            (namenode, *_) = self.platform.hosts_with("namenode")
            look = "\n".join(
                f"echo {quote(host)} $(getent ahostsv4 {quote(name)} | head -n 1)" for host, name in names.items()
            )
            said = self.on_each({namenode: look}, "getent must be there")[namenode]
            found = {words[0]: words[1] for line in said.splitlines() if len(words := line.split()) > 1}
            if lost := [f"{host} ({name})" for host, name in names.items() if host not in found]:
                raise EngineError(
                    f"{self.where}: host {namenode!r}, of the NameNode, does not know {', '.join(lost[:5])}; add the "
                    "names to its /etc/hosts, or write addresses into the connections"
                )
            known |= found
        return known

    def _ask_places(self) -> dict[str, list[str]]:
        """Host -> the deployment's folder, Hadoop's folder."""
        hadoop = self.platform.hadoop
        home = hadoop.home if hadoop else "hadoop"
        scripts = {
            host: PLACES.format(work=quote(self.fleet.work_dir(host)), name=self._name, home=quote(home))
            for host in self._hosts
        }
        found = {host: said.splitlines() for host, said in self.on_each(scripts, "its login must own it").items()}
        if absent := [f"host {host!r}: {place[1]}" for host, place in found.items() if not place[1].startswith("/")]:
            raise EngineError(
                f"{self.where}: Hadoop is not where its file says:\n  " + "\n  ".join(absent) + "\n"
                "Unpack a distribution there, or mend 'hadoop.home' in the platform's file"
            )
        return found

    @property
    def _name(self) -> str:
        return f"hadoop.{self.platform.platform}"

    @cached_property
    def _hosts(self) -> list[str]:
        return self.platform.hosts_with("client", "namenode", "resourcemanager", "worker")

    # Set-up and its end.

    def set_up(self) -> None:
        """Configuration to every host, daemons started with it, and all of them known to their masters."""
        self._stop_all()
        configuration = self.configuration
        self._put({h: (f"{configuration.directories[h]}/conf", configuration.files(h)) for h in self._hosts})
        scripts = {
            host: CHECK.format(
                directory=quote(configuration.directories[host]),
                dirs=" ".join(map(quote, configuration.data_dirs(host))) if host in configuration.workers else "",
                pages=PAGES,
            )
            for host in self._hosts
        }
        self.on_each(scripts, "Java and the data folders must be there")
        self.on_each({configuration.namenode: daemons.format_namenode(configuration)}, "its folder must be writable")
        self.start()

    def tear_down(self) -> None:
        """Stop every daemon; what is in HDFS stays."""
        self._stop_all()

    def _stop_all(self) -> None:
        """Whatever platform they belong to: those that share hosts share a lease, and it is ours."""
        scripts = {host: STOP_OTHERS.format(work=quote(self.fleet.work_dir(host))) for host in self._hosts}
        self.on_each(scripts, "the login must be the one that started them")

    def start(self) -> None:
        """Start what does not run of a deployment that was set up, and wait until all have found each other."""
        found = self._started_at_s()
        missing = [daemon for daemon in self.daemons if (daemon.host, daemon.kind.name) not in found]
        self._start(missing)
        self._wait_until_up(missing)

    def _start(self, missing: Sequence[Daemon]) -> None:
        self._on_daemons(daemons.start, missing, "its log says why")

    @cached_property
    def daemons(self) -> list[Daemon]:
        return daemons.daemons(self.configuration)

    def _wait_until_up(self, started: Sequence[Daemon]) -> None:
        deadline = time.monotonic() + UP_S
        while missing := self._missing(started):
            if dead := [row["name"] for row in self.state() if not row["alive"]]:
                raise EngineError(f"{self.where}: {', '.join(dead)} did not stay up:\n{self.log_excerpt(dead)}")
            if time.monotonic() > deadline:
                said = "\n".join(missing[:10])
                raise EngineError(f"{self.where}: not up after {UP_S} s:\n{said}\n{self.log_excerpt(missing)}")
            time.sleep(1)

    def _silent(self, started: Sequence[Daemon]) -> list[Daemon]:
        """Those that do not answer; their masters may still count on one that they were before."""
        addresses = self.configuration.addresses
        scripts = {}
        for host, here in daemons.by_host(started).items():
            urls = (f"http://{addresses[host]}:{daemon.kind.http_port}/conf?name=fs.defaultFS" for daemon in here)
            scripts[host] = "".join(f"curl -sf -o /dev/null -m 5 {quote(url)} && echo 1 || echo 0\n" for url in urls)
        said = self.on_each(scripts, "curl must be there")
        return [
            daemon
            for host, here in daemons.by_host(started).items()
            for daemon, answered in zip(here, said[host].split(), strict=True)
            if answered == "0"
        ]

    def _missing(self, started: Sequence[Daemon]) -> list[str]:
        """What is not as it must be before a job may run, one line each."""
        try:
            problems = [f"{daemon.name}: {why}" for daemon, why in self._unknown().items()]
            problems += [f"{daemon.name}: its web server does not answer yet" for daemon in self._silent(started)]
            self._get(JOBHISTORY, "/ws/v1/history/info")
            if self._in_safe_mode():
                problems.append("the NameNode is in safe mode")
        except EngineError as error:
            return [str(error)]
        return problems

    # Asking.

    def facts(self) -> dict[str, Any]:
        configuration = self.configuration
        info = self._get(RESOURCEMANAGER, "/ws/v1/cluster/info")["clusterInfo"]
        self.facts_of_set_up = {
            "engine": "hadoop",
            "version": f"Hadoop {info['hadoopVersion']}",
            "workers": len(configuration.workers),
            "machines": len({configuration.machine_of(host) for host in configuration.workers}),
            "node_groups": "yes" if configuration.has_node_groups else "no",
            "slots_per_worker": configuration.slots,
            "cluster_slots": configuration.cluster_slots,
            "hdfs_capacity_bytes": self._name_system()["CapacityTotal"],
            "addresses": dict(configuration.addresses),
            "places": {h: [configuration.directories[h], configuration.homes[h]] for h in self._hosts},
        }
        return self.facts_of_set_up

    def declared_settings(self) -> Mapping[str, str]:
        """All of the rendered templates that is the same on every host."""
        return self.configuration.declared()

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        """As the daemons tell them that read a setting's file; one that differs is told with its daemon.

        What only tasks read is told by the JobHistory server, whose defaults are those of a job.
        """
        wanted, declared = set(names), self.declared_settings()
        found: dict[str, str] = {}
        for daemon, told in self._read_back().items():
            for name in wanted & set(told):
                differs = told[name] != declared.get(name)
                if name not in found or (differs and found[name] == declared.get(name)):
                    found[name] = f"{told[name]} ({daemon})" if differs else told[name]
        return found

    def _read_back(self) -> dict[str, dict[str, str]]:
        """Daemon -> setting -> value, of what it has from files."""
        scripts: dict[str, str] = {}
        for daemon in self.daemons:
            address = self.configuration.addresses[daemon.host]
            ask = f"echo '# {daemon.name}'\n" + READ_BACK.format(address=address, port=daemon.kind.http_port)
            scripts[daemon.host] = scripts.get(daemon.host, "") + ask
        said = self.on_each(scripts, "its web server must answer")
        found: dict[str, dict[str, str]] = {}
        for lines in (output.splitlines() for output in said.values()):
            name = ""
            for line in lines:
                if line.startswith("# "):
                    name = line[2:]
                elif line.startswith("<property>"):
                    entry = ET.fromstring(line)  # noqa: S314  a daemon's own
                    found.setdefault(name, {})[entry.findtext("name") or ""] = entry.findtext("value") or ""
        return found

    def free_bytes(self) -> int:
        """On HDFS, replicas counted each. DataNodes that share a file system share its space."""
        scripts = {}
        for host in self.configuration.workers:
            named = " ".join(map(quote, self.configuration.data_dirs(host)))
            free = f"df --block-size=1 --output=source,avail {named} | tail -n +2"
            scripts[host] = f"cat /proc/sys/kernel/random/boot_id; {free}"
        space: dict[tuple[str, str], int] = {}
        for said in self.on_each(scripts, "df must be there").values():
            boot, *lines = said.splitlines()
            space |= {(boot, source): int(free) for source, free in (line.split() for line in lines)}
        return min(sum(space.values()), int(self._name_system()["CapacityRemaining"]))

    def state(self) -> list[dict[str, Any]]:
        started = self._started_at_s()
        try:
            unknown = self._unknown()
        except EngineError:  # the masters are away, which their rows show
            unknown = {}
        return [
            daemons.row(daemon, known=daemon not in unknown, started_at_s=started.get((daemon.host, daemon.kind.name)))
            for daemon in self.daemons
        ]

    def _started_at_s(self) -> dict[tuple[str, str], int]:
        remedy = "the login must be the one that started them"
        return daemons.since(self._on_daemons(daemons.look, self.daemons, remedy))

    def _unknown(self) -> dict[Daemon, str]:
        """Those on workers that their masters do not count on, and why, in the masters' words."""
        live = {node["xferaddr"].rsplit(":", 1)[0]: node for node in self._data_nodes().values()}
        listed = (self._get(RESOURCEMANAGER, "/ws/v1/cluster/nodes").get("nodes") or {}).get("node") or []
        nodes = {node["nodeHostName"]: node for node in listed}  # the newest of a host comes last
        found = {}
        for daemon in self.daemons:
            address = self.configuration.addresses[daemon.host]
            if daemon.kind == DATANODE and (why := _not_serving(live.get(address))):
                found[daemon] = why
            # A NodeManager goes by its address, or, where a name server has one for that, by its name.
            node = nodes.get(address) or nodes.get(self.fleet.addresses[daemon.host].host) or {}
            if daemon.kind == NODEMANAGER and node.get("state") != "RUNNING":
                state, health = node.get("state", "never registered"), str(node.get("healthReport") or "")
                found[daemon] = f"the ResourceManager says {state}{f', {health}' if health else ''}"
        return found

    def _data_nodes(self) -> dict[str, dict[str, Any]]:
        info = self._bean("NameNodeInfo")
        return dict(json.loads(info["LiveNodes"]))

    def _name_system(self) -> dict[str, Any]:
        """Of the bean that tells what is; ``FSNamesystem`` tells what was up to ten seconds ago."""
        return self._bean("FSNamesystemState")

    def _bean(self, name: str) -> dict[str, Any]:
        beans = self._get(NAMENODE, f"/jmx?qry=Hadoop:service=NameNode,name={name}")["beans"]
        if not beans:
            raise EngineError(f"{self.where}: the NameNode is still starting; it does not tell {name} yet")
        return dict(beans[0])

    def _in_safe_mode(self) -> bool:
        return bool(self._name_system()["FSState"] == "safeMode")

    def recover(self) -> list[str]:
        """Start what is down, end our own applications that were left, and see that HDFS can be written."""
        down = [row["name"] for row in self.state() if not row["alive"]]
        if down:
            self.start()
        done = [f"{name} was down and was started" for name in down]
        self._wait_while(self._in_safe_mode, SAFE_MODE_S, self._say_safe_mode)
        return done + self._end_left_applications()

    def _say_safe_mode(self) -> str:
        why = str(self._bean("NameNodeInfo").get("Safemode") or "it does not say why").strip()
        return (
            f"the NameNode is in safe mode and nothing can be written: {why}\n  bring the missing DataNodes back or "
            "free space in its folder; if it was put there by hand, end it with: hdfs dfsadmin -safemode leave"
        )

    def _end_left_applications(self) -> list[str]:
        """Of an earlier trial whose driver was lost. Somebody else's job is not ours to end, and is told."""
        running = self.applications("states=NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING")
        ours = [app for app in running if "clusterbench" in str(app.get("applicationTags"))]
        others = [f"{app['id']} ({app['name']}, user {app['user']})" for app in running if app not in ours]
        if others:
            raise EngineError(
                f"{self.where}: nothing else may run beside a trial, and {', '.join(others[:5])} does; wait for it, "
                "or end it with: yarn application -kill ID"
            )
        self.kill([app["id"] for app in ours])
        return [f"{app['id']} ({app['name']}) was left running and was killed" for app in ours]

    def _wait_while(self, condition: Callable[[], bool], seconds: float, say: Callable[[], str]) -> None:
        deadline = time.monotonic() + seconds
        while condition():
            if time.monotonic() > deadline:
                raise EngineError(f"{self.where}: {say()}")
            time.sleep(1)

    def log_excerpt(self, faults: Sequence[str]) -> str:
        named = [d for d in self.daemons if d.kind == NAMENODE or any(fault.startswith(d.name) for fault in faults)]
        return "\n".join(self._on_daemons(daemons.excerpt, named, "its logs must be readable").values())

    def counters(self) -> dict[str, int]:
        return {}

    # For workloads.

    def environment(self) -> str:
        """Lines of bash for the client host, after which ``run CLASS …`` runs a class of Hadoop's."""
        return daemons.environment(self.configuration, self.platform.client)

    def url(self, kind: Kind) -> str:
        """Of a master's web server."""
        return f"http://{self.configuration.addresses[self._host_of(kind)]}:{kind.http_port}"

    def _host_of(self, kind: Kind) -> str:
        return self.configuration.namenode if kind == NAMENODE else self.configuration.resourcemanager

    def applications(self, query: str) -> list[dict[str, Any]]:
        """YARN's own account of the applications that ``query`` selects (its REST API's words)."""
        found = self._get(RESOURCEMANAGER, f"/ws/v1/cluster/apps?{query}")
        return list((found.get("apps") or {}).get("app") or [])

    def kill(self, applications: Sequence[str]) -> None:
        """End applications, and wait until YARN says so."""
        if applications:
            ids = " ".join(map(quote, applications))
            cli = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"
            script = f"{self.environment()}run {cli} application -kill {ids} >/dev/null\n"
            self.on_each({self.platform.client: script}, "yarn application -kill does the same by hand")

    def clear(self, tag: str) -> None:
        """End what still runs of the applications with this tag, and remove what those that were ended have staged."""
        found = self.applications(f"applicationTags={tag}")
        self.kill([app["id"] for app in found if app["state"] not in ("FINISHED", "FAILED", "KILLED")])
        for app in found:
            if app["state"] != "FINISHED":
                job = str(app["id"]).replace("application_", "job_")
                self.delete(f"/clusterbench/staging/{app['user']}/.staging/{job}")

    def exists(self, path: str) -> bool:
        return "FileStatus" in self._web_hdfs(path, "GETFILESTATUS")

    def delete(self, path: str) -> None:
        """With all below it; nothing where it is not there."""
        self._web_hdfs(path, "DELETE&recursive=true", method="DELETE")

    def settle(self) -> None:
        """Until what was deleted is gone from the disks and no replica is being made, so no chore runs beside.

        A block that cannot have more replicas, as there are no more hosts, is no work.
        """
        names = ("PendingDeletionBlocks", "PendingReconstructionBlocks", "ScheduledReplicationBlocks")
        self._wait_while(
            lambda: any(self._name_system()[name] for name in names),
            UP_S,
            lambda: "HDFS does not come to rest: " + ", ".join(f"{name} {self._name_system()[name]}" for name in names),
        )

    def empty_page_cache(self) -> str:
        """On every worker, where the platform's file allows it. Returns what was done, in words."""
        if self.platform.page_cache != "drop_caches":
            return f"left as it was: page_cache is {self.platform.page_cache}"
        self.on_each(
            dict.fromkeys(self.configuration.workers, DROP_PAGE_CACHE), "dropping the page cache needs root there"
        )
        return f"dropped on {len(self.configuration.workers)} workers"

    def _web_hdfs(self, path: str, operation: str, method: str = "GET") -> dict[str, Any]:
        login = self.fleet.addresses[self.platform.client].login
        url = f"{self.url(NAMENODE)}/webhdfs/v1{url_quote(path)}?op={operation}&user.name={url_quote(login)}"
        host = self.configuration.namenode
        said = self.on_each(
            {host: f"curl -sS --max-time {self.command_s} -X {method} {quote(url)}"}, "its NameNode must answer"
        )[host]
        answer = dict(json.loads(said or "{}"))
        error = answer.get("RemoteException")
        if error and error.get("exception") != "FileNotFoundException":
            raise EngineError(f"{self.where}, HDFS {path}: {error.get('message', error)}")
        return answer

    def _get(self, kind: Kind, path: str) -> dict[str, Any]:
        """What a master's web server answers, asked on its own host."""
        host, url = self._host_of(kind), f"{self.url(kind)}{path}"
        said = self.on_each(
            {host: f"curl -sS --fail --max-time 30 {quote(url)}"}, f"the {kind.name} must be up; its log says more"
        )[host]
        try:
            return dict(json.loads(said))
        except ValueError:
            raise EngineError(f"{self.where}: {kind.name} on {host!r} answered {url} with: {said[:200]!r}") from None

    # Hosts.

    def _on_daemons(
        self, script: Callable[[Configuration, str, Sequence[Daemon]], str], chosen: Sequence[Daemon], remedy: str
    ) -> dict[str, str]:
        """Run what ``script`` makes for the chosen daemons of a host, on all their hosts at once."""
        here = daemons.by_host(chosen)
        return self.on_each({host: script(self.configuration, host, found) for host, found in here.items()}, remedy)

    def _put(self, places: Mapping[str, tuple[str, Mapping[str, str]]]) -> None:
        try:
            self.fleet.put_each(places)
        except HostError as error:
            raise EngineError(f"{self.where}: {error}") from None


def _not_serving(node: Mapping[str, Any] | None) -> str:
    """Why the NameNode cannot count on a DataNode, from what it tells of it; nothing where it can.

    One that died is told as live for half a minute, one that has come has no space yet.
    """
    if node is None:
        return "the NameNode does not know it"
    if int(node["lastContact"]) > HEARD_S:
        return f"the NameNode has not heard of it for {node['lastContact']} s"
    return "" if int(node["capacity"]) else "the NameNode does not know its space yet"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


ENGINE = HadoopCluster
