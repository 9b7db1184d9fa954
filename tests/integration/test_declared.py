"""Workloads that are folders, against the lab's real server: TPC-H, YCSB, and tables that are there already."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from clusterbench.base.archive import CONNECTION_ID, s3_client
from clusterbench.base.connections import Connections
from clusterbench.base.errors import DatasetError
from clusterbench.base.records import TrialRecord
from clusterbench.cli.main import main
from clusterbench.run import steps
from clusterbench.workloads import load_workload
from tests.declared import add_workload, project_with
from tests.integration.helpers import measured_whole, new_run, on_testbed

pytestmark = pytest.mark.lab
PLATFORM = "lab_db1"


def whole(connections: Connections, experiment: str, **choices: Any) -> tuple[Any, list[TrialRecord]]:
    run = new_run(connections, experiment)
    steps.open_run(run, {"scale": "smoke", "platforms": [PLATFORM], **choices}, {"by": "test"})
    records = measured_whole(run, PLATFORM)
    steps.summarise(run)
    steps.validate_results(run)
    return run, records


@pytest.mark.long
def test_tpch_is_valid_and_answers_as_duckdb(connections: Connections) -> None:
    run, records = whole(connections, "tpch")
    assert [(record.outcome, record.reason) for record in records] == [("completed", "")] * 2, records
    verdicts = run.archive.need_json("verdicts.json")
    assert verdicts["valid"], verdicts
    said = [v for v in verdicts["verdicts"] if v["says"] == "The answers were compared with somebody else's"]
    assert "DuckDB over the same rows" in said[0]["found"], said
    (windows,) = [v for v in verdicts["verdicts"] if v["says"].startswith("Windows lasted as long as declared")]
    assert windows["passed"] and windows["found"].startswith("2 of 2 were"), windows
    for record in records:
        rounds, streams = record.evidence["driver"].get("rounds", 1), int(record.trial.levels["streams"])
        length_s = record.window_end_s - record.window_start_s  # type: ignore[operator]
        print(f"{record.trial.label}: {rounds} rounds in {length_s:.2f} s")
        assert record.samples == 22 * streams * rounds
        assert record.measurements["response_time_s"] == pytest.approx(length_s / rounds)
        each = [record.measurements[f"q{n:02d}_s"] for n in range(1, 23)]
        assert sum(each) / 22 == pytest.approx(record.measurements["statement_time_s_mean"])


@pytest.mark.long
def test_a_run_that_only_makes_data_is_valid_and_ycsb_measures_its_six_mixes_on_it(connections: Connections) -> None:
    run, records = whole(connections, "ycsb", generate_only=True)
    assert records == [] and run.archive.need_json("verdicts.json")["valid"]
    steps.write_report(run)
    steps.seal(run)
    assert b"made its data and checked it, as it was asked to" in (
        run.archive.store.get(f"{run.archive.prefix}report.html") or b""
    )
    run, records = whole(connections, "ycsb")
    assert [(record.outcome, record.reason) for record in records] == [("completed", "")] * 6, records
    assert run.archive.need_json("verdicts.json")["valid"]
    assert run.archive.need_json("platforms/lab_db1/generated.json")["datasets"] == [], "it was there"
    inserting = {record.trial.levels["mix"]: record.measurements["rows_inserted"] for record in records}
    assert [mix for mix, rows in sorted(inserting.items()) if rows] == ["d", "e"]


@pytest.mark.long
def test_transactions_and_reports_run_together_each_with_its_results(connections: Connections) -> None:
    run, records = whole(connections, "ch_benchmark")
    assert [(record.outcome, record.reason) for record in records] == [("completed", "")] * 3, records
    (record,) = [record for record in records if record.trial.workload == "ch_benchmark"]
    measured = record.measurements
    assert measured["throughput_per_s"] > 0 and measured["new_order_per_s"] > 0, "of the transactions"
    assert measured["reports_statements_per_hour"] > 0 and measured["reports_q06_s"] > 0
    ended = record.evidence["driver"]["reports"]["statements_ended"]
    length_s = record.window_end_s - record.window_start_s  # type: ignore[operator]
    assert measured["reports_statements_per_hour"] == pytest.approx(3600 * sum(ended.values()) / length_s)
    assert set(ended) == {f"q{n:02d}" for n in (1, 4, 6, 12, 13, 14, 18, 19, 22)}
    assert run.archive.need_json("verdicts.json")["valid"]
    settings = record.evidence["workload"]
    assert settings["transactions"]["session_settings"]["enable_seqscan"] == "off"
    assert "enable_seqscan" not in settings["reports"]["session_settings"], "they would read all by index"
    assert {"reports: query 6", "new_order"} & set(
        run.archive.need_json(f"workloads/{record.trial.workload}.json")
    ) == set()


# Tables that are there.


@contextmanager
def session(connections: Connections) -> Iterator[psycopg.Connection[Any]]:
    at = connections("lab_db1_postgres")
    with psycopg.connect(
        host=at.host, port=at.port, user=at.login, password=at.password, dbname=at.schema, autocommit=True
    ) as opened:
        yield opened


@pytest.fixture
def sales(connections: Connections) -> Iterator[None]:
    """Somebody's tables, and what they ask of them."""
    with session(connections) as db:
        db.execute("DROP SCHEMA IF EXISTS sales CASCADE")
        db.execute("CREATE SCHEMA sales")
        db.execute("CREATE TABLE sales.customers (id int PRIMARY KEY, region text NOT NULL, name text)")
        db.execute("CREATE TABLE sales.orders (id int PRIMARY KEY, customer_id int, total numeric(9, 2), at date)")
        db.execute("INSERT INTO sales.customers SELECT n, 'region ' || n % 7, 'c' || n FROM generate_series(1, 500) n")
        db.execute(
            "INSERT INTO sales.orders SELECT n, 1 + n % 500, n % 997, date '2024-01-01' + n % 366 "
            "FROM generate_series(1, 20000) n"
        )
        db.execute("CREATE INDEX ON sales.orders (customer_id)")
        db.execute("ANALYZE")
        for ours in ("pg_prewarm", "pg_buffercache"):  # what a first run makes of its own
            db.execute(f"CREATE EXTENSION IF NOT EXISTS {ours}")
    yield
    with session(connections) as db:
        db.execute("DROP SCHEMA sales CASCADE")


OF_CUSTOMER = "SELECT count(*), sum(total) FROM sales.orders WHERE customer_id = $customer"
OF_REGION = """
    -- what a region bought in a month
    SELECT c.region, sum(o.total) AS bought
    FROM sales.orders AS o JOIN sales.customers AS c ON c.id = o.customer_id
    WHERE c.region = $region AND o.at >= $month AND o.at < $month + interval '1 month'
    GROUP BY c.region
"""
SALES = """
    workload: my_sales
    title: What customers ask
    description: Lookups and sums over tables that are there.
    driven_by: clients
    tables:
      orders: {existing: sales.orders}
      customers: {existing: sales.customers}
    parameters:
      customer: {query: customers.sql}
      region: {file: regions.txt}
      month: {range: ["2024-01-01", "2024-12-01"], step: month}
    statements:
      of_customer: {weight: 9}
      of_region: {title: of a region}
    answers: earlier
"""
EXPERIMENT = """
    experiment: my_sales
    title: What customers ask
    description: By clients.
    platforms: [lab_db1]
    seed: 3
    sweeps:
      clients:
        title: By clients
        workload: my_sales
        factors:
          clients: {smoke: [2], laptop: [4], full: [8]}
          think_time_ms: [50]
          ramp_up_s: [1]
          window_s: [2]
"""
FILES = {
    "workload.yaml": SALES,
    "of_customer.sql": OF_CUSTOMER,
    "of_region.sql": OF_REGION,
    "customers.sql": "SELECT id FROM sales.customers WHERE id <= 300",
    "regions.txt": "region 1\nregion 2\nregion 3\n",
}


def content(connections: Connections) -> dict[str, Any]:
    """All of the database but what the server counts, and what clusterbench says of itself elsewhere."""
    with session(connections) as db:
        found: dict[str, Any] = {
            name: db.execute(query).fetchall()
            for name, query in {
                "relations": "SELECT oid, relname, relfilenode, reltuples, relacl, reloptions FROM pg_class "
                "WHERE relnamespace = 'sales'::regnamespace ORDER BY 1",
                "schemas": "SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_(toast|temp)' ORDER BY 1",
                "roles": "SELECT * FROM pg_roles ORDER BY rolname",
                "role settings": "SELECT * FROM pg_db_role_setting ORDER BY 1, 2",
                "extensions": "SELECT extname FROM pg_extension ORDER BY 1",
            }.items()
        }
        for table in ("orders", "customers"):
            rows = db.execute(f"SELECT xmin::text, ctid::text, t::text FROM sales.{table} t ORDER BY ctid").fetchall()
            found[table] = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    return found


@pytest.mark.long
@pytest.mark.usefixtures("sales")
def test_tables_that_are_there_are_measured_and_stay_as_they_were(
    connections: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project_with(tmp_path, monkeypatch, "my_sales", FILES, EXPERIMENT)
    before = content(connections)
    run, (first, *others) = whole(connections, "my_sales")
    assert (first.outcome, first.reason) == ("completed", "") and len(others) == 2
    assert content(connections) == before
    assert first.measurements["latency_ms_p50"] < 50, "without its think time"
    assert first.measurements["throughput_per_s"] <= 2 * (1000 / 50) + 2, "of two clients"
    assert {"of_customer_per_s", "of_region_ms_p99", "throughput_per_s"} <= set(first.measurements)
    assert run.archive.need_json("workloads/my_sales.json")["of_customer.sql"] == OF_CUSTOMER
    verdicts = run.archive.need_json("verdicts.json")
    assert verdicts["valid"], verdicts
    (said,) = [v for v in verdicts["verdicts"] if v["says"] == "The answers were compared with somebody else's"]
    assert "earlier valid runs" in said["found"] or "nobody" in said["found"]


@pytest.mark.usefixtures("sales")
@pytest.mark.long
def test_a_statement_that_was_changed_on_purpose_begins_anew_and_the_others_do_not(
    connections: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answers are others; only those of the statement that stayed are compared with the run before."""
    ours = {**FILES, "workload.yaml": SALES.replace("my_sales", "sales_changed")}
    experiment = EXPERIMENT.replace("my_sales", "sales_changed")
    root = project_with(tmp_path, monkeypatch, "sales_changed", ours, experiment)
    run, _ = whole(connections, "sales_changed")
    steps.seal(run)
    text = OF_CUSTOMER.replace("sum(total)", "sum(total) + 1")
    (root / "include/sql/sales_changed/of_customer.sql").write_text(text)
    run, records = whole(connections, "sales_changed")
    assert {record.outcome for record in records} == {"completed"}, records
    (said,) = [
        verdict
        for verdict in run.archive.need_json("verdicts.json")["verdicts"]
        if verdict["says"] == "The answers were compared with somebody else's"
    ]
    assert "changed since earlier runs answered: of_customer; its answers begin anew with this run" in said["found"]
    assert "with those of earlier valid runs only" in said["found"], "of_region"
    steps.seal(run)
    run, _ = whole(connections, "sales_changed")
    assert "anew" not in json.dumps(run.archive.need_json("verdicts.json"))


@pytest.mark.long
@pytest.mark.usefixtures("sales")
def test_statements_that_change_tables_which_are_there_need_leave_and_are_refused_by_the_server_without(
    connections: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``sneaky`` looks like one that reads; the function that it calls does not."""
    root = project_with(tmp_path, monkeypatch, "my_sales", FILES, EXPERIMENT)
    add_workload(root, "raise", {
        "workload.yaml": SALES.replace("my_sales", "raise").replace("of_customer: {weight: 9}", "higher: {}")
        .replace("answers: earlier", "answers: none"),
        "higher.sql": "UPDATE sales.orders SET total = total + 1 WHERE customer_id = $customer",
        **{name: text for name, text in FILES.items() if name not in {"workload.yaml", "of_customer.sql"}},
    })  # fmt: skip
    (root / "dags/experiments/raise.yaml").write_text(
        (root / "dags/experiments/my_sales.yaml").read_text().replace("my_sales", "raise")
    )
    _, records = whole(connections, "raise")
    assert {record.outcome for record in records} == {"not_applicable"}
    assert "may: [" in records[0].reason and "change_existing" in records[0].reason
    before = content(connections)
    with session(connections) as db:
        db.execute(
            "CREATE FUNCTION sales.sneaky(int) RETURNS bigint LANGUAGE sql AS "
            "'UPDATE sales.orders SET total = 0 WHERE customer_id = $1; SELECT 1::bigint'"
        )
    (root / "include/sql/my_sales/of_customer.sql").write_text("SELECT sales.sneaky($customer)")
    _, records = whole(connections, "my_sales")
    assert {record.outcome for record in records} == {"failed"}
    assert content(connections) == before
    with session(connections) as db:
        db.execute("DROP FUNCTION sales.sneaky(int); ALTER TABLE sales.customers RENAME TO buyers")
    with pytest.raises(
        DatasetError, match=r"drivers may read it: 1 of 2 as expected; not so: sales.customers: not there"
    ):
        whole(connections, "my_sales")


@pytest.mark.long
@pytest.mark.usefixtures("sales")
def test_a_workload_is_written_from_what_a_database_has_counted(
    connections: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = project_with(tmp_path, monkeypatch, "my_sales", FILES)
    log = tmp_path / "asked.sql"
    log.write_text(
        "SELECT name FROM sales.customers WHERE id = $1;\n" * 3  # as pg_stat_statements has its constants
        + "BEGIN; UPDATE sales.orders SET total = 1 WHERE id = 1; COMMIT;\n"
        + "SELECT count(*) FROM sales.orders o JOIN sales.customers c ON c.id = o.customer_id WHERE c.region = 'x';\n"
    )
    monkeypatch.setattr("clusterbench.cli.workload.own_connections", lambda: connections)
    assert main(["workload", "new", "from_log", "--from", PLATFORM, "--log", str(log)]) == 0
    said = capsys.readouterr().out
    assert "(2 statements)" in said
    assert (
        "left out: UPDATE sales.orders SET total = 1 WHERE id = 1 (1 call): it changes rows, or is not a query" in said
    )
    assert "1 statement is left out: 20% of all calls" in said
    written = (root / "include/sql/from_log/workload.yaml").read_text()
    assert "weight: 3" in written and "s01_p1: {query: values_of_sales_customers_id.sql}" in written
    run, records = whole(connections, "from_log")
    assert [record.outcome for record in records] == ["completed"] * 3
    assert run.archive.need_json("verdicts.json")["valid"]
    assert main(["workload", "new", "from_log", "--from", PLATFORM]) == 1
    assert "choose another name" in capsys.readouterr().err


# Whatever else a folder can say.


LOADED = """
    workload: loaded
    title: Loaded
    description: Sums over tables that come from files.
    driven_by: streams
    factors:
      least: {title: least amount, from: 0, to: 100, default: 5}
      work_mem: {title: memory of a sort, setting: work_mem, choices: [as_set, 1MB], default: as_set}
    tables:
      sales:
        columns: {id: integer NOT NULL, shop: character varying(20), amount: "numeric(9, 2)", day: date, order: text}
        key: [id]
        indexes: [shop]
        references: {shop: shops}
        distributed_by: id
        rows: 1000
        loaded_from: {files: [CSV], format: csv, null_text: none}
      shops:
        columns: {shop: character varying(20) NOT NULL, user: text}
        key: [shop]
        rows: 7
        loaded_from: {files: [PARQUET], format: parquet}
    parameters:
      day: {range: ["2024-01-01", "2024-01-28"]}
      cities: {choice: [Rome, Oslo, Bonn], count: 2}
    statements:
      by_shop: {}
      by_day: {title: of a day}
    orders: [[by_day, by_shop], [by_shop, by_day]]
    asked:
      notes: {title: Notes, unit: "1", better: neither, file: notes.sql, minus_before: true}
    checks: {no_negative: negative.sql}
    suites: {amounts: {rows: amounts.sql, suite: amounts.json}}
    answers: earlier
"""
NULL = ", null_text: none"
LOADED_FILES = {
    "by_shop.sql": "SELECT shop, sum(amount) FROM sales JOIN shops USING (shop) "
    'WHERE "user" IN ($cities_1, $cities_2) AND amount > $least GROUP BY shop ORDER BY shop',
    "by_day.sql": 'SELECT count(*), min("order") FROM sales WHERE day = $day',
    "notes.sql": 'SELECT count("order") FROM sales',
    "negative.sql": "SELECT id FROM sales WHERE amount < 0",
    "amounts.sql": "SELECT shop, max(amount) AS largest FROM sales GROUP BY shop",
    "amounts.json": """
        {"name": "amounts", "expectations": [
          {"type": "expect_column_values_to_be_between", "kwargs": {"column": "largest", "max_value": 1000},
           "severity": "critical", "meta": {"check": 1, "says": "No amount is above a thousand"}}]}
    """,
}
OF_LOADED = """
    experiment: loaded
    title: Loaded
    description: By streams.
    platforms: [lab_db1]
    seed: 3
    sweeps:
      streams:
        title: By streams
        workload: loaded
        factors:
          streams: {smoke: [1, 2], laptop: [1], full: [1]}
          work_mem: [1MB]
          server.random_page_cost: [2]
        repetitions: 1
"""


def made_files(folder: Path) -> tuple[Path, Path]:
    """1000 sales, texts with all that means something to a loader; and seven shops."""
    import duckdb

    csv, parquet = folder / "sales-1.csv", folder / "shops.parquet"
    with duckdb.connect() as database:
        database.execute(
            f"COPY (SELECT n AS id, 'shop ' || n % 7 AS shop, n % 100 + 0.25 AS amount, "
            "date '2024-01-01' + CAST(n % 28 AS integer) AS day, "
            "CASE n % 5 WHEN 0 THEN NULL WHEN 1 THEN 'a|b' WHEN 2 THEN 'c\\d' WHEN 3 THEN 'e\nf' "
            'ELSE \'g,"h\' END AS "order" '
            f"FROM range(1, 1001) t(n)) TO '{csv}' (FORMAT csv, HEADER true, NULLSTR 'none')"
        )
        database.execute(
            "COPY (SELECT 'shop ' || n AS shop, ['Rome', 'Oslo', 'Bonn'][1 + n % 3] AS \"user\" FROM range(0, 7) t(n))"
            f" TO '{parquet}' (FORMAT parquet)"
        )
    return csv, parquet


def test_tables_from_files_with_suites_checks_numbers_and_orders(
    connections: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(prefix="clusterbench-files-") as folder:
        Path(folder).chmod(0o755)  # the host's login is another one
        from_files(Path(folder), connections, tmp_path, monkeypatch)


@pytest.mark.long
def test_tables_from_object_storage_by_addresses_that_are_signed_for_them_alone(
    connections: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    of_archive = connections(CONNECTION_ID)
    client, bucket = s3_client(of_archive), of_archive.extra["bucket"]
    for file in made_files(tmp_path):
        client.put_object(Bucket=bucket, Key=f"rows/of 2024/{file.name}", Body=file.read_bytes())
    said = "{files: ['s3://%s/rows/*/%s'], connection: clusterbench_archive, format: %s%s}"
    text = LOADED.replace("{files: [CSV], format: csv, null_text: none}", said % (bucket, "sales-*.csv", "csv", NULL))
    text = text.replace("{files: [PARQUET], format: parquet}", said % (bucket, "shops.parquet", "parquet", ""))
    text = text.replace("answers: earlier", "answers: file")
    days = {day: sum(n % 28 == day - 1 for n in range(1, 1001)) for day in range(1, 29)}
    known = "\n".join(["$day,count,note", *(f"2024-01-{day:02d},{count},a|b" for day, count in days.items())])
    files = {"workload.yaml": text, **LOADED_FILES, "by_day.answers.csv": known}
    root = project_with(tmp_path, monkeypatch, "loaded", files, OF_LOADED)
    run, records = whole(connections, "loaded")
    assert [(record.outcome, record.reason) for record in records] == [("completed", "")] * 2, records
    verdicts = run.archive.need_json("verdicts.json")
    assert verdicts["valid"]
    (told,) = [
        v["found"] for v in verdicts["verdicts"] if v["says"] == "The answers were compared with somebody else's"
    ]
    assert "with those of files beside the workload, which know 2 of 4" in told
    (root / "include/sql/loaded/by_day.answers.csv").write_text(known.replace("a|b", "a|c"))
    _, records = whole(connections, "loaded")
    assert {record.outcome for record in records} == {"invalid"}
    assert "by_day.1: row 1 was not expected: 36 | a|b; missing is: 36 | a|c" in records[0].reason, records[0].reason
    table = load_workload("loaded").dataset(records[0].trial.levels, 3).table
    with session(connections) as db:
        notes = db.execute(f'SELECT "order", count(*) FROM {table}.sales GROUP BY 1 ORDER BY 1').fetchall()
        assert dict(notes) == {"a|b": 200, "c\\d": 200, "e\nf": 200, 'g,"h': 200, None: 200}
    yaml = root / "include/sql/loaded/workload.yaml"
    yaml.write_text(text.replace("shops.parquet", "shop.parquet"))
    missing = "rows/.*/shop.parquet: there is no such object, as connection 'clusterbench_archive' sees it; there is"
    with pytest.raises(DatasetError, match=missing):
        whole(connections, "loaded")
    client.put_object(Bucket=bucket, Key="rows/of 2024/shop.parquet", Body=b"no Parquet")
    with pytest.raises(DatasetError, match=r"rows/of%202024/shop.parquet") as refused:
        whole(connections, "loaded")
    assert "X-Amz" not in str(refused.value) + caplog.text


def from_files(folder: Path, connections: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    csv, parquet = made_files(folder)
    text = LOADED.replace("CSV", f'"{csv.parent}/sales-*.csv"').replace("PARQUET", f'"{parquet}"')
    root = project_with(tmp_path, monkeypatch, "loaded", {"workload.yaml": text, **LOADED_FILES}, OF_LOADED)
    run, records = whole(connections, "loaded")
    assert [(record.outcome, record.reason) for record in records] == [("completed", "")] * 2, records
    verdicts = run.archive.need_json("verdicts.json")
    assert verdicts["valid"] and "No amount is above a thousand" in {v["says"] for v in verdicts["verdicts"]}
    first = records[0]
    assert {"by_shop_s", "by_day_s", "notes"} <= set(first.measurements) and first.measurements["notes"] == 0
    assert first.evidence["workload"]["session_settings"]["work_mem"] == "1MB"
    table = load_workload("loaded").dataset(first.trial.levels, 3).table
    with session(connections) as db:
        notes = db.execute(f'SELECT "order", count(*) FROM {table}.sales GROUP BY 1 ORDER BY 1').fetchall()
        assert dict(notes) == {"a|b": 200, "c\\d": 200, "e\nf": 200, 'g,"h': 200, None: 200}
        db.execute(f"UPDATE {table}.sales SET amount = -1 WHERE id = 7")
    (root / "include/sql/loaded/amounts.json").write_text(
        (root / "include/sql/loaded/amounts.json").read_text().replace("1000", "50")
    )
    with pytest.raises(DatasetError, match="No amount is above a thousand") as refused:
        whole(connections, "loaded")
    assert "has the rows that were in its files: their checksum" in str(refused.value)


# From a living database, the whole way.


HOTEL = """
    DROP SCHEMA IF EXISTS hotel CASCADE;
    CREATE SCHEMA hotel;
    CREATE TYPE hotel.state AS ENUM ('new', 'paid', 'gone');
    CREATE TABLE hotel.guests (id bigint PRIMARY KEY, "lastName" text, profile jsonb, token uuid UNIQUE);
    INSERT INTO hotel.guests SELECT n, 'name ' || n % 100, jsonb_build_object('lang', n % 3),
        CAST(md5(CAST(n AS text)) AS uuid) FROM generate_series(1, 20000) AS n;
    CREATE TABLE hotel.bookings (id int PRIMARY KEY, guest_id bigint, state hotel.state, code character(3),
        at timestamptz, price numeric(9, 2));
    INSERT INTO hotel.bookings SELECT n, 1 + n % 20000, (ARRAY['new', 'paid', 'gone'])[1 + n % 3]::hotel.state,
        chr(65 + n % 26) || 'ab', timestamptz '2024-01-01' + n * interval '1 minute', n % 90
        FROM generate_series(1, 40000) AS n;
    CREATE INDEX ON hotel.bookings (guest_id);
    CREATE INDEX ON hotel.bookings (at);
    ANALYZE hotel.guests;
    ANALYZE hotel.bookings;
"""
ASKED_OF_HOTEL = (
    "SELECT * FROM hotel.guests WHERE id = %s",
    "SELECT price FROM hotel.bookings WHERE id IN (%s,%s)",
    "SELECT count(*) FROM hotel.bookings b JOIN hotel.guests g ON g.id = b.guest_id WHERE g.token = '%s'",
    "SELECT price FROM hotel.bookings WHERE state = '%s' AND guest_id = %s",
    "SELECT id FROM hotel.guests WHERE \"lastName\" = '%s' ORDER BY id LIMIT 5",
    "SELECT max(price) FROM hotel.bookings WHERE code = '%s' AND at >= '%s'",
    "SELECT sum(price) FROM hotel.bookings WHERE at BETWEEN '%s' AND '%s'",
)
TOKEN = "c4ca4238-a0b9-2382-0dcc-509a6f75849b"
VALUES = ((7,), (8, 9), (TOKEN,), ("paid", 4), ("name 5",), ("Bab", "2024-01-02"), ("2024-01-02", "2024-01-03"))


@pytest.mark.long
def test_what_a_server_has_counted_is_measured_by_the_indexes_that_the_application_uses(
    connections: Connections, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = project_with(tmp_path, monkeypatch, "my_sales", FILES)
    monkeypatch.setattr("clusterbench.cli.workload.own_connections", lambda: connections)
    settings = {"shared_preload_libraries": "pg_stat_statements"}
    with on_testbed(new_run(connections), settings=settings, may=["restart", "engine_settings"]) as testbed:
        testbed.engine.facts()
        testbed.engine.set_up()
        try:
            with session(connections) as db:
                db.execute(HOTEL)
                db.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
                db.execute("SELECT pg_stat_statements_reset()")
                for text, values in zip(ASKED_OF_HOTEL, VALUES, strict=True):
                    db.execute((text % values).encode())
            assert main(["workload", "new", "hotel", "--from", PLATFORM]) == 0, capsys.readouterr()
            said = capsys.readouterr().out
            assert "(7 statements)" in said and "refuses" not in said, said
            (to_fill_in,) = [line for line in said.splitlines() if "to fill in" in line]
            assert "how far a range of at reaches from " in to_fill_in
            written = root / "include/sql/hotel/workload.yaml"
            text = re.sub(r"\{fill_in: .*\}", "{choice: ['1 hour'], type: interval}", written.read_text())
            written.write_text(text)
            assert re.search(r"_p2: \{row_of: s\d\d_p1, column: 2\}", text), "state and guest are of one booking"
            run, records = whole(connections, "hotel")
        finally:
            testbed.engine.tear_down()
            with session(connections) as db:
                db.execute("DROP EXTENSION IF EXISTS pg_stat_statements")
                db.execute("DROP SCHEMA hotel CASCADE")
    assert [(record.outcome, record.reason) for record in records] == [("completed", "")] * 3
    assert run.archive.need_json("verdicts.json")["valid"]
    names = load_workload("hotel").folder.titles  # type: ignore[attr-defined]
    plans = run.archive.plans(PLATFORM, records[0].trial.cell)
    assert set(plans) == set(names.values())
    (by_key,) = [p for p in plans.values() if "guests" in p and "bookings" not in p and "Limit" not in p]
    assert "Index Scan" in by_key, by_key
    (by_hour,) = [p for p in plans.values() if "interval" in p or "at <= " in p]
    assert "Index" in by_hour and len(by_hour) < 1000, by_hour
    of_bookings = [plan for plan in plans.values() if "bookings" in plan and "code = " not in plan]
    assert len(of_bookings) == 4 and all("Index" in plan for plan in of_bookings), of_bookings
    steps.write_report(run)
    report = (run.archive.store.get(f"{run.archive.prefix}report.html") or b"").decode()
    assert "No plan was recorded" not in report and "s01 hotel." in report
