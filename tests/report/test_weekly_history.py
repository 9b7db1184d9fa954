"""What the history database adds to the weekly report, from a real PostgreSQL with made-up weeks in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.connections import Connections, from_file
from clusterbench.history import database
from clusterbench.history.series_changes import of_week
from clusterbench.report.week.page import gather_week, render_week, week_of
from clusterbench_lab import Lab
from tests.airflow.ui import made_up
from tests.report.test_report import CATALOG, Folder, text_of

WEEKS = 22
SCHEMA = "weekly_report_tests"
EXPERIMENTS = [one.experiment for one in made_up.ALL]


@pytest.fixture(scope="module")
def connections(lab: Lab) -> Connections:
    lab.up(airflow=False)
    return from_file(lab.lab_dir / "connections.json")


@pytest.fixture(scope="module")
def db(connections: Connections) -> Iterator[database.Database]:
    connection = connections(database.CONNECTION_ID)
    database.migrate(connection, SCHEMA)
    with database.opened(connection, SCHEMA) as opened:
        made_up.fill(opened, WEEKS)
        for ago in (0, 1):
            _judged_anew(opened, ago)
        yield opened
        opened.execute(f"DROP SCHEMA {SCHEMA} CASCADE".encode())


def run_ids(ago: int) -> dict[str, str]:
    at = made_up.LAST - timedelta(weeks=ago)
    return {name: made_up.run_id_of(name, at + timedelta(minutes=40 * n)) for n, name in enumerate(EXPERIMENTS)}


def _judged_anew(db: database.Database, ago: int) -> None:
    """Of that week, as the weekly run would have."""
    week = made_up.week_run_id(ago)
    (number,) = db.execute("SELECT week FROM weeks WHERE run_id = %s", [week]).fetchone() or (0,)
    db.execute("DELETE FROM changes WHERE week = %s", [number])
    for position, one in enumerate(of_week(db, CATALOG, run_ids(ago))):
        row = [number, position, one.series.id, one.series.measurement, one.change.state, json.dumps(one.as_json())]
        db.execute("INSERT INTO changes VALUES (%s, %s, %s, %s, %s, %s)", row)


@pytest.fixture
def archive(db: database.Database, tmp_path: Path) -> RunArchive:
    folder = tmp_path / "weekly" / made_up.week_run_id()
    folder.mkdir(parents=True)
    runs = []
    for name, run_id in run_ids(0).items():
        runs.append({"experiment": name, "dag_run_id": f"weekly__{name}", "run_id": run_id, "state": "success"})
        run = tmp_path / name / run_id
        run.mkdir(parents=True)
        (run / "manifest.json").write_text('{"valid": true, "objects": {}}')
        (run / "verdicts.json").write_text('{"valid": true, "verdicts": []}')
    week = {"dag_run_id": "scheduled__1", "scale": "laptop", "runs": runs, "airflow_url": "http://airflow.example"}
    (folder / "week.json").write_text(json.dumps(week))
    changes = [one.as_json() for one in of_week(db, CATALOG, run_ids(0))]
    (folder / "changes.json").write_text(json.dumps({"changes": changes}))
    return RunArchive(cast(Store, Folder(tmp_path)), "weekly", folder.name)


def test_regressions_have_their_chart_the_run_they_began_with_and_last_weeks_word(
    db: database.Database, archive: RunArchive
) -> None:
    week = gather_week(db, CATALOG, archive)
    worse = week.of("regression")
    assert worse
    assert not week.without_history
    for one in worse:
        assert one.series.platform == "vm4"
        assert len(one.points) == WEEKS
        assert one.points[-1].run_id == run_ids(0)["key_value"]
        assert one.since_dag_run_id.startswith("scheduled__2026-11-")
        assert not one.is_known
        assert [fact.what for fact in one.facts] == ["kernel"]
    page = text_of(render_week(week))
    assert page.count("6.1.0-25-amd64 → ") == min(10, len(worse))
    assert render_week(week).count("<svg") == min(10, len(worse)) + min(10, len(week.of("improvement")))


def test_a_run_stands_beside_the_one_before(db: database.Database, archive: RunArchive) -> None:
    for one in gather_week(db, CATALOG, archive).ran:
        assert one.took_s == 35 * 60
        assert one.before is not None
        assert one.before.run_id == run_ids(1)[one.experiment]


def test_what_last_week_told_is_known(db: database.Database, archive: RunArchive) -> None:
    told = next(one for one in of_week(db, CATALOG, run_ids(0)) if one.change.state == "regression")
    with db.transaction(force_rollback=True):
        week = made_up.week_run_id(1)
        query = (
            "UPDATE changes SET change = %s FROM weeks WHERE changes.week = weeks.week AND position = 0 AND run_id = %s"
        )
        db.execute(query, [json.dumps(told.as_json()), week])
        found = gather_week(db, CATALOG, archive).of("regression")
    assert [one.is_known for one in found] == [False] * (len(found) - 1) + [True]


def test_an_error_of_the_database_is_said_on_a_page_that_is_made_all_the_same(
    connections: Connections, archive: RunArchive
) -> None:
    with database.connect(connections(database.CONNECTION_ID), "no_such_schema") as empty:
        week = gather_week(empty, CATALOG, archive)
    assert "does not exist" in week.without_history
    assert "got slower" in text_of(render_week(week))


def test_a_database_that_is_away_is_said_on_a_page_that_is_made_all_the_same(
    connections: Connections, archive: RunArchive
) -> None:
    away = week_of(lambda name: replace(connections(name), port=1), CATALOG, archive)
    assert "cannot be reached" in away.without_history
    assert "got slower" in text_of(render_week(away))
