"""Finished runs into a real PostgreSQL, from a real S3 server: what is read back is what the archive says."""

from __future__ import annotations

import json
import math
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from clusterbench.base.errors import ArchiveError, HistoryError
from clusterbench.base.paths import project_root
from clusterbench.history import database, load, read
from clusterbench.results.compare import compare
from clusterbench.results.facts_compared import differences
from clusterbench.results.gather import read_run
from clusterbench.results.run_state import RunState
from clusterbench.spec.catalog import Catalog
from tests.history.conftest import KEY_VALUE, RETAIL, History, edited
from tests.history.content import content

RUNS = [("key_value", KEY_VALUE), ("retail", RETAIL)]
TRIAL = "trials/lab_db1/table_size.rows_1000.access_index.r1/trial.json"


@pytest.mark.parametrize(("experiment", "run_id"), RUNS)
def test_a_run_from_the_database_is_the_run_from_its_archive(
    history: History, db: database.Database, experiment: str, run_id: str
) -> None:
    archived, found = read_run(history.archive(experiment, run_id)), read.one_run(db, experiment, run_id)
    assert found.results == archived.results
    assert [list(result.levels) for result in found.results] == [list(result.levels) for result in archived.results]
    assert found.sides == {name: side.as_compared() for name, side in archived.sides.items()}
    assert (found.name, found.opened, found.kept) == (archived.name, archived.opened, archived.kept)
    assert found.declared == archived.declared
    other = replace(archived, name="other")
    assert compare([found], [other]).as_json() == compare([archived], [other]).as_json()
    assert not [one for name, side in found.sides.items() for one in differences(side, archived.sides[name])]


def test_a_run_is_told_with_its_platforms_trials_and_verdicts(history: History, db: database.Database) -> None:
    row = read.run(db, "key_value", KEY_VALUE)
    assert row is not None
    assert (row.planned, row.completed, row.platforms, row.scale) == (25, 15, ("lab_db1",), "smoke")
    assert row.dag_run_id == f"manual__{KEY_VALUE}"
    assert f"{row.started_at:%Y-%m-%d %H:%M %Z}" == "2026-11-01 00:00 UTC"
    assert [run.run_id for run in read.latest(db, ["key_value"])] == [KEY_VALUE]
    told = history.archive("key_value", KEY_VALUE).need_json("verdicts.json")
    assert [verdict.as_json() for verdict in read.verdicts(db, "key_value", KEY_VALUE)] == told["verdicts"]


@pytest.mark.parametrize(("experiment", "run_id"), RUNS)
def test_each_point_of_a_series_has_the_word_of_its_run(db: database.Database, experiment: str, run_id: str) -> None:
    """Of these two one is not valid, and one is valid with warnings."""
    row = read.run(db, experiment, run_id)
    assert row and row.state is {"key_value": RunState.NOT_VALID, "retail": RunState.WARNINGS}[experiment]
    found = list(read.points_of_many(db, read.series(db, experiment)))
    assert found and {points[-1].state for _, points in found} == {row.state}


def test_a_rehearsal_is_never_among_the_runs_and_series_of_full_scale(history: History) -> None:
    rehearsed = edited("run.json", lambda opened: opened["choices"].update({"scale": "full", "rehearse": 1000}))
    run_id = "20261110T000000Z-ababab"
    assert history.loaded(history.put_sealed("key_value", run_id, "key_value/s1", rehearsed))
    with history.connect() as db:
        row = read.run(db, "key_value", run_id)
        assert row and row.scale == "rehearsal_1000"
        assert run_id not in [run.run_id for run in read.runs(db, "key_value", "full")]
        assert read.series(db, "key_value", "rehearsal_1000", run_id=run_id)
        assert not read.series(db, "key_value", "full", run_id=run_id)


def test_failed_trials_have_their_reason_and_the_place_of_their_task(history: History, db: database.Database) -> None:
    plan = history.archive("key_value", KEY_VALUE).need_json("plan.json")["trials"]["lab_db1"]
    failed = read.failed_trials(db, "key_value", KEY_VALUE)
    assert failed
    for trial in failed:
        assert plan[trial.map_index]["id"] == trial.trial
        assert trial.reason
    assert len(read.failed_trials(db, "key_value", KEY_VALUE, limit=1)) == 1


def test_failed_trial_of_a_task_with_several_is_placed_in_that_task(history: History) -> None:
    run_id = "20261110T000000Z-adadad"
    in_two_tasks = edited("plan.json", lambda plan: plan.update({"trial_tasks_max": 2}))
    assert history.loaded(history.put_sealed("key_value", run_id, "key_value/s1", in_two_tasks))
    plan = history.archive("key_value", KEY_VALUE).need_json("plan.json")["trials"]["lab_db1"]
    first = {trial["id"] for trial in plan[: math.ceil(len(plan) / 2)]}
    with history.connect() as db:
        failed = read.failed_trials(db, "key_value", run_id)
    assert failed and [trial.map_index for trial in failed] == [int(trial.trial not in first) for trial in failed]


def test_failed_trial_of_platforms_in_turns_is_placed_among_the_trials_of_all_of_them(history: History) -> None:
    turns: list[list[str]] = []

    def as_if_in_turns(plan: dict[str, Any]) -> None:
        turns[:] = [["lab_db1", trial["id"]] for trial in reversed(plan["trials"]["lab_db1"])]
        plan["turns"] = turns

    run_id = "20261110T000000Z-acacac"
    assert history.loaded(history.put_sealed("key_value", run_id, "key_value/s1", edited("plan.json", as_if_in_turns)))
    with history.connect() as db:
        failed = read.failed_trials(db, "key_value", run_id)
    assert failed and [turns[trial.map_index] for trial in failed] == [["lab_db1", trial.trial] for trial in failed]


def test_a_measurement_knows_its_direction_and_whether_the_report_draws_it(db: database.Database) -> None:
    every = {one.measurement: one for one in read.series(db, "key_value", run_id=KEY_VALUE, plotted_only=False)}
    assert (every["throughput_per_s"].better, every["latency_ms_mean"].better) == ("higher", "lower")
    drawn = {(one.sweep, one.measurement) for one in read.series(db, "key_value", run_id=KEY_VALUE)}
    assert ("pooling", "throughput_per_s") in drawn
    assert ("optimizer", "throughput_per_s") not in drawn


def test_the_same_run_again_changes_nothing(history: History, db: database.Database) -> None:
    before = content(db)
    assert not history.loaded(history.archive("key_value", KEY_VALUE))
    assert content(db) == before


def test_of_two_loaders_at_once_one_loads(history: History) -> None:
    archive = history.put_sealed("key_value", "20261103T000000Z-cccccc", "key_value/s1")
    with ThreadPoolExecutor(2) as workers:
        assert sorted(workers.map(history.loaded, [archive, archive])) == [False, True]


def test_two_who_migrate_at_once_both_find_it_done(history: History) -> None:
    with history.connect() as db:
        db.execute("DROP SCHEMA IF EXISTS twice CASCADE")
        with ThreadPoolExecutor(2) as workers:
            list(workers.map(lambda _: database.migrate(history.connection, "twice"), range(2)))
        assert db.execute("SELECT count(*) FROM twice.alembic_version").fetchone() == (1,)
        db.execute("DROP SCHEMA twice CASCADE")


def test_a_run_that_is_not_finished_is_refused_in_plain_words(history: History) -> None:
    with pytest.raises(HistoryError, match=r"dddddd/: is not finished: it has no manifest yet; only a finished run is"):
        history.loaded(history.put("key_value", "20261104T000000Z-dddddd", "key_value/s1"))
    with pytest.raises(HistoryError, match=r"nowhere/: is not there; only a finished run is loaded"):
        history.loaded(history.archive("key_value", "nowhere"))


@pytest.mark.parametrize("key", ["results.json", TRIAL, "platforms/lab_db1/facts.json"])
def test_what_was_changed_after_the_run_is_not_loaded(history: History, db: database.Database, key: str) -> None:
    run_id = f"20261105T000000Z-{abs(hash(key)) % 16**6:06x}"
    archive = history.put_sealed("key_value", run_id, "key_value/s1")
    history.overwrite(archive, key, b"{}")
    with pytest.raises(ArchiveError, match=rf"{key}: was changed after the run; 'clusterbench verify' shows more"):
        history.loaded(archive)
    assert read.run(db, "key_value", run_id) is None


def test_a_record_that_was_lost_is_no_trial_that_never_ran(history: History) -> None:
    archive = history.put_sealed("key_value", "20261106T000000Z-eeeeee", "key_value/s1")
    store = archive.store
    store.client.delete_object(Bucket=store.bucket, Key=store.prefix + archive.prefix + TRIAL)
    with pytest.raises(ArchiveError, match="is in the manifest but missing"):
        history.loaded(archive)


def test_a_run_whose_manifest_is_another_now_replaces_the_one_of_before(history: History) -> None:
    other = "key_value", "20261107T000000Z-ffffff"
    archive = history.put_sealed(*other, "key_value/s1")
    with history.connect() as db:
        before = content(db)
        assert history.loaded(archive)
        loaded = content(db)
        assert loaded != before
        history.overwrite(archive, "manifest.json", json.dumps(archive.need_json("manifest.json")).encode())
        assert history.loaded(archive)
        again = content(db)
        assert {**again, "runs": None} == {**loaded, "runs": None}
        assert len(again["runs"]) == len(loaded["runs"])


def test_a_run_of_a_workload_that_is_no_more_is_loaded_all_the_same(history: History, db: database.Database) -> None:
    def older(objects: dict[str, bytes]) -> None:
        for key, body in objects.items():
            if key != "experiment.yaml":
                objects[key] = body.replace(b'"key_value"', b'"carrier_pigeon"').replace(b'"ms"', b'"fortnights"')
        objects["experiment.yaml"] = b"{experiment: key_value, of: another version}"

    run_id = "20261108T000000Z-abcabc"
    assert history.loaded(history.put_sealed("key_value", run_id, "key_value/s1", older))
    found = read.results(db, "key_value", run_id)
    assert {result.measurements["latency_ms_mean"].unit for result in found if result.measurements} == {"fortnights"}


def test_what_databases_cannot_keep_is_replaced(history: History, db: database.Database) -> None:
    def odd(record: dict[str, Any]) -> None:
        record |= {"outcome": "failed", "reason": "the server said \0!"}
        record["measurements"]["latency_ms_mean"] = float("nan")

    run_id = "20261109T000000Z-000001"
    assert history.loaded(history.put_sealed("key_value", run_id, "key_value/s1", edited(TRIAL, odd)))
    assert "the server said \ufffd!" in {trial.reason for trial in read.failed_trials(db, "key_value", run_id)}


def test_a_run_that_ended_before_its_results_is_there_and_says_so(history: History, db: database.Database) -> None:
    run_id = "20261110T000000Z-000002"
    assert history.loaded(
        history.put_sealed("key_value", run_id, "key_value/s1", lambda objects: objects.pop("results.json"))
    )
    row = read.run(db, "key_value", run_id)
    assert row is not None
    assert (row.planned, row.completed) == (25, 15)
    with pytest.raises(ArchiveError, match="has no results: it ended before they were made"):
        read.one_run(db, "key_value", run_id)


def test_a_database_that_is_down_is_told_with_what_to_do(history: History) -> None:
    with socket.socket() as listener:
        listener.bind((history.connection.host, 0))  # bound, and nobody listens
        down = replace(history.connection, port=listener.getsockname()[1])
        with pytest.raises(HistoryError, match=r"cannot be reached .*Is it up, .*Nothing is lost: archives hold"):
            database.connect(down)
    with pytest.raises(HistoryError, match=r"password authentication failed.* password of connection 'clusterbench_h"):
        database.connect(replace(history.connection, password="wrong"))


def test_a_database_without_tables_says_how_to_make_them(history: History) -> None:
    with pytest.raises(HistoryError, match="bring them up to date with: clusterbench history load"):
        _latest_of(history, "empty")


def _latest_of(history: History, schema: str) -> None:
    with database.opened(history.connection, schema) as db:
        read.latest(db)


def test_ratios_of_cells_at_two_levels_are_not_loaded() -> None:
    """The view would divide by the cell at the same levels."""
    catalog = Catalog(project_root())
    papers = catalog.published("order_entry").values
    loaded = [row for row in load._published(catalog) if row[0] == "order_entry"]
    assert [row[1] for row in loaded] == [n for n, value in enumerate(papers) if not value.ratio_to_levels]
    assert len(loaded) < len(papers)
