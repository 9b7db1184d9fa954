"""Profiled trials on the page of a run: what is shown of each, in which order, and what is said where nothing is."""

from __future__ import annotations

import gzip
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from clusterbench.base.profiles import Profile, folded
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.report.run import profiles
from clusterbench.trial.plan import make_plan, read_choices
from tests.trial.test_profiles import CATALOG

STACKS = {"postgres;main;scan": 300, "postgres;main;sort": 200}
TOLD = {"samples": 500, "idle_samples": 500, "rate_hz": 49, "hosts": ["a", "b", "c", "d", "e"]}


def profiled() -> list[Trial]:
    experiment = CATALOG.experiment("key_value")
    chosen = {"scale": "laptop", "platforms": ["lab_db1", "lab_db2"], "profile": True}
    plan = make_plan(experiment, read_choices(experiment, chosen), CATALOG)
    return [trial for trials in plan.trials.values() for trial in trials if trial.profiled]


def run_of(records: list[TrialRecord], cells: list[str]) -> Any:
    return SimpleNamespace(without_result=records, results=[SimpleNamespace(cell=cell) for cell in cells])


def archive(objects: dict[str, bytes]) -> Any:
    return SimpleNamespace(prefix="", store=SimpleNamespace(get=objects.get))


def kept(trial: Trial) -> dict[str, bytes]:
    text = "\n".join(folded(Profile(STACKS)))
    return {f"trials/{trial.platform}/{trial.id}/profile.folded.gz": gzip.compress(text.encode())}


def record(trial: Trial, told: dict[str, Any] | None = None) -> TrialRecord:
    return TrialRecord(trial, "completed", "", evidence={"profile": TOLD if told is None else told})


def test_profile_is_shown_with_its_functions_and_how_busy_processors_were() -> None:
    trial = profiled()[0]
    (shown,) = profiles.shown_profiles(archive(kept(trial)), run_of([record(trial)], [trial.cell]))
    assert (shown.samples, shown.busy_share, shown.hosts) == (500, 0.5, "a, b, c and 2 others")
    assert shown.functions == [("postgres: scan", 0.6), ("postgres: sort", 0.4)]
    assert not shown.is_short
    if sys.version_info < (3, 12):  # what draws the figure has no package for newer ones, which is told then
        assert shown.figure and "scan (300 samples, 60.00%)" in shown.figure and not shown.problems
    else:
        assert not shown.figure and "pyinferno" in str(shown.problems)


def test_few_samples_are_told() -> None:
    trial = profiled()[0]
    told = record(trial, {**TOLD, "samples": 60})
    (shown,) = profiles.shown_profiles(archive(kept(trial)), run_of([told], [trial.cell]))
    assert shown.is_short


def test_what_was_not_sampled_says_why() -> None:
    one, other = profiled()[:2]
    failed = replace(record(other), outcome="failed", reason="the database died", evidence={})
    none = record(one, {"problems": ["host 'a': processors were not sampled: sudo: a password is required"]})
    shown = profiles.shown_profiles(archive({}), run_of([none, failed], [one.cell, other.cell]))
    assert [each.problems for each in shown] == [none.evidence["profile"]["problems"], ["the database died"]]
    assert all(each.figure is None and not each.functions and not each.is_short for each in shown)


def test_twelve_are_shown_in_the_order_of_results_and_the_others_named() -> None:
    trials = profiled()
    cells = list(dict.fromkeys(trial.cell for trial in sorted(trials, key=lambda trial: trial.id, reverse=True)))
    run = run_of([record(trial) for trial in trials], cells)
    shown, others = profiles.shown_profiles(archive({}), run), profiles.others(run)
    assert len(shown) == 12 and len(others) == len(trials) - 12 > 0
    assert [one.platform for one in shown] == ["lab_db1", "lab_db2"] * 6
    first = next(trial for trial in trials if trial.cell == cells[0])
    assert shown[0].label == shown[1].label == first.cell_label
    assert all(name.startswith(("lab_db1, ", "lab_db2, ")) for name in others)
