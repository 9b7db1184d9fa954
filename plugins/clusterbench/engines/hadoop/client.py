"""A Hadoop as its client host reaches it: the client's own programs, and the daemons' web servers, asked by curl.

Whoever runs it. ``cluster.Cluster`` is one that clusterbench configures and starts, ``managed.engine.ManagedHadoop``
one that somebody else runs. The other modules of this folder are functions that take one of them.
"""

from __future__ import annotations

import json
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from clusterbench.base.connections import Connection
from clusterbench.base.errors import EngineAwayError, EngineError
from clusterbench.base.scripts import script
from clusterbench.engines.deployment import Deployment
from clusterbench.engines.hadoop.configuration import declared_hadoop
from clusterbench.engines.hadoop.daemons import NAMENODE, Kind
from clusterbench.engines.hadoop.tickets import Tickets
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.platform import Hadoop, Platform

ASK_S = 30
FILE_SYSTEM = "org.apache.hadoop.fs.FsShell"


@dataclass(frozen=True)
class WorkerPlace:
    """A worker by its address: what it is called, and the physical host that it is on."""

    name: str
    machine: str


class HadoopClient(Deployment):
    """One HDFS with one YARN, and the host from which jobs are submitted."""

    title = "Hadoop"

    def __init__(
        self,
        platform: Platform,
        fleet: Fleet,
        database: Connection | None = None,  # noqa: ARG002  as every engine has it
        facts: Mapping[str, Any] | None = None,
        driver: Connection | None = None,  # noqa: ARG002  as every engine has it
    ) -> None:
        super().__init__(platform, fleet, facts)
        self._tickets: Tickets | None = None

    @property
    def hadoop(self) -> Hadoop:
        return declared_hadoop(self.platform)

    # What differs by who runs it.

    @abstractmethod
    def client_script(self) -> str:
        """Lines of bash for the client host, after which ``run CLASS …`` runs a class of Hadoop's."""

    @abstractmethod
    def url(self, kind: Kind) -> str:
        """Of a master's web server."""

    @property
    @abstractmethod
    def client_folder(self) -> str:
        """On the client host, below its work folder: the platform's own."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """Map tasks, and as many reduce tasks, that run at once on all workers."""

    @property
    @abstractmethod
    def places(self) -> Mapping[str, WorkerPlace]:
        """Of each worker, by the address that Hadoop knows it by."""

    @property
    @abstractmethod
    def base_path(self) -> str:
        """In HDFS, the folder below which trials have theirs."""

    @property
    @abstractmethod
    def staging_dir(self) -> str:
        """In HDFS, below which each user's jobs have what they were submitted with."""

    @property
    def history_dir(self) -> str:
        """In HDFS, the folder with the histories of jobs that have ended in its folder ``done``."""
        return f"{self.staging_dir}/history"

    @property
    def job_settings(self) -> Mapping[str, str]:
        """Of each job that is submitted."""
        return {}

    # The client host.

    @property
    def tickets(self) -> Tickets | None:
        """Where Kerberos says who somebody is."""
        kerberos = self.hadoop.kerberos
        if kerberos and self._tickets is None:
            self._tickets = Tickets(self, kerberos, self.client_folder)
        return self._tickets

    @property
    def curl_options(self) -> list[str]:
        """Who asks, and which certificates are believed."""
        options = ["--negotiate", "-u", ":"] if self.hadoop.kerberos else []
        return options + (["--cacert", self.hadoop.web_ca] if self.hadoop.web_ca else [])

    def asking(self) -> str:
        """Lines of bash for the client host, after which ``ask URL …`` prints what a daemon's web server answers."""
        return script(
            "hadoop/ask",
            curl_options=self.curl_options,
            ticket_cache=self.tickets.cache if self.tickets else "",
            krb5_config=self.hadoop.kerberos.krb5_conf if self.hadoop.kerberos else "",
        )

    def environment(self) -> str:
        """Lines of bash for the client host, after which there are ``run CLASS …`` and ``ask URL …``."""
        return self.asking() + self.client_script()

    def on_client(self, body: str, remedy: str, *, timeout_s: int | None = None) -> str:
        """What it prints, with a valid ticket where one is needed."""
        if self.tickets:
            self.tickets.have()
        return self.on_each({self.platform.client: body}, remedy, timeout_s=timeout_s)[self.platform.client]

    def run(self, words: Sequence[str], remedy: str) -> str:
        """What a class of Hadoop's prints, run on the client host. ``words``: the class, and its arguments."""
        return self.on_client(f"{self.environment()}run {' '.join(map(quote, words))}\n", remedy)

    # Web servers.

    def get(self, kind: Kind, path: str) -> dict[str, Any]:
        """What a master's web server answers, asked on the client host."""
        url = f"{self.url(kind)}{path}"
        try:
            said = self.on_client(
                f"{self.asking()}ask --max-time {ASK_S} {quote(url)}\n",
                f"the {kind.name} must be up, and accept requests from the client host; see its log",
            )
        except EngineAwayError:
            raise  # the host itself
        except EngineError as error:
            raise EngineAwayError(str(error)) from None
        try:
            return dict(json.loads(said))
        except ValueError:
            raise EngineError(f"{self.where}: the {kind.name} answered {url} with: {said[:200]!r}") from None

    def get_each(self, urls: Iterable[str], wanted: Sequence[str]) -> dict[str, list[str]]:
        """URL -> the lines of its answer with any of ``wanted``; of those that answered. Many are asked at once.

        Of answers that are alike one comes over the network, as hundreds of workers have one configuration.
        """
        named = list(dict.fromkeys(urls))
        body = self.asking() + script("hadoop/ask_each", urls=named, wanted=list(wanted), ask_s=ASK_S)
        found: dict[str, list[str]] = {}
        answered: list[str] = []
        for line in self.on_client(body, "curl must be there", timeout_s=ASK_S * 10).splitlines():
            kind, _, text = line.partition(" ")
            if kind == "#":
                answered = text.split()
                found |= {url: [] for url in answered}
            else:
                for url in answered:
                    found[url].append(text)
        return found

    def bean(self, name: str) -> dict[str, Any]:
        """What the NameNode reports about itself under this name."""
        beans = self.get(NAMENODE, f"/jmx?qry=Hadoop:service=NameNode,name={name}")["beans"]
        if not beans:
            raise EngineAwayError(f"{self.where}: the NameNode is still starting; {name} is not known yet")
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
