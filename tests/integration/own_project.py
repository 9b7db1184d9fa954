"""A user of a released clusterbench: an empty folder, a virtual environment, and an Airflow started as it says itself.

Nothing of this looks into the clone, but that the wheel is built from it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from clusterbench.airflow.api import PASSWORDS_FILE
from clusterbench.base.archive import Store
from clusterbench.base.connections import from_file
from clusterbench_lab import Lab
from clusterbench_lab.layout import PROJECT_DIR

UV = Path(sys.executable).parent / "uv"
OLDEST = Path(__file__).parent / "airflow_3_1.txt"
"""What Airflow 3.1 was released with, of all that either of the two needs: its own constraints, in short."""
NEWEST = Path(__file__).parent / "airflow_newest.txt"
"""What keeps the newest Airflow from what no release of boto3 works with, as its own constraints do."""
EARLIER = Path(__file__).parents[1] / "fixtures/releases/0.1.0.tar.gz"
"""What a user of 0.1.0 had after a first run, by its wheel: the project, the archive, and a dump of the history."""
EXTRAS = "worker,ui,generators"
PLATFORM = """\
platform: ours
title: Our database
engine: postgres
cluster: ours
may: [restart, evict, session_settings]
database: ours_postgres
hosts:
  client: {ssh: ours_client, roles: [client]}
  db: {ssh: ours_db, roles: [coordinator]}
page_cache: evict_files
"""
CONNECTIONS = {"ours_client": "lab_client", "ours_db": "lab_db1", "ours_postgres": "lab_db1_postgres"}
"""The user's -> the lab's, whose servers are the user's own."""
ARCHIVE, HISTORY = "clusterbench_archive", "clusterbench_history"
WITH_ROLES = "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager"
STRANGER, PASSWORD = "stranger", "of-the-tests"
OF_EVERYBODY = {
    "Website": "can_read",
    "Plugins": "can_read",  # else the menu does not lead to the pages of results
    "DAG Runs": "can_read,can_create,can_edit",
    "Task Instances": "can_read,can_edit",
    "Task Logs": "can_read",
    "XComs": "can_read",
    "Pools": "can_read",  # the command line looks whether they are there
    "HITL Detail": "can_read,can_edit",
}
"""What a team's role has beside its DAGs: resource -> actions. Of a DAG's runs only those of its own DAGs are meant."""
TEAM = """\
dag_prefix: {team}_
connections: {{clusterbench_archive: {team}_archive, clusterbench_history: {team}_history}}
"""
"""What a project's file has more, where another one is in the same Airflow."""


def wheel(into: Path) -> Path:
    command = [str(UV), "build", "--quiet", "--wheel", "--no-build-isolation", "--out-dir", str(into), str(PROJECT_DIR)]
    environment = {**os.environ, "PATH": f"{UV.parent}:{os.environ['PATH']}", "VIRTUAL_ENV": str(UV.parent.parent)}
    subprocess.run(command, check=True, env=environment)
    (made,) = into.glob("*.whl")
    return made


@dataclass(frozen=True)
class User:
    """``folder`` holds a virtual environment, Airflow's home, and below ``projects`` a project for each team."""

    folder: Path
    port: int
    logs: int
    """The first of two ports on which Airflow's parts show their logs."""
    teams: Sequence[str]
    earlier: Path | None = None
    """What the only team has of an earlier release."""

    def project(self, team: str) -> Path:
        return self.folder / "projects" / team

    @property
    def dags(self) -> Path:
        """That of the only project, or a folder with all of them."""
        return self.folder / "projects" if len(self.teams) > 1 else self.project(*self.teams) / "dags"

    def dag_id(self, team: str, name: str) -> str:
        return f"{team}_{name}" if len(self.teams) > 1 else name

    def pages(self, team: str) -> str:
        return f"/bench/{team}/" if len(self.teams) > 1 else "/bench/"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def passwords(self) -> dict[str, str]:
        file = self.folder / "airflow" / PASSWORDS_FILE
        return dict(json.loads(file.read_text())) if file.exists() else {}

    def environment(self) -> dict[str, str]:
        """None of the caller's own, so that nothing leads into the clone."""
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "SSL_CERT_FILE", "no_proxy") if name in os.environ}
        kept |= {name: value for name, value in os.environ.items() if name.startswith(("UV_", "PIP_"))}
        return {
            **kept,
            "PATH": f"{self.folder}/venv/bin:/usr/local/bin:/usr/bin:/bin",
            "AIRFLOW_HOME": str(self.folder / "airflow"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags),
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(self.port),
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(self.logs),
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(self.logs + 1),
            "AIRFLOW__SECRETS__BACKEND": "clusterbench.airflow.connections_file.ConnectionsFile",
            "AIRFLOW__SECRETS__BACKEND_KWARGS": json.dumps(
                {"connections_file_path": str(self.folder / "connections.json")}
            ),
            "CLUSTERBENCH_AIRFLOW_URL": self.url,
            "CLUSTERBENCH_AIRFLOW_USER": "admin",
            "CLUSTERBENCH_AIRFLOW_PASSWORD": self.passwords.get("admin", ""),
            "GX_ANALYTICS_ENABLED": "false",
        }

    def run(self, *command: object, team: str = "", timeout_s: float = 600) -> str:
        """What it prints, in the folder of the team's project. Fails with all of it."""
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self.project(team) if team else self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=timeout_s,
        )
        assert done.returncode == 0, f"{command}:\n{done.stdout[-6000:]}"
        return done.stdout

    def packages(self) -> dict[str, str]:
        listed = json.loads(self.run(UV, "pip", "list", "--python", "venv/bin/python", "--format", "json", "--quiet"))
        return {one["name"]: one["version"] for one in listed}

    def install(self, *packages: object, constraints: Path) -> None:
        self.run(UV, "pip", "install", "-q", "--python", "venv/bin/python", "-c", constraints, *packages)


def airflow_installed(user: User, version: str, constraints: Path) -> dict[str, str]:
    """As Airflow's documentation has it: the packages by name, before clusterbench is one of them."""
    user.run(UV, "venv", "-q", "--python", sys.executable, "venv")
    user.install(f"apache-airflow[postgres,ssh]{version}", constraints=constraints)
    return user.packages()


def clusterbench_installed(user: User, made: Path, airflow: Mapping[str, str]) -> None:
    """Beside what is there, of which nothing may change."""
    frozen = user.folder / "frozen.txt"
    frozen.write_text("".join(f"{name}=={version}\n" for name, version in airflow.items()))
    user.install(f"clusterbench[{EXTRAS}] @ {made.as_uri()}", constraints=frozen)


def otava_installed(user: User) -> None:
    """As the documentation has it, where Airflow's constraints are kept."""
    user.run(UV, "pip", "install", "-q", "--python", "venv/bin/python", "--no-deps", "apache-otava")


def files_of(release: Path, project: Path) -> None:
    """The project as ``init`` of that release has made it, with the version that it was checked with."""
    project.mkdir(parents=True)
    with tarfile.open(release) as packed:
        members = [each for each in packed if each.name.startswith("project/")]
        for each in members:
            each.name = each.name.removeprefix("project/")
        packed.extractall(project, members, filter="data")


def measured_by(release: Path, user: User) -> None:
    """Archive and history as a run by that release has left them, of the only team."""
    connections = from_file(user.folder / "connections.json")
    with tempfile.TemporaryDirectory() as folder, tarfile.open(release) as packed:
        packed.extractall(folder, filter="data")
        history = connections(HISTORY)
        address = ["-h", history.host, "-p", str(history.port), "-U", history.login, history.schema]
        command = ["psql", "-q", "-o", "/dev/null", "-v", "ON_ERROR_STOP=1", *address, "-f", f"{folder}/history.sql"]
        subprocess.run(command, check=True, env={**os.environ, "PGPASSWORD": history.password})
        store, archive = Store.of(connections(ARCHIVE)), Path(folder) / "archive"
        for file in filter(Path.is_file, archive.rglob("*")):
            store.put_new(str(file.relative_to(archive)), file.read_bytes(), "application/octet-stream")


def declared(user: User, lab: Lab) -> None:
    """Each team's platform, and all connections: for Airflow, and for the command line in each project."""
    known = json.loads((lab.lab_dir / "connections.json").read_text())
    ours = {name: known[of_lab] for name, of_lab in CONNECTIONS.items()}
    for team in user.teams:
        project = user.project(team)
        (project / "include/platforms/ours.yaml").write_text(PLATFORM)
        is_alone = len(user.teams) == 1
        if not is_alone:
            with (project / "clusterbench.yaml").open("a") as file:
                file.write(TEAM.format(team=team))
        history = f"history_{user.port}_{team}"  # empty: the tables are made by the team's first run
        lab.parts.metadata.make_database_of(history, "of-the-user")
        own = {"login": history, "password": "of-the-user", "schema": history}
        ours[HISTORY if is_alone else f"{team}_history"] = known[HISTORY] | own
        extra = {**known[ARCHIVE]["extra"], "prefix": f"user_{user.port}/{team}/"}
        ours[ARCHIVE if is_alone else f"{team}_archive"] = known[ARCHIVE] | {"extra": extra}
    for folder in (user.folder, *map(user.project, user.teams)):
        (folder / "connections.json").touch(mode=0o600)
        (folder / "connections.json").write_text(json.dumps(ours))


def given_roles(user: User) -> None:
    """Each team a role of its name, which has its DAGs and nobody else's, and a login with that role; a stranger none.

    By Airflow's auth manager with roles, as our page has it.
    """
    user.install("apache-airflow-providers-fab", constraints=NEWEST)
    airflow = ("env", f"AIRFLOW__CORE__AUTH_MANAGER={WITH_ROLES}", "airflow")
    user.run(*airflow, "db", "migrate")
    user.run(*airflow, "sync-perm", "--include-dags")
    entries = [
        {"name": team, "resource": resource, "action": action}
        for team in user.teams
        for resource, action in {**OF_EVERYBODY, **dict.fromkeys(_dags_of(user, team), "can_read,can_edit")}.items()
    ]
    (user.folder / "roles.json").write_text(json.dumps(entries))
    user.run(*airflow, "roles", "import", user.folder / "roles.json")
    for name in (*user.teams, STRANGER):
        role = name if name in user.teams else "Public"
        person = ["--firstname", name, "--lastname", name, "--email", f"{name}@example.com", "--role", role]
        user.run(*airflow, "users", "create", "--username", name, "--password", PASSWORD, *person)


def _dags_of(user: User, team: str) -> list[str]:
    return [f"DAG:{user.dag_id(team, name)}" for name in ("smoke", "key_value", "weekly", "baselines", "remarks")]


def standalone(user: User) -> AbstractContextManager[None]:
    """``airflow standalone``, with all that it starts."""
    return _started(user, ["standalone"], {})


def api_server_with_roles(user: User, port: int) -> AbstractContextManager[None]:
    """Another API server of the same Airflow, to which people log in by their roles."""
    url = f"http://127.0.0.1:{port}"
    changed = {"AIRFLOW__CORE__AUTH_MANAGER": WITH_ROLES, "AIRFLOW__API__PORT": str(port)}
    return _started(user, ["api-server"], {**changed, "AIRFLOW__API__BASE_URL": url})


@contextmanager
def _started(user: User, command: Sequence[str], changed: Mapping[str, str]) -> Iterator[None]:
    """Ended with its group."""
    log = user.folder / f"{command[0]}.log"
    with log.open("w") as output:
        started = subprocess.Popen(
            ["airflow", *command],
            env=user.environment() | changed,
            cwd=user.folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield
    finally:
        for kind in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(started.pid, kind)
                started.wait(30)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
