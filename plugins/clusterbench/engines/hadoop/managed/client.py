"""The client host of a Hadoop that somebody else runs: its configuration, and the masters that are active."""

from __future__ import annotations

from functools import cached_property
from shlex import split
from typing import Any

from clusterbench.base.errors import EngineAwayError, EngineError
from clusterbench.base.scripts import script
from clusterbench.engines.hadoop.common import HadoopEngine
from clusterbench.engines.hadoop.configuration import classpath
from clusterbench.engines.hadoop.daemons import NAMENODE, Kind
from clusterbench.engines.hadoop.managed.site_files import SITES, ClientConfiguration, client_configuration
from clusterbench.spec.platform import ManagedHadoop as Declared


class ManagedClient(HadoopEngine):
    """All is asked and given from there."""

    @property
    def managed(self) -> Declared:
        declared = self.hadoop.managed
        assert declared is not None
        return declared

    # The client host.

    @cached_property
    def _client(self) -> tuple[str, str, ClientConfiguration]:
        """The platform's folder on it, Hadoop's, and what its configuration says."""
        host, platform = self.platform.client, self.platform
        body = script(
            "hadoop/managed/client",
            work=self.fleet.work_dir(host),
            name=f"managed.{platform.platform}",
            home=self.hadoop.home,
            configuration=self.managed.configuration,
            sites=SITES,
        )
        said = self.on_each({host: body}, "name both in the platform's file")[host]
        places, *sites = said.split("\n@@ ")
        folder, home = places.split()[:2]
        texts = {name: text for name, _, text in (site.partition("\n") for site in sites)}
        try:
            return folder, home, client_configuration(texts)
        except EngineError as error:
            raise EngineError(f"{self.where}: host {host!r}, {self.managed.configuration}: {error}") from None

    @property
    def client_folder(self) -> str:
        return self._client[0]

    @property
    def configuration(self) -> ClientConfiguration:
        return self._client[2]

    def client_script(self) -> str:
        home, hadoop = self._client[1], self.hadoop
        return script(
            "hadoop/managed/environment",
            hadoop_home=home,
            hadoop_conf=self.managed.configuration,
            hadoop_jars=classpath(home).replace(",", ":"),
            heap_mb=hadoop.daemon_heap_mb,
            java_options=split(hadoop.java_options),
        )

    @property
    def _active_masters(self) -> dict[str, str]:
        """Kind -> web server, as far as one was looked for while the fleet is open."""
        known: dict[str, str] = self.fleet.kept.setdefault(f"masters of {self.platform.platform}", {})
        return known

    def url(self, kind: Kind) -> str:
        """Of the active one. It is looked for again where it was lost: with high availability another takes over."""
        known = self._active_masters
        if kind.name not in known:
            known[kind.name] = self._active(kind)
        return known[kind.name]

    def get(self, kind: Kind, path: str) -> dict[str, Any]:
        try:
            return super().get(kind, path)
        except EngineAwayError:
            known = self._active_masters
            if len(self._masters(kind)) == 1 or (found := self._active(kind)) == known.get(kind.name):
                raise
            known[kind.name] = found
            return super().get(kind, path)

    def _masters(self, kind: Kind) -> list[str]:
        try:
            return self.configuration.masters(kind)
        except EngineError as error:
            raise EngineError(f"{self.where}: host {self.platform.client!r}: {error}") from None

    def _active(self, kind: Kind) -> str:
        """The first that says it is; the first of all, where none does, so that asking it tells what is wrong."""
        found = self._masters(kind)
        if len(found) == 1:
            return found[0]
        path, says = (
            ("/jmx?qry=Hadoop:service=NameNode,name=NameNodeStatus", '"active"')
            if kind == NAMENODE
            else ("/ws/v1/cluster/info", '"ACTIVE"')
        )
        answers = self.get_each([f"{url}{path}" for url in found], [says])
        return next((url for url in found if answers.get(f"{url}{path}")), found[0])
