"""From statements to a folder: constants become parameters of the columns that they are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import yaml

from clusterbench.workloads.declared.logged import of_log
from clusterbench.workloads.declared.model import WorkloadFile
from clusterbench.workloads.declared.written import Columns, Counted, experiment, is_usable, tables_in, workload

COLUMNS = {
    "sales.orders": {"id": "integer", "customer_id": "integer"},
    "customers": {"id": "integer", "region": "text"},
}
COUNTED = [
    Counted(
        "SELECT o.id FROM sales.orders o JOIN customers c ON c.id = o.customer_id "
        "WHERE region = $1 AND o.id > $2 LIMIT $3",
        50,
        500.0,
    ),
    Counted("SELECT * FROM customers WHERE id = $1 AND lower(region) LIKE $2", 100, 100.0),
    Counted("SELECT count(*) FROM customers WHERE f($1)", 10, 1.0),
]


def test_constants_draw_from_the_columns_that_they_are_compared_with() -> None:
    made = workload("shop", 'Shop: "ours"', COUNTED, COLUMNS, "lab_db1")
    said = WorkloadFile.model_validate(yaml.safe_load(made.files["workload.yaml"]))
    assert said.title == 'Shop: "ours"' and said.driven_by == "clients"
    assert [table.existing for table in said.tables.values()] == ["sales.orders", "customers"]
    first = said.statements["s01"].parameters
    assert (first["s01_p1"].query, first["s01_p2"].query) == (
        "values_of_customers_region.sql",
        "values_of_sales_orders_id.sql",
    )
    assert first["s01_p3"].choice == [100]
    assert said.statements["s02"].weight == 10 and said.statements["s03"].weight == 1
    assert "WHERE region = ${s01_p1} AND o.id > ${s01_p2}" in made.files["s01.sql"]
    assert (
        'SELECT DISTINCT "region" FROM (SELECT "region" FROM "customers"'
        in made.files["values_of_customers_region.sql"]
    )
    assert made.to_fill_in == ["s02_p2: nobody knows what it stands for", "s03_p1: nobody knows what it stands for"]
    assert made.files["workload.yaml"].count("{fill_in: ") == 2


def test_the_select_of_a_column_s_values_is_sql() -> None:
    """DuckDB has PostgreSQL's reserved words."""
    made = workload("shop", "Shop", COUNTED, COLUMNS, "lab_db1")
    with duckdb.connect() as database:
        database.execute("CREATE TABLE customers AS SELECT 'r' || id % 3 AS region FROM range(9) AS ids(id)")
        found = database.execute(made.files["values_of_customers_region.sql"]).fetchall()
    assert sorted(found) == [("r0",), ("r1",), ("r2",)]


def test_long_statements_are_streams() -> None:
    made = workload("shop", "Shop", [Counted("SELECT count(*) FROM customers", 2, 5000.0)], COLUMNS, "lab_db1")
    assert "driven_by: streams" in made.files["workload.yaml"]
    said = yaml.safe_load(experiment("shop", "Shop", "lab_db1", by_streams=True))
    levels = said["sweeps"]["concurrency"]["factors"]["streams"]
    assert levels == {"smoke": [1, 2, 4], "laptop": [1, 4, 16], "full": [1, 16, 64]}


def test_only_what_reads_tables_is_taken() -> None:
    for text in ("UPDATE t SET a = 1", "SELECT 1", "SELECT FROM WHERE (", "SELECT \\! ls FROM t", "BEGIN"):
        assert not is_usable(Counted(text, 1)), text
    assert is_usable(Counted("WITH a AS (SELECT * FROM t) SELECT * FROM a", 1))
    with_one = "WITH a AS (SELECT * FROM t) SELECT * FROM a JOIN generate_series(1, 2) g ON true"
    assert tables_in([Counted(with_one, 1)]) == ["t"]


HOTEL = {
    "hotel.guests": {"id": "bigint", "lastName": "text", "profile": "jsonb", "state": "hotel.state"},
    "Rooms": {"id": "uuid", "at": "date"},
}


def drawn(text: str, columns: Columns = HOTEL) -> tuple[str, dict[str, str]]:
    """The statement and its parameters, without their own names."""
    made = workload("x", "X", [Counted(text, 1)], columns, "lab_db1")
    said = yaml.safe_load(made.files["workload.yaml"])["statements"]["s01"]
    return made.files["s01.sql"].strip(), {name.removeprefix("s01_"): one for name, one in said["parameters"].items()}


def test_what_applications_ask_is_drawn_or_is_to_be_filled_in() -> None:
    """Each was met by somebody who wrote a workload of their own tables."""
    query = {"query": "values_of_hotel_guests_id.sql"}
    assert drawn("SELECT 1 FROM hotel.guests WHERE id IN ($1,$2)")[1] == {"p1": query, "p2": query}
    text, said = drawn("SELECT 1 FROM hotel.guests WHERE id = ANY($1)")
    assert text.endswith("id = ANY(ARRAY[${s01_p1_1}, ${s01_p1_2}, ${s01_p1_3}])") and said == {
        "p1": {**query, "count": 3}
    }
    assert drawn('SELECT 1 FROM hotel.guests g WHERE g."lastName" = $1')[1] == {
        "p1": {"query": "values_of_hotel_guests_lastname.sql"}
    }
    assert drawn('SELECT 1 FROM "Rooms" r WHERE r.ID = $1::uuid')[1] == {"p1": {"query": "values_of_rooms_id.sql"}}
    text, said = drawn("SELECT 1 FROM hotel.guests WHERE now() - interval $1 < now() AND profile->>$2 = $3")
    assert "now() - CAST(${s01_p1} AS interval)" in text and [list(one) for one in said.values()] == [["fill_in"]] * 3
    assert list(drawn('SELECT 1 FROM hotel.guests WHERE "lastName" LIKE $1')[1]["p1"]) == ["fill_in"]
    assert drawn("SELECT 1 FROM hotel.guests LIMIT $1 OFFSET $2")[1] == {"p1": {"choice": [100]}, "p2": {"choice": [0]}}
    assert drawn("SELECT 1 FROM hotel.guests WHERE f($1) AND id >= $1 AND id < $1 + 5")[1] == {"p1": query}
    assert tables_in([Counted('SELECT 1 FROM HOTEL.Guests, "Rooms"', 1)]) == ["hotel.guests", "Rooms"]


def test_what_a_log_had_has_the_type_of_its_column() -> None:
    """A new user's: a char(8) that was compared as text was read without its index."""
    columns = {"m": {"card": "character", "id": "integer", "due": "date"}}

    def first(log: str) -> Mapping[str, Any]:
        made = workload("x", "X", of_log(log), columns, "lab_db1")
        return dict(yaml.safe_load(made.files["workload.yaml"])["statements"]["s01"]["parameters"]["s01_p1"])

    assert first("SELECT 1 FROM m WHERE card = '01'; SELECT 1 FROM m WHERE card = '02'") == {
        "choice": ["01", "02"],
        "type": "bpchar",
    }
    assert first("SELECT 1 FROM m WHERE id = ANY('{1,2}'); SELECT 1 FROM m WHERE id = ANY('{3}')") == {
        "choice": ["{1,2}", "{3}"],
        "type": "integer[]",
    }
    dates = of_log("SELECT 1 FROM m WHERE due < date '2026-01-01'; SELECT 1 FROM m WHERE due < date '2026-02-01'")
    assert [is_usable(one) for one in dates] == [True] and dates[0].observed == {1: ["2026-01-01", "2026-02-01"]}


def test_a_select_of_values_names_column_and_table_as_the_server_has_them() -> None:
    made = workload("x", "X", [Counted('SELECT 1 FROM "Rooms" WHERE at = $1', 1)], HOTEL, "lab_db1")
    assert 'SELECT DISTINCT "at" FROM (SELECT "at" FROM "Rooms" ' in made.files["values_of_rooms_at.sql"]


def test_a_log_has_what_constants_were() -> None:
    log = """
        SET search_path TO hotel;
        PREPARE one (bigint, text) AS SELECT 1 FROM hotel.guests WHERE id = $1 AND f($2, 'x');
        EXECUTE one(7, 'it''s, (a)'); EXECUTE one(8, g('b', 2)); DEALLOCATE one;
        SELECT 1 FROM hotel.guests WHERE state = 'new' AND id < 10 ORDER BY 1;
        SELECT 1 FROM hotel.guests WHERE state = 'old' AND id < 10 ORDER BY 1;
        SELECT 1 FROM hotel.guests WHERE state = 'old' AND id < 10 ORDER BY 1;
        BEGIN; SELECT 2.50 FROM t; COMMIT
    """
    first, second, third, last = of_log(log)
    assert (first.text, second.text) == (
        "SELECT 1 FROM hotel.guests WHERE id = 7 AND f('it''s, (a)', 'x')",
        "SELECT 1 FROM hotel.guests WHERE id = 8 AND f(g('b', 2), 'x')",
    )
    assert third == Counted(
        "SELECT 1 FROM hotel.guests WHERE state = $1 AND id < 10 ORDER BY 1", 3, observed={1: ["new", "old"]}
    )
    assert last == Counted("SELECT 2.50 FROM t", 1)
    made = workload("x", "X", [third], HOTEL, "lab_db1")
    said = WorkloadFile.model_validate(yaml.safe_load(made.files["workload.yaml"])).statements["s01"].parameters
    assert (said["s01_p1"].choice, said["s01_p1"].type) == (["new", "old"], "hotel.state")


def test_a_log_counts_what_stands_there_more_than_once() -> None:
    assert of_log("SELECT 1 FROM t;\nSELECT 1 FROM t;\nBEGIN; SELECT a FROM t; COMMIT") == [
        Counted("SELECT 1 FROM t", 2),
        Counted("SELECT a FROM t", 1),
    ]
