"""Airflow's four processes, on 127.0.0.1, with their configuration and metadata.

Each is started by a shell that starts it again when it ends by itself (include/lab/keep_running.sh): the scheduler ends
when its database is restarted. The record is of that shell, so what is stopped stays stopped.

All settings stand in airflow.cfg, secrets too: so they are in one file only its owner may read, and in no
environment and on no command line. AIRFLOW_HOME alone leads there.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from clusterbench.airflow.api import PASSWORDS_FILE
from clusterbench.base.errors import LabError
from clusterbench_lab import processes
from clusterbench_lab.account import myself, write_private
from clusterbench_lab.airflow_preloaded import DAG_PROCESSOR
from clusterbench_lab.credentials import AIRFLOW_USERS, Credentials
from clusterbench_lab.layout import PROJECT_DIR, TEMPLATES_DIR, Layout
from clusterbench_lab.postgres import Postgres
from clusterbench_lab.processes import Record
from clusterbench_lab.server import RecordedServer, ServerStatus, fingerprint, tail, template

ADDRESS = "127.0.0.1"
_MIGRATION_LIMIT_SECONDS = 300
KEEP_RUNNING = TEMPLATES_DIR / "keep_running.sh"

# Log servers would listen on every address, and nobody needs them: tasks and API server share a disk here.
_COMMANDS = {
    "api-server": ["api-server"],
    "scheduler": ["scheduler", "--skip-serve-logs"],
    DAG_PROCESSOR: [DAG_PROCESSOR],
    "triggerer": ["triggerer", "--skip-serve-logs"],
}
COMPONENTS = tuple(_COMMANDS)
API_SERVER, SCHEDULER = "api-server", "scheduler"


class Airflow:
    """What the four have in common; `prepare` must have run before one of them is started."""

    def __init__(
        self, layout: Layout, credentials: Credentials, metadata: Postgres, own_environment: Mapping[str, str]
    ) -> None:
        self.layout = layout
        self.account = myself()  # it has to read the project, wherever that lies
        self.credentials = credentials
        self.metadata = metadata
        self.dir = layout.airflow_dir
        self.own_environment = own_environment
        self.components = [AirflowComponent(name, self) for name in COMPONENTS]

    def environment(self) -> dict[str, str]:
        local = f"127.0.0.1,localhost,{self.layout.address('s3')}"
        others = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
        no_proxy = f"{others},{local}" if others else local
        return {
            "AIRFLOW_HOME": str(self.dir),
            "CLUSTERBENCH_LAB_DIR": str(self.layout.lab_dir),
            "CLUSTERBENCH_PLATFORMS": os.environ.get("CLUSTERBENCH_PLATFORMS", "!compose_*"),
            "GX_ANALYTICS_ENABLED": "false",
            "no_proxy": no_proxy,
            "NO_PROXY": no_proxy,
            **self.own_environment,
        }

    def process_environment(self) -> dict[str, str]:
        """The caller's environment without its own Airflow settings, which would outdo airflow.cfg.

        Nor with a container's word to keep no compiled Python: each task would compile all of clusterbench again.
        """
        dropped = ("AIRFLOW_", "GX_", "PYTHONDONTWRITEBYTECODE")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        path = f"{Path(sys.executable).parent}:{kept.get('PATH', '/usr/bin:/bin')}"
        return {**kept, **self.environment(), "PATH": path, "PYTHONUNBUFFERED": "1"}

    def url(self) -> str:
        return f"http://{ADDRESS}:{self.layout.port(API_SERVER)}"

    def configuration(self) -> str:
        own = self.credentials
        metadata = self.metadata
        address = f"{metadata.address}:{metadata.port}/{metadata.settings.role}"
        values = {
            "dags_dir": PROJECT_DIR / "dags",
            "plugins_dir": PROJECT_DIR / "plugins",
            "airflow_dir": self.dir,
            "users": ",".join(f"{user}:{user}" for user in AIRFLOW_USERS),
            "passwords": PASSWORDS_FILE,
            "connections_file": self.layout.connections_file,
            "port": self.layout.port(API_SERVER),
            "fernet_key": own.airflow_fernet_key,
            "api_secret_key": own.airflow_api_secret_key,
            "jwt_secret": own.airflow_jwt_secret,
            "metadata_url": f"postgresql+psycopg2://{metadata.settings.role}:{metadata.password}@{address}",
        }
        # airflow.cfg gives % a meaning of its own.
        return template("airflow.cfg", {key: str(value).replace("%", "%%") for key, value in values.items()})

    def prepare(self) -> None:
        """Choose the port, write airflow.cfg, bring the metadata to this version of Airflow."""
        self.account.make_directory(self.dir)
        api_server = next(server for server in self.components if server.name == API_SERVER)
        if api_server.pid() is None:
            api_server.clear_remains()
            self.layout.claim_port(API_SERVER, "airflow", ADDRESS)
        write_private(self.dir / "airflow.cfg", self.configuration())
        write_private(self.dir / PASSWORDS_FILE, json.dumps(self.credentials.airflow_passwords) + "\n")
        self._migrate()

    def health(self) -> dict[str, Any]:
        """What Airflow says of its parts; empty when the API server does not answer."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.url()}/api/v2/monitor/health", timeout=5.0) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except (OSError, ValueError):
            return {}

    def _migrate(self) -> None:
        stamp = self.metadata.host_dir / "airflow_version"
        version = importlib.metadata.version("apache-airflow")
        if stamp.exists() and stamp.read_text() == version:
            return
        log = self.dir / "migrate.log"
        with log.open("w") as output:
            done = subprocess.run(
                [airflow_program(), "db", "migrate"],
                env=self.process_environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_MIGRATION_LIMIT_SECONDS,
                check=False,
            )
        if done.returncode != 0:
            raise LabError(f"airflow db migrate failed. Last lines of {log}:\n{tail(log, 15)}")
        write_private(stamp, version)


class AirflowComponent(RecordedServer):
    kind = "airflow"
    ready_limit_seconds = 120.0  # four of them import Airflow at once, perhaps on one core
    stop_grace_seconds = 8.0  # the scheduler would wait for running tasks for as long as they take

    def __init__(self, name: str, airflow: Airflow) -> None:
        super().__init__(name, airflow.layout, airflow.account, ADDRESS)
        self.airflow = airflow

    @property
    def port(self) -> int:
        return self.layout.port(API_SERVER) if self.name == API_SERVER else 0

    @property
    def log_file(self) -> Path:
        return self.airflow.dir / f"{self.name}.log"

    @property
    def pid_file(self) -> Path:
        """Written by the shell whenever it has started the part."""
        return self.record_file.with_suffix(".pid")

    def prepare(self) -> str:
        return fingerprint(self.airflow.configuration(), KEEP_RUNNING.read_text(), *self._command())

    def pid(self) -> int | None:
        """Of Airflow's process, a child of the shell that is recorded; None while it waits to start it again."""
        record = Record.load(self.record_file)
        if record is None or not record.is_alive():
            return None
        with contextlib.suppress(OSError, ValueError):
            facts = processes.facts_of(int(self.pid_file.read_text()))
            if facts is not None and facts.parent_pid == record.pid and not facts.is_ending():
                return facts.pid
        return None

    def ended_by_itself(self) -> bool:
        """At its start: its first end is told, though it is tried again."""
        record = Record.load(self.record_file)
        is_begun = self.pid_file.exists() or record is None or not record.is_alive()
        return is_begun and self.pid() is None

    def status(self) -> ServerStatus:
        found = super().status()
        record = Record.load(self.record_file)
        if found.state == "died" and record is not None and record.is_alive():
            detail = f"ended by itself and is started again; see {self.log_file}"
            return replace(found, state="starting", detail=detail)
        last = tail(self.log_file, 1).strip() if found.state == "died" else ""
        return replace(found, detail=f"{last}; {found.detail}") if last.startswith(KEEP_RUNNING.stem) else found

    def claim(self) -> None:
        """The port is in airflow.cfg, so `Airflow.prepare` has chosen it for all of them."""

    def clear_remains(self) -> None:
        record = Record.load(self.record_file)
        if record is not None and not record.is_alive():
            processes.stop(record, grace_seconds=0, orderly=False)

    def start(self, fingerprint: str) -> Record:
        self.pid_file.unlink(missing_ok=True)
        return processes.spawn(
            [str(KEEP_RUNNING), str(self.pid_file), *self._command()],
            account=self.account,
            environment=self.airflow.process_environment(),
            log_file=self.log_file,
            cwd=self.airflow.dir,
            fingerprint=fingerprint,
        )

    def _command(self) -> list[str]:
        """Tasks begin with what the scheduler has imported, and DAG files are read with what their processor has."""
        preloaded = [sys.executable, "-m", "clusterbench_lab.airflow_preloaded"]
        is_parent = self.name in (SCHEDULER, DAG_PROCESSOR)
        return [*(preloaded if is_parent else [airflow_program()]), *_COMMANDS[self.name]]

    def is_ready(self) -> bool:
        """Healthy, by a heartbeat of this process: the one before it counts as healthy for 20 s after its death."""
        if self.pid() is None:
            return False
        health = self.airflow.health()
        if self.name == API_SERVER:
            return bool(health)
        key = self.name.replace("-", "_")
        part = health.get(key) or {}
        heartbeat = part.get(f"latest_{key}_heartbeat")
        if part.get("status") != "healthy" or heartbeat is None:
            return False
        started = self.pid_file.stat().st_mtime
        return datetime.fromisoformat(heartbeat).timestamp() >= started


def airflow_program() -> str:
    path = Path(sys.executable).parent / "airflow"
    if not path.exists():
        raise LabError(f"{path} is missing: no Airflow beside {sys.executable}. Run `make setup`.")
    return str(path)
