"""The PostgreSQL engine against real servers: data, caches, sessions, pooler, and what it says when it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from clusterbench.base.connections import Connections
from clusterbench.base.datasets import Dataset
from clusterbench.base.errors import DatasetError, EngineError
from clusterbench.cli.main import main
from clusterbench.engines import Endpoint, caches
from clusterbench.engines.postgres.engine import Postgres
from clusterbench.run import steps, validation
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import load_workload
from clusterbench.workloads.key_value.key_value import expected_checksum, index_of
from clusterbench_lab import Lab
from tests.integration.helpers import changed, dataset, new_run, on_testbed

pytestmark = pytest.mark.lab
KEY_VALUE = load_workload("key_value")


@pytest.fixture
def testbed(connections: Connections) -> Iterator[Testbed]:
    with on_testbed(new_run(connections)) as testbed:
        yield testbed


@pytest.fixture
def relations(testbed: Testbed) -> list[str]:
    KEY_VALUE.generate(dataset(), testbed.engine)
    return [dataset().table, index_of(dataset().table)]


def test_the_same_seed_gives_the_same_rows_on_both_hosts(connections: Connections) -> None:
    sums = set()
    for platform in ("lab_db1", "lab_db2"):
        with on_testbed(new_run(connections), platform) as testbed:
            KEY_VALUE.generate(dataset(), testbed.engine)
            sums.add(KEY_VALUE.inspect(dataset(), testbed.engine)["checksum"])
    assert sums == {str(expected_checksum(dataset()))}


def test_a_table_of_somebody_elses_is_never_dropped(testbed: Testbed) -> None:
    data = dataset(rows=1234)
    testbed.engine.execute(f"DROP TABLE IF EXISTS {data.table}; CREATE TABLE {data.table} (precious int)")
    testbed.engine.execute(f"COMMENT ON TABLE {data.table} IS 'mine'")
    try:
        with pytest.raises(DatasetError, match="was not made by clusterbench; move it away or drop it"):
            KEY_VALUE.generate(data, testbed.engine)
    finally:
        testbed.engine.execute(f"DROP TABLE {data.table}")


def facts_of(data: Dataset, testbed: Testbed) -> dict[str, object]:
    return {**KEY_VALUE.inspect(data, testbed.engine), "checksum_expected": KEY_VALUE.checksum(data)}


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("DELETE FROM {table} WHERE jkeynum = 17", "The table has as many rows as were asked for"),
        ("INSERT INTO {table} SELECT * FROM {table} WHERE jkeynum = 17", "Every key is there once"),
        ("UPDATE {table} SET jkeynum = 0 WHERE jkeynum = 1", "Keys begin at 1"),
        ("UPDATE {table} SET jkeynum = 99999 WHERE jkeynum = 1", "Keys end at the number of rows"),
        (
            "UPDATE {table} SET jsonraw = (SELECT jsonraw FROM {table} WHERE jkeynum = 18) WHERE jkeynum = 17",
            "Every document parses as JSON and its id is its key",
        ),
        (
            "UPDATE {table} SET jsonraw = replace(jsonraw::text, 'Click', 'click')::json WHERE jkeynum = 17",
            "The checksum is that of the same rows made by DuckDB, or of an earlier valid run",
        ),
    ],
)
def test_each_kind_of_damage_is_found_before_anything_is_measured(testbed: Testbed, damage: str, says: str) -> None:
    data = dataset(rows=1500, seed=13)
    testbed.engine.execute(f"DROP TABLE IF EXISTS {data.table}")
    KEY_VALUE.generate(data, testbed.engine)
    assert validation.passed(validation.validate("key_value", [facts_of(data, testbed)]))
    testbed.engine.execute(damage.format(table=data.table))
    verdicts = validation.validate("key_value", [facts_of(data, testbed)])
    assert says in [verdict.says for verdict in verdicts if not verdict.passed]
    testbed.engine.execute(f"DROP TABLE {data.table}")


def test_a_whole_host_is_flushed_where_the_login_may_and_refused_in_words_where_not(
    connections: Connections, relations: list[str]
) -> None:
    """Root's lab logs in as an ordinary user without sudo, who may not; a developer's own login may be allowed to."""
    with on_testbed(new_run(connections), page_cache="drop_caches", may=["restart", "drop_caches"]) as testbed:
        testbed.engine.facts()
        host = testbed.platform.database_hosts[0]
        if "yes" in testbed.fleet.run_on(host, "sudo -n true 2>/dev/null && echo yes || true").output:
            evidence = caches.set_state("cold", testbed.engine, relations, page_cache="drop_caches")
            assert evidence["problem"] is None and evidence["file_system_bytes"] == 0
        else:
            with pytest.raises(caches.CannotEmptyError, match=r"(?s)needs root on the host.*page_cache: evict_files"):
                caches.set_state("cold", testbed.engine, relations, page_cache="drop_caches")
        assert testbed.engine.query("SELECT 1 AS up") == [{"up": 1}]


@pytest.fixture
def let_in_without_password(testbed: Testbed) -> Iterator[str]:
    """A login that the server asks for no password, as a Greenplum does for its owner within the cluster."""
    engine, login = testbed.engine, "without_password"
    rules = Path(engine.query("SHOW hba_file")[0]["hba_file"])
    before = rules.read_text()
    rules.write_text(f"host all {login} 127.0.0.0/8 trust\n{before}")
    engine.execute("SELECT pg_reload_conf()")
    engine.execute(f"CREATE ROLE {login} SUPERUSER LOGIN")
    yield login
    engine.execute(f"DROP ROLE {login}")
    rules.write_text(before)
    engine.execute("SELECT pg_reload_conf()")


def test_a_pooler_asks_for_a_password_where_the_server_asks_for_none(
    connections: Connections, let_in_without_password: str
) -> None:
    trusted = changed(connections, "lab_db1_postgres", login=let_in_without_password, password="")
    with on_testbed(new_run(trusted)) as testbed:
        pooled = testbed.engine.endpoint(pooled=True)
        testbed.engine.start_pooler("transaction", 2)
        try:
            with psycopg.connect(pooled.dbname, **address(pooled), password=pooled.password) as session:
                assert session.execute("SELECT current_user").fetchone() == (let_in_without_password,)
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(pooled.dbname, **address(pooled), password="")
        finally:
            testbed.engine.stop_pooler()


def address(endpoint: Endpoint) -> dict[str, Any]:
    return {"host": endpoint.host, "port": endpoint.port, "user": endpoint.login}


def test_a_pooler_whose_port_is_taken_says_so(testbed: Testbed) -> None:
    taken = testbed.engine.database.port or 5432
    testbed.platform = testbed.engine.platform = testbed.platform.model_copy(update={"pooler_port": taken})  # type: ignore[attr-defined]
    with pytest.raises(EngineError, match="'pooler_port' of the platform free"):
        testbed.engine.start_pooler("transaction", 2)


def test_a_database_that_is_down_is_named_with_its_connection(connections: Connections) -> None:
    with (
        on_testbed(new_run(changed(connections, "lab_db1_postgres", port=1))) as testbed,
        pytest.raises(EngineError) as e,
    ):
        testbed.engine.query("SELECT 1")
    host = connections("lab_db1_postgres").host
    assert f"platform 'lab_db1', database {host}:1: cannot be used" in str(e.value)
    assert "check that the server is up and that connection 'lab_db1_postgres' is right" in str(e.value)


def test_a_statement_that_cannot_be_done_is_no_server_that_is_down(testbed: Testbed) -> None:
    """To psycopg both are operational errors."""
    with pytest.raises(EngineError, match=r'refused a statement: could not open file "/nowhere"') as e:
        testbed.engine.query("SELECT pg_read_file('/nowhere')")
    assert "check that the server is up" not in str(e.value)


def test_a_wrong_password_is_explained_and_not_printed(connections: Connections) -> None:
    wrong = changed(connections, "lab_db1_postgres", password="wrong-4711")
    with on_testbed(new_run(wrong)) as testbed, pytest.raises(EngineError, match="password authentication failed") as e:
        testbed.engine.query("SELECT 1")
    assert "wrong-4711" not in str(e.value)


def test_facts_name_version_place_and_settings(testbed: Testbed) -> None:
    facts = testbed.engine.facts()
    assert facts["version"].startswith("PostgreSQL ")
    assert facts["data_directory"].endswith("/pgdata") and facts["program_directory"].endswith("/bin")
    assert facts["settings"]["shared_buffers"] == "256MB"
    assert testbed.engine.free_bytes() > 0 and testbed.engine.parallelism() >= 1


def test_a_large_table_is_compared_with_that_of_the_first_run(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As above ten million rows, where DuckDB does not compute the checksum: the second platform must have the same."""
    monkeypatch.setattr("clusterbench.workloads.key_value.key_value.CHECKED_BY_DUCKDB_ROWS_MAX", 0)
    for platform, damage in (("lab_db1", None), ("lab_db2", None), ("lab_db2", "Click")):
        run = new_run(connections)
        chosen = {"platforms": [platform], "sweeps": ["lookups"], "seed": 31}
        steps.open_run(run, chosen, {})
        steps.generate_data(run, platform)
        if damage is None:
            assert len(steps.validate_data(run, platform)) == 8
            continue
        with run.testbed(platform) as testbed:
            testbed.engine.execute("UPDATE datajson_10000 SET jsonraw = replace(jsonraw::text, 'Click', 'x')::json")
        with pytest.raises(DatasetError, match=r"(?s)the data is not valid:\n  The checksum is.*Nothing was measured"):
            steps.validate_data(run, platform)


@contextmanager
def applied(connections: Connections, **settings: str) -> Iterator[Testbed]:
    """A platform that applies these settings."""
    with on_testbed(new_run(connections), settings=settings, may=["restart", "engine_settings"]) as testbed:
        yield testbed


def now(testbed: Testbed, *names: str) -> list[str]:
    found = testbed.engine.settings(names)
    return [found[name] for name in names]


def take_out(testbed: Testbed) -> None:
    """What tests of another module have applied of the platform's file: some of it takes a restart."""
    testbed.engine.tear_down()


def test_settings_are_applied_by_a_reload_or_a_restart_and_put_back(connections: Connections, testbed: Testbed) -> None:
    names = ("work_mem", "max_connections", "search_path")
    take_out(testbed)
    before, started = now(testbed, *names), testbed.engine.state()[0]["started_at_s"]
    with applied(connections, work_mem="5MB", search_path='"it\'s", public') as reloaded:
        reloaded.engine.set_up()
        assert now(testbed, "work_mem", "search_path") == ["5MB", '"it\'s", public']
        assert testbed.engine.state()[0]["started_at_s"] == started, "a reload was enough"
        reloaded.engine.tear_down()
        assert now(testbed, *names) == before
    with applied(connections, max_connections="210") as restarted:
        restarted.engine.set_up()
        restarted.engine.set_up()
        assert now(testbed, "max_connections") == ["210"]
        restarted.engine.tear_down()
        assert now(testbed, *names) == before


def test_settings_that_a_lost_run_left_are_put_back_by_the_next_set_up(
    connections: Connections, testbed: Testbed
) -> None:
    take_out(testbed)
    before = now(testbed, "work_mem")
    with applied(connections, work_mem="6MB") as lost:
        lost.engine.set_up()
    assert now(testbed, "work_mem") == ["6MB"]
    testbed.engine.set_up()
    assert now(testbed, "work_mem") == before


@pytest.mark.parametrize(("name", "value"), [("work_mem", "lots"), ("work_mum", "5MB"), ("port", "0'; x = 'y")])
def test_value_that_the_server_refuses_changes_nothing(
    connections: Connections, testbed: Testbed, name: str, value: str
) -> None:
    before = now(testbed, "work_mem", "port")
    with applied(connections, **{name: value}) as wrong:
        with pytest.raises(EngineError, match=f"{name}(.|\n)*nothing was changed there: the server refuses a value"):
            wrong.engine.set_up()
        assert now(testbed, "work_mem", "port") == before
        wrong.engine.stop()
        wrong.engine.start()
        assert now(testbed, "work_mem", "port") == before


def test_what_a_trial_forbids_its_sessions_holds_for_them_and_not_for_looking_something_up(testbed: Testbed) -> None:
    engine, asked = testbed.engine, "SELECT current_setting('enable_seqscan') AS may_scan"
    assert isinstance(engine, Postgres)
    engine.set_session({"enable_seqscan": "off"})
    try:
        assert engine.look_up(asked) == [{"may_scan": "on"}]
        assert engine.query(asked) == [{"may_scan": "off"}]
    finally:
        engine.reset_session()


def test_a_question_that_is_not_answered_in_time_ends(testbed: Testbed) -> None:
    """To whoever asks, a server that is frozen is one that takes for ever."""
    engine = testbed.engine
    assert isinstance(engine, Postgres)
    with pytest.raises(
        EngineError, match=r"cannot be used: no answer within 0\.5 s; it is frozen or overloaded; check that the"
    ):
        engine.ask("SELECT pg_sleep(60)", 0.5)
    assert engine.query("SELECT 1 AS up") == [{"up": 1}], "what is no such question takes its time"


def test_a_database_given_back_by_hand_runs_on_and_says_so(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.up(airflow=False)
    monkeypatch.setenv("CLUSTERBENCH_LAB_DIR", str(lab.lab_dir))
    assert main(["cluster", "down", "lab_db1"]) == 0
    assert "clusterbench does not stop a database" in capsys.readouterr().out
    assert main(["cluster", "status", "lab_db1"]) == 0
    assert " up\n" in capsys.readouterr().out
