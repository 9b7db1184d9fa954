"""The tasks from checked data to measured trials: which trials a mapped task of Airflow holds, and what it does.

In most runs each holds one. In a run of very many trials it holds some that follow each other (``trial/plan.py``).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, Context, task

from clusterbench.airflow.tasks import current_run, run_step
from clusterbench.airflow.versions import AirflowFailException, AirflowSkipException
from clusterbench.base.records import NOT_MEASURED, TrialRecord

if TYPE_CHECKING:
    from clusterbench.run.run import Run

log = logging.getLogger(__name__)

MARKED = ("failed", "success", "skipped", "removed", "upstream_failed")
"""States that a running task is in only because a person said so."""
LABEL_CHARACTERS_MAX = 250
"""Of the name of a mapped task in Airflow's database."""

Named = dict[str, str]
"""A trial as Airflow hands it from task to task: ``platform``, ``trial_id``, ``label``."""


@task
def validate_data(platform: str) -> list[dict[str, Any]]:
    """Check the datasets with Great Expectations; a bad dataset stops the run here. Returns the trials to measure."""
    from clusterbench.run import steps  # noqa: PLC0415

    def validate(run: Run) -> list[dict[str, Any]]:
        trials = steps.validate_data(run, platform)
        found = [{"platform": platform, "trial_id": trial.id, "label": trial.label} for trial in trials]
        return shared_out(found, run.plan().trials_per_task(platform))

    return list(run_step("validate_data", validate, platform))


@task(trigger_rule="all_done")
def order_trials(validated: list[list[dict[str, Any]] | None]) -> list[dict[str, Any]]:
    """Put the trials of platforms in turns into the order that the plan has drawn. Returns the trials to measure.

    A platform that was not chosen, or failed before its trials, is left out; the others are measured.
    """
    found = [trial for tasks in validated for one in tasks or () for trial in one["trials"]]
    if not found:
        raise AirflowSkipException("none of these platforms has a trial to measure; see their tasks for the reason")

    def order(run: Run) -> list[dict[str, Any]]:
        plan = run.plan()
        places = {turn: place for place, turn in enumerate(plan.turns)}
        ordered = sorted(found, key=lambda trial: places[trial["platform"], trial["trial_id"]])
        return shared_out(ordered, plan.trials_per_task(ordered[0]["platform"]), in_turns=True)

    return list(run_step("order_trials", order))


def shared_out(trials: Sequence[Named], per_task: int, *, in_turns: bool = False) -> list[dict[str, Any]]:
    """The arguments of each mapped task: its trials, which follow each other, and its name in the UI."""

    def name(first: int, held: Sequence[Named]) -> str:
        label = f"{held[0]['platform']}: {held[0]['label']}" if in_turns else held[0]["label"]
        if len(held) == 1:
            return label
        return f"trials {first + 1:,} to {first + len(held):,} of {len(trials):,}: {label}, …"

    tasks = [(first, trials[first : first + per_task]) for first in range(0, len(trials), per_task)]
    return [{"trials": list(held), "trials_label": name(first, held)} for first, held in tasks]


def trials(pool: str) -> Any:
    """The mapped task of all trials; ``pool`` has one slot, and Airflow starts them in their order."""
    return MeasureTrials.partial(task_id="trials", pool=pool, map_index_template="{{ task.trials_label }}")


class MeasureTrials(BaseOperator):
    """One trial, or some that follow each other. Green: completed. Red: failed, timed out or invalid. Pink: not
    applicable, or not needed.

    Of several the task is red if one is, and pink if all are. The reasons are in its log. That a trial was not needed
    is in the task's name, too.
    """

    ui_color = "#cfe8ff"

    def __init__(self, *, trials: list[Named], trials_label: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.trials, self.trials_label = trials, trials_label
        self._run: Run | None = None
        self._trial: Named = {}
        self._ti: Any = None
        self._ends = False

    def execute(self, context: Context) -> str:
        """A trial that failed does not keep the next ones from being measured, as if each had a task of its own."""
        self._ti = context["ti"]
        records: list[TrialRecord] = []
        problems: list[str] = []
        for trial in self.trials:
            try:
                record = self._measure(trial)
            except AirflowFailException as error:  # it has no record; run_step has noted the error for the report
                if self._ends or len(self.trials) == 1:
                    raise
                problems.append(f"{trial['label']}: {error}")
                continue
            records.append(record)
            if record.outcome not in ("completed", *NOT_MEASURED):
                name = f"{trial['label']}: " if len(self.trials) > 1 else ""
                problems.append(f"{name}{record.outcome}: {record.reason}")
        self._name_not_needed(records)
        if problems:
            raise AirflowFailException("\n".join(problems))
        if all(record.outcome in NOT_MEASURED for record in records):
            reasons = dict.fromkeys(f"{record.outcome.replace('_', ' ')}: {record.reason}" for record in records)
            raise AirflowSkipException("\n".join(reasons))
        return "completed"

    def _measure(self, trial: Named) -> TrialRecord:
        from clusterbench.run import steps  # noqa: PLC0415

        self._trial = trial
        platform, last_try = trial["platform"], self._ti.try_number > self._ti.max_tries

        def measure(run: Run) -> TrialRecord:
            return steps.measure(run, platform, trial["trial_id"], last_try=last_try)

        print(f"{trial['label']} on {platform}")
        record: TrialRecord = run_step("trial", measure, platform, of=self._run_of, trial=trial["label"])
        for name, value in record.measurements.items():
            print(f"  {name} = {value:.6g}")
        if len(self.trials) > 1 and record.outcome != "completed":
            print(f"  {record.outcome.replace('_', ' ')}: {record.reason}")
        return record

    def _run_of(self, context: Mapping[str, Any]) -> Run:
        """The same for all trials of the task, so that its plan is read once."""
        self._run = self._run or current_run(context)
        return self._run

    def _name_not_needed(self, records: Sequence[TrialRecord]) -> None:
        """Airflow renders the name again when the task has ended."""
        reasons = [record.reason for record in records if record.outcome == "not_needed"]
        if reasons and len(self.trials) == 1:
            self.trials_label = not_needed_label(self.trials_label, reasons[0])
        elif reasons:
            said = f": {len(reasons)} of {len(self.trials)} not needed"
            self.trials_label = self.trials_label[: LABEL_CHARACTERS_MAX - len(said)] + said

    def on_kill(self) -> None:
        """A person has marked the task, or deleted its run: the driver on the client host is ended too.

        If Airflow has only lost sight of the task, because its API or database was away, the driver continues, and the
        task's next try collects what it measures.
        """
        from clusterbench.run import steps  # noqa: PLC0415

        self._ends = True
        if self._run is None:
            return
        if why_not := _why_nobody_ended(self._ti):
            log.warning("this try ends, and its driver keeps running: %s", why_not)
            return
        steps.cancel(self._run, self._trial["platform"], self._trial["trial_id"])


def not_needed_label(label: str, reason: str) -> str:
    """The name of a trial that was left out, with the first words of why: "…: not needed, … is firm after 5
    repetitions"."""
    return f"{label}: not needed, {reason.partition(':')[0]}"[:LABEL_CHARACTERS_MAX]


def _why_nobody_ended(ti: Any) -> str:
    """Why it was no person that ended this task instance; empty where it was marked, or its run deleted."""
    try:
        found = ti.get_task_states(dag_id=ti.dag_id, map_index=ti.map_index, task_ids=[ti.task_id], run_ids=[ti.run_id])
    except Exception as error:
        return f"it is not known whether anybody marked the task: Airflow did not answer ({error})"
    states = list((found.get(ti.run_id) or {}).values())
    return "" if not states or states[0] in MARKED else f"in Airflow the task is {states[0] or 'cleared'}"
