"""PostgreSQL servers: those under test, and one for Airflow's metadata and the history.

A benchmark restarts those under test itself, with pg_ctl over SSH. So there is no record of the process we started:
a server is ours if its own postmaster.pid names a postgres that works in our data folder.
"""

from __future__ import annotations

import re
import secrets
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbench.base.errors import LabError
from clusterbench_lab import processes
from clusterbench_lab.account import Account
from clusterbench_lab.cgroups import Limits
from clusterbench_lab.layout import DATABASE, Layout
from clusterbench_lab.server import Server, fingerprint, template

if TYPE_CHECKING:
    import psycopg

_ONE_AT_A_TIME = threading.Lock()
"""Servers that want the same empty cluster wait for the first of them to make it."""
_READY_LINE = 7  # of postmaster.pid: "starting", "ready", "stopping"


@dataclass(frozen=True)
class PostgresSettings:
    role: str = DATABASE
    shared_buffers: str = "256MB"
    max_connections: int = 300
    synchronous_commit: str = "on"
    checkpoint_timeout: str = "5min"
    jit: str = "on"


BENCH_SETTINGS = PostgresSettings()
# Where transactions are measured, checkpoints are far apart, as in the paper: none comes by time within a trial.
# At full scale there are 1024 clients.
OLTP_SETTINGS = PostgresSettings(checkpoint_timeout="30min", max_connections=1100)
# The smallest of these hosts has half a GB, and 8 streams with their parallel workers are 16 processes: compiling
# statements took 20 MB more in each of them, and the kernel killed them.
RETAIL_SETTINGS = PostgresSettings(shared_buffers="64MB", max_connections=100, jit="off")
# Airflow's own database needs little, and its commits shall not wait for the disk a benchmark is busy with.
METADATA_SETTINGS = PostgresSettings(
    role="airflow", shared_buffers="64MB", max_connections=100, synchronous_commit="off"
)


class Postgres(Server):
    kind = "postgresql"
    ready_limit_seconds = 120.0  # recovery after a kill -9 in the middle of a load takes its time

    def __init__(
        self,
        name: str,
        host: str,
        layout: Layout,
        account: Account,
        *,
        password: str,
        settings: PostgresSettings = BENCH_SETTINGS,
    ) -> None:
        super().__init__(name, layout, account, layout.address(host))
        self.host = host
        self.host_dir = layout.host_dir(host)
        self.limits = Limits(layout.lab_dir)
        self.password = password
        self.settings = settings

    @property
    def data_dir(self) -> Path:
        return self.host_dir / "pgdata"

    @property
    def log_file(self) -> Path:
        log = self.host_dir / "log" / "postgresql.log"
        return log if log.exists() and log.stat().st_size else self._start_log

    def up(self) -> str:
        self.layout.records_dir.mkdir(exist_ok=True)
        if self.pid() is not None:
            self._mark.touch()
            self.wait_until_ready()
            return "runs already"
        was_started = self._mark.exists()
        for folder in ("", "log"):
            self.account.make_directory(self.host_dir / folder)
        self._make_cluster()
        self._clear_remains()
        self.layout.claim_port(self.name, "postgres", self.address)
        self._write_configuration()
        self._mark.touch()
        self._start()
        self._make_database()
        return "started again" if was_started else "started"

    def pid(self) -> int | None:
        lines = self._postmaster_lines()
        if not lines or not lines[0].isdigit():
            return None
        pid = int(lines[0])
        facts = processes.facts_of(pid)
        if facts is None or facts.is_ending():
            return None
        program, cwd = processes.program_and_cwd(pid, self.account)
        return pid if program == "postgres" and cwd == str(self.data_dir) else None

    def is_ready(self) -> bool:
        lines = self._postmaster_lines()
        return len(lines) > _READY_LINE and lines[_READY_LINE].strip() == "ready" and super().is_ready()

    def was_started(self) -> bool:
        return self._mark.exists()

    def down(self, *, at_once: bool = False) -> bool:
        was_alive = self.pid() is not None
        if was_alive and not at_once:
            self.account.run([*self._pg_ctl, "stop", "-m", "fast", "-w", "-t", "20"])
        if self.pid() is not None:
            self.account.run([*self._pg_ctl, "stop", "-m", "immediate", "-w", "-t", "10"])
        self._clear_remains()
        self._mark.unlink(missing_ok=True)
        return was_alive

    @property
    def _mark(self) -> Path:
        return self.layout.records_dir / f"{self.name}.started"

    @property
    def _start_log(self) -> Path:
        return self.host_dir / "log" / "pg_ctl.log"

    @property
    def _pg_ctl(self) -> list[str]:
        return [str(binary_dir() / "pg_ctl"), "-D", str(self.data_dir)]

    def _postmaster_lines(self) -> list[str]:
        try:
            return (self.data_dir / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []

    def _make_cluster(self) -> None:
        """Copied beside the place and moved there, so that half a cluster never looks like a whole one."""
        if (self.data_dir / "PG_VERSION").exists():
            self._check_version()
            return
        new = self.host_dir / f"pgdata.{secrets.token_hex(4)}"
        done = self.account.run(["cp", "--archive", str(self._empty_cluster()), str(new)])
        if done.returncode != 0:
            raise LabError(f"{self.name}: its data folder could not be made:\n{done.stderr}")
        new.rename(self.data_dir)

    def _empty_cluster(self) -> Path:
        """By initdb, once for all servers of a lab with the same role and password: it takes seconds of a processor."""
        kept = self.layout.lab_dir / "postgres"
        made = kept / fingerprint(str(binary_dir()), self.settings.role, self.password)[:8]
        with _ONE_AT_A_TIME:
            if not made.exists():
                self.account.make_directory(kept)
                self._initdb(new := kept / f"new.{secrets.token_hex(4)}")
                new.rename(made)
        return made

    def _initdb(self, folder: Path) -> None:
        password_file = self.host_dir / "initdb_password"
        self.account.write(password_file, self.password + "\n")
        options = [
            "--username",
            self.settings.role,
            "--pwfile",
            str(password_file),
            "--auth",
            "scram-sha-256",
        ]
        options += ["--encoding", "UTF8", "--locale", "C.UTF-8", "--data-checksums", "--no-sync"]
        try:
            done = self.account.run([str(binary_dir() / "initdb"), "-D", str(folder), *options])
        finally:
            password_file.unlink()
        if done.returncode != 0:
            raise LabError(f"{self.name}: initdb failed in {folder}:\n{done.stdout}{done.stderr}")

    def _check_version(self) -> None:
        made_with = (self.data_dir / "PG_VERSION").read_text().strip()
        found = binary_dir().parent.name
        if made_with != found:
            raise LabError(
                f"{self.data_dir}: made by PostgreSQL {made_with}; installed is {found}.\n"
                f"Install postgresql-{made_with}, or begin anew with: make down clean up"
            )

    def _clear_remains(self) -> None:
        """After a kill -9: end backends without a postmaster, and drop a pid file that names a stranger."""
        if self.pid() is not None:
            return
        remains = [
            facts
            for facts in processes.working_in(self.data_dir, self.account)
            if processes.program_and_cwd(facts.pid, self.account)[0] == "postgres"
        ]
        processes.kill_all(remains)
        (self.data_dir / "postmaster.pid").unlink(missing_ok=True)

    def _write_configuration(self) -> None:
        values = {
            "address": self.address,
            "port": self.port,
            "host_dir": self.host_dir,
            "shared_buffers": self.settings.shared_buffers,
            "max_connections": self.settings.max_connections,
            "synchronous_commit": self.settings.synchronous_commit,
            "checkpoint_timeout": self.settings.checkpoint_timeout,
            "jit": self.settings.jit,
        }
        self.account.write(self.data_dir / "postgresql.conf", template("postgresql.conf", values))
        self.account.write(self.host_dir / "pg_hba.conf", template("pg_hba.conf", {}))

    def _start(self) -> None:
        limit = f"{self.ready_limit_seconds:.0f}"
        command = [*self._pg_ctl, "start", "-w", "-t", limit, "-l", str(self._start_log)]
        try:
            done = self.account.run(command, timeout_seconds=self.ready_limit_seconds + 30)
        except subprocess.TimeoutExpired:
            raise self.trouble("pg_ctl start did not end") from None
        if done.returncode != 0 or self.pid() is None:
            raise self.trouble("pg_ctl start failed")
        self._limit()

    def _limit(self) -> None:
        """The postmaster first: what it starts from then on is where it is."""
        if (pid := self.pid()) is not None:
            self.limits.take(self.host, [pid])
            self.limits.take(self.host, [facts.pid for facts in processes.working_in(self.data_dir, self.account)])

    def _make_database(self) -> None:
        with self._as_superuser() as connection:
            _make_database_of(connection, self.settings.role)

    def make_database_of(self, role: str, password: str) -> None:
        """A database beside the server's own, of a role of its name, which may nothing else."""
        from psycopg import sql  # noqa: PLC0415

        with self._as_superuser() as connection:
            if connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).fetchone() is None:
                query = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
                connection.execute(query.format(sql.Identifier(role), sql.Literal(password)))
            _make_database_of(connection, role)

    def _as_superuser(self) -> psycopg.Connection:
        import psycopg  # noqa: PLC0415 - not needed when everything runs already

        return psycopg.connect(
            host=self.address,
            port=self.port,
            user=self.settings.role,
            password=self.password,
            dbname="postgres",
            autocommit=True,
        )


def _make_database_of(connection: psycopg.Connection, role: str) -> None:
    from psycopg import sql  # noqa: PLC0415

    if connection.execute("SELECT FROM pg_database WHERE datname = %s", [role]).fetchone() is None:
        query = sql.SQL("CREATE DATABASE {} OWNER {}")
        connection.execute(query.format(sql.Identifier(role), sql.Identifier(role)))


def binary_dir() -> Path:
    """Debian keeps every major version apart; the newest one that has a server counts."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if not found:
        raise LabError("lab: no PostgreSQL below /usr/lib/postgresql. Run `make setup`, which installs it.")
    return max(found, key=lambda path: [int(digits) for digits in re.findall(r"\d+", path.parent.name)])
