"""Remarks: add a note to a run or an event to the time line, or withdraw a result, so that verdicts do not use it.

*Trigger* opens the form. Each remark is archived with the login of its author. The archive of the run itself does not
change, and the same form puts back what was withdrawn. Everybody who may edit this DAG can do it (of Airflow's four
simple roles: user, op and admin).
"""

from __future__ import annotations

from airflow.sdk import DAG

from clusterbench.airflow import forms, remark_tasks, tasks
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
    tags=forms.tags(),
) as dag:
    remark_tasks.keep()
