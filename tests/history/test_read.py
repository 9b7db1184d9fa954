"""Questions over time, to a synthetic history of known shapes; and the SQL that docs/history.md shows."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import psycopg
import pytest

from clusterbench.base.paths import project_root
from clusterbench.history import database, read, rebuild
from clusterbench.history.model import Series
from clusterbench.results.between_runs import HISTORY_MAX, spread_of
from clusterbench.results.compare import compare
from clusterbench.results.compare_cells import cell_key
from clusterbench.results.facts_compared import differences
from clusterbench.results.judgement import NOTHING_SHOWN
from clusterbench_lab import Lab
from clusterbench_lab.bench import history as bench_history
from clusterbench_lab.bench.synthetic_history import EXPERIMENTS, INVALID_EVERY, PLATFORMS, SHIFT, shape_of
from tests.history.conftest import PASSWORD, made

WEEKS, TRIALS, CELLS = 48, 96, 4
PAGE = (project_root() / "docs" / "history.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def years(lab: Lab) -> Iterator[database.Database]:
    history = made(lab, "history_years")
    with history.connect() as db:
        bench_history.fill(db, WEEKS, TRIALS)
        yield db


def test_every_week_is_there(years: database.Database) -> None:
    newest = read.latest(years)
    assert [run.experiment for run in newest] == list(EXPERIMENTS)
    assert len(read.weeks(years, 1000)) == WEEKS
    for run in newest:
        assert run.platforms == PLATFORMS
        assert len(read.runs(years, run.experiment, "laptop", limit=1000)) == WEEKS
        assert len(read.results(years, run.experiment, run.run_id)) == CELLS * len(PLATFORMS)
        assert run.planned - run.completed == len(read.failed_trials(years, run.experiment, run.run_id))


def test_runs_are_asked_for_page_by_page(years: database.Database) -> None:
    first = read.runs(years, "retail", limit=10)
    assert all(newer.started_at > older.started_at for newer, older in pairwise(first))
    following = read.runs(years, "retail", "laptop", limit=10, before=first[-1].started_at)
    assert first[-1].started_at - following[0].started_at == timedelta(weeks=1)
    assert read.runs(years, "retail", "full") == []
    assert [run.experiment for run in read.latest(years, ["smoke"])] == []


def test_series_are_narrowed_down(years: database.Database) -> None:
    assert len(read.series(years)) == len(EXPERIMENTS) * len(PLATFORMS) * CELLS * 2
    of_run = read.series(years, "retail", "laptop", PLATFORMS[0], read.latest(years, ["retail"])[0].run_id)
    assert {(one.experiment, one.platform) for one in of_run} == {("retail", PLATFORMS[0])}
    assert len(of_run) == CELLS * 2
    assert len(read.series(years, "retail", plotted_only=False)) == len(PLATFORMS) * CELLS * 10


def _cell(one: Series) -> int:
    return int(one.levels["clients"]).bit_length() - 1


def test_points_have_the_shapes_that_were_drawn(years: database.Database) -> None:
    for one, points in read.points_of_many(years, read.series(years, "retail")):
        assert len(points) == WEEKS
        assert all(older.started_at < newer.started_at for older, newer in pairwise(points))
        assert sum(not point.is_valid for point in points) == WEEKS // INVALID_EVERY
        shape = shape_of(one.platform, _cell(one))
        since = {"noise": WEEKS // 2, "slowdown": WEEKS * 3 // 4, "facts": WEEKS // 2}[shape]
        expected = {"noise": 1.0, "slowdown": SHIFT, "facts": 1 / SHIFT}[shape]
        medians = [point.median or 0.0 for point in points]
        found = statistics.median(medians[since:]) / statistics.median(medians[:since])
        assert found == pytest.approx(expected if one.better == "lower" else 1 / expected, abs=0.03), one


def test_many_points_at_once_are_those_of_each(years: database.Database) -> None:
    some = read.series(years, "key_value")
    for one, points in read.points_of_many(years, some):
        assert points == read.points(years, one.id, one.measurement)
        assert points[-5:] == read.points(years, one.id, one.measurement, limit=5)
    until = points[10].started_at
    for _, earlier in read.points_of_many(years, some[-1:], until=until, limit=3):
        assert earlier == points[8:11]


def test_how_far_apart_equal_runs_lie_is_read_from_the_runs_that_are_not_compared(years: database.Database) -> None:
    newest = read.runs(years, "retail", "laptop", limit=2)
    compared = [read.one_run(years, "retail", run.run_id) for run in newest]
    found = read.spreads_for(years, compared)
    of_all = read.series(years, "retail", plotted_only=False)
    assert len(found) == len(of_all)
    without = {run.run_id for run in newest}
    for one, points in read.points_of_many(years, of_all[:20]):
        medians = [point.median or 0.0 for point in points if point.is_valid and point.run_id not in without]
        known = found[one.platform, cell_key(one.sweep, one.levels), one.measurement]
        assert known == spread_of(medians[-HISTORY_MAX:])
    cells = [cell for pair in compare(compared[1:], compared[:1], histories=found).pairs for cell in pair.cells]
    assert cells and all(cell.history for cell in cells)
    told = sum(cell.judgement.word not in NOTHING_SHOWN for cell in cells)
    assert told < 0.12 * len(cells), "weeks that differ by noise alone"
    apart = [read.one_run(years, "retail", run.run_id) for run in read.runs(years, "retail", "laptop", limit=30)[::29]]
    before = read.spreads_for(years, apart)
    assert len(before) == len(of_all), "of the runs before the first, not of those between the two"
    assert {spread.runs for spread in before.values()} <= set(range(5, HISTORY_MAX + 1))
    first = [read.one_run(years, "retail", run.run_id) for run in read.runs(years, "retail", "laptop", limit=1000)[-2:]]
    assert len(read.spreads_for(years, first)) == len(of_all), "nothing is before them: of the runs after the last"
    assert read.spreads_for(years, [compared[0], read.one_run(years, *_newest(years, "terasort"))]) == {}


def _newest(db: database.Database, experiment: str) -> tuple[str, str]:
    return experiment, read.latest(db, [experiment])[0].run_id


def test_change_of_facts_is_at_its_week(years: database.Database) -> None:
    (one, *_) = read.series(years, "terasort", platform=PLATFORMS[1])
    points = read.points(years, one.id, one.measurement)
    changed = [number for number, (a, b) in enumerate(pairwise(points), 1) if a.fact_set != b.fact_set]
    assert changed == [WEEKS // 2]
    (found,) = differences(*(read.side(years, points[number].fact_set) for number in (0, -1)))
    assert (found.what, found.a, found.b) == ("kernel", "636 hosts: 6.1.0-18-amd64", "636 hosts: 6.1.0-32-amd64")
    assert years.execute("SELECT max(length(facts::text)) FROM fact_sets").fetchone() < (20_000,)


def test_a_cell_without_a_number_has_a_point_without_one(years: database.Database) -> None:
    (one, *_) = read.series(years, "retail", platform=PLATFORMS[0])
    query = (
        "DELETE FROM result_measurements WHERE series = %s AND run = (SELECT max(run) FROM results WHERE series = %s)"
    )
    with years.transaction(force_rollback=True):
        years.execute(query, [one.id, one.id])
        last = read.points(years, one.id, one.measurement)[-1]
        assert (last.median, last.interval_95, last.n, last.planned) == (None, None, 0, 3)


# For people who write SQL.


@pytest.mark.parametrize("question", re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL))
def test_questions_of_the_page_have_an_answer(years: database.Database, question: str) -> None:
    with years.transaction(force_rollback=True):
        years.execute(
            "INSERT INTO published_values SELECT experiment, 1, sweep, 'latency_ms_mean', NULL, NULL, levels, 10, 'ms',"
            " 'exactly', 'a paper' FROM series WHERE experiment = 'key_value' LIMIT 1"
        )
        years.execute("UPDATE runs SET started_at = started_at + (now() - timestamptz '2026-11-22')")
        assert years.execute(question.encode()).fetchall()


def test_views_say_what_they_are_and_are_on_the_page(years: database.Database) -> None:
    query = (
        "SELECT relname, obj_description(oid) FROM pg_class "
        "WHERE relkind = %s AND relnamespace = 'history'::regnamespace"
    )
    views = dict(years.execute(query, ["v"]).fetchall())
    assert len(views) >= 8
    for name, says in views.items():
        assert says, name
        assert f"`{name}`" in PAGE
        years.execute(f"SELECT * FROM {name} LIMIT 1".encode())
    tables = {name for name, _ in years.execute(query, ["r"])} - {"alembic_version"}
    assert {name for name in tables if f"`{name}`" not in PAGE} == set()


def test_ratio_to_a_platform_is_beside_the_papers_ratio(years: database.Database) -> None:
    with years.transaction(force_rollback=True):
        years.execute(
            "INSERT INTO published_values SELECT 'retail', 1, sweep, 'latency_ms_mean', %s, %s, levels, 2, '1',"
            " 'exactly', 'a paper' FROM series WHERE experiment = 'retail' LIMIT 1",
            [*reversed(PLATFORMS)],
        )
        rows = years.execute("SELECT ours, ratio, platform FROM ratios_to_published").fetchall()
    assert len(rows) == WEEKS
    for ours, ratio, platform in rows:
        assert (ratio * 2, platform) == (pytest.approx(ours), PLATFORMS[1])
        assert 0.8 < ours < 1.25


def test_who_may_only_read_can_also_after_a_rebuild(lab: Lab) -> None:
    history = made(lab, "history_rights")
    (rights,) = re.findall(r"```sql rights\n(.*?)```", PAGE, re.DOTALL)
    own = rights.replace("ROLE history ", "ROLE history_rights ").replace(
        "DATABASE history ", "DATABASE history_rights "
    )
    metadata = lab.parts.metadata
    address = {"host": metadata.address, "port": metadata.port, "dbname": "history_rights"}
    with psycopg.connect(**address, user="airflow", password=metadata.password, autocommit=True) as superuser:
        superuser.execute(own.replace("choose another", PASSWORD).encode())
    rebuild.rebuild(history.connection, history.store, history.catalog)
    with database.connect(replace(history.connection, login="history_reader")) as reader:
        assert reader.execute("SELECT count(*) FROM latest_results").fetchone() == (0,)
        for statement in ("DELETE FROM runs", "CREATE TABLE mine (a int)"):
            with pytest.raises(psycopg.Error, match=r"read-only|permission denied"):
                reader.execute(statement.encode())
