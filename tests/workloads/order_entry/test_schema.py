"""The nine tables as declared, and the statements that follow."""

from __future__ import annotations

from clusterbench.workloads import tables as shared
from clusterbench.workloads.order_entry import schema


def test_tables_are_the_nine_of_the_specification() -> None:
    names = {"warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock"}
    assert set(schema.tables()) == names
    assert {table.name for table in schema.changing()} == names - {"item"}


def test_keys_and_indexes_are_columns_and_have_what_rows_are_spread_by() -> None:
    for table in schema.tables().values():
        assert {*table.key, *(column for columns in table.indexes.values() for column in columns)} <= set(table.columns)
        assert all(table.columns[column].endswith("NOT NULL") for column in table.key)
        assert not table.key or not table.distributed_by or table.distributed_by in table.key, (
            "as a unique index of Greenplum must have it"
        )
    assert [table.name for table in schema.tables().values() if not table.key] == ["history"]
    assert [table.name for table in schema.tables().values() if not table.distributed_by] == ["item"]


def test_keys_are_made_whatever_an_earlier_try_has_made() -> None:
    assert schema.tables()["orders"].make_keys("order_entry_w1") == [
        'ALTER TABLE "order_entry_w1"."orders" DROP CONSTRAINT IF EXISTS orders_pkey',
        'DROP INDEX IF EXISTS "order_entry_w1"."orders_customer"',
        'ALTER TABLE "order_entry_w1"."orders" ADD CONSTRAINT orders_pkey PRIMARY KEY ("o_w_id", "o_d_id", "o_id")',
        'CREATE INDEX orders_customer ON "order_entry_w1"."orders" ("o_w_id", "o_d_id", "o_c_id", "o_id")',
    ]
    assert schema.tables()["history"].make_keys("order_entry_w1") == []


def test_pages_have_room_where_rows_are_updated() -> None:
    tables = schema.tables()
    assert tables["district"].leave_room("s") == 'ALTER TABLE "s"."district" SET (fillfactor = 50)'
    assert tables["history"].fillfactor == 100
    assert tables["stock"].set_autovacuum("s", is_on=True) == 'ALTER TABLE "s"."stock" SET (autovacuum_enabled = true)'


def test_names_of_indexes_have_their_schema() -> None:
    assert schema.tables()["customer"].index_names("s") == ["s.customer_pkey", "s.customer_name"]
    assert schema.tables()["history"].index_names("s") == []


def test_row_s_hash_is_of_every_column() -> None:
    for table in schema.tables().values():
        hashed = str(table.row_hash("row_hash"))
        assert all(f'CAST("{column}" AS varchar)' in hashed for column in table.columns)


def test_comment_of_clusterbench_is_known() -> None:
    assert shared.ours("s.t", "clusterbench: order_entry") == "clusterbench: order_entry"
