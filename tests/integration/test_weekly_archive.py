"""The weekly run's archive and the questions about baselines, in real object storage; each step tried twice."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.connections import HISTORY, Connection, Connections
from clusterbench.base.errors import ArchiveError, ClusterbenchError
from clusterbench.base.run_ids import run_id_from
from clusterbench.history import database
from clusterbench.history.changes import ReportedChange
from clusterbench.run import baselines, weekly
from clusterbench.run.baselines import ACCEPT, KEEP, Answer
from clusterbench.run.run import Run
from clusterbench.run.weekly import RegressionError, WeekRun
from tests.integration.helpers import changed
from tests.run.test_weekly import change

pytestmark = pytest.mark.lab

CHOSEN = {"scale": "smoke", "extent": "whole", "experiments": ["smoke"]}
AT = datetime(2026, 11, 21, 20, tzinfo=UTC)


@pytest.fixture
def there(connections: Connections) -> Connections:
    """A part of the bucket for each test."""
    return changed(connections, "clusterbench_archive", {"prefix": f"weekly-{uuid.uuid4().hex[:8]}"})


@pytest.fixture
def week(there: Connections) -> Run:
    """A week that has begun."""
    return begun(there)


def begun(there: Connections, dag_run_id: str = "w1") -> Run:
    run = Run("weekly", run_id_from(AT, dag_run_id), there)
    weekly.open_week(run, CHOSEN, {"dag_id": "weekly", "dag_run_id": dag_run_id, "how": "manual"})
    return run


def measured(store: Store, dag_run_id: str, **objects: Any) -> RunArchive:
    """A run of the experiment smoke, as far as the weekly run looks at it."""
    archive = RunArchive(store, "smoke", run_id_from(AT, dag_run_id))
    archive.put_json("run.json", {"started_by": {"dag_run_id": dag_run_id}})
    for name, content in objects.items():
        archive.put_json(f"{name}.json", content)
    return archive


def judged(run: Run, *entries: dict[str, Any]) -> None:
    runs = [WeekRun("smoke", "weekly__w1", "20261121T200100Z-0a0a0a", "success", "")]
    weekly.note_week(run, runs, {}, "http://airflow")
    run.archive.put_json("changes.json", {"changes": list(entries)})


# What became of an experiment.


def test_run_of_the_week_is_found_by_its_letters_and_its_own_word(week: Run) -> None:
    store = week.archive.store
    mine, _ = measured(store, "weekly__w1"), measured(store, "weekly__w2")
    found = weekly.find(store, "smoke", "weekly__w1")
    assert found is not None and found.run_id == mine.run_id
    same_letters = RunArchive(store, "smoke", f"20270101T000000Z-{mine.run_id[-6:]}")
    same_letters.put_json("run.json", {"started_by": {"dag_run_id": "another"}})
    again = weekly.find(store, "smoke", "weekly__w1")
    assert again is not None and again.run_id == mine.run_id
    assert weekly.find(store, "smoke", "weekly__w3") is None


def test_valid_run_needs_no_reason_and_every_other_has_one(week: Run) -> None:
    store = week.archive.store
    measured(store, "good", manifest={"valid": True})
    verdicts = {"verdicts": [{"critical": True, "passed": False, "says": "the data is right", "found": "9 of 10 rows"}]}
    measured(store, "bad", manifest={"valid": False}, verdicts=verdicts)
    error = {"platform": "lab_db1", "step": "set_up_cluster", "error": "host db1\nis away" * 100, "at": "2026"}
    measured(store, "broken").put_json("errors/lab_db1/set_up_cluster/1.json", error)
    measured(store, "silent")

    def outcome(name: str, state: str | None) -> WeekRun:
        return weekly.outcome(store, "smoke", name, state)

    assert outcome("good", "success").reason == "" and not outcome("good", "success").failed
    assert outcome("bad", "failed").reason == "check failed: the data is right (9 of 10 rows)"
    said = outcome("broken", "failed").reason
    assert said.startswith("lab_db1, set_up_cluster: host db1 is away") and len(said) == weekly.REASON_CHARACTERS
    assert "the logs of its tasks" in outcome("silent", "failed").reason
    refused = outcome("never seen", "failed")
    assert (
        refused.run_id is None and "refused before it began; the reason is in the log of its open_run" in refused.reason
    )
    never = outcome("never begun", None)
    assert (never.state, never.run_id, never.failed) == ("not started", None, True)
    assert "the reason is in the log of smoke.start" in never.reason


# The archive.


def test_what_an_earlier_try_has_written_stands(week: Run, there: Connections) -> None:
    first = week.archive.need_json("run.json")
    begun(there)
    assert week.archive.need_json("run.json") == first
    judged(week)
    noted = week.archive.need_json("week.json")
    judged(week, change())
    assert week.archive.need_json("week.json") == noted
    assert weekly.find_changes(week) == []


def test_id_of_another_week_is_refused(week: Run) -> None:
    with pytest.raises(ArchiveError, match="a week with that id exists already"):
        weekly.open_week(week, CHOSEN, {"dag_id": "weekly", "dag_run_id": "another", "how": "manual"})


def test_regression_fails_the_task_by_name_and_improvement_does_not(week: Run) -> None:
    judged(week, change(), change("improvement", 2), change("no_number", 3))
    for _ in range(2):
        with pytest.raises(RegressionError) as caught:
            weekly.find_changes(week)
        lines = str(caught.value).splitlines()
        assert [line[:29] for line in lines] == ["smoke on lab_db1: lookups, 1 ", "smoke on lab_db1: lookups, 3 "]


def test_week_is_sealed_last_and_is_in_the_history(week: Run) -> None:
    judged(week, change())
    with database.for_loading(week.connections(HISTORY)) as db:
        weekly.seal(week)
        weekly.seal(week)
        found = db.execute("SELECT scale, dag_run_id FROM weeks WHERE run_id = %s", [week.run_id]).fetchall()
        db.execute("DELETE FROM weeks WHERE run_id = %s", [week.run_id])
    assert found == [("smoke", "w1")]
    assert week.archive.verify() == [] and week.archive.need_json("manifest.json")["valid"] is False
    with pytest.raises(ArchiveError, match="this week is finished and sealed; start a new weekly run"):
        weekly.write_report(week)


def test_report_is_written_where_the_history_is_away(week: Run, there: Connections) -> None:
    judged(week, change())
    measured(week.archive.store, "weekly__w1")
    away = Run("weekly", week.run_id, changed(there, HISTORY, port=9))
    weekly.write_report(away)
    text = (week.archive.store.get(f"{week.archive.prefix}report.txt") or b"").decode()
    assert "The history database was away" in text
    assert b"<html" in (week.archive.store.get(f"{week.archive.prefix}report.html") or b"")


def test_weeks_without_the_history_database_are_in_it_when_it_is_back(week: Run, there: Connections) -> None:
    """It was away for two whole weekly runs: each says so, is archived all the same, and the third one loads both."""
    missed = [week, begun(there, "w2")]
    for run in missed:
        judged(run, change())
        away = Run("weekly", run.run_id, changed(there, HISTORY, port=9))
        for step in (weekly.load_history, weekly.seal):
            with pytest.raises(ClusterbenchError, match=r"cannot be reached.*'clusterbench_history'.*Nothing is lost"):
                step(away)
        assert run.archive.sealed, "its manifest does not wait for the history"
    third = begun(there, "w3")
    with database.for_loading(third.connections(HISTORY)) as db:
        weekly.load_history(third)
        ids = [run.run_id for run in missed]
        found = db.execute("SELECT run_id FROM weeks WHERE run_id = ANY(%s) ORDER BY dag_run_id", [ids]).fetchall()
        db.execute("DELETE FROM weeks WHERE run_id = ANY(%s)", [ids])
    assert [run_id for (run_id,) in found] == ids


def test_week_of_an_installation_without_a_history_is_a_good_one_and_says_so(there: Connections) -> None:
    def alone(conn_id: str) -> Connection:
        if conn_id == HISTORY:
            raise ClusterbenchError(f"unknown connection {conn_id!r}")
        return there(conn_id)

    run = begun(alone)
    weekly.note_week(run, [WeekRun("smoke", "weekly__w1", None, "success", "")], {}, "http://airflow")
    assert weekly.without_history(run) == "unknown connection 'clusterbench_history'"
    weekly.write_report(run)
    text = (run.archive.store.get(f"{run.archive.prefix}report.txt") or b"").decode()
    assert "Nothing is followed over time here" in text and "was away" not in text
    weekly.seal(run)
    assert run.archive.need_json("manifest.json")["valid"] is True
    with pytest.raises(ClusterbenchError, match="the newest runs are looked up in the history database, which"):
        weekly.newest_runs(alone, ["smoke"], "smoke")


def test_week_with_a_history_has_no_word_of_its_want(week: Run) -> None:
    judged(week)
    assert weekly.without_history(week) == "" and "without_history" not in week.archive.need_json("week.json")


# Questions.


def answer(run: Run, asked_by: str, *chosen: str, by: str = "ada") -> None:
    asked = {"one": ReportedChange.of(change()).series_id}
    baselines.record(run, asked, Answer(chosen, by, AT, asked_by))


def accepted(run: Run) -> list[dict[str, Any]]:
    return [json.loads(run.archive.store.get(key) or b"") for key in run.archive.store.keys("_baselines/")]


def test_many_regressions_are_few_questions(week: Run) -> None:
    many = [change(number=n, platform=f"lab_db{1 + n % 2}") for n in range(300)]
    judged(week, *many, change("improvement", 999))
    questions = baselines.questions(week, "q1")
    assert [question.subject for question in questions] == [
        "smoke on lab_db1: 150 regressions: the new baseline?",
        "smoke on lab_db2: 150 regressions: the new baseline?",
    ]
    body = questions[0].body
    assert "slower by 8 %" in body and "kernel (all hosts): 6.1.0-26 -> 6.1.0-27" in body
    assert body.count("\n- **") == 100 and "and 50 more; clusterbench regressions lists all" in body


def test_same_regression_is_asked_about_once(week: Run, there: Connections) -> None:
    judged(week, change())
    assert len(baselines.questions(week, "q1")) == 1
    assert len(baselines.questions(week, "q1")) == 1, "another try of the same task"
    next_week = begun(there, "w2")
    judged(next_week, change())
    assert baselines.questions(next_week, "q2") == [], "it is open"
    answer(week, "q1", KEEP)
    assert baselines.questions(next_week, "q2") == [], "somebody has answered"
    later = change()
    later["change"]["at_run_id"] = "20261128T200000Z-0b0b0b"
    after_that = begun(there, "w3")
    judged(after_that, later)
    assert len(baselines.questions(after_that, "q3")) == 1, "this is another change"


def test_question_that_nobody_answered_is_asked_again(week: Run, there: Connections) -> None:
    judged(week, change())
    baselines.questions(week, "q1")
    answer(week, "q1", KEEP, by="")
    next_week = begun(there, "w2")
    judged(next_week, change())
    assert len(baselines.questions(next_week, "q2")) == 1
    assert accepted(week) == []


def test_accepted_level_is_kept_with_who_said_so_and_loaded(week: Run, there: Connections) -> None:
    judged(week, change())
    baselines.questions(week, "q1")
    with database.for_loading(there(HISTORY)) as db:
        answer(week, "q1", ACCEPT)
        answer(week, "q1", KEEP, by="grace")  # too late: the first word stands
        loaded = db.execute("SELECT accepted_by FROM baselines WHERE accepted_at = %s", [AT]).fetchall()
        db.execute("DELETE FROM baselines WHERE accepted_at = %s", [AT])
    assert loaded == [("ada",)]
    (one,) = accepted(week)
    assert {name: one[name] for name in ("experiment", "platform", "sweep", "measurement", "scale", "levels")} == {
        "experiment": "smoke",
        "platform": "lab_db1",
        "sweep": "lookups",
        "measurement": "latency_ms_p50",
        "scale": "smoke",
        "levels": {"clients": 1},
    }
    assert (one["from_run_id"], one["accepted_by"]) == ("20261107T200000Z-0a0a0a", "ada")
    assert one["accepted_at"] == AT.isoformat() and "slower by 8 %" in one["note"]
    (said,) = [key for key in week.archive.store.keys("_questions/") if key.endswith(".a.json")]
    assert json.loads(week.archive.store.get(said) or b"") == {
        "answer": "accepted", "by": "ada", "at": AT.isoformat(timespec="seconds")
    }  # fmt: skip
