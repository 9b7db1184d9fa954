"""What each experiment is asked for in a week, and what people are told of it."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.base.paths import project_root
from clusterbench.history.changes import ReportedChange
from clusterbench.run import weekly, weekly_mail
from clusterbench.run.weekly import WeekRun, choices_of
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.plan import make_plan, read_choices

CATALOG = Catalog(project_root())
WITH_PART = [file.stem for file in CATALOG.experiment_files if CATALOG.read_experiment(file).part]
URL = "http://airflow/dags/weekly/runs/w1"


def change(state: str = "regression", number: int = 1, **series: Any) -> dict[str, Any]:
    """An entry of changes.json."""
    return {
        "series": {
            "id": number,
            "experiment": "smoke",
            "scale": "smoke",
            "platform": "lab_db1",
            "sweep": "lookups",
            "label": f"{number} clients",
            "levels": {"clients": number},
            "measurement": "latency_ms_p50",
            "unit": "ms",
            "better": "lower",
            **series,
        },
        "change": {
            "state": state,
            "says": "slower by 8 % (95 %: 6 to 10) since the run of 7 November; p = 0.0004",
            "change_percent": 8.0,
            "interval_95_percent": [6.0, 10.0],
            "p_value": 0.0004,
            "at_run_id": "20261107T200000Z-0a0a0a",
            "before": 1.0,
            "after": 1.08,
            "runs_before": 12,
            "runs_after": 3,
        },
        "differences": [{"what": "kernel", "where": "all hosts", "a": "6.1.0-26", "b": "6.1.0-27", "decides": True}],
        "facts_run_id": "20261107T200000Z-0a0a0a",
    }


def found(*entries: dict[str, Any]) -> list[ReportedChange]:
    return [ReportedChange.of(entry) for entry in entries]


def week(*runs: WeekRun) -> dict[str, Any]:
    return {
        "run_id": "20261121T200000Z-abcdef",
        "dag_run_id": "w1",
        "scale": "laptop",
        "extent": "whole",
        "started_at": "2026-11-21T20:00:01+00:00",
        "runs": [one.__dict__ for one in runs],
        "left_out": {},
    }


GOOD = WeekRun("smoke", "weekly__w1", "20261121T200100Z-fedcba", "success", "")
BAD = WeekRun("retail", "weekly__w1", "20261121T201500Z-fedcba", "failed", "lab_db2, set_up_cluster: host db2 is away")
NEVER = WeekRun("terasort", "", None, "not started", "its run could not be started")


# What an experiment is asked for.


def test_whole_experiment_is_asked_for_by_its_scale_alone() -> None:
    assert choices_of(CATALOG.experiment("retail"), "full", "whole") == {"scale": "full"}


@pytest.mark.parametrize("name", WITH_PART)
@pytest.mark.parametrize("scale", ["smoke", "laptop", "full"])
def test_part_can_be_planned_at_every_scale_and_is_smaller_than_the_whole(name: str, scale: Any) -> None:
    experiment = CATALOG.experiment(name)
    chosen = choices_of(experiment, scale, "part")
    assert chosen is not None
    part, whole = (
        sum(map(len, make_plan(experiment, read_choices(experiment, one), CATALOG).trials.values()))
        for one in (chosen, {"scale": scale})
    )
    assert 0 < part < whole


def test_part_of_what_make_run_measures_is_what_it_was() -> None:
    assert {name: choices_of(CATALOG.experiment(name), "laptop", "part") for name in WITH_PART} == {
        "key_value": {"scale": "laptop", "sweeps": ["concurrency"], "concurrency": [10], "repetitions": 1},
        "retail": {"scale": "laptop", "platforms": ["lab_db1"], "sweeps": ["data_load"], "repetitions": 1},
        "terasort": {
            "scale": "smoke", "platforms": ["lab_hadoop1"], "sweeps": ["platforms"], "repetitions": 1
        },
        "tpcds_density": {"scale": "smoke", "platforms": ["lab_ideal", "lab_oversubscribed"], "sweeps": ["lite"]},
        "order_entry": {
            "scale": "smoke", "sweeps": ["clients"], "concurrency": [4], "repetitions": 1
        },
    }  # fmt: skip


def test_experiment_without_a_part_is_left_out_of_one() -> None:
    assert choices_of(CATALOG.experiment("smoke"), "laptop", "part") is None


def test_part_leaves_out_what_this_installation_does_not_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERBENCH_PLATFORMS", "lab_ideal,lab_db2")
    density = choices_of(CATALOG.experiment("tpcds_density"), "laptop", "part") or {}
    assert density["platforms"] == ["lab_ideal"]
    retail = choices_of(CATALOG.experiment("retail"), "laptop", "part") or {}
    assert "platforms" not in retail, "none of its own is offered: then the form's"


# What people are told.


def test_subject_says_it_all() -> None:
    def subject(runs: list[WeekRun], changes: list[ReportedChange] | None) -> str:
        return weekly_mail.of_week(week(*runs), changes, text=None, report=None, url=URL).subject

    says = "clusterbench week 2026-11-21: "
    assert subject([GOOD], []) == says + "no regression, 1 experiment valid"
    assert subject([GOOD, BAD, NEVER], found(change(), change(number=2))) == (
        says + "2 regressions, 2 of 3 experiments not valid or not complete"
    )
    assert subject([GOOD], found(change("improvement"), change("no_number", 2))) == says + "1 no number"
    assert subject([GOOD, BAD], None) == says + "results not compared, 1 of 2 experiments not valid or not complete"


def test_where_there_is_no_history_the_message_says_so_and_the_week_is_good() -> None:
    alone = week(GOOD) | {"without_history": "unknown connection 'clusterbench_history'"}
    assert weekly.problems(alone, None) == []
    told = weekly_mail.of_week(alone, None, text=None, report=None, url=URL)
    assert told.subject == "clusterbench week 2026-11-21: nothing is followed over time, 1 experiment valid"
    assert "There is no history database, so nothing is followed over time." in told.text
    failed = week(GOOD, BAD) | {"without_history": "unknown connection 'clusterbench_history'"}
    assert [problem[:14] for problem in weekly.problems(failed, None)] == ["retail: failed"]
    bad = weekly_mail.of_week(failed, None, text=None, report=None, url=URL)
    assert bad.subject == "clusterbench week 2026-11-21: 1 of 2 experiments not valid or not complete"


def test_message_has_the_report_s_words_and_asks_whether_a_new_level_is_meant_to_stay() -> None:
    told = weekly_mail.of_week(
        week(GOOD), found(change()), text="The week in words.\n", report=b"<html>", url=URL, ask="http://airflow/ask"
    )
    assert told.text == (
        f"The week in words.\n\nThe run in Airflow: {URL}\n"
        "Is a new level meant to stay? Answer within 6 days: http://airflow/ask\n"
    )
    assert told.report == b"<html>"


def test_without_the_report_the_message_still_says_what_is_wrong() -> None:
    told = weekly_mail.of_week(week(GOOD, BAD), found(change()), text=None, report=None, url=URL)
    assert "retail: failed: lab_db2, set_up_cluster: host db2 is away" in told.text
    assert "smoke on lab_db1: lookups, 1 clients, latency_ms_p50: slower by 8 %" in told.text


def test_webhook_gets_json_that_is_understood_through_its_text() -> None:
    told = weekly_mail.of_week(
        week(GOOD, BAD), found(change(), change("improvement", 2)), text=None, report=None, url=URL
    )
    assert told.webhook["text"].splitlines() == [told.subject, URL]
    assert told.webhook["failed"] == ["retail"]
    assert [line[:50] for line in told.webhook["regressions"]] == ["smoke on lab_db1: lookups, 1 clients, latency_ms_p"]
    assert told.webhook["url"] == URL


def test_webhook_s_message_stays_small_in_a_bad_week() -> None:
    many = found(*(change(number=number) for number in range(400)))
    told = weekly_mail.of_week(week(GOOD), many, text=None, report=None, url=URL)
    assert "400 regressions" in told.subject and len(told.webhook["regressions"]) == 50


def test_week_that_could_not_be_archived_is_told_as_well() -> None:
    told = weekly_mail.of_week(None, None, text="object storage at x: is the server up?", report=None, url=URL)
    assert told.subject == "clusterbench week: the weekly run could not be archived"
    assert "is the server up?" in told.text


def test_deadline_says_which_run_and_where_to_look() -> None:
    told = weekly_mail.of_deadline("scheduled__2026-11-21", "2026-11-21T20:00:00Z", 36.0, URL)
    assert told.subject == "clusterbench week 2026-11-21: not finished after 36 hours"
    assert URL in told.text and "take_cluster" in told.text


def test_standstill_says_for_whom_it_waits_and_where() -> None:
    why = "waiting for the archive since 2026-11-21 20:00:00 UTC: object storage at x: refused."
    told = weekly_mail.of_standstill("scheduled__2026-11-21", "retail", 15.4, why, URL)
    assert told.subject == "clusterbench: the weekly run stands still at retail, for 15 minutes"
    assert why in told.text and URL in told.text and "continues by itself" in told.text
    assert why in told.webhook["text"]


@pytest.mark.parametrize(
    ("runs", "changes", "said"),
    [
        ([GOOD], [], []),
        ([GOOD], [change("improvement"), change("no_change", 2), change("too_few", 3)], []),
        ([BAD], [], ["retail: failed: lab_db2"]),
        ([NEVER], [], ["terasort: not started: its run could not be started"]),
        ([GOOD], [change()], ["smoke on lab_db1"]),
        ([GOOD], [change("no_number")], ["smoke on lab_db1"]),
        ([GOOD], None, ["the results were not compared"]),
    ],
)
def test_week_is_good_only_when_all_ran_and_nothing_got_worse(runs: Any, changes: Any, said: list[str]) -> None:
    problems = weekly.problems(week(*runs), None if changes is None else found(*changes))
    assert [problem[: len(start)] for problem, start in zip(problems, said, strict=True)] == said
