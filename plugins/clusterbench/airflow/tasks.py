"""The thin edge to Airflow: tasks that hand over to ``steps.py``. Nothing is decided here.

The steps are imported inside the tasks, so that parsing a DAG stays fast.
"""

from __future__ import annotations

import ast
import errno
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook, get_current_context, task

from clusterbench.airflow.gone_runs import installation, put_back
from clusterbench.airflow.standing import WAITING
from clusterbench.airflow.versions import (
    TWICE_AS_LONG,
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
)
from clusterbench.base.connections import Connection, from_airflow, why_no_history
from clusterbench.base.errors import (
    ArchiveError,
    ClusterbenchError,
    HistoryError,
    HostError,
    LeaseError,
    NotYetError,
    SpecError,
    StoppedError,
    lacking,
    suggest,
)
from clusterbench.base.patience import CLUSTER
from clusterbench.base.run_ids import run_id_from
from clusterbench.spec import Platform
from clusterbench.spec.project import connection_id, name_of_dag

if TYPE_CHECKING:
    from clusterbench.base.patience import Outage
    from clusterbench.run.run import Run

log = logging.getLogger(__name__)

RETRY_DELAY_S = float(os.environ.get("CLUSTERBENCH_RETRY_DELAY_S", "10"))
DEFAULTS: dict[str, Any] = {
    "retries": 16,
    "retry_delay": timedelta(seconds=RETRY_DELAY_S),
    "retry_exponential_backoff": TWICE_AS_LONG,
    "max_retry_delay": timedelta(minutes=5),
}
"""Of every task. A try is gone each time that its worker dies, cannot write its log, is unheard of for too long, or
cannot reach Airflow's API server, without which no task starts. Sixteen more, with twice as long between them up to
five minutes, last for an hour of that: as long as hosts are waited for. A trial's driver is never started again (see
``hosts/detached_job.py``)."""
ERROR_TRIES = 3
"""A step that fails with the same error each time is not tried for an hour."""
WORKER_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EPIPE, errno.EIO)
"""The worker's disk is full or broken. Its supervisor ends when it cannot write the task's log; the task then has a
broken pipe."""

WAIT_FOR_CLUSTER_S = 7 * 24 * 3600
"""A full-scale run of another experiment may hold a cluster for days."""

HELD_S = 15.0
"""How often a run looks whether a cluster that another run holds is free."""
TURN_S = float(os.environ.get("CLUSTERBENCH_TURN_S", "60"))
"""How often a layout looks whether its turn has come."""

# From Airflow's words to ours.


def airflow_connections(conn_id: str) -> Connection:
    return from_airflow(connection_id(conn_id), BaseHook.get_connection)


def current_run(context: Mapping[str, Any]) -> Run:
    from clusterbench.run.run import Run  # noqa: PLC0415  see the module's docstring

    _quiet_libraries()
    return Run(
        name_of_dag(context["dag"].dag_id),
        run_id_from(context["dag_run"].run_after, context["dag_run"].run_id),
        airflow_connections,
    )


def _quiet_libraries() -> None:
    """Their messages are not for the readers of a task's log."""
    for name in ("asyncssh", "great_expectations", "botocore", "matplotlib"):
        logging.getLogger(name).setLevel(logging.WARNING)


def run_step(
    name: str,
    act: Callable[[Run], Any],
    platform: str = "run",
    of: Callable[[Mapping[str, Any]], Run] = current_run,
    trial: str = "",
) -> Any:
    """Run a step. Its error is archived for the report, and raised so that Airflow tries again, or does not.

    If a host or a service is away, this waits for it, which takes no try. ``trial`` names the trial that waits.
    """
    context = get_current_context()
    try:
        run = of(context)
    except ClusterbenchError as error:
        raise AirflowFailException(str(error)) from None
    run.wait_for_who_is_away(lambda outage: _tell(context, outage), name, platform, trial)
    try:
        return run.patience.insist(lambda: act(run), CLUSTER)
    except ClusterbenchError as error:
        if not isinstance(error, StoppedError):  # which is no error: a person wanted it
            run.note_error(name, error, platform)
        log.error("%s", error)
        may_pass = isinstance(error, ArchiveError | HistoryError | HostError) and _may_try_again(context)
        if may_pass or isinstance(error, NotYetError):
            raise  # Airflow tries again
        raise AirflowFailException(str(error)) from None
    except AirflowException:
        raise
    except Exception as fault:  # ours, or a library's: its first line for the report, all of it in the task's log
        said = lacking(fault) if isinstance(fault, ModuleNotFoundError) else f"{type(fault).__name__}: {fault}"
        said += "; see the task's log for details"
        run.note_error(name, ClusterbenchError(said), platform)
        if _is_of_worker(fault) or _may_try_again(context):
            raise
        raise AirflowFailException(said) from fault


def _may_try_again(context: Mapping[str, Any]) -> bool:
    """After an error that may pass. Tries are counted from the last time that a person cleared the task."""
    ti, retries = context["ti"], context["task"].retries
    return bool(retries - (ti.max_tries - ti.try_number) < ERROR_TRIES)


def _is_of_worker(fault: Exception) -> bool:
    return isinstance(fault, OSError) and fault.errno in WORKER_FAULTS


def _tell(context: Mapping[str, Any], outage: Outage) -> None:
    """In the UI; that Airflow cannot be told does not end the waiting."""
    try:
        context["ti"].xcom_push(key=WAITING, value={"text": str(outage), **outage.as_json()})
    except Exception as error:
        log.warning("the waiting could not be shown in the UI: %s", error)


def _opened(run: Run) -> Run:
    """The run, unless it was refused before it began: then there is nothing to summarise or to archive."""
    if not run.archive.get_json("plan.json"):
        raise AirflowSkipException("the run was refused before it began; the reason is in the log of task open_run")
    return run


def _chosen(run: Run, platform: str) -> Run:
    """The run, unless it leaves the platform out: of several in turns any may be left out."""
    if platform not in run.plan().trials:
        raise AirflowSkipException(f"platform {platform!r} was not chosen for this run")
    return run


def step(name: str, platform: str | None = None, **settings: Any) -> Any:
    """A task that hands over to the function ``name`` of ``steps.py``: with the run, and the platform if one is given.

    The function's docstring is what Airflow's UI says of the task; ``settings`` are the task's: pool, trigger rule, …
    """

    @task(task_id=name, doc_md=_said_of(name), **settings)
    def act(platform: str | None) -> None:
        from clusterbench.run import steps  # noqa: PLC0415

        hand_over = getattr(steps, name)
        if platform is None:
            run_step(name, hand_over)
        else:
            run_step(name, lambda run: hand_over(_chosen(run, platform), platform), platform)

    return act(platform)


def _said_of(name: str) -> str:
    """What a step's docstring says, or an error that shows in the UI before anything runs."""
    if name not in _docstrings():
        raise SpecError(
            [f"plugins/clusterbench/run/steps.py: unknown step {name!r}{suggest(name, list(_docstrings()))}"]
        )
    return _docstrings()[name]


@cache
def _docstrings() -> dict[str, str]:
    """Of the functions of ``steps.py``, which is read, not imported: DAGs are parsed often."""
    source = ast.parse((Path(__file__).parents[1] / "run" / "steps.py").read_text(encoding="utf-8"))
    public = [one for one in source.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]
    return {function.name: ast.get_docstring(function) or "" for function in public}


# Tasks that are more than a step: what they return, raise or wait for is Airflow's affair.


@task
def open_run() -> str:
    """Check the choices, plan, and claim the run's id. Returns the run's address in object storage."""
    from clusterbench.run import steps  # noqa: PLC0415

    context = get_current_context()
    dag_run, params = context["dag_run"], context["params"]  # what was asked beyond the form is in params too
    how = str(getattr(dag_run.run_type, "value", dag_run.run_type))
    started_by = {"dag_id": dag_run.dag_id, "dag_run_id": dag_run.run_id, "how": how, "installation": installation()}
    return str(run_step("open_run", lambda run: steps.open_run(run, dict(params), started_by)))


@task.sensor(mode="reschedule", poke_interval=HELD_S, timeout=WAIT_FOR_CLUSTER_S)
def take_cluster(platforms: list[str]) -> bool:
    """Reserve the cluster for this run until release_cluster. Waits while another run holds the cluster.

    Clusters of platforms in turns are all reserved before anything is done on one of them.

    Layouts of virtual machines that a run makes also wait here for their turn, which the plan has drawn.

    If a run is gone and has not released the cluster, this task releases it: see ``gone_runs.py``.
    """
    ti = get_current_context()["ti"]
    chosen = False
    for platform in platforms:
        taken = run_step("take_cluster", partial(_is_taken, platform=platform, ti=ti), platform)
        if taken is False:
            return False
        chosen = chosen or taken is True
    if not chosen:
        raise AirflowSkipException(f"not chosen for this run: {', '.join(platforms)}")
    return True


def _is_taken(run: Run, platform: str, ti: Any) -> bool | None:
    """Whether the run has the cluster; None where the platform was not chosen."""
    from clusterbench.run import steps  # noqa: PLC0415

    if platform not in run.plan().trials:
        return None
    if run.catalog.platform(platform).machines and (waits_for := _before(run, platform, ti)):
        log.info("waiting for its turn, which comes after %s", ", ".join(waits_for))
        return False
    try:
        steps.take_cluster(run, platform)
    except LeaseError as refused:
        log.warning("%s", refused)
        if put_back(run, refused, ti):
            steps.take_cluster(run, platform)
            return True
        return False
    return True


def take(platforms: Sequence[Platform]) -> Any:
    """``take_cluster`` of a platform, or of all in turns. Each look of one that waits for its turn is a process beside
    somebody's trial, so a layout, which may wait for hours, looks less often."""
    every_s = TURN_S if platforms[0].machines else HELD_S
    task_of = take_cluster.override(trigger_rule="none_failed", poke_interval=every_s)
    return task_of([platform.platform for platform in platforms]).as_setup()


RELEASED = ("success", "failed", "upstream_failed", "skipped", "removed")
"""States of a release that is over, however it went."""


def _before(run: Run, platform: str, ti: Any) -> list[str]:
    """Platforms whose turn is earlier, and that are not given back yet."""
    tasks = {f"{name}.release_cluster": name for name in run.plan().before(platform)}
    if not tasks:
        return []
    found = ti.get_task_states(dag_id=ti.dag_id, task_ids=list(tasks), run_ids=[ti.run_id])
    states = found.get(ti.run_id) or {}
    return [name for task_id, name in tasks.items() if states.get(task_id) not in RELEASED]


@task(trigger_rule="all_done")
def summarise() -> None:
    """Compute the results of all cells from their repetitions."""
    from clusterbench.run import steps  # noqa: PLC0415

    run_step("summarise", lambda run: steps.summarise(_opened(run)))


@task(trigger_rule="all_done")
def seal_archive() -> str:
    """Write the manifest, which finishes the archive. Returns the run's address."""
    from clusterbench.run import steps  # noqa: PLC0415

    return str(run_step("seal_archive", lambda run: steps.seal(_opened(run))))


@task
def load_history() -> None:
    """Load the sealed run into the history database.

    If the database does not answer, this task fails, and the run's verdict stays as it is. The next weekly run loads
    what is missing, or ``clusterbench history load``.
    """
    from clusterbench.run import steps  # noqa: PLC0415

    skip_without_history()
    run_step("load_history", steps.load_history)


def skip_without_history() -> None:
    """An installation may do without the database: then the task is skipped, and says so."""
    if why := why_no_history(airflow_connections):
        raise AirflowSkipException(f"not loaded, because this installation has no history database: {why}")
