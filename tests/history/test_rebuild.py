"""All of it again from object storage: the same content, without readers ever seeing a half of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from clusterbench.base import remark_store
from clusterbench.base.archive import RunArchive
from clusterbench.base.errors import HistoryError
from clusterbench.base.plans import fingerprint
from clusterbench.base.remarks import Remark
from clusterbench.cli import main
from clusterbench.history import database, load, read, rebuild
from clusterbench.hosts.speed_kinds import FOLDER
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench_lab import Lab
from tests.history.conftest import KEY_VALUE, RETAIL, History, made
from tests.history.content import content

BROKEN, UNFINISHED = "20261104T000000Z-bbbbbb", "20261105T000000Z-cccccc"
WEEK = "20261106T000000Z-dddddd"
PLAN = "Seq Scan on order_lineitems  (cost=0.00..15441.00 rows=1 width=8)"


@pytest.fixture(scope="module")
def whole(lab: Lab) -> History:
    """Two runs, a week with a change, and a level that was accepted; a run that is spoilt, and one that goes on."""
    history = made(lab, "history_rebuilt")
    history.put_sealed("key_value", KEY_VALUE, "key_value/s1")
    history.put_sealed("retail", RETAIL, "retail/l1", with_plan)
    history.put("key_value", UNFINISHED, "key_value/s1")
    history.overwrite(history.put_sealed("key_value", BROKEN, "key_value/s1"), "results.json", b"{}")
    _put_week(history)
    return history


def with_plan(objects: dict[str, bytes]) -> None:
    """As runs have it since plans are archived: of its first cell."""
    found = json.loads(objects["results.json"])
    first = found["results"][0]
    first["plans"] = {"scan": fingerprint(PLAN)}
    objects["results.json"] = json.dumps(found).encode()
    objects[f"plans/{first['platform']}/{first['cell']}.json"] = json.dumps({"statements": {"scan": PLAN}}).encode()


def _put_week(history: History) -> None:
    result = history.archive("retail", RETAIL).need_json("results.json")["results"][0]
    cell = {name: result[name] for name in ("platform", "sweep", "levels")} | {
        "experiment": "retail",
        "scale": "laptop",
    }
    change = {"series": cell | {"measurement": "response_time_s"}, "change": {"state": "regression", "says": "slower"}}
    week = history.archive("weekly", WEEK)
    week.put_json("run.json", {"choices": {"scale": "laptop"}, "started_by": {"dag_run_id": "scheduled__1"}})
    ran = {"experiment": "retail", "dag_run_id": "weekly__1", "run_id": RETAIL, "state": "success", "reason": ""}
    lost = {"experiment": "smoke", "dag_run_id": "", "run_id": None, "state": "not started", "reason": "no room"}
    week.put_json("week.json", {"runs": [ran, lost], "scale": "laptop"})
    week.put_json("changes.json", {"changes": [{**change, "differences": []}]})
    week.seal({"valid": False, "started_by": {}})
    said = {
        "from_run_id": RETAIL,
        "accepted_by": "ada",
        "accepted_at": "2026-11-07T10:00:00+00:00",
        "note": "new disks",
    }
    baseline = cell | {"measurement": "response_time_s"} | said
    history.store.put_new("_baselines/retail/0123.json", json.dumps(baseline).encode())
    now = datetime.now(UTC)
    measured = {"at": now.isoformat(), "run": RETAIL, "roles": {"db1": ["coordinator"]}, "problems": {}}
    measured["hosts"] = {"db1": {"memory_mib_per_s": 9000.0}}
    history.store.put_new(f"{FOLDER}native/20261106T000000Z-{RETAIL}.json", json.dumps(measured).encode())
    remark_store.write(history.store, Remark("event", "storage rebuilt", "ada", now, happened_at=now))


def test_what_is_missing_is_loaded_and_a_rebuild_gives_the_same(whole: History) -> None:
    with whole.connect() as db:
        counted = load.catch_up(db, whole.store, whole.catalog)
        assert str(counted) == "loaded 3 runs, 1 not finished, 1 could not be loaded"
        (problem,) = counted.problems.values()
        assert "results.json: was changed after the run" in problem
        before = content(db)
        assert load.catch_up(db, whole.store, whole.catalog).loaded == 0
        assert content(db) == before
    again = rebuild.rebuild(whole.connection, whole.store, whole.catalog)
    assert (str(again), list(again.problems)) == (str(counted), [f"key_value/{BROKEN}"])
    with whole.connect() as db:
        assert content(db) == before
        assert all(before[table] for table in before)
        schemas = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'history%'"
        assert db.execute(schemas).fetchall() == [("history",)]


def test_plans_come_back_as_they_were_archived(whole: History) -> None:
    with database.for_loading(whole.connection) as db:
        load.catch_up(db, whole.store, whole.catalog)
        run = read.one_run(db, "retail", RETAIL)
        noted = [result for result in run.results if result.plans]
        assert [result.plans for result in noted] == [{"scan": fingerprint(PLAN)}]
        assert run.plans == {fingerprint(PLAN): PLAN}
        lines = db.execute("SELECT run_id, statement, fingerprint, plan FROM plans_over_time").fetchall()
        assert lines == [(RETAIL, "scan", fingerprint(PLAN), PLAN)]


def test_the_tables_of_the_version_before_are_upgraded(whole: History) -> None:
    schema = "history_upgraded"
    with whole.connect() as db:
        db.execute(f"CREATE SCHEMA {schema}".encode())
    try:
        with database.opened(whole.connection, schema) as db:
            for name in ("0001_tables", "0001_views"):
                database.run_file(db, name)
            db.execute("CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY)")
            db.execute("INSERT INTO alembic_version VALUES ('0001')")
        database.migrate(whole.connection, schema)
        with database.opened(whole.connection, schema) as db:
            assert database.version(db) == database.NEWEST
            assert db.execute("SELECT count(*) FROM plans_over_time").fetchone() == (0,)
    finally:
        with whole.connect() as db:
            db.execute(f"DROP SCHEMA {schema} CASCADE".encode())


def test_tables_go_back_for_an_older_version_and_forth_again_with_every_result(lab: Lab) -> None:
    """What only newer tables had comes back from the archive."""
    there = made(lab, "history_back")
    assert there.loaded(there.put_sealed("retail", RETAIL, "retail/l1"))
    with there.connect() as db:
        (columns,) = db.execute("SELECT array_agg(column_name::text) FROM information_schema.columns "
                                "WHERE table_schema = 'history' AND table_name = 'results'").fetchall()  # fmt: skip
        counted = db.execute("SELECT count(*), sum(series), min(label) FROM results").fetchone()
        for version in (*reversed(database.VERSIONS[:-1]), *database.VERSIONS[1:]):
            database.migrate(there.connection, to=version)
            assert database.version(db) == version
            assert db.execute("SELECT count(*), sum(series), min(label) FROM results").fetchone() == counted
        (again,) = db.execute("SELECT array_agg(column_name::text) FROM information_schema.columns "
                              "WHERE table_schema = 'history' AND table_name = 'results'").fetchall()  # fmt: skip
        assert sorted(again[0]) == sorted(columns[0])
        with pytest.raises(HistoryError, match=r"version '9999': there is none; allowed are 0001, 0002"):
            database.migrate(there.connection, to="9999")
        db.execute("UPDATE alembic_version SET version_num = '0099'")
        with pytest.raises(HistoryError, match=r"was made by another version.*'clusterbench history migrate --to"):
            database.migrate(there.connection)


def test_a_week_and_what_was_accepted_in_it_are_told(whole: History) -> None:
    with database.for_loading(whole.connection) as db:
        load.catch_up(db, whole.store, whole.catalog)
        (row,) = read.weeks(db)
        assert [(run.experiment, run.run_id, run.reason) for run in row.runs] == [
            ("retail", RETAIL, ""),
            ("smoke", None, "no room"),
        ]
        assert (row.run_id, row.changes, row.dag_run_id) == (WEEK, {"regression": 1}, "scheduled__1")
        week = read.week(db, WEEK)
        assert week is not None
        (change,) = week.changes
        assert change["change"]["says"] == "slower"
        (one,) = [
            one for one in read.series(db, "retail") if one.levels == change["series"]["levels"]
            and (one.platform, one.sweep, one.measurement)
            == tuple(change["series"][name] for name in ("platform", "sweep", "measurement"))
        ]  # fmt: skip
        (baseline,) = read.baselines(db, one.id, "response_time_s")
        assert (baseline.from_run_id, baseline.accepted_by, baseline.note) == (RETAIL, "ada", "new disks")
        assert read.baselines(db, one.id, "throughput_mb_per_s") == []


def test_readers_see_all_of_the_old_or_all_of_the_new(whole: History) -> None:
    with whole.connect() as db:
        load.catch_up(db, whole.store, whole.catalog)
    seen: set[tuple[int, int]] = set()
    done = threading.Event()

    def look() -> None:
        with whole.connect() as reader:
            while not done.is_set():
                seen.add((len(read.latest(reader)), len(read.series(reader, plotted_only=False))))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        rebuild.rebuild(whole.connection, whole.store, whole.catalog)
    finally:
        done.set()
        looking.join()
    assert seen == {(2, 110 + 48)}


def test_a_second_rebuild_is_told_that_there_is_one(whole: History) -> None:
    with whole.connect() as db:
        db.execute(f"SELECT pg_advisory_lock({rebuild.REBUILDERS})")
        with pytest.raises(HistoryError, match="is being rebuilt by somebody else; wait for that one"):
            rebuild.rebuild(whole.connection, whole.store, whole.catalog)


@pytest.fixture
def command(whole: History, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """``clusterbench history …``: its status and what it printed."""
    archive = {"conn_type": "aws", "login": whole.lab.parts.credentials.s3_access_key}
    archive["password"] = whole.lab.parts.credentials.s3_secret_key
    where = {"endpoint_url": whole.store.endpoint, "bucket": whole.store.bucket, "prefix": whole.store.prefix}
    known = whole.connection
    history = {"host": known.host, "port": known.port, "login": known.login, "password": known.password}
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTERBENCH_ARCHIVE", json.dumps(archive | {"extra": where}))
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTERBENCH_HISTORY", json.dumps(history | {"schema": known.schema}))
    monkeypatch.setenv("CLUSTERBENCH_LAB_DIR", str(whole.lab.lab_dir))

    def call(*arguments: str) -> str:
        status = main.main(["history", *arguments])
        printed = capsys.readouterr()
        return f"{status} {printed.out}{printed.err}"

    return call


def test_command_line_loads_tells_and_rebuilds(whole: History, command: Callable[..., str]) -> None:
    rebuilt = command("rebuild")
    assert rebuilt.startswith("1 ")
    assert f"key_value/{KEY_VALUE}: loaded\n" in rebuilt
    assert "could not be loaded\n" in rebuilt and f"{BROKEN}/results.json: was changed after the run" in rebuilt
    told = command("status")
    assert told.startswith("0 history database 'history_rebuilt' at ")
    assert f"key_value            smoke         1 runs, the newest {KEY_VALUE}" in told
    assert f"not loaded: key_value/{BROKEN}\nload them with: clusterbench history load" in told
    assert command("load", KEY_VALUE) == f"0 key_value/{KEY_VALUE}: was loaded before\n"
    assert "could not be loaded" in command("load")
    assert "1 clusterbench: " in (said := command("load", UNFINISHED)) and "is not finished" in said
    assert command("migrate").endswith(f"tables of version {database.NEWEST}\n")


def test_step_of_a_run_loads_it(whole: History) -> None:
    run = Run.__new__(Run)
    run.catalog, run.connections = whole.catalog, lambda _: whole.connection
    run.archive = RunArchive(whole.store, "retail", "20261107T000000Z-eeeeee")
    whole.put_sealed("retail", run.archive.run_id, "retail/l1")
    steps.load_history(run)
    with whole.connect() as db:
        assert read.run(db, "retail", run.archive.run_id)
