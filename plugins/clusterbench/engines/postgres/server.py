"""One deployment of a PostgreSQL as it is reached: statements by its own protocol, scripts over SSH.

The other modules of this folder are functions that take a ``Server``; ``engine.Postgres`` is a ``Server`` that offers
them as the methods of an engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import Any

import psycopg

from clusterbench.base import scripts
from clusterbench.base.connections import Connection
from clusterbench.base.errors import EngineError, HostError, engine_error
from clusterbench.base.postgres_session import PORT
from clusterbench.base.scripts import Value
from clusterbench.engines.deployment import Deployment
from clusterbench.engines.instances import COORDINATOR, Instance
from clusterbench.engines.postgres import connection
from clusterbench.engines.postgres.unavailable import NO_HOSTS
from clusterbench.engines.state import by_host
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.platform import Platform

SERVER_TIMEOUT_S = 3600
"""A fast stop writes everything that is dirty first, and a start may have to repeat all that was not written."""
ASK_S = 30
"""What a question about the cluster's state may take: a server that is frozen would not answer for ever."""


NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class Server(Deployment):
    """One PostgreSQL server; a subclass may have many instances behind a coordinator."""

    command_s = SERVER_TIMEOUT_S

    content_of_row = str(COORDINATOR)
    """SQL for the content of the instance that a row of ``everywhere`` is from."""

    def __init__(
        self,
        platform: Platform,
        fleet: Fleet,
        database: Connection | None,
        facts: Mapping[str, Any] | None = None,
        driver: Connection | None = None,
    ) -> None:
        if database is None:
            raise EngineError(f"platform {platform.platform!r}: names no 'database' connection; add it to its file")
        super().__init__(platform, fleet, facts)
        self.database = database
        self.driver = driver or database
        """Of whose login drivers' sessions are."""
        self.session_settings: dict[str, str] = {}
        """Those that drivers' sessions begin with, as far as this process has set them."""

    def facts(self) -> dict[str, Any]:
        """As ``Engine.facts``; they are kept in ``facts_of_set_up``."""
        raise NotImplementedError

    def state(self) -> list[dict[str, Any]]:
        """As ``Engine.state``."""
        raise NotImplementedError

    def start(self) -> None:
        """As ``Engine.start``."""
        raise NotImplementedError

    def stop(self) -> None:
        """As ``Database.stop``."""
        raise NotImplementedError

    def fact(self, name: str) -> str:
        if name not in self.facts_of_set_up:
            self.facts()
        return str(self.facts_of_set_up[name])

    @property
    def port(self) -> int:
        return self.database.port or PORT

    @property
    def dbname(self) -> str:
        return self.database.schema or self.database.login

    @property
    def host(self) -> str:
        """Where the coordinator is, or the only server."""
        coordinators = self.platform.hosts_with("coordinator")
        if not coordinators:
            raise EngineError(f"{self.where}: {NO_HOSTS}")
        return coordinators[0]

    def instances(self) -> list[Instance]:
        """The server's processes; here one."""
        host = self.host if self.platform.database_hosts else None
        directory = self.fact("data_directory") if host else ""
        return [Instance(COORDINATOR, host, self.database.host, self.port, directory)]

    def known_instances(self) -> list[Instance]:
        """As the server tells them now, or as it told at set-up if it cannot be asked."""
        return self.instances()

    # Statements.

    def everywhere(self, relation: str) -> str:
        """``relation`` as all instances that hold rows have it, for FROM."""
        return relation

    def connect(self, options: str = "") -> AbstractContextManager[psycopg.Connection[dict[str, Any]]]:
        """A session in autocommit mode; errors come out as EngineError with the remedy.

        Where the client host is behind a bastion the server is, too: it is reached from there, as drivers reach it.
        """
        place = f"{self.where}, database {self.database.host}:{self.port}"
        local_port = None
        if self.fleet.addresses[self.platform.client].is_behind_another:
            try:
                local_port = self.fleet.forwarded(self.platform.client, self.database.host, self.port)
            except HostError as error:
                raise engine_error(error, f"{place}: {error}") from None
        return connection.connect(self.database, place, local_port=local_port, options=options)

    def query(
        self, query: str, limit_s: float | None = None, *, settings: Mapping[str, str] = NO_SETTINGS
    ) -> list[dict[str, Any]]:
        """The rows, in a session with these settings; EngineError where they do not come within ``limit_s``."""
        with self.connect(connection.as_options(settings)) as session, connection.shut_after(limit_s, session):
            return session.execute(query.encode()).fetchall()

    def look_up(self, question: str) -> list[dict[str, Any]]:
        """As ``query``, of the catalogue and the caches, where a trial forbids its sessions to scan tables.

        A forbidden scan costs so much that the server compiles its plan first, which takes longer than the answer. It
        is allowed within a transaction, not by ``settings``: a pooler may refuse those, or keep them for a driver.
        """
        with self.connect() as session, session.transaction():
            session.execute("SET LOCAL enable_seqscan = on")
            return session.execute(question.encode()).fetchall()

    def ask(self, question: str, limit_s: float = ASK_S) -> list[dict[str, Any]]:
        """As ``query``, of the cluster's state: EngineError where the answer does not come in time."""
        return self.query(question, limit_s)

    def answers(self, question: str = "SELECT 1 AS up") -> bool:
        try:
            return bool(self.ask(question))
        except EngineError:
            return False

    def execute(self, command: str, *, settings: Mapping[str, str] = NO_SETTINGS) -> None:
        with self.connect(connection.as_options(settings)) as session:
            session.execute(command.encode())

    # Scripts on hosts.

    def on_host(self, script: str, remedy: str) -> str:
        """On the host of the coordinator."""
        return self.on_each({self.host: script}, remedy)[self.host]

    def on_hosts(self, script: str, remedy: str) -> dict[str, str]:
        return self.on_each(dict.fromkeys(self.platform.database_hosts, script), remedy)

    def on_instances(self, name: str, chosen: Sequence[Instance], remedy: str, **values: Value) -> dict[str, str]:
        """Run ``include/<name>.sh`` for the chosen instances, all hosts at once and on each all instances at once."""
        return self.on_each(self.instance_scripts(name, chosen, **values), remedy)

    def instance_scripts(self, name: str, chosen: Sequence[Instance], **values: Value) -> dict[str, str]:
        placed = by_host(chosen)
        if not placed:
            raise EngineError(f"{self.where}: {NO_HOSTS}")
        program = self.fact("program_directory")
        return {host: instance_script(name, program, here, **values) for host, here in placed.items()}


def instance_script(name: str, program: str, here: Sequence[Instance], **values: Value) -> str:
    """``include/<name>.sh`` for the instances of one host, with what it calls; ``program``: folder of the programs."""
    directories = [instance.data_directory for instance in here]
    return (
        scripts.script("hosts/as_root")
        + scripts.script("postgres/installation", program=program)
        + scripts.script("postgres/instances", data_directories=directories)
        + scripts.script(name, **values)
    )
