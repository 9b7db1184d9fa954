"""What ``beside.py`` has imported once: the slow libraries, and the application by which ``dag.test()`` runs tasks."""

import contextlib
import importlib

for name in (
    *("airflow.sdk", "airflow.dag_processing.dagbag", "airflow.models.dagrun", "airflow.providers.standard"),
    *("airflow.sdk.execution_time.task_runner", "airflow.serialization.definitions.dag", "fastapi.testclient"),
    *("great_expectations", "pandas", "matplotlib.pyplot", "scipy.stats", "duckdb", "boto3", "asyncssh", "psycopg"),
):
    with contextlib.suppress(ImportError):  # what needs it imports it again, and says so
        importlib.import_module(name)

execution_api = importlib.import_module("airflow.api_fastapi.execution_api.app").InProcessExecutionAPI
execution_api._app = execution_api().app
