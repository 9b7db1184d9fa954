"""The lab as one thing: up, status, down, and single servers for whoever wants to see one fail."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from clusterbench.airflow.api import LAB_FILE as AIRFLOW_FILE
from clusterbench.base.errors import LabError
from clusterbench_lab import account as accounts
from clusterbench_lab import processes, programs
from clusterbench_lab.account import write_private
from clusterbench_lab.airflow_servers import Airflow
from clusterbench_lab.cgroups import Limits
from clusterbench_lab.connections import write_connections
from clusterbench_lab.credentials import ADMIN, Credentials
from clusterbench_lab.guests import CONNECTION, GuestFollower, Guests, make_templates
from clusterbench_lab.hadoop import HadoopJars
from clusterbench_lab.layout import DATABASE_HOSTS, HISTORY, HOSTS, NATIVE, PARTITIONS, RETAIL_HOSTS, VM64, Layout
from clusterbench_lab.postgres import BENCH_SETTINGS, METADATA_SETTINGS, OLTP_SETTINGS, RETAIL_SETTINGS, Postgres
from clusterbench_lab.s3 import S3Server
from clusterbench_lab.server import Server, ServerStatus
from clusterbench_lab.ssh import SshHost, make_key
from clusterbench_lab.vcenter import VCenter

# sshd gives this to every session, so that `down` finds the jobs a session left behind.
_MARK = "CLUSTERBENCH_LAB"
_LOCK_LIMIT_SECONDS = 180.0

Report = Callable[[str], None]


def silent(_: str) -> None:
    pass


class Lab:
    """Servers are called client, etl, db1, db2, vm1 to vm4, native, vm64, retail_native to retail_vm4_4, master,
    worker1 to worker6, terasort_native_1 to terasort_vm2_6 (sshd), db1_postgres and so on to retail_vm4_4_postgres,
    metadata, s3, api-server, scheduler, dag-processor and triggerer.

    `block` N puts the lab on 127.0.N.x; a lab that was up before keeps its block. `report` gets one line per
    server. `environment` is of Airflow's processes, beside what the lab gives them. Without `partitions` the hosts
    retail_* and terasort_*, which are parts of one server, are left out: few tests need them.
    """

    def __init__(
        self,
        lab_dir: Path,
        block: int | None = None,
        report: Report = silent,
        environment: Mapping[str, str] | None = None,
        *,
        partitions: bool = True,
    ) -> None:
        self._partitions = partitions
        self.lab_dir = lab_dir.absolute().resolve()
        self._block = block
        self._report = report
        self._environment = dict(environment or {})
        self._load()

    def _load(self) -> None:
        self.layout = Layout.load(self.lab_dir, self._block)
        self._parts: _Parts | None = None

    @property
    def parts(self) -> _Parts:
        if self._parts is None:
            self._parts = _Parts(self.layout, self._environment, partitions=self._partitions)
        return self._parts

    def up(self, airflow: bool = True, *, hypervisor: bool = False) -> None:
        """Bring up what is not up. What runs with the settings of today is left alone.

        ``hypervisor``: also a vCenter, whose machines are hosts of the lab when they are on.
        """
        self._make_lab_dir()
        with self._locked():
            parts = self.parts
            make_key(self.layout.client_key, accounts.myself(), comment="clusterbench lab")
            if unlimited := parts.limits.make():
                self._report(f"{'limits':<14} {unlimited}")
            steps = [self._hadoop_up, *(self._step(server) for server in parts.outer_servers)]
            _in_parallel([*steps, self._airflow_up if airflow else self._metadata_up])
            for host in parts.hosts:
                parts.hadoop.link(host.work_dir)
            self._write_connections()
            self._history_up()
            if hypervisor or self.parts.vcenter.was_started():
                self._hypervisor_up()

    def _hypervisor_up(self) -> None:
        from clusterbench.base.connections import from_file  # noqa: PLC0415

        self._step(self.parts.vcenter)()
        self._write_connections()
        make_templates(from_file(self.layout.connections_file)(CONNECTION))
        self._step(self.parts.guests)()

    def fetch(self, *, hypervisor: bool = False) -> None:
        """The programs that `up` would fetch; nothing is started."""
        self._make_lab_dir()
        programs.fetch(self.lab_dir, hypervisor=hypervisor)

    def _hadoop_up(self) -> None:
        started = time.monotonic()
        done = self.parts.hadoop.up()
        self._report(f"{self.parts.hadoop.name:<14} {done:<14} {time.monotonic() - started:5.1f} s")

    def _metadata_up(self) -> None:
        self._step(self.parts.metadata)()
        self.parts.metadata.make_database_of(HISTORY, self.parts.credentials.history_password)

    def _history_up(self) -> None:
        """Its tables, once the connection is written; most of the time there is nothing to do."""
        from clusterbench.base.connections import from_file  # noqa: PLC0415
        from clusterbench.history.database import CONNECTION_ID, migrate  # noqa: PLC0415

        migrate(from_file(self.layout.connections_file)(CONNECTION_ID))

    def _write_connections(self) -> None:
        parts = self.parts
        write_connections(self.layout, parts.hosts, parts.databases, parts.s3, parts.metadata, vcenter=parts.vcenter)
        user, password = self.airflow_login()
        login = {"url": self.airflow_url().rstrip("/"), "user": user, "password": password}
        write_private(self.lab_dir / AIRFLOW_FILE, json.dumps(login))

    def _airflow_up(self) -> None:
        self._metadata_up()
        self.parts.airflow.prepare()
        _in_parallel([self._step(server) for server in self.parts.airflow.components])

    def down(self, *, at_once: bool = False) -> None:
        """Stop exactly what `up` started, and the jobs that sessions on its hosts left behind. Data stays.

        ``at_once``: nobody needs the data any more, and no server has to write down what it has in memory.
        """
        if not self._was_ever_up():
            return
        with self._locked():
            parts = _Parts(self.layout, self._environment, partitions=True)  # somebody else may have brought them up
            _in_parallel([self._stop_step(server, at_once=at_once) for server in parts.airflow.components])
            if parts.vcenter.was_started():
                self._stop_step(parts.guests, at_once=at_once)()
                Guests(self.lab_dir).end_all()
            rest = (*parts.outer_servers, parts.metadata, parts.vcenter)
            _in_parallel([self._stop_step(server, at_once=at_once) for server in rest])
            jobs = processes.marked(_MARK, str(self.lab_dir), parts.account)
            processes.kill_all(jobs)
            if jobs:
                self._report(f"{'jobs':<14} stopped {len(jobs)} left on the hosts")
            parts.limits.remove()

    def status(self) -> list[ServerStatus]:
        """Every server, also those that were never up. Asks them, and changes nothing."""
        if not self._was_ever_up():
            return []
        servers = self.parts.servers
        with ThreadPoolExecutor(len(servers)) as pool:
            return list(pool.map(lambda server: server.status(), servers))

    def start_server(self, name: str) -> None:
        with self._locked():
            server = self._server(name)
            self.parts.limits.make()
            if server in self.parts.airflow.components:
                self.parts.airflow.prepare()
            self._step(server)()
            self._write_connections()

    def stop_server(self, name: str) -> None:
        with self._locked():
            self._stop_step(self._server(name))()

    def pid(self, name: str) -> int | None:
        """The main process of a server, if it is alive."""
        return self._server(name).pid()

    def place(self, name: str) -> tuple[str, int]:
        """Address and port of a server."""
        server = self._server(name)
        return server.address, server.port

    def environment(self) -> dict[str, str]:
        """What to add to the environment of anything that imports Airflow or talks to the lab.

        Airflow's settings are in AIRFLOW_HOME/airflow.cfg, so no secret is in here.
        """
        return self.parts.airflow.environment()

    def airflow_url(self) -> str:
        """Without a slash at its end."""
        return self.parts.airflow.url()

    def airflow_login(self, user: str = ADMIN) -> tuple[str, str]:
        """User and password for the API and the UI."""
        return user, self.parts.credentials.airflow_passwords[user]

    def _step(self, server: Server) -> Callable[[], None]:
        def step() -> None:
            started = time.monotonic()
            done = server.up()
            where = f"{server.address}:{server.port}" if server.port else ""
            took_seconds = time.monotonic() - started
            self._report(f"{server.name:<14} {done:<14} {took_seconds:5.1f} s  {where}".rstrip())

        return step

    def _stop_step(self, server: Server, *, at_once: bool = False) -> Callable[[], None]:
        def step() -> None:
            done = "stopped" if server.down(at_once=at_once) else "was not running"
            self._report(f"{server.name:<14} {done}")

        return step

    def _server(self, name: str) -> Server:
        for server in self.parts.servers:
            if server.name == name:
                return server
        names = ", ".join(server.name for server in self.parts.servers)
        raise LabError(f"lab: no server {name!r}. There are: {names}.")

    def _was_ever_up(self) -> bool:
        return (self.lab_dir / "credentials.json").exists()

    def _make_lab_dir(self) -> None:
        try:
            self.lab_dir.mkdir(parents=True, exist_ok=True)
            # The lab's user has to pass through a folder of root's, and sees nothing in it.
            self.lab_dir.chmod(0o711 if os.geteuid() == 0 else 0o700)
        except OSError as error:
            raise LabError(
                f"{self.lab_dir}: the lab cannot be written there ({error.strerror}).\n"
                f"Set CLUSTERBENCH_LAB_DIR to a folder of yours. (A lab made by root stays root's.)"
            ) from error
        accounts.require_reachable(accounts.server_account(), self.lab_dir)
        for folder in (self.layout.records_dir, self.lab_dir / "hosts"):
            folder.mkdir(exist_ok=True)
            folder.chmod(self.lab_dir.stat().st_mode & 0o777)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One `up` or `down` at a time; the second waits, then reads afresh what the first has decided."""
        path = self.lab_dir / "lock"
        try:
            file = path.open("a+")
        except OSError as error:
            raise LabError(f"{path}: cannot be opened ({error.strerror}). Run `clusterbench lab up` first.") from error
        with file:
            _wait_for_lock(file.fileno(), path)
            file.seek(0)
            file.truncate()
            file.write(f"{os.getpid()}\n")
            file.flush()
            self._load()
            yield


class _Parts:
    """The servers of one lab, made from its layout and credentials."""

    def __init__(self, layout: Layout, environment: Mapping[str, str], *, partitions: bool) -> None:
        own = Credentials.load_or_make(layout.lab_dir / "credentials.json")
        self.credentials = own
        self.account = account = accounts.server_account()
        left_out = () if partitions else PARTITIONS
        self.hosts = [SshHost(name, layout, account) for name in HOSTS if name not in left_out]
        # Older labs have passwords of these two only to make the others with.
        passwords = dict.fromkeys(DATABASE_HOSTS, own.db1_password) | {"db2": own.db2_password}
        settings = dict.fromkeys(DATABASE_HOSTS, BENCH_SETTINGS) | dict.fromkeys((NATIVE, VM64), OLTP_SETTINGS)
        settings |= dict.fromkeys(RETAIL_HOSTS, RETAIL_SETTINGS)
        self.databases = [
            Postgres(f"{host}_postgres", host, layout, account, password=passwords[host], settings=settings[host])
            for host in DATABASE_HOSTS
            if host not in left_out
        ]
        self.limits = Limits(layout.lab_dir)
        self.s3 = S3Server(layout, account, own)
        self.hadoop = HadoopJars(layout, account)
        self.metadata = Postgres(
            "metadata", "metadata", layout, account, password=own.metadata_password, settings=METADATA_SETTINGS
        )
        self.airflow = Airflow(layout, own, self.metadata, environment)
        self.vcenter = VCenter(layout, account, own)
        self.guests = GuestFollower(layout, account)

    @property
    def outer_servers(self) -> list[Server]:
        return [*self.hosts, *self.databases, self.s3]

    @property
    def servers(self) -> list[Server]:
        optional = [self.vcenter, self.guests] if self.vcenter.was_started() else []
        return [*self.outer_servers, self.metadata, *self.airflow.components, *optional]


def _in_parallel(steps: list[Callable[[], None]]) -> None:
    """All at once; when some fail the others still finish, and all failures are told."""
    with ThreadPoolExecutor(len(steps)) as pool:
        futures: list[Future[None]] = [pool.submit(step) for step in steps]
    errors = [error for future in futures if (error := future.exception()) is not None]
    unexpected = [error for error in errors if not isinstance(error, LabError)]
    if unexpected:
        raise unexpected[0]
    if errors:
        raise LabError("\n\n".join(str(error) for error in errors))


def _wait_for_lock(descriptor: int, path: Path) -> None:
    deadline = time.monotonic() + _LOCK_LIMIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                holder = path.read_text().strip()
                raise LabError(
                    f"{path}: another `clusterbench lab` (process {holder}) has been at work for "
                    f"{_LOCK_LIMIT_SECONDS:.0f} s. Wait for it, or see what it does: ps -fp {holder}"
                ) from None
            time.sleep(0.2)
