"""The thin edge to Airflow of the weekly run: its tasks, its form, its deadline. What they do is in ``weekly.py``."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import Context, Param, get_current_context, task
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

from clusterbench.airflow.forms import WORDS, words_form
from clusterbench.airflow.gone_runs import installation
from clusterbench.airflow.standing import WAITING, Unmoved
from clusterbench.airflow.tasks import current_run, run_step, skip_without_history
from clusterbench.airflow.versions import (
    HAS_DEADLINES,
    KNOWS_PAUSED,
    AirflowFailException,
    AirflowSkipException,
    SyncCallback,
    conf,
)
from clusterbench.base.errors import ArchiveError, ClusterbenchError, SpecError
from clusterbench.base.patience import Outage
from clusterbench.base.run_ids import WEEKLY, run_started_by
from clusterbench.report import addresses
from clusterbench.spec import EXTENTS, SCALES
from clusterbench.spec.catalog import project_catalog
from clusterbench.spec.project import dag_id

if TYPE_CHECKING:
    from clusterbench.run.run import Run
    from clusterbench.run.weekly_mail import Message

log = logging.getLogger(__name__)

POLL_S = 2.0
CONFIRM_HOURS = 3
ENDED = ("success", "failed")
FAILED = ("failed", "upstream_failed")
STANDSTILL_MINUTES = "CLUSTERBENCH_STANDSTILL_MINUTES"
LOOK_S = 30
"""Between two looks whether an experiment's run stands still."""
DEADLINE_HOURS = "CLUSTERBENCH_WEEKLY_DEADLINE_HOURS"


# An experiment.


class StartExperiment(TriggerDagRunOperator):
    """Start the experiment with the week's choices. It is started once, however often this task is tried."""

    def __init__(self, *, experiment: str, **kwargs: Any) -> None:
        super().__init__(trigger_dag_id=dag_id(experiment), fail_when_dag_is_paused=KNOWS_PAUSED, **kwargs)
        self.experiment = experiment

    def execute(self, context: Context) -> None:
        chosen, left_out = _asked(self.experiment, context["params"])
        if left_out:
            raise AirflowSkipException(f"{self.experiment} {left_out}")
        run_id = run_started_by(context["dag_run"].run_id)
        if _state(context["ti"], self.experiment, run_id):
            return  # by an earlier try, whose worker died
        self.conf, self.trigger_run_id = chosen, run_id
        super().execute(context)


@task
def finished(experiment: str) -> None:
    """Wait until the experiment's run ends. Fails if that run failed.

    It sleeps in a worker's slot for all that time. A sensor that gives up its slot would start a process for each look,
    which takes seconds of a processor beside what is being measured.
    """
    context = get_current_context()
    _wait_for(context, experiment, run_started_by(context["dag_run"].run_id))


def _wait_for(context: Context, experiment: str, run_id: str) -> None:
    """Until that run has ended; raises where it failed."""
    standstill = _Standstill(context, experiment, run_id)
    begun_s = time.monotonic()
    while (state := _state(context["ti"], experiment, run_id)) not in ENDED:
        time.sleep(_pause_s(time.monotonic() - begun_s))
        standstill.look()
    if state == "failed":
        log.error("%s: its run failed: %s", experiment, _address(experiment, run_id))
        raise AirflowFailException(f"{experiment}: its run failed")


def _pause_s(waited_s: float) -> float:
    """Until the next look: Airflow is asked every 2 s at first, and every 30 s after half an hour."""
    return min(LOOK_S, max(POLL_S, waited_s / 60))


class _Standstill:
    """Tells people once when an experiment's run stands still, long before the deadline does."""

    def __init__(self, context: Context, experiment: str, run_id: str) -> None:
        self.context, self.experiment, self.run_id = context, experiment, run_id
        self.unmoved = Unmoved(time.monotonic())
        self.looked_s = time.monotonic()
        self.was_told = False

    def look(self) -> None:
        now_s = time.monotonic()
        if self.was_told or now_s - self.looked_s < LOOK_S:
            return
        self.looked_s = now_s
        ti = self.context["ti"]
        states = ti.get_task_states(dag_id(self.experiment), run_ids=[self.run_id]).get(self.run_id) or {}
        stood_s, why = self._waits_for(states)
        if not why:
            stood_s = self.unmoved.for_s({name: _word(state) for name, state in states.items()}, now_s)
            running = f"None of its tasks is running: {_counted(states)}."
            why = f"{running} Check that a worker is alive and that the cluster is free."
        if stood_s >= 60 * float(os.environ.get(STANDSTILL_MINUTES, "15")):
            self.was_told = True
            self._tell(stood_s / 60, why)

    def _waits_for(self, states: Mapping[str, Any]) -> tuple[float, str]:
        """How long the task that runs has waited for somebody who is away, and for whom; nothing where it does not."""
        for name in (name for name, state in states.items() if _word(state) == "running"):
            task_id, _, number = name.rpartition("_")
            is_mapped = number.isdigit() and task_id.endswith(".trials")
            told = self.context["ti"].xcom_pull(
                dag_id=dag_id(self.experiment),
                run_id=self.run_id,
                task_ids=task_id if is_mapped else name,
                map_indexes=int(number) if is_mapped else -1,
                key=WAITING,
            )
            if told and not told["until"]:
                outage = Outage.from_json(told)
                return outage.waited_s, f"{outage}."
        return 0.0, ""

    def _tell(self, minutes: float, why: str) -> None:
        from clusterbench.airflow.notifier import NotificationError, PeopleNotifier  # noqa: PLC0415
        from clusterbench.run import weekly_mail  # noqa: PLC0415

        url = _address(self.experiment, self.run_id)
        message = weekly_mail.of_standstill(self.context["dag_run"].run_id, self.experiment, minutes, why, url)
        log.warning("%s", message.text)
        try:
            PeopleNotifier(message)(self.context)
        except NotificationError as error:
            log.warning("%s", error)


def _counted(states: Mapping[str, Any]) -> str:
    """Such as "3 success, 1 queued"."""
    words = [_word(state) if state else "not yet scheduled" for state in states.values()]
    return ", ".join(f"{words.count(word)} {word.replace('_', ' ')}" for word in dict.fromkeys(words)) or "it has none"


def _asked(experiment: str, params: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """What its form is sent, or why it is left out."""
    from clusterbench.run.weekly import choices_of  # noqa: PLC0415  see the docstring of tasks.py

    if experiment not in params["experiments"]:
        return {}, "was not chosen"
    words = {name: params.get(name) for name in WORDS}
    chosen = choices_of(project_catalog().experiment(experiment), params["scale"], params["extent"], words)
    return chosen or {}, "" if chosen else "declares no part"


def _airflow() -> str:
    return str(conf.get("api", "base_url", fallback="http://localhost:8080")).rstrip("/")


def _address(name: str, dag_run_id: str) -> str:
    return f"{_airflow()}{addresses.dag_run(name, dag_run_id)}"


# The tasks around them, in the order of the sequence.


@task(task_display_name="open_week: start the archive of the week")
def open_week() -> str:
    """Reserve the week's id in the archive. Returns its address in object storage."""
    from clusterbench.run import weekly  # noqa: PLC0415

    context = get_current_context()
    dag_run = context["dag_run"]
    how = str(getattr(dag_run.run_type, "value", dag_run.run_type))
    started_by = {"dag_id": dag_run.dag_id, "dag_run_id": dag_run.run_id, "how": how, "installation": installation()}
    return str(run_step("open_week", lambda run: weekly.open_week(run, dict(context["params"]), started_by)))


@task(trigger_rule="all_done", task_display_name="load_history: load new runs into the history")
def load_history() -> str:
    """Load all runs that the history database lacks. Returns how many. Skipped if there is no history database."""
    from clusterbench.run import weekly  # noqa: PLC0415

    skip_without_history()
    return str(run_step("load_history", weekly.load_history))


@task(trigger_rule="all_done", task_display_name="note_week: list what ran")
def note_week(experiments: Sequence[str]) -> None:
    """Write week.json: which experiments ran, and which did not and why."""
    from clusterbench.run import weekly  # noqa: PLC0415

    context = get_current_context()
    params, ti = context["params"], context["ti"]
    run_id = run_started_by(context["dag_run"].run_id)

    asked = {name: _asked(name, params)[1] for name in experiments}
    left_out = {name: why for name, why in asked.items() if why}
    states = {name: _state(ti, name, run_id) for name in asked if name not in left_out}

    def note(run: Run) -> None:
        if params["experiments"]:
            found = [weekly.outcome(run.archive.store, name, run_id, state) for name, state in states.items()]
        else:
            found = weekly.newest_runs(run.connections, experiments, params["scale"])
        weekly.note_week(run, found, left_out, _airflow())

    run_step("note_week", note)


def _state(ti: Any, experiment: str, dag_run_id: str) -> str | None:
    """Of a DAG run; None where there is none."""
    there = ti.get_dr_count(dag_id(experiment), run_ids=[dag_run_id])
    return _word(ti.get_dagrun_state(dag_id(experiment), dag_run_id)) if there else None


def _word(state: Any) -> str:
    """Airflow's enumeration, or the word it stands for."""
    return str(getattr(state, "value", state))


@task(trigger_rule="all_done", task_display_name="suspicions: choose what to measure again")
def suspicions() -> list[dict[str, Any]]:
    """Write suspicions.json: results that look worse, to be measured again within the hours of the form.

    Returns the runs. Skipped if nothing looks worse, no hours are given, nothing was measured, or there is no history
    database.
    """
    from clusterbench.run import measure_again  # noqa: PLC0415

    params = get_current_context()["params"]
    hours = float(params["confirm_hours"]) if params["experiments"] else 0.0

    def look(run: Run) -> list[dict[str, Any]]:
        _skip_if_not_followed(run)
        found = measure_again.look(run, hours)
        print(found.summary)
        return [
            {"number": number, "place": place, "said": f"{asked.experiment} on {asked.platform}, {number}"}
            for number in range(1, found.rounds + 1)
            for place, asked in enumerate(found.asked)
        ]

    asked = list(run_step("suspicions", look))
    if not asked:
        raise AirflowSkipException("nothing has to be measured again")
    return asked


def _skip_if_not_followed(run: Run) -> None:
    from clusterbench.run import weekly  # noqa: PLC0415

    if why := weekly.without_history(run):
        raise AirflowSkipException(
            f"results are not followed over time, because this installation has no history database: {why}"
        )


class MeasureAgain(TriggerDagRunOperator):
    """Measure some cells of an experiment on a platform again, in a run of their own. One such run at a time."""

    def __init__(self, *, place: int, number: int, said: str, **kwargs: Any) -> None:
        super().__init__(trigger_dag_id=dag_id(WEEKLY), fail_when_dag_is_paused=KNOWS_PAUSED, wait_for_completion=True,
                         poke_interval=10, **kwargs)  # fmt: skip
        self.place, self.number, self.said = place, number, said

    def execute(self, context: Context) -> None:
        from clusterbench.run import measure_again  # noqa: PLC0415

        week = current_run(context)
        found = measure_again.look(week, 0)
        asked = found.asked[self.place]
        run_id = measure_again.run_name(context["dag_run"].run_id, asked, self.number)
        if _state(context["ti"], asked.experiment, run_id):
            _wait_for(context, asked.experiment, run_id)  # an earlier try has started it
            return
        if datetime.now(UTC) > datetime.fromisoformat(found.until):
            raise AirflowSkipException(f"not measured again: the {found.hours:g} hours for that are over")
        self.trigger_dag_id, self.trigger_run_id = dag_id(asked.experiment), run_id
        self.conf = measure_again.choices_of(week, asked)
        super().execute(context)


@task(trigger_rule="all_done", task_display_name="regressions: compare with earlier weeks")
def regressions() -> None:
    """Write changes.json: the results compared with their history. Fails if one is a regression or has no number.

    Skipped if ``note_week`` found no history database: then results are not followed over time.
    """
    from clusterbench.run import measure_again, weekly  # noqa: PLC0415

    def find(run: Run) -> None:
        _skip_if_not_followed(run)
        weekly.find_changes(run, measure_again.found(run))

    run_step("regressions", find)


@task(trigger_rule="all_done", task_display_name="weekly_report: write the report")
def weekly_report() -> None:
    """Write the weekly report, one HTML page, into the archive."""
    from clusterbench.run import weekly  # noqa: PLC0415

    run_step("weekly_report", weekly.write_report)


@task(trigger_rule="all_done", task_display_name="archive_week: seal the archive")
def archive_week() -> str:
    """Write the manifest, which finishes the archive. Returns the week's address."""
    from clusterbench.run import weekly  # noqa: PLC0415

    return str(run_step("archive_week", weekly.seal))


@task(trigger_rule="all_done", retries=0, task_display_name="tell: send mail and webhook")
def tell() -> None:
    """Send the report by mail and to a webhook. It is sent every week; if none arrives, something is wrong."""
    from clusterbench.airflow.notifier import PeopleNotifier  # noqa: PLC0415  providers that no DAG needs

    context = get_current_context()
    PeopleNotifier(_message(context))(context)


def _message(context: Context) -> Message:
    """If the archive does not answer, the message reports that."""
    from clusterbench.history.changes import ReportedChange  # noqa: PLC0415
    from clusterbench.run import weekly_mail  # noqa: PLC0415

    url, run_id = _address(WEEKLY, context["dag_run"].run_id), run_started_by(context["dag_run"].run_id)
    try:
        archive = current_run(context).archive
        text, report = (archive.store.get(f"{archive.prefix}report.{kind}") for kind in ("txt", "html"))
        changes = (archive.get_json("changes.json") or {}).get("changes")
        found = None if changes is None else [ReportedChange.of(entry) for entry in changes]
        week, words = archive.get_json("week.json"), text.decode() if text else None
        ask = _address("baselines", run_id)
        return weekly_mail.of_week(week, found, text=words, report=report, url=url, ask=ask)
    except ClusterbenchError as error:
        return weekly_mail.of_week(None, None, text=str(error), report=None, url=url)


class AskAboutBaselines(TriggerDagRunOperator):
    """Start the DAG with the questions if there is a regression. That DAG waits for days; the weekly run does not."""

    def execute(self, context: Context) -> None:
        from clusterbench.history.changes import ReportedChange, regressions  # noqa: PLC0415

        try:
            week = current_run(context)
            changes = (week.archive.get_json("changes.json") or {}).get("changes", [])
        except ArchiveError as error:
            raise AirflowFailException(str(error)) from None
        if not regressions(map(ReportedChange.of, changes)):
            raise AirflowSkipException("no regression, so there is nothing to ask")
        self.conf, self.trigger_run_id = {"week": week.run_id}, run_started_by(context["dag_run"].run_id)
        super().execute(context)


@task(trigger_rule="all_done", task_display_name="conclude: fail if any task failed")
def conclude() -> None:
    """Fails if any task failed, and names it. The state of the whole DAG run is this task's state."""
    context = get_current_context()
    states = context["ti"].get_task_states(dag_id(WEEKLY), run_ids=[context["dag_run"].run_id])
    failed = sorted(name for name, state in states[context["dag_run"].run_id].items() if _word(state) in FAILED)
    if failed:
        said = f"{_message(context).subject}. Red: {', '.join(failed)}"
        log.error("%s", said)
        raise AirflowFailException(said)


# The form and the deadline.


def form(experiments: Sequence[str]) -> dict[str, Param]:
    names = list(experiments)
    return {
        "scale": Param(
            "laptop",
            type="string",
            enum=list(SCALES),
            title="Scale",
            description="The size. smoke: as small as possible, about a minute each. laptop: fits on one small "
            "machine, minutes to hours. full: the sizes of the papers.",
        ),
        "extent": Param(
            EXTENTS[0],
            type="string",
            enum=list(EXTENTS),
            title="Extent",
            description="whole: all of every experiment. part: only the part that each experiment declares, some "
            "minutes each.",
        ),
        "experiments": Param(
            names,
            type="array",
            items={"type": "string", "enum": names},
            examples=names,
            title="Experiments",
            description="Which experiments to run. If none is chosen, nothing is measured, and the newest runs at this "
            "scale are compared again.",
        ),
        "confirm_hours": Param(
            CONFIRM_HOURS,
            type="number",
            minimum=0,
            maximum=72,
            title="Hours for measuring again",
            description="Results that look worse are measured again at once, for at most so many hours; 0: never. A "
            "run that has begun is not stopped.",
        ),
        **words_form(),
    }


def deadline() -> DeadlineAlert | None:
    """After so many hours people get a message that the run is not finished; 0: never. Airflow 3.1 cannot do it."""
    given = os.environ.get(DEADLINE_HOURS, "36")
    try:
        hours = float(given)
    except ValueError:
        raise SpecError([f"{DEADLINE_HOURS}: must be a number of hours, 0 for no deadline, found {given!r}"]) from None
    if not hours or not HAS_DEADLINES:
        return None
    # On an executor, as tasks: workers are given the connections, the triggerer need not be.
    told = SyncCallback(deadline_passed, {"hours": hours})
    return DeadlineAlert(DeadlineReference.DAGRUN_QUEUED_AT, timedelta(hours=hours), told)


def deadline_passed(hours: float, context: Mapping[str, Any]) -> None:
    """Called by Airflow, with the DAG run as its API shows it."""
    from clusterbench.airflow.notifier import PeopleNotifier  # noqa: PLC0415
    from clusterbench.run import weekly_mail  # noqa: PLC0415

    dag_run = context["dag_run"]
    url = _address(WEEKLY, dag_run["dag_run_id"])
    PeopleNotifier(weekly_mail.of_deadline(dag_run["dag_run_id"], dag_run["run_after"], hours, url))(dict(context))
