"""The weekly run: every experiment one after the other, then the comparison with earlier weeks, report and mail.

It starts by the calendar below, in the time zone of CLUSTERBENCH_TIMEZONE (UTC unless set), or by *Trigger* in the UI.
An experiment that fails never stops the next one. Results that look worse are measured again at once. The run fails if
an experiment failed, if a result is a regression or has no number, or if a mail could not be sent. The DAG `baselines`
asks whether a new level is the baseline from now on. See docs/operate.md, The weekly run. docs/journeys/mail.md lists
what a red task means.
"""

from __future__ import annotations

import os
from datetime import timedelta

from airflow.sdk import DAG, TaskGroup

from clusterbench.airflow import forms, tasks, weekly_tasks
from clusterbench.airflow.versions import CronTriggerTimetable
from clusterbench.spec.catalog import project_catalog
from clusterbench.spec.project import dag_id

SATURDAY_EVENING = "0 20 * * 6"

experiments = project_catalog().experiments()  # those with a mistake are left out; problems.py raises it
names = [experiment.experiment for experiment, _ in experiments]

with DAG(
    dag_id("weekly"),
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
    default_args=tasks.DEFAULTS,
    deadline=weekly_tasks.deadline(),
    tags=forms.tags(),
) as dag:
    previous = weekly_tasks.open_week()

    for experiment, _ in experiments:
        with TaskGroup(experiment.experiment, tooltip=experiment.title):
            start = weekly_tasks.StartExperiment(
                task_id="start", experiment=experiment.experiment, trigger_rule="all_done"
            )
            finished = weekly_tasks.finished(experiment.experiment)
            previous >> start >> finished
        previous = finished

    loaded = weekly_tasks.load_history()
    week = weekly_tasks.note_week(names)
    suspicious = weekly_tasks.suspicions()
    again = weekly_tasks.MeasureAgain.partial(
        task_id="measure_again",
        task_display_name="measure_again: repeat what looks worse",
        max_active_tis_per_dagrun=1,
        map_index_template="{{ task.said }}",
    ).expand_kwargs(suspicious)
    changes = weekly_tasks.regressions()
    report = weekly_tasks.weekly_report()
    archived = weekly_tasks.archive_week()
    told = weekly_tasks.tell()
    asked = weekly_tasks.AskAboutBaselines(
        task_id="ask_about_baselines",
        task_display_name="ask_about_baselines: open the questions",
        trigger_dag_id=dag_id("baselines"),
        skip_when_already_exists=True,
        trigger_rule="all_done",
    )
    (
        previous
        >> loaded
        >> week
        >> suspicious
        >> again
        >> changes
        >> report
        >> archived
        >> [told, asked]
        >> weekly_tasks.conclude()
    )

dag.params = weekly_tasks.form(names)  # given before, each task would keep and check a form of its own
