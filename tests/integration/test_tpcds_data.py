"""TPC-DS's rows in the lab's real PostgreSQL, by way of its ETL host, against DuckDB's; cut off, spoiled, refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any

import pytest

from clusterbench.base.connections import Connections
from clusterbench.base.errors import DatasetError, EngineError
from clusterbench.base.paths import project_root
from clusterbench.engines import Database, as_database, engine_class
from clusterbench.hosts.fleet import Fleet
from clusterbench.run.validation import validate
from clusterbench.spec.catalog import Catalog
from clusterbench.workloads.from_duckdb import files as load_files
from clusterbench.workloads.from_duckdb import loading, marks
from clusterbench.workloads.tpcds import data, files, schema

pytestmark = pytest.mark.lab
SCALE_FACTOR = 0.01
DATASET = data.dataset_of(SCALE_FACTOR, "heap")
SCHEMA = DATASET.table
DEALT = loading.dealt


@pytest.fixture
def empty_engine(connections: Connections) -> Iterator[Database]:
    platform = Catalog(project_root()).platform("lab_db1")
    with Fleet.of(platform, connections) as fleet:
        yield as_database(engine_class(platform)(platform, fleet, connections(str(platform.database))))


@pytest.fixture
def engine(empty_engine: Database) -> Database:
    data.generate(DATASET, empty_engine)
    return empty_engine


@pytest.fixture(scope="module")
def checksum() -> str:
    return str(data.checksum(DATASET))


def wrong(engine: Database, checksum: str) -> list[str]:
    """What the suites say is wrong with the data."""
    found: dict[str, Any] = data.inspect(DATASET, engine)
    tables = found.pop("tables")
    verdicts = [*validate("tpcds", [found | {"checksum_expected": checksum}]), *validate("tpcds_tables", tables)]
    return [f"{verdict.says}: {verdict.found}" for verdict in verdicts if not verdict.passed]


def states(engine: Database) -> dict[str, str]:
    return {name: mark.state for name, mark in marks.read(DATASET, schema.tables(), engine).items()}


def on_etl(engine: Database, script: str) -> str:
    folder = f"{engine.fleet.work_dir('etl')}/{files.folder(SCALE_FACTOR)}"
    return engine.fleet.run_on("etl", f"cd {quote(folder)}\n{script}").output


def test_every_row_is_as_duckdb_makes_it(engine: Database, checksum: str) -> None:
    assert wrong(engine, checksum) == []
    assert data.is_generated(DATASET, engine)
    found: dict[str, Any] = data.inspect(DATASET, engine)
    assert {row["table"]: row["row_count"] for row in found["tables"]}["store_sales"] == 28810


def test_tables_have_their_keys_indexes_and_statistics(engine: Database) -> None:
    with pytest.raises(EngineError, match="duplicate key value violates unique constraint"):
        engine.execute(f"INSERT INTO {SCHEMA}.store_sales SELECT * FROM {SCHEMA}.store_sales LIMIT 1")
    assert engine.indexes(f"{SCHEMA}.inventory") == [f"{SCHEMA}.inventory_inv_item_sk", f"{SCHEMA}.inventory_pkey"]
    seen = engine.query(f"SELECT count(DISTINCT tablename) AS n FROM pg_stats WHERE schemaname = '{SCHEMA}'")
    assert seen == [{"n": 24}]
    residency = engine.residency(data.relations(DATASET))
    assert residency is not None and 40e6 < residency.total_bytes < DATASET.bytes_expected


def test_rows_that_are_there_are_not_made_or_loaded_again(engine: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_files, "generate", lambda *_: pytest.fail("made again"))
    engine.execute(f"COMMENT ON TABLE {SCHEMA}.item IS '{marked(engine, 'item', 'loaded')}'")
    assert not data.is_generated(DATASET, engine)
    data.generate(DATASET, engine)
    assert set(states(engine).values()) == {"complete"}


def marked(engine: Database, table: str, state: Any) -> str:
    found = marks.read(DATASET, schema.tables(), engine)[table]
    return marks.Mark(found.rows, found.checksum, state).comment(DATASET)


@pytest.mark.long
def test_a_load_whose_psql_is_killed_goes_on_with_what_is_missing(
    empty_engine: Database, checksum: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.drop(DATASET, empty_engine)

    def dying(statements: Sequence[tuple[int, str]], sessions: int) -> list[list[str]]:
        hands = DEALT(statements, sessions)
        if any('"inventory"' in text for _, text in statements):
            hands[0].insert(1, r"\! kill -KILL $PPID")
        return hands

    loaded: list[str] = []
    load = loading.load

    def noting(made: Any, *others: Any) -> None:
        loaded.extend(made)
        load(made, *others)

    monkeypatch.setattr(loading, "LOAD_AT_ONCE_BYTES", 3_000_000)
    monkeypatch.setattr(loading, "load", noting)
    with monkeypatch.context() as patched:
        patched.setattr(loading, "dealt", dying)
        with pytest.raises(
            DatasetError, match=f"^{SCHEMA}: none of these could be loaded: .*inventory.*: host 'etl': "
        ):
            data.generate(DATASET, empty_engine)
    found = states(empty_engine)
    begun = [name for name, state in found.items() if state == "begun"]
    assert "inventory" in begun and found["store_sales"] == "loaded"
    assert not data.is_generated(DATASET, empty_engine)
    assert any(each.startswith("All 24 tables are there") for each in wrong(empty_engine, checksum))
    loaded.clear()
    data.generate(DATASET, empty_engine)
    assert set(loaded) == {name for name in schema.tables() if found.get(name) != "loaded"}
    assert wrong(empty_engine, checksum) == []


@pytest.mark.long
def test_a_rejected_row_is_told_and_its_file_made_anew(
    engine: Database, checksum: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is spoiled when it has been looked at; the next try finds it. So it does with the generator."""
    engine.execute(f"DROP TABLE {SCHEMA}.item")
    facts = on_etl(engine, "cat item-00.facts")

    def spoiling(statements: Sequence[tuple[int, str]], sessions: int) -> list[list[str]]:
        on_etl(engine, "sed -i '5s/^[0-9]*|/not a number|/' item-00; echo >>generator/duckdb")
        return DEALT(statements, sessions)

    with monkeypatch.context() as patched:
        patched.setattr(loading, "dealt", spoiling)
        with pytest.raises(DatasetError) as caught:
            data.generate(DATASET, engine)
    assert 'invalid input syntax for type integer: "not a number"' in str(caught.value), caught.value
    assert "COPY item, line 5, column i_item_sk" in str(caught.value)
    assert states(engine)["item"] == "begun"
    data.generate(DATASET, engine)
    assert on_etl(engine, "cat item-00.facts") == facts
    assert wrong(engine, checksum) == []
    left = set(on_etl(engine, "ls").split()) - {"generator", "made", "parts"}
    assert {name.removesuffix(".facts")[:-3] for name in left} == set(schema.tables()), "and nothing else"


@pytest.mark.parametrize(
    ("table", "corruption", "said"),
    [
        (
            "web_page",
            "UPDATE {t} SET wp_url = 'http://www.bar.com'",
            "Every table has the rows that the generator made: their checksum: 23 of 24 as expected; not so: ",
        ),
        (
            "reason",
            "DELETE FROM {t}",
            "Every table has as many rows as the generator made: 23 of 24 as expected; not so: ",
        ),
        (
            "item",
            "DELETE FROM {t} WHERE i_item_sk = 17",
            "Every sale, return and stock is of a date and of an item that are there: 17 of 24 as expected; not so: ",
        ),
    ],
    ids=["changed", "lost", "orphans"],
)
def test_a_corrupted_row_is_found(engine: Database, checksum: str, table: str, corruption: str, said: str) -> None:
    engine.execute(corruption.format(t=f"{SCHEMA}.{table}"))
    try:
        found = wrong(engine, checksum)
    finally:
        engine.execute(f"DROP TABLE {SCHEMA}.{table}")
        data.generate(DATASET, engine)
    assert any(each.startswith(said) for each in found), found
    assert any(each.startswith("The checksum is that of the same rows made by DuckDB") for each in found), found


def test_a_table_that_is_not_ours_is_left_alone(empty_engine: Database) -> None:
    theirs = data.dataset_of(0.02, "heap")
    empty_engine.execute(f"CREATE SCHEMA {theirs.table} CREATE TABLE item (mine integer)")
    for refused in (data.generate, data.inspect, data.drop, data.is_generated):
        with pytest.raises(DatasetError) as caught:
            refused(theirs, empty_engine)
        assert str(caught.value) == (
            "table 'tpcds_sf0_02.item' is there and was not made by clusterbench; move it away or drop it"
        )
    empty_engine.execute(f"DROP SCHEMA {theirs.table} CASCADE")
