"""Airflow with the libraries that our tasks use already imported, for a scheduler that forks each task from itself.

Great Expectations alone takes five seconds, and two tasks of every run need it. Nothing of clusterbench is imported
here: what is edited shall be seen by the next task.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import runpy

LIBRARIES = (
    "great_expectations",
    "pandas",
    "scipy.stats",
    "matplotlib.figure",
    "asyncssh",
    "boto3",
    "duckdb",
    "psycopg",
    "airflow.providers.standard.decorators.sensor",
)
OBJECTS_BETWEEN_COLLECTIONS = (50_000, 20, 20)
"""A task's process imports much and lives for seconds: with Python's own 700, a tenth of its start is collecting."""

if __name__ == "__main__":
    for library in LIBRARIES:
        with contextlib.suppress(ImportError):  # the task that needs it says so
            importlib.import_module(library)
    with contextlib.suppress(ImportError):  # what boto3 knows of S3 is read from files, once for all of its clients
        importlib.import_module("boto3").client("s3", region_name="us-east-1")
    gc.set_threshold(*OBJECTS_BETWEEN_COLLECTIONS)
    runpy.run_module("airflow", run_name="__main__", alter_sys=True)
