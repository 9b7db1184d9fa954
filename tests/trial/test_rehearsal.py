"""A rehearsal: every size of full scale divided, all else untouched, and never mistaken for full scale."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.base.factors import Factor, Level
from clusterbench.base.paths import project_root
from clusterbench.spec.by_name import workload_names
from clusterbench.spec.catalog import Catalog
from clusterbench.trial import rehearsal
from clusterbench.trial.plan import Choices, Plan, make_plan, read_choices
from clusterbench.workloads import load_workload

CATALOG = Catalog(project_root())
STUDIES = {"key_value": 5000, "retail": 4000, "terasort": 10_000, "order_entry": 1000, "tpcds_density": 1000}


def planned(name: str, **chosen: Any) -> Plan:
    experiment = CATALOG.experiment(name)
    return make_plan(experiment, read_choices(experiment, chosen), CATALOG)


def refused(name: str, **chosen: Any) -> str:
    with pytest.raises(SpecError) as error:
        planned(name, **chosen)
    return str(error.value)


def sizes_of(workload: str) -> list[str]:
    return [name for name, factor in load_workload(workload).factors.items() if factor.is_size]


@pytest.mark.parametrize("workload", workload_names())
def test_every_number_that_other_data_follows_from_is_a_size(workload: str) -> None:
    for name, factor in load_workload(workload).factors.items():
        is_how_many_at_once = factor.is_concurrency  # of TestDFSIO: files are written at once, and stay as many
        assert factor.is_size == (factor.is_dataset and not factor.choices and not is_how_many_at_once), name
    assert len(sizes_of(workload)) == (0 if workload == "network_stream" else 1), "a network has no size"


@pytest.mark.parametrize(("name", "by"), STUDIES.items())
def test_sizes_are_divided_and_nothing_else_is_touched(name: str, by: int) -> None:
    full, rehearsed = planned(name, scale="full"), planned(name, rehearse=by)
    assert rehearsed.choices == full.choices.model_copy(update={"rehearse": by})
    for platform, trials in full.trials.items():
        of_full = {(t.sweep, t.repetition, *levels_without_sizes(t.workload, t.levels), *sizes(t)): t for t in trials}
        assert len(rehearsed.trials[platform]) == len(trials) == len(of_full)
        for trial in rehearsed.trials[platform]:
            factors = load_workload(trial.workload).factors
            (size,) = sizes_of(trial.workload)
            key = (trial.sweep, trial.repetition, *levels_without_sizes(trial.workload, trial.levels))
            others = [t for k, t in of_full.items() if factors[size].divided(t.levels[size], by) == trial.levels[size]
                      and k[: len(key)] == key]  # fmt: skip
            (other,) = others
            assert (trial.timeout_s, trial.settings, trial.seed) == (other.timeout_s, other.settings, other.seed)
            assert (bool(trial.ramp), trial.give_up_after) == (bool(other.ramp), other.give_up_after)

            for name in set(lengths_of(trial.workload)) & set(trial.levels):
                assert trial.levels[name] == factors[name].divided(other.levels[name], by) <= other.levels[name]


def lengths_of(workload: str) -> list[str]:
    return [name for name, factor in load_workload(workload).factors.items() if factor.rehearsed_least]


def levels_without_sizes(workload: str, levels: dict[str, Level]) -> list[tuple[str, Level]]:
    divided = sizes_of(workload) + lengths_of(workload)
    return sorted((name, level) for name, level in levels.items() if name not in divided)


def sizes(trial: Any) -> list[Level]:
    return [trial.levels[name] for name in sizes_of(trial.workload)]


def test_windows_of_order_entry_are_divided_down_to_some_seconds() -> None:
    trials = planned("order_entry", rehearse=8000).trials["lab_native"]
    assert {(t.levels["window_s"], t.levels["ramp_up_s"]) for t in trials} == {(20, 20)}
    assert {t.levels["probe_s"] for t in trials if t.sweep == "utilisation"} == {5}
    assert {t.timeout_s for t in trials} == {7200}
    trials = planned("order_entry", rehearse=60).trials["lab_native"]
    assert {(t.levels["window_s"], t.levels["ramp_up_s"]) for t in trials} == {(30, 20)}


@pytest.mark.parametrize(("level", "by", "divided"), [(1800, 60, 30), (1800, 8000, 10), (3, 8000, 3), (0, 2, 0)])
def test_a_time_that_is_short_already_stays(level: int, by: int, divided: int) -> None:
    assert Factor(60, "window", maximum=86_400, rehearsed_least=10).divided(level, by) == divided


def test_order_of_a_sweep_without_other_sizes_is_that_of_full_scale() -> None:
    full, rehearsed = (planned("retail", scale="full", **chosen) for chosen in ({}, {"rehearse": 4000}))
    ids = [[trial.id for trial in plan.trials["lab_db1"]] for plan in (full, rehearsed)]
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("level", "by", "divided"),
    [(1_000_000, 1000, 1000), (1_000_000, 3, 333_333), (5, 2, 3), (1_000_000, 20_000, 100), (1_000_000, 1, 1_000_000)],
)
def test_whole_sizes_are_rounded_to_the_nearest_and_have_a_least(level: int, by: int, divided: int) -> None:
    rows = Factor(1000, "rows", minimum=100 if level > 5 else 1, maximum=10**9, is_size=True)
    assert rows.divided(level, by) == divided
    assert rows.problem(rows.divided(level, by)) is None


@pytest.mark.parametrize(
    ("by", "divided"), [(10, 100), (1000, 1), (3000, 0.333), (70_000, 0.0143), (10**9, 0.01), (7, 143)]
)
def test_scale_factors_keep_three_digits(by: int, divided: float) -> None:
    factor = load_workload("tpcds").factors["scale_factor"]
    found = factor.divided(1000, by)
    assert (found, type(found)) == (divided, type(divided))
    assert factor.problem(found) is None


def test_what_is_no_size_stays() -> None:
    assert Factor(1, "clients", maximum=100, is_concurrency=True).divided(50, 10) == 50
    assert Factor("heap", "storage", choices=("heap",), is_dataset=True).divided("heap", 10) == "heap"


def test_two_sizes_that_would_be_one_are_refused_and_the_next_divisor_is_said() -> None:
    said = refused("key_value", rehearse=200_000)
    assert "rows 1M and 10M of sweep 'table_size' are both 100, so that two cells would be one" in said
    possible = int(said.split("choose ")[1].split(",", maxsplit=1)[0])
    assert planned("key_value", rehearse=possible)
    assert "would be one" in refused("key_value", rehearse=possible + 1)


def test_only_the_chosen_sweeps_count() -> None:
    plan = planned("key_value", rehearse=200_000, sweeps=["concurrency"])
    assert {trial.levels["rows"] for trial in plan.trials["lab_db1"]} == {5000}


def test_another_scale_than_full_is_refused() -> None:
    said = refused("retail", scale="laptop", rehearse=1000)
    assert said == (
        "rehearse: 1000 divides the sizes of scale 'full', and the chosen scale is 'laptop'; choose scale full, or "
        "take the rehearsal out (rehearse 1)"
    )


@pytest.mark.parametrize("by", [0, -1, 1.5, True, "many", 10**9 + 1])
def test_a_divisor_that_is_none_is_refused(by: Any) -> None:
    assert refused("retail", scale="full", rehearse=by).startswith("rehearse: ")


def test_one_is_no_rehearsal_at_any_scale() -> None:
    assert planned("retail", scale="smoke", rehearse=1).trials == planned("retail", scale="smoke").trials


def test_a_rehearsal_is_of_full_scale_without_saying_so() -> None:
    assert planned("smoke", rehearse=10).choices.scale == "full"


def test_a_factor_that_no_sweep_names_is_divided_too() -> None:
    experiment = CATALOG.experiment("smoke")
    sweep = experiment.sweeps["lookups"].model_copy(update={"factors": {"clients": [1, 2]}})
    bare = experiment.model_copy(update={"sweeps": {"lookups": sweep}})
    plan = make_plan(bare, read_choices(bare, {"rehearse": 100}), CATALOG)
    assert {trial.levels["rows"] for trial in plan.trials["lab_db1"]} == {10_000}
    found = {one.factor: (one.full, one.rehearsed, one.is_least) for one in rehearsal.sizes(bare, [], 100)}
    assert found == {"rows": (1_000_000, 10_000, False), "lookups_per_client": (2000, 100, True)}


def test_sizes_below_the_least_are_told() -> None:
    found = rehearsal.sizes(CATALOG.experiment("key_value"), ["table_size"], 20_000)
    assert [(one.full, one.rehearsed) for one in found if one.is_least] == [(1_000_000, 100), (10, 1)]


# What is archived, and by what runs are told apart.


def test_choices_of_earlier_versions_are_no_rehearsal() -> None:
    earlier = {"scale": "full", "platforms": ["lab_db1"], "seed": 7, "sweeps": [], "concurrency": [], "repetitions": 0}
    assert Choices.model_validate(earlier).rehearse == 1
    assert rehearsal.scale_of(earlier) == "full"
    assert rehearsal.notice(earlier) == ""


def test_a_plan_reads_back_as_it_was() -> None:
    plan = planned("smoke", rehearse=10)
    assert Plan.from_json(plan.as_json()) == plan
    assert plan.as_json()["choices"]["rehearse"] == 10


def test_a_rehearsal_has_a_scale_and_a_notice_of_its_own() -> None:
    choices = {"scale": "full", "rehearse": 1000}
    assert rehearsal.scale_of(choices) == "rehearsal_1000"
    assert "divided by 1,000" in rehearsal.notice(choices)
