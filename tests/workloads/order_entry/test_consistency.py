"""The consistency conditions in the lab's real PostgreSQL: each is broken on purpose, and put back."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.engines.postgres.engine import Postgres
from clusterbench.workloads.order_entry import consistency

SCHEMA = "order_entry_w1"

DELIVER = """
UPDATE customer
SET c_balance = c_balance + (SELECT sum(ol_amount) FROM order_line WHERE ol_d_id = 2 AND ol_o_id = {order})
WHERE c_d_id = 2 AND c_id = (SELECT o_c_id FROM orders WHERE o_d_id = 2 AND o_id = {order});
UPDATE order_line SET ol_delivery_d = now() WHERE ol_d_id = 2 AND ol_o_id = {order};
UPDATE orders SET o_carrier_id = 1 WHERE o_d_id = 2 AND o_id = {order};
"""
REMOVE = "DELETE FROM new_order WHERE no_d_id = 2 AND no_o_id = {order};"
STRAY = "INSERT INTO history VALUES (0, 11, 1, 11, 1, now(), 1.00, 'of no district');"
"""A payment that no customer and no district has."""

BROKEN = {
    1: (
        f"{STRAY} UPDATE warehouse SET w_ytd = w_ytd + 1",
        "W_YTD = sum(D_YTD)) is violated once: W_ID 1: W_YTD is 300001.00, sum(D_YTD) is 300000.00",
    ),
    2: (
        "UPDATE district SET d_next_o_id = 3002 WHERE d_id = 4",
        "D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)) is violated once: D_W_ID 1, D_ID 4: D_NEXT_O_ID is 3002, "
        "max(O_ID) is 3000, max(NO_O_ID) is 3000",
    ),
    3: (
        DELIVER.format(order=2500) + REMOVE.format(order=2500),
        "is violated once: NO_W_ID 1, NO_D_ID 2: NO_O_ID is 2101 to 3000 in 899 rows",
    ),
    4: (
        "INSERT INTO order_line VALUES (9999, 7, 1, 1, 1, 1, NULL, 5, 1.00, 'of no order')",
        "O_W_ID 1, O_D_ID 7: sum(O_OL_CNT) is",
    ),
    5: (
        DELIVER.format(order=3000),
        "is violated once: O_W_ID 1, O_D_ID 2, O_ID 3000: O_CARRIER_ID is 1, rows of NEW-ORDER are 1",
    ),
    6: (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE WHEN o_id = 1 THEN 1 ELSE -1 END WHERE o_d_id = 3 AND o_id <= 2",
        "is violated 2 times: O_W_ID 1, O_D_ID 3, O_ID 1: O_OL_CNT is",
    ),
    7: (
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 5 AND ol_o_id = 17 AND ol_number = 2",
        "O_W_ID 1, O_D_ID 5, O_ID 17: O_CARRIER_ID is",
    ),
    8: (STRAY, "W_YTD = sum(H_AMOUNT)) is violated once: W_ID 1: W_YTD is 300000.00, sum(H_AMOUNT) is 300001.00"),
    9: (
        "UPDATE district SET d_ytd = d_ytd + CASE WHEN d_id = 1 THEN 1 ELSE -1 END WHERE d_id <= 2",
        "is violated 2 times: D_W_ID 1, D_ID 1: D_YTD is 30001.00, sum(H_AMOUNT) is 30000.00",
    ),
    10: (
        "UPDATE customer SET c_balance = -9, c_ytd_payment = 9 WHERE c_d_id = 6 AND c_id = 9",
        "is violated once: C_W_ID 1, C_D_ID 6, C_ID 9: C_BALANCE is -9.00, sum(OL_AMOUNT) of what was delivered less "
        "sum(H_AMOUNT) is -10.00",
    ),
    11: (
        DELIVER.format(order=2101) + REMOVE.format(order=2101),
        "is violated once: O_W_ID 1, O_D_ID 2: rows of ORDER are 3000, of NEW-ORDER 899",
    ),
    12: (
        "UPDATE customer SET c_ytd_payment = 11 WHERE c_d_id = 6 AND c_id = 9",
        "is violated once: C_W_ID 1, C_D_ID 6, C_ID 9: C_BALANCE + C_YTD_PAYMENT is 1.00, sum(OL_AMOUNT) of what was "
        "delivered is 0.00",
    ),
}
"""For every condition what breaks it and no other one, and words that then must be said."""


def seen(engine: Postgres, change: str = "SELECT 1", *, fresh: bool = False) -> list[dict[str, object]]:
    """What the statement finds after ``change``, which is taken back."""
    with engine.connect() as connection, connection.transaction(force_rollback=True):
        connection.execute(f"SET LOCAL search_path = {SCHEMA}; {change}".encode())
        return connection.execute(consistency.statement(SCHEMA, [1], fresh=fresh).encode()).fetchall()


@pytest.mark.lab
def test_every_condition_holds_for_fresh_rows(engine: Postgres) -> None:
    rows = seen(engine, fresh=True)
    assert consistency.problem(rows, fresh=True) is None
    assert consistency.violations(rows) == 0
    assert sorted(int(str(row["condition"])) for row in rows) == list(range(1, 13))


@pytest.mark.lab
@pytest.mark.parametrize("condition", BROKEN)
def test_broken_condition_is_named_and_no_other(engine: Postgres, condition: int) -> None:
    change, words = BROKEN[condition]
    is_fresh = condition == consistency.FRESH_ONLY
    rows = seen(engine, change, fresh=is_fresh)
    assert {row["condition"] for row in rows if row["violations"]} == {condition}
    problem = str(consistency.problem(rows, fresh=is_fresh))
    assert problem.startswith(f"TPC-C 5.11, clause 3.3.2: condition {condition} ({consistency.CONDITIONS[condition]})")
    assert words in problem


@pytest.mark.lab
def test_wrong_total_of_a_warehouse_is_caught(engine: Postgres) -> None:
    problem = consistency.problem(seen(engine, "UPDATE warehouse SET w_ytd = w_ytd - 0.01"))
    assert problem == (
        "TPC-C 5.11, clause 3.3.2: "
        "condition 1 (W_YTD = sum(D_YTD)) is violated once: W_ID 1: W_YTD is 299999.99, sum(D_YTD) is 300000.00; "
        "condition 8 (W_YTD = sum(H_AMOUNT)) is violated once: W_ID 1: W_YTD is 299999.99, sum(H_AMOUNT) is 300000.00"
    )


@pytest.mark.lab
@pytest.mark.parametrize(
    ("change", "conditions"),
    [
        ("DELETE FROM district WHERE d_id = 1", {1}),
        ("DELETE FROM orders WHERE o_d_id = 1 AND o_id = 3000", {2, 4}),
        ("DELETE FROM order_line WHERE ol_d_id = 1 AND ol_o_id = 1", {4, 6}),
        ("DELETE FROM new_order WHERE no_d_id = 1", {5}),
        ("DELETE FROM history WHERE h_d_id = 1 AND h_c_id = 1", {8, 9, 10}),
    ],
)
def test_rows_that_are_missing_show(engine: Postgres, change: str, conditions: set[int]) -> None:
    assert {row["condition"] for row in seen(engine, change) if row["violations"]} == conditions


# Without a database.


def test_warehouses_in_a_row_are_a_range_and_others_a_list() -> None:
    assert "ol_w_id BETWEEN 3 AND 5" in consistency.statement("s", [3, 4, 5])
    assert "ol_w_id IN (3, 5)" in consistency.statement("s", [3, 5])


def test_condition_of_fresh_data_is_asked_for_only_where_it_is() -> None:
    asked = consistency.statement(SCHEMA, [1], fresh=True)
    assert "SELECT 11" in asked and "SELECT 11" not in consistency.statement(SCHEMA, [1])
    assert not asked.endswith(";")


def test_sample_is_drawn_by_seed_and_repetition() -> None:
    drawn = consistency.sample(32_000, 100, 7, 1)
    assert drawn == consistency.sample(32_000, 100, 7, 1) == sorted(set(drawn))
    assert len(drawn) == 100 and drawn[0] >= 1 and drawn[-1] <= 32_000
    assert drawn != consistency.sample(32_000, 100, 7, 2) and drawn != consistency.sample(32_000, 100, 8, 1)
    assert consistency.sample(3, 100, 7, 1) == [1, 2, 3]


def row(condition: int, violations: int = 0, example: str = "") -> dict[str, Any]:
    return {"condition": condition, "violations": violations, "example": example}


def test_broken_condition_is_told_with_how_often_and_an_example() -> None:
    rows = [row(number) for number in consistency.CONDITIONS if number not in (3, 11)] + [row(3, 1200, "NO_W_ID 1")]
    assert consistency.violations(rows) == 1200
    assert str(consistency.problem(rows)).endswith(
        "rows of NEW-ORDER in the district) is violated 1,200 times: NO_W_ID 1"
    )


def test_check_that_did_not_end_is_no_success() -> None:
    assert consistency.problem([]) == (
        "TPC-C 5.11, clause 3.3.2: nobody knows whether these conditions hold: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12; "
        "the check did not end"
    )
    assert consistency.problem([row(1)], fresh=True) is not None
