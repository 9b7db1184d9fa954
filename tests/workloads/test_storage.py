"""How tables are kept: names that stay, bytes that are expected, and what an engine does not have."""

from __future__ import annotations

from typing import Any

import pytest

from clusterbench.base.datasets import BY_STORAGE, COMPRESSIONS, stored_as
from clusterbench.base.factors import Factor
from clusterbench.base.paths import project_root
from clusterbench.engines.greenplum import tables
from clusterbench.engines.postgres.engine import Postgres
from clusterbench.spec.catalog import Catalog
from clusterbench.workloads import load_workload, storage_not_applicable
from clusterbench.workloads.retail import order_lineitems
from clusterbench.workloads.tpcds import data

LAYOUTS = ("heap", "append_row", "append_column", "pax")
POSTGRES = Postgres.unavailable_on(Catalog(project_root()).platform("lab_db1"), {})
TABLE_NAME_MAX = 63


@pytest.mark.parametrize(
    ("layout", "compression", "name"),
    [
        ("heap", BY_STORAGE, "datajson_5"),
        ("heap", "none", "datajson_5"),
        ("append_column", BY_STORAGE, "datajson_5_append_column"),
        ("append_column", "zlib_1", "datajson_5_append_column"),
        ("append_row", "none", "datajson_5_row_none"),
        ("append_column", "zstd_5", "datajson_5_column_zstd_5"),
        ("pax", "zstd_1", "datajson_5_pax_zstd_1"),
    ],
)
def test_names_of_before_stay_and_others_say_how_they_are_kept(layout: str, compression: str, name: str) -> None:
    levels: dict[str, Any] = {"rows": 5, "storage": layout, "compression": compression}
    assert load_workload("key_value").dataset(levels, 7).table == name
    assert load_workload("key_value").dataset({"rows": 5}, 7).table == "datajson_5", "of a run before there were both"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_no_name_is_cut_off_and_every_size_is_known(layout: str, compression: str) -> None:
    made = order_lineitems.dataset_of(
        9_999_999_999, 7, layout=layout, compression=compression, table="order_lineitems_load"
    )
    assert max(len(part.table(made.table)) for part in made.storage.partitions) <= TABLE_NAME_MAX
    heap = order_lineitems.dataset_of(9_999_999_999, 7)
    assert made.bytes_expected <= heap.bytes_expected
    schema = data.dataset_of(0.1, layout, compression)
    assert data.scale_factor_of(schema) == 0.1
    assert schema.bytes_expected <= data.dataset_of(0.1, "heap").bytes_expected


def statement(layout: str, compression: str) -> str:
    return tables.definition("t", "a integer", stored_as("a", layout, compression))


@pytest.mark.parametrize(
    ("layout", "compression", "said"),
    [
        ("heap", BY_STORAGE, '(a integer) WITH (appendonly=false) DISTRIBUTED BY ("a")'),
        ("append_column", "none", "(a integer) WITH (appendonly=true, orientation=column) DISTRIBUTED"),
        ("append_row", "zstd_5", "WITH (appendonly=true, orientation=row, compresstype=zstd, compresslevel=5) DIST"),
        ("pax", "zstd_1", "(a integer) USING pax WITH (compresstype=zstd, compresslevel=1) DISTRIBUTED"),
        ("pax", "none", '(a integer) USING pax DISTRIBUTED BY ("a")'),
    ],
)
def test_greenplum_is_told_in_its_own_words(layout: str, compression: str, said: str) -> None:
    assert said in statement(layout, compression)


def why(unavailable: dict[str, str], **levels: Any) -> str | None:
    return storage_not_applicable({"storage": "heap", "compression": BY_STORAGE, **levels}, unavailable)


def test_postgresql_has_none_of_it_and_says_so() -> None:
    assert why(POSTGRES) is None and why(POSTGRES, compression="none") is None
    assert "no append-optimised tables" in str(why(POSTGRES, storage="append_column", compression="zlib_1"))
    assert "no PAX tables; only Cloudberry has" in str(why(POSTGRES, storage="pax"))
    assert "no compresstype and compresslevel" in str(why(POSTGRES, compression="zlib_1"))


def test_greenplum_has_what_it_tells() -> None:
    told = {"compresstypes": "none, quicklz, rle_type, zlib", "has_pax": False, "product": "Greenplum Database"}
    found = tables.unavailable(told)
    assert why(found, storage="append_column", compression="zlib_5") is None
    assert why(found, storage="append_row", compression="zstd_1") == (
        "this server has no compresstype zstd; it has none, quicklz, rle_type, zlib"
    )
    assert "Greenplum Database has no access method pax" in str(why(found, storage="pax"))
    assert "a heap is not compressed" in str(why(found, compression="zlib_1"))
    assert tables.unavailable({}) == {}, "before it was asked nothing is refused"


def test_retail_s_optimizer_is_the_planner_unless_it_is_chosen() -> None:
    factor: Factor = load_workload("full_scan").factors["optimizer"]
    assert factor.default == "planner" and "orca" in factor.choices
