"""What an engine must be able to do. One folder per engine, found by its name; engine differences live nowhere else.

A module ``engines/x/engine.py`` holds ``ENGINE``, a class with the attributes and methods of ``Engine`` (Hadoop's also
``MANAGED``, for one that somebody else configures, starts and stops), and
``engines/x/declaration.py`` holds ``DECLARATION``, by which a platform's file is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

from clusterbench.base.errors import EngineError
from clusterbench.base.plans import Prepared
from clusterbench.base.postgres_session import KEEPALIVES
from clusterbench.base.statement_work import Heavy, Totals
from clusterbench.spec.by_name import engine_module

if TYPE_CHECKING:
    from clusterbench.base.connections import Connection, Connections
    from clusterbench.base.datasets import Storage
    from clusterbench.base.feature import Feature
    from clusterbench.base.sql import Dialect
    from clusterbench.engines.capacity import Capacity
    from clusterbench.engines.flush import Flushed
    from clusterbench.hosts.fleet import Fleet
    from clusterbench.spec.platform import Platform


DRIVER = "clusterbench_driver"
"""What its sessions are called on the server."""


DURABILITY_SETTINGS = ("fsync", "synchronous_commit", "full_page_writes")
"""Of a database, those that may trade durability away."""


@dataclass(frozen=True)
class Endpoint:
    """Where a driver connects, and as whom: the database itself, or the pooler before it."""

    host: str
    port: int
    login: str
    database: str
    password: str = field(default="", repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Others of libpq, such as ``sslmode``. Files that they name are in the driver's folder."""
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Certificates and keys, by name."""

    @property
    def options(self) -> list[str]:
        """Options of psql and pgbench that name the server. The database's name is not among them."""
        return [f"--host={self.host}", f"--port={self.port}", f"--username={self.login}"]

    @property
    def psql_options(self) -> list[str]:
        """Like ``options``, with psql's option for the database."""
        return [*self.options, f"--dbname={self.dbname}"]

    @property
    def dbname(self) -> str:
        """The database as psql and pgbench take it: a connection string, in which a name may look like one itself."""
        from psycopg.conninfo import make_conninfo  # noqa: PLC0415  engines are imported where DAGs are parsed

        return make_conninfo(dbname=self.database, application_name=DRIVER, **{**KEEPALIVES, **self.parameters})

    @property
    def secrets(self) -> dict[str, str]:
        """Files of the driver's folder, by name: its certificates, and the password in PostgreSQL's own format."""
        parts = (self.host, str(self.port), self.database, self.login, self.password)
        line = ":".join(part.replace("\\", "\\\\").replace(":", "\\:") for part in parts) + "\n"
        return {"pgpass": line, **self.files}


@dataclass(frozen=True)
class Residency:
    """Bytes of some relations, and how many of them were in the database's cache and in the file system's."""

    total_bytes: int
    database_bytes: int
    file_system_bytes: int


@dataclass(frozen=True)
class BulkLoad:
    """A bulk load, run on the host that has the files, in a directory where ``files/`` has them."""

    streams: Sequence[Sequence[str]]
    """Statements of the sessions that are measured (``psql_streams.Streams``)."""
    before: str = ""
    """Bash on that host, before the clock starts: file servers. With them, statements may be sent from any host."""
    after: str = ""
    """Bash on that host, at the end, also after a failure."""
    create: str = ""
    """SQL, in preparation."""
    drop: str = ""
    """SQL that undoes ``create``; it must not mind that nothing is there."""


@dataclass(frozen=True)
class Watch:
    """A question about the drivers' sessions, and how psql asks it, from the host that has ``secrets`` as files."""

    query: str
    where: Sequence[str]
    secrets: Mapping[str, str] = field(repr=False)
    every_s: float = 0.1


class Engine(Protocol):
    """One running deployment of an engine. Methods raise EngineError or HostError with a message for people."""

    title: str
    is_left_running: bool
    """Whether ``tear_down`` leaves its servers running: true for a database, false for a Hadoop of our own."""

    platform: Platform
    fleet: Fleet
    connections: Connections
    """What a workload's file names beside the platform's own, such as object storage with rows to load."""

    def __init__(
        self,
        platform: Platform,
        fleet: Fleet,
        database: Connection | None,
        facts: Mapping[str, Any] | None = None,
        driver: Connection | None = None,
    ) -> None:
        """``facts`` are those of set-up: a stopped server cannot be asked where its data and programs are.

        ``driver`` is the connection whose login drivers use, where that is another one.
        """

    @property
    def unavailable(self) -> Mapping[str, str]:
        """What cannot be done here, and the reason: ``{"orca": "PostgreSQL has no ORCA optimizer"}``."""

    @classmethod
    def unavailable_on(cls, platform: Platform, facts: Mapping[str, Any]) -> dict[str, str]:
        """Like ``unavailable``, from the platform's file and its facts. The plan calls it without facts."""

    @classmethod
    def capacity_on(cls, platform: Platform, facts: Mapping[str, Any]) -> Capacity:
        """What the deployment has and takes, from its file and its facts, for a plan."""

    def set_up(self) -> None:
        """Bring the deployment into the state that its file declares. It can be repeated safely."""

    def tear_down(self) -> None:
        """Undo what ``set_up`` and trials did. It must work for a deployment that was never set up."""

    def facts(self) -> dict[str, Any]:
        """Version, place of data and programs, settings that differ from their defaults."""

    def driver_facts(self) -> dict[str, Any]:
        """Facts of the drivers' login and of their sessions (``driver_session``)."""

    def features(self, facts: Mapping[str, Any]) -> Sequence[Feature]:
        """Which optional features this deployment has; ``doctor`` prints them."""

    def declared_settings(self) -> Mapping[str, str]:
        """Every setting that the platform claims to have."""

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        """The values of these settings that are in force, read from the servers. Unknown names are left out."""

    def configure(self, settings: Mapping[str, str]) -> None:
        """Set the servers to the settings of the platform's file, except for these. Restarts them if necessary."""

    def free_bytes(self) -> int | None:
        """Bytes that the datasets may take. None if no host can be asked."""

    def start(self) -> None: ...

    def state(self) -> list[dict[str, Any]]:
        """Every instance, as its master sees it and as its host does; see ``state.row`` and ``state.faults``."""

    def recover(self) -> list[str]:
        """Start what is down or does not answer, and wait until it answers.

        Returns what was done, in words. Raises EngineError if a person has to do it.
        """

    def log_excerpt(self, faults: Sequence[str]) -> str:
        """The last lines of the logs of the masters and of the instances that ``faults`` name, where hosts answer."""

    def mark_logs(self, name: str) -> None:
        """Note where the logs end now, below ``name`` in every host's work folder, for ``logged_since``."""

    def logged_since(self, name: str) -> dict[str, int]:
        """Counts of log messages since ``mark_logs(name)``, as measurements, if the engine has such messages."""

    @property
    def exposed(self) -> Sequence[str]:
        """What everybody who reaches the hosts' network can do during a measurement, in words."""

    def others(self) -> Sequence[str]:
        """Who else has sessions on the server, and how many: "ada (2 on sales)"."""

    def disturbed(self, before: Mapping[str, float], after: Mapping[str, float]) -> str:
        """Why a trial does not count: what other users did between these ``counters``. Empty: no more than noise."""

    def end_driver(self) -> None:
        """End the sessions of drivers, because a server continues to work for a client that is gone."""

    def flush_caches(self) -> Sequence[Flushed]:
        """Empty every cache, as far as 'may' allows, and check it. One entry a cache, with the reason if it failed."""

    def counters(self) -> dict[str, int]:
        """Running totals of work that a client does not see: see ``database_work``, and transactions on segments."""


class Database(Engine, Protocol):
    """An engine that keeps tables and speaks SQL. A table's name may be ``schema.table``."""

    dialect: Dialect

    slice_rows_max: int
    """Rows that one statement generates at most, so that a retry repeats little."""

    database: Connection

    def stored_bytes(self, table: str) -> int:
        """Bytes of a table, or of a whole schema, on disk; 0 if it does not exist."""

    def parallelism(self) -> int:
        """How many connections generate data at once."""

    def query(self, query: str, *, settings: Mapping[str, str] = ...) -> list[dict[str, Any]]:
        """The rows, in a session of set-up's login with these settings."""

    def execute(self, command: str, *, settings: Mapping[str, str] = ...) -> None:
        """Like ``query``, for statements that return no rows. Several statements are one transaction."""

    def load_slices(
        self, table: str, seed: int, slices: Sequence[tuple[int, int]], insert: Callable[[int, int], str]
    ) -> Iterator[int]:
        """Run ``insert(first, last)`` for each slice not loaded yet, several at once; yields rows as slices finish."""

    def forget_slices(self, table: str) -> None:
        """Forget which slices are loaded, before a table is dropped and made again."""

    def create_table(self, table: str, columns: str, storage: Storage, comment: str = "") -> None:
        """Create an empty table, with layout, distribution and partitions as far as the engine has them.

        It is created completely or not at all. Its schema is created if it does not exist.
        """

    def leaves(self, relations: Sequence[str]) -> list[str]:
        """The tables that hold the rows: the partitions of a partitioned table, otherwise the table itself."""

    def indexes(self, relation: str) -> list[str]:
        """Names of the indexes of a table and of its partitions."""

    def series(self, first: int, last: int, step: int = 1) -> str:
        """The FROM item with the whole numbers from ``first`` to ``last``, on the instances that hold the rows."""

    def bulk_load(self, table: str, host: str, files: Sequence[str], *, name: str = "ext") -> BulkLoad:
        """How the engine's own bulk loader loads ``files`` of ``host`` into the table, with one file server for each.

        ``name`` distinguishes two loads into the same table at the same time.
        """

    segment_of_row: str
    """The SQL expression for the segment that a row is on; a constant if there is only one instance."""

    def segments(self) -> int:
        """How many instances hold rows."""

    def skew(self, table: str) -> float:
        """By how much the rows of the fullest segment exceed an even share."""

    def settle(self, *tables: str, columns: Sequence[str] = ()) -> None:
        """After loading: visibility, everything written to disk, statistics (of ``columns``, where any are named).

        So no chore runs beside a trial.
        """

    def set_session(self, settings: Mapping[str, str]) -> None:
        """Settings of every session that a driver opens from now on, direct or pooled."""

    def reset_session(self) -> None: ...

    def explain(self, queries: Mapping[str, str | Prepared], *, before: str = "") -> dict[str, str]:
        """Name -> the plan of each query as text, or ``plans.NO_PLAN`` with the server's message.

        ``before`` runs first, in the same session.
        """

    def watch(self) -> Watch:
        """How to look at the drivers' sessions from the driver's host."""

    def segment_totals(self) -> dict[str, dict[str, int]]:
        """Segment number -> its own ``counters``. Empty if there is only one instance."""

    def statement_totals(self) -> dict[str, Totals]:
        """Running totals of each statement of the drivers, by a number. Empty if the server does not count them."""

    def statement_texts(self, numbers: Sequence[str]) -> dict[str, str]:
        """Number -> statement, of those that the server still knows."""

    def heaviest_statements(self, statements_max: int) -> list[Heavy]:
        """Statements of everybody but clusterbench, most time first. Raises EngineError if the server counts none."""

    def stop(self) -> None: ...

    def warm(self, relations: Sequence[str]) -> None:
        """Read the relations into the database's cache, as far as they fit."""

    def empty_file_system_cache(self, relations: Sequence[str]) -> None: ...

    def residency(self, relations: Sequence[str]) -> Residency | None:
        """How much of the relations is in memory, over all instances. None if no host can be asked."""

    def endpoint(self, *, pooled: bool, settings: Mapping[str, str] = ...) -> Endpoint:
        """Where drivers connect. ``settings`` are for these sessions alone; a pooler drops them."""

    def start_pooler(self, mode: str, size: int) -> None: ...

    def stop_pooler(self) -> None: ...


def as_database(engine: Engine) -> Database:
    """The engine as a database. Raises EngineError if it is not one, and so has no tables."""
    if not hasattr(engine, "query"):
        raise EngineError(
            f"platform {engine.platform.platform!r}: {engine.title} is not a database, so it has no tables"
        )
    return cast(Database, engine)


def engine_class(platform: Platform) -> type[Engine]:
    """That of the platform's engine, which ``Catalog`` has checked to exist, by whether somebody else runs it."""
    module = engine_module(platform.engine)
    return cast(type[Engine], module.MANAGED if platform.is_managed else module.ENGINE)
