"""From statements to a folder: constants become parameters of the columns that they are compared with."""

from __future__ import annotations

import duckdb
import yaml

from clusterbench.workloads.declared.model import WorkloadFile
from clusterbench.workloads.declared.written import Counted, experiment, is_usable, of_log, tables_in, workload

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
    assert made.files["values_of_customers_region.sql"].startswith("SELECT DISTINCT region\nFROM (SELECT region")
    assert made.to_fill_in == ["s03_p1: nobody knows what it stands for"]
    assert made.files["workload.yaml"].count("fill in") == 2


def test_the_select_of_a_column_s_values_is_sql() -> None:
    """DuckDB has PostgreSQL's reserved words."""
    made = workload("shop", "Shop", COUNTED, COLUMNS, "lab_db1")
    with duckdb.connect() as database:
        database.execute("CREATE TABLE customers AS SELECT 'r' || id % 3 AS region FROM range(9) AS ids(id)")
        found = database.execute(made.files["values_of_customers_region.sql"]).fetchall()
    assert found == [("r0",), ("r1",), ("r2",)]


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


def test_a_log_counts_what_stands_there_more_than_once() -> None:
    assert of_log("SELECT 1 FROM t;\nSELECT 1 FROM t;\nBEGIN; SELECT 2 FROM t; COMMIT") == [
        Counted("SELECT 1 FROM t", 2),
        Counted("SELECT 2 FROM t", 1),
    ]
