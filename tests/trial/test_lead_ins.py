"""Trials whose caches are as the ones before left them: one after the other, behind one of which no result is made."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

import pytest

from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.results.statistics import results
from clusterbench.spec.catalog import Catalog
from clusterbench.trial import lead_ins, ramp
from clusterbench.trial.estimate import estimate
from clusterbench.trial.plan import Plan, make_plan, read_choices

CATALOG = Catalog(project_root())


def planned(experiment: str, platform: str, **chosen: Any) -> Plan:
    declared = CATALOG.experiment(experiment)
    return make_plan(declared, read_choices(declared, {"scale": "full", "platforms": [platform], **chosen}), CATALOG)


@pytest.mark.parametrize(("experiment", "platform"), [("retail", "native"), ("tpcds_density", "density_base")])
def test_trials_as_left_follow_each_other_and_begin_with_their_lead_in(experiment: str, platform: str) -> None:
    trials = planned(experiment, platform).trials[platform]
    runs = [
        [trial for _, trial in run]
        for (_, is_as_left), run in groupby(
            ((trial.sweep, trial) for trial in trials),
            key=lambda pair: (pair[0], pair[1].levels.get("cache") == "as_left"),
        )
        if is_as_left
    ]
    assert len(runs) == len({run[0].sweep for run in runs}), "each sweep's in one go"
    for first, *rest in runs:
        assert (first.lead_in, first.repetition, first.ramp) == (True, 0, "")
        assert first.label.endswith("(#0, lead-in)") and first.id.endswith(".r0")
        assert rest and not any(trial.lead_in for trial in rest)
        assert ramp.concurrency(first) == min(map(ramp.concurrency, rest))
        assert first.cell in {trial.cell for trial in rest}


def test_ramps_as_left_stay_whole_and_rise() -> None:
    trials = planned("tpcds_density", "density_base", sweeps=["lite"]).trials["density_base"]
    for name, run in groupby(trials[1:], key=lambda trial: trial.ramp):
        streams = [trial.levels["streams"] for trial in run]
        assert name and streams == [1, 4, 8, 12, 16, 20, 24, 28, 32, 64, 100]
    assert ramp.steps_before(trials[0], trials) == []


def test_a_lead_in_has_levels_that_every_platform_knows() -> None:
    """On a Greenplum without ORCA a lead-in with it was not applicable, and the first trial had none before it."""
    trials = planned("retail", "native", sweeps=["full_scan"]).trials["native"]
    left = [trial for trial in trials if trial.levels["cache"] == "as_left" and not trial.lead_in]
    both = [
        replace(trial, id=f"{optimizer}.{trial.id}", levels=trial.levels | {"optimizer": optimizer})
        for trial in left
        for optimizer in ("orca", "planner")
    ]
    assert lead_ins.lead_in(both).levels == left[0].levels | {"streams": 1, "optimizer": "planner"}


def test_other_states_have_no_lead_in_and_keep_their_order() -> None:
    cold = [t for t in planned("retail", "native").trials["native"] if t.levels.get("cache") != "as_left"]
    assert cold and not any(trial.lead_in for trial in cold)
    laptop = planned("retail", "lab_db1", scale="laptop").trials["lab_db1"]
    assert not any(trial.lead_in for trial in laptop)


def record(trial: Trial, response_time_s: float) -> TrialRecord:
    return TrialRecord(trial, "completed", "", {"response_time_s": response_time_s})


def test_no_result_is_made_of_a_lead_in() -> None:
    plan = planned("retail", "native", sweeps=["statement_memory"], repetitions=2)
    records = [record(trial, 1e6 if trial.lead_in else 10.0) for trial in plan.trials["native"]]
    found = results(plan.trials, records)
    assert len(records) == 5 and len(found) == 2
    for result in found:
        assert (result.planned, result.completed) == (2, 2)
        assert result.measurements["response_time_s"].values == [10.0, 10.0]


def test_lead_in_is_kept_in_plan_and_record_and_older_ones_have_none() -> None:
    plan = planned("retail", "native", sweeps=["statement_memory"])
    assert Plan.from_json(plan.as_json()) == plan
    (first, *_) = plan.trials["native"]
    assert TrialRecord.from_json(record(first, 1.0).as_json()).trial.lead_in
    old = {name: value for name, value in asdict(first).items() if name not in ("lead_in", "not_applicable")}
    assert Trial.from_json(old) == replace(first, lead_in=False, not_applicable="")


def test_lead_ins_are_counted_among_what_takes_time() -> None:
    plan = planned("retail", "native", sweeps=["statement_memory"], repetitions=1)
    (one,) = estimate(plan, CATALOG)
    assert one.trials == 3
