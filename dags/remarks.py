"""Remarks: a note on a run, an event on the time line, or a number that is not to be judged by any more.

*Trigger* opens the form. What is said is archived with the login of whoever said it. The archive of the run stays as it
is, and what was withdrawn is put back by the same form. It works for those who may edit this DAG (of Airflow's four
simple roles user, op and admin).
"""

from __future__ import annotations

from airflow.sdk import DAG

from clusterbench.airflow import remark_tasks, tasks
from clusterbench.spec.project import dag_id

with DAG(
    dag_id("remarks"),
    dag_display_name="Remarks on runs and days",
    doc_md=__doc__,
    schedule=None,
    catchup=False,
    max_active_runs=1,
    params=remark_tasks.form(),
    default_args=tasks.DEFAULTS,
    tags=tasks.tags(),
) as dag:
    remark_tasks.keep()
