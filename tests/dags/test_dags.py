"""What every DAG keeps to, and that one broken file takes down its own DAG only."""

from __future__ import annotations

import ast
import inspect
import itertools
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pendulum
import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.exceptions import ParamValidationError
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from airflow.timetables.base import DataInterval, TimeRestriction
from airflow.timetables.trigger import CronTriggerTimetable

from clusterbench.airflow import baseline_tasks, tasks, trial_tasks, weekly_tasks
from clusterbench.base.errors import HostError, SpecError
from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.cli.pools import pool_names
from clusterbench.run import measure_again, steps, weekly
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.concurrency import concurrency_levels
from clusterbench.trial.plan import make_plan, read_choices

ROOT = project_root()
CATALOG = Catalog(ROOT)
EXPERIMENTS = [file.stem for file in CATALOG.experiment_files]
IN_TURNS = "in_turns"
OTHERS = ["baselines", "remarks", "weekly"]
TOUCHES_CLUSTER = ("set_up_cluster", "flush_caches", "generate_data", "validate_data", "trials", "release_cluster")
MORE_THAN_A_STEP = ("open_run", "take_cluster", "validate_data", "summarise", "seal_archive", "load_history")
SLOW = ("great_expectations", "asyncssh", "boto3", "pandas", "numpy", "duckdb", "matplotlib", "scipy")


@pytest.fixture(scope="module")
def bag() -> DagBag:
    return DagBag(ROOT / "dags")


@pytest.fixture(params=[*EXPERIMENTS, *OTHERS])
def dag(bag: DagBag, request: pytest.FixtureRequest) -> Any:
    return bag.dags[request.param]


@pytest.fixture(params=EXPERIMENTS)
def benchmark(bag: DagBag, request: pytest.FixtureRequest) -> Any:
    return bag.dags[request.param]


def last(task: Any) -> str:
    """A task's name without its group, which is the platform."""
    return str(task.task_id).rsplit(".", 1)[-1]


# Every DAG.


def test_every_file_is_imported(bag: DagBag) -> None:
    assert bag.import_errors == {}


def test_every_experiment_is_a_dag_of_its_name(bag: DagBag) -> None:
    assert set(bag.dags) == {*EXPERIMENTS, *OTHERS}


def test_dag_explains_itself(dag: Any) -> None:
    assert len(dag.description or dag.doc_md or "") > 40
    assert dag.doc_md
    assert dag.dag_display_name != dag.dag_id
    assert dag.tags


def test_dag_runs_once_at_a_time_and_makes_up_for_nothing(dag: Any) -> None:
    assert dag.max_active_runs == (16 if dag.dag_id == "baselines" else 1)  # whose questions stay open for days
    assert dag.catchup is False
    assert dag.start_date is None or dag.start_date < datetime.now(UTC)


def test_parameter_is_explained_and_bounded(dag: Any) -> None:
    assert dag.params
    for name in dag.params:
        param = dag.params.get_param(name)
        assert param.schema["title"], name
        assert len(param.description) > 20, name
        bounded = param.schema["items"] if "array" in param.schema["type"] else param.schema
        if bounded["type"] == "boolean":
            continue
        assert {"string", "integer", "number"} & set(_types(bounded)), name
        assert {"enum", "pattern", "maxLength"} & set(bounded) or {"minimum", "maximum"} <= set(bounded), name
        assert param.resolve() == param.value, name


def _types(schema: dict[str, Any]) -> list[str]:
    return [schema["type"]] if isinstance(schema["type"], str) else schema["type"]


def test_no_task_keeps_a_form_of_its_own(bag: DagBag) -> None:
    """Airflow copies parameters that are there before a task to the task, and checks every copy at each parsing."""
    for dag in bag.dags.values():
        assert len(dag.tasks) < 3 or not [task.task_id for task in dag.tasks if task.params], dag.dag_id


def test_form_can_be_sent_as_it_is(dag: Any) -> None:
    """Airflow's form cannot be sent with a field that is empty and must not be; only questions need a week first."""
    empty = {name for name in dag.params if dag.params[name] in ("", None)}
    stuck = {name for name in empty if "null" not in _types(dag.params.get_param(name).schema)}
    assert stuck == {"baselines": {"week"}, "remarks": {"text"}}.get(dag.dag_id, set())


def test_only_what_can_be_repeated_is_tried_again(dag: Any) -> None:
    """A mail is not sent twice; which errors of a task are tried again, and which are not, is in test_tries.py."""
    for task in dag.tasks:
        once = last(task) == "tell"
        assert task.retries == (0 if once else tasks.DEFAULTS["retries"]), task.task_id
        assert task.retry_delay == timedelta(seconds=tasks.RETRY_DELAY_S), task.task_id
        assert task.retry_exponential_backoff == tasks.DEFAULTS["retry_exponential_backoff"], task.task_id
        assert task.max_retry_delay == tasks.DEFAULTS["max_retry_delay"], task.task_id


# The DAG of an experiment.


def test_history_is_loaded_before_the_end_and_decides_nothing(benchmark: Any) -> None:
    """The verdict waits for it, so that a weekly run finds it loaded; and is given whatever became of it."""
    load = benchmark.get_task("load_history")
    assert (load.upstream_task_ids, load.downstream_task_ids) == ({"seal_archive"}, {"conclude"})
    assert load.trigger_rule == "all_success"
    assert benchmark.get_task("conclude").trigger_rule == "all_done"


def platforms_of(benchmark: Any) -> set[str]:
    return {task.task_id.split(".")[0] for task in benchmark.tasks if "." in task.task_id} - {IN_TURNS}


def in_turns(benchmark: Any) -> list[str]:
    """In the order in which they are taken."""
    experiment = CATALOG.experiment(benchmark.dag_id)
    return [platform.platform for platform in CATALOG.platforms_in_turns(experiment)]


def test_sequence_of_a_platform_is_the_one_on_the_page(benchmark: Any) -> None:
    platforms, together = platforms_of(benchmark), in_turns(benchmark)
    assert platforms >= set(CATALOG.experiment(benchmark.dag_id).platforms)
    sequence = ["take_cluster", *TOUCHES_CLUSTER]
    for platform in platforms:
        of_all = IN_TURNS if platform in together else platform
        ids = [f"{of_all if name in ('take_cluster', 'trials') else platform}.{name}" for name in sequence]
        if platform in together:
            ids.insert(ids.index("in_turns.trials"), "in_turns.order_trials")
        for name, following in itertools.pairwise(ids):
            assert following in benchmark.get_task(name).downstream_task_ids
    ends = ["summarise", "validate_results", "write_report", "seal_archive", "load_history", "conclude"]
    for name, following in itertools.pairwise(ends):
        assert following in benchmark.get_task(name).downstream_task_ids


def test_what_works_on_a_cluster_is_in_its_pool(benchmark: Any) -> None:
    clusters = {platform.platform: f"cluster_{platform.cluster}" for platform in CATALOG.platforms()}
    clusters[IN_TURNS] = next((clusters[name] for name in in_turns(benchmark)), "")
    for task in benchmark.tasks:
        touches = last(task) in (*TOUCHES_CLUSTER, "bring_up_machines")
        assert task.pool == (clusters[task.task_id.split(".")[0]] if touches else "default_pool"), task.task_id
        assert task.pool_slots == 1


def test_every_pool_is_one_that_the_command_line_makes(bag: DagBag) -> None:
    pools = {task.pool for dag in bag.dags.values() for task in dag.tasks}
    assert pools - {"default_pool"} == set(pool_names(CATALOG))


def test_platforms_of_one_cluster_are_measured_one_after_the_other(benchmark: Any) -> None:
    made = {platform.platform for platform in CATALOG.platforms() if platform.machines}
    takes = [task for task in benchmark.tasks if last(task) == "take_cluster"]
    layouts = [task for task in takes if task.task_id.split(".")[0] in made]
    followers = [task for task in takes if any("release_cluster" in name for name in task.upstream_task_ids)]
    assert len(followers) == len(takes) - len(layouts) - 1


def test_platforms_in_turns_stay_up_until_the_last_trial_and_one_that_fails_stops_no_other(bag: DagBag) -> None:
    """All their tasks lie between one setup and its teardowns: of two setups one that is skipped skips all between."""
    retail = bag.dags["retail"]
    first, second = in_turns(retail)
    take, order, trials = (retail.get_task(f"in_turns.{name}") for name in ("take_cluster", "order_trials", "trials"))
    assert take.downstream_task_ids == {
        f"{name}.{task}" for name in (first, second) for task in ("set_up_cluster", "release_cluster")
    }
    assert order.upstream_task_ids == {f"{name}.validate_data" for name in (first, second)}
    assert order.trigger_rule == "all_done"
    assert trials.upstream_task_ids == {"in_turns.order_trials"}
    releases = [retail.get_task(f"{name}.release_cluster") for name in (first, second)]
    assert releases[1].upstream_task_ids == {"in_turns.take_cluster", "in_turns.trials"}
    assert releases[0].upstream_task_ids == {"in_turns.take_cluster", "in_turns.trials", releases[1].task_id}
    (following,) = [
        task for task in retail.tasks if last(task) == "take_cluster" and releases[0].task_id in task.upstream_task_ids
    ]
    assert releases[1].task_id in following.upstream_task_ids


def test_trials_of_platforms_in_turns_come_in_the_order_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a platform that failed before its trials are left out."""
    retail = CATALOG.experiment("retail")
    plan = make_plan(retail, read_choices(retail, {"scale": "smoke"}), CATALOG)
    run: Any = SimpleNamespace(plan=lambda: plan)
    monkeypatch.setattr(trial_tasks, "run_step", lambda _, act: act(run))
    order: Any = trial_tasks.order_trials.function
    validated = [
        trial_tasks.shared_out(
            [{"platform": name, "trial_id": trial.id, "label": trial.label} for trial in plan.trials[name]], 1
        )
        for name in plan.in_turns
    ]
    ordered = order(validated)
    assert [(one["platform"], one["trial_id"]) for task in ordered for one in task["trials"]] == plan.turns
    assert [len(task["trials"]) for task in ordered] == [1] * len(plan.turns)
    assert ordered[0]["trials_label"].startswith(f"{plan.turns[0][0]}: ")
    alone = order([None, validated[1]])
    assert [task["trials"] for task in alone] == [task["trials"] for task in validated[1]]
    with pytest.raises(AirflowSkipException, match="none of these platforms has a trial to measure"):
        order([None, None])


def test_layouts_of_machines_wait_for_a_turn_that_no_arrow_could_draw(benchmark: Any) -> None:
    made = {platform.platform for platform in CATALOG.platforms() if platform.machines}
    for task in benchmark.tasks:
        platform = task.task_id.split(".")[0]
        if last(task) == "take_cluster" and platform in made:
            assert not any("release_cluster" in name for name in task.upstream_task_ids)
            assert f"{platform}.bring_up_machines" in task.downstream_task_ids
        if last(task) == "bring_up_machines":
            assert platform in made and f"{platform}.set_up_cluster" in task.downstream_task_ids


def test_what_is_taken_is_released_also_after_a_failure(benchmark: Any) -> None:
    for task in benchmark.tasks:
        assert task.is_setup == (last(task) == "take_cluster"), task.task_id
        assert task.is_teardown == (last(task) == "release_cluster"), task.task_id
        if task.is_teardown:
            platform = task.task_id.split(".")[0]
            of_all = IN_TURNS if platform in in_turns(benchmark) else platform
            assert f"{of_all}.take_cluster" in task.upstream_task_ids
            assert task.on_failure_fail_dagrun is False


def test_state_of_a_run_is_that_of_its_last_task(benchmark: Any) -> None:
    leaves = [task.task_id for task in benchmark.tasks if not task.downstream_task_ids and not task.is_teardown]
    assert leaves == ["conclude"]


def test_end_of_a_run_is_reached_whatever_failed(benchmark: Any) -> None:
    for name in ("summarise", "seal_archive", "conclude"):
        assert benchmark.get_task(name).trigger_rule == "all_done"


def test_skipped_platform_does_not_skip_the_next(benchmark: Any) -> None:
    takes = [task for task in benchmark.tasks if last(task) == "take_cluster"]
    assert {task.trigger_rule for task in takes} == {"none_failed"}


def test_waiting_for_a_cluster_holds_no_worker(benchmark: Any) -> None:
    for task in (task for task in benchmark.tasks if last(task) == "take_cluster"):
        assert task.mode == "reschedule"
        assert task.timeout >= 24 * 3600


def test_task_of_a_step_says_what_the_step_says(benchmark: Any) -> None:
    for task in benchmark.tasks:
        if callable(getattr(steps, last(task), None)) and last(task) not in MORE_THAN_A_STEP:
            assert task.doc_md == inspect.getdoc(getattr(steps, last(task))), task.task_id


def test_step_that_is_none_is_refused_where_the_dags_are_read() -> None:
    with pytest.raises(SpecError, match=r"unknown step 'generate_dat'; did you mean 'generate_data'\? Allowed: "):
        tasks.step("generate_dat", "lab_db1")


FIRM = "latency_ms_mean is firm after 5 repetitions: 1.234 to within 1.8 %, and 2 % was asked for"


@pytest.mark.parametrize(
    ("outcome", "reason", "label"),
    [
        ("not_needed", FIRM, "one (#6): not needed, latency_ms_mean is firm after 5 repetitions"),
        ("not_applicable", "ORCA: there is none", "one (#6)"),
    ],
)
def test_a_trial_that_was_not_needed_reads_so_in_the_ui(
    bag: DagBag, monkeypatch: pytest.MonkeyPatch, outcome: Any, reason: str, label: str
) -> None:
    """By what Airflow does when a task has ended: it renders the name again, also of one that was skipped."""
    monkeypatch.setattr(trial_tasks, "run_step", lambda *_, **__: record(6, outcome, reason))
    mapped = bag.dags["smoke"].get_task("lab_db1.trials")
    measured = measuring(["one.r6"], "one (#6)")
    with pytest.raises(AirflowSkipException, match=reason.split(":", maxsplit=1)[0]):
        measured.execute(FIRST_TRY)
    template = mapped.partial_kwargs["map_index_template"]  # type: ignore[union-attr]
    assert bag.dags["smoke"].get_template_env().from_string(template).render(task=measured) == label


FIRST_TRY: Any = {"ti": SimpleNamespace(try_number=1, max_tries=16)}


def record(repetition: int, outcome: Any, reason: str = "") -> TrialRecord:
    trial = Trial(f"one.r{repetition}", "one", "lab_db1", "one", "key_value", {}, repetition, 7, 60, {})
    return TrialRecord(trial, outcome, reason)


def measuring(trials: list[str], label: str) -> trial_tasks.MeasureTrials:
    named = [{"platform": "lab_db1", "trial_id": trial, "label": f"label of {trial}"} for trial in trials]
    return trial_tasks.MeasureTrials(task_id="trials", trials=named, trials_label=label)


def as_they_come(monkeypatch: pytest.MonkeyPatch, *records: TrialRecord | Exception) -> list[str]:
    """What each trial comes to; returns the labels of those that were entered."""
    entered: list[str] = []

    def come(*_: object, trial: str, **__: object) -> TrialRecord:
        entered.append(trial)
        found = records[len(entered) - 1]
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(trial_tasks, "run_step", come)
    return entered


THREE = ["one.r1", "one.r2", "one.r3"]


def test_a_trial_that_fails_does_not_keep_the_others_of_its_task_from_being_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lost = AirflowFailException("no trial 'one.r2' in this run's plan")
    entered = as_they_come(monkeypatch, record(1, "invalid", "2 of 9 answers are wrong"), lost, record(3, "completed"))
    with pytest.raises(AirflowFailException) as failed:
        measuring(THREE, "three").execute(FIRST_TRY)
    assert entered == [f"label of {trial}" for trial in THREE]
    assert str(failed.value).splitlines() == [
        "label of one.r1: invalid: 2 of 9 answers are wrong",
        "label of one.r2: no trial 'one.r2' in this run's plan",
    ]


def test_a_task_that_airflow_tries_again_enters_all_of_its_trials_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that have a record come back at once, see ``steps.measure``."""
    as_they_come(monkeypatch, record(1, "completed"), HostError("host 'db1' is away"))
    measured = measuring(THREE, "three")
    with pytest.raises(HostError, match="host 'db1' is away"):
        measured.execute(FIRST_TRY)
    entered = as_they_come(monkeypatch, *(record(n, "completed") for n in (1, 2, 3)))
    assert measured.execute(FIRST_TRY) == "completed" and len(entered) == len(THREE)


def test_a_task_that_a_person_has_marked_measures_no_further_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = measuring(THREE, "three")

    def stopped(*_: object, trial: str, **__: object) -> TrialRecord:
        assert trial == "label of one.r1", "what follows was entered after the task was marked"
        measured.on_kill()
        raise AirflowFailException("a person has stopped it")

    monkeypatch.setattr(trial_tasks, "run_step", stopped)
    with pytest.raises(AirflowFailException, match="a person has stopped it"):
        measured.execute(FIRST_TRY)


def test_a_task_of_several_trials_is_pink_only_where_none_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    left_out = [record(1, "not_applicable", "ORCA: there is none"), record(2, "not_needed", FIRM)]
    as_they_come(monkeypatch, *left_out)
    with pytest.raises(AirflowSkipException, match=r"not applicable: ORCA: there is none\nnot needed: latency"):
        measuring(THREE[:2], "two").execute(FIRST_TRY)
    as_they_come(monkeypatch, *left_out, record(3, "completed"))
    measured = measuring(THREE, "three")
    assert measured.execute(FIRST_TRY) == "completed"
    assert measured.trials_label == "three: 1 of 3 not needed"


def test_trials_are_shared_out_as_neighbours_and_none_is_lost() -> None:
    named = [{"platform": "db1", "trial_id": f"t{n}", "label": f"cell {n}"} for n in range(1, 2008)]
    found = trial_tasks.shared_out(named, 5)
    assert [trial for task in found for trial in task["trials"]] == named
    assert (len(found), len(found[-1]["trials"])) == (402, 2)
    assert found[1]["trials_label"] == "trials 6 to 10 of 2,007: cell 6, …"
    assert found[-1]["trials_label"] == "trials 2,006 to 2,007 of 2,007: cell 2006, …"
    assert trial_tasks.shared_out([], 1) == []
    assert trial_tasks.shared_out(named[:1], 1) == [{"trials": named[:1], "trials_label": "cell 1"}]


def test_a_long_name_is_cut_to_what_airflow_keeps() -> None:
    assert len(trial_tasks.not_needed_label("x" * 240, FIRM)) == 250


def test_trials_are_mapped_and_readable_in_the_ui(benchmark: Any) -> None:
    for task in (task for task in benchmark.tasks if last(task) == "trials"):
        assert task.is_mapped
        assert task.partial_kwargs["map_index_template"] == "{{ task.trials_label }}"


def test_page_in_the_ui_says_the_question_and_every_sweep(benchmark: Any) -> None:
    experiment = CATALOG.experiment(benchmark.dag_id)
    assert experiment.title in benchmark.doc_md
    for name, sweep in experiment.sweeps.items():
        assert f"| `{name}` | {sweep.title} |" in benchmark.doc_md


def test_form_names_the_levels_that_can_be_chosen(bag: DagBag) -> None:
    assert concurrency_levels(CATALOG.experiment("key_value"), "laptop", ["concurrency"]) == [1, 10, 50]
    said = "smoke 1, 4; laptop 1, 10, 50; full 1, 50, 100, 150, 200"
    assert said in bag.dags["key_value"].params.get_param("concurrency").description


def test_form_says_in_which_order_platforms_are_measured(bag: DagBag) -> None:
    said = {name: bag.dags[name].params.get_param("platforms").description for name in ("retail", "key_value")}
    assert said["key_value"].endswith("They are measured one after the other.")
    assert said["retail"].endswith(
        "In turns, their trials alternating: lab_db1, lab_db2. All others are measured one after the other."
    )


HOSTILE = ("x'; DROP TABLE t; --", 'a"b', "a;b", "$(reboot)", "`id`", "../x", "", "{{ 7*7 }}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("scale", text) for text in HOSTILE),
        *(("platforms", [text]) for text in HOSTILE),
        *(("sweeps", [text]) for text in HOSTILE),
        *(("concurrency", [text]) for text in HOSTILE),
        *(("seed", text) for text in HOSTILE),
        *(("repetitions", text) for text in HOSTILE),
        *(("rehearse", text) for text in HOSTILE),
        ("rehearse", 0),
        ("rehearse", 1.5),
        ("platforms", []),
        ("sweeps", []),
        ("concurrency", [0]),
        ("concurrency", [-5]),
        ("concurrency", [1.5]),
        ("concurrency", [10_001]),
        ("repetitions", -1),
        ("repetitions", 1001),
        ("repetitions", 2.5),
        ("seed", -1),
        ("seed", 2**31),
        ("scale", None),
    ],
)
def test_form_refuses_what_is_not_allowed(bag: DagBag, name: str, value: Any) -> None:
    param = bag.dags["key_value"].params.get_param(name)
    with pytest.raises(ParamValidationError):
        param.resolve(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scale", "full"),
        ("platforms", ["lab_db2", "lab_db1"]),
        ("sweeps", ["pooling"]),
        ("concurrency", [1, 200]),
        ("repetitions", 10),
        ("rehearse", 4000),
        ("seed", 2**31 - 1),
    ],
)
def test_form_takes_what_is_allowed(bag: DagBag, name: str, value: Any) -> None:
    assert bag.dags["key_value"].params.get_param(name).resolve(value) == value


# The weekly DAG. What its tasks do when something failed is in test_weekly_states.py.


TAIL = ["load_history", "note_week", "suspicions", "measure_again", "regressions", "weekly_report", "archive_week"]


def test_weekly_run_starts_every_experiment_in_turn_whatever_the_one_before_did(bag: DagBag) -> None:
    weekly = bag.dags["weekly"]
    starts = [task for task in weekly.tasks if last(task) == "start"]
    assert [task.trigger_dag_id for task in starts] == EXPERIMENTS
    assert {task.trigger_rule for task in starts} == {"all_done"}
    assert all(task.fail_when_dag_is_paused for task in starts), "else it would wait for a run that never begins"
    for name in EXPERIMENTS:
        finished = weekly.get_task(f"{name}.finished")
        assert finished.upstream_task_ids == {f"{name}.start"} and finished.trigger_rule == "all_success"
    for before, name in itertools.pairwise(EXPERIMENTS):
        assert weekly.get_task(f"{name}.start").upstream_task_ids == {f"{before}.finished"}


def test_what_follows_the_experiments_is_done_whatever_became_of_them(bag: DagBag) -> None:
    weekly = bag.dags["weekly"]
    for before, name in itertools.pairwise([f"{EXPERIMENTS[-1]}.finished", *TAIL]):
        assert weekly.get_task(name).upstream_task_ids == {before}
    for name in (*TAIL, "tell", "ask_about_baselines", "conclude"):
        rule = "all_success" if name == "measure_again" else "all_done"  # it has nothing to do where nothing was found
        assert weekly.get_task(name).trigger_rule == rule, name


def test_state_of_the_weekly_run_is_that_of_its_last_task(bag: DagBag) -> None:
    weekly = bag.dags["weekly"]
    assert [task.task_id for task in weekly.tasks if not task.downstream_task_ids] == ["conclude"]
    assert weekly.get_task("conclude").upstream_task_ids == {"tell", "ask_about_baselines"}


def test_calendar_is_in_the_zone_of_the_people_who_read_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Saturday evening stays Saturday evening when the clocks change."""
    monkeypatch.setenv("CLUSTERBENCH_TIMEZONE", "Europe/Berlin")
    declared: Any = DagBag(ROOT / "dags").dags["weekly"].timetable
    timetable = CronTriggerTimetable(declared.expression, timezone=declared.timezone)
    ticks, last_tick = [], datetime(2026, 10, 20, tzinfo=UTC)
    for _ in range(2):
        info = timetable.next_dagrun_info(
            last_automated_data_interval=DataInterval.exact(pendulum.instance(last_tick)),
            restriction=TimeRestriction(earliest=None, latest=None, catchup=True),
        )
        ticks.append(info.run_after)
        last_tick = info.run_after
    assert [f"{tick:%A %H:%M}" for tick in ticks] == ["Saturday 18:00", "Saturday 19:00"]


@pytest.mark.parametrize(("hours", "said"), [(None, 36), ("60", 60), ("1.5", 1.5), ("0", None)])
def test_deadline_of_the_weekly_run_can_be_set(
    monkeypatch: pytest.MonkeyPatch, hours: str | None, said: float | None
) -> None:
    monkeypatch.delenv(weekly_tasks.DEADLINE_HOURS, raising=False)
    if hours:
        monkeypatch.setenv(weekly_tasks.DEADLINE_HOURS, hours)
    alert = weekly_tasks.deadline()
    if said is None:
        assert alert is None
    else:
        assert alert is not None and alert.interval == timedelta(hours=said)
        assert alert.callback.path == "clusterbench.airflow.weekly_tasks.deadline_passed", (
            "in a module that can be imported"
        )


def test_deadline_that_is_no_number_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(weekly_tasks.DEADLINE_HOURS, "two days")
    with pytest.raises(SpecError, match="CLUSTERBENCH_WEEKLY_DEADLINE_HOURS: must be a number of hours, 0 for no dead"):
        weekly_tasks.deadline()


def test_form_of_the_weekly_run_may_choose_no_experiment(bag: DagBag) -> None:
    """Then what was measured last is judged and told again."""
    param = bag.dags["weekly"].params.get_param("experiments")
    assert param.value == EXPERIMENTS
    assert param.resolve([]) == []
    with pytest.raises(ParamValidationError):
        param.resolve(["weekly"])


def test_without_a_history_database_its_tasks_are_skipped_and_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(conn_id: str) -> Any:
        raise LookupError(f"The conn_id `{conn_id}` isn't defined")

    def no_step(*_: Any) -> Any:
        raise AssertionError("nothing is to be loaded")

    monkeypatch.setattr(tasks.BaseHook, "get_connection", nobody)
    monkeypatch.setattr(tasks, "run_step", no_step)
    monkeypatch.setattr(weekly_tasks, "run_step", no_step)
    for load in (tasks.load_history, weekly_tasks.load_history):
        with pytest.raises(
            AirflowSkipException, match="has no history database: unknown connection 'clusterbench_history'"
        ):
            load.function()


@pytest.mark.parametrize("why", ["", "unknown connection 'clusterbench_history'"])
def test_regressions_are_looked_for_where_the_week_noted_a_history(monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    looked: list[Any] = []
    monkeypatch.setattr(weekly_tasks, "run_step", lambda _, act: act("the run"))
    monkeypatch.setattr(weekly, "without_history", lambda run: why)
    monkeypatch.setattr(weekly, "find_changes", lambda run, again: looked.append((run, again)))
    monkeypatch.setattr(measure_again, "found", lambda run: "what was measured again")
    if why:
        with pytest.raises(AirflowSkipException, match="results are not followed over time"):
            weekly_tasks.regressions.function()
    else:
        weekly_tasks.regressions.function()
    assert looked == ([] if why else [("the run", "what was measured again")])


def test_question_is_one_mapped_task_whose_words_are_no_templates(bag: DagBag) -> None:
    question = bag.dags["baselines"].get_task("question")
    assert question.is_mapped
    assert question.partial_kwargs["map_index_template"] == "{{ task.subject }}"
    assert baseline_tasks.AskForBaseline.template_fields == ()


# Broken files.


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("dags", "include"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "lab"))
    monkeypatch.setenv("CLUSTERBENCH_ROOT", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seed: 7", "sede: 7", "sede: unknown key; did you mean 'seed'?"),
        (
            "clients: [1, 2]",
            "clients: [1, -2]",
            "sweeps.lookups.factors.clients: level -2 is out of range; allowed: 1 to",
        ),
        ("platforms: [lab_db1]", "platforms: [lab_db]", "platforms: unknown platform 'lab_db'; did you mean 'lab_db"),
        ("seed: 7", "seed: 7: 8", "is not YAML: mapping values are not allowed in this context; check the indentation"),
        ("seed: 7", "seed: 2026-02-30", "a value cannot be read: day is out of range for month"),
    ],
)
def test_broken_experiment_removes_its_own_dag_only_and_says_what_to_do(
    project: Path, old: str, new: str, said: str
) -> None:
    broken = project / "dags/experiments/smoke.yaml"
    assert old in broken.read_text()
    broken.write_text(broken.read_text().replace(old, new, 1))
    bag = DagBag(project / "dags")
    assert set(bag.dags) == {*EXPERIMENTS, *OTHERS} - {"smoke"}
    assert "smoke" not in [task.task_id for task in bag.dags["weekly"].tasks]
    ((file, error),) = bag.import_errors.items()
    assert file.endswith("problems.py")
    assert str(broken) in error
    assert said in error


def test_broken_platform_leaves_every_experiment_that_does_not_name_it(project: Path) -> None:
    broken = project / "include/platforms/lab_db2.yaml"
    broken.write_text(broken.read_text().replace("engine: postgres", "engine: postgre"))
    bag = DagBag(project / "dags")
    assert set(bag.dags) == {*EXPERIMENTS, *OTHERS} - {"retail"}, "retail names it"
    assert not [task.task_id for task in bag.dags["smoke"].tasks if task.task_id.startswith("lab_db2")]
    (error,) = bag.import_errors.values()
    assert "lab_db2.yaml:7: engine: unknown engine 'postgre'; did you mean 'postgres'?" in error


def test_added_experiment_is_a_dag_at_once(project: Path) -> None:
    text = (project / "dags/experiments/smoke.yaml").read_text()
    (project / "dags/experiments/mine.yaml").write_text(text.replace("experiment: smoke", "experiment: mine"))
    assert "mine" in DagBag(project / "dags").dags


# What Airflow loads.


def run_python(script: str, home: Path) -> str:
    """A new process as Airflow's, with the project's plugins folder."""
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__LAZY_LOAD_PLUGINS": "false",
    }
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_files_of_dags_import_what_they_show_and_nothing_else() -> None:
    for file in (ROOT / "dags").glob("*.py"):
        nodes = ast.walk(ast.parse(file.read_text()))
        names = [n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)]
        names += [
            alias.name for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Import) for alias in n.names
        ]
        assert {name.split(".")[0] for name in names} <= {"__future__", "airflow", "clusterbench", "datetime", "os"}, (
            file
        )


def test_parsing_the_dags_imports_nothing_slow(tmp_path: Path) -> None:
    files = sorted(str(path) for path in (ROOT / "dags").glob("*.py"))
    script = f"""
import sys, runpy
import airflow.sdk, airflow.providers.standard.operators.trigger_dagrun
before = set(sys.modules)
for file in {files}:
    runpy.run_path(file)
print("clusterbench.airflow.tasks" in sys.modules, [name for name in {SLOW} if name in set(sys.modules) - before])
"""
    assert run_python(script, tmp_path) == "True []"


def test_airflow_does_not_load_our_modules_as_loose_plugins(tmp_path: Path) -> None:
    """A bare ``plan``, or worse a ``statistics`` of ours in the place of the standard library's."""
    package = ROOT / "plugins/clusterbench"
    loose = sorted({path.stem for path in package.rglob("*.py")} - {"__init__", "__main__"})
    script = f"""
import sys
from airflow import plugins_manager
plugins_manager.ensure_plugins_loaded()
import statistics
ours = [n for n in {loose} if str(getattr(sys.modules.get(n), "__file__", "")).startswith({str(package)!r})]
print(ours, plugins_manager.get_import_errors(), statistics.median([1, 2, 4]), {str(ROOT)!r} in statistics.__file__)
"""
    assert {"plan", "sql", "statistics"} <= set(loose)
    assert run_python(script, tmp_path) == "[] {} 2 False"


def test_that_check_would_see_loose_plugins(tmp_path: Path) -> None:
    """Two modules without ``.airflowignore``: so that file is what keeps them out, and the check is not blind."""
    loose = tmp_path / "plugins/clusterbench"
    loose.mkdir(parents=True)
    for name in ("trial/plan.py", "base/sql.py"):
        shutil.copy(ROOT / "plugins/clusterbench" / name, loose)
    script = f"""
import os, sys
os.environ["AIRFLOW__CORE__PLUGINS_FOLDER"] = {str(tmp_path / "plugins")!r}
from airflow import plugins_manager
plugins_manager.ensure_plugins_loaded()
print([n for n in ("plan", "sql") if str(getattr(sys.modules.get(n), "__file__", "")).startswith({str(loose)!r})])
"""
    assert run_python(script, tmp_path) == "['plan', 'sql']"
