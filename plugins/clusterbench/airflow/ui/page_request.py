"""One request: who asks, what they may read, and what it is answered from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from clusterbench.airflow.ui import going_on
from clusterbench.airflow.ui.going_on import AirflowNow, GoingOn
from clusterbench.base.archive import CONNECTION_ID as ARCHIVE_ID
from clusterbench.base.archive import Store
from clusterbench.base.connections import Connection, Connections
from clusterbench.base.errors import ClusterbenchError, HistoryError
from clusterbench.history import database
from clusterbench.history.database import Database

STATEMENT_LIMIT_S = 10
"""A page that takes longer is no page; a statement that nobody waits for any more must not go on."""


class NotShown(Exception):  # noqa: N818  (an answer, not a fault)
    """A page in its place: what is not there, or not for this user, or cannot be had now."""

    def __init__(self, status: int, title: str, says: str) -> None:
        self.status, self.title, self.says = status, title, says
        super().__init__(says)


@dataclass(frozen=True)
class Airflow:
    """What the pages need of Airflow. ``user`` is a dependency of FastAPI that refuses whoever is not logged in."""

    user: Callable[..., Any]
    may_read: Callable[[Any, Collection[str]], set[str]]
    """Of these DAGs, which are those of the experiments."""
    login: str
    """Path of the page that leads to the login."""
    connections: Connections
    look: Callable[[Collection[str], str | None], AirflowNow]
    """Runs of these DAGs that are going on; or the one with that id, in whatever state."""


class Stores:
    """Object storage by its connection: a client takes a second to make, and may be shared."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[str, Store]] = {}
        """Connection id -> what it was like, and the client."""
        self._lock = Lock()

    def of(self, connection: Connection) -> Store:
        key = f"{connection!r} {connection.password} {sorted(connection.extra.items())}"
        with self._lock:
            if self._made.get(connection.id, ("", None))[0] != key:
                self._made[connection.id] = key, Store.of(connection)
            return self._made[connection.id][1]


@dataclass(frozen=True)
class PageRequest:
    airflow: Airflow
    user: Any
    root: str
    """Path of these pages, without a slash at its end."""
    airflow_root: str
    """Path of Airflow itself, likewise."""
    stores: Stores = field(repr=False)

    def readable(self, experiments: Iterable[str]) -> set[str]:
        asked = set(experiments)
        return self.airflow.may_read(self.user, asked) if asked else set()

    def must_read(self, *experiments: str) -> None:
        if refused := set(experiments) - self.readable(experiments):
            raise NotShown(
                403,
                "Not for you",
                f"Your login may not read the DAG {', '.join(sorted(refused))} in Airflow, and so not its results "
                "either. Who administers Airflow can give you that right.",
            )

    @contextmanager
    def history(self) -> Iterator[Database]:
        """The history database, to read from only."""
        try:
            connection = self.airflow.connections(database.CONNECTION_ID)
        except ClusterbenchError as error:
            raise NotShown(503, "The history database is not connected", str(error)) from None
        try:
            with database.opened(connection) as db:
                db.execute(f"SET statement_timeout = '{STATEMENT_LIMIT_S}s'")
                db.execute("SET default_transaction_read_only = on")
                yield db
        except HistoryError as error:
            raise NotShown(503, "The history database does not answer", str(error)) from None

    def going_on(self, dag_id: str | None = None, dag_run_id: str | None = None) -> GoingOn:
        """Of what the visitor may read: all runs that are going on, or that one run, in whatever state."""
        readable = self.readable([dag_id] if dag_id else going_on.names())
        return going_on.gather(self.airflow.look(readable, dag_run_id), self.readable)

    def store(self) -> Store:
        return self.stores.of(self.airflow.connections(ARCHIVE_ID))
