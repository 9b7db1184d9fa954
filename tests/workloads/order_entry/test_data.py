"""One warehouse of Order-Entry in the lab's real PostgreSQL, against DuckDB's; used, cut off, spoiled, refused."""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from clusterbench.base.datasets import Dataset
from clusterbench.base.errors import DatasetError, EngineError
from clusterbench.engines import Database
from clusterbench.engines.postgres.engine import Postgres
from clusterbench.run.validation import validate
from clusterbench.workloads.order_entry import data, inspection, marks, rows, schema

DATASET = data.dataset_of(1, 7)
SCHEMA = DATASET.table
CHANGING = [table.name for table in schema.changing()]
INSERT = data._insert


@pytest.fixture(scope="module")
def checksum() -> str:
    return str(data.checksum(DATASET))


@pytest.fixture
def inserted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The slices that are loaded."""
    seen: list[tuple[int, int]] = []

    def noting(dataset: Dataset, names: Collection[str], first: int, last: int, engine: Database) -> str:
        seen.append((first, last))
        return INSERT(dataset, names, first, last, engine)

    monkeypatch.setattr(data, "_insert", noting)
    return seen


def wrong(engine: Postgres, checksum: str) -> list[str]:
    """What the suites say is wrong with the data."""
    found: dict[str, Any] = data.inspect(DATASET, engine)
    tables = found.pop("tables")
    verdicts = [
        *validate("order_entry", [found | {"checksum_expected": checksum}]),
        *validate("order_entry_tables", tables),
    ]
    return [f"{verdict.says}: {verdict.found}" for verdict in verdicts if not verdict.passed]


def states(engine: Postgres) -> dict[str, Any]:
    return dict(marks.read(DATASET, engine))


def slices_noted(engine: Postgres) -> list[tuple[int, int]]:
    found = engine.query(f"SELECT first, last FROM clusterbench_slices WHERE table_name = '{SCHEMA}'")
    return [(row["first"], row["last"]) for row in found]


# As made.


@pytest.mark.lab
def test_every_row_is_as_duckdb_makes_it(engine: Postgres, checksum: str) -> None:
    assert wrong(engine, checksum) == []
    assert data.is_generated(DATASET, engine)


def options_of(engine: Postgres) -> dict[str, set[str]]:
    found = engine.query(f"SELECT relname, reloptions FROM pg_class WHERE relnamespace = '{SCHEMA}'::regnamespace")
    return {row["relname"]: set(row["reloptions"] or ()) for row in found}


@pytest.mark.lab
def test_tables_have_their_keys_indexes_and_statistics(engine: Postgres) -> None:
    assert engine.indexes(f"{SCHEMA}.customer") == [f"{SCHEMA}.customer_name", f"{SCHEMA}.customer_pkey"]
    with pytest.raises(EngineError, match="duplicate key value violates unique constraint"):
        engine.execute(f"INSERT INTO {SCHEMA}.stock SELECT * FROM {SCHEMA}.stock LIMIT 1")
    seen = engine.query(f"SELECT count(DISTINCT tablename) AS n FROM pg_stats WHERE schemaname = '{SCHEMA}'")
    assert seen == [{"n": 9}]
    options = options_of(engine)
    assert options["district"] == {"fillfactor=50", "autovacuum_enabled=false"}
    assert all("autovacuum_enabled=false" in options[name] for name in schema.tables())


@pytest.mark.lab
def test_tables_are_tidied_up_before_a_trial_or_left_to_autovacuum(engine: Postgres) -> None:
    dead = f"SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = '{SCHEMA}.district'::regclass"
    data.tidy(DATASET, engine, autovacuum=True)
    options = options_of(engine)
    assert all("autovacuum_enabled=true" in options[table.name] for table in schema.changing())
    assert "autovacuum_enabled=false" in options["item"]
    engine.execute(f"UPDATE {SCHEMA}.district SET d_name = d_name")
    deadline = time.monotonic() + 30
    while not engine.query(dead)[0]["n_dead_tup"]:
        assert time.monotonic() < deadline, "the server counts what an update leaves"
        time.sleep(0.1)
    data.tidy(DATASET, engine, autovacuum=False)
    assert engine.query(dead) == [{"n_dead_tup": 0}]
    assert "autovacuum_enabled=false" in options_of(engine)["district"]


@pytest.mark.lab
def test_bytes_are_about_as_many_as_expected(engine: Postgres) -> None:
    residency = engine.residency(data.relations(DATASET))
    assert residency is not None
    assert 0.8 * DATASET.bytes_expected < residency.total_bytes < DATASET.bytes_expected


@pytest.mark.lab
def test_rows_that_are_there_are_not_made_again(engine: Postgres, inserted: list[tuple[int, int]]) -> None:
    data.generate(DATASET, engine)
    assert inserted == []


# Used.


@pytest.mark.lab
def test_trial_marks_the_data_as_used_and_goes_on_with_it_while_orders_are_few(
    engine: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    monkeypatch.setattr(data, "generate", lambda dataset, _: made.append(dataset.table))
    marks.write(DATASET, CHANGING, "complete", engine)
    assert data.make_ready(DATASET, engine, 0) == {"orders_grown_percent": 0.0, "made_anew": False}
    assert {name: state for name, state in states(engine).items() if state != "used"} == {"item": "complete"}
    assert not data.is_generated(DATASET, engine)
    engine.execute(f"UPDATE {SCHEMA}.district SET d_next_o_id = d_next_o_id + 300 WHERE d_id <= 5")
    assert data.make_ready(DATASET, engine, 10) == {"orders_grown_percent": 5.0, "made_anew": False}
    assert made == []
    assert data.make_ready(DATASET, engine, 4.9) == {"orders_grown_percent": 5.0, "made_anew": True}
    engine.execute(f"UPDATE {SCHEMA}.district SET d_next_o_id = 3001")
    assert data.make_ready(DATASET, engine, 10) == {"orders_grown_percent": 0.0, "made_anew": False}
    assert data.make_ready(DATASET, engine, 0) == {"orders_grown_percent": 0.0, "made_anew": True}
    assert made == [SCHEMA] * 2


@pytest.mark.long
@pytest.mark.lab
def test_used_and_spoiled_data_is_told_and_made_anew_by_two_workers_where_a_try_was_cut_off(
    engine: Postgres, checksum: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil = (
        "UPDATE stock SET s_quantity = 9 WHERE s_i_id = 1; DELETE FROM history WHERE h_c_id = 1 AND h_d_id = 1; "
        "UPDATE customer SET c_credit = 'BC' WHERE c_d_id = 1"
    )
    marks.write(DATASET, CHANGING, "used", engine)
    engine.execute(f"SET search_path = {SCHEMA}; {spoil}")
    told = wrong(engine, checksum)
    for words in (
        "no trial has changed them: 0 of 1 as expected",
        "hold in every warehouse: 0 of 1 as expected; not so: TPC-C 5.11, clause 3.3.2: condition 8 (W_YTD",
        "No row violates a consistency condition: 0 of 1 as expected; not so: 3",
        "The checksum is that of the same rows made by DuckDB",
        "Every table has as many rows as its warehouses ask for, and as many order lines as the orders say: 8 of 9",
        "Every value is in its range: 8 of 9 as expected; not so: 1",
        "A tenth of the customers has bad credit",
    ):
        assert any(words in one for one in told), (words, told)

    def dying(dataset: Dataset, names: Collection[str], first: int, last: int, engine: Database) -> str:
        return INSERT(dataset, names, first, last, engine) + ("; SELECT 1 / 0" if last == 10 else "")

    with monkeypatch.context() as patched:
        patched.setattr(data, "_insert", dying)
        with pytest.raises(EngineError, match="division by zero"):
            data.generate(DATASET, engine)
    assert {states(engine)[name] for name in CHANGING} == {"begun"}
    assert slices_noted(engine) == [(1, 5)]
    assert not data.is_generated(DATASET, engine)
    with ThreadPoolExecutor(2) as workers:  # one of them is believed dead
        list(workers.map(lambda _: data.generate(DATASET, engine), range(2)))
    assert data.is_generated(DATASET, engine)
    assert wrong(engine, checksum) == []


@pytest.mark.lab
def test_keys_are_made_again_after_a_try_that_died_among_them(engine: Postgres) -> None:
    data.generate(DATASET, engine)
    marks.write(DATASET, ["orders", "district"], "begun", engine)
    marks.write(DATASET, ["customer"], "keyed", engine)
    engine.execute(f"DROP INDEX {SCHEMA}.orders_customer")
    before = engine.query(f"SELECT count(*) AS n FROM {SCHEMA}.orders")
    data.generate(DATASET, engine)
    assert data.is_generated(DATASET, engine)
    assert engine.indexes(f"{SCHEMA}.orders") == [f"{SCHEMA}.orders_customer", f"{SCHEMA}.orders_pkey"]
    assert engine.query(f"SELECT count(*) AS n FROM {SCHEMA}.orders") == before == [{"n": 30_000}]


# Refused.


@pytest.mark.lab
def test_table_of_somebody_else_is_refused_and_stays(engine: Postgres) -> None:
    engine.execute("CREATE SCHEMA order_entry_w3; CREATE TABLE order_entry_w3.district (theirs integer)")
    try:
        for act in (data.generate, data.is_generated, lambda dataset, on: data.make_ready(dataset, on, 0)):
            with pytest.raises(
                DatasetError,
                match=r"^table 'order_entry_w3\.district' is there and was not made by clusterbench; move it",
            ):
                act(data.dataset_of(3, 7), engine)
        assert engine.query("SELECT theirs FROM order_entry_w3.district") == []
    finally:
        engine.execute("DROP SCHEMA order_entry_w3 CASCADE")


@pytest.mark.lab
def test_other_seed_s_rows_are_not_these(engine: Postgres) -> None:
    assert not data.is_generated(data.dataset_of(1, 8), engine)
    assert set(marks.read(data.dataset_of(1, 8), engine).values()) == {None}


# Without a database.


def test_dataset_is_known_by_its_schema() -> None:
    dataset = data.dataset_of(32_000, 7)
    assert (dataset.name, dataset.table, data.warehouses_of(dataset)) == ("order_entry", "order_entry_w32000", 32_000)
    assert dataset.bytes_expected == pytest.approx(3.8e12, rel=0.01), "the paper's"
    assert dataset.rows == pytest.approx(16e9, rel=0.01)
    assert re.fullmatch("[0-9a-f]{8}", dataset.version)
    assert len(data.relations(dataset)) == 9 + 8 + 2


def test_other_schema_is_refused() -> None:
    with pytest.raises(
        DatasetError, match=r"^'tpcds_sf1' is not a schema of Order-Entry; their names are like order_entry_w10$"
    ):
        data.warehouses_of(Dataset("tpcds", "tpcds_sf1", 1, 1, 1, DATASET.storage))


def test_checksum_of_a_large_dataset_is_left_to_earlier_runs() -> None:
    assert data.checksum(data.dataset_of(data.CHECKED_BY_DUCKDB_WAREHOUSES_MAX + 1, 7)) is None


def test_no_statement_looks_at_all_warehouses_of_a_large_dataset() -> None:
    assert inspection.parts(10, 2) == [(1, 5), (6, 10)]
    assert inspection.parts(1, 72) == [(1, 1)]
    parts = inspection.parts(32_000, 72)
    assert (len(parts), parts[-1]) == (160, (31_801, 32_000))


def test_slice_has_rows_of_all_tables_that_change() -> None:
    assert sum(rows.count(name, 1) for name in CHANGING) + 9 * 30_000 == 10 * rows.UNIT_ROWS + 1
