"""The slow libraries, which ``beside.py`` has imported once, and no module of clusterbench."""

import contextlib
import importlib

for name in (
    *("airflow.sdk", "airflow.dag_processing.dagbag", "airflow.models.dagrun", "airflow.providers.standard"),
    *(
        "airflow.sdk.execution_time.task_runner",
        "airflow.serialization.definitions.dag",
        "airflow.api_fastapi.execution_api.app",
    ),
    *("great_expectations", "pandas", "matplotlib.pyplot", "scipy.stats", "duckdb", "boto3", "asyncssh", "psycopg"),
):
    with contextlib.suppress(ImportError):  # what needs it imports it again, and says so
        importlib.import_module(name)
