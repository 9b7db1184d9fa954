"""Hadoop as an engine: HDFS, YARN and MapReduce as one deployment, configured, started and stopped over SSH."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import Any

from clusterbench.base.capabilities import EVERYTHING
from clusterbench.base.errors import EngineAwayError, EngineError
from clusterbench.base.scripts import script
from clusterbench.engines.capacity import Capacity
from clusterbench.engines.hadoop import capacity, daemons, hdfs, health, programs, settings, yarn
from clusterbench.engines.hadoop.cluster import Cluster
from clusterbench.engines.hadoop.common import HadoopEngine
from clusterbench.engines.hadoop.configuration import REPLICAS_MAX, SECURITY
from clusterbench.engines.hadoop.daemons import RESOURCEMANAGER
from clusterbench.engines.hadoop.managed.engine import ManagedHadoop
from clusterbench.hosts import reboot
from clusterbench.spec.leave import why_not
from clusterbench.spec.platform import Platform

GIVEN = "given.json"
"""Beside a host's configuration: the settings in it that a trial has given, and which of them no daemon knew before. A
host that lacks it, or has others, is configured again, also where a worker died half-way."""


class HadoopCluster(Cluster, HadoopEngine):
    """One HDFS with one YARN, reached over SSH alone."""

    is_left_running = False

    @classmethod
    def unavailable_on(cls, platform: Platform, facts: Mapping[str, Any]) -> dict[str, str]:
        hosts = (platform.hosts[name] for name in platform.hosts_with("worker"))
        machines = len({host.machine or host.ssh for host in hosts})
        if why := why_not(platform, "restart"):  # it runs only for as long as it is measured
            return {EVERYTHING: why}
        if not machines:
            return {"workers": "the platform's file names no host with the role 'worker'"}
        rebooted = {"machines_rebooted": why} if (why := _why_not_rebooted(platform)) else {}
        return (
            programs.unavailable(facts)
            | rebooted
            | {
                f"replicas_{count}": f"{count} replicas cannot be kept apart: the workers are on {machines} machines"
                for count in range(machines + 1, REPLICAS_MAX + 1)
            }
        )

    @classmethod
    def capacity_on(cls, platform: Platform, facts: Mapping[str, Any]) -> Capacity:  # noqa: ARG003  as the protocol
        return capacity.capacity(platform)

    # Set-up and its end.

    def set_up(self) -> None:
        """Configuration to every host, daemons started with it, and all of them known to their masters."""
        self._need_leave_to_restart()
        self._stop_all()
        configuration = self.configuration
        self._write({})
        scripts = {
            host: script(
                "hadoop/prepare_host",
                directory=configuration.directories[host],
                data_directories=configuration.data_dirs(host) if host in configuration.workers else [],
            )
            for host in self.hosts
        }
        said = self.on_each(scripts, "Java and the data folders must be there")
        empty = [host for host in configuration.workers if "empty" in said[host].split()]
        is_lost = self.platform.machines is not None and len(empty) == len(configuration.workers)
        formatting = daemons.format_namenode(configuration, is_lost=is_lost)
        self.on_each({configuration.namenode: formatting}, "its folder must be writable")
        self.start()

    def tear_down(self) -> None:
        """Stop every daemon; what is in HDFS stays."""
        self._stop_all()
        if self.tickets:
            self.tickets.drop()

    def _stop_all(self) -> None:
        """Whatever platform they belong to: those that share hosts share a lease, and it is ours."""
        scripts = {
            host: script("hadoop/stop_all", work=work) for host, work in self.fleet.work_dirs(self.hosts).items()
        }
        self.on_each(scripts, "the login must be the one that started them")

    def start(self) -> None:
        """Start what does not run of a deployment that was set up, and wait until all have found each other."""
        found = health.started_at_s(self)
        missing = [daemon for daemon in self.daemons if (daemon.host, daemon.kind.name) not in found]
        self.on_daemons(daemons.start, missing, "the reason is in its log")
        health.wait_until_up(self, missing)

    def restart(self) -> None:
        """All daemons stopped and started, and HDFS ready to be written; what is in it stays."""
        self._need_leave_to_restart()
        self._stop_all()
        self.start()
        health.wait_for_writes(self)

    def configure(self, settings: Mapping[str, str]) -> None:
        """All daemons stopped, configured and started, where any host has others than these."""
        look = {host: f"cat {quote(self._folder(host))}/{GIVEN} 2>/dev/null || true" for host in self.hosts}
        said = self.on_each(look, "Hadoop must have been set up there")
        given = [_given(each) for each in said.values()]
        changed = self.platform.model_copy(update={"settings": {**self.platform.settings, **settings}})
        configuration = replace(self.configuration, platform=changed)
        if all(each.get("settings") == settings for each in given):
            self.configuration = configuration
            self.parameters_unknown = given[0]["unknown"]
            return
        self._need_leave_to_restart()
        # While the daemons still run without it: afterwards they tell whatever they were given.
        self.parameters_unknown = sorted(settings.keys() - self.settings(settings).keys())
        self.configuration = configuration
        self._stop_all()
        self._write(settings)
        self.start()
        health.wait_for_writes(self)

    def _need_leave_to_restart(self) -> None:
        if why := why_not(self.platform, "restart"):
            raise EngineError(f"{self.where}: {why}")

    def _write(self, given: Mapping[str, str]) -> None:
        """The configuration to every host, and as its last file what a trial has given beside the platform's own."""
        of, secrets = self.configuration, self.secrets()
        last = {GIVEN: json.dumps({"settings": given, "unknown": self.parameters_unknown}) + "\n"}
        self.put({host: (self._folder(host), of.files(host, secrets) | last) for host in self.hosts})

    def _folder(self, host: str) -> str:
        return f"{self.configuration.directories[host]}/conf"

    def reboot(self) -> dict[str, float]:
        """Daemons stopped, their machines booted again, daemons started. Returns host -> seconds until it answered."""
        if why := _why_not_rebooted(self.platform) or why_not(self.platform, "restart"):
            raise EngineError(f"{self.where}: {why}")
        of = self.configuration
        data = {host: of.data_dirs(host) for host in of.workers}
        folders = {each.host: [of.directories[each.host], *data.get(each.host, ())] for each in self.daemons}
        took = reboot.reboot(self.fleet, folders, [self.platform.client], self._stop_all)
        self.start()
        health.wait_for_writes(self)
        return took

    # Facts and settings.

    @property
    def exposed(self) -> Sequence[str]:
        """Without Kerberos (docs/hadoop.md)."""
        if self.hadoop.kerberos:
            return ()
        login = self.fleet.addresses[self.platform.client].login
        return (f"whoever reaches HDFS or YARN while it is measured can run programs as {login}, and read its files",)

    def facts(self) -> dict[str, Any]:
        configuration = self.configuration
        info = self.get(RESOURCEMANAGER, "/ws/v1/cluster/info")["clusterInfo"]
        self.facts_of_set_up = {
            "engine": "hadoop",
            "version": f"Hadoop {info['hadoopVersion']}",
            "workers": len(configuration.workers),
            "machines": len({configuration.machine_of(host) for host in configuration.workers}),
            "node_groups": "yes" if configuration.has_node_groups else "no",
            "slots_per_worker": configuration.slots,
            "cluster_slots": configuration.cluster_slots,
            "programs_missing": programs.missing(self),
            "hdfs_capacity_bytes": self.name_system()["CapacityTotal"],
            "addresses": dict(configuration.addresses),
            "principals": dict(configuration.principals),
            "security": settings.in_force(self, self._web_servers, {}, SECURITY),
            "places": {h: [configuration.directories[h], configuration.homes[h]] for h in self.hosts},
        }
        return self.facts_of_set_up

    def declared_settings(self) -> Mapping[str, str]:
        """All of the rendered templates that is the same on every host."""
        return self.configuration.declared()

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        return settings.in_force(self, self._web_servers, self.configuration.declared(), names)

    @property
    def _web_servers(self) -> dict[str, str]:
        return {daemon.name: daemons.url(self.configuration, daemon) for daemon in self.daemons}

    def free_bytes(self) -> int:
        return hdfs.free_bytes(self)

    # State.

    def state(self) -> list[dict[str, Any]]:
        return health.state(self)

    def recover(self) -> list[str]:
        """Start what is down, end our own applications that were left, and see that HDFS can be written."""
        down = [row["name"] for row in self.state() if not row["alive"]]
        if down and (why := why_not(self.platform, "recover")):
            raise EngineAwayError(f"{self.where}: down are {', '.join(down)}; {why}")
        if down:
            self.start()
        done = [f"{name} was down and was started" for name in down]
        health.wait_for_writes(self)
        return done + yarn.end_left(self)

    def log_excerpt(self, faults: Sequence[str]) -> str:
        return health.log_excerpt(self, faults)

    # For workloads.

    def settle(self) -> list[str]:
        """Until no chore of HDFS runs beside a trial."""
        hdfs.settle(self)
        return []


def _given(text: str) -> Mapping[str, Any]:
    """Of a host's file; nothing where there is none, or only a part of one because the worker died meanwhile."""
    try:
        return dict(json.loads(text))
    except ValueError:
        return {}


def _why_not_rebooted(platform: Platform) -> str:
    """As far as the platform's file tells it."""
    if why := why_not(platform, "reboot"):
        return why
    if platform.client in platform.hosts_with("namenode", "resourcemanager", "worker"):
        return f"host {platform.client!r} is the client and runs daemons, too: with its reboot the trial would end"
    if "host_settings" in platform.may and any(platform.host_settings().values()):
        return "a reboot undoes what 'setup.hosts' has set; have the machines set that at boot, and remove it there"
    return ""


ENGINE, MANAGED = HadoopCluster, ManagedHadoop
