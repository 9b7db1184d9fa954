"""The weekly report: its page, its mail, and how it is gathered from archives. The weeks are made up (weeks.py)."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from clusterbench.base.archive import RunArchive, Store
from clusterbench.history.confirmation import Confirmation
from clusterbench.history.series_changes import SeriesChange
from clusterbench.report.week.page import gather_week, render_week, text_of_week
from clusterbench.report.week.week import SHOWN_MAX, Week
from clusterbench.run import weekly_mail
from tests import weeks
from tests.report.test_report import CAPTURED, CATALOG, Folder, text_of

HTML_MAX_BYTES = 300_000
MAIL_MAX_BYTES = 7_000
EVERY_WEEK = {
    "usual": weeks.usual(),
    "many": weeks.many(),
    "first": weeks.first(),
    "all_failed": weeks.all_failed(),
    "quiet": weeks.quiet(),
    "nothing_asked": weeks.week(),
}


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


def seen(week: Week) -> str:
    return plain(text_of(render_week(week)))


# What a stranger reads.


def test_the_page_alone_says_what_got_slower_by_how_much_and_how_certain_that_is() -> None:
    page = seen(weeks.usual())
    assert "2 results got slower (1 of them also in last week's report), 1 got faster, 96 show no change" in page
    assert "96 show no change, 1 has no number, 6 have too few runs. Of 6 experiments, 1 did not complete" in page
    assert "Of 6 experiments, 1 did not complete and 1 is not valid." in page
    slower = page[page.index("What got slower") : page.index("What has no number")]
    assert "concurrency: 50 clients, warm key_value on lab_db1" in slower
    assert (
        "Throughput fell by 7.9 % (95 % interval: 6.1 to 9.5 %) , from 14 230 to 13 100 1/s, "
        "since the run of 7 November 2026, 3 runs at the new level (also in last week's report)."
    ) in slower.replace("%),", "%) ,")
    assert (
        "very strong evidence . Noise alone would look like this about once in 3 200 results (p = 0.00031)." in slower
    )
    assert "Facts that changed there: kernel (client, database): 6.1.0-25-amd64 → 6.1.0-28-amd64." in slower
    assert "shared_buffers (engine): 4GB → 1GB" in slower
    assert "data load" not in slower


def test_what_is_new_comes_first_and_of_that_the_largest() -> None:
    small, large = (weeks.judged(name, step=step) for name, step in (("small", -0.06), ("large", -0.2)))
    known = replace(weeks.judged("known", step=-0.5), is_known=True)
    page = seen(weeks.week(judged=[small, known, large]))
    assert page.index("large key_value") < page.index("small key_value") < page.index("known key_value")
    assert "3 results got slower (1 of them also in last week's report)" in page


def test_facts_that_changed_near_to_it_are_told_as_such() -> None:
    near = replace(weeks.judged(), facts_run_id=weeks.run_id(3))
    assert "Facts that changed near to it, in the run of 31 October 2026: kernel" in seen(weeks.week(judged=[near]))


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (1e-9, "very strong evidence . Noise alone would look like this less than once in 1 000 000 results"),
        (0.004, "strong evidence . Noise alone would look like this about once in 250 results (p = 0.0040)"),
        (0.03, "some evidence"),
        (0.3, "weak evidence"),
        (None, "how certain is not known"),
    ],
)
def test_a_p_value_is_said_in_words(p: float | None, words: str) -> None:
    assert words in seen(weeks.week(judged=[weeks.judged(p=p)]))


def test_where_no_fact_changed_that_is_said() -> None:
    alone = weeks.judged(facts=())
    nothing = "Nothing that was recorded changed there: no fact of hosts or engine, no setting"
    assert f"{nothing}." in seen(weeks.week(judged=[alone]))
    assert f"{nothing}, and no plan." in seen(weeks.week(judged=[replace(alone, plans=())]))


def test_a_result_that_is_no_time_got_worse_and_not_slower() -> None:
    share = weeks.judged(measurement="cpu_percent", title="CPU", unit="%")
    assert "1 result got worse" in seen(weeks.week(judged=[share]))


def test_what_did_not_run_has_its_reason_and_the_run_before_stands_beside() -> None:
    page = seen(weeks.usual())
    assert (
        "did not complete lab_hadoop1, lab_hadoop2 0 of 30 – 44 min, 30 of 30 trials report because: lab_hadoop1, set"
        in page
    )
    assert "the NameNode did not leave safe mode within 120 s" in page
    assert (
        "6 results have too few runs: too few for a verdict: 3 of 10 valid runs with a number (order_entry 6)." in page
    )


def test_what_was_measured_again_is_told_on_page_and_mail() -> None:
    week = weeks.usual()
    told = Confirmation("confirmed", "confirmed: measured again in 6 runs at once, +8 %", 6, 8.0, (6.0, 10.0), 0.0001)
    words = iter([told, replace(told, word="not confirmed"), replace(told, word="not enough")])
    judged = [replace(one, confirmation=next(words, None)) for one in week.judged]
    again = replace(week, judged=judged, without_time=4)
    says = "3 results looked worse and were measured again at once: 1 confirmed, 1 not confirmed, 1 still unclear."
    for text in (seen(again), plain(text_of_week(again))):
        assert says in text
        assert "4 results that look worse were not measured again this week." in text
        assert "confirmed by 6 runs at once" in text
    named = seen(replace(again, unmeasured=["key_value on lab_db1, 4 clients, latency_ms_mean: +340 %"]))
    assert "not measured again this week: key_value on lab_db1, 4 clients, latency_ms_mean: +340 %; …." in named
    assert "measured again" not in seen(week)


def test_what_was_left_out_is_no_failure() -> None:
    page = seen(weeks.usual(left_out={"smoke": "declares no part"}, is_part=True))
    assert "laptop scale, a part of each experiment" in page
    assert "Left out this time: smoke (declares no part)." in page


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("first", "97 results, all with too few runs for a verdict. All 6 experiments are valid."),
        ("quiet", "Nothing got slower: 97 results show no change. All 6 experiments are valid."),
        ("all_failed", "No result was compared with earlier weeks. None of 6 experiments completed."),
        ("nothing_asked", "No result was compared with earlier weeks. No experiment was run."),
    ],
)
def test_weeks_with_little_to_tell_read_well(name: str, words: str) -> None:
    page = seen(EVERY_WEEK[name])
    assert words in page
    assert "What got" not in page
    assert "What has no number" not in page


def test_a_week_without_the_history_database_says_so_and_has_its_sentences() -> None:
    bare = [replace(one, points=()) for one in weeks.usual().judged]
    away = weeks.usual(judged=bare, without_history="history database 'history' at db:5432: cannot be reached")
    page = seen(away)
    assert "The history database was away" in page
    assert "at db:5432: cannot be reached" in page
    assert "Throughput fell by 7.9 %" in page
    assert "<svg" not in render_week(away)
    assert "cannot be reached" in text_of_week(away)


def test_an_installation_without_a_history_database_is_told_that_nothing_is_followed() -> None:
    alone = weeks.week(ran=weeks.quiet().ran, without_history="unknown connection", is_followed=False)
    page = seen(alone)
    for told in (page, text_of_week(alone)):
        assert "Nothing is followed over time here: this installation has no history database" in told
        assert "add the connection clusterbench_history" in told
        assert "was away" not in told
    assert "No result was compared with earlier weeks. All 6 experiments are valid." in page


def test_an_entry_of_the_mail_has_why_however_much_there_is_to_say() -> None:
    told = Confirmation("confirmed", "confirmed: measured again in 6 runs at once, +8 %", 6, 8.0, (6.0, 10.0), 0.0001)
    one = replace(weeks.judged(title="Mean latency, connecting not included"), confirmation=told)
    said = plain(text_of_week(weeks.week(judged=[one]))).split("- key_value on lab_db1, ")[1].splitlines()[:5]
    place, changed, since, evidence, why = (line.strip() for line in said)
    assert place == "concurrency: 50 clients, warm"
    assert changed.startswith("Mean latency, connecting not included fell by 8.3 % (95 % interval")
    assert since.endswith("confirmed by 6 runs at once")
    assert evidence == "very strong evidence: noise alone looks like this about once in 3 200 results"
    assert why == "Why: Facts that changed there: kernel (client, database): 6.1.0-25-amd64 \u2192 6.1.0-28-amd64."


def test_the_page_has_the_command_that_repeats_a_cell() -> None:
    worse = weeks.judged("concurrency: 50 clients, warm")
    command = "clusterbench run key_value --scale laptop --platform lab_db1 --cell 'concurrency: 50 clients, warm'"
    assert command in seen(weeks.week(judged=[worse]))


# However bad the week.


@pytest.mark.parametrize("week", EVERY_WEEK.values(), ids=EVERY_WEEK)
def test_page_and_mail_stay_small_and_fetch_nothing(week: Week) -> None:
    page, mail = render_week(week), text_of_week(week)
    assert len(page.encode()) < HTML_MAX_BYTES
    assert len(mail.encode()) < MAIL_MAX_BYTES
    assert not re.search(r"<(script|link|img|iframe|object|base)\b|url\(|@import|\bsrc=", page)
    assert "default-src 'none'" in page


def test_hundreds_of_changes_are_still_one_page() -> None:
    page = seen(weeks.many())
    assert page.count("Throughput fell by") == SHOWN_MAX
    assert "And 290 more: 290 of key_value on lab_db1." in page
    assert "All 300 are on lab_db1 and began on 14 November 2026: look for one cause first." in page
    assert "And 90 more" in page
    assert "And 50 more" in page


def test_what_others_wrote_stays_text() -> None:
    evil = "<script>alert(1)</script>"
    worse = weeks.judged(evil, facts=(replace(weeks.KERNEL, a=evil),))
    gone = weeks.judged(state="no_number", says=evil)
    week = weeks.week(judged=[worse, gone], ran=[weeks.ran("smoke", evil, is_valid=None, reason=evil)])
    page = render_week(week)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 5


# Links.


def test_links_lead_to_the_runs_in_airflow_whose_ids_have_signs() -> None:
    page = render_week(weeks.usual())
    assert (
        "http://airflow.example:8080/dags/key_value/runs/weekly__2026-11-21T20%3A00%3A00%2B00%3A00__key_value" in page
    )
    assert "<a href" not in render_week(weeks.usual(airflow_url=""))


# Gathered from the archives of captured runs.


@pytest.fixture
def archive(tmp_path: Path) -> RunArchive:
    """Retail was valid, key_value was not, and TeraSort never began."""
    for experiment, run_id, valid in (("retail", "l1", True), ("key_value", "s1", False)):
        folder = tmp_path / experiment / run_id
        shutil.copytree(CAPTURED / experiment / run_id, folder, ignore=shutil.ignore_patterns("trials"))
        (folder / "manifest.json").write_text(json.dumps({"valid": valid, "objects": {}}))
    (tmp_path / "retail" / "l1" / "verdicts.json").write_text('{"valid": true, "verdicts": []}')
    week = {
        "dag_run_id": "manual__1", "scale": "laptop", "extent": "whole", "left_out": {"smoke": "was not chosen"},
        "airflow_url": "https://airflow.example/",
        "runs": [
            ran("key_value", "s1", "failed", "not so: No trial failed or ran out of time (9 of 25)"),
            ran("retail", "l1", "success", ""),
            ran("terasort", None, "failed", "it was refused before it began"),
        ],
    }  # fmt: skip
    worse, gone = weeks.judged(experiment="retail", measurement="response_time_s", unit="s", step=0.1), _failed_cell()
    folder = tmp_path / "weekly" / weeks.run_id(0)
    folder.mkdir(parents=True)
    (folder / "week.json").write_text(json.dumps(week))
    (folder / "changes.json").write_text(json.dumps({"changes": [entry(worse), gone]}))
    return RunArchive(cast(Store, Folder(tmp_path)), "weekly", folder.name)


def ran(experiment: str, run_id: str | None, state: str, reason: str) -> dict[str, Any]:
    dag_run_id = f"weekly__manual__1__{experiment}"
    return {"experiment": experiment, "dag_run_id": dag_run_id, "run_id": run_id, "state": state, "reason": reason}


def entry(one: weeks.SeriesVerdict) -> dict[str, Any]:
    return SeriesChange(one.series, one.change, one.facts, one.change.at_run_id).as_json()


def _failed_cell() -> dict[str, Any]:
    found = json.loads((CAPTURED / "key_value" / "s1" / "results.json").read_text())["results"]
    cell = next(result for result in found if not result["completed"] and result["reasons"])
    gone = entry(weeks.judged(cell["label"], state="no_number", says="no number: completed in 9 of 9 runs before."))
    gone["series"] |= {"platform": cell["platform"], "sweep": cell["sweep"], "levels": cell["levels"]}
    return gone


def test_a_week_is_gathered_from_its_archives(archive: RunArchive) -> None:
    week = gather_week(None, CATALOG, archive, "history database at db:5432: cannot be reached")
    assert [(one.experiment, one.is_valid, one.completed, one.planned) for one in week.ran] == [
        ("key_value", False, 15, 25), ("retail", True, 30, 30), ("terasort", None, 0, 0),
    ]  # fmt: skip
    assert week.ran[2].title == "TeraSort suite on Hadoop"
    assert week.airflow_url == "https://airflow.example/"
    page = seen(week)
    assert "1 result got slower, 1 has no number. Of 3 experiments, 1 did not complete and 1 is not valid." in page
    assert "cannot be reached" in page
    assert "Left out this time: smoke (was not chosen)." in page


def test_what_is_missing_has_the_reason_of_its_trials(archive: RunArchive) -> None:
    found = json.loads((CAPTURED / "key_value" / "s1" / "results.json").read_text())["results"]
    reason = next(result["reasons"][0] for result in found if not result["completed"] and result["reasons"])
    assert f"no number: completed in 9 of 9 runs before, because: {reason}"[:100] in seen(
        gather_week(None, CATALOG, archive)
    )


def test_the_papers_numbers_stand_beside_those_of_valid_runs_only(archive: RunArchive) -> None:
    week = gather_week(None, CATALOG, archive)
    assert [entry.experiment for entry in week.beside] == ["retail"]
    lines = week.beside[0].lines
    assert [line.what for line in lines] == [
        "full scan, cold: response time, lab_db2 / lab_db1", "full scan, warm: response time, lab_db2 / lab_db1",
        "partial scan, cold: response time, lab_db2 / lab_db1", "partial scan, warm: response time, lab_db2 / lab_db1",
        "data load: response time, lab_db2 / lab_db1",
    ]  # fmt: skip
    assert plain(lines[0].paper) == "vm1 / native ≈ 1.055; vm2 / native ≈ 0.89; vm2 / vm1 ≈ 0.84; of 8400M rows"
    assert re.fullmatch(r"0\.66× \(\d\.\d\d – \d\.\d\d\), no difference shown", lines[0].ours)


def test_a_paper_number_of_another_cell_is_shown_and_not_compared(archive: RunArchive) -> None:
    folder = cast(Folder, archive.store).root / "key_value" / "s1"
    (folder / "manifest.json").write_text('{"valid": true, "objects": {}}')
    (folder / "verdicts.json").write_text('{"valid": true, "verdicts": []}')
    results = json.loads((folder / "results.json").read_text())
    for result in results["results"]:
        result["levels"]["optimizer"] = "orca"
    (folder / "results.json").write_text(json.dumps(results))
    page = seen(gather_week(None, CATALOG, archive))
    assert "not compared: 10k rows here, 1000M rows there" in page


def test_a_week_that_was_not_compared_is_told_all_the_same(archive: RunArchive) -> None:
    (cast(Folder, archive.store).root / "weekly" / archive.run_id / "changes.json").unlink()
    assert "No result was compared with earlier weeks" in seen(gather_week(None, CATALOG, archive))


def test_a_week_says_if_it_is_valid_with_warnings_only_and_if_nothing_was_measured() -> None:
    warned = weeks.ran("retail", "Retail", has_warnings=True)
    said = text_of_week(weeks.week(ran=[warned]))
    assert "The experiment is valid with warnings." in said
    said = text_of_week(weeks.week(ran=[warned, weeks.ran("smoke", "Smoke")]))
    assert "All 2 experiments are valid, 1 of them with warnings." in said and "nothing was measured" not in said
    said = text_of_week(weeks.week(ran=[warned], measured_nothing=True, is_part=True))
    assert "laptop scale, nothing was measured: these are the newest runs there were: " in said


def test_the_mail_has_the_commands_for_what_got_worse() -> None:
    said = text_of_week(weeks.week(judged=[weeks.judged()]))
    at, before = weeks.run_id(2), weeks.run_id(3)
    assert f"  Compare: clusterbench compare key_value/{before} key_value/{at}\n" in said
    assert (
        "  Measure again: clusterbench run key_value --scale laptop --platform lab_db1 "
        "--cell 'concurrency: 50 clients, warm'\n"
    ) in said
    better = text_of_week(weeks.week(judged=[weeks.judged(state="improvement", step=0.08)]))
    assert "Got faster" in better and "Measure again" not in better


def test_subjects_say_what_was_measured_and_how_it_went() -> None:
    runs = [{**ran("retail", "r1", "success", ""), "validity": "valid with warnings"}]
    told = {"started_at": "2026-11-21T20:00:00", "runs": runs}

    def subject(**more: object) -> str:
        return weekly_mail.of_week({**told, **more}, [], text=None, report=None, url="u").subject.split(": ", 1)[1]

    assert subject() == "no regression, 1 experiment valid, 1 of them with warnings"
    assert subject(measured_nothing=True).startswith("nothing was measured, no regression")
