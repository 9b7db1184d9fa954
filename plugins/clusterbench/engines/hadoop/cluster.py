"""A Hadoop that clusterbench configures and starts: scripts over SSH on all of its hosts.

``engine.HadoopCluster`` is a ``Cluster`` that offers the other modules' functions as the methods of an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from secrets import token_hex

from clusterbench.base.errors import ClusterbenchError, EngineError, HostError, engine_error
from clusterbench.engines.hadoop import daemons, places
from clusterbench.engines.hadoop.client import HadoopClient, WorkerPlace
from clusterbench.engines.hadoop.configuration import Configuration, Secrets
from clusterbench.engines.hadoop.daemons import NAMENODE, Daemon, Kind
from clusterbench.engines.state import by_host


class Cluster(HadoopClient):
    """One HDFS with one YARN."""

    base_path = "/clusterbench"

    @cached_property
    def configuration(self) -> Configuration:
        """With the folders as the hosts see them. Raises EngineError where Hadoop is not on a host."""
        known = self.facts_of_set_up
        found = known.get("places") or places.folders(self, self.hosts)
        addresses = known.get("addresses") or places.addresses(self, self.hosts)
        services = self.hadoop.kerberos.services if self.hadoop.kerberos else None
        return Configuration(
            self.platform,
            addresses,
            {host: place[0] for host, place in found.items()},
            {host: place[1] for host, place in found.items()},
            self.fleet.addresses[self.platform.client].login,
            known.get("principals") or (places.principals(self, addresses, services.keytab) if services else {}),
            self.connections(self.hadoop.kerberos.connection).login if self.hadoop.kerberos else "",
        )

    def secrets(self) -> Secrets | None:
        """For the daemons' configuration. Raises EngineError where the connection has no password of the stores."""
        kerberos = self.hadoop.kerberos
        if not kerberos:
            return None
        try:
            password = self.connections(kerberos.connection).need("store_password", "that of keystore and truststore")
        except ClusterbenchError as error:
            raise EngineError(f"{self.where}: {error}") from None
        return Secrets(password, token_hex(32))

    @cached_property
    def hosts(self) -> list[str]:
        return self.platform.hosts_with("client", "namenode", "resourcemanager", "worker")

    @cached_property
    def daemons(self) -> list[Daemon]:
        return daemons.daemons(self.configuration)

    # What a client needs to know.

    @property
    def client_folder(self) -> str:
        return self.configuration.directories[self.platform.client]

    @property
    def slots(self) -> int:
        return self.configuration.cluster_slots

    @property
    def places(self) -> Mapping[str, WorkerPlace]:
        of = self.configuration
        return {of.addresses[host]: WorkerPlace(host, of.machine_of(host)) for host in of.workers}

    @property
    def staging_dir(self) -> str:
        return self.configuration.setting("yarn.app.mapreduce.am.staging-dir")

    def client_script(self) -> str:
        return daemons.environment(self.configuration, self.platform.client)

    def url(self, kind: Kind) -> str:
        return daemons.url(self.configuration, Daemon(kind, self.host_of(kind)))

    def host_of(self, kind: Kind) -> str:
        """Of a master."""
        return self.configuration.namenode if kind == NAMENODE else self.configuration.resourcemanager

    # Scripts on hosts.

    def on_daemons(
        self, script: Callable[[Configuration, str, Sequence[Daemon]], str], chosen: Sequence[Daemon], remedy: str
    ) -> dict[str, str]:
        """Run what ``script`` makes for the chosen daemons of a host, on all their hosts at once."""
        here = by_host(chosen)
        return self.on_each({host: script(self.configuration, host, found) for host, found in here.items()}, remedy)

    def put(self, files: Mapping[str, tuple[str, Mapping[str, str]]]) -> None:
        """Host -> folder and its files, by name."""
        try:
            self.fleet.put_each(files)
        except HostError as error:
            raise engine_error(error, f"{self.where}: {error}") from None
