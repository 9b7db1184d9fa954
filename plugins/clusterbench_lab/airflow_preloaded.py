"""Airflow with the libraries that our tasks use already imported, for a scheduler that forks each task from itself.

Great Expectations alone takes five seconds, and two tasks of every run need it. Nothing of clusterbench is imported
here: what is edited shall be seen by the next task.
"""

from __future__ import annotations

import contextlib
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

if __name__ == "__main__":
    for library in LIBRARIES:
        with contextlib.suppress(ImportError):  # the task that needs it says so
            importlib.import_module(library)
    runpy.run_module("airflow", run_name="__main__", alter_sys=True)
