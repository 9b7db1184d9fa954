"""What Airflow shows of this project: a DAG for each experiment, the weekly run, its questions, and remarks.

The sequence of a run comes with clusterbench: dags/benchmarks.py of the version that is installed.
"""

from __future__ import annotations

from clusterbench.airflow.dag_files import dags_of

globals().update(dags_of(__file__, "benchmarks", "weekly", "baselines", "remarks"))
