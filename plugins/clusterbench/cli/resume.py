"""``clusterbench resume``: continue a run that a person has stopped, as the same run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from clusterbench.base.errors import AirflowUnknownError, ArchiveError
from clusterbench.base.paths import lab_dir
from clusterbench.cli.common import OK, add_run, archive_of
from clusterbench.cli.pools import pool_names
from clusterbench.cli.run import show_end
from clusterbench.report import addresses
from clusterbench.spec.catalog import project_catalog
from clusterbench.spec.project import name_of_dag

if TYPE_CHECKING:
    from clusterbench.airflow.api import AirflowApi
    from clusterbench.base.archive import RunArchive

UNDER_WAY = ("queued", "running")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    resume = commands.add_parser(
        "resume", help="continue a run that was stopped before its archive was sealed; what was measured is kept"
    )
    add_run(resume)
    resume.add_argument(
        "--no-wait", action="store_true", help="return as soon as the run is started, without following it"
    )
    resume.set_defaults(command=_resume)


def _resume(options: argparse.Namespace) -> int:
    from clusterbench.airflow.api import AirflowApi  # noqa: PLC0415  httpx, which most commands do not need
    from clusterbench.airflow.watch import follow  # noqa: PLC0415

    archive = archive_of(options.run)
    if archive.sealed:
        raise ArchiveError(f"{archive.url}: this run is finished and sealed; start a new run instead")
    api = AirflowApi.from_environment(lab_dir())
    name, dag_run_id = _stopped(archive, api)
    api.ensure_pools(pool_names(project_catalog()))
    api.clear(name, dag_run_id)
    print(f"resumed {archive.name}: {api.url}{addresses.dag_run(name, dag_run_id)}")
    if options.no_wait:
        return OK
    return show_end(api, name, dag_run_id, follow(api, name, dag_run_id))


def _stopped(archive: RunArchive, api: AirflowApi) -> tuple[str, str]:
    """DAG and id of the run in Airflow, which must be there and must have ended."""
    started_by: dict[str, Any] = (archive.get_json("run.json") or {}).get("started_by") or {}
    if "dag_run_id" not in started_by:
        raise ArchiveError(
            f"{archive.url}: this run was not started by Airflow, so it cannot be resumed; start a new run"
        )
    name, dag_run_id = name_of_dag(started_by["dag_id"]), started_by["dag_run_id"]
    try:
        state = api.dag_run(name, dag_run_id)["state"]
    except AirflowUnknownError:
        raise ArchiveError(
            f"{archive.url}: Airflow at {api.url} has no run {dag_run_id} of {name}: it was deleted there, or "
            "another Airflow has started it. What was measured stays in the archive; start a new run"
        ) from None
    if state in UNDER_WAY:
        raise ArchiveError(
            f"{archive.url}: this run is still running ({state}); to run its failed tasks again, clear them in "
            f"Airflow: {api.url}{addresses.dag_run(name, dag_run_id)}"
        )
    return name, dag_run_id
