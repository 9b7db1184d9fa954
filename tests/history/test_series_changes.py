"""The results of a week against their history: made-up series of known shapes, in a real database."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from clusterbench.airflow.ui import over_time, template
from clusterbench.base.plans import PlanChange, fingerprint
from clusterbench.cli import main, regressions
from clusterbench.history import database, series_changes
from clusterbench.history.change_test import Change
from clusterbench.history.changes import ReportedChange
from clusterbench.history.series_changes import SeriesChange
from clusterbench.report.week.gather import verdict_of
from clusterbench.report.week.why import why
from clusterbench.spec import Experiment, Regression
from clusterbench.spec.catalog import Catalog
from clusterbench_lab.bench.synthetic_history import PLATFORMS
from tests.history.conftest import SYNTHETIC, WEEKS, History

CELLS = 4
"""Of each platform: noise, slower in the last quarter, faster on the second platform with its kernel, noise."""
KEY_VALUE = 0


@pytest.fixture
def db(weeks_db: database.Database) -> database.Database:
    return weeks_db


def of(db: database.Database, catalog: Catalog, week: int = WEEKS - 1) -> dict[tuple[str, int, str], SeriesChange]:
    """By platform, clients and measurement."""
    found = series_changes.of_week(db, catalog, {"key_value": SYNTHETIC.run_id(week, KEY_VALUE)})
    return {(one.series.platform, int(one.series.levels["clients"]), one.series.measurement): one for one in found}


def accept(db: database.Database, one: SeriesChange) -> None:
    row = [one.series.id, one.series.measurement, one.change.at_run_id, "ada", datetime.now(UTC), "new release", "x"]
    db.execute("INSERT INTO baselines VALUES (%s, %s, %s, %s, %s, %s, %s)", row)


def test_each_series_that_the_report_draws_is_judged(db: database.Database, weeks: History) -> None:
    found = of(db, weeks.catalog)
    assert len(found) == len(PLATFORMS) * CELLS * 2
    assert {measurement for *_, measurement in found} == {"latency_ms_mean", "throughput_per_s"}


def test_what_got_slower_is_found_on_all_it_was_made_of_and_on_nothing_else(
    db: database.Database, weeks: History
) -> None:
    found = of(db, weeks.catalog)
    slower = {key for key, one in found.items() if one.change.state == "regression"}
    assert slower == {(platform, 2, name) for platform, _, name in found}
    change = found["lab_db1", 2, "latency_ms_mean"].change
    began = [SYNTHETIC.run_id(week, KEY_VALUE) for week in range(WEEKS * 3 // 4 - 2, WEEKS * 3 // 4 + 3)]
    assert change.at_run_id in began
    assert change.change_percent == pytest.approx(8, abs=2.5)
    assert found["lab_db1", 2, "latency_ms_mean"].differences == ()


def test_facts_that_changed_with_the_level_are_told(db: database.Database, weeks: History) -> None:
    found = of(db, weeks.catalog, WEEKS // 2 + 3)
    faster = found["lab_db2", 4, "latency_ms_mean"]
    assert faster.change.state == "improvement"
    kernel = faster.differences[0]
    assert (kernel.what, kernel.a, kernel.b) == ("kernel", "2 hosts: 6.1.0-18-amd64", "2 hosts: 6.1.0-32-amd64")
    assert faster.facts_run_id == SYNTHETIC.run_id(WEEKS // 2, KEY_VALUE)


def test_an_earlier_week_knows_nothing_of_later_ones(db: database.Database, weeks: History) -> None:
    assert {one.change.state for one in of(db, weeks.catalog, WEEKS // 2 - 1).values()} == {"no_change"}
    assert {one.change.state for one in of(db, weeks.catalog, 5).values()} == {"too_few"}


def test_a_cell_without_a_number_this_week_is_told(db: database.Database, weeks: History) -> None:
    series = of(db, weeks.catalog)["lab_db1", 1, "latency_ms_mean"].series
    last = SYNTHETIC.run_id(WEEKS - 1, KEY_VALUE)
    db.execute(
        "DELETE FROM result_measurements USING runs WHERE series = %s AND runs.run = result_measurements.run "
        "AND run_id = %s",
        [series.id, last],
    )
    change = of(db, weeks.catalog)["lab_db1", 1, "latency_ms_mean"].change
    assert (change.state, change.at_run_id) == ("no_number", last)
    assert "failed this week" in change.says


def test_an_accepted_level_is_no_regression_any_more(db: database.Database, weeks: History) -> None:
    slower = of(db, weeks.catalog)["lab_db1", 2, "latency_ms_mean"]
    accept(db, slower)
    found = of(db, weeks.catalog)
    assert found["lab_db1", 2, "latency_ms_mean"].change.state == "no_change"
    assert found["lab_db2", 2, "latency_ms_mean"].change.state == "regression"


def test_the_experiment_says_what_is_followed_and_from_which_change_on(db: database.Database, weeks: History) -> None:
    class Declared(Catalog):
        def experiment(self, name: str) -> Experiment:
            declared = Regression(measurements=["latency_ms_p99"], threshold_percent=20)
            return super().experiment(name).model_copy(update={"regression": declared})

    found = of(db, Declared(weeks.catalog.root))
    assert {measurement for *_, measurement in found} == {"latency_ms_p99"}
    assert {one.change.state for one in found.values()} == {"no_change"}


def test_a_run_that_is_not_in_the_history_is_left_out(db: database.Database, weeks: History) -> None:
    assert series_changes.of_week(db, weeks.catalog, {"key_value": "20200101T000000Z-000000"}) == []


def test_what_is_archived_reads_the_same(db: database.Database, weeks: History) -> None:
    for one in of(db, weeks.catalog, WEEKS // 2 + 3).values():
        assert SeriesChange.from_json(json.loads(json.dumps(one.as_json()))) == one


def test_the_command_says_what_got_worse_and_fails(
    weeks: History, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(regressions, "own_connections", lambda: lambda _: weeks.connection)
    assert main.main(["regressions", "key_value"]) == 1
    said = capsys.readouterr().out
    assert "Regressions" in said
    assert "slower: +" in said
    assert "16 results: 4 regressions, 12 no change." in said
    assert main.main(["regressions", "key_value", "--json"]) == 1
    entries = json.loads(capsys.readouterr().out)
    assert sum(Change.from_json(entry["change"]).state == "regression" for entry in entries) == 4
    assert main.main(["regressions", "key_value", "--scale", "full"]) == 1
    assert "the history database has no run of key_value at that scale" in capsys.readouterr().err


def told_by_the_week(db: database.Database, one: SeriesChange, change: Change) -> None:
    db.execute(
        "INSERT INTO changes SELECT week, 0, %s, %s, %s, %s FROM weeks ORDER BY started_at DESC LIMIT 1",
        [one.series.id, one.series.measurement, change.state, json.dumps({"change": change.as_json()})],
    )


def test_the_page_of_a_result_says_what_the_weekly_run_said(db: database.Database, weeks: History) -> None:
    slower = of(db, weeks.catalog)["lab_db1", 2, "latency_ms_mean"]
    alone = over_time.gather(db, slower.series, 26)
    assert (alone.weekly, alone.change.state) == (None, "regression")
    told = Change("no_change", "no change yet: but of 800 results some look like this by chance.")
    told_by_the_week(db, slower, told)
    page = over_time.gather(db, slower.series, 26)
    assert page.change == told
    assert page.weekly is not None and page.weekly.judged == 1
    accept(db, slower)
    page = over_time.gather(db, slower.series, 26)
    assert (page.weekly, page.change.state) == (None, "no_change")
    assert page.change.says != told.says


def test_how_many_runs_a_page_shows_changes_no_verdict(db: database.Database, weeks: History) -> None:
    slower = of(db, weeks.catalog)["lab_db1", 2, "latency_ms_mean"]
    pages = [over_time.gather(db, slower.series, runs) for runs in (4, 26, 260)]
    assert [len(page.points) for page in pages] == [4, 26, WEEKS]
    assert {page.change for page in pages} == {slower.change}
    assert [len(page.change_points) for page in pages] == [0, 1, 1]


# What a cell's time is made of.

STATEMENTS = """
INSERT INTO result_measurements
SELECT series, format('q%%s_s', lpad(number::text, 2, '0')), run, 's', 'lower', false, 3,
    median * (1 + sin(run * 7 + number) / 200) / 5
        * (CASE WHEN number = %(slower)s AND started_at >= %(since)s THEN %(times)s ELSE 1 END),
    1, NULL, NULL, '{}'
FROM result_measurements JOIN runs USING (run), generate_series(1, 5) AS number
WHERE series = %(series)s AND measurement = 'latency_ms_mean'"""
FOLLOWED = """
INSERT INTO series_measurements
SELECT DISTINCT ON (series, measurement) series, measurement, unit, better, false, 'x', started_at, run_id
FROM result_measurements JOIN runs USING (run) WHERE series = %(series)s AND unit = 's' AND measurement ~ '^q[0-9]'
ORDER BY series, measurement, started_at DESC"""


def with_statements(db: database.Database, series: int, slower: int, times: float, weeks: int) -> None:
    """Five queries of equal times, of which one is slower in the last so many weeks."""
    given = {"series": series, "slower": slower, "times": times, "since": SYNTHETIC.started_at(WEEKS - weeks, 0)}
    db.execute(STATEMENTS, given)
    db.execute(FOLLOWED, given)


def test_a_query_three_times_slower_does_not_hide_in_a_total(db: database.Database, weeks: History) -> None:
    before = of(db, weeks.catalog)
    cell = before["lab_db1", 1, "latency_ms_mean"]
    assert cell.change.state == "no_change"
    with_statements(db, cell.series.id, slower=3, times=3.0, weeks=4)
    found = of(db, weeks.catalog)
    (told,) = (one for key, one in found.items() if key not in before)
    assert (told.series.measurement, told.change.state) == ("q03_s", "regression")
    assert told.change.change_percent == pytest.approx(200, rel=0.1)
    assert told.parts == ()
    assert {key: found[key].change.state for key in before} == {key: one.change.state for key, one in before.items()}


def test_of_what_got_slower_the_query_is_named_that_it_is_made_of(db: database.Database, weeks: History) -> None:
    before = of(db, weeks.catalog)
    cell = before["lab_db1", 2, "latency_ms_mean"]
    assert (cell.change.state, cell.parts, cell.explanation) == ("regression", (), "")
    with_statements(db, cell.series.id, slower=5, times=1.5, weeks=WEEKS // 4)
    found = of(db, weeks.catalog)
    assert found.keys() == before.keys(), "what the whole tells is not told of each statement again"
    slower = found["lab_db1", 2, "latency_ms_mean"]
    assert slower.parts[0].measurement == "q05_s"
    assert "query 5 is" in slower.explanation and "of the difference" in slower.explanation
    assert SeriesChange.from_json(json.loads(json.dumps(slower.as_json()))) == slower
    said = ReportedChange.of(slower.as_json()).line
    assert said.endswith(f" Q{slower.explanation[1:]}."), said


def test_changes_of_weeks_before_there_were_statements_are_read(db: database.Database, weeks: History) -> None:
    entry = of(db, weeks.catalog)["lab_db1", 2, "latency_ms_mean"].as_json()
    new = {"parts", "explanation", "plans", "work", "alike"}
    old = {name: value for name, value in entry.items() if name not in new}
    assert SeriesChange.from_json(old).as_json() == {**entry, "alike": None}
    assert ReportedChange.of(old) == ReportedChange.of(entry)


# Plans.

INDEX, SEQ = "Index Scan using t_key on t  (cost=0.42..8.44 rows=1)", "Seq Scan on t  (cost=0.00..15441.00 rows=1)"


def with_plans(db: database.Database, series: int, statement: str, weeks: int) -> None:
    """The plan of one statement is another one in the last so many weeks."""
    for plan in (INDEX, SEQ):
        db.execute("INSERT INTO plans VALUES (%s, %s)", [fingerprint(plan), plan])
        noted = json.dumps({statement: fingerprint(plan), "query 2": fingerprint(INDEX)})
        db.execute("INSERT INTO plan_sets VALUES (%s, %s)", [plan, noted])
    query = """
        UPDATE results SET plan_set = CASE WHEN started_at >= %s THEN %s ELSE %s END
        FROM runs WHERE runs.run = results.run AND series = %s"""
    db.execute(query, [SYNTHETIC.started_at(WEEKS - weeks, 0), SEQ, INDEX, series])


def test_a_plan_that_changed_with_the_level_is_told_first(db: database.Database, weeks: History) -> None:
    cell = of(db, weeks.catalog)["lab_db1", 2, "latency_ms_mean"]
    assert cell.plans is None, "nobody noted any"
    began = next(week for week in range(WEEKS) if SYNTHETIC.run_id(week, KEY_VALUE) == cell.change.at_run_id)
    with_statements(db, cell.series.id, slower=5, times=1.5, weeks=WEEKS - began)
    with_plans(db, cell.series.id, "query 5", weeks=WEEKS - began)
    told = of(db, weeks.catalog)["lab_db1", 2, "latency_ms_mean"]
    assert told.plans == (PlanChange("query 5", "Index Scan using t_key on t", "Seq Scan on t"),)
    assert SeriesChange.from_json(json.loads(json.dumps(told.as_json()))) == told
    line = ReportedChange.of(told.as_json()).line
    assert line.endswith("The plan of query 5 changed: Index Scan using t_key on t -> Seq Scan on t.")
    assert why(verdict_of(told, "Mean latency"))[0].startswith("The plan of query 5 changed: Index Scan")


def test_plans_that_are_as_they_were_are_said_to_be(db: database.Database, weeks: History) -> None:
    cell = of(db, weeks.catalog)["lab_db1", 2, "latency_ms_mean"]
    with_plans(db, cell.series.id, "query 5", weeks=0)
    told = of(db, weeks.catalog)["lab_db1", 2, "latency_ms_mean"]
    assert told.plans == ()
    assert why(verdict_of(told, "Mean latency"))[-1].endswith("no setting, and no plan.")


def test_the_page_of_a_result_has_its_statements_and_both_plans(db: database.Database, weeks: History) -> None:
    cell = of(db, weeks.catalog)["lab_db1", 2, "latency_ms_mean"]
    with_statements(db, cell.series.id, slower=5, times=1.5, weeks=WEEKS // 4)
    with_plans(db, cell.series.id, "query 5", weeks=3)
    page = over_time.gather(db, cell.series, 52)
    assert page.made_of and page.made_of.is_of_change
    assert page.made_of.parts[0].statement == "query 5"
    assert page.made_of.links["q05_s"].id == cell.series.id
    (changed,) = page.plans
    assert changed.point.run_id == SYNTHETIC.run_id(WEEKS - 3, KEY_VALUE)
    assert (changed.before, changed.after) == ({"query 5": INDEX}, {"query 5": SEQ})
    shown = template.render("series.html.j2", "/bench", "", page=page, offered=over_time.RUNS, experiments=[])
    assert "Query 5 is" in shown and "Seq Scan on t  (cost=" in shown

    calm = over_time.gather(db, of(db, weeks.catalog)["lab_db1", 1, "latency_ms_mean"].series, 52)
    assert (calm.made_of, calm.plans, calm.has_plans) == (None, [], False)


def test_what_the_database_did_more_of_is_told(db: database.Database, weeks: History) -> None:
    cell = of(db, weeks.catalog)["lab_db1", 2, "latency_ms_mean"]
    query = """
        INSERT INTO result_measurements
        SELECT series, 'temporary_mb', run, 'MB', 'neither', false, 3, %(mb)s, %(mb)s, NULL, NULL, '{}'
        FROM results JOIN runs USING (run) WHERE series = %(series)s AND run_id = ANY(%(runs)s)"""
    ids = [SYNTHETIC.run_id(week, KEY_VALUE) for week in range(WEEKS)]
    at = ids.index(cell.change.at_run_id or "")
    for runs, mb in ((ids[:at], 0.0), (ids[at:], 812.0)):
        db.execute(query, {"mb": mb, "series": cell.series.id, "runs": runs})
    followed = "INSERT INTO series_measurements VALUES (%s, 'temporary_mb', 'MB', 'neither', false, 'x', now(), 'x')"
    db.execute(followed, [cell.series.id])
    told = of(db, weeks.catalog)["lab_db1", 2, "latency_ms_mean"]
    assert [str(one) for one in told.work] == ["written to temporary files: 0\u202fMB before, 812\u202fMB after"]
