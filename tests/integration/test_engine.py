"""The PostgreSQL engine against real servers: data, caches, sessions, pooler, and what it says when it cannot."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import psycopg
import pytest
from tests.integration.helpers import ROWS, bench_on, changed, dataset, new_run

from clusterbench import caches, steps, validation
from clusterbench.connections import Connections
from clusterbench.errors import DatasetError, EngineError
from clusterbench.trial import Bench
from clusterbench.workloads import load_workload
from clusterbench.workloads.key_value import expected_checksum, index_of, insert

pytestmark = pytest.mark.lab
KEY_VALUE = load_workload("key_value")


@pytest.fixture
def bench(connections: Connections) -> Iterator[Bench]:
    with bench_on(new_run(connections)) as bench:
        yield bench


@pytest.fixture
def relations(bench: Bench) -> list[str]:
    KEY_VALUE.generate(dataset(), bench.engine)
    return [dataset().table, index_of(dataset().table)]


def test_the_same_seed_gives_the_same_rows_on_both_hosts(connections: Connections) -> None:
    sums = set()
    for platform in ("lab_db1", "lab_db2"):
        with bench_on(new_run(connections), platform) as bench:
            KEY_VALUE.generate(dataset(), bench.engine)
            sums.add(KEY_VALUE.inspect(dataset(), bench.engine)["checksum"])
    assert sums == {str(expected_checksum(dataset()))}


def test_another_seed_makes_the_table_anew_with_other_rows(bench: Bench) -> None:
    KEY_VALUE.generate(dataset(), bench.engine)
    KEY_VALUE.generate(dataset(seed=8), bench.engine)
    facts = KEY_VALUE.inspect(dataset(seed=8), bench.engine)
    assert facts["checksum"] == str(expected_checksum(dataset(seed=8)))
    assert facts["checksum"] != str(expected_checksum(dataset()))


def test_a_generation_that_was_cut_off_goes_on_where_it_ended(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the slices are loaded, then the worker dies; the second try loads only the other half."""
    data = dataset(rows=3000, seed=11)
    loaded: list[str] = []

    def dying(target: object, ids: str) -> str:
        if int(re.findall(r"\d+", ids)[0]) > 1500:
            raise EngineError("the worker died")
        return insert(data, ids)

    monkeypatch.setattr("clusterbench.workloads.key_value.insert", dying)
    with pytest.raises(EngineError, match="the worker died"):
        KEY_VALUE.generate(data, bench.engine)
    assert not KEY_VALUE.is_generated(data, bench.engine)

    def noting(target: object, ids: str) -> str:
        loaded.append(ids)
        return insert(data, ids)

    monkeypatch.setattr("clusterbench.workloads.key_value.insert", noting)
    KEY_VALUE.generate(data, bench.engine)
    assert KEY_VALUE.inspect(data, bench.engine)["checksum"] == str(expected_checksum(data))
    rows = bench.engine.query(f"SELECT count(*) AS n, count(DISTINCT jkeynum) AS d FROM {data.table}")[0]
    assert rows == {"n": 3000, "d": 3000}


def test_two_workers_that_generate_at_once_load_each_row_once(connections: Connections) -> None:
    data = dataset(rows=4000, seed=12)
    errors: list[Exception] = []
    with bench_on(new_run(connections)) as bench:
        bench.engine.execute(f"DROP TABLE IF EXISTS {data.table}")
        slices = [(first, first + 499) for first in range(1, 4001, 500)]
        bench.engine.forget_slices(data.table)
        bench.engine.execute(f"CREATE TABLE {data.table} (jsonraw json, jkeynum bigint, jkey varchar)")
        list(bench.engine.load_slices(data.table, 0, [], lambda a, b: ""))  # makes the table of slices

        def load() -> None:
            try:
                list(
                    bench.engine.load_slices(
                        data.table, data.seed, slices, lambda a, b: insert(data, bench.engine.series(a, b))
                    )
                )
            except Exception as error:
                errors.append(error)

        workers = [threading.Thread(target=load) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert not errors
        assert bench.engine.query(f"SELECT count(*) AS n FROM {data.table}")[0]["n"] == 4000
        bench.engine.execute(f"DROP TABLE {data.table}")


def test_a_table_of_somebody_elses_is_never_dropped(bench: Bench) -> None:
    data = dataset(rows=1234)
    bench.engine.execute(f"DROP TABLE IF EXISTS {data.table}; CREATE TABLE {data.table} (precious int)")
    bench.engine.execute(f"COMMENT ON TABLE {data.table} IS 'mine'")
    try:
        with pytest.raises(DatasetError, match="was not made by clusterbench; move it away or drop it"):
            KEY_VALUE.generate(data, bench.engine)
    finally:
        bench.engine.execute(f"DROP TABLE {data.table}")


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
def test_each_kind_of_damage_is_found_before_anything_is_measured(bench: Bench, damage: str, says: str) -> None:
    data = dataset(rows=1500, seed=13)
    bench.engine.execute(f"DROP TABLE IF EXISTS {data.table}")
    KEY_VALUE.generate(data, bench.engine)
    assert validation.passed(validation.validate("key_value", [KEY_VALUE.inspect(data, bench.engine)]))
    bench.engine.execute(damage.format(table=data.table))
    verdicts = validation.validate("key_value", [KEY_VALUE.inspect(data, bench.engine)])
    assert says in [verdict.says for verdict in verdicts if not verdict.passed]
    bench.engine.execute(f"DROP TABLE {data.table}")


def test_a_cold_state_is_cold_and_shown_page_by_page(bench: Bench, relations: list[str]) -> None:
    bench.engine.facts()
    evidence = caches.make("cold", bench.engine, relations, page_cache="evict_files")
    assert evidence["problem"] is None
    assert evidence["total_bytes"] > 1_000_000
    assert evidence["database_bytes"] == 0 and evidence["file_system_bytes"] == 0


def test_a_warm_state_is_in_memory_and_would_not_pass_as_cold(bench: Bench, relations: list[str]) -> None:
    evidence = caches.make("warm", bench.engine, relations, page_cache="evict_files")
    assert evidence["problem"] is None
    assert evidence["database_bytes"] == evidence["total_bytes"]
    found = bench.engine.residency(relations)
    assert "in the database's cache at the start of a cold trial" in str(
        caches.problem("cold", type(found)(found.total_bytes, found.database_bytes, 0))
    )


def test_a_database_warm_state_has_the_file_system_cache_empty(bench: Bench, relations: list[str]) -> None:
    evidence = caches.make("database_warm", bench.engine, relations, page_cache="evict_files")
    assert evidence["problem"] is None
    assert evidence["database_bytes"] == evidence["total_bytes"] and evidence["file_system_bytes"] == 0


def test_a_whole_host_is_flushed_where_the_login_may_and_refused_in_words_where_not(
    connections: Connections, relations: list[str]
) -> None:
    """Root's lab logs in as an ordinary user without sudo, who may not; a developer's own login may be allowed to."""
    with bench_on(new_run(connections), page_cache="drop_caches") as bench:
        bench.engine.facts()
        host = bench.platform.database_hosts[0]
        if "yes" in bench.fleet.run_on(host, "sudo -n true 2>/dev/null && echo yes || true").output:
            evidence = caches.make("cold", bench.engine, relations, page_cache="drop_caches")
            assert evidence["problem"] is None and evidence["file_system_bytes"] == 0
        else:
            with pytest.raises(caches.CannotEmptyError, match=r"(?s)needs root on the host.*page_cache: evict_files"):
                caches.make("cold", bench.engine, relations, page_cache="drop_caches")
        assert bench.engine.query("SELECT 1 AS up") == [{"up": 1}]


def test_session_settings_hold_for_new_sessions_and_are_undone(bench: Bench) -> None:
    bench.engine.set_session({"enable_seqscan": "off", "work_mem": "7MB"})
    assert bench.engine.settings(["enable_seqscan", "work_mem"]) == {"enable_seqscan": "off", "work_mem": "7MB"}
    bench.engine.reset_session()
    assert bench.engine.settings(["enable_seqscan"]) == {"enable_seqscan": "on"}


def test_hostile_setting_names_and_values_are_only_words(bench: Bench) -> None:
    with pytest.raises(EngineError, match="refused a statement"):
        bench.engine.set_session({"x; DROP TABLE y": "on"})
    with pytest.raises(EngineError, match="refused a statement"):
        bench.engine.set_session({"work_mem": "1'; DROP TABLE y; --"})
    bench.engine.reset_session()


def test_the_pooler_lets_in_and_goes(bench: Bench, connections: Connections) -> None:
    database = connections("lab_db1_postgres")
    bench.engine.start_pooler("transaction", 2)
    try:
        with psycopg.connect(
            host=database.host, port=bench.platform.pooler_port, user=database.login, password=database.password,
            dbname=database.schema,
        ) as pooled:  # fmt: skip
            assert pooled.execute("SELECT 1").fetchone() == (1,)
    finally:
        bench.engine.stop_pooler()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(host=database.host, port=bench.platform.pooler_port, connect_timeout=2)
    users = bench.fleet.run_on("db1", f"ls {bench.fleet.work_dir('db1')}/pgbouncer").output
    assert "users" not in users  # it holds the password


def test_a_pooler_whose_port_is_taken_says_so(bench: Bench) -> None:
    taken = bench.engine.database.port or 5432
    bench.platform = bench.engine.platform = bench.platform.model_copy(update={"pooler_port": taken})  # type: ignore[attr-defined]
    with pytest.raises(EngineError, match="'pooler_port' of the platform free"):
        bench.engine.start_pooler("transaction", 2)


def test_a_database_that_is_down_is_named_with_its_connection(connections: Connections) -> None:
    with bench_on(new_run(changed(connections, "lab_db1_postgres", port=1))) as bench, pytest.raises(EngineError) as e:
        bench.engine.query("SELECT 1")
    assert "platform 'lab_db1', database 127.0.77.21:1: cannot be used" in str(e.value)
    assert "is the server up, and is connection 'lab_db1_postgres' right?" in str(e.value)


def test_a_wrong_password_is_explained_and_not_printed(connections: Connections) -> None:
    wrong = changed(connections, "lab_db1_postgres", password="wrong-4711")
    with bench_on(new_run(wrong)) as bench, pytest.raises(EngineError, match="password authentication failed") as e:
        bench.engine.query("SELECT 1")
    assert "wrong-4711" not in str(e.value)


def test_facts_name_version_place_and_settings(bench: Bench) -> None:
    facts = bench.engine.facts()
    assert facts["version"].startswith("PostgreSQL ")
    assert facts["data_directory"].endswith("/pgdata") and facts["program_directory"].endswith("/bin")
    assert facts["settings"]["shared_buffers"] == "256MB"
    assert bench.engine.free_bytes() > 0 and bench.engine.parallelism() >= 1


def test_a_plan_shows_index_or_scan_as_asked(bench: Bench, relations: list[str]) -> None:
    from tests.integration.helpers import trial

    for access, words in (("index", "Index Scan"), ("scan", "Seq Scan")):
        evidence = KEY_VALUE.prepare(trial(access=access, rows=ROWS), bench.engine)
        assert words in str(evidence["plan"])
    bench.engine.reset_session()


def test_a_large_table_is_compared_with_that_of_the_first_run(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As above ten million rows, where DuckDB does not compute the checksum: the second platform must have the same."""
    monkeypatch.setattr("clusterbench.workloads.key_value.CHECKED_BY_DUCKDB_ROWS_MAX", 0)
    for platform, damage in (("lab_db1", None), ("lab_db2", None), ("lab_db2", "Click")):
        run = new_run(connections)
        chosen = {"platforms": [platform], "sweeps": ["lookups"], "seed": 31}
        steps.open_run(run, chosen, {})
        steps.generate_data(run, platform)
        if damage is None:
            assert len(steps.validate_data(run, platform)) == 8
            continue
        with run.bench(platform) as bench:
            bench.engine.execute("UPDATE datajson_10000 SET jsonraw = replace(jsonraw::text, 'Click', 'x')::json")
        with pytest.raises(DatasetError, match=r"(?s)the data is not valid:\n  The checksum is.*Nothing was measured"):
            steps.validate_data(run, platform)
