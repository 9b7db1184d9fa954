"""A Hadoop that somebody else runs: asked through its daemons' own interfaces, and given jobs from a client host.

Nothing of it is set, started, stopped or emptied. What trials make is below one folder of HDFS, and is removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from clusterbench.base.errors import EngineAwayError, EngineError
from clusterbench.engines import state
from clusterbench.engines.capacity import Capacity
from clusterbench.engines.hadoop import hdfs, health, settings, yarn
from clusterbench.engines.hadoop.client import FILE_SYSTEM, WorkerPlace
from clusterbench.engines.hadoop.configuration import REPLICAS_MAX
from clusterbench.engines.hadoop.daemons import JOBHISTORY, NAMENODE, RESOURCEMANAGER
from clusterbench.engines.hadoop.managed import facts, others
from clusterbench.engines.hadoop.managed.client import ManagedClient
from clusterbench.spec.placed import slots
from clusterbench.spec.platform import Platform

NOT_OURS = "it is a managed Hadoop, of which clusterbench starts and stops nothing"
JOB_SETTINGS = {"mapreduce.am.max-attempts": "1", "mapreduce.jobhistory.jhist.format": "json"}
"""Never a second attempt of a whole job, whose time would hold both; and histories that awk can read. All else of a job
is as the cluster's owner has it, unless an experiment's ``settings`` say otherwise."""
CHORES_S = 60
"""Other people's files make chores, too, so that one does not wait for all of them for long."""


class ManagedHadoop(ManagedClient):
    """By its client host alone. Hosts of workers may be named, for their telemetry and their page cache."""

    is_left_running = True

    @classmethod
    def unavailable_on(cls, platform: Platform, facts: Mapping[str, Any]) -> dict[str, str]:  # noqa: ARG003  as all
        own_hosts = "disks and network of a managed Hadoop's hosts are not ours to load"
        found = {"daemons_restarted": NOT_OURS, "machines_rebooted": NOT_OURS, "fio": own_hosts, "iperf3": own_hosts}
        machines = facts.get("workers")
        if machines == 0:
            found["workers"] = "no worker of this Hadoop runs"
        count = REPLICAS_MAX if machines is None else int(machines)
        return found | {
            f"replicas_{more}": f"{more} replicas cannot be kept apart: there are {count} DataNodes"
            for more in range(count + 1, REPLICAS_MAX + 1)
        }

    @classmethod
    def capacity_on(cls, platform: Platform, facts: Mapping[str, Any]) -> Capacity:  # noqa: ARG003  as the protocol
        return Capacity(data_roles=("worker",))

    # What workloads need to know.

    @property
    def slots(self) -> int:
        return slots(self.hadoop) * len(self.places)

    @cached_property
    def places(self) -> Mapping[str, WorkerPlace]:
        """Of the workers that run, by address and by name: blocks are reported by the one, tasks by the other."""
        known = self.facts_of_set_up.get("places") or facts.places(health.data_nodes(self))
        return {address: WorkerPlace(*place) for address, place in known.items()}

    @property
    def base_path(self) -> str:
        return f"{self.managed.path}/clusterbench"

    @property
    def staging_dir(self) -> str:
        return self.configuration.get("yarn.app.mapreduce.am.staging-dir", "/tmp/hadoop-yarn/staging")  # noqa: S108

    @property
    def history_dir(self) -> str:
        done = self.configuration.get("mapreduce.jobhistory.done-dir")
        return done.removesuffix("/done") if done else super().history_dir

    @property
    def job_settings(self) -> Mapping[str, str]:
        return JOB_SETTINGS | ({"mapreduce.job.queuename": self.managed.queue} if self.managed.queue else {})

    # Set-up and its end.

    def set_up(self) -> None:
        """See that masters answer and the queue takes jobs, and make the folder of HDFS for what trials make."""
        for kind in (NAMENODE, RESOURCEMANAGER, JOBHISTORY):
            self.get(kind, "/ws/v1/history/info" if kind == JOBHISTORY else "/jmx?qry=java.lang:type=Runtime")
        if problem := facts.queue(self).get("problem"):
            raise EngineError(f"{self.where}: {problem}; correct 'hadoop.managed.queue' in the platform's file")
        self.run([FILE_SYSTEM, "-mkdir", "-p", self.base_path], f"the login must be allowed to make {self.base_path}")

    def tear_down(self) -> None:
        """The folder of HDFS is removed where nothing is in it, and the ticket."""
        try:
            self.client_folder  # noqa: B018  asked for what it may raise
        except EngineAwayError:
            raise
        except EngineError:
            return  # without the client's Hadoop nothing was made
        for folder in (f"{self.base_path}/{self.platform.platform}", self.base_path):
            remove = f"run {FILE_SYSTEM} -rmdir --ignore-fail-on-non-empty {folder} 2>/dev/null || true\n"
            self.on_client(self.environment() + remove, "you may remove it")
        if self.tickets:
            self.tickets.drop()

    def start(self) -> None:
        """Nothing of it is started."""

    def restart(self) -> None:
        raise EngineError(f"{self.where}: {NOT_OURS}")

    def configure(self, settings: Mapping[str, str]) -> None:
        if settings:
            raise EngineError(f"{self.where}: {NOT_OURS}")

    def reboot(self) -> dict[str, float]:
        raise EngineError(f"{self.where}: {NOT_OURS}")

    # Facts and settings.

    def facts(self) -> dict[str, Any]:
        self.facts_of_set_up = facts.facts(self)
        return self.facts_of_set_up

    def declared_settings(self) -> Mapping[str, str]:
        return self.platform.settings

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        """Of masters and of all workers, as far as these let the client host ask."""
        wanted = list(names)
        return settings.in_force(self, facts.daemons(self), self.platform.settings, wanted) if wanted else {}

    def free_bytes(self) -> int:
        """Of HDFS, and of the folder's own quota where it has one; replicas counted each."""
        free = int(self.name_system()["CapacityRemaining"])
        if not hdfs.exists(self, self.managed.path):
            return free
        quota = hdfs.summary(self, self.managed.path)
        left = int(quota.get("spaceQuota", -1)) - int(quota.get("spaceConsumed", 0))
        return min(free, max(0, left)) if int(quota.get("spaceQuota", -1)) > 0 else free

    # Other people.

    @cached_property
    def _user(self) -> str:
        """As Hadoop calls whoever submits: the owner of our own folder. Principals are made names of by its rules."""
        if owner := hdfs.status(self, self.base_path).get("owner"):
            return str(owner)
        login = self.fleet.addresses[self.platform.client].login
        return self.tickets.principal.partition("@")[0].partition("/")[0] if self.tickets else login

    def _is_ours(self, app: Mapping[str, Any]) -> bool:
        return yarn.is_of_a_trial(app) and app.get("user") == self._user

    def others(self) -> Sequence[str]:
        _, theirs = yarn.unfinished(self, self._is_ours)
        return yarn.named(theirs)

    def counters(self) -> dict[str, int]:
        return others.totals(self, self._is_ours)

    def disturbed(self, before: Mapping[str, float], after: Mapping[str, float]) -> str:
        return others.disturbed(before, after, self.managed.others.memory_share_max)

    # State.

    def state(self) -> list[dict[str, Any]]:
        """The masters, and the workers as these know them."""
        info = self.get(RESOURCEMANAGER, "/ws/v1/cluster/info")["clusterInfo"]
        since = {
            NAMENODE.name: self.bean("NameNodeInfo").get("NNStartedTimeInMillis"),
            RESOURCEMANAGER.name: info.get("startedOn"),
        }
        rows = [
            state.row(name, alive=True, started_at_s=int(int(ms) / 1000) if ms else None) for name, ms in since.items()
        ]
        for name, node in health.data_nodes(self).items():
            why = health.not_serving(node)
            rows.append(state.row(f"DataNode on {name}", alive=not why, started_at_s=None, status="d" if why else "u"))
        for node in health.node_managers(self):
            up = node.get("state") == "RUNNING"
            name = f"NodeManager on {node['id']}"
            rows.append(state.row(name, alive=up, started_at_s=None, status="u" if up else "d"))
        return rows

    def recover(self) -> list[str]:
        """Our own applications that were left are ended; others' are waited for, where they are more than noise."""
        health.wait_for_writes(self)
        ours, theirs = yarn.unfinished(self, self._is_ours)
        done = yarn.kill_left(self, ours)
        others.wait_for_others(self, theirs, self.managed.others.memory_share_max)
        return done

    def log_excerpt(self, faults: Sequence[str]) -> str:  # noqa: ARG002  as every engine has it
        return "the logs of a managed Hadoop are its owner's"

    # For workloads.

    def settle(self) -> list[str]:
        """A minute at most: other people's files make chores, too."""
        try:
            self.wait_while(lambda: bool(hdfs.chores(self)), CHORES_S, lambda: "HDFS does not come to rest")
        except EngineError:
            return [f"HDFS was not at rest: {hdfs.chores(self)}"]
        return []
