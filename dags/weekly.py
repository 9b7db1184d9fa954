"""The weekly run, as an Airflow DAG: every experiment in turn; one that fails never stops the next.

By the calendar below, in the time zone of CLUSTERBENCH_TIMEZONE (UTC unless set), or by the button in the UI.
"""

from __future__ import annotations

import os
from datetime import timedelta

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG, CronTriggerTimetable, Param

from clusterbench.catalog import Catalog
from clusterbench.paths import project_root
from clusterbench.spec import SCALES

SATURDAY_EVENING = "0 20 * * 6"

with DAG(
    "weekly",
    dag_display_name="Weekly run of all experiments",
    doc_md=__doc__,
    schedule=CronTriggerTimetable(
        SATURDAY_EVENING,
        timezone=os.environ.get("CLUSTERBENCH_TIMEZONE", "UTC"),
        run_immediately=timedelta(0),  # with False, a Saturday of up to 17 hours ago would be made up for, too
    ),
    start_date=None,  # with a date in the past, the last Saturday would be made up for as soon as this is installed
    catchup=False,
    max_active_runs=1,
    params={
        "scale": Param(
            "laptop",
            type="string",
            enum=list(SCALES),
            title="Scale",
            description="smoke: under a minute each, for tests. laptop: minutes. full: the papers' own levels.",
        )
    },
    tags=["benchmark"],
) as dag:
    all_valid = EmptyOperator(task_id="all_valid")  # the only leaf: fails when any experiment failed
    previous = None
    for experiment, _ in Catalog(project_root()).experiments():  # without those with a mistake; problems.py shows it
        run = TriggerDagRunOperator(
            task_id=experiment.experiment,
            trigger_dag_id=experiment.experiment,
            conf={"scale": "{{ params.scale }}"},
            wait_for_completion=True,
            poke_interval=5,
            trigger_rule="all_done",
            retries=0,
        )
        if previous is not None:
            previous >> run
        run >> all_valid
        previous = run
