"""The plan: which trials, in which order; and what a person may choose."""

from __future__ import annotations

import itertools
import json
import math
import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial
from clusterbench.engines import engine_class
from clusterbench.spec import SCALES, Experiment
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.plan import TRIAL_TASKS_MAX, Choices, Plan, make_plan, read_choices
from clusterbench.trial.rehearsal import scale_of
from clusterbench.workloads import load_workload, why_not
from tests import FIXTURES

CATALOG = Catalog(project_root())
BOTH = ["lab_db1", "lab_db2"]
MILLION = 1_000_000


@pytest.fixture(scope="module")
def key_value() -> Experiment:
    return CATALOG.experiment("key_value")


def planned(experiment: Experiment, **chosen: Any) -> Plan:
    return make_plan(experiment, read_choices(experiment, chosen), CATALOG)


def trials(experiment: Experiment, **chosen: Any) -> list[Trial]:
    return planned(experiment, **chosen).trials["lab_db1"]


def levels(found: list[Trial], sweep: str, factor: str) -> set[Any]:
    return {trial.levels[factor] for trial in found if trial.sweep == sweep}


# Trials and their order.


def test_same_seed_gives_the_same_trials_in_the_same_order(key_value: Experiment) -> None:
    assert planned(key_value).trials == planned(key_value).trials


def test_order_is_the_same_on_both_platforms(key_value: Experiment) -> None:
    plan = planned(key_value, platforms=BOTH)
    assert [trial.id for trial in plan.trials["lab_db1"]] == [trial.id for trial in plan.trials["lab_db2"]]
    assert {trial.platform for trial in plan.trials["lab_db2"]} == {"lab_db2"}


def test_order_of_a_seed_stays_as_it_is(tmp_path: Path) -> None:
    """Runs of earlier weeks can be repeated only while this order is the same with every release."""
    fixtures = FIXTURES / "valid"
    for kind, parent in {"experiments": "dags", "platforms": "include", "published": "include"}.items():
        shutil.copytree(fixtures / kind, tmp_path / parent / kind)
    catalog = Catalog(tmp_path)
    experiment = catalog.experiment("smallest")
    plan = make_plan(experiment, read_choices(experiment, {"scale": "smoke"}), catalog)
    assert [trial.id for trial in plan.trials["one_host"]] == [
        "lookups.rows_1000.r2",
        "lookups.rows_2000.r3",
        "lookups.rows_1000.r1",
        "lookups.rows_1000.r3",
        "lookups.rows_2000.r1",
        "lookups.rows_2000.r2",
    ]


def test_other_seed_gives_the_same_trials_in_another_order(key_value: Experiment) -> None:
    one, other = trials(key_value, seed=1), trials(key_value, seed=2)
    assert [trial.id for trial in one] != [trial.id for trial in other]
    assert {trial.id for trial in one} == {trial.id for trial in other}
    assert {trial.seed for trial in other} == {2}


def test_order_is_random_and_not_that_of_the_file(key_value: Experiment) -> None:
    sweeps = [trial.sweep for trial in trials(key_value, scale="laptop")]
    changes = sum(one != other for one, other in pairwise(sweeps))
    assert changes > len(set(sweeps)) * 3


def test_full_scale_holds_the_levels_of_the_paper(key_value: Experiment) -> None:
    found = trials(key_value, scale="full")
    sizes = {rows * MILLION for rows in (1, 10, 50, 100, 150, 200, 250, 500, 1000)}
    for sweep in ("table_size", "optimizer", "index_build"):
        assert levels(found, sweep, "rows") == sizes
    assert levels(found, "concurrency", "clients") == {1, 50, 100, 150, 200}
    assert levels(found, "concurrency", "cache") == {"cold", "warm", "database_warm"}
    assert levels(found, "concurrency", "rows") == {1000 * MILLION}
    assert levels(found, "optimizer", "optimizer") == {"planner", "orca"}
    assert levels(found, "optimizer", "lookups_per_client") == {2000}


def test_full_scale_is_every_combination_as_often_as_declared(key_value: Experiment) -> None:
    found = trials(key_value, scale="full")
    count = {sweep: sum(trial.sweep == sweep for trial in found) for sweep in key_value.sweeps}
    assert count == {
        "table_size": 9 * 2 * 5,
        "optimizer": 9 * 2 * 5,
        "concurrency": 5 * 3 * 5,
        "statement": 4 * 5 * 2 * 5,
        "pooling": 2 * 2 * 2 * 5,
        "direct_dispatch": 2 * 3 * 5,
        "statement_mem": 2 * 2 * 5,
        "log_statement": 2 * 2 * 5,
        "storage": 3 * 5,
        "index_build": 9 * 3,
    }


def test_repetitions_are_numbered_from_one(key_value: Experiment) -> None:
    cells: dict[str, set[int]] = {}
    for trial in trials(key_value, scale="laptop"):
        cells.setdefault(trial.cell, set()).add(trial.repetition)
    assert set(map(frozenset, cells.values())) == {frozenset({1, 2, 3})}


def test_repetitions_can_be_chosen_and_zero_means_as_declared(key_value: Experiment) -> None:
    declared = trials(key_value, scale="smoke")
    assert trials(key_value, scale="smoke", repetitions=0) == declared
    assert {trial.repetition for trial in trials(key_value, scale="smoke", repetitions=4)} == {1, 2, 3, 4}


def test_factors_that_are_not_named_have_their_default(key_value: Experiment) -> None:
    for trial in trials(key_value, scale="laptop"):
        named = set(key_value.sweeps[trial.sweep].factors)
        of_workload = load_workload(trial.workload).factors
        factors = {name: f for name, f in of_workload.items() if name in named or not f.is_later}
        assert set(trial.levels) == set(factors)
        for name in set(factors) - named:
            assert trial.levels[name] == factors[name].default


def test_trial_carries_the_settings_of_its_engine(key_value: Experiment) -> None:
    assert {tuple(trial.settings.items()) for trial in trials(key_value)} == {(("log_statement", "none"),)}


LAYOUTS = [f"lab_made_retail_vm{count}" for count in (1, 2, 4)]


def test_layouts_take_turns_in_an_order_that_the_seed_draws_after_all_others() -> None:
    retail = CATALOG.experiment("retail")
    plans = [planned(retail, platforms=[*LAYOUTS, "lab_db1"], scale="smoke", seed=seed) for seed in range(12)]
    orders = [tuple(plan.order) for plan in plans]
    assert len(set(orders)) > 3 and all(order[0] == "lab_db1" and sorted(order[1:]) == LAYOUTS for order in orders)
    again = planned(retail, platforms=[*LAYOUTS, "lab_db1"], scale="smoke", seed=3)
    assert again.order == plans[3].order == Plan.from_json(again.as_json()).order
    assert again.before("lab_db1") == [] and again.before(again.order[2]) == again.order[:2]


def test_layouts_keep_their_order_where_the_experiment_says_so() -> None:
    retail = CATALOG.experiment("retail").model_copy(update={"layouts": "declared"})
    assert planned(retail, platforms=LAYOUTS[::-1], scale="smoke").order == LAYOUTS[::-1]


def test_a_plan_of_before_has_the_order_of_its_platforms() -> None:
    plan = planned(CATALOG.experiment("retail"), platforms=["lab_db2", "lab_db1"], scale="smoke")
    known = {key: value for key, value in plan.as_json().items() if key != "order"}
    assert Plan.from_json(known).before("lab_db1") == ["lab_db2"]


def test_trials_have_a_task_each_until_there_are_more_than_airflow_s_scheduler_bears(key_value: Experiment) -> None:
    few = planned(key_value, scale="smoke", platforms=["lab_db1"])
    assert few.trials_per_task("lab_db1") == 1
    many = planned(key_value, platforms=["lab_db1"], repetitions=223)
    count, per_task = len(many.trials["lab_db1"]), many.trials_per_task("lab_db1")
    assert count > 2 * TRIAL_TASKS_MAX and math.ceil(count / per_task) <= TRIAL_TASKS_MAX
    assert Plan.from_json(many.as_json()).trials_per_task("lab_db1") == per_task


def test_platforms_in_turns_share_the_tasks_of_all_their_trials() -> None:
    retail = CATALOG.experiment("retail")
    plan = planned(retail, scale="laptop", repetitions=100)
    one, other = plan.in_turns
    assert plan.trials_per_task(one) == plan.trials_per_task(other) == math.ceil(len(plan.turns) / TRIAL_TASKS_MAX) > 1
    assert plan.trials_per_task(one) > math.ceil(len(plan.trials[one]) / TRIAL_TASKS_MAX)


def test_trials_of_a_plan_of_before_had_a_task_each(key_value: Experiment) -> None:
    many = planned(key_value, platforms=["lab_db1"], repetitions=223).as_json()
    assert Plan.from_json(many).trials_per_task("lab_db1") > 1
    del many["trial_tasks_max"]
    assert Plan.from_json(many).trials_per_task("lab_db1") == 1


def test_platform_named_twice_is_measured_once(key_value: Experiment) -> None:
    assert list(planned(key_value, platforms=["lab_db1", "lab_db1"]).trials) == ["lab_db1"]


# Names.


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", [file.stem for file in CATALOG.experiment_files])
def test_trial_ids_are_unique_and_safe_as_file_and_object_names(name: str, scale: str) -> None:
    (platform, *_) = CATALOG.experiment(name).platforms
    ids = [trial.id for trial in planned(CATALOG.experiment(name), scale=scale).trials[platform]]
    assert len(set(ids)) == len(ids)
    for trial_id in ids:
        assert re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-zA-Z0-9_]*)*\.r(0|[1-9][0-9]*)", trial_id), trial_id
        assert len(trial_id) <= 200


def test_trial_ids_are_unique_whatever_the_case_of_letters(key_value: Experiment) -> None:
    ids = [trial.id.lower() for trial in trials(key_value, scale="full")]
    assert len(set(ids)) == len(ids)


def test_labels_say_what_varies_in_words(key_value: Experiment) -> None:
    found = {trial.id: trial.label for trial in trials(key_value, scale="full")}
    assert found["concurrency.clients_200.cache_database_warm.r1"] == "concurrency: 200 clients, database warm (#1)"
    assert found["table_size.rows_1000000000.access_scan.r2"] == "table size: 1000M rows, scan (#2)"
    assert len(set(found.values())) == len(found)


@pytest.mark.parametrize(
    ("experiment", "sweep", "platform", "levels_expected"),
    [
        ("key_value", "table_size", "lab_db1", {"optimizer": "planner"}),
        ("key_value", "table_size", "greenplum_cluster", {"optimizer": "orca"}),
        ("tpcds_density", "lite", "lab_ideal", {"optimizer": "planner", "storage": "heap", "cache": "as_left"}),
        (
            "tpcds_density",
            "full",
            "density_base",
            {"optimizer": "orca", "storage": "append_column", "cache": "as_left"},
        ),
        ("retail", "full_scan", "native", {"optimizer": "planner", "storage": "heap"}),
    ],
)
def test_levels_at_full_scale_are_those_of_the_platform_s_engine(
    experiment: str, sweep: str, platform: str, levels_expected: dict[str, Any]
) -> None:
    plan = planned(CATALOG.experiment(experiment), scale="full", platforms=[platform], sweeps=[sweep])
    found = plan.trials[platform]
    for name, level in levels_expected.items():
        default = load_workload(found[0].workload).factors[name].default
        assert {trial.levels.get(name, default) for trial in found} == {level}, name
    unavailable = engine_class(CATALOG.platform(platform)).unavailable_on(CATALOG.platform(platform), {})
    assert not any(why_not(trial, unavailable) for trial in found)


def test_later_factors_are_named_only_where_they_are_not_as_before(key_value: Experiment) -> None:
    """A result with the levels that it had stays of the series that it was of."""
    for name, scale in (("key_value", "laptop"), ("retail", "laptop"), ("tpcds_density", "laptop")):
        experiment = CATALOG.experiment(name)
        for trial in itertools.chain(*planned(experiment, scale=scale).trials.values()):
            later = {factor for factor, f in load_workload(trial.workload).factors.items() if f.is_later}
            assert not (later - set(experiment.sweeps[trial.sweep].factors)) & set(trial.levels), trial.id
    full = planned(CATALOG.experiment("tpcds_density"), scale="full", platforms=["density_base"])
    assert {trial.levels["compression"] for trial in full.trials["density_base"]} == {"zlib_1"}
    sweep = key_value.sweeps["storage"]
    both = sweep.model_copy(update={"factors": {"storage": ["append_row"], "compression": ["by_storage", "zstd_1"]}})
    found = trials(key_value.model_copy(update={"sweeps": {"storage": both}}))
    assert {trial.levels["compression"] for trial in found} == {"by_storage", "zstd_1"}


def test_engine_without_levels_is_refused(key_value: Experiment) -> None:
    sweep = key_value.sweeps["table_size"]
    only = sweep.model_copy(update={"factors": {"optimizer": {"greenplum": ["orca"]}, "rows": [1000]}})
    with pytest.raises(SpecError) as caught:
        planned(key_value.model_copy(update={"sweeps": {"table_size": only}}), scale="full")
    assert caught.value.problems == [
        "sweeps.table_size.factors.optimizer.full: has levels only for greenplum, and platform 'lab_db1' has "
        "engine postgres; add its levels, or choose other platforms"
    ]


def test_trial_is_found_by_its_id(key_value: Experiment) -> None:
    plan = planned(key_value, scale="smoke")
    first = plan.trials["lab_db1"][0]
    assert plan.trial("lab_db1", first.id) == first
    with pytest.raises(SpecError, match=r"no trial 'x' on platform 'lab_db1'"):
        plan.trial("lab_db1", "x")
    with pytest.raises(SpecError, match=r"on platform 'lab_db9'"):
        plan.trial("lab_db9", first.id)


def test_plan_comes_back_from_json_as_it_was(key_value: Experiment) -> None:
    plan = planned(key_value, platforms=BOTH, scale="full")
    assert Plan.from_json(json.loads(json.dumps(plan.as_json()))) == plan


def test_datasets_are_each_once_and_smallest_first(key_value: Experiment) -> None:
    found = planned(key_value, scale="laptop").datasets("lab_db1", {})
    assert [dataset.rows for _, dataset in found] == [100_000, 300_000, 300_000, 300_000, 1_000_000]


def test_data_that_no_trial_can_use_is_not_made(key_value: Experiment) -> None:
    found = planned(key_value, scale="laptop").datasets("lab_db1", {"append_optimised": "no such tables here"})
    assert [dataset.table for _, dataset in found] == ["datajson_100000", "datajson_300000", "datajson_1000000"]


# Choices.


def test_nothing_chosen_means_as_declared(key_value: Experiment) -> None:
    assert read_choices(key_value, {}) == Choices(scale="laptop", platforms=["lab_db1"], seed=20171002)


def test_choice_of_none_means_as_declared(key_value: Experiment) -> None:
    assert read_choices(key_value, {"scale": None, "seed": None}) == read_choices(key_value, {})


def test_concurrency_keeps_only_its_levels_where_it_varies(key_value: Experiment) -> None:
    found = trials(key_value, scale="laptop", concurrency=[50])
    assert levels(found, "concurrency", "clients") == {50}
    assert levels(found, "table_size", "clients") == {1}
    assert levels(found, "statement", "clients") == {10}


def test_concurrency_chosen_alone_names_its_trials_as_a_whole_run_does(key_value: Experiment) -> None:
    whole = {trial.id: trial for trial in trials(key_value, scale="laptop")}
    for trial in trials(key_value, scale="laptop", concurrency=[50]):
        assert whole[trial.id] == trial


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (
            {"scale": "laptop", "concurrency": [7]},
            "concurrency: level 7 is not in the experiment at this scale; allowed: 1, 10, 50",
        ),
        (
            {"scale": "smoke", "concurrency": [1, 50]},
            "concurrency: level 50 is not in the experiment at this scale; allowed: 1, 4",
        ),
        ({"sweeps": ["table_size"], "concurrency": [1]}, "allowed: none, no chosen sweep varies it"),
    ],
)
def test_concurrency_that_no_sweep_varies_is_refused(key_value: Experiment, chosen: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=re.escape(said)):
        planned(key_value, **chosen)


def test_allowed_concurrency_is_listed_in_the_order_of_numbers(key_value: Experiment) -> None:
    with pytest.raises(SpecError, match=r"allowed: 1, 50, 100, 150, 200$"):
        planned(key_value, scale="full", concurrency=[7])


def test_sweeps_keep_only_those_chosen(key_value: Experiment) -> None:
    found = trials(key_value, sweeps=["pooling", "index_build"])
    assert {trial.sweep for trial in found} == {"pooling", "index_build"}


def test_unknown_sweep_is_refused_with_a_suggestion(key_value: Experiment) -> None:
    with pytest.raises(
        SpecError, match=r"sweeps: unknown sweep 'poolin'; did you mean 'pooling'\? Allowed: concurrency"
    ):
        read_choices(key_value, {"sweeps": ["poolin"]})


def test_unknown_choice_is_refused_with_a_suggestion(key_value: Experiment) -> None:
    with pytest.raises(
        SpecError, match=r"'platform' is not a choice; did you mean 'platforms'\? Allowed: cells, concurrency"
    ):
        read_choices(key_value, {"platform": "lab_db1"})


def test_unknown_platform_is_refused_with_a_suggestion(key_value: Experiment) -> None:
    with pytest.raises(
        SpecError, match=r"unknown platform 'lab_db'; did you mean 'lab_db\d'\? Allowed: .*lab_db1, lab_db2"
    ):
        planned(key_value, platforms=["lab_db"])


HOSTILE = (
    "x'; DROP TABLE t; --",
    'a"b',
    "a;b",
    "$(reboot)",
    "`id`",
    "../etc/passwd",
    "a/b",
    "a b",
    "a\nb",
    "",
    "{{ 7*7 }}",
)


@pytest.mark.parametrize("key", ["platforms", "sweeps"])
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_refused(key_value: Experiment, key: str, text: str) -> None:
    with pytest.raises(SpecError, match=rf"^{key}\.0: ") as caught:
        read_choices(key_value, {key: [text]})
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("scale", "huge", "scale: 'huge' is not allowed; Allowed: full, laptop, smoke"),
        ("scale", "latop", "scale: 'latop' is not allowed; did you mean 'laptop'? Allowed: full, laptop, smoke"),
        ("scale", "laptop; rm -rf /", "scale: 'laptop; rm -rf /' is not allowed"),
        ("platforms", [], "platforms: is empty; name at least one"),
        ("platforms", "lab_db1", "platforms: must be a list, found 'lab_db1'"),
        ("repetitions", -1, "repetitions: must be greater than or equal to 0, found -1"),
        ("repetitions", 1001, "repetitions: must be less than or equal to 1000, found 1001"),
        ("repetitions", "3", "repetitions: must be a whole number, found '3'"),
        ("repetitions", 2.5, "repetitions: must be a whole number, found 2.5"),
        ("repetitions", True, "repetitions: must be a whole number, found True"),
        ("seed", -1, "seed: must be greater than or equal to 0, found -1"),
        ("seed", "1; --", "seed: must be a whole number, found '1; --'"),
        ("seed", 2**31, "seed: must be less than or equal to 2147483647, found 2147483648"),
        ("concurrency", [0], "concurrency.0: must be greater than or equal to 1, found 0"),
        ("concurrency", [1, "$(id)"], "concurrency.1: must be a whole number, found '$(id)'"),
        ("concurrency", 10, "concurrency: must be a list, found 10"),
    ],
)
def test_choice_that_is_not_allowed_is_refused_in_words(key_value: Experiment, key: str, value: Any, said: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_choices(key_value, {key: value})
    assert said in str(caught.value)


def test_every_wrong_choice_is_told_at_once(key_value: Experiment) -> None:
    with pytest.raises(SpecError) as caught:
        read_choices(key_value, {"seed": -1, "repetitions": -1})
    assert len(caught.value.problems) == 2


def test_some_cells_are_planned_alone_and_an_unknown_one_is_refused(key_value: Experiment) -> None:
    every = trials(key_value)
    some = [every[0].cell, every[-1].cell]
    assert {trial.cell for trial in trials(key_value, cells=some)} == set(some)
    assert {trial.id for trial in trials(key_value, cells=some)} == {one.id for one in every if one.cell in some}
    by_label = trials(key_value, cells=[every[0].cell_label, every[-1].cell])
    assert by_label == trials(key_value, cells=some), "as mail and pages call it, too"
    with pytest.raises(SpecError, match=rf"no chosen sweep has a cell '{some[0]}x'.*did you mean '{some[0]}'"):
        planned(key_value, cells=[f"{some[0]}x"])


def test_a_cell_of_a_ramp_is_planned_with_what_comes_before_it() -> None:
    experiment = CATALOG.experiment("tpcds_density")
    every = planned(experiment, platforms=["lab_ideal"]).trials["lab_ideal"]
    step = next(trial for trial in every if trial.ramp)
    found = planned(experiment, platforms=["lab_ideal"], cells=[step.cell]).trials["lab_ideal"]
    steps = step.ramp.rpartition(".")[0]
    assert {trial.id for trial in found} == {trial.id for trial in every if trial.ramp.startswith(f"{steps}.r")}


def test_what_is_measured_again_for_a_week_is_a_scale_of_its_own(key_value: Experiment) -> None:
    choices = read_choices(key_value, {"confirms": "20261121T200000Z-aaaaaa"})
    assert scale_of(choices.model_dump()) == "laptop_again"
    assert scale_of(read_choices(key_value, {}).model_dump()) == "laptop"


def test_values_of_a_setting_are_measured_in_turns_in_the_chosen_cells(key_value: Experiment) -> None:
    cell = trials(key_value)[0].cell
    found = trials(key_value, cells=[cell], in_turns={"server.random_page_cost": ["4", "40"]})
    assert {trial.cell for trial in found} == {f"{cell}.random_page_cost_4", f"{cell}.random_page_cost_40"}
    assert {trial.levels["server.random_page_cost"] for trial in found} == {"4", "40"}
    for one, other in zip(found[::2], found[1::2], strict=True):
        assert one.repetition == other.repetition, "neighbours in time"
    with pytest.raises(SpecError, match="in_turns"):
        read_choices(key_value, {"in_turns": {"random_page_cost": ["4", "40"]}})
    with pytest.raises(SpecError, match="in_turns"):
        read_choices(key_value, {"in_turns": {"server.random_page_cost": ["4; DROP"]}})


def test_a_factor_is_held_at_a_level_in_every_sweep_that_has_it() -> None:
    tpch = CATALOG.experiment("tpch")
    found = planned(tpch, scale="smoke", levels=["statements=q06"]).trials["lab_db1"]
    assert {trial.levels["statements"] for trial in found} == {"q06"}
    assert {trial.cell for trial in found} == {"power.statements_q06", "throughput.statements_q06"}, "other series"
    wanted = [trial.id for trial in planned(tpch, scale="smoke").trials["lab_db1"]]
    assert [t.id for t in planned(tpch, scale="smoke", levels=["statements=all"]).trials["lab_db1"]] == wanted


def test_a_sweep_s_own_factor_is_held_too_and_its_cells_keep_their_names(key_value: Experiment) -> None:
    every = {trial.cell for trial in trials(key_value, sweeps=["concurrency"])}
    found = {trial.cell for trial in trials(key_value, sweeps=["concurrency"], levels=["cache=warm"])}
    assert found < every and all("cache_warm" in cell for cell in found)


@pytest.mark.parametrize(
    ("level", "problem"),
    [
        ("rows_=5", "levels: no chosen sweep has a factor 'rows_'; did you mean 'rows'?"),
        ("rows=5", "levels: rows: level 5 is out of range; allowed: 100 to"),
        ("cache=hot", "levels: cache: level 'hot' is not allowed"),
        ("cache", "levels.0: "),
    ],
)
def test_a_level_that_cannot_be_held_is_told(key_value: Experiment, level: str, problem: str) -> None:
    with pytest.raises(SpecError, match=re.escape(problem)):
        planned(key_value, levels=[level])


def test_a_run_that_only_makes_data_has_nothing_to_measure(key_value: Experiment) -> None:
    plan = planned(key_value, generate_only=True)
    assert plan.datasets("lab_db1", {}) == planned(key_value).datasets("lab_db1", {}) != []
    assert plan.to_measure == {"lab_db1": []}
