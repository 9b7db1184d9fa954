"""Airflow with clusterbench already imported, for the two of its servers that fork a process for each thing they do.

The scheduler forks each task from itself. Great Expectations alone takes five seconds to import, and two tasks of every
run need it. The DAG processor forks a process for each DAG file, every minute, beside whatever is measured. Importing
clusterbench takes half a second of each, and every task reads its DAG file again. So the files are read once before,
and what they declare is kept. What is edited is seen by the next one: its process forgets the modules, and reads them
again.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from clusterbench_lab.layout import PROJECT_DIR

OF_TASKS = (
    "great_expectations",
    "pandas",
    "scipy.stats",
    "matplotlib.figure",
    "asyncssh",
    "boto3",
    "duckdb",
    "psycopg",
    "airflow.providers.standard.decorators.sensor",
    "clusterbench.run.steps",
    "clusterbench.engines.postgres.engine",
)
"""With all that these import."""
OF_DAG_PROCESSOR = ("airflow.dag_processing.dagbag",)
DAG_FILES = PROJECT_DIR / "dags"
DAG_PROCESSOR = "dag-processor"
"""Airflow's name of it, the first argument."""
WATCHED = (PROJECT_DIR / "plugins" / "clusterbench", PROJECT_DIR / "include")
"""Modules, and the scripts that some of them read when they are imported."""
OBJECTS_BETWEEN_COLLECTIONS = (50_000, 20, 20)
"""A task's process imports much and lives for seconds: with Python's own 700, a tenth of its start is collecting."""


def edited() -> int:
    """When a file of those was last written, in nanoseconds. One that is gone is not missed."""
    return max(
        Path(folder, name).stat().st_mtime_ns
        for watched in WATCHED
        for folder, _, names in os.walk(watched)
        for name in names
        if not name.endswith(".pyc")  # Python's own
    )


def forget_if_edited(since: int) -> None:
    """In a new process, before it has used anything."""
    with contextlib.suppress(OSError):  # a file went away meanwhile: somebody edits
        if edited() <= since:
            return
    for name in [name for name in sys.modules if name.partition(".")[0] == "clusterbench"]:
        del sys.modules[name]


def import_early(modules: Sequence[str]) -> None:
    """What the processes that are forked will need. What cannot be imported is theirs to tell."""
    for module in modules:
        with contextlib.suppress(Exception):  # it is not installed, or somebody is in the middle of an edit
            importlib.import_module(module)
    for file in sorted(DAG_FILES.glob("*.py")):  # each workload, engine, experiment and platform is read by that
        with contextlib.suppress(Exception):  # as above
            runpy.run_path(str(file))
    if "boto3" in sys.modules:  # what it knows of S3 is read from files, once for all of its clients
        sys.modules["boto3"].client("s3", region_name="us-east-1")


if __name__ == "__main__":
    before = edited()
    import_early(OF_DAG_PROCESSOR if DAG_PROCESSOR in sys.argv[1:2] else OF_TASKS)
    os.register_at_fork(after_in_child=lambda: forget_if_edited(before))
    gc.set_threshold(*OBJECTS_BETWEEN_COLLECTIONS)
    runpy.run_module("airflow", run_name="__main__", alter_sys=True)
