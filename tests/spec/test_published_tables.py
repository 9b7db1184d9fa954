"""Tables of a paper: whole, rectangular, of columns that the workload measures; and those of TeraSort to the digit."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from clusterbench.base.paths import project_root
from clusterbench.engines.hadoop.configuration import map_tasks
from clusterbench.spec import Published
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.checks import check_published
from clusterbench.spec.published import PublishedTable

CATALOG = Catalog(project_root())
TIMES = ["teragen_s", "terasort_s", "teravalidate_s", "map_shuffle_s", "reduce_merge_s"]
SMALL: dict[str, Any] = {
    "table": "table_9",
    "title": "T",
    "source": "p. 9",
    "sweeps": ["platforms"],
    "levels": {"replicas": 3},
    "columns": ["teragen_s", "terasort_s"],
    "rows": {"native": [1, 2.5], "4 VMs": [3, 4]},
}


def table(**changed: Any) -> PublishedTable:
    return PublishedTable.model_validate(SMALL | changed)


def terasort(name: str) -> PublishedTable:
    return next(one for one in CATALOG.published("terasort").tables if one.table == name)


# What a table must be.


def test_rows_are_kept_in_the_order_of_the_paper() -> None:
    assert list(table().rows.items()) == [("native", [1, 2.5]), ("4 VMs", [3, 4])]
    assert (table().ratios_of, table().ratios_title) == ([], "")


@pytest.mark.parametrize(("values", "count"), [([], 0), ([3], 1), ([3, 4, 5], 3)])
def test_row_that_is_too_short_or_too_long_is_named(values: list[int], count: int) -> None:
    with pytest.raises(ValidationError, match=rf"rows\.4 VMs: {count} values for 2 columns"):
        table(rows={"native": [1, 2], "4 VMs": values})


def test_ratio_of_no_column_is_refused_with_the_column_that_was_meant() -> None:
    said = r"ratios_of: 'terasort' is not a column; did you mean 'terasort_s'\? Allowed: teragen_s, terasort_s"
    with pytest.raises(ValidationError, match=said):
        table(ratios_of=["teragen_s", "terasort"])


def test_levels_of_a_row_that_is_not_there_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"row_levels: '4 VM' is not a row; did you mean '4 VMs'\?"):
        table(row_levels={"4 VM": {"rows": 10}})


@pytest.mark.parametrize("key", ["columns", "rows", "title", "source"])
def test_table_without_anything_in_it_is_refused(key: str) -> None:
    with pytest.raises(ValidationError, match=key):
        table(**{key: type(SMALL[key])()})


def test_text_is_no_number() -> None:
    with pytest.raises(ValidationError, match="rows"):
        table(rows={"native": [1, "2"]})


# What a table and the experiment must agree on.


def wrong(**changed: Any) -> list[str]:
    published = CATALOG.published("terasort").model_dump() | {"values": [], "tables": [SMALL | changed]}
    return check_published(CATALOG.experiment("terasort"), Published.model_validate(published))


def test_table_that_fits_its_sweeps_has_no_problem() -> None:
    assert wrong() == []
    assert wrong(sweeps=["platforms", "dataset_size"]) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"sweeps": ["single_replca"]},
            "sweeps: experiment 'terasort' has no sweep 'single_replca'; did you mean 'single_replica'?",
        ),
        (
            {"columns": ["teragen_s", "terasort"]},
            "columns: workload 'terasort' has no measurement 'terasort'; did you mean 'terasort_s'?",
        ),
        (
            {"row_levels": {"native": {"row": 3}}},
            "row_levels.native: workload 'terasort' has no factor 'row'; did you mean 'rows'?",
        ),
        (
            {"best_by": "suit_s"},
            "best_by: workload 'terasort' has no measurement 'suit_s'; did you mean 'suite_s'?",
        ),
        (
            {"levels": {"replica": 3}},
            "levels: workload 'terasort' has no factor 'replica'; did you mean 'replicas'?",
        ),
    ],
)
def test_name_that_the_experiment_does_not_have_is_refused(changed: dict[str, Any], said: str) -> None:
    (found,) = wrong(**changed)
    assert found.startswith(f"tables.0.{said}")


def test_table_that_belongs_to_no_sweep_may_have_any_columns() -> None:
    """As Table 1, which says what was measured, not what came out."""
    assert wrong(sweeps=[], columns=["workers", "cpus"]) == []


# TeraSort.


def test_elapsed_times_by_platform_are_those_of_the_paper_s_table_2() -> None:
    found = terasort("table_2")
    assert found.columns == TIMES
    assert found.rows == {
        "native": [1072, 3825, 697, 2616, 1209],
        "1 VM": [1134, 4292, 728, 2979, 1313],
        "2 VMs": [1077, 3568, 723, 2343, 1225],
        "4 VMs": [1072, 3355, 695, 2151, 1204],
        "10 VMs": [1098, 3460, 649, 2195, 1265],
        "20 VMs": [1289, 3562, 633, 2083, 1479],
    }
    assert next(iter(found.rows)) == "native", "to which the paper's Figure 2 has its ratios"
    assert found.ratios_of == ["teragen_s", "terasort_s", "teravalidate_s"]
    assert found.levels["replicas"] == 3


@pytest.mark.parametrize("name", ["table_2", "table_3", "table_4", "table_5"])
def test_phases_of_each_row_sum_up_to_terasort(name: str) -> None:
    found = terasort(name)
    assert found.columns[:5] == TIMES
    for row, (_, whole, _, shuffle, merge, *_) in found.rows.items():
        assert shuffle + merge == whole, row


def test_throughput_by_size_is_the_dataset_by_the_elapsed_time() -> None:
    found = terasort("table_4")
    assert found.columns[-1] == "throughput_gb_per_s"
    for row, values in found.rows.items():
        assert values[-1] == pytest.approx(int(row.split()[0]) * 1000 / values[1], abs=0.006), row


def test_slots_and_map_tasks_of_table_1_follow_from_its_workers() -> None:
    found = terasort("table_1")
    assert found.sweeps == []
    assert len(found.rows) == 6
    for row, values in found.rows.items():
        named = dict(zip(found.columns, values, strict=True))
        assert named["workers"] * named["worker_slots"] == named["cluster_slots"], row
        assert map_tasks(30 * 10**12, int(named["cluster_slots"]), 256 * 1024 * 1024) == named["map_tasks_30tb"], row


def test_rows_that_stand_in_two_tables_are_the_same() -> None:
    """4 VMs with three replicas is the 30 TB of Table 4."""
    assert terasort("table_4").rows["30 TB"][:5] == terasort("table_2").rows["4 VMs"]


def test_times_are_of_the_size_that_the_paper_sorted() -> None:
    assert [terasort(f"table_{number}").levels.get("rows", 0) for number in (2, 3, 5)] == [
        300 * 10**9,
        300 * 10**9,
        80 * 10**9,
    ]
    sizes = terasort("table_4").row_levels
    assert {row: int(levels["rows"]) * 100 // 10**12 for row, levels in sizes.items()} == {
        "1 TB": 1, "3 TB": 3, "10 TB": 10, "30 TB": 30,
    }  # fmt: skip


def test_best_run_is_only_where_the_paper_says_that_it_printed_one() -> None:
    assert {one.table for one in CATALOG.published("terasort").tables if one.best_by} == {"table_2", "table_4"}


def test_numbers_of_the_text_agree_with_its_tables() -> None:
    values = {(v.measurement, v.platform, v.ratio_to): v.value for v in CATALOG.published("terasort").values}
    times = {row: dict(zip(TIMES, found, strict=True)) for row, found in terasort("table_2").rows.items()}
    over = [round(found["reduce_merge_s"] / found["teragen_s"], 2) for found in times.values()]
    assert min(over) >= 1.12 and max(over) <= 1.16
    assert values["reduce_merge_over_teragen", None, None] == 1.14
    assert values["blocks_max_over_mean", "hadoop_vm4", None] == round(2774 / 2664, 2)
    assert values["blocks_max_over_mean", "hadoop_vm20", None] == round(576 / 528, 2)
    assert values["teragen_disk_write_mb_per_s", "hadoop_native", None] < 3 * 30e6 / times["native"]["teragen_s"]
    assert values["teragen_network_sent_mb_per_s", "hadoop_vm4", None] > 2 * 30e6 / times["4 VMs"]["teragen_s"]


def test_every_table_says_where_it_was_printed() -> None:
    tables = CATALOG.published("terasort").tables
    assert [table.source.split(",")[0] for table in tables] == [f"Table {number}" for number in range(1, 6)]
