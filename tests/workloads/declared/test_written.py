"""From statements to a folder: constants become parameters of the columns that they are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import yaml

from clusterbench.workloads.declared import logged
from clusterbench.workloads.declared.constants import Columns
from clusterbench.workloads.declared.counted import Counted, functions_in, merged, tables_in, why_not
from clusterbench.workloads.declared.model import WorkloadFile
from clusterbench.workloads.declared.written import experiment, workload


def of_log(text: str) -> list[Counted]:
    found, problems = logged.of_log(text)
    assert not problems
    return found


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
    assert [one.weight for one in said.statements.values()] == [50, 100, 10]
    assert "WHERE region = ${s01_p1} AND o.id > ${s01_p2}" in made.files["s01.sql"]
    assert 'FROM "customers" AS clusterbench_row' in made.files["values_of_customers_region.sql"]
    assert made.to_fill_in == [
        "s02_p2: in LOWER(region) LIKE $2: nobody knows what it stands for",
        "s03_p1: in F($1): nobody knows what it stands for",
    ]
    assert made.guessed == ["s01_p3: a LIMIT; guessed, as nobody knows it"]
    assert made.files["workload.yaml"].count("{fill_in: ") == 2


def test_the_select_of_a_column_s_values_is_sql() -> None:
    """DuckDB has PostgreSQL's reserved words."""
    made = workload("shop", "Shop", COUNTED, COLUMNS, "lab_db1")
    with duckdb.connect() as database:
        database.execute("CREATE TABLE customers AS SELECT 'r' || id % 3 AS region FROM range(9) AS ids(id)")
        found = database.execute(made.files["values_of_customers_region.sql"]).fetchall()
    assert sorted(found) == [("r0",)] * 3 + [("r1",)] * 3 + [("r2",)] * 3, "as frequent as they are"


def test_long_statements_are_streams() -> None:
    made = workload("shop", "Shop", [Counted("SELECT count(*) FROM customers", 2, 5000.0)], COLUMNS, "lab_db1")
    assert "driven_by: streams" in made.files["workload.yaml"]
    said = yaml.safe_load(experiment("shop", "Shop", "lab_db1", by_streams=True))
    levels = said["sweeps"]["concurrency"]["factors"]["streams"]
    assert levels == {"smoke": [1, 2, 4], "laptop": [1, 4, 16], "full": [1, 16, 64]}


def test_only_what_reads_tables_is_taken() -> None:
    for text in ("UPDATE t SET a = 1", "SELECT 1", "SELECT FROM WHERE (", "SELECT \\! ls FROM t", "BEGIN"):
        assert why_not(Counted(text, 1)), text
    assert why_not(Counted("SELECT nextval('a') FROM t", 1)) == "it calls nextval, which changes something"
    assert why_not(Counted("SELECT $q$a;b$q$ FROM t", 1)) == "it has a text between dollar signs; write it in quotes"
    assert why_not(Counted("WITH a AS (SELECT * FROM t) SELECT * FROM a", 1)) == ""
    assert functions_in(Counted('SELECT crm.touch(id), "Max" (a) FROM t WHERE a IN ($1)', 1)) == {"touch", "max", "in"}
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
    text, said = drawn("SELECT '$', a FROM hotel.guests WHERE \"lastName\" LIKE '%$key' AND id = $1")
    assert text == "SELECT '$$', a FROM hotel.guests WHERE \"lastName\" LIKE '%$$key' AND id = ${s01_p1}"
    assert tables_in([Counted('SELECT 1 FROM HOTEL.Guests, "Rooms"', 1)]) == ["hotel.guests", "Rooms"]


def test_what_belongs_to_one_row_is_drawn_from_one_row() -> None:
    """A new user's: a customer's number and a state, each by itself, are of no row at all."""
    text = 'SELECT 1 FROM hotel.guests g, "Rooms" r WHERE g.id = $1 AND r.id = $2 AND g.state = $3 AND r.at = $4'
    assert drawn(text)[1] == {
        "p1": {"query": "values_of_hotel_guests_id_state.sql"},
        "p2": {"query": "values_of_rooms_id_at.sql"},
        "p3": {"row_of": "s01_p1", "column": 2},
        "p4": {"row_of": "s01_p2", "column": 2},
    }
    made = workload("x", "X", [Counted(text, 1)], HOTEL, "lab_db1", samples={"Rooms": "TABLESAMPLE SYSTEM (2)"})
    assert sorted(made.files) == [
        "s01.sql",
        "values_of_hotel_guests_id_state.sql",
        "values_of_rooms_id_at.sql",
        "workload.yaml",
    ]
    assert 'FROM "Rooms" AS clusterbench_row TABLESAMPLE SYSTEM (2)' in made.files["values_of_rooms_id_at.sql"]


def test_how_far_a_range_reaches_is_for_a_person_to_say() -> None:
    """A new user's: two ends that were drawn apart read nothing, or half of the table."""
    columns = {"events": {"id": "bigint", "at": "timestamp with time zone", "name": "text", "shop": "integer"}}
    text, said = drawn("SELECT 1 FROM events WHERE at BETWEEN $1 AND $2", columns)
    assert text == "SELECT 1 FROM events WHERE at BETWEEN ${s01_p1} AND (${s01_p1} + ${s01_p2})"
    told = "how far a range of at reaches from s01_p1 on, such as choice: ['1 hour'], type: interval"
    assert said == {"p1": {"query": "values_of_events_at.sql"}, "p2": {"fill_in": told}}
    text, said = drawn("SELECT 1 FROM events e WHERE $1 > e.id AND e.shop = $2 AND e.id >= $3", columns)
    assert (
        text
        == "SELECT 1 FROM events e WHERE (${s01_p3} + ${s01_p1}) > e.id AND e.shop = ${s01_p2} AND e.id >= ${s01_p3}"
    )
    assert said["p1"]["fill_in"].endswith("such as choice: [7]")
    assert (said["p2"], said["p3"]) == (
        {"query": "values_of_events_shop_id.sql"},
        {"row_of": "s01_p2", "column": 2},
    )
    queries = [list(one) for one in drawn("SELECT 1 FROM events WHERE name BETWEEN $1 AND $2", columns)[1].values()]
    assert queries == [["query"], ["query"]], "nothing can be added to a text"
    assert [list(one) for one in drawn("SELECT 1 FROM events WHERE at > $1", columns)[1].values()] == [["query"]]


def test_a_limit_is_as_many_rows_as_a_call_answered() -> None:
    def limit(text: str, rows: float) -> tuple[list[int], list[str]]:
        made = workload("x", "X", [Counted(text, 4, rows=rows)], COLUMNS, "lab_db1")
        said = yaml.safe_load(made.files["workload.yaml"])["statements"]["s01"]["parameters"]["s01_p1"]
        return said["choice"], made.guessed

    assert limit("SELECT id FROM customers LIMIT $1", 40) == (
        [10],
        ["s01_p1: a LIMIT; guessed: a call answered 10 rows in the mean"],
    )
    assert limit("SELECT id FROM customers LIMIT $1", 38)[0] == [10]
    assert limit("SELECT count(*) FROM (SELECT 1 FROM customers LIMIT $1) AS few", 4)[0] == [100]


def test_a_statement_that_a_server_counts_twice_is_one() -> None:
    """As clients sent other types."""
    both = [
        Counted("SELECT a  FROM t", 2, 10.0, 4.0),
        Counted("SELECT b FROM t", 9),
        Counted("SELECT a FROM t", 1, 5.0, 2.0),
    ]
    assert merged(both) == [Counted("SELECT a  FROM t", 3, 15.0, 6.0), Counted("SELECT b FROM t", 9)]


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
    assert [why_not(one) for one in dates] == [""] and dates[0].observed == (["2026-01-01"], ["2026-02-01"])


def test_a_select_of_values_names_column_and_table_as_the_server_has_them() -> None:
    made = workload("x", "X", [Counted('SELECT 1 FROM "Rooms" WHERE at = $1', 1)], HOTEL, "lab_db1")
    assert 'SELECT "at", md5(' in made.files["values_of_rooms_at.sql"]
    assert 'FROM "Rooms" AS clusterbench_row' in made.files["values_of_rooms_at.sql"]


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
    third, first, second, last = of_log(log)
    assert (first.text, second.text) == (
        "SELECT 1 FROM hotel.guests WHERE id = 7 AND f('it''s, (a)', 'x')",
        "SELECT 1 FROM hotel.guests WHERE id = 8 AND f(g('b', 2), 'x')",
    )
    assert third == Counted(
        "SELECT 1 FROM hotel.guests WHERE state = $1 AND id < 10 ORDER BY 1", 3, observed=(["new"], ["old"], ["old"])
    )
    assert last == Counted("SELECT 2.50 FROM t", 1)
    made = workload("x", "X", [third], HOTEL, "lab_db1")
    said = WorkloadFile.model_validate(yaml.safe_load(made.files["workload.yaml"])).statements["s01"].parameters
    assert (said["s01_p1"].choice, said["s01_p1"].type) == (["new", "old", "old"], "hotel.state")


def test_a_log_counts_what_stands_there_more_than_once() -> None:
    assert of_log("SELECT 1 FROM t;\nSELECT 1 FROM t;\nBEGIN; SELECT a FROM t; COMMIT") == [
        Counted("SELECT 1 FROM t", 2),
        Counted("SELECT a FROM t", 1),
    ]


def test_constants_that_stood_together_in_a_log_are_drawn_together() -> None:
    ranges = "".join(f"SELECT 1 FROM customers WHERE id BETWEEN {n} AND {n + 10};\n" for n in (5, 20, 20))
    made = workload("x", "X", of_log(ranges), COLUMNS, "lab_db1")
    assert yaml.safe_load(made.files["workload.yaml"])["statements"]["s01"]["parameters"] == {
        "s01_p1": {"choice": [5, 20, 20]},
        "s01_p2": {"row_of": "s01_p1", "choice": [15, 30, 30]},
    }
    many = of_log("".join(f"SELECT 1 FROM customers WHERE id = {n};" for n in range(1200)))
    made = workload("x", "X", many, COLUMNS, "lab_db1")
    choice = yaml.safe_load(made.files["workload.yaml"])["statements"]["s01"]["parameters"]["s01_p1"]["choice"]
    assert choice == list(range(0, 1200, 3)), "from all over the log"


def test_a_constant_of_a_log_keeps_the_type_that_it_was_cast_to() -> None:
    log = "".join(f"SELECT 1 FROM hotel.guests WHERE profile @> '{{\"a\": {n}}}'::jsonb;" for n in (1, 2))
    made = workload("x", "X", of_log(log), HOTEL, "lab_db1")
    said = yaml.safe_load(made.files["workload.yaml"])["statements"]["s01"]["parameters"]["s01_p1"]
    assert said == {"choice": ['{"a": 1}', '{"a": 2}'], "type": "jsonb"}


def test_what_is_no_sql_in_a_log_costs_the_rest_nothing() -> None:
    log = "\\timing on\nSELECT a FROM t;\nSELECT b FROM u; SELECT a FROM t;\n\n  ROM t WHERE x = 'cut"
    found, problems = logged.of_log(log)
    assert [(one.text, one.calls) for one in found] == [("SELECT a FROM t", 2), ("SELECT b FROM u", 1)]
    (problem,) = problems
    assert problem.startswith("line 5: is not SQL: ") and problem.endswith(": ROM t WHERE x = 'cut")
