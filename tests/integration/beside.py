"""A command of another copy of the project, in a process of its own that begins with the slow libraries imported.

Each command of a tutorial would else import Great Expectations and Airflow anew: seconds each, and proving nothing.
Nothing of clusterbench is imported here before the copy's is.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LIMIT_S = 500
"""What is waited for comes long before, or never."""


def clusterbench(
    arguments: Sequence[str],
    project: Path,
    environment: Mapping[str, str],
    printed: Path,
    code: Path | None = None,
) -> int:
    """The exit status of ``clusterbench …`` of the ``project``; what it prints is in the file ``printed``.

    ``code``: the clone whose clusterbench it is, where the project is one of somebody's own.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.integration.preloaded"])
    process = context.Process(
        target=_command, args=(list(arguments), project, dict(environment), printed, code or project)
    )
    process.start()
    process.join(LIMIT_S)
    if process.is_alive():
        process.kill()
        raise AssertionError(f"clusterbench {' '.join(arguments)}: not within {LIMIT_S} s\n{printed.read_text()}")
    return int(process.exitcode or 0)


def _command(arguments: list[str], project: Path, environment: dict[str, str], printed: Path, code: Path) -> None:
    out = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.stdout = os.fdopen(1, "w", buffering=1)
    sys.stderr = os.fdopen(2, "w", buffering=1)
    os.chdir(project)
    os.environ.update(environment)
    sys.path.insert(0, str(code / "plugins"))
    from clusterbench.airflow import api
    from clusterbench.cli import main

    assert str(code) in main.__file__
    api.AirflowApi = AirflowHere  # type: ignore[assignment, misc]
    status = main.main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class AirflowHere:
    """Airflow's API as far as ``clusterbench run`` asks it: runs the DAG in this process, as ``dag.test()`` does."""

    url = "http://127.0.0.1:8080"

    def __init__(self) -> None:
        self.run: Any = None

    @classmethod
    def from_environment(cls, _lab_dir: Path) -> AirflowHere:
        return cls()

    def ensure_pools(self, _names: Mapping[str, str]) -> list[str]:
        return []

    def unpause(self, _name: str) -> str:
        return ""

    def trigger(self, dag_id: str, conf: Mapping[str, Any]) -> str:
        """Ends when the run has ended. Airflow's own words go to a file beside what is printed."""
        from airflow.dag_processing.dagbag import DagBag
        from airflow.utils import db

        from airflow import settings

        settings.DAGS_FOLDER = str(Path.cwd() / "dags")
        kept = [os.dup(1), os.dup(2)]
        log = os.open("airflow.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.dup2(log, 1)
            os.dup2(log, 2)
            db.initdb()
            dag = DagBag(Path.cwd() / "dags" / "benchmarks.py").dags[dag_id]
            self.run = dag.test(run_conf=dict(conf))  # type: ignore[attr-defined]
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
        return str(self.run.run_id)

    def dag_run(self, _dag_id: str, _dag_run_id: str) -> dict[str, Any]:
        return {
            "state": str(self.run.state),
            "run_after": self.run.run_after.isoformat(),
        }

    def task_instances(self, _dag_id: str, _dag_run_id: str) -> list[dict[str, Any]]:
        return [
            {
                "task_id": task.task_id,
                "map_index": task.map_index,
                "state": str(task.state),
                "rendered_map_index": task.rendered_map_index,
                "end_date": task.end_date.isoformat() if task.end_date else None,
            }
            for task in self.run.get_task_instances()
        ]
