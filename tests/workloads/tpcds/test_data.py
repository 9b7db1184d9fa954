"""TPC-DS's tables as they are declared, beside those that the generator makes; and what is planned of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from clusterbench.base.datasets import Dataset
from clusterbench.base.errors import DatasetError
from clusterbench.run.validation import validate
from clusterbench.workloads.from_duckdb import files as load_files
from clusterbench.workloads.from_duckdb import loading, marks
from clusterbench.workloads.from_duckdb.files import Made, Part
from clusterbench.workloads.from_duckdb.programs import extension_file
from clusterbench.workloads.tpcds import data, files, schema


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    """The generator's tables, without rows."""
    with duckdb.connect() as connection:
        connection.load_extension(str(extension_file("tpcds")))
        connection.execute("CALL dsdgen(sf = 0)")
        yield connection


# Tables.


def test_tables_and_columns_are_those_that_the_generator_makes(database: duckdb.DuckDBPyConnection) -> None:
    seen: dict[str, list[str]] = {}
    for table, column in database.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index"
    ).fetchall():
        seen.setdefault(table, []).append(column)
    assert {name: list(table.columns) for name, table in schema.tables().items()} == seen
    assert sum(map(len, seen.values())) == 425  # as the specification has them


def test_keys_and_references_are_columns() -> None:
    for table in schema.tables().values():
        assert {*table.key, *table.indexes, *table.references, table.distributed_by or table.key[0]} <= set(
            table.columns
        )
        assert all(table.columns[column].endswith("NOT NULL") for column in table.key)
        assert not table.distributed_by or table.distributed_by in table.key, (
            "as a unique index of Greenplum must have it"
        )
        assert all(len(schema.tables()[other].key) == 1 for other in table.references.values())


def test_heap_has_keys_and_indexes_and_append_optimised_tables_have_none() -> None:
    sales = schema.tables()["store_sales"]
    assert sales.keys("tpcds_sf1", "heap") == [
        'ALTER TABLE "tpcds_sf1"."store_sales" ADD CONSTRAINT store_sales_pkey '
        'PRIMARY KEY ("ss_item_sk", "ss_ticket_number")',
        'CREATE INDEX store_sales_ss_sold_date_sk ON "tpcds_sf1"."store_sales" ("ss_sold_date_sk")',
    ]
    assert sales.keys("tpcds_sf1", "append_column") == []
    assert len(data.relations(data.dataset_of(1, "heap"))) == 24 + 24 + 7
    assert len(data.relations(data.dataset_of(1, "append_column"))) == 24
    assert data.dataset_of(1, "append_column").storage.compression == "zlib"
    assert data.dataset_of(1, "heap").storage.compression == "none"


@pytest.mark.parametrize(
    ("scale_factor", "storage", "name"),
    [
        (0.01, "heap", "tpcds_sf0_01"),
        (1, "heap", "tpcds_sf1"),
        (1.0, "append_column", "tpcds_sf1_append_column"),
        (0.25, "append_row", "tpcds_sf0_25_append_row"),
        (1000, "heap", "tpcds_sf1000"),
        (100_000, "heap", "tpcds_sf100000"),
    ],
)
def test_a_schema_s_name_says_scale_and_storage(scale_factor: float, storage: str, name: str) -> None:
    made = data.dataset_of(scale_factor, storage)
    assert made.table == name and data.scale_factor_of(made) == scale_factor
    assert data.tables(made)[0] == f"{name}.call_center" and len(data.tables(made)) == 24


@pytest.mark.parametrize("storage", ["heap", "append_column"])
def test_data_of_the_two_generators_never_share_a_name_or_a_version(storage: str) -> None:
    duckdb_s, dsdgen_s = (data.dataset_of(0.1, storage, generator=generator) for generator in data.GENERATORS)
    assert (duckdb_s.table, dsdgen_s.table) == (
        f"tpcds_sf0_1{storage.replace('heap', '') and '_' + storage}",
        f"tpcds_sf0_1_dsdgen{storage.replace('heap', '') and '_' + storage}",
    )
    assert duckdb_s.version != dsdgen_s.version
    assert [data.generator_of(one) for one in (duckdb_s, dsdgen_s)] == ["duckdb", "dsdgen"]
    assert data.scale_factor_of(dsdgen_s) == 0.1


def test_files_are_the_same_for_every_storage() -> None:
    assert files.folder(1) == files.folder(1.0) and files.folder(1).startswith("files/tpcds_sf1-")


# Files and groups.


def test_load_files_tile_every_table() -> None:
    counts = {"a": 0, "b": 1, "c": 250_000, "d": 250_001, "e": 5_000_003, "f": 287_997_024}
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE made (table_name varchar, row_count bigint)")
        connection.executemany("INSERT INTO made VALUES (?, ?)", list(counts.items()))
        parts = connection.execute(load_files.parts_sql()).fetchall()
    for table, rows in counts.items():
        here = sorted(part for part in parts if part[1] == table)
        assert [part[0] for part in here] == [f"{table}-{number:02d}" for number in range(len(here))]
        assert [part[2] for part in here] == [0, *(part[3] + 1 for part in here[:-1])]
        assert here[-1][3] == rows - 1
        assert len(here) == max(1, min(load_files.PARTS_MAX, -(-rows // load_files.ROWS_OF_PART))), table


def made(size: int) -> Made:
    return Made(1, 7, (Part("x-00", 1, size, ""),))


def test_large_tables_are_loaded_alone_and_small_ones_together() -> None:
    sizes = {"a": 10, "b": 3_000_000_000, "c": 600_000_000, "d": 600_000_000, "e": 20}
    found = loading.groups({name: made(size) for name, size in sizes.items()})
    assert found == [["b"], ["c", "d"], ["e", "a"]]


def test_sessions_get_about_as_much_to_do() -> None:
    statements = [(size, f"s{size}") for size in (1, 2, 3, 4, 9, 10)]
    assert loading.dealt(statements, 2) == [["s10", "s3", "s2"], ["s9", "s4", "s1"]]
    assert loading.dealt(statements[:1], 8) == [["s1"]]


# Marks.


DATASET = data.dataset_of(0.01, "heap")


class Commented:
    """A database that only tells its comments."""

    def __init__(self, comment: str | None) -> None:
        self.comment = comment

    def query(self, query: str) -> list[dict[str, Any]]:
        assert f"nspname = '{DATASET.table}'" in query
        return [{"table_name": "item", "mark": self.comment}]


def read(comment: str | None) -> marks.Mark:
    engine: Any = Commented(comment)
    return marks.read(DATASET, schema.tables(), engine)["item"]


@pytest.mark.parametrize("state", ["begun", "loaded", "complete"])
def test_a_mark_is_read_as_it_was_written(state: Any) -> None:
    mark = marks.Mark(180, 10**21, state)
    assert read(mark.comment(DATASET)) == mark


def test_a_table_of_another_version_is_begun_again() -> None:
    other = Dataset("tpcds", DATASET.table, 1, 1, 1, DATASET.storage, version="older")
    assert read(marks.Mark(180, 7, "complete").comment(other)).state == "begun"
    assert read("clusterbench: something else").state == "begun"


@pytest.mark.parametrize("comment", [None, "", "my table"])
def test_a_table_that_is_not_ours_is_refused(comment: str | None) -> None:
    with pytest.raises(DatasetError, match=r"table .tpcds_sf0_01\.item. is there and was not made by clusterbench"):
        read(comment)


# Suites.


def whole(**changed: Any) -> list[dict[str, Any]]:
    return [{"tables_complete": 24, "tables_expected": 24, "checksum": "7", "checksum_expected": "7"} | changed]


def of_tables(**changed: Any) -> list[dict[str, Any]]:
    good = {"table": "item", "row_count": 180, "rows_made": 180, "checksum": "item 7", "checksum_made": "item 7"}
    good |= {"orphans": 0, "row_skew": 0.1, "row_skew_max": 0.1}  # type: ignore[dict-item]
    return [good, good | changed]


@pytest.mark.parametrize(
    ("suite", "rows", "says"),
    [
        ("tpcds", whole(), []),
        ("tpcds", whole(tables_complete=23), ["All 24 tables are there, with their keys and statistics"]),
        (
            "tpcds",
            whole(checksum="8"),
            ["The checksum is that of the same rows made by DuckDB, or of an earlier valid run"],
        ),
        ("tpcds_tables", of_tables(), []),
        ("tpcds_tables", of_tables(row_count=179), ["Every table has as many rows as the generator made"]),
        (
            "tpcds_tables",
            of_tables(checksum="item 8"),
            ["Every table has the rows that the generator made: their checksum"],
        ),
        (
            "tpcds_tables",
            of_tables(orphans=1),
            ["Every sale, return and stock is of a date and of an item that are there"],
        ),
        (
            "tpcds_tables",
            of_tables(row_skew=0.2),
            ["The rows of every large table are spread evenly over the segments"],
        ),
    ],
)
def test_each_wrong_fact_fails_its_expectation_alone(suite: str, rows: list[dict[str, Any]], says: list[str]) -> None:
    assert [verdict.says for verdict in validate(suite, rows) if not verdict.passed] == says
