"""Order-Entry on a real PostgreSQL: transactions do what their clauses say, and a trial's numbers are the server's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from clusterbench.base.connections import from_file
from clusterbench.base.errors import EngineError
from clusterbench.base.measurements import Reading
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.drivers import pgbench_log
from clusterbench.hosts.detached_job import DetachedJob
from clusterbench.run.validation import fact_rows, validate
from clusterbench.trial.protocol import run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import load_workload
from clusterbench.workloads.order_entry import consistency, data, mix, rows, transactions
from clusterbench_lab import Lab
from tests.integration.helpers import new_run, on_testbed

pytestmark = pytest.mark.lab
WAREHOUSES, SEED = 2, 20150312
DATASET = data.dataset_of(WAREHOUSES, SEED)
ITEM_OF_NOBODY = rows.ITEMS + 1
Row = dict[str, Any]


@pytest.fixture(scope="module")
def testbed(lab: Lab) -> Iterator[Testbed]:
    lab.up(airflow=False)
    with on_testbed(new_run(from_file(lab.lab_dir / "connections.json"), "order_entry")) as testbed:
        data.generate(DATASET, testbed.engine)
        transactions.install(DATASET, testbed.engine)
        testbed.engine.facts()
        yield testbed


class Session:
    """What one transaction sees; nothing of it stays."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self.connection = connection

    def rows(self, query: str) -> list[Row]:
        return self.connection.execute(query.encode()).fetchall()

    def row(self, query: str) -> Row:
        (found,) = self.rows(query)
        return found

    def call(self, name: str, *arguments: Any) -> Row:
        listed = ", ".join(["%s"] * len(arguments))
        (found,) = self.connection.execute(f"SELECT * FROM {name}({listed})".encode(), arguments).fetchall()
        return found

    def of_district(self) -> Row:
        """All that an order of district 1 of warehouse 1 may change, as one text a table."""
        where = {
            "district": "d_w_id = 1 AND d_id = 1",
            "orders": "o_w_id = 1 AND o_d_id = 1",
            "new_order": "no_w_id = 1 AND no_d_id = 1",
            "order_line": "ol_w_id = 1 AND ol_d_id = 1",
            "stock": "s_w_id = 1 AND s_i_id < 10",
        }
        each = [f"(SELECT count(*) || ' ' || sum(hashtext({t}::text)) FROM {t} WHERE {of})" for t, of in where.items()]
        return self.row(f"SELECT {' || '.join(each)} AS found")


@contextmanager
def session(testbed: Testbed) -> Iterator[Session]:
    with testbed.engine.connect() as connection, connection.transaction(force_rollback=True):  # type: ignore[attr-defined]
        connection.execute(f"SET LOCAL search_path = {DATASET.table}")
        yield Session(connection)


@pytest.fixture
def db(testbed: Testbed) -> Iterator[Session]:
    with session(testbed) as found:
        yield found


# New-Order.


def stock(db: Session, warehouse: int, item: int) -> tuple[int, int, int, int]:
    found = db.row(
        f"SELECT s_quantity, s_ytd, s_order_cnt, s_remote_cnt FROM stock WHERE s_w_id = {warehouse} AND s_i_id = {item}"
    )
    return found["s_quantity"], found["s_ytd"], found["s_order_cnt"], found["s_remote_cnt"]


def taken(quantity: int, wanted: int) -> int:
    """Clause 2.4.2.2."""
    return quantity - wanted if quantity >= wanted + 10 else quantity - wanted + 91


def test_new_order_enters_order_and_lines_and_takes_them_from_stock(db: Session) -> None:
    """Clause 2.4.2.2. One line is of another warehouse; the sixth element is no line of this order."""
    items, supply, quantities = [91, 7, 500, 12, 7000, 1], [1, 1, 2, 1, 1, 1], [3, 10, 4, 1, 7, 9]
    before = [stock(db, w, i) for w, i in zip(supply, items, strict=True)]
    next_order = db.row("SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = 4")["d_next_o_id"]
    said = db.call("new_order", 1, 4, 77, 5, items, supply, quantities)
    order = db.row(f"SELECT * FROM orders WHERE o_w_id = 1 AND o_d_id = 4 AND o_id = {next_order}")
    lines = db.rows(
        f"SELECT * FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 4 AND ol_o_id = {next_order} ORDER BY ol_number"
    )
    assert (said["is_valid"], said["order_id"]) == (True, next_order)
    assert db.row("SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = 4") == {"d_next_o_id": next_order + 1}
    assert (order["o_c_id"], order["o_ol_cnt"], order["o_all_local"], order["o_carrier_id"]) == (77, 5, 0, None)
    assert order["o_entry_d"] == said["entry_date"]
    assert len(db.rows(f"SELECT 1 FROM new_order WHERE no_w_id = 1 AND no_d_id = 4 AND no_o_id = {next_order}")) == 1
    for n in range(5):
        quantity, ytd, orders, remote = before[n]
        now = (taken(quantity, quantities[n]), ytd + quantities[n], orders + 1, remote + (supply[n] != 1))
        assert stock(db, supply[n], items[n]) == now
        item = db.row(f"SELECT * FROM item WHERE i_id = {items[n]}")
        supplied = db.row(f"SELECT s_dist_04, s_data FROM stock WHERE s_w_id = {supply[n]} AND s_i_id = {items[n]}")
        assert lines[n] == {
            "ol_o_id": next_order,
            "ol_d_id": 4,
            "ol_w_id": 1,
            "ol_number": n + 1,
            "ol_i_id": items[n],
            "ol_supply_w_id": supply[n],
            "ol_delivery_d": None,
            "ol_quantity": quantities[n],
            "ol_amount": quantities[n] * item["i_price"],
            "ol_dist_info": supplied["s_dist_04"],
        }
        is_original = "ORIGINAL" in item["i_data"] and "ORIGINAL" in supplied["s_data"]
        assert said["brands"][n] == ("B" if is_original else "G")
        assert (said["item_names"][n], said["prices"][n]) == (item["i_name"], item["i_price"])
        assert (said["stock_quantities"][n], said["amounts"][n]) == (now[0], lines[n]["ol_amount"])
    assert len(lines) == len(said["item_names"]) == 5
    assert stock(db, 1, 1) == before[5]
    tax = said["warehouse_tax"] + said["district_tax"]
    assert said["total_amount"] == round(sum(said["amounts"]) * (1 - said["discount"]) * (1 + tax), 2)


def test_new_order_of_its_own_warehouse_alone_is_all_local(db: Session) -> None:
    """Also where an element that is no line of the order names another warehouse."""
    said = db.call("new_order", 2, 1, 1, 5, [1, 2, 3, 4, 5, 6], [2, 2, 2, 2, 2, 1], [1] * 6)
    order = db.row(f"SELECT o_all_local FROM orders WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = {said['order_id']}")
    assert order == {"o_all_local": 1}


def test_item_that_an_order_names_three_times_leaves_stock_three_times(db: Session) -> None:
    quantity, ytd, orders, remote = stock(db, 1, 5)
    said = db.call("new_order", 1, 1, 1, 5, [5, 9, 5, 8, 5], [1] * 5, [10, 1, 9, 1, 8])
    steps = [taken(quantity, 10), taken(taken(quantity, 10), 9), taken(taken(taken(quantity, 10), 9), 8)]
    assert [said["stock_quantities"][n] for n in (0, 2, 4)] == steps
    assert stock(db, 1, 5) == (steps[-1], ytd + 27, orders + 3, remote)


def test_item_that_does_not_exist_is_told_after_the_work_and_rolled_back_leaves_nothing(testbed: Testbed) -> None:
    """Clause 2.4.2.3: everything up to the unused item is done."""
    with session(testbed) as db:
        before, first = db.of_district(), stock(db, 1, 5)
        said = db.call("new_order", 1, 1, 1, 5, [5, 6, 7, 8, ITEM_OF_NOBODY], [1] * 5, [1] * 5)
        assert (said["is_valid"], said["total_amount"]) == (False, None)
        assert (said["family_name"], said["credit"]) != (None, None)
        assert stock(db, 1, 5) != first
    with session(testbed) as db:
        assert db.of_district() == before


# Payment.


def customers(db: Session, warehouse: int, district: int, name: str) -> list[Row]:
    return db.rows(
        f"SELECT c_id, c_balance, c_ytd_payment, c_payment_cnt FROM customer WHERE c_w_id = {warehouse} "
        f"AND c_d_id = {district} AND c_last = '{name}' ORDER BY c_first, c_id"
    )


def test_payment_is_added_to_warehouse_district_customer_and_history(db: Session) -> None:
    """Clause 2.5.2.2, a customer of another warehouse."""
    sums = (
        "SELECT (SELECT w_ytd FROM warehouse WHERE w_id = 1) AS w, "
        "(SELECT d_ytd FROM district WHERE d_w_id = 1 AND d_id = 3) AS d, (SELECT count(*) FROM history) AS h"
    )
    customer = "SELECT * FROM customer WHERE c_w_id = 2 AND c_d_id = 8 AND c_id = 15"
    before, then = db.row(sums), db.row(customer)
    said = db.call("payment", 1, 3, 2, 8, 15, 0, Decimal("1234.56"))
    after, now = db.row(sums), db.row(customer)
    assert [after[each] - before[each] for each in "wdh"] == [Decimal("1234.56"), Decimal("1234.56"), 1]
    assert then["c_balance"] - now["c_balance"] == Decimal("1234.56")
    assert now["c_ytd_payment"] - then["c_ytd_payment"] == Decimal("1234.56")
    assert now["c_payment_cnt"] == then["c_payment_cnt"] + 1
    paid = db.row("SELECT * FROM history ORDER BY h_date DESC, h_amount LIMIT 1")
    names = db.row("SELECT w_name || '    ' || d_name AS data FROM warehouse JOIN district ON d_w_id = w_id "
                   "WHERE w_id = 1 AND d_id = 3")  # fmt: skip
    ids = [paid[name] for name in ("h_c_id", "h_c_d_id", "h_c_w_id", "h_d_id", "h_w_id", "h_date", "h_data")]
    assert ids == [15, 8, 2, 3, 1, said["paid_at"], names["data"]]
    assert (said["customer_id"], said["balance"], said["family_name"]) == (15, now["c_balance"], now["c_last"])
    assert all(said[name] is not None for name in said if name != "data")


@pytest.mark.parametrize(("credit", "is_written"), [("BC", True), ("GC", False)])
def test_payment_of_bad_credit_is_written_into_the_customer_s_data(db: Session, credit: str, is_written: bool) -> None:
    where = f"FROM customer WHERE c_w_id = 1 AND c_d_id = 2 AND c_credit = '{credit}' ORDER BY c_id LIMIT 1"
    chosen = db.row(f"SELECT c_id, c_data {where}")
    said = db.call("payment", 1, 2, 1, 2, chosen["c_id"], 0, Decimal("10.5"))
    now = db.row(f"SELECT c_data FROM customer WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = {chosen['c_id']}")["c_data"]
    written = f"{chosen['c_id']} 2 1 2 1 10.5|{chosen['c_data']}"[:500]
    assert now == (written if is_written else chosen["c_data"])
    assert said["data"] == (now[:200] if is_written else None)
    assert said["credit"] == credit


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_customer_by_last_name_is_the_middle_one_by_first_name_rounded_up(db: Session, count: int) -> None:
    """Clauses 2.5.2.2 and 2.6.2.2."""
    number = 371
    name = "".join(rows.SYLLABLES[int(digit)] for digit in str(number))
    found = customers(db, 1, 6, name)
    db.connection.execute(
        b"UPDATE customer SET c_last = 'NOBODY' WHERE c_w_id = 1 AND c_d_id = 6 AND c_last = %s", [name]
    )
    chosen = list(range(1, count + 1)) if len(found) < count else [each["c_id"] for each in found[:count]]
    db.connection.execute(
        b"UPDATE customer SET c_last = %s WHERE c_w_id = 1 AND c_d_id = 6 AND c_id = ANY (%s)", [name, chosen]
    )
    ids = [each["c_id"] for each in customers(db, 1, 6, name)]
    middle = ids[(count + 1) // 2 - 1]
    assert db.call("payment", 1, 6, 1, 6, 0, number, Decimal(1))["customer_id"] == middle
    assert db.call("order_status", 1, 6, 0, number)["customer_id"] == middle


@pytest.mark.parametrize("number", [0, 7, 42, 371, 999])
def test_last_names_are_the_data_s(db: Session, number: int) -> None:
    expected = "".join(rows.SYLLABLES[int(digit)] for digit in f"{number:03}")
    assert db.row(f"SELECT last_name({number}) AS name") == {"name": expected}


# Order-Status, Delivery, Stock-Level.


def test_order_status_is_of_the_customer_s_last_order(db: Session) -> None:
    made = [db.call("new_order", 1, 9, 33, 5, [n, 2, 3, 4, 6], [1, 2, 1, 1, 1], [n] * 5)["order_id"] for n in (1, 5)]
    said = db.call("order_status", 1, 9, 33, 0)
    customer = db.row("SELECT * FROM customer WHERE c_w_id = 1 AND c_d_id = 9 AND c_id = 33")
    assert said["order_id"] == made[1]
    assert (said["items"], said["supply_warehouses"], said["quantities"]) == ([5, 2, 3, 4, 6], [1, 2, 1, 1, 1], [5] * 5)
    assert (said["carrier_id"], said["delivery_dates"]) == (None, [None] * 5)
    assert (said["balance"], said["first_name"]) == (customer["c_balance"], customer["c_first"])


def test_delivery_delivers_the_oldest_order_of_each_district_and_skips_one_that_has_none(db: Session) -> None:
    """Clause 2.7.4.2."""
    db.connection.execute(b"DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 5")
    oldest = {
        row["no_d_id"]: row["oldest"]
        for row in db.rows("SELECT no_d_id, min(no_o_id) AS oldest FROM new_order WHERE no_w_id = 2 GROUP BY no_d_id")
    }
    asked = (
        "SELECT o_d_id, c_id, c_balance, c_delivery_cnt, "
        "(SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = 2 AND ol_d_id = o_d_id AND ol_o_id = o_id) AS amount "
        "FROM orders JOIN customer ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id "
        f"WHERE o_w_id = 2 AND (o_d_id, o_id) IN ({', '.join(map(str, oldest.items()))}) ORDER BY o_d_id"
    )
    before = db.rows(asked)
    undelivered = db.row("SELECT count(*) AS n FROM new_order")["n"]
    said = db.call("delivery", 2, 7)
    assert said["order_ids"] == [oldest.get(district) for district in range(1, 11)]
    assert said["order_ids"][4] is None
    assert db.row("SELECT count(*) AS n FROM new_order")["n"] == undelivered - 9
    for then, now in zip(before, db.rows(asked), strict=True):
        assert now["c_balance"] == then["c_balance"] + then["amount"]
        assert now["c_delivery_cnt"] == then["c_delivery_cnt"] + 1
    pairs = f"({', '.join(map(str, oldest.items()))})"
    carriers = db.rows(f"SELECT DISTINCT o_carrier_id FROM orders WHERE o_w_id = 2 AND (o_d_id, o_id) IN {pairs}")
    assert carriers == [{"o_carrier_id": 7}]
    dates = db.rows(
        "SELECT DISTINCT ol_delivery_d = localtimestamp AS now FROM order_line "
        f"WHERE ol_w_id = 2 AND (ol_d_id, ol_o_id) IN {pairs}"
    )
    assert dates == [{"now": True}]


def test_stock_level_counts_low_items_of_the_last_twenty_orders_once(db: Session) -> None:
    """Clause 2.8.2.2."""
    next_order = db.row("SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = 2")["d_next_o_id"]
    recent = f"SELECT ol_i_id FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id > {next_order - 30}"
    db.connection.execute(f"UPDATE stock SET s_quantity = 50 WHERE s_w_id = 1 AND s_i_id IN ({recent})".encode())
    last = f"ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id BETWEEN {next_order - 20} AND {next_order - 1}"
    items = [row["ol_i_id"] for row in db.rows(f"SELECT DISTINCT ol_i_id FROM order_line WHERE {last} LIMIT 3")]
    older = db.row(f"SELECT ol_i_id FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = {next_order - 21} "
                   f"AND ol_i_id NOT IN (SELECT ol_i_id FROM order_line WHERE {last}) LIMIT 1")["ol_i_id"]  # fmt: skip
    for item, quantity in zip([*items, older], [9, 10, 14, 5], strict=True):
        db.connection.execute(f"UPDATE stock SET s_quantity = {quantity} WHERE s_w_id = 1 AND s_i_id = {item}".encode())
    assert [db.call("stock_level", 1, 2, threshold)["low_stock"] for threshold in (9, 10, 11, 15)] == [0, 1, 2, 3]


# Trials.


def trial(name: str, **levels: Any) -> Trial:
    factors = load_workload("order_entry").factors
    chosen: dict[str, Any] = {factor: declared.default for factor, declared in factors.items()}
    chosen |= {"warehouses": WAREHOUSES, "clients": 8, "ramp_up_s": 1, "window_s": 3, "growth_percent_max": 1000}
    chosen |= levels
    return Trial(f"{name}.r1", name, "lab_db1", name, "order_entry", chosen, 1, SEED, 120, {})


def run(testbed: Testbed, chosen: Trial, folder: Path) -> Reading:
    """The workload's part of a trial: no telemetry, no archive, no second of rest."""
    workload, job = load_workload("order_entry"), DetachedJob(testbed.fleet, "client", f"jobs/{chosen.id}")
    workload.prepare(chosen, testbed.engine)
    job.start(workload.job(chosen, testbed.engine), 60)
    assert job.wait().exit_status == 0, job.errors()
    job.collect(workload.outputs, folder)
    workload.restore(chosen, testbed.engine)
    return workload.read(folder, chosen, {})


@pytest.fixture(scope="module")
def record(testbed: Testbed) -> TrialRecord:
    """Of a whole trial, in the default isolation: repeatable read."""
    return run_trial(trial("whole", window_s=2), testbed)


def test_trial_completes_and_leaves_a_consistent_database(testbed: Testbed, record: TrialRecord) -> None:
    assert (record.outcome, record.reason) == ("completed", "")
    everything = consistency.statement(DATASET.table, range(1, WAREHOUSES + 1))
    assert consistency.problem(testbed.engine.query(everything)) is None  # type: ignore[attr-defined]
    assert record.evidence["workload"]["session_settings"]["default_transaction_isolation"] == "repeatable read"


def test_retries_are_counted(record: TrialRecord) -> None:
    """Eight clients on two warehouses meet all the time."""
    assert record.measurements["retries_per_s"] > 0


@pytest.mark.parametrize(
    ("isolation", "meets"), [pytest.param("read_committed", False, marks=pytest.mark.long), ("serializable", True)]
)
def test_other_isolations_keep_the_database_consistent(
    testbed: Testbed, tmp_path: Path, isolation: str, *, meets: bool
) -> None:
    """Read committed needs no retry, unless for a deadlock: there are none."""
    reading = run(testbed, trial(isolation, isolation=isolation, ramp_up_s=0, window_s=1), tmp_path)
    facts: Any = reading.details["facts"]
    assert (reading.errors, facts["order_entry_trials"]["problem"]) == (0, "none")
    assert facts["order_entry_trials"]["orders_made"] == facts["order_entry_trials"]["new_orders_counted"] > 0
    log = pgbench_log.read(tmp_path)
    assert log
    assert (sum(counts.retries for counts in log.seconds.values()) > 0) == meets


def test_counts_are_what_the_database_says_has_happened(record: TrialRecord) -> None:
    """Orders entered over the whole run, as the districts number them; the suite compares them with the log's."""
    (facts,) = found = fact_rows([record])["order_entry_trials"]
    assert facts["orders_made"] == facts["new_orders_counted"] > 0
    wrong = [verdict.says for verdict in validate("order_entry_trials", found) if not verdict.passed]
    assert [says for says in wrong if "steady" not in says] == [], "two seconds on a busy machine need not be steady"


def test_evidence_says_how_durable_it_was_and_what_the_data_was(record: TrialRecord) -> None:
    evidence = record.evidence
    assert evidence["workload"]["durability"] == {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
    assert evidence["caches"]["proof"] == "none: the ramp-up fills them"
    assert set(evidence["workload"]["data"]) == {"orders_grown_percent", "made_anew"}


def test_setting_that_trades_durability_away_reaches_the_driver_s_sessions_and_is_undone(testbed: Testbed) -> None:
    workload, chosen = load_workload("order_entry"), trial("off", synchronous_commit="off")
    evidence = workload.prepare(chosen, testbed.engine)
    assert evidence["durability"]["synchronous_commit"] == "off"  # type: ignore[index]
    workload.restore(chosen, testbed.engine)
    assert testbed.engine.settings(["synchronous_commit"]) == {"synchronous_commit": "on"}


def test_warehouse_total_that_was_broken_before_fails_the_trial_in_words(testbed: Testbed) -> None:
    change = f"UPDATE {DATASET.table}.warehouse SET w_ytd = w_ytd {{}} 0.01 WHERE w_id = 2"
    testbed.engine.execute(change.format("+"))  # type: ignore[attr-defined]
    try:
        with pytest.raises(EngineError, match=r"not consistent before the trial: .*condition 1 \(W_YTD = sum\(D_YTD\)"):
            load_workload("order_entry").prepare(trial("broken"), testbed.engine)
    finally:
        testbed.engine.execute(change.format("-"))  # type: ignore[attr-defined]


def test_found_load_is_the_one_that_runs_and_that_is_told(testbed: Testbed) -> None:
    planned = trial("found", clients=64, cpu_percent=50)
    found = replace(planned, levels={**planned.levels, "clients": 3, "rate_per_s": 250.5})
    job = load_workload("order_entry").job(found, testbed.engine)
    assert "\nclients=3\n" in job.command
    assert "--rate=250.5" in job.command
    other = load_workload("order_entry").job(replace(found, levels={**found.levels, "clients": 4}), testbed.engine)
    seeds = [next(w for w in each.command.split() if w.startswith("--random-seed")) for each in (job, other)]
    assert seeds[0] != seeds[1]


@pytest.mark.long
def test_the_highest_rate_below_a_latency_is_looked_for_and_measured(testbed: Testbed) -> None:
    """How fast this machine is at the moment decides where it ends, so also a window above the limit is an answer."""
    limit_ms = 200
    record = run_trial(trial("limit", clients=4, response_ms_p99=limit_ms, probe_s=1), testbed)
    load = record.evidence["load"]
    fastest, *held = load["steps"]
    assert fastest["rate_per_s"] == 0 and held[0]["rate_per_s"] == pytest.approx(
        0.7 * fastest["throughput_per_s"], rel=0.01
    )
    if "rate_per_s" not in load:  # nor was any rate held
        assert record.outcome == "not_applicable" and record.reason
        return
    assert load["clients"] == 4
    assert load["rate_per_s"] < load["above_per_s"] <= fastest["throughput_per_s"]
    if record.outcome == "completed":
        assert record.measurements["response_ms_p99"] <= 1.1 * limit_ms
        assert record.measurements["throughput_per_s"] > 0.8 * load["rate_per_s"]
    else:
        assert record.outcome == "not_applicable" and f"and {limit_ms} ms was the limit" in record.reason


def test_every_script_is_in_the_job(testbed: Testbed) -> None:
    job = load_workload("order_entry").job(trial("files"), testbed.engine)
    for name, weight in mix.WEIGHTS.items():
        assert f"--file={name}.sql@{weight}" in job.command
        assert f"{name}.sql" in job.files
