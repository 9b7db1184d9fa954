"""``clusterbench run``: start an experiment or the weekly run in Airflow, follow it, and print what came of it."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

from clusterbench.base.archive import RunArchive
from clusterbench.base.paths import lab_dir
from clusterbench.base.run_ids import WEEKLY, run_id_from
from clusterbench.cli import weekly
from clusterbench.cli.common import FAILED, OK, add_choices, archive_of, chosen
from clusterbench.cli.pools import pool_names
from clusterbench.cli.results import print_results
from clusterbench.report import addresses
from clusterbench.results.run_state import archived_state
from clusterbench.spec.catalog import project_catalog
from clusterbench.trial.plan import make_plan, read_choices

if TYPE_CHECKING:
    from clusterbench.airflow.api import AirflowApi


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser(
        "run", help="start an experiment, or 'weekly', in Airflow, as Trigger in its UI does, and print its progress"
    )
    add_choices(run)
    run.add_argument(
        "--no-wait", action="store_true", help="return as soon as the run is started, without following it"
    )
    weekly.add_to(run)
    run.set_defaults(command=_run)


def _run(options: argparse.Namespace) -> int:
    from clusterbench.airflow.api import AirflowApi  # noqa: PLC0415
    from clusterbench.airflow.watch import follow  # noqa: PLC0415

    catalog = project_catalog()
    of_week = weekly.chosen(options)
    if options.experiment == WEEKLY:
        api = AirflowApi.from_environment(lab_dir())
        api.ensure_pools(pool_names(catalog))
        return weekly.run_week(api, of_week, print_results, wait=not options.no_wait)
    experiment = catalog.experiment(options.experiment)
    choices = read_choices(experiment, chosen(options))
    make_plan(experiment, choices, catalog)  # a choice that cannot be planned is refused here, in plain words
    api = AirflowApi.from_environment(lab_dir())
    api.ensure_pools(pool_names(catalog))
    dag_run_id = api.trigger(
        experiment.experiment, {**chosen(options), "scale": choices.scale}
    )  # a rehearsal's is full
    print(f"started {experiment.experiment}: {api.url}{addresses.dag_run(experiment.experiment, dag_run_id)}")
    if said := api.unpause(experiment.experiment):
        print(said)
    if options.no_wait:
        return OK
    state = follow(api, experiment.experiment, dag_run_id)
    return show_end(api, experiment.experiment, dag_run_id, state)


def show_end(api: AirflowApi, experiment: str, dag_run_id: str, state: str) -> int:
    """Results, where the report is, and an exit status that is 0 only for a valid run."""
    asked = api.dag_run(experiment, dag_run_id)
    run_id = run_id_from(datetime.fromisoformat(asked["run_after"]), dag_run_id)
    archive = archive_of(f"{experiment}/{run_id}")
    verdicts = archive.get_json("verdicts.json")
    weekly.show_run(archive, print_results)
    print(f"airflow  {api.url}{addresses.dag_run(experiment, dag_run_id)}")
    came_to = archived_state(archive)
    valid = state == "success" and came_to.is_usable
    tasks_failed = f", but its DAG run is {state}" if came_to.is_usable and not valid else ""
    print(f"run {experiment}/{run_id}: {came_to.value}{tasks_failed}")
    if not valid:
        _print_reasons(archive, verdicts)
    return OK if valid else FAILED


def _print_reasons(archive: RunArchive, verdicts: dict[str, Any] | None) -> None:
    for error in archive.errors():
        times = f" ({error['times']} times)" if error["times"] > 1 else ""
        print(f"  {error['platform']}, {error['step']}: {error['error']}{times}", file=sys.stderr)
    for verdict in (verdicts or {}).get("verdicts", []):
        if verdict["critical"] and not verdict["passed"]:
            print(f"  check failed: {verdict['says']} ({verdict['found']})", file=sys.stderr)
