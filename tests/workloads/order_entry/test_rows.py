"""Rows as DuckDB makes them of the same text: one warehouse, and the last of 32,000."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from clusterbench.workloads.generation import slices
from clusterbench.workloads.order_entry import rows, schema

duckdb = pytest.importorskip("duckdb")
SEED, FULL = 7, 32_000

Database = Any


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with duckdb.connect() as database:
        database.execute("SET integer_division = true")
        for name in ("customer", "orders"):
            ids = f"generate_series(1, {rows.count(name, 1)})"
            database.execute(f"CREATE TABLE {name} AS {rows.select(name, SEED, ids)}")
        yield database


def made(database: Database, name: str, ids: str, seed: int = SEED) -> list[tuple[Any, ...]]:
    return list(database.execute(rows.select(name, seed, ids)).fetchall())


@pytest.mark.parametrize("name", list(schema.tables()))
def test_columns_are_those_of_the_table_in_their_order(database: Database, name: str) -> None:
    found = database.execute(rows.select(name, SEED, "generate_series(1, 2)"))
    assert [column[0] for column in found.description] == list(schema.tables()[name].columns)


@pytest.mark.parametrize("name", list(schema.tables()))
def test_texts_and_numbers_fit_at_full_scale(database: Database, name: str) -> None:
    last = rows.count(name, FULL)
    found = made(database, name, f"generate_series({last - 99}, {last})", seed=2_147_483_647)
    kinds = list(schema.tables()[name].columns.values())
    for row in found:
        for value, kind in zip(row, kinds, strict=True):
            assert value is not None or "NOT NULL" not in kind
            if kind.startswith("integer") and value is not None:
                assert 0 <= value < 2**31
            if kind.startswith("character"):
                assert 0 < len(value) <= int(kind[kind.index("(") + 1 : kind.index(")")])
    warehouse = schema.tables()[name].distributed_by
    if warehouse:
        assert found[-1][list(schema.tables()[name].columns).index(warehouse)] == FULL


def test_units_together_have_every_number_once() -> None:
    for name in set(schema.tables()) - {"item"}:
        parts = [rows.numbers(name, first, last) for first, last in slices(3 * rows.DISTRICTS, 1, 7)]
        numbers = [number for first, last in parts for number in range(first, last + 1)]
        assert numbers == list(range(1, rows.count(name, 3) + 1)), name


def test_cardinalities_are_the_specification_s() -> None:
    expected = {"warehouse": 1, "district": 10, "customer": 30_000, "history": 30_000, "new_order": 9000}
    expected |= {"orders": 30_000, "item": 100_000, "stock": 100_000}
    assert {name: rows.count(name, 1) for name in expected} == expected
    assert rows.count("stock", FULL) == 3_200_000_000 and rows.count("item", FULL) == 100_000


def test_each_customer_of_a_district_has_one_order(database: Database) -> None:
    found = database.execute("SELECT o_d_id, count(DISTINCT o_c_id), min(o_c_id), max(o_c_id) FROM orders GROUP BY 1")
    assert sorted(found.fetchall()) == [(district, 3000, 1, 3000) for district in range(1, 11)]
    first = "SELECT o_c_id FROM orders WHERE o_d_id = {} ORDER BY o_id LIMIT 100"
    assert database.execute(first.format(1)).fetchall() != database.execute(first.format(2)).fetchall()


def test_orders_have_five_to_fifteen_lines_each_as_likely(database: Database) -> None:
    found = Counter(dict(database.execute("SELECT o_ol_cnt, count(*) FROM orders GROUP BY 1").fetchall()))
    assert sorted(found) == list(range(5, 16))
    assert min(found.values()) > 0.9 * 30_000 / 11 and max(found.values()) < 1.1 * 30_000 / 11


def test_lines_of_an_order_are_numbered_without_gaps(database: Database) -> None:
    lines = made(database, "order_line", "generate_series(1, 100)")
    by_order = Counter(line[0] for line in lines)
    expected = dict(database.execute("SELECT o_id, o_ol_cnt FROM orders WHERE o_d_id = 1 AND o_id <= 100").fetchall())
    assert by_order == expected
    assert {(line[0], line[3]) for line in lines} == {
        (order, number) for order, count in expected.items() for number in range(1, count + 1)
    }


def test_last_names_are_all_thousand_and_then_as_nurand_has_them(database: Database) -> None:
    first = database.execute("SELECT c_last FROM customer WHERE c_d_id = 3 AND c_id <= 1000 ORDER BY c_id").fetchall()
    names = [rows.SYLLABLES[n // 100] + rows.SYLLABLES[n // 10 % 10] + rows.SYLLABLES[n % 10] for n in range(1000)]
    assert [name for (name,) in first] == names
    others = database.execute("SELECT count(*) FROM customer WHERE c_id > 1000 GROUP BY c_last").fetchall()
    counts = sorted((count for (count,) in others), reverse=True)
    assert sum(counts[:100]) > 2 * sum(counts) / 10, "NURand: some are far more frequent"


def test_last_name_of_a_syllable_a_digit() -> None:
    assert rows.SYLLABLES[3] + rows.SYLLABLES[7] + rows.SYLLABLES[1] == "PRICALLYOUGHT", "clause 4.3.2.3's own example"


def test_another_seed_makes_other_rows_and_the_same_one_the_same(database: Database) -> None:
    for name in ("item", "stock", "orders", "customer", "district"):
        ids = "generate_series(1, 50)"
        assert made(database, name, ids) == made(database, name, ids) != made(database, name, ids, seed=8)


def test_slice_is_the_same_alone(database: Database) -> None:
    whole = made(database, "stock", "generate_series(1, 300)")
    assert sorted(whole)[200:] == sorted(made(database, "stock", "generate_series(201, 300)"))
