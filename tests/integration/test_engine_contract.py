"""What any engine must do, against a real one: the lab's PostgreSQL, or the cluster of `make test-engine PLATFORM=…`.

It stops, starts and crashes servers, and makes and drops tables called datajson_… and contract_…: give it no cluster
that others work on.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from shlex import quote
from typing import Any

import psycopg
import pytest

from clusterbench.base.archive import CONNECTION_ID
from clusterbench.base.connections import Connection, Connections, from_file, local_connections
from clusterbench.base.datasets import Dataset, Partition, Storage, row_skew_max
from clusterbench.base.errors import EngineError
from clusterbench.base.paths import lab_dir, project_root
from clusterbench.base.records import Trial
from clusterbench.base.sql import identifier
from clusterbench.drivers import psql_streams
from clusterbench.engines import Engine, caches, engine_class
from clusterbench.engines.state import faults
from clusterbench.hosts.fleet import Fleet
from clusterbench.run import validation
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.protocol import job_of, run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import etl_files, load_workload
from clusterbench.workloads.key_value.key_value import expected_checksum, index_of, insert
from clusterbench.workloads.retail import load_files, order_lineitems
from clusterbench_lab import Lab
from tests.integration.helpers import SEED, measured_while, new_run, trial

pytestmark = pytest.mark.lab
KEY_VALUE = load_workload("key_value")
ROWS = 3000
HOSTILE = "contract_\"'; DROP TABLE x; --é$1"
PLATFORM = os.environ.get("CLUSTERBENCH_TEST_PLATFORM")


@pytest.fixture
def connections(lab: Lab) -> Connections:
    """The archive is always the tests' own lab's; a platform that was given has its own connections."""
    lab.up(airflow=False)
    of_lab = from_file(lab.lab_dir / "connections.json")
    if not PLATFORM:
        return of_lab
    given = local_connections(lab_dir())

    def find(conn_id: str) -> Connection:
        return of_lab(conn_id) if conn_id == CONNECTION_ID else given(conn_id)

    return find


@pytest.fixture
def platform() -> Platform:
    catalog = Catalog(project_root())
    return catalog.read_platform(Path(PLATFORM)) if PLATFORM else catalog.platform("lab_db1")


@contextmanager
def bench_of(platform: Platform, connections: Connections) -> Iterator[Testbed]:
    assert platform.database is not None
    with Fleet.of(platform, connections) as fleet:
        engine = engine_class(platform)(platform, fleet, connections(platform.database))
        yield Testbed(platform, fleet, engine, new_run(connections).archive)


@pytest.fixture
def testbed(platform: Platform, connections: Connections) -> Iterator[Testbed]:
    with bench_of(platform, connections) as made:
        made.engine.facts()
        made.engine.recover()
        yield made
        made.engine.recover()
        made.engine.reset_session()


@pytest.fixture
def engine(testbed: Testbed) -> Engine:
    return testbed.engine


def dataset(rows: int = ROWS, seed: int = SEED, storage: str = "heap") -> Dataset:
    return KEY_VALUE.dataset({"rows": rows, "storage": storage}, seed)


@pytest.fixture
def data(engine: Engine) -> Dataset:
    KEY_VALUE.generate(dataset(), engine)
    return dataset()


@pytest.fixture
def relations(data: Dataset) -> list[str]:
    return [data.table, index_of(data.table)]


def drop(engine: Engine, *tables: str) -> None:
    for table in tables:
        engine.execute(f"DROP TABLE IF EXISTS {identifier(table).as_string(None)}")


# Facts.


def test_facts_say_what_it_is_and_where(engine: Engine) -> None:
    facts = engine.facts()
    assert facts["engine"] == engine.platform.engine  # type: ignore[attr-defined]
    assert facts["version"].startswith("PostgreSQL ") and facts["version_number"] >= 90400
    assert facts["settings"]["shared_buffers"]
    assert facts["data_directory"].startswith("/") and facts["program_directory"].endswith("bin")
    assert int(engine.free_bytes() or 0) > 0 and engine.parallelism() >= 1 and engine.slice_rows_max >= 1000


def test_stored_bytes_are_those_of_a_table_or_of_a_whole_schema(engine: Engine, data: Dataset) -> None:
    stored = engine.stored_bytes(data.table)
    assert 0.5 * data.bytes_expected < stored < 3 * data.bytes_expected + 1_000_000
    assert engine.stored_bytes("clusterbench_no_such_schema") == 0
    engine.execute("CREATE SCHEMA clusterbench_stored")
    try:
        engine.execute(f"CREATE TABLE clusterbench_stored.copied AS SELECT * FROM {data.table}")
        copied = engine.stored_bytes("clusterbench_stored")
        assert 0 < copied <= 1.5 * stored, "newer servers make a file longer by many pages at once"
    finally:
        engine.execute("DROP SCHEMA clusterbench_stored CASCADE")


def test_every_instance_is_up_and_nothing_is_to_be_recovered(engine: Engine) -> None:
    state = engine.state()
    assert state and all(row["alive"] and row["status"] == "u" for row in state)
    assert faults(state, engine.state()) == []
    assert engine.recover() == []


def test_what_it_lacks_has_a_reason_and_everything_else_works(engine: Engine) -> None:
    assert all(len(reason) > 20 for reason in engine.unavailable.values())
    for storage in ("heap", "append_row", "append_column"):
        if storage == "heap" or "append_optimised" not in engine.unavailable:
            drop(engine, "contract_t")
            layout = Storage("key", storage, "none" if storage == "heap" else "zlib")  # type: ignore[arg-type]
            engine.create_table("contract_t", "key bigint", layout)
    drop(engine, "contract_t")


# Sessions.


def test_settings_hold_for_new_sessions_and_are_undone(engine: Engine) -> None:
    before = engine.settings(["enable_seqscan", "work_mem"])
    engine.set_session({"enable_seqscan": "off", "work_mem": "7MB"})
    assert engine.settings(["enable_seqscan", "work_mem"]) == {"enable_seqscan": "off", "work_mem": "7MB"}
    engine.set_session({"work_mem": "8MB"})
    assert engine.settings(["enable_seqscan"]) == {"enable_seqscan": before["enable_seqscan"]}, "the last ones only"
    engine.reset_session()
    assert engine.settings(["enable_seqscan", "work_mem"]) == before


@pytest.mark.parametrize("settings", [{"x; DROP TABLE y": "on"}, {"work_mem": "1'; DROP TABLE y; --"}])
def test_hostile_settings_are_only_words(engine: Engine, settings: dict[str, str]) -> None:
    with pytest.raises(EngineError, match="refused a statement"):
        engine.set_session(settings)


def test_hostile_identifiers_are_only_names(engine: Engine) -> None:
    drop(engine, HOSTILE)
    name = identifier(HOSTILE).as_string(None)
    engine.create_table(HOSTILE, "key bigint", Storage("key"))
    engine.execute(f"INSERT INTO {name} SELECT * FROM {engine.series(1, 100)} AS ids")
    engine.settle(HOSTILE)
    engine.warm([HOSTILE])
    found = engine.residency([HOSTILE])
    assert found is not None and found.total_bytes > 0
    assert engine.skew(HOSTILE) <= row_skew_max(100)
    engine.forget_slices(HOSTILE)
    drop(engine, HOSTILE)


def test_a_plan_is_of_the_statement_and_of_its_path(engine: Engine, data: Dataset) -> None:
    for access, words in (("index", "Index Scan"), ("scan", "Seq Scan")):
        for mode in ("plain", "sql_prepare"):
            evidence = KEY_VALUE.prepare(trial(access=access, rows=data.rows, statement=mode), engine)
            assert words in str(evidence["plan"]), evidence["plan"]


# Data.


@pytest.mark.parametrize(("first", "last"), [(1, 1), (1, 1000), (7, 1234), (3_000_000_001, 3_000_000_100)])
def test_a_series_has_every_number_once(engine: Engine, first: int, last: int) -> None:
    found = engine.query(
        f"SELECT count(*) AS n, count(DISTINCT id) AS d, min(id) AS low, max(id) AS high "
        f"FROM {engine.series(first, last)} AS ids(id)"
    )[0]
    assert found == {"n": last - first + 1, "d": last - first + 1, "low": first, "high": last}


def test_rows_are_those_of_the_seed_on_every_engine(engine: Engine) -> None:
    """DuckDB makes the same rows anew; so PostgreSQL's and Greenplum's are the same, too."""
    for seed in (SEED, SEED + 1):
        KEY_VALUE.generate(dataset(seed=seed), engine)
        facts = KEY_VALUE.inspect(dataset(seed=seed), engine)
        assert facts["checksum"] == str(expected_checksum(dataset(seed=seed)))
        facts["checksum_expected"] = KEY_VALUE.checksum(dataset(seed=seed))
        assert validation.passed(validation.validate("key_value", [facts]))


def test_rows_are_the_same_in_every_layout(engine: Engine) -> None:
    layouts = ["heap"] if "append_optimised" in engine.unavailable else ["heap", "append_row", "append_column"]
    sums = set()
    for layout in layouts:
        made = dataset(storage=layout)
        KEY_VALUE.generate(made, engine)
        sums.add(KEY_VALUE.inspect(made, engine)["checksum"])
        evidence = caches.set_state("cold", engine, [made.table], page_cache="evict_files")
        assert evidence["problem"] is None and evidence["total_bytes"] > 0, (layout, evidence)
        assert caches.set_state("warm", engine, [made.table], page_cache="evict_files")["problem"] is None, layout
    assert sums == {str(expected_checksum(dataset()))}


def test_a_generation_that_was_cut_off_goes_on_where_it_ended(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    data = dataset(seed=11)
    loaded: list[str] = []
    monkeypatch.setattr(type(engine), "slice_rows_max", 500)

    def dying(target: Dataset, ids: str) -> str:
        if int(re.findall(r"\d+", ids)[0]) > 1500:
            raise EngineError("the worker died")
        return insert(target, ids)

    monkeypatch.setattr("clusterbench.workloads.key_value.key_value.insert", dying)
    with pytest.raises(EngineError, match="the worker died"):
        KEY_VALUE.generate(data, engine)
    assert not KEY_VALUE.is_generated(data, engine)

    def noting(target: Dataset, ids: str) -> str:
        loaded.append(ids)
        return insert(target, ids)

    monkeypatch.setattr("clusterbench.workloads.key_value.key_value.insert", noting)
    KEY_VALUE.generate(data, engine)
    assert KEY_VALUE.is_generated(data, engine)
    assert KEY_VALUE.inspect(data, engine)["checksum"] == str(expected_checksum(data))
    loaded.clear()
    KEY_VALUE.generate(data, engine)
    assert loaded == [], "a finished table stays"


def test_two_workers_that_load_at_once_load_each_row_once(platform: Platform, connections: Connections) -> None:
    data, slices = dataset(rows=4000, seed=12), [(first, first + 499) for first in range(1, 4001, 500)]
    errors: list[Exception] = []
    with bench_of(platform, connections) as testbed:
        engine = testbed.engine
        drop(engine, data.table)
        engine.forget_slices(data.table)
        engine.create_table(data.table, "jsonraw json, jkeynum bigint, jkey varchar", data.storage)
        list(engine.load_slices(data.table, 0, [], lambda a, b: ""))  # makes the table of slices

        def load() -> None:
            try:
                list(engine.load_slices(data.table, data.seed, slices, lambda a, b: insert(data, engine.series(a, b))))
            except Exception as error:
                errors.append(error)

        workers = [threading.Thread(target=load) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert not errors
        assert engine.query(f"SELECT count(*) AS n FROM {data.table}")[0]["n"] == 4000
        drop(engine, data.table)


# Processes.


def test_stop_and_start_can_be_repeated(engine: Engine) -> None:
    engine.stop()
    engine.stop()
    with pytest.raises(EngineError, match="cannot be used"):
        engine.query("SELECT 1 AS up")
    assert not any(row["alive"] for row in engine.state())
    engine.start()
    engine.start()
    assert engine.query("SELECT 1 AS up") == [{"up": 1}]


def test_another_worker_can_start_what_one_has_stopped(
    engine: Engine, platform: Platform, connections: Connections
) -> None:
    """A stopped server cannot be asked where its data is: the facts of set-up are enough."""
    facts = engine.facts()
    engine.stop()
    with Fleet.of(platform, connections) as fleet:
        other = engine_class(platform)(platform, fleet, connections(str(platform.database)), facts)
        other.start()
        assert other.query("SELECT 1 AS up") == [{"up": 1}]


def test_a_restart_is_seen(engine: Engine) -> None:
    before = engine.state()
    engine.stop()
    import time

    time.sleep(1)  # instances tell the second of their start
    engine.start()
    assert [fault.endswith("was restarted") for fault in faults(before, engine.state())] == [True] * len(before)


def last_primary(testbed: Testbed) -> str:
    """A segment that holds rows, with or without a mirror; the only server, where there is one."""
    return str([row["name"] for row in testbed.engine.state() if row["role"] == "p"][-1])


def kill_instance(testbed: Testbed, name: str) -> None:
    """As a crash of that one server process: SIGKILL, nothing is written, nothing is said."""
    (victim,) = (i for i in testbed.engine.instances() if i.name == name)  # type: ignore[attr-defined]
    pid_file = f"{quote(victim.data_directory)}/postmaster.pid"
    testbed.fleet.run_on(str(victim.host), f"kill -9 $(head -n 1 {pid_file})")


def test_an_instance_that_crashed_is_seen_and_brought_back_with_its_rows(testbed: Testbed, data: Dataset) -> None:
    before = testbed.engine.state()
    victim = last_primary(testbed)
    kill_instance(testbed, victim)
    assert f"{victim} went down" in faults(before, testbed.engine.state())
    assert any(victim in done for done in testbed.engine.recover())
    assert KEY_VALUE.inspect(data, testbed.engine)["checksum"] == str(expected_checksum(data))
    assert testbed.engine.recover() == []


@pytest.mark.long
def test_a_crash_during_a_trial_makes_it_failed_and_the_next_one_recovers(testbed: Testbed, data: Dataset) -> None:
    slow = trial("crash", clients=2, lookups_per_client=100_000, rows=data.rows)
    victim = last_primary(testbed)
    record = measured_while(
        lambda: kill_instance(testbed, victim),
        lambda: job_of(slow, testbed).state().phase != "new",
        slow,
        testbed,
    )
    assert record.outcome == "failed", record
    assert f"{victim} went down" in record.reason
    assert record.measurements == {} and record.driver_starts == 1
    assert "log" in record.evidence["after"] and record.evidence["cluster"]["down"] == []
    assert victim in record.evidence["after"]["cluster"]["down"]
    following = run_trial(trial("following", rows=data.rows), testbed)
    assert following.outcome == "completed", following.reason
    assert any(victim in done for done in following.evidence["recovered"])


# Without hosts.


def test_where_only_the_database_is_known_all_that_needs_no_host_still_runs(
    platform: Platform, connections: Connections
) -> None:
    clients = {name: host for name, host in platform.hosts.items() if "client" in host.roles}
    client = {name: host.model_copy(update={"roles": ("client",)}) for name, host in clients.items()}
    with bench_of(platform.model_copy(update={"hosts": client}), connections) as testbed:
        assert testbed.platform.without_hosts and "program_directory" not in testbed.engine.facts()
        KEY_VALUE.generate(dataset(), testbed.engine)
        warm = run_trial(trial("no_hosts_warm", rows=ROWS, clients=2), testbed)
        assert warm.outcome == "completed", warm.reason
        assert warm.evidence["caches"]["proof"] == "none: no host can be asked"
        assert list(warm.telemetry) == list(client)
        for name, levels in (("cold", {"cache": "cold"}), ("pooled", {"pooling": "pgbouncer"})):
            record = run_trial(trial(f"no_hosts_{name}", rows=ROWS, **levels), testbed)
            assert (record.outcome, "names no coordinator or segment host" in record.reason) == ("not_applicable", True)
        testbed.engine.start()
        testbed.engine.stop_pooler()
        with pytest.raises(EngineError, match="names no coordinator or segment host"):
            testbed.engine.stop()


# Caches.


@pytest.mark.parametrize("state", ["cold", "warm", "database_warm"])
def test_a_cache_state_is_made_and_proven(engine: Engine, platform: Platform, relations: list[str], state: str) -> None:
    evidence = caches.set_state(state, engine, relations, page_cache=platform.page_cache)
    assert evidence["problem"] is None, evidence
    assert evidence["total_bytes"] > 1_000_000
    in_database = evidence["database_bytes"] / evidence["total_bytes"]
    assert in_database < 0.05 if state == "cold" else in_database > 0.9
    if state != "warm":
        assert evidence["file_system_bytes"] == 0
    else:
        found = engine.residency(relations)
        assert found is not None
        assert caches.problem("cold", found), "a warm state does not pass as cold"


# Partitions, streams, bulk loading.


def retail(workload: str, name: str, rows: int = ROWS, **levels: Any) -> Trial:
    defaults = {factor: declared.default for factor, declared in load_workload(workload).factors.items()}
    return Trial(f"{name}.r1", name, "contract", name, workload, defaults | {"rows": rows} | levels, 1, SEED, 300, {})


@pytest.fixture
def lineitems(engine: Engine) -> Dataset:
    data = order_lineitems.dataset_of(ROWS, SEED)
    order_lineitems.generate(data, engine)
    return data


def test_partitioned_rows_are_those_of_the_seed_each_in_its_partition(engine: Engine, lineitems: Dataset) -> None:
    facts = order_lineitems.inspect(lineitems, engine)
    parts = facts.pop("partitions")
    facts["checksum_expected"] = order_lineitems.expected_checksum(lineitems)
    assert validation.passed(validation.validate("order_lineitems", [facts])), facts
    assert validation.passed(validation.validate("order_lineitems_partitions", parts))  # type: ignore[arg-type]
    assert engine.leaves([lineitems.table]) == sorted(
        part.table(lineitems.table) for part in lineitems.storage.partitions
    )
    assert facts["indexes"] == "none" and engine.indexes(lineitems.table) == []
    assert engine.stored_bytes(lineitems.table) > 1_000_000, "of its partitions"


@pytest.mark.parametrize("state", ["cold", "warm"])
def test_the_caches_of_partitions_are_made_and_proven(
    engine: Engine, platform: Platform, lineitems: Dataset, state: str
) -> None:
    evidence = caches.set_state(state, engine, [lineitems.table], page_cache=platform.page_cache)
    assert evidence["problem"] is None and evidence["total_bytes"] > 1_000_000, evidence
    in_database = evidence["database_bytes"] / evidence["total_bytes"]
    assert in_database < 0.05 if state == "cold" else in_database > 0.9, "of many files, each is found where it is"


@pytest.mark.parametrize("workload", ["full_scan", "partial_scan"])
def test_streams_answer_as_duckdb_does(testbed: Testbed, lineitems: Dataset, workload: str) -> None:
    answers = load_workload(workload).answers(lineitems, [])
    testbed.archive.put_answers(workload, lineitems.table, answers or {})
    record = run_trial(retail(workload, workload, streams=3), testbed)
    assert record.outcome == "completed", record.reason
    assert answers and record.evidence["driver"]["answer"]["sha256"] == answers["sha256"]
    assert record.samples == 3 and "Scan" in record.evidence["workload"]["plan"]


def test_a_bulk_load_brings_every_row_of_the_files(testbed: Testbed) -> None:
    workload = load_workload("data_load")
    made = retail("data_load", "load")
    data = workload.dataset(made.levels, SEED)
    workload.generate(data, testbed.engine)
    testbed.archive.put_answers("data_load", data.table, workload.answers(data, []) or {})
    record = run_trial(made, testbed)
    assert record.outcome == "completed", record.reason
    assert record.evidence["driver"]["answer"] == {"rows": ROWS, "checksum": order_lineitems.expected_checksum(data)}
    assert record.measurements["throughput_mb_per_s"] > 0
    assert not is_there(testbed.engine, data.table)


def test_a_rejected_row_fails_the_bulk_load_and_leaves_nothing(testbed: Testbed) -> None:
    workload = load_workload("data_load")
    made = retail("data_load", "rejected", rows=ROWS + 1)
    data = workload.dataset(made.levels, SEED)
    workload.generate(data, testbed.engine)
    (host,) = testbed.platform.hosts_with("etl")
    path = f"{testbed.fleet.work_dir(host)}/{load_files.directory(data)}"
    try:
        testbed.fleet.run_on(host, f"cd {quote(path)} && sed -i '5s/^[0-9]*|/not a number|/' part-11")
        record = run_trial(made, testbed)
    finally:
        testbed.fleet.run_on(host, f"rm -rf {quote(path)}")
    assert (record.outcome, record.measurements) == ("failed", {})
    assert "invalid input syntax for" in record.reason and "line 5" in record.reason, record.reason
    assert not is_there(testbed.engine, data.table)


@pytest.mark.parametrize("distributed_by", ["key", ""], ids=["spread", "whole_everywhere"])
def test_a_table_of_a_schema_is_as_any_other(testbed: Testbed, distributed_by: str) -> None:
    engine, table, index = testbed.engine, "contract_s.t", "contract_s.t_key"
    (host,) = testbed.platform.hosts_with("etl")
    folder = f"{testbed.fleet.work_dir(host)}/contract_files"
    engine.execute("DROP SCHEMA IF EXISTS contract_s CASCADE")
    try:
        engine.create_table(table, "key integer, word text", Storage(distributed_by), "contract")
        testbed.fleet.put(host, folder, {"a": "1|one\n2|\n", "b": "3|three\n"})
        how = engine.bulk_load(table, host, ["a", "b"])
        if how.create:
            engine.execute(how.create)
        before = f"{etl_files.link(folder)}\n{how.before}"
        load = psql_streams.job(
            psql_streams.Streams(how.streams, before=before, after=how.after),
            engine.endpoint(pooled=False),
        )
        etl_files.run(testbed.fleet, host, "contract_load", load)
        if how.drop:
            engine.execute(how.drop)
        engine.execute("CREATE INDEX t_key ON contract_s.t (key)")
        engine.settle(table)
        rows = engine.query("SELECT key, word FROM contract_s.t ORDER BY key")
        assert [tuple(row.values()) for row in rows] == [(1, "one"), (2, None), (3, "three")]
        assert engine.indexes(table) == [index] and engine.leaves([table]) == [table]
        evidence = caches.set_state("warm", engine, [table, index], page_cache=testbed.platform.page_cache)
        assert evidence["problem"] is None and evidence["total_bytes"] > 0, evidence
    finally:
        engine.execute("DROP SCHEMA contract_s CASCADE")
        testbed.fleet.run_on(host, f"rm -rf {quote(folder)}")


def test_partitions_of_a_table_of_a_schema_are_in_that_schema(engine: Engine) -> None:
    parts = tuple(Partition(f"y{year}", date(year, 1, 1), date(year + 1, 1, 1)) for year in (2009, 2010))
    engine.execute("DROP SCHEMA IF EXISTS contract_s CASCADE")
    try:
        storage = Storage("key", partitioned_by="day", partitions=parts)
        engine.create_table("contract_s.t", "key integer, day date", storage)
        leaves = [part.table("contract_s.t") for part in parts]
        assert engine.leaves(["contract_s.t"]) == leaves == ["contract_s.t_1_prt_y2009", "contract_s.t_1_prt_y2010"]
        engine.settle("contract_s.t")
        engine.warm(["contract_s.t"])
    finally:
        engine.execute("DROP SCHEMA contract_s CASCADE")


def is_there(engine: Engine, table: str) -> bool:
    return bool(engine.query(f"SELECT to_regclass('{table}') IS NOT NULL AS found")[0]["found"])


# Drivers.


@pytest.mark.long
def test_lookups_are_measured_direct_and_pooled_in_every_mode(testbed: Testbed, data: Dataset) -> None:
    for pooling in ("direct", "pgbouncer"):
        for mode in ("plain", "sql_prepare", "protocol_parse", "protocol_prepare"):
            name = f"{pooling}_{mode}"
            record = run_trial(trial(name, rows=data.rows, clients=3, pooling=pooling, statement=mode), testbed)
            expected = "not_applicable" if name == "pgbouncer_protocol_prepare" else "completed"
            assert record.outcome == expected, (name, record.reason)


def test_work_on_segments_is_counted(testbed: Testbed, data: Dataset) -> None:
    levels = {"rows": data.rows, "clients": 2, "lookups_per_client": 1000}
    plain = run_trial(trial("plain", **levels), testbed)
    extended = run_trial(trial("extended", statement="protocol_parse", **levels), testbed)
    assert (plain.outcome, extended.outcome) == ("completed", "completed")
    counted = [record.measurements.get("segment_transactions_per_transaction") for record in (plain, extended)]
    if "segment_transactions" in testbed.engine.counters():
        assert counted[0] == pytest.approx(1, abs=0.1), "direct dispatch: one segment, one transaction"
        assert counted[1] is not None and counted[1] > 2, "the extended protocol asks every segment"
    else:
        assert counted == [None, None]


def test_the_pooler_lets_in_and_goes(testbed: Testbed) -> None:
    endpoint = testbed.engine.endpoint(pooled=True)
    testbed.engine.start_pooler("transaction", 2)
    try:
        with psycopg.connect(
            host=endpoint.host, port=endpoint.port, user=endpoint.login, password=endpoint.password,
            dbname=endpoint.database,
        ) as pooled:  # fmt: skip
            assert pooled.execute("SELECT 1").fetchone() == (1,)
    finally:
        testbed.engine.stop_pooler()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(host=endpoint.host, port=endpoint.port, connect_timeout=2)
    host = testbed.platform.hosts_with("coordinator")[0]
    left = testbed.fleet.run_on(host, f"ls {testbed.fleet.work_dir(host)}/pgbouncer").output
    assert "users" not in left  # it holds the password
