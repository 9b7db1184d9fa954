"""The retail dataset: its rows, made by DuckDB, and what follows from their number alone."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from itertools import pairwise
from statistics import mean, median
from typing import Any

import pytest

from clusterbench.base.datasets import Dataset, Partition
from clusterbench.base.sql import statement
from clusterbench.workloads.retail import load_files, order_lineitems
from clusterbench.workloads.retail.order_lineitems import (
    dataset_of,
    orders_of,
    partition_rows,
    partitions,
    rows_of,
    select,
)

SEED = 20060101
FULL = 8_400_000_000
COLUMNS = [line.split(maxsplit=1) for line in statement("order_lineitems", "columns").rstrip().splitlines()]
NAMES = [name for name, _ in COLUMNS]
LINES_PER_BLOCK = order_lineitems.LINES_PER_BLOCK

Row = dict[str, Any]


def made(rows: int, ids: str, seed: int = SEED, *, as_text: bool = False) -> list[Row]:
    """The rows of a table of ``rows`` whose numbers ``ids`` has, in their order."""
    found = order_lineitems.duckdb(select(rows, seed, ids), as_text=as_text)
    assert all(len(row) == len(NAMES) for row in found)
    return sorted((dict(zip(NAMES, row, strict=True)) for row in found), key=lambda row: int(row["order_item_id"]))


def table(rows: int, seed: int = SEED, *, as_text: bool = False) -> list[Row]:
    return made(rows, f"generate_series(1, {rows})", seed, as_text=as_text)


def sample(rows: int, count: int = 4000) -> str:
    chance = random.Random(SEED)
    return f"(SELECT unnest({[chance.randint(1, rows) for _ in range(count)]}))"


def line_of(row: Row) -> str:
    """As COPY writes it to a load file, and as every engine joins it for the checksum."""
    return "|".join("" if row[name] is None else row[name] for name in NAMES)


@pytest.fixture(scope="module")
def rows_20k() -> list[Row]:
    return table(20_000)


@pytest.fixture(scope="module")
def texts_1k() -> list[Row]:
    return table(1000, as_text=True)


@pytest.fixture(scope="module")
def last_at_full_scale() -> list[Row]:
    """The last rows of the paper's table."""
    return made(FULL, f"generate_series({FULL - 1999}, {FULL})")


# Rows are a function of their number.


def test_slice_made_alone_is_the_same_rows_of_the_whole(texts_1k: list[Row]) -> None:
    assert made(1000, "generate_series(301, 450)", as_text=True) == texts_1k[300:450]
    assert made(1000, "(SELECT unnest([77, 1, 1000]))", as_text=True) == [texts_1k[n] for n in (0, 76, 999)]


@pytest.mark.parametrize("number", [0, 7, 15])
def test_load_file_has_every_sixteenth_row(texts_1k: list[Row], number: int) -> None:
    ids = f"generate_series({number + 1}, 1000, {load_files.FILES})"
    assert made(1000, ids, as_text=True) == texts_1k[number :: load_files.FILES]
    assert load_files.lines_of(number, 1000) == len(texts_1k[number :: load_files.FILES])


@pytest.mark.parametrize("rows", [1000, 1001, 2_300_000_000])
def test_load_files_together_have_all_rows(rows: int) -> None:
    assert sum(load_files.lines_of(number, rows) for number in range(load_files.FILES)) == rows


def test_same_seed_gives_the_same_rows(texts_1k: list[Row]) -> None:
    assert table(1000, as_text=True) == texts_1k


def test_another_seed_gives_other_rows(texts_1k: list[Row]) -> None:
    others = table(1000, SEED + 1, as_text=True)
    assert [row["order_item_id"] for row in others] == [row["order_item_id"] for row in texts_1k]
    same = [one["product_id"] == other["product_id"] for one, other in zip(texts_1k, others, strict=True)]
    assert sum(same) < 20
    same = [one["customer_id"] == other["customer_id"] for one, other in zip(texts_1k, others, strict=True)]
    assert sum(same) < 200, "there are but 40 customers, some with many orders"


def test_whole_dataset_for_duckdb_is_all_of_its_rows(texts_1k: list[Row]) -> None:
    found = order_lineitems.duckdb(f"SELECT * FROM {order_lineitems.duckdb_rows(dataset_of(1000, SEED))}", as_text=True)
    assert sorted(found) == sorted(tuple(row.values()) for row in texts_1k)


def test_insert_is_of_the_dataset_s_own_rows() -> None:
    text = order_lineitems.insert(dataset_of(1000, 7), "generate_series(1, 500)")
    assert text == 'INSERT INTO "order_lineitems_1000"\n' + select(1000, 7, "generate_series(1, 500)")
    assert "FROM generate_series(1, 500) AS ids(id)" in text


# Orders and their lines.


@pytest.mark.parametrize("rows", [1, 2, 5, 49, 50, 51, 1000, 1001, 12_345])
def test_orders_are_as_many_as_distinct_order_ids(rows: int) -> None:
    distinct = f"SELECT count(DISTINCT order_id) FROM {order_lineitems.duckdb_rows(dataset_of(rows, SEED))}"
    assert order_lineitems.duckdb(distinct) == [(orders_of(rows),)]


@pytest.mark.parametrize("rows", [1000, 1001, 1002])
def test_lines_before_an_order_are_those_with_smaller_ids(rows: int) -> None:
    ids = [row["order_id"] - 1_000_000_000 for row in table(rows)]
    for order in range(orders_of(rows) + 1):
        assert order_lineitems.lines_before(order, rows) == sum(1 for number in ids if number < order), order


def test_lines_of_an_order_are_numbered_from_1_without_gaps(rows_20k: list[Row]) -> None:
    lines = defaultdict(list)
    for row in rows_20k:
        lines[row["order_id"]].append(row["order_item_id"] - row["order_id"] * 10)
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in lines.values())
    assert {len(numbers) for numbers in lines.values()} == {1, 2, 3, 4, 5, 6}


def test_an_order_has_one_customer_and_one_time_and_one_store(rows_20k: list[Row]) -> None:
    found = {(row["order_id"], row["customer_id"], row["order_datetime"], row["store_id"]) for row in rows_20k}
    assert len(found) == orders_of(20_000)


def times(rows: Iterable[Row]) -> list[datetime]:
    """Of the orders, in the order of their ids."""
    found = {row["order_id"]: row["order_datetime"] for row in rows}
    return [found[order] for order in sorted(found)]


def test_times_rise_with_order_ids_and_no_two_orders_share_one(rows_20k: list[Row]) -> None:
    """So FIRST_VALUE and LAST_VALUE by time have one answer."""
    assert all(one < other for one, other in pairwise(times(rows_20k)))


def test_times_rise_with_order_ids_at_full_scale_too(last_at_full_scale: list[Row]) -> None:
    found = times(last_at_full_scale)
    assert len(found) == 2000 * order_lineitems.ORDERS_PER_BLOCK // LINES_PER_BLOCK
    assert all(one < other for one, other in pairwise(found))
    assert found[-1] < datetime(2011, 1, 1)


# Partitions.


def test_partitions_are_48_months_and_53_weeks() -> None:
    assert Counter(part.name[0] for part in partitions()) == {"m": 48, "w": 53}
    assert partitions()[0] == Partition("m2006_01", date(2006, 1, 1), date(2006, 2, 1))
    assert partitions()[47] == Partition("m2009_12", date(2009, 12, 1), date(2010, 1, 1))
    assert partitions()[48] == Partition("w2010_01_01", date(2010, 1, 1), date(2010, 1, 8))
    assert partitions()[100] == Partition("w2010_12_31", date(2010, 12, 31), date(2011, 1, 1))


def test_partitions_have_no_gaps() -> None:
    assert (partitions()[0].start, partitions()[-1].end) == (date(2006, 1, 1), date(2011, 1, 1))
    assert all(one.end == other.start for one, other in pairwise(partitions()))
    assert all(part.start < part.end for part in partitions())


def test_partitions_have_names_of_their_own() -> None:
    assert len({part.name for part in partitions()}) == 101


def test_partitions_of_the_last_year_are_the_weeks() -> None:
    assert order_lineitems.partitions_of_last_year() == list(partitions()[48:])


@pytest.mark.parametrize("rows", [1000, 1001, 20_000, 123_457])
def test_rows_of_a_partition_are_those_that_duckdb_puts_there(rows: int) -> None:
    days = dict(
        order_lineitems.duckdb(
            "SELECT CAST(order_datetime AS date), count(*) FROM "
            f"{order_lineitems.duckdb_rows(dataset_of(rows, SEED))} GROUP BY 1"
        )
    )
    found = {
        part.name: sum(count for day, count in days.items() if part.start <= day < part.end) for part in partitions()
    }
    assert found == {part.name: rows_of(part, rows) for part in partitions()}
    assert sum(found.values()) == rows


@pytest.mark.parametrize("rows", [1, 1000, 5_000_000, FULL, order_lineitems.ROWS.maximum])
def test_partitions_together_have_all_rows(rows: int) -> None:
    assert sum(rows_of(part, rows) for part in partitions()) == rows


def of_2010(rows: int) -> int:
    return sum(rows_of(part, rows) for part in order_lineitems.partitions_of_last_year())


def test_share_of_2010_is_the_paper_s() -> None:
    """1.7 of 8.4 billion."""
    assert round(of_2010(FULL) / 1e9, 1) == 1.7
    assert 0.195 <= of_2010(FULL) / FULL <= 0.205


def test_share_of_2010_is_as_expected_for_every_number_of_rows_that_is_allowed() -> None:
    """The bounds of ``expectations/order_lineitems.json``: right rows must not be called wrong."""
    fewest = int(order_lineitems.ROWS.minimum)
    wrong = [rows for rows in range(fewest, fewest + 1000) if not 0.195 <= of_2010(rows) / rows <= 0.205]
    assert wrong == []


# Products and customers.


def test_a_product_has_one_name_and_one_category_and_a_category_one_name(rows_20k: list[Row]) -> None:
    products = {(row["product_id"], row["product_name"], row["product_category_id"]) for row in rows_20k}
    assert len(products) == len({row["product_id"] for row in rows_20k})
    categories = {(row["product_category_id"], row["product_category_name"]) for row in rows_20k}
    assert categories == {(number, name) for number, (name, _) in enumerate(order_lineitems.CATEGORIES, 1)}


def test_no_two_products_share_a_name(rows_20k: list[Row]) -> None:
    assert len({row["product_name"] for row in rows_20k}) == len({row["product_id"] for row in rows_20k})


def test_products_that_full_scan_asks_for_are_of_five_categories_of_electronics() -> None:
    text = statement("retail", "full_scan", table=1)
    asked = re.findall(r"PRODUCT_ID IN \((.*)\)", text)[0].split(",")
    found = [order_lineitems.CATEGORIES[int(product) % len(order_lineitems.CATEGORIES)][0] for product in asked]
    assert found == ["Televisions", "Computers", "Cameras", "Phones", "Audio"]


def test_products_that_full_scan_asks_for_are_bought(rows_20k: list[Row]) -> None:
    found = {
        row["product_id"]: row["product_category_name"] for row in rows_20k if row["product_id"] in (20, 25, 29, 50, 38)
    }
    assert found == {20: "Televisions", 25: "Computers", 29: "Cameras", 50: "Phones", 38: "Audio"}


def test_some_customers_have_many_orders_and_most_have_few(rows_20k: list[Row]) -> None:
    orders = {(row["order_id"], row["customer_id"]) for row in rows_20k}
    counts = Counter(customer for _, customer in orders)
    assert max(counts.values()) > 20 * median(counts.values())
    assert sum(1 for count in counts.values() if count <= 5) > len(counts) / 10
    assert mean(counts.values()) == pytest.approx(order_lineitems.ORDERS_PER_CUSTOMER, rel=0.05)


def test_some_products_are_popular(rows_20k: list[Row]) -> None:
    counts = Counter(row["product_id"] for row in rows_20k)
    assert max(counts.values()) > 20 * median(counts.values())


def test_a_customer_s_address_is_always_the_same(rows_20k: list[Row]) -> None:
    names = [name for name in NAMES if name.startswith("ship_") and name != "ship_datetime"]
    assert len({tuple(row[name] for name in ("customer_id", *names)) for row in rows_20k}) == len(
        {row["customer_id"] for row in rows_20k}
    )


# Values.


def out_of_range(rows: Iterable[Row], count: int) -> list[Row]:
    """As ``inspect.sql`` asks in the database, and that whole numbers fit their columns."""
    ids = range(1_000_000_000, 1_000_000_000 + orders_of(count))
    return [
        row
        for row in rows
        if not (
            row["order_id"] in ids
            and 1 <= row["customer_id"] <= order_lineitems.customers_of(count) < 2**31
            and 1 <= row["product_id"] <= order_lineitems.PRODUCTS < 2**31
            and 1 <= row["store_id"] <= 400
            and 1 <= row["item_quantity"] <= 10
            and 0.99 <= row["item_price"] <= 500
            and 0 <= row["tax_amount"] <= row["item_price"] * row["item_quantity"]
            and 0 <= row["discount_amount"] <= row["item_price"] * row["item_quantity"]
            and 0 <= row["coupon_amount"] <= row["item_price"] * row["item_quantity"]
            and datetime(2006, 1, 1) <= row["order_datetime"] < datetime(2011, 1, 1)
            and row["order_datetime"] < row["ship_datetime"]
        )
    ]


def test_values_are_in_their_ranges(rows_20k: list[Row]) -> None:
    assert out_of_range(rows_20k, 20_000) == []


def test_values_are_in_their_ranges_at_full_scale(last_at_full_scale: list[Row]) -> None:
    assert last_at_full_scale[-1]["order_id"] == 1_000_000_000 + orders_of(FULL) - 1
    assert out_of_range(last_at_full_scale, FULL) == []
    assert out_of_range(made(FULL, sample(FULL)), FULL) == []


def test_rows_can_be_made_for_every_number_of_rows_that_is_allowed() -> None:
    most = int(order_lineitems.ROWS.maximum)
    assert out_of_range(made(most, f"generate_series({most - 99}, {most})"), most) == []


def test_last_order_is_of_the_last_day(rows_20k: list[Row], last_at_full_scale: list[Row]) -> None:
    assert rows_20k[0]["order_datetime"] == datetime(2006, 1, 1)
    for rows in (rows_20k, last_at_full_scale):
        assert rows[-1]["order_datetime"].date() == date(2010, 12, 31)


def test_only_what_was_returned_has_dates_of_it_and_only_coupons_an_amount(rows_20k: list[Row]) -> None:
    for row in rows_20k:
        returned, refunded = row["item_return_datetime"], row["item_refund_datetime"]
        assert (row["item_shipment_status_code"] == "RETURNED") == (returned is not None) == (refunded is not None)
        assert returned is None or row["ship_datetime"] < returned < refunded
        assert (row["coupon_code"] is None) == (row["coupon_amount"] == 0)
        assert row["coupon_code"] is None or row["discount_amount"] == 0


def test_some_are_returned_some_have_coupons_and_most_have_neither(rows_20k: list[Row]) -> None:
    returned = mean(row["item_return_datetime"] is not None for row in rows_20k)
    coupons = mean(row["coupon_code"] is not None for row in rows_20k)
    assert returned == pytest.approx(0.04, abs=0.01)
    assert coupons == pytest.approx(0.12, abs=0.01)


def test_columns_that_may_be_null_are_the_only_ones_that_are(rows_20k: list[Row]) -> None:
    nulls = {name for row in rows_20k for name in NAMES if row[name] is None}
    assert nulls == {name for name, kind in COLUMNS if "NOT NULL" not in kind}
    assert nulls == {"item_return_datetime", "item_refund_datetime", "coupon_code"}


@pytest.mark.parametrize("rows", [20_000, FULL])
def test_texts_fit_their_columns(rows: int) -> None:
    widths = {name: int(found[1]) for name, kind in COLUMNS if (found := re.match(r"character.*?\((\d+)\)", kind))}
    assert len(widths) == sum(kind.startswith("character") for _, kind in COLUMNS)
    for row in made(rows, sample(rows)):
        for name, width in widths.items():
            assert row[name] is None or 0 < len(row[name]) <= width, name


@pytest.mark.parametrize("rows", [20_000, FULL])
def test_no_text_needs_an_escape_in_a_load_file(rows: int) -> None:
    values = [value for row in made(rows, sample(rows), as_text=True) for value in row.values() if value is not None]
    assert [value for value in values if re.search(r"[|\\\n\r\t]", value) or value in ("", r"\N")] == []
    assert all(value.isascii() for value in values)


def test_no_text_ends_in_a_blank_that_a_fixed_width_would_lose(texts_1k: list[Row]) -> None:
    assert all(value == value.strip() for row in texts_1k for value in row.values() if value is not None)


def mean_line_bytes(rows: int) -> float:
    return mean(len(f"{line_of(row)}\n".encode()) for row in made(rows, sample(rows), as_text=True))


def test_line_of_a_load_file_is_as_long_as_the_paper_s() -> None:
    """1 TB of 2.3 billion rows."""
    assert mean_line_bytes(2_300_000_000) == pytest.approx(order_lineitems.FILE_LINE_BYTES, abs=8)
    assert abs(order_lineitems.FILE_LINE_BYTES - 1e12 / 2.3e9) < 1


@pytest.mark.parametrize("rows", [1000, 10_000, 1_250_000, 2_300_000_000, FULL])
def test_line_of_a_load_file_is_as_long_as_its_suite_expects(rows: int) -> None:
    assert 390 <= mean_line_bytes(rows) <= 450


# Names and versions.


@pytest.mark.parametrize(
    ("layout", "table", "expected"),
    [
        ("heap", "order_lineitems", "order_lineitems_5000"),
        ("append_row", "order_lineitems", "order_lineitems_5000_append_row"),
        ("append_column", "order_lineitems", "order_lineitems_5000_append_column"),
        ("heap", "order_lineitems_load", "order_lineitems_load_5000"),
    ],
)
def test_table_s_name_has_rows_and_layout(layout: str, table: str, expected: str) -> None:
    dataset = dataset_of(5000, SEED, layout=layout, table=table)
    assert (dataset.name, dataset.table, dataset.storage.layout) == ("order_lineitems", expected, layout)


def test_compression_is_of_layouts_that_can_be_compressed() -> None:
    assert dataset_of(5000, SEED).storage.compression == "none"
    assert dataset_of(5000, SEED, layout="append_row").storage.compression == "zlib"


@pytest.mark.parametrize("table", ["order_lineitems", "order_lineitems_load"])
@pytest.mark.parametrize("layout", ["heap", "append_row", "append_column"])
@pytest.mark.parametrize("rows", [FULL, order_lineitems.ROWS.maximum])
def test_names_of_partitions_are_not_cut_off(rows: int, layout: str, table: str) -> None:
    """A server cuts names after 63 bytes; two weeks would then have the same."""
    dataset = dataset_of(rows, SEED, layout=layout, table=table)
    assert max(len(part.table(dataset.table)) for part in dataset.storage.partitions) <= 63


def test_bytes_expected_are_the_paper_s() -> None:
    """6 TB."""
    assert dataset_of(FULL, SEED).bytes_expected == pytest.approx(6e12, rel=0.03)


def test_columns_that_are_named_are_there() -> None:
    storage = dataset_of(5000, SEED).storage
    assert {storage.distributed_by, storage.partitioned_by, *storage.analysed} <= set(NAMES)


def test_version_is_the_same_for_every_call_and_every_dataset() -> None:
    versions = {dataset_of(rows, seed).version for rows in (1000, 5000) for seed in (7, 8)}
    order_lineitems._version.cache_clear()
    assert versions == {dataset_of(1000, 7).version}
    assert re.fullmatch("[0-9a-f]{8}", versions.pop())


# Checksums.


def test_checksum_is_the_sum_of_digests_over_all_rows() -> None:
    """Computed again in plain Python, from the rows' text alone."""
    digests = (hashlib.md5(line_of(row).encode()).hexdigest() for row in table(200, as_text=True))
    expected = sum(int(digest[:15], 16) for digest in digests)
    assert order_lineitems.expected_checksum(dataset_of(200, SEED)) == str(expected)


def test_checksum_of_another_seed_or_another_size_differs() -> None:
    found = {order_lineitems.expected_checksum(dataset_of(rows, seed)) for rows in (200, 201) for seed in (7, 8)}
    assert len(found) == 4


def test_checksum_does_not_depend_on_how_the_table_is_kept() -> None:
    column = dataset_of(200, SEED, layout="append_column", table="order_lineitems_load")
    assert order_lineitems.expected_checksum(column) == order_lineitems.expected_checksum(dataset_of(200, SEED))


def test_checksum_of_a_large_table_is_left_to_earlier_runs() -> None:
    assert order_lineitems.expected_checksum(dataset_of(10_000_001, SEED)) is None


def test_checksum_on_the_engine_is_of_every_column() -> None:
    query = order_lineitems.checksum_query("order_lineitems_1000")
    assert query.endswith('FROM "order_lineitems_1000"')
    assert [name for name in NAMES if not re.search(rf"\b{name}\b", query)] == []


# What is in the partitions.


@pytest.fixture
def dataset() -> Dataset:
    return dataset_of(5000, SEED)


@pytest.fixture
def by_leaf(dataset: Dataset) -> list[dict[str, Any]]:
    """What the first scan says of a right table."""
    return [
        {
            "leaf": part.table(dataset.table),
            "row_count": rows_of(part, dataset.rows),
            "first_ordered": datetime.combine(part.start, datetime.min.time()),
            "last_ordered": datetime.combine(part.end, datetime.min.time()) - timedelta(microseconds=1),
        }
        for part in partitions()
    ]


def wrong(dataset: Dataset, by_leaf: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        row
        for row in partition_rows(dataset, by_leaf)
        if (row["row_count"], row["begins"], row["ends"]) != (row["rows_expected"], "in range", "in range")
    ]


def test_right_rows_are_in_range(dataset: Dataset, by_leaf: list[dict[str, Any]]) -> None:
    assert wrong(dataset, by_leaf) == []
    rows = partition_rows(dataset, by_leaf)
    assert [row["partition"] for row in rows] == [part.name for part in partitions()]
    assert sum(row["row_count"] for row in rows) == 5000


def test_leaf_is_known_in_another_order_with_its_schema_and_quoted(
    dataset: Dataset, by_leaf: list[dict[str, Any]]
) -> None:
    """A regclass is printed with its schema where that is not on the path, and quoted where it must be."""
    by_leaf[0]["leaf"] = f"bench.{by_leaf[0]['leaf']}"
    by_leaf[1]["leaf"] = f'"Bench"."{by_leaf[1]["leaf"]}"'
    assert wrong(dataset, by_leaf[::-1]) == []


def test_missing_partition_has_no_rows(dataset: Dataset, by_leaf: list[dict[str, Any]]) -> None:
    expected = {"partition": "m2006_03", "row_count": 0, "rows_expected": by_leaf[2]["row_count"]}
    assert wrong(dataset, [*by_leaf[:2], *by_leaf[3:]]) == [{**expected, "begins": "in range", "ends": "in range"}]


def test_row_that_is_too_early_is_said(dataset: Dataset, by_leaf: list[dict[str, Any]]) -> None:
    by_leaf[48]["first_ordered"] = datetime(2009, 12, 31, 23, 59, 59, 999999)
    (row,) = wrong(dataset, by_leaf)
    assert (row["begins"], row["ends"]) == ("w2010_01_01: too early, 2009-12-31 23:59:59.999999", "in range")


def test_row_that_is_too_late_is_said(dataset: Dataset, by_leaf: list[dict[str, Any]]) -> None:
    by_leaf[47]["last_ordered"] = datetime(2010, 1, 1)
    (row,) = wrong(dataset, by_leaf)
    assert (row["begins"], row["ends"]) == ("in range", "m2009_12: too late, 2010-01-01 00:00:00")
