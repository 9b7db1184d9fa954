"""Questions about baselines: a result got worse; should later weeks be compared with the new level?

The weekly run starts this DAG when it finds a regression. Each question is one mapped task. Answer it in the UI under
*Required Actions*; everybody who may edit this DAG can answer (of Airflow's four simple roles: user, op and admin). If
nobody answers within six days, nothing is accepted. Each answer is archived with name and time.
"""

from __future__ import annotations

from airflow.sdk import DAG

from clusterbench.airflow import baseline_tasks, forms, tasks
from clusterbench.spec.project import dag_id

with DAG(
    dag_id("baselines"),
    dag_display_name="Questions about baselines",
    doc_md=__doc__,
    schedule=None,
    catchup=False,
    max_active_runs=16,  # questions stay open for days, and another weekly run may ask more during that time
    params=baseline_tasks.form(),
    default_args=tasks.DEFAULTS,
    tags=forms.tags(),
) as dag:
    baseline_tasks.AskForBaseline.partial(task_id="question", map_index_template="{{ task.subject }}").expand_kwargs(
        baseline_tasks.questions()
    )
