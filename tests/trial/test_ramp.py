"""Series: in one go and rising, each step after the one before, and given up by their rule."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from clusterbench.base.errors import NotYetError
from clusterbench.base.paths import project_root
from clusterbench.base.records import Outcome, Trial, TrialRecord
from clusterbench.spec import Experiment
from clusterbench.spec.catalog import Catalog
from clusterbench.trial import ramp
from clusterbench.trial.plan import make_plan, read_choices

CATALOG = Catalog(project_root())
CLIENTS = [1, 4, 8, 12]
SWEEP = {"title": "x", "workload": "key_value", "repetitions": 3}


def planned(give_up_after: int | None = None, **chosen: Any) -> list[Trial]:
    """Two sweeps: one of ramps, in two cache states, and one in random order beside it."""
    rising = {"factors": {"clients": CLIENTS, "cache": ["cold", "warm"]}, "order": "ramp"}
    experiment = Experiment.model_validate(
        {
            "experiment": "rising",
            "title": "x",
            "description": "x",
            "platforms": ["lab_db1"],
            "seed": 7,
            "sweeps": {
                "lite": SWEEP | rising | {"give_up_after": give_up_after},
                "beside": SWEEP | {"factors": {"rows": [1000, 2000]}},
            },
        }
    )
    return make_plan(experiment, read_choices(experiment, chosen), CATALOG).trials["lab_db1"]


def one_ramp(give_up_after: int | None) -> list[Trial]:
    return [trial for trial in planned(give_up_after) if trial.ramp == "lite.cache_cold.r2"]


def recorded(trials: list[Trial], *outcomes: Outcome) -> dict[str, TrialRecord]:
    pairs = zip(trials, outcomes, strict=False)
    return {trial.id: TrialRecord(trial, outcome, "as the test wants it") for trial, outcome in pairs}


def test_a_ramp_is_one_repetition_in_one_go_in_rising_concurrency() -> None:
    """Levels of other factors are ramps of their own."""
    found = planned()
    names = [trial.ramp for trial in found]
    begins = [name for before, name in pairwise(["", *names]) if name and name != before]
    assert sorted(begins) == [f"lite.cache_{cache}.r{n}" for cache in ("cold", "warm") for n in (1, 2, 3)]
    for name in begins:
        assert [trial.levels["clients"] for trial in found if trial.ramp == name] == CLIENTS
        assert len({trial.repetition for trial in found if trial.ramp == name}) == 1


def test_ramps_are_shuffled_as_wholes_among_the_other_trials_by_the_seed() -> None:
    orders = {seed: [trial.ramp or "beside" for trial in planned(seed=seed)] for seed in range(6)}
    assert len(set(map(tuple, orders.values()))) == 6
    assert planned(seed=3) == planned(seed=3)
    first, last = ({order[end] == "beside" for order in orders.values()} for end in (0, -1))
    assert first | last == {True, False}, "neither all before nor all after"


def test_a_step_waits_for_the_record_of_the_one_before() -> None:
    trials = one_ramp(None)
    before = ramp.steps_before(trials[2], planned())
    assert before == trials[:2]
    ramp.check_turn(trials[2], before, recorded(trials, "completed", "failed"))
    with pytest.raises(NotYetError) as caught:
        ramp.check_turn(trials[2], before, recorded(trials, "completed"))
    assert str(caught.value) == (
        "ramp 'lite.cache_cold.r2': lite: 8 clients, cold (#2) comes after lite: 4 clients, cold (#2), which has no "
        "record yet: its task was interrupted, and is tried again"
    )


def test_a_trial_on_its_own_waits_for_nothing() -> None:
    found = planned()
    assert [ramp.steps_before(trial, found) for trial in found if trial.sweep == "beside"] == [[]] * 6


@pytest.mark.parametrize(
    ("rule", "outcomes", "is_given_up"),
    [
        (None, ["failed", "failed", "failed"], False),
        (1, ["failed"], True),
        (2, ["completed", "failed"], False),
        (2, ["completed", "failed", "timed_out"], True),
        (2, ["failed", "completed", "failed"], False),
        (2, ["failed", "invalid", "failed"], False),
        (2, ["failed", "not_applicable", "failed"], True),
        (2, ["failed", "failed", "completed"], True),
        (1, ["not_applicable", "completed"], False),
        (1, [], False),
    ],
)
def test_a_ramp_is_given_up_after_so_many_failures_in_a_row(
    rule: int | None, outcomes: list[Outcome], is_given_up: bool
) -> None:
    trials = one_ramp(rule)
    reason = ramp.given_up(trials[:3], recorded(trials, *outcomes))
    assert (reason is not None) == is_given_up


def test_the_reason_names_ramp_levels_and_rule() -> None:
    trials = one_ramp(2)
    assert ramp.given_up(trials[:3], recorded(trials, "completed", "failed", "timed_out")) == (
        "ramp 'lite.cache_cold.r2' was given up: concurrency 4 (failed), 8 (timed_out) did not complete, and its "
        "rule is 'give_up_after: 2'"
    )
