"""No DAG: mistakes in this project's files, raised here so that Airflow's UI shows them as an import error.

They are not raised in benchmarks.py, because there one broken file would take down every DAG.
"""

from __future__ import annotations

from clusterbench.airflow.dag_files import dags_of

dags_of(__file__, "problems")
