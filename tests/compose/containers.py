"""Compositions of the tests' own: their names, secrets and ports are nobody else's, and all of it goes again."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clusterbench.airflow.api import AirflowApi
from clusterbench.base.paths import project_root

PROJECT = "clusterbench-test"
ONE_SHOT = {"migrate", "history", "pools"}
"""Services that do their work and end."""


class Composition:
    """``docker-compose`` on a folder's file, under a name of its own. What it printed last is in ``log_file``."""

    def __init__(self, name: str, folder: Path, log_file: Path, environment: Mapping[str, str]) -> None:
        self.name = name
        self.log_file = log_file
        self.port = _free_port()
        self._folder = folder
        self._environment = {
            **os.environ,
            "COMPOSE_PROJECT_NAME": name,
            "AIRFLOW_PORT": str(self.port),
            **environment,
        }
        self._compose = ["docker-compose"] if shutil.which("docker-compose") else ["docker", "compose"]

    def compose(self, *arguments: str, timeout_s: float = 120) -> str:
        return self._run([*self._compose, *arguments], timeout_s=timeout_s)

    def docker(self, *arguments: str) -> str:
        return self._run(["docker", *arguments], timeout_s=60)

    def ids(self) -> dict[str, str]:
        """Service -> id of its container, also of those that have ended."""
        found = self.docker("ps", "-aq", "--no-trunc", "--filter", f"label=com.docker.compose.project={self.name}")
        return {self.inspect(each)["Config"]["Labels"]["com.docker.compose.service"]: each for each in found.split()}

    def inspect(self, container: str) -> dict[str, Any]:
        return dict(json.loads(self.docker("inspect", container))[0])

    def inside(self, service: str, command: str, timeout_s: float = 120) -> str:
        """What a shell command says in a service's container. Raises AssertionError when it fails."""
        return self.compose("exec", "-T", service, "sh", "-c", command, timeout_s=timeout_s)

    def wait_until_well(self, limit_s: float = 240) -> None:
        """Every service healthy, and those that only do something once have done it."""
        deadline = time.monotonic() + limit_s
        while unwell := self._unwell():
            assert time.monotonic() < deadline, f"not well after {limit_s:.0f} s: {unwell}\n{self.logs()[-8000:]}"
            time.sleep(2)

    def _unwell(self) -> dict[str, str]:
        states = {service: self.inspect(each)["State"] for service, each in self.ids().items()}
        found = {
            service: "ended well"
            if service in ONE_SHOT and not state["Running"] and state["ExitCode"] == 0
            else state.get("Health", {}).get("Status", f"{state['Status']}, {state['ExitCode']}")
            for service, state in states.items()
        }
        return {service: said for service, said in found.items() if said not in ("healthy", "ended well")}

    def logs(self) -> str:
        return self.compose("logs", "--no-color")

    def remove(self) -> None:
        """Containers, networks and volumes; images stay, as the cache of the next build."""
        self.compose("down", "--volumes", "--remove-orphans", "--timeout", "5", timeout_s=180)

    def left(self) -> list[str]:
        """What of the composition is still there."""
        kept = f"label=com.docker.compose.project={self.name}"
        listings = (["ps", "-aq"], ["network", "ls", "-q"], ["volume", "ls", "-q"])
        return [each for listing in listings for each in self.docker(*listing, "--filter", kept).split()]

    def _run(self, command: list[str], timeout_s: float) -> str:
        done = subprocess.run(
            command,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        self.log_file.write_text(done.stdout + done.stderr)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout


class Containers(Composition):
    """Those of this project's own file."""

    def __init__(self, folder: Path) -> None:
        self.secrets_dir = folder / "secrets"
        environment = {
            "CLUSTERBENCH_SECRETS": str(self.secrets_dir),
            "DB1_CPUS": "0.75",
            "PATIENCE_MINUTES": "0.5",  # a host that is killed here stays dead
        }
        super().__init__(PROJECT, project_root(), folder / "compose.log", environment)

    def script(self, name: str) -> None:
        """One of ``include/compose``."""
        self._run([str(project_root() / "include" / "compose" / name)], timeout_s=300)

    def clusterbench(self, *arguments: str, timeout_s: float = 120) -> str:
        """The command line, in a container, as the documentation says."""
        return self.compose("run", "--rm", "--no-deps", "-T", "cli", "clusterbench", *arguments, timeout_s=timeout_s)

    def secret(self, name: str) -> str:
        return (self.secrets_dir / name).read_text()

    def api(self) -> AirflowApi:
        return AirflowApi(f"http://127.0.0.1:{self.port}", "admin", self.secret("airflow_admin_password"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
