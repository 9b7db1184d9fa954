"""Levels, counts and defaults of an experiment."""

from __future__ import annotations

import pytest

from clusterbench.spec import SCALES, Experiment, Regression, Sweep
from clusterbench.spec.loading import load
from tests import FIXTURES


@pytest.fixture
def smallest() -> Experiment:
    return load(FIXTURES / "valid/experiments/smallest.yaml", Experiment)


@pytest.fixture
def every_key() -> Experiment:
    return load(FIXTURES / "valid/experiments/every_key.yaml", Experiment)


def test_levels_of_a_list_hold_at_every_scale(smallest: Experiment) -> None:
    assert [smallest.sweeps["lookups"].levels("rows", scale) for scale in SCALES] == [[1000, 2000]] * 3  # type: ignore[arg-type]


def test_levels_by_scale_are_those_of_the_scale(smallest: Experiment) -> None:
    levels = [smallest.sweeps["lookups"].levels("clients", scale) for scale in SCALES]  # type: ignore[arg-type]
    assert levels == [[1], [1, 2], [1, 50]]


def test_levels_by_engine_are_those_of_the_engine_and_without_one_of_all(smallest: Experiment) -> None:
    full = {"postgres": ["planner"], "greenplum": ["orca", "planner"]}
    factors = {"optimizer": {"smoke": ["planner"], "laptop": ["planner"], "full": full}}
    sweep = Sweep.model_validate({"title": "t", "workload": "key_value", "factors": factors})
    assert sweep.levels("optimizer", "full", "postgres") == ["planner"]
    assert sweep.levels("optimizer", "full", "greenplum") == ["orca", "planner"]
    assert sweep.levels("optimizer", "full") == ["planner", "orca"]
    assert sweep.levels("optimizer", "laptop", "greenplum") == ["planner"]
    assert smallest.sweeps["lookups"].levels("clients", "laptop", "postgres") == [1, 2]


def test_changing_the_levels_that_were_given_changes_no_experiment(smallest: Experiment) -> None:
    smallest.sweeps["lookups"].levels("rows", "full").append(3)
    assert smallest.sweeps["lookups"].levels("rows", "full") == [1000, 2000]


def test_repetitions_are_one_number_or_one_a_scale(smallest: Experiment, every_key: Experiment) -> None:
    assert [smallest.sweeps["lookups"].repetitions_at(scale) for scale in SCALES] == [3, 3, 3]  # type: ignore[arg-type]
    assert [every_key.sweeps["lookups"].repetitions_at(scale) for scale in SCALES] == [1, 3, 5]  # type: ignore[arg-type]


def test_what_is_not_said_has_a_default(smallest: Experiment) -> None:
    assert (smallest.default_scale, smallest.published, smallest.settings) == ("laptop", None, {})
    assert smallest.failures_are_findings is False
    assert smallest.sweeps["lookups"].timeout_s == 3600


def test_a_sweep_is_judged_as_the_experiment_says_but_for_what_it_says_itself(
    smallest: Experiment, every_key: Experiment
) -> None:
    own = every_key.regression_of("lookups")
    assert (own.threshold_percent, own.runs_min, own.measurements) == (10, 12, ["latency_ms_p99"])
    assert every_key.regression_of("one that is no more") == every_key.regression
    assert smallest.regression_of("lookups") == Regression()


def test_what_is_said_holds(every_key: Experiment) -> None:
    assert (every_key.default_scale, every_key.published) == ("full", "every_key")
    assert every_key.settings == {"postgres": {"jit": "off"}}
    assert every_key.failures_are_findings is True
    assert every_key.sweeps["lookups"].timeout_s == 60
