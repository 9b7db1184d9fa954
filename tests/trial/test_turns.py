"""Trials of platforms in turns: neighbours in time, in an order that is drawn and stays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial
from clusterbench.spec import Experiment
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.experiment import Sweep
from clusterbench.trial.plan import Plan, make_plan, read_choices
from clusterbench.trial.turns import in_turns, pair_key

CATALOG = Catalog(project_root())
BOTH = ["lab_db1", "lab_db2"]


def planned(experiment: Experiment, **chosen: Any) -> Plan:
    return make_plan(experiment, read_choices(experiment, chosen), CATALOG)


def lookups(**changes: Any) -> Experiment:
    """Of smoke, on two platforms in turns."""
    smoke = CATALOG.experiment("smoke")
    sweep = Sweep.model_validate({**smoke.sweeps["lookups"].model_dump(), **changes})
    named = {"platforms": BOTH, "platforms_in_turns": BOTH, "sweeps": {"lookups": sweep}}
    return smoke.model_copy(update=named)


def ids(plan: Plan, platform: str) -> list[str]:
    return [trial.id for trial in plan.trials[platform]]


def test_a_trial_is_followed_by_the_same_one_on_the_other_platform() -> None:
    plan = planned(CATALOG.experiment("retail"))
    assert plan.in_turns == BOTH and len(plan.turns) == len(plan.trials["lab_db1"]) + len(plan.trials["lab_db2"])
    pairs = list(zip(plan.turns[::2], plan.turns[1::2], strict=True))
    assert all(one[1] == other[1] and {one[0], other[0]} == set(BOTH) for one, other in pairs)
    firsts = [one[0] for one, _ in pairs]
    assert 0.3 < firsts.count("lab_db1") / len(firsts) < 0.7, "which is first is drawn anew for each"


def test_order_of_each_platform_is_the_one_that_it_has_by_itself() -> None:
    retail = CATALOG.experiment("retail")
    together = planned(retail)
    alone = planned(retail.model_copy(update={"platforms_in_turns": []}))
    assert alone.turns == [] and alone.in_turns == []
    for name in BOTH:
        assert [trial for platform, trial in together.turns if platform == name] == ids(alone, name)


def test_order_is_that_of_the_seed_and_is_kept_in_the_archive() -> None:
    retail = CATALOG.experiment("retail")
    plan = planned(retail, seed=5)
    assert planned(retail, seed=5).turns == plan.turns == Plan.from_json(plan.as_json()).turns
    assert planned(retail, seed=6).turns != plan.turns
    before = {key: value for key, value in plan.as_json().items() if key != "turns"}
    assert Plan.from_json(before).in_turns == [], "a run of an earlier version"


def test_rounds_are_those_of_both_platforms() -> None:
    until = {"at_least": 3, "at_most": 4, "until_percent": 5}
    plan = planned(lookups(repetitions=until))
    rounds = [plan.trial(*turn).repetition for turn in plan.turns]
    assert rounds == sorted(rounds) and len(rounds) == 2 * 4 * 4


def test_a_ramp_stays_whole_and_the_platforms_take_turns_with_it() -> None:
    plan = planned(lookups(order="ramp"))
    goes = [list(go) for _, go in groupby(plan.turns, key=lambda turn: (turn[0], plan.trial(*turn).ramp))]
    assert {len(go) for go in goes} == {2}
    ramps = [(go[0][0], plan.trial(*go[0]).ramp) for go in goes]
    for one, other in zip(ramps[::2], ramps[1::2], strict=True):
        assert one[0] != other[0] and one[1] == other[1]


def test_what_is_as_left_stays_whole_behind_its_lead_in() -> None:
    factors = {**lookups().sweeps["lookups"].model_dump()["factors"], "cache": ["as_left", "cold"]}
    plan = planned(lookups(factors=factors))
    left = [turn for turn in plan.turns if plan.trial(*turn).levels["cache"] == "as_left"]
    whole = [(platform, len(list(go))) for platform, go in groupby(left, key=lambda turn: turn[0])]
    assert sorted(whole) == [(name, 5) for name in BOTH]
    assert [plan.trial(*turn).lead_in for turn in left].count(True) == 2 and plan.trial(*left[0]).lead_in


def test_platforms_with_cells_of_their_own_keep_one_order(monkeypatch: Any) -> None:
    """Where a level is of one engine only, what both have is still measured side by side."""

    def trials(platform: str, *names: str) -> Sequence[Trial]:
        known = planned(CATALOG.experiment("smoke"), sweeps=["lookups"]).trials["lab_db1"][0]
        return [Trial(**{**vars(known), "id": name, "platform": platform}) for name in names]

    found = in_turns({"a": trials("a", "1", "2", "4", "5"), "b": trials("b", "3", "1", "4", "6")}, seed=1)
    assert [trial for platform, trial in found if platform == "a"] == ["1", "2", "4", "5"]
    assert [trial for platform, trial in found if platform == "b"] == ["3", "1", "4", "6"]
    order = [trial for _, trial in found]
    assert order == ["3", "1", "1", "2", "4", "4", "5", "6"]


def test_only_those_that_were_chosen_take_turns() -> None:
    retail = CATALOG.experiment("retail")
    plan = planned(retail, platforms=["lab_retail_native", "lab_db2"], scale="smoke")
    assert plan.in_turns == ["lab_db2"] and plan.order == ["lab_db2", "lab_retail_native"]
    assert plan.together_with("lab_retail_native") == ["lab_retail_native"]
    assert planned(retail, platforms=["lab_retail_native"], scale="smoke").turns == []
    assert list(planned(retail, platforms=BOTH[::-1], scale="smoke").trials) == BOTH[::-1], "the first is the reference"


def test_trials_are_paired_that_are_the_same_on_platforms_in_turns() -> None:
    plan = planned(CATALOG.experiment("retail"))
    keys = [{pair_key(trial, plan.in_turns): trial.id for trial in plan.trials[name]} for name in BOTH]
    assert keys[0] == keys[1] and len(keys[0]) == len(plan.trials[BOTH[0]]), "each has one of its own"
    assert {pair_key(trial, []) for trial in plan.trials[BOTH[0]]} == {""}


def test_values_of_a_setting_are_paired_on_their_own_platform() -> None:
    sweep = {"factors": {"server.shared_buffers": ["16MB", "64MB"], "clients": [1, 4]}}
    plan = planned(lookups(**sweep).model_copy(update={"platforms_in_turns": []}), platforms=BOTH, repetitions=3)
    found: dict[str, list[Trial]] = {}
    for trial in (trial for name in BOTH for trial in plan.trials[name] if trial.makes_result):
        found.setdefault(pair_key(trial, []), []).append(trial)
    assert "" not in found and len(found) == 2 * 2 * 3
    for one, other in found.values():
        assert (one.platform, one.repetition, one.levels["clients"]) == (
            other.platform,
            other.repetition,
            other.levels["clients"],
        )
        assert one.levels["server.shared_buffers"] != other.levels["server.shared_buffers"]
