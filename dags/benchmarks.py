"""One Airflow DAG per experiment: the whole sequence on one page, read from top to bottom.

Each file in ``experiments/`` becomes a DAG with its name. Each step is the function of the same name in
``clusterbench.run.steps``; how a number is measured is in ``clusterbench.trial.protocol``. A file with a mistake makes
no DAG; ``problems.py`` shows the mistake in the UI.
"""

from __future__ import annotations

from datetime import datetime

from airflow.sdk import DAG, TaskGroup, chain, get_parsing_context

from clusterbench.airflow import forms, tasks, trial_tasks
from clusterbench.spec import Experiment, Platform
from clusterbench.spec.catalog import project_catalog
from clusterbench.spec.in_turns import GROUP, in_turns
from clusterbench.spec.platform import pool_of
from clusterbench.spec.project import dag_id, name_of_dag


def benchmark(experiment: Experiment, platforms: list[Platform]) -> DAG:
    """The sequence. Platforms are measured one after the other, or in turns; those that were not chosen are skipped."""
    with DAG(
        dag_id(experiment.experiment),
        dag_display_name=experiment.title,
        description=experiment.description.strip(),
        doc_md=forms.documentation(experiment),
        schedule=None,
        start_date=datetime(2026, 1, 1),
        catchup=False,
        max_active_runs=1,
        render_template_as_native_obj=False,
        default_args=tasks.DEFAULTS,
        tags=forms.tags(),
    ) as dag:
        opened = tasks.open_run()
        summary = tasks.summarise()
        released = []

        for turn in in_turns(experiment, platforms):  # the platforms that are up at the same time: mostly one
            validates, releases = [], []
            pool = pool_of(turn[0])  # for all of them: one trial at a time
            together = turn[0].platform if len(turn) == 1 else GROUP
            with TaskGroup(together, tooltip=", ".join(platform.title for platform in turn)) as group:
                take = tasks.take(turn)

            for platform in turn:
                name = platform.platform
                with group if len(turn) == 1 else TaskGroup(name, tooltip=platform.title):
                    set_up = tasks.step("set_up_cluster", name, pool=pool)
                    flush = tasks.step("flush_caches", name, pool=pool)
                    generate = tasks.step("generate_data", name, pool=pool)
                    validate = trial_tasks.validate_data.override(pool=pool)(name)
                    release = tasks.step("release_cluster", name, pool=pool).as_teardown(setups=take)

                    opened >> take >> set_up >> flush >> generate >> validate
                    if platform.machines:
                        take >> tasks.step("bring_up_machines", name, pool=pool) >> set_up
                    validates += [validate]
                    releases += [release]

            with group:
                planned = validates[0] if len(turn) == 1 else trial_tasks.order_trials(validates)
                trials = trial_tasks.trials(pool).expand_kwargs(planned)

            trials >> releases
            chain(*reversed(releases))
            if not turn[0].machines:  # layouts of machines wait as the plan has drawn their turns: take_cluster waits
                released >> take
                released = releases
            [trials, *releases] >> summary

        judge = tasks.step("validate_results")
        report = tasks.step("write_report")
        seal = tasks.seal_archive()
        conclude = tasks.step("conclude", trigger_rule="all_done")
        opened >> summary >> judge >> report >> seal >> tasks.load_history() >> conclude
        [opened, summary] >> seal
    dag.params = forms.form(experiment, platforms)  # given before, each task would keep and check a form of its own
    return dag


catalog = project_catalog()
asked = get_parsing_context().dag_id  # the DAG of the task that this process runs; None where all are asked for
needed = asked and name_of_dag(asked)
for declared, measurable in catalog.experiments(needed):  # those with a mistake are left out; problems.py raises it
    globals()[declared.experiment] = benchmark(declared, measurable)
