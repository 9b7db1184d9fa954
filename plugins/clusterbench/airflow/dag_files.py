"""The DAG files that come with clusterbench, for the ``dags`` folder of a project of one's own.

Airflow reads only its own ``dags`` folder. A project has short files there that call ``dags_of``; the sequence itself
is in ``dags/benchmarks.py`` of what is built in, and changes with the version that is installed.
"""

from __future__ import annotations

import os
import runpy
from collections.abc import Sequence
from pathlib import Path

from airflow.sdk import DAG, get_parsing_context

from clusterbench.base.errors import SpecError
from clusterbench.base.paths import PROJECT_FILE, ROOT, built_in_root, project_around
from clusterbench.spec.project import name_of_dag

OF_EXPERIMENTS = "benchmarks"


def dags_of(own_file: str, *names: str) -> dict[str, DAG]:
    """The DAGs of these built-in files, by their ids, with what the project of ``own_file`` declares.

    Airflow reads each DAG file in a process of its own, and so runs each task: from here on that process knows this
    project alone. So several projects may lie in one ``dags`` folder. Raises SpecError where there is no project.
    """
    here = Path(own_file).resolve()
    root = project_around(here)
    if root is None:
        raise SpecError([f"{here}: no folder above it has a {PROJECT_FILE}; 'clusterbench init' makes one"])
    os.environ[ROOT] = str(root)
    defined = [runpy.run_path(str(built_in_root() / "dags" / f"{name}.py")) for name in _needed(names)]
    return {value.dag_id: value for each in defined for value in each.values() if isinstance(value, DAG)}


def _needed(names: Sequence[str]) -> Sequence[str]:
    """Of a task's process the file of its DAG: each file but that of the experiments is called as the DAG in it."""
    asked = get_parsing_context().dag_id
    if asked is None:
        return names
    name = name_of_dag(asked)
    return [name] if name in names else [one for one in names if one == OF_EXPERIMENTS]
