"""PostgreSQL: everything that is particular to it, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any, ClassVar

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from clusterbench.connections import Connection
from clusterbench.engines import Endpoint, Residency
from clusterbench.errors import EngineError, HostError
from clusterbench.hosts import Fleet, quote
from clusterbench.spec.platform import Platform

SERVER_TIMEOUT_S = 300
"""A fast stop writes everything that is dirty first."""


class Postgres:
    """One PostgreSQL server, reached by its own protocol and, for its files and processes, over SSH."""

    title = "PostgreSQL"
    lacks: ClassVar[Mapping[str, str]] = {
        "orca": "PostgreSQL has no ORCA optimizer; only Greenplum and its family have",
        "direct_dispatch": "PostgreSQL has no segments to dispatch to",
    }

    def __init__(
        self, platform: Platform, fleet: Fleet, database: Connection, facts: Mapping[str, Any] | None = None
    ) -> None:
        self.platform, self.fleet, self.database = platform, fleet, database
        self._facts = dict(facts or {})

    @property
    def host(self) -> str:
        return self.platform.database_hosts[0]

    # Asking the server.

    @contextmanager
    def connect(self) -> Iterator[psycopg.Connection[dict[str, Any]]]:
        """A session in autocommit mode; errors come out as EngineError with the remedy."""
        where = f"platform {self.platform.platform!r}, database {self.database.host}:{self.database.port}"
        try:
            with psycopg.connect(
                host=self.database.host,
                port=self.database.port,
                user=self.database.login,
                password=self.database.password,
                dbname=self.database.schema or self.database.login,
                application_name="clusterbench",
                connect_timeout=10,
                autocommit=True,
                row_factory=dict_row,
            ) as connection:
                yield connection
        except psycopg.errors.DiskFull as error:
            raise EngineError(f"{where}: its disk is full: {_first_line(error)}; free some space there") from None
        except psycopg.OperationalError as error:
            raise EngineError(
                f"{where}: cannot be used: {_first_line(error)}; is the server up, and is connection "
                f"{self.database.id!r} right?"
            ) from None
        except psycopg.Error as error:
            raise EngineError(f"{where}: refused a statement: {_first_line(error)}") from None

    def query(self, statement: str) -> list[dict[str, Any]]:
        with self.connect() as connection:
            return connection.execute(statement.encode()).fetchall()

    def execute(self, statement: str) -> None:
        with self.connect() as connection:
            connection.execute(statement.encode())

    def facts(self) -> dict[str, Any]:
        server = self.query(
            "SELECT version() AS version, current_setting('server_version_num')::int AS version_number, "
            "current_setting('data_directory') AS data_directory, "
            "(SELECT oid FROM pg_database WHERE datname = current_database())::bigint AS database_oid"
        )[0]
        changed = self.query(
            "SELECT name, current_setting(name) AS value FROM pg_settings "
            "WHERE source NOT IN ('default', 'client', 'override', 'session') ORDER BY name"
        )
        data = server["data_directory"]
        program = self._on_host(
            f'dirname "$(readlink -f /proc/$(head -n 1 {quote(data)}/postmaster.pid)/exe)"',
            f"the login needs to own the server's files in {data}",
        ).strip()
        self._facts = {
            "engine": "postgres",
            **server,
            "program_directory": program,
            "settings": {row["name"]: row["value"] for row in changed},
        }
        return self._facts

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        rows = self.query("SELECT name, current_setting(name) AS value FROM pg_settings")
        found = {row["name"]: row["value"] for row in rows}
        return {name: found[name] for name in names if name in found}

    def free_bytes(self) -> int:
        data = quote(self._fact("data_directory"))
        return int(self._on_host(f"df --block-size=1 --output=avail {data} | tail -n 1", "df must be there"))

    def parallelism(self) -> int:
        return int(self._on_host("nproc", "coreutils must be there"))

    # Data.

    def table_storage(self, key: str) -> str:  # noqa: ARG002  one server holds every key
        return "WITH (autovacuum_enabled = false)"  # autovacuum would run beside a trial; ``settle`` does its work

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

    def settle(self, table: str) -> None:
        self.execute(sql.SQL("VACUUM (FREEZE, ANALYZE) {}").format(sql.Identifier(table)).as_string(None))
        self.execute("CHECKPOINT")

    # Sessions. A role's defaults hold for every session, direct or through a pooler that drops start-up parameters.

    def set_session(self, settings: Mapping[str, str]) -> None:
        self.reset_session()
        for name, value in settings.items():
            self.execute(self._alter_role(sql.SQL("SET {} = {}").format(sql.Identifier(name), sql.Literal(value))))

    def reset_session(self) -> None:
        self.execute(self._alter_role(sql.SQL("RESET ALL")))

    def _alter_role(self, change: sql.Composable) -> str:
        role, database = sql.Identifier(self.database.login), sql.Identifier(self.database.schema)
        return sql.SQL("ALTER ROLE {} IN DATABASE {} {}").format(role, database, change).as_string(None)

    def explain(self, statement: str) -> str:
        return "\n".join(row["QUERY PLAN"] for row in self.query(f"EXPLAIN {statement}"))

    # The server's process, by pg_ctl alone, as whoever owns the data.

    def stop(self) -> None:
        data = quote(self._fact("data_directory"))
        self._on_host(
            f"if [ -e {data}/postmaster.pid ]; then {self._pg_ctl} stop --mode=fast --wait >/dev/null; fi",
            "the server must stop within its time; look for a session that hangs",
        )

    def start(self) -> None:
        data = quote(self._fact("data_directory"))
        self._on_host(
            f"{self._pg_ctl} status >/dev/null || "
            f"{self._pg_ctl} start --wait --log={data}/start.log >/dev/null </dev/null || "
            f"{{ tail -n 5 {data}/start.log >&2; exit 1; }}",
            "its log says why",
        )

    @property
    def _pg_ctl(self) -> str:
        program = quote(self._fact("program_directory") + "/pg_ctl")
        return f"{program} --pgdata={quote(self._fact('data_directory'))} --timeout={SERVER_TIMEOUT_S}"

    # Caches.

    def warm(self, relations: Sequence[str]) -> None:
        self.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
        for relation in relations:
            self.execute(sql.SQL("SELECT pg_prewarm({}, 'buffer')").format(_regclass(relation)).as_string(None))

    def empty_file_system_cache(self, relations: Sequence[str]) -> None:  # noqa: ARG002  all of the database's files
        data, oid = quote(self._fact("data_directory")), int(self._facts["database_oid"])
        if self.platform.page_cache == "drop_caches":
            self._on_host(
                "sync; echo 3 | if [ -w /proc/sys/vm/drop_caches ]; then tee /proc/sys/vm/drop_caches; "
                "else sudo -n tee /proc/sys/vm/drop_caches; fi >/dev/null",
                "dropping the page cache needs root on the host: allow it in sudoers, or declare "
                "'page_cache: evict_files' in the platform's file",
            )
        else:  # the kernel is asked to forget the files one by one, which their owner may do
            self._on_host(
                f"cd {data}; sync --file-system .; find base/{oid} global -type f -size +0 -print0 | "
                "xargs -0 -n 1 -I '{}' dd if='{}' iflag=nocache count=0 status=none",
                "the login must own the server's files",
            )

    def residency(self, relations: Sequence[str]) -> Residency:
        self.execute("CREATE EXTENSION IF NOT EXISTS pg_buffercache")
        listed = sql.SQL(", ").join(_regclass(relation) for relation in relations)
        where = sql.SQL(
            "FROM pg_class WHERE oid IN ({listed}) OR oid IN "
            "(SELECT reltoastrelid FROM pg_class WHERE oid IN ({listed}))"
        ).format(listed=listed)
        files = self.query(sql.SQL("SELECT pg_relation_filepath(oid) AS path {}").format(where).as_string(None))
        buffers = self.query(
            sql.SQL(
                "SELECT count(*) * current_setting('block_size')::bigint AS bytes FROM pg_buffercache b "
                "WHERE b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database()) AND "
                "b.relfilenode IN (SELECT relfilenode {})"
            )
            .format(where)
            .as_string(None)
        )[0]["bytes"]
        patterns = " ".join(f"{row['path']} {row['path']}.[0-9]*" for row in files if _is_data_path(row["path"]))
        found = self._on_host(
            f"cd {quote(self._fact('data_directory'))}; shopt -s nullglob; "
            f"fincore --bytes --raw --noheadings --output RES,SIZE {patterns}",
            "fincore (Debian package util-linux-extra) must be there",
        )
        pairs = [(int(words[0]), int(words[1])) for line in found.splitlines() if (words := line.split())]
        return Residency(sum(size for _, size in pairs), int(buffers), sum(resident for resident, _ in pairs))

    # Where a driver connects.

    def endpoint(self, *, pooled: bool) -> Endpoint:
        port = self.platform.pooler_port if pooled else self.database.port or 5432
        return Endpoint(self.database.host, port, self.database.login, self.database.schema)

    def start_pooler(self, mode: str, size: int) -> None:
        """PgBouncer on the database's host, new for every trial, so that no old session keeps old settings."""
        self.stop_pooler()
        directory = f"{self.fleet.work_dir(self.host)}/pgbouncer"
        name, port = self.database.schema, self.database.port or 5432
        ini = (
            "[databases]\n"
            f"{name} = host={self.database.host} port={port} dbname={name}\n"
            "[pgbouncer]\n"
            f"listen_addr = {self.database.host}\nlisten_port = {self.platform.pooler_port}\nunix_socket_dir =\n"
            "auth_type = scram-sha-256\n"
            f"auth_file = {directory}/users\nlogfile = {directory}/log\npidfile = {directory}/pid\n"
            f"pool_mode = {mode}\ndefault_pool_size = {size}\nmax_client_conn = 2000\n"
            "log_connections = 0\nlog_disconnections = 0\nignore_startup_parameters = extra_float_digits\n"
        )
        user = f'"{self.database.login}" "{self.database.password}"\n'
        self.fleet.put(self.host, directory, {"pgbouncer.ini": ini, "users": user})
        self._on_host(
            f"cd {quote(directory)}; : >log; PATH=$PATH:/usr/sbin pgbouncer --daemon --quiet pgbouncer.ini "
            "</dev/null >&2 || { tail -n 3 log >&2; exit 1; }\n"
            "for _ in $(seq 100); do [ -s pid ] && break; sleep 0.05; done\n"
            "kill -0 $(cat pid) || { tail -n 3 log >&2; exit 1; }",
            "PgBouncer must be installed and 'pooler_port' of the platform free",
        )

    def stop_pooler(self) -> None:
        directory = quote(f"{self.fleet.work_dir(self.host)}/pgbouncer")
        self._on_host(
            f"cd {directory} 2>/dev/null || exit 0; if [ -s pid ] && grep -q pgbouncer /proc/$(cat pid)/comm "
            "2>/dev/null; then pid=$(cat pid); kill $pid; for _ in $(seq 100); do kill -0 $pid 2>/dev/null || break; "
            "sleep 0.05; done; fi; rm -f pid users",
            "PgBouncer must belong to the login",
        )

    def _on_host(self, script: str, remedy: str) -> str:
        try:
            return self.fleet.run_on(self.host, script, timeout_s=SERVER_TIMEOUT_S + 30).output
        except HostError as error:
            raise EngineError(f"platform {self.platform.platform!r}: {error}\n  {remedy}") from None

    def _fact(self, name: str) -> str:
        if name not in self._facts:
            self.facts()
        return str(self._facts[name])


def _regclass(relation: str) -> sql.Composable:
    """``'"name"'::regclass``: the name quoted as an identifier, and that as a literal."""
    return sql.SQL("{}::regclass").format(sql.Literal(sql.Identifier(relation).as_string(None)))


def _is_data_path(path: str | None) -> bool:
    return bool(path) and re.fullmatch(r"[A-Za-z0-9_./]+", str(path)) is not None


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


ENGINE = Postgres
