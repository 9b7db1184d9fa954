"""PostgreSQL: everything that is particular to it, and nothing else."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from shlex import quote
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from clusterbench.base import postgres_session
from clusterbench.base.capabilities import ALONE
from clusterbench.base.connections import Connection
from clusterbench.base.datasets import Storage
from clusterbench.base.errors import EngineError
from clusterbench.base.postgres_session import first_line
from clusterbench.base.sql import Dialect, identifier, raw, statement
from clusterbench.engines import DRIVER, BulkLoad, Endpoint, Residency, instances
from clusterbench.engines.deployment import Deployment
from clusterbench.engines.instances import COORDINATOR, Instance
from clusterbench.hosts.fleet import DROP_PAGE_CACHE, Fleet
from clusterbench.spec.platform import Platform

SERVER_TIMEOUT_S = 360
"""A fast stop writes everything that is dirty first."""

RELOAD_S = 5
SETTING_NAME = re.compile(r"^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$")

PRIVATE_SETTING = re.compile("conninfo|_command$|passw|passphrase|secret|token|credential")
NOT_ARCHIVED = "(set; not archived, it may hold a password)"

ASK_S = 30
"""What a question about the cluster's state may take: a server that is frozen would not answer for ever."""
REACHABLE_S = float(os.environ.get("CLUSTERBENCH_WAIT_FOR_HOSTS_S", "300"))
"""How long a host that does not answer is waited for before a trial: it may be starting."""
WAITED_MIN = 60
"""So long after it was waited for in vain it is not waited for again: a run's other trials shall end, too."""

LOAD_FORMAT = "FORMAT text, DELIMITER '|', NULL ''"
"""Of load files; Greenplum's external tables have the same words in another order."""

NO_HOSTS = "its file names no coordinator or segment host, so nothing can be done to the server's processes or files"


class Postgres(Deployment):
    """One PostgreSQL server, reached by its own protocol and, for its files and processes, over SSH."""

    title = "PostgreSQL"
    dialect: Dialect = "postgres"
    command_s = SERVER_TIMEOUT_S
    slice_rows_max = 1_000_000

    def __init__(
        self, platform: Platform, fleet: Fleet, database: Connection | None, facts: Mapping[str, Any] | None = None
    ) -> None:
        if database is None:
            raise EngineError(f"platform {platform.platform!r}: names no 'database' connection; add it to its file")
        super().__init__(platform, fleet, facts)
        self.database = database
        self._limit_s: float | None = None

    @classmethod
    def unavailable_on(cls, platform: Platform, facts: Mapping[str, Any]) -> dict[str, str]:  # noqa: ARG003  as the protocol
        return without_hosts(platform) | {
            "orca": "PostgreSQL has no ORCA optimizer; only Greenplum and its family have",
            "direct_dispatch": "PostgreSQL has no segments to dispatch to",
            "statement_mem": "PostgreSQL has no statement_mem; it is Greenplum's memory for one statement",
            "append_optimised": "PostgreSQL has no append-optimised tables; only Greenplum and its family have",
        }

    @property
    def port(self) -> int:
        return self.database.port or postgres_session.PORT

    @property
    def host(self) -> str:
        """Where the coordinator is, or the only server."""
        coordinators = self.platform.hosts_with("coordinator")
        if not coordinators:
            raise EngineError(f"{self._where}: {NO_HOSTS}")
        return coordinators[0]

    def instances(self) -> list[Instance]:
        """The server's processes; here one."""
        host = self.host if self.platform.database_hosts else None
        port = self.port
        directory = self._fact("data_directory") if host else ""
        return [Instance(COORDINATOR, host, self.database.host, port, directory)]

    # Asking the server.

    @contextmanager
    def connect(self) -> Iterator[psycopg.Connection[dict[str, Any]]]:
        """A session in autocommit mode; errors come out as EngineError with the remedy."""
        where = f"{self._where}, database {self.database.host}:{self.port}"
        try:
            dbname = self.database.schema or self.database.login
            with postgres_session.connect(self.database, dbname, dict_row) as connection:
                yield connection
        except psycopg.errors.DiskFull as error:
            raise EngineError(f"{where}: its disk is full: {first_line(error)}; free some space there") from None
        except psycopg.OperationalError as error:
            raise EngineError(
                f"{where}: cannot be used: {first_line(error)}; is the server up, and is connection "
                f"{self.database.id!r} right?"
            ) from None
        except psycopg.Error as error:
            raise EngineError(f"{where}: refused a statement: {first_line(error)}") from None

    def query(self, query: str) -> list[dict[str, Any]]:
        with self.connect() as connection, shut_after(self._limit_s, connection):
            return connection.execute(query.encode()).fetchall()

    def ask(self, question: str, limit_s: float = ASK_S) -> list[dict[str, Any]]:
        """As ``query``, of the cluster's state: EngineError where the answer does not come in time."""
        self._limit_s = limit_s
        try:
            return self.query(question)
        finally:
            self._limit_s = None

    def _answers(self, question: str = "SELECT 1 AS up") -> bool:
        try:
            return bool(self.ask(question))
        except EngineError:
            return False

    def execute(self, command: str) -> None:
        with self.connect() as connection:
            connection.execute(command.encode())

    def set_up(self) -> None:
        self.reset_session()
        self._configure(self.platform.settings if "engine" in self.platform.setup.apply else {})

    def tear_down(self) -> None:
        self.stop_pooler()
        self.reset_session()
        if not self.platform.setup.keep:
            self._configure({})

    # The server's own settings.

    def _configure(self, settings: Mapping[str, str]) -> None:
        """Have exactly these in our block of every instance's postgresql.conf, and in force.

        Nothing takes out what another platform's file says is to be kept; this platform's own settings replace it.
        """
        if not self.platform.database_hosts:
            return
        if wrong := [name for name in settings if not SETTING_NAME.match(name)]:
            raise EngineError(f"{self._where}: {wrong[0]!r} is no name of a setting; mend 'settings' in its file")
        block = instances.configuration(settings, keep=self.platform.setup.keep)
        body = instances.CONFIGURE.format(
            wanted=quote(block), config_file=quote(self._config_file()), replaced=quote(f"^{instances.RELEASED}")
        )
        refused = (
            "nothing was changed there: the server refuses a value of 'settings', or the login does not own the file"
        )
        said = self._on_instances(body, self._known_instances(), refused).values()
        words = {word for output in said for word in output.splitlines()}
        if "changed" in words:
            self._put_in_force((words - {"changed"}) | set(settings), settings)

    def _config_file(self) -> str:
        """Of the only server; where there are several instances, each has its own beside its data."""
        return self._fact("config_file")

    def _put_in_force(self, names: Collection[str], settings: Mapping[str, str]) -> None:
        """Reload; restart where one of the settings is read at start only."""
        rows = self.query("SELECT name FROM pg_settings WHERE context = 'postmaster'")
        if {row["name"] for row in rows} & set(names):
            self.stop()
            self.start()
            return
        self._on_instances(instances.RELOAD, self._known_instances(), "the login must own the server's files")
        until = time.monotonic() + RELOAD_S  # it is told, and reads when it comes to it
        while self.settings(settings) != dict(settings) and time.monotonic() < until:
            time.sleep(0.1)

    def facts(self) -> dict[str, Any]:
        server = self.query(
            "SELECT version() AS version, current_setting('server_version_num')::int AS version_number, "
            "current_setting('data_directory') AS data_directory, current_setting('config_file') AS config_file, "
            "(SELECT oid FROM pg_database WHERE datname = current_database())::bigint AS database_oid"
        )[0]
        self._facts = {"engine": "postgres", **server, "settings": self._changed_settings()}
        if self.platform.database_hosts:
            self._facts["program_directory"] = self._program_directory(server["data_directory"])
        return self._facts

    def _changed_settings(self) -> dict[str, str]:
        changed = self.query(
            "SELECT name, current_setting(name) AS value FROM pg_settings "
            "WHERE source NOT IN ('default', 'client', 'override', 'session') ORDER BY name"
        )
        return {row["name"]: public_value(row["name"], row["value"]) for row in changed}

    def _program_directory(self, data_directory: str) -> str:
        return self._on_host(
            f'dirname "$(readlink -f /proc/$(head -n 1 {quote(data_directory)}/postmaster.pid)/exe)"',
            f"the login needs to own the server's files in {data_directory}",
        ).strip()

    def declared_settings(self) -> Mapping[str, str]:
        return self.platform.settings

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        rows = self.query("SELECT name, current_setting(name) AS value FROM pg_settings")
        found = {row["name"]: row["value"] for row in rows}
        return {name: found[name] for name in names if name in found}

    def free_bytes(self) -> int | None:
        if not self.platform.database_hosts:
            return None
        primaries = [i for i in self.instances() if i.is_primary_segment]
        data = [i for i in self.instances() if i.content != COORDINATOR] or self.instances()
        answers = self._on_instances(instances.FREE, data, "df must be there")
        lines = [f"{host} {line}" for host, said in answers.items() for line in said.splitlines()]
        return instances.free_for_rows(lines, len(primaries))

    def stored_bytes(self, table: str) -> int:
        return int(self.query(statement("postgres", "stored_bytes", table=table))[0]["bytes"])

    def parallelism(self) -> int:
        return int(self._on_host("nproc", "coreutils must be there")) if self.platform.database_hosts else 4

    # Data.

    def create_table(self, table: str, columns: str, storage: Storage, comment: str = "") -> None:
        mark = statement("tables", "mark", table=identifier(table), mark=comment)
        if schema := schema_of(table):
            self.execute(f"CREATE SCHEMA IF NOT EXISTS {_text(identifier(schema))}")
        self.execute(f"{self.table_definition(table, columns, storage)};\n{mark}")  # sent at once: one transaction

    def table_definition(self, table: str, columns: str, storage: Storage) -> str:
        """The statements of ``create_table``; layout and distribution mean nothing to one server."""
        name = _text(identifier(table))
        own = "WITH (autovacuum_enabled = false)"  # it would run beside a trial; ``settle`` does its work
        if not storage.partitions:
            return f"CREATE TABLE {name} ({columns}) {own}"
        key = _text(identifier(storage.partitioned_by))
        leaves = [
            f"CREATE TABLE {_text(identifier(part.table(table)))} PARTITION OF {name} "
            f"FOR VALUES FROM ('{part.start}') TO ('{part.end}') {own}"
            for part in storage.partitions
        ]
        return ";\n".join([f"CREATE TABLE {name} ({columns}) PARTITION BY RANGE ({key})", *leaves])

    def leaves(self, relations: Sequence[str]) -> list[str]:
        """The tables that hold the rows: of a partitioned one its partitions, any other itself."""
        if not relations:
            return []
        asked = statement("postgres", "leaves", relations=_regclasses(relations))
        found: dict[str, list[str]] = {}
        for row in self.query(asked):
            found.setdefault(row["relation"], []).append(row["leaf"])
            found.setdefault(f"{row['schema']}.{row['relation']}", []).append(f"{row['schema']}.{row['leaf']}")
        return [leaf for relation in relations for leaf in found.get(relation, [relation])]

    def indexes(self, relation: str) -> list[str]:
        asked = statement("postgres", "indexes", relations=_regclasses([relation, *self.leaves([relation])]))
        return [str(row["name"]) for row in self.query(asked)]

    def series(self, first: int, last: int, step: int = 1) -> str:
        return f"generate_series({first}, {last}, {step})"

    def bulk_load(self, table: str, host: str, files: Sequence[str]) -> BulkLoad:  # noqa: ARG002  they come by the session
        """One COPY for each file, all at once; psql reads the file where it runs."""
        name = _text(identifier(table))
        return BulkLoad([[f"\\copy {name} FROM 'files/{file}' WITH ({LOAD_FORMAT})"] for file in files])

    segment_of_row = "0"

    def segments(self) -> int:
        return 1

    def skew(self, table: str) -> float:  # noqa: ARG002  one server has all rows
        return 0.0

    def load_slices(
        self, table: str, seed: int, slices: Sequence[tuple[int, int]], insert: Callable[[int, int], str]
    ) -> Iterator[int]:
        """A slice and the note that it is loaded are one transaction, so a retry goes on where the last try ended.

        The note goes in first: a second worker on the same slice waits there, and then skips it.
        """
        self.execute(
            "CREATE TABLE IF NOT EXISTS clusterbench_slices "
            "(table_name text, seed bigint, first bigint, last bigint, PRIMARY KEY (table_name, seed, first, last))"
        )
        note = sql.SQL("INSERT INTO clusterbench_slices VALUES ({}, {}, {}, {})")

        def load(first: int, last: int) -> int:
            with self.connect() as connection:
                try:
                    with connection.transaction():
                        connection.execute(note.format(table, seed, first, last))
                        connection.execute(insert(first, last).encode())
                except psycopg.errors.UniqueViolation:
                    pass  # loaded by an earlier try
            return last - first + 1

        with ThreadPoolExecutor(self.parallelism()) as workers:
            loading = [workers.submit(load, first, last) for first, last in slices]
            for done in as_completed(loading):
                yield done.result()

    def forget_slices(self, table: str) -> None:
        """Before a table is made anew."""
        if self.query("SELECT to_regclass('clusterbench_slices') AS found")[0]["found"]:
            self.execute(sql.SQL("DELETE FROM clusterbench_slices WHERE table_name = {}").format(table).as_string(None))

    def settle(self, *tables: str, columns: Sequence[str] = ()) -> None:
        """Tables and partitions at the same time; then a checkpoint, so that none begins beside a trial."""
        named = f" ({', '.join(_text(identifier(each)) for each in columns)})" if columns else ""
        analyse = [f"ANALYZE {_text(identifier(table))}{named}" for table in tables]
        with ThreadPoolExecutor(self.parallelism()) as workers:
            list(workers.map(self._vacuum, self.leaves(tables)))
            list(workers.map(self.execute, analyse))
        self.execute("CHECKPOINT")

    def _vacuum(self, table: str) -> None:
        self.execute(f"VACUUM (FREEZE) {_text(identifier(table))}")

    # Sessions. A role's defaults hold for every session, direct or through a pooler that drops start-up parameters.

    def set_session(self, settings: Mapping[str, str]) -> None:
        self.reset_session()
        for name, value in settings.items():
            parts = value.split(", ") if name == "search_path" else [value]  # a list, which quotes would make one name
            values = sql.SQL(", ").join(map(sql.Literal, parts))
            self.execute(self._alter_role(sql.SQL("SET {} = {}").format(sql.Identifier(name), values)))

    def reset_session(self) -> None:
        self.execute(self._alter_role(sql.SQL("RESET ALL")))

    def _alter_role(self, change: sql.Composable) -> str:
        role, database = sql.Identifier(self.database.login), sql.Identifier(self.database.schema)
        return sql.SQL("ALTER ROLE {} IN DATABASE {} {}").format(role, database, change).as_string(None)

    def end_driver(self) -> None:
        self.query(statement("postgres", "end_driver", driver=DRIVER))

    def explain(self, query: str, *, before: str = "") -> str:
        with self.connect() as connection:
            if before:
                connection.execute(before.encode())
            rows = connection.execute(f"EXPLAIN {query}".encode()).fetchall()
            return "\n".join(row["QUERY PLAN"] for row in rows)

    # The server's processes, by pg_ctl alone, as whoever owns the data.

    def stop(self) -> None:
        """The coordinator first, so that it does not take its segments for broken."""
        for stage in reversed(self._stages()):
            self._on_instances(instances.STOP, stage, "it must stop within its time; look for a session that hangs")

    def start(self) -> None:
        if not self.platform.database_hosts:
            self.query("SELECT 1 AS up")  # all that can be done is to see that it is up
            return
        for stage in self._stages():
            self._on_instances(instances.START, stage, "its log says why")

    def _stages(self) -> list[list[Instance]]:
        """In the order of starting: segments at once, then the coordinator."""
        found = self.instances()
        stages = [[i for i in found if i.content != COORDINATOR], [i for i in found if i.content == COORDINATOR]]
        return [stage for stage in stages if stage]

    def state(self) -> list[dict[str, Any]]:
        return self._look(self._known_instances())

    def _known_instances(self) -> list[Instance]:
        """As the server tells them now, or as it told at set-up if it cannot be asked."""
        return self.instances()

    def _look(self, found: Sequence[Instance]) -> list[dict[str, Any]]:
        if not self.platform.database_hosts:
            return instances.seen(found, {}, {})
        looks, lost = self._try_each(
            self._scripts(instances.LOOK.format(ready_s=instances.READY_S), found), timeout_s=ASK_S
        )
        return instances.seen(found, looks, lost)

    def recover(self) -> list[str]:
        done = self._start_again(self._reached())
        if self.platform.database_hosts:
            self.ask("SELECT 1 AS up")
        return done

    def _start_again(self, state: Sequence[Mapping[str, Any]]) -> list[str]:
        """What is down, and what does not answer, after its processes are ended."""
        silent = {row["name"] for row in state if row["problem"] == instances.SILENT}
        down = {row["name"] for row in state if row["alive"] is False}
        if silent or down:
            self._end(silent | down)
            self.start()
        said = dict.fromkeys(silent, "did not answer, was ended and was started")
        said |= dict.fromkeys(down, "was down and was started")
        return [f"{row['name']} {said[row['name']]}" for row in state if row["name"] in said]

    def _end(self, names: Collection[str]) -> None:
        """Also what a server that was killed has left: its sessions hold the memory that a new one needs."""
        chosen = [each for each in self.instances() if each.name in names]
        self._on_instances(instances.END, chosen, "end these processes by hand, then clear the trial")

    def _reached(self) -> list[dict[str, Any]]:
        """The state, when every host answers. Raises EngineError for one that does not come back."""
        until = time.monotonic() + REACHABLE_S
        while True:
            state = self.state()
            lost = [row for row in state if row["problem"].startswith(instances.UNREACHABLE)]
            if not lost:
                return state
            was_noted = self._note_of_waiting("find {} -mmin -{}")
            if was_noted or time.monotonic() >= until:
                if not was_noted:
                    self._note_of_waiting("touch {}")
                named = "\n  ".join(f"{row['name']} {row['problem']}" for row in lost)
                raise EngineError(
                    f"{self._where}: waited {REACHABLE_S:g} s for hosts that do not answer; start them, or mend their "
                    f"network. For {WAITED_MIN} min other trials fail without waiting again\n  {named}"
                )
            time.sleep(min(5, REACHABLE_S))
            self.fleet.forget_unreachable()

    def _note_of_waiting(self, command: str) -> str:
        """What ``command`` says of the note that hosts were waited for in vain; the client keeps it for all workers."""
        client = self.platform.client
        note = quote(f"{self.fleet.work_dir(client)}/waited.{self.platform.platform.replace('/', '.')}")
        return self.fleet.run_on(client, f"{command.format(note, WAITED_MIN)} 2>/dev/null || true").output.strip()

    def log_excerpt(self, faults: Sequence[str]) -> str:
        if not self.platform.database_hosts:
            return ""
        known = self._known_instances()
        named = [i for i in known if i.content == COORDINATOR or any(fault.startswith(i.name) for fault in faults)]
        body = instances.EXCERPT.format(lines=instances.LOG_LINES)
        said, lost = self._try_each(self._scripts(body, named), timeout_s=ASK_S)
        return "\n".join([*said.values(), *(f"no log: {why}" for why in lost.values())])

    def counters(self) -> dict[str, int]:
        """What the segments count of their own work; a single server has none."""
        return {}

    # Caches.

    def warm(self, relations: Sequence[str]) -> None:
        """Into the file system's cache, then into the database's: what is in the latter already is not read again."""
        self.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm SCHEMA public")
        pg_class, leaves = raw(self._everywhere("pg_class")), self.leaves(relations)
        for cache in ("read", "buffer") if leaves else ():
            self.query(statement("postgres", "prewarm", pg_class=pg_class, relations=_regclasses(leaves), cache=cache))

    def empty_file_system_cache(self, relations: Sequence[str]) -> None:  # noqa: ARG002  all of the database's files
        if self.platform.page_cache == "drop_caches":
            self._on_hosts(
                DROP_PAGE_CACHE,
                "dropping the page cache needs root on the host: allow it in sudoers, or declare "
                "'page_cache: evict_files' in the platform's file",
            )
        else:  # the kernel is asked to forget the files one by one, which their owner may do
            body = instances.EVICT.format(database_oid=int(self._fact("database_oid")))
            self._on_instances(body, self._known_instances(), "the login must own the server's files")

    def residency(self, relations: Sequence[str]) -> Residency | None:
        if not self.platform.database_hosts:
            return None
        files = self._relation_files(relations)
        resident, total = self._in_memory(files)
        return Residency(total, self._buffered_bytes(files), resident)

    def _relation_files(self, relations: Sequence[str]) -> list[dict[str, Any]]:
        """(content, path, filenode) of every relation and of its TOAST table, on every instance that has rows."""
        found = statement(
            "postgres",
            "relation_files",
            content=raw(self._content),
            pg_class=raw(self._everywhere("pg_class")),
            relations=_regclasses(self.leaves(relations)),
        )
        return [row for row in self.query(found) if _is_data_path(row["path"])]

    def _buffered_bytes(self, files: Sequence[Mapping[str, Any]]) -> int:
        self.execute("CREATE EXTENSION IF NOT EXISTS pg_buffercache SCHEMA public")
        if not files:
            return 0
        found = self.query(
            statement(
                "postgres",
                "buffered",
                content=raw(self._content),
                pg_buffercache=raw(self._everywhere("pg_buffercache")),
                filenodes=sql.SQL(", ").join(sql.Literal(int(row["filenode"])) for row in files),
                database_oid=int(self._fact("database_oid")),
            )
        )
        wanted = {(row["content"], row["filenode"]) for row in files}
        return sum(int(row["bytes"]) for row in found if (row["content"], row["filenode"]) in wanted)

    _content = str(COORDINATOR)

    def _everywhere(self, relation: str) -> str:
        """``relation`` as all instances that hold rows have it."""
        return relation

    def _in_memory(self, files: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
        """Bytes of the files in the file system's cache, and in all."""
        scripts: dict[str, str] = {}
        for instance in self._known_instances():
            if instance.host is None or instance.role != "p":
                continue
            paths = [row["path"] for row in files if row["content"] == instance.content]
            patterns = " ".join(f"{path} {path}.[0-9]*" for path in paths)
            if patterns:
                data = quote(instance.data_directory)
                look = f"(cd {data}; fincore --bytes --raw --noheadings --output RES,SIZE {patterns})"
                scripts[instance.host] = scripts.get(instance.host, "shopt -s nullglob\n") + look + "\n"
        answers = self._on_each(scripts, "fincore (Debian package util-linux-extra) must be there")
        pairs = [line.split() for said in answers.values() for line in said.splitlines() if line.strip()]
        return sum(int(pair[0]) for pair in pairs), sum(int(pair[1]) for pair in pairs)

    # Where a driver connects.

    def endpoint(self, *, pooled: bool) -> Endpoint:
        port = self.platform.pooler_port if pooled else self.port
        return Endpoint(self.database.host, port, self.database.login, self.database.schema)

    def start_pooler(self, mode: str, size: int) -> None:
        """PgBouncer on the database's host, new for every trial, so that no old session keeps old settings."""
        self.stop_pooler()
        directory = f"{self.fleet.work_dir(self.host)}/pgbouncer"
        ini = (
            f"[databases]\n* = host={self.database.host} port={self.port}\n"  # a name has no quotes in this file
            "[pgbouncer]\n"
            f"listen_addr = {self.database.host}\nlisten_port = {self.platform.pooler_port}\nunix_socket_dir =\n"
            "auth_type = scram-sha-256\n"
            f"auth_file = {directory}/users\nlogfile = {directory}/log\npidfile = {directory}/pid\n"
            f"pool_mode = {mode}\ndefault_pool_size = {size}\nmax_client_conn = 2000\n"
            "log_connections = 0\nlog_disconnections = 0\nignore_startup_parameters = extra_float_digits\n"
        )
        user = f"{_in_users_file(self.database.login)} {_in_users_file(self.database.password)}\n"
        self.fleet.put(self.host, directory, {"pgbouncer.ini": ini, "users": user})
        self._on_host(
            f"cd {quote(directory)}; : >log; PATH=$PATH:/usr/sbin pgbouncer --daemon --quiet pgbouncer.ini "
            "</dev/null >&2 || { tail -n 3 log >&2; exit 1; }\n"
            "for _ in $(seq 100); do [ -s pid ] && break; sleep 0.05; done\n"
            "kill -0 $(cat pid) || { tail -n 3 log >&2; exit 1; }",
            "PgBouncer must be installed and 'pooler_port' of the platform free",
        )

    def stop_pooler(self) -> None:
        if not self.platform.database_hosts:
            return  # none can have been started
        directory = quote(f"{self.fleet.work_dir(self.host)}/pgbouncer")
        self._on_host(
            f"cd {directory} 2>/dev/null || exit 0; if [ -s pid ] && grep -q pgbouncer /proc/$(cat pid)/comm "
            "2>/dev/null; then pid=$(cat pid); kill $pid; for _ in $(seq 100); do kill -0 $pid 2>/dev/null || break; "
            "sleep 0.05; done; fi; rm -f pid users",
            "PgBouncer must belong to the login",
        )

    # Hosts.

    def _on_host(self, script: str, remedy: str) -> str:
        return self._on_each({self.host: script}, remedy)[self.host]

    def _on_hosts(self, script: str, remedy: str) -> dict[str, str]:
        return self._on_each(dict.fromkeys(self.platform.database_hosts, script), remedy)

    def _on_instances(self, body: str, chosen: Sequence[Instance], remedy: str) -> dict[str, str]:
        """Run ``body`` for the chosen instances, all hosts at once and on each all instances at once."""
        return self._on_each(self._scripts(body, chosen), remedy)

    def _scripts(self, body: str, chosen: Sequence[Instance]) -> dict[str, str]:
        placed = instances.by_host(chosen)
        if not placed:
            raise EngineError(f"{self._where}: {NO_HOSTS}")
        program = self._fact("program_directory")
        return {host: instances.script(body, program, here) for host, here in placed.items()}

    def _fact(self, name: str) -> str:
        if name not in self._facts:
            self.facts()
        return str(self._facts[name])


@contextmanager
def shut_after(seconds: float | None, connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Break the connection from this side when the time is up: a frozen server neither answers nor closes it."""
    if seconds is None:
        yield
        return
    late = threading.Event()

    def shut() -> None:
        late.set()
        with socket.socket(fileno=os.dup(connection.fileno())) as own:
            own.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, shut)
    timer.daemon = True
    timer.start()
    try:
        yield
    except psycopg.OperationalError:
        if late.is_set():
            raise psycopg.OperationalError(f"no answer within {seconds:g} s; it is frozen or overloaded") from None
        raise
    finally:
        timer.cancel()


def without_hosts(platform: Platform) -> dict[str, str]:
    """What cannot be had where hosts are not known, or where caches may not be emptied."""
    unavailable = {}
    if not platform.hosts_with("etl"):
        unavailable["etl"] = (
            "the platform's file names no host with the role 'etl', so there is none to load files from"
        )
    if not platform.database_hosts:
        unavailable |= {"flush": NO_HOSTS, "pooler": NO_HOSTS}
    elif platform.page_cache == "none":
        unavailable["flush"] = "the platform's file says 'page_cache: none': its file system cache cannot be emptied"
    if platform.neighbours:
        names = ", ".join(platform.neighbours)
        unavailable[ALONE] = (
            f"its neighbours ({names}) run the same load again and again, and this one can be run once only"
        )
    return unavailable


def public_value(setting: str, value: str) -> str:
    """What of a server's setting may be archived: a connection string, a command or a key may hold a password."""
    return NOT_ARCHIVED if PRIVATE_SETTING.search(setting) and value else value


def quoted(relation: str) -> str:
    """``"name"``: a text that means the relation of exactly that name when it is cast to regclass."""
    return _text(identifier(relation))


def schema_of(table: str) -> str:
    """Of ``schema.table``; nothing where the table's name is bare."""
    return table.split(".", 1)[0] if "." in table else ""


def _in_users_file(text: str) -> str:
    """As PgBouncer's file of users has names and passwords: a quote is written twice."""
    return '"' + text.replace('"', '""') + '"'


def _regclasses(relations: Sequence[str]) -> sql.Composable:
    return sql.SQL(", ").join(sql.SQL("{}::regclass").format(sql.Literal(quoted(each))) for each in relations)


def _text(composed: sql.Composable) -> str:
    return composed.as_string(None)


def _is_data_path(path: str | None) -> bool:
    return bool(path) and re.fullmatch(r"[A-Za-z0-9_./]+", str(path)) is not None


ENGINE = Postgres
