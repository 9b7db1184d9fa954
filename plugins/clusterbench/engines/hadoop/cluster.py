"""One Hadoop as it is reached: scripts over SSH, and its web servers, asked by curl on their own hosts.

The other modules of this folder are functions that take a ``Cluster``; ``engine.HadoopCluster`` is a ``Cluster`` that
offers them as the methods of an engine.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from shlex import quote
from typing import Any

from clusterbench.base.connections import Connection
from clusterbench.base.errors import EngineAwayError, EngineError, HostError, engine_error
from clusterbench.engines.deployment import Deployment
from clusterbench.engines.hadoop import daemons, places
from clusterbench.engines.hadoop.configuration import Configuration
from clusterbench.engines.hadoop.daemons import NAMENODE, Daemon, Kind
from clusterbench.engines.state import by_host
from clusterbench.hosts.data_network import bracketed
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.platform import Platform


class Cluster(Deployment):
    """One HDFS with one YARN."""

    def __init__(
        self,
        platform: Platform,
        fleet: Fleet,
        database: Connection | None = None,  # noqa: ARG002  as every engine has it
        facts: Mapping[str, Any] | None = None,
        driver: Connection | None = None,  # noqa: ARG002  as every engine has it
    ) -> None:
        super().__init__(platform, fleet, facts)

    @cached_property
    def configuration(self) -> Configuration:
        """With the folders as the hosts see them. Raises EngineError where Hadoop is not on a host."""
        known = self.facts_of_set_up
        found = known.get("places") or places.folders(self, self.hosts)
        return Configuration(
            self.platform,
            known.get("addresses") or places.addresses(self, self.hosts),
            {host: place[0] for host, place in found.items()},
            {host: place[1] for host, place in found.items()},
        )

    @cached_property
    def hosts(self) -> list[str]:
        return self.platform.hosts_with("client", "namenode", "resourcemanager", "worker")

    @cached_property
    def daemons(self) -> list[Daemon]:
        return daemons.daemons(self.configuration)

    # Scripts on hosts.

    def environment(self) -> str:
        """Lines of bash for the client host, after which ``run CLASS …`` runs a class of Hadoop's."""
        return daemons.environment(self.configuration, self.platform.client)

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

    # Web servers.

    def url(self, kind: Kind) -> str:
        """Of a master's web server."""
        return f"http://{bracketed(self.configuration.addresses[self.host_of(kind)])}:{kind.http_port}"

    def host_of(self, kind: Kind) -> str:
        """Of a master."""
        return self.configuration.namenode if kind == NAMENODE else self.configuration.resourcemanager

    def get(self, kind: Kind, path: str) -> dict[str, Any]:
        """What a master's web server answers, asked on its own host."""
        host, url = self.host_of(kind), f"{self.url(kind)}{path}"
        try:
            said = self.on_each(
                {host: f"curl -sS --fail --max-time 30 {quote(url)}"}, f"the {kind.name} must be up; its log says more"
            )[host]
        except EngineAwayError:
            raise  # the host itself
        except EngineError as error:
            raise EngineAwayError(str(error)) from None
        try:
            return dict(json.loads(said))
        except ValueError:
            raise EngineError(f"{self.where}: {kind.name} on {host!r} answered {url} with: {said[:200]!r}") from None

    def bean(self, name: str) -> dict[str, Any]:
        """What the NameNode tells of itself under this name."""
        beans = self.get(NAMENODE, f"/jmx?qry=Hadoop:service=NameNode,name={name}")["beans"]
        if not beans:
            raise EngineAwayError(f"{self.where}: the NameNode is still starting; it does not tell {name} yet")
        return dict(beans[0])

    def name_system(self) -> dict[str, Any]:
        """Of the bean that tells what is; ``FSNamesystem`` tells what was up to ten seconds ago."""
        return self.bean("FSNamesystemState")

    def wait_while(self, condition: Callable[[], bool], seconds: float, say: Callable[[], str]) -> None:
        """Raises EngineError with what ``say`` tells when the time is up."""
        deadline = time.monotonic() + seconds
        while condition():
            if time.monotonic() > deadline:
                raise EngineError(f"{self.where}: {say()}")
            time.sleep(1)
