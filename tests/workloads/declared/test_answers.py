"""What is said of answers that differ, and to which text of a statement an answer belongs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from clusterbench.base.answers import CHANGED, REMEDY, TEXTS
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.run import validation
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.plan import make_plan, read_choices
from clusterbench.workloads.declared import answers
from clusterbench.workloads.declared.folder import Folder, read
from tests.declared import project_with
from tests.workloads.declared.test_problems import EXPERIMENT, FILES, WORKLOAD, change

LAST_DIGIT = ("0.30000000000000004\n", "0.3\n")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    said = WORKLOAD.replace("answers: duckdb", "answers: earlier")
    return project_with(tmp_path, monkeypatch, "shop", {**FILES, "workload.yaml": said}, EXPERIMENT)


@pytest.fixture
def trial(root: Path) -> Trial:
    catalog = Catalog(root)
    experiment = catalog.experiment("shop")
    (trials,) = make_plan(experiment, read_choices(experiment, {"scale": "smoke"}), catalog).trials.values()
    return trials[0]


def folder(root: Path) -> Folder:
    return read(root / "include/sql/shop/workload.yaml")


def record(trial: Trial, repetition: int, copied: str, texts: dict[str, str]) -> TrialRecord:
    driver = {"answer": {"one.1": answers.digest(copied)}, TEXTS: texts}
    return TrialRecord(replace(trial, repetition=repetition), "completed", "", evidence={"driver": driver})


def test_an_answer_that_is_not_the_earlier_ones_says_how_it_differs_and_what_to_do(root: Path, trial: Trial) -> None:
    one, other = LAST_DIGIT
    known = {"one.1": answers.digest(one), "source": "earlier valid runs"}
    assert answers.judge(folder(root), trial, {"one.1": [one]}, known) == ([], {"one.1": answers.digest(one)})
    (wrong,), kept = answers.judge(folder(root), trial, {"one.1": [other]}, known)
    assert wrong == (
        "one.1: its answer is not that of earlier valid runs (1 row each, with other values in them, which are not "
        f"kept); {REMEDY}"
    )
    assert "round()" in REMEDY and "numeric" in REMEDY and kept == {}
    (wrong,), _ = answers.judge(folder(root), trial, {"one.1": [other * 3]}, known)
    assert "earlier valid runs (1 to 3 rows)" in wrong


def test_streams_that_answer_differently_are_shown_both_answers(root: Path, trial: Trial) -> None:
    (wrong,), _ = answers.judge(folder(root), trial, {"one.0": list(LAST_DIGIT)}, {})
    assert wrong.startswith("one.0: streams or rounds gave different answers to it: ") and wrong.endswith(REMEDY)
    assert "0.30000000000000004" in wrong and "row 1 was not expected: 0.3;" in wrong


def test_trials_that_answer_differently_say_which_statement_how_and_what_to_do(root: Path, trial: Trial) -> None:
    texts = answers.of_texts(folder(root), ["one.1"])
    found = [record(trial, number, copied, texts) for number, copied in enumerate([*LAST_DIGIT, "0.3\n"], 1)]
    (verdict,) = validation.about_answers(found)
    assert (verdict.passed, verdict.critical) == (False, True)
    assert verdict.found == (
        "shop on 1,000 rows: 3 trials gave 2 different answers to one.1 (1 row each, with other values in them, which "
        f"are not kept); {REMEDY}"
    )


def test_rows_that_nobody_counted_are_not_told(trial: Trial) -> None:
    assert validation._differing("shop", 0, {"one.1": [("", '"1 rows, ab"'), ("", '"2 rows, ab"')]}) == (
        "shop: 2 trials gave 2 different answers to one.1 (1 to 2 rows)"
    )


def test_a_statement_that_was_changed_is_told_apart_from_one_that_answers_at_random(root: Path, trial: Trial) -> None:
    before = answers.of_texts(folder(root), ["one.1"])
    change(root, "items.sql", "SELECT id, 'things ' || id FROM $ids AS ids(id)")
    assert answers.of_texts(Folder(folder(root).path, folder(root).said), ["one.1"]) == before, "rows have a version"
    change(root, "one.sql", "SELECT name || '!' FROM items WHERE id = $id")
    after = answers.of_texts(folder(root), ["one.1"])
    assert before != after and {each.split("/")[0] for each in [*before.values(), *after.values()]} == {"one"}
    (verdict,) = validation.about_answers([record(trial, 1, "a\n", before), record(trial, 2, "b\n", after)])
    assert verdict.found == "shop on 1,000 rows: the text of one was changed during the run; start a new run"


def test_the_report_says_that_answers_of_a_changed_statement_begin_anew(root: Path, trial: Trial) -> None:
    found = [record(trial, 1, "a\n", answers.of_texts(folder(root), ["one.1"]))]
    expected = {"two.1": "1 rows, ab", "source": "earlier valid runs", CHANGED: ["one"]}
    (verdict,) = validation.about_sources(found, lambda *_: expected)
    assert (verdict.passed, verdict.critical) == (False, False)
    assert "changed since earlier runs answered: one; its answers begin anew with this run" in verdict.found
    (verdict,) = validation.about_sources(found, lambda *_: {**expected, CHANGED: []})
    assert verdict.passed and "anew" not in verdict.found
