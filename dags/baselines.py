"""Questions: a result is a regression; is its new level to be the baseline that later weeks are compared with?

The weekly run starts this DAG when it finds a regression. Each question is one mapped task. Whoever may edit this DAG
(of Airflow's four simple roles user, op and admin) answers it in the UI under *Required Actions*. Without an answer
within six days nothing is accepted, and the next weekly run asks again. Who answered what and when is archived. See
docs/journeys/mail.md.
"""

from __future__ import annotations

from airflow.sdk import DAG

from clusterbench.airflow import baseline_tasks, tasks
from clusterbench.spec.project import dag_id

with DAG(
    dag_id("baselines"),
    dag_display_name="Questions about baselines",
    doc_md=__doc__,
    schedule=None,
    catchup=False,
    max_active_runs=16,  # questions stay open for days, and a weekly run started by Trigger may ask others meanwhile
    params=baseline_tasks.form(),
    default_args=tasks.DEFAULTS,
    tags=tasks.tags(),
) as dag:
    baseline_tasks.AskForBaseline.partial(task_id="question", map_index_template="{{ task.subject }}").expand_kwargs(
        baseline_tasks.questions()
    )
