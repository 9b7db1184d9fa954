"""Tables of a paper with a metric in each row and platforms as columns, and those of Order-Entry to the digit."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from clusterbench.base.paths import project_root
from clusterbench.spec import Published, PublishedMetrics
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.checks import check_published

CATALOG = Catalog(project_root())
SMALL: dict[str, Any] = {
    "table": "table_9",
    "title": "T",
    "source": "p. 9",
    "columns": ["native", "vm"],
    "rows": [{"metric": "Throughput", "measurement": "throughput_per_s", "unit": "1/s", "values": [2, 1.5]}],
}
PAPER = CATALOG.published("order_entry")


def table(*rows: dict[str, Any]) -> PublishedMetrics:
    return PublishedMetrics.model_validate({**SMALL, "rows": list(rows)})


def printed(name: str) -> dict[str, list[Any]]:
    return {row.metric: row.values for one in PAPER.metrics if one.table == name for row in one.rows}


def test_value_may_be_a_number_a_text_or_not_printed() -> None:
    found = table({"metric": "DBMS", "fact": "engine", "values": ["Oracle 12C", None]}, *SMALL["rows"])
    assert [row.values for row in found.rows] == [["Oracle 12C", None], [2, 1.5]]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"metric": "A", "values": [1]}, r"rows, 'A': 1 values for 2 columns"),
        ({"metric": "A", "values": [1, 2], "measurement": "x", "fact": "engine"}, r"'A': is a measurement or a fact"),
        ({"metric": "A", "values": [1, 2], "fact": "kernel"}, r"fact"),
        ({"metric": "", "values": [1, 2]}, r"metric"),
    ],
)
def test_row_that_cannot_be_shown_is_refused(row: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        table(row)


def test_measurement_that_no_workload_has_is_refused_with_the_one_that_was_meant() -> None:
    wrong = {**SMALL, "rows": [{**SMALL["rows"][0], "measurement": "throughput_per_sec"}]}
    published = Published.model_validate(
        {"published": "p", "title": "T", "authors": "A", "cluster": "C", "metrics": [wrong]}
    )
    (found,) = check_published(CATALOG.experiment("key_value"), published)
    assert found.startswith(
        "metrics.table_9, 'Throughput': no workload of experiment 'key_value' has a measurement 'throughput_per_sec'; "
        "did you mean 'throughput_per_s'?"
    )
    assert (
        check_published(
            CATALOG.experiment("key_value"), published.model_copy(update={"metrics": [table(*SMALL["rows"])]})
        )
        == []
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"levels": {"row": 1}},
            "metrics.table_9, levels: no workload of experiment 'key_value' has a factor 'row'; did",
        ),
        (
            {"column_levels": {"vm": {"row": 1}}},
            "metrics.table_9, levels: no workload of experiment 'key_value' has a f",
        ),
    ],
)
def test_level_that_no_workload_has_is_refused(changed: dict[str, Any], said: str) -> None:
    published = Published.model_validate(
        {"published": "p", "title": "T", "authors": "A", "cluster": "C", "metrics": [{**SMALL, **changed}]}
    )
    (found,) = check_published(CATALOG.experiment("key_value"), published)
    assert found.startswith(said)


def test_levels_of_a_column_that_is_not_there_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"column_levels: 'vms' is not a column; did you mean 'vm'\?"):
        PublishedMetrics.model_validate({**SMALL, "column_levels": {"vms": {}}})


# Order-Entry.


def test_load_profiles_are_those_of_the_paper_s_table_2() -> None:
    found = printed("table_2")
    per_cpu_second, of_server = (
        found.pop("Throughput per CPU-second"),
        found.pop("Throughput per CPU-second of the server"),
    )
    told = found.pop("CPU utilization that the system itself reports")
    assert list(found.values()) == [
        [66500, 59500], [84.7, 85.1], [173000, 155000], [929, 831],
        [71000, 63000], [71000, 64000], [15, 13], [36, 32],
    ]  # fmt: skip
    throughput, cpu = list(found.values())[:2]
    assert of_server == [round(rate / (72 * percent / 100)) for rate, percent in zip(throughput, cpu, strict=True)]
    assert told == [84.7, 90.2], "natively the same"
    assert per_cpu_second == [of_server[0], round(59500 / (64 * 0.902))], "of the guest's processors, as ours"


def test_guest_s_statistics_are_those_of_table_3() -> None:
    assert list(printed("table_3").values()) == [[327000], [155000], [287000], [231]]


def test_ratios_of_figure_3_agree_with_table_2() -> None:
    ratios = {(value.platform, float(value.value)) for value in PAPER.values if value.ratio_to}
    assert ratios == {("order_entry_vm", 0.895), ("order_entry_vm", 0.9), ("order_entry_vm_esxi51", 0.7)}
    assert pytest.approx(0.895, abs=0.0005) == 59500 / 66500


def test_bars_of_figure_2_that_have_no_number_have_none_here() -> None:
    assert printed("figure_2")["Throughput at the utilization compared"] == [None, None, 59500, 66500]
    assert printed("figure_2")["Highest throughput that was reached"] == [None, 54800, None, 69600]


def test_cells_are_of_the_utilisation_that_the_system_itself_tells() -> None:
    levels = {(value.platform, float(value.value)): value.levels["cpu_percent"] for value in PAPER.values}
    assert levels == {
        ("order_entry_native", 66500): 85, ("order_entry_vm", 59500): 90, ("order_entry_native", 69600): 91,
        ("order_entry_vm", 0.895): 90, ("order_entry_vm", 0.9): 90,
        ("order_entry_vm_esxi51", 0.7): 77,
    }  # fmt: skip
    assert {value.levels["warehouses"] for value in PAPER.values} == {32000}
    declared = CATALOG.experiment("order_entry").sweeps["utilisation"].levels("cpu_percent", "full")
    assert declared == [77, 85, 90, 91]


def test_platforms_are_the_templates() -> None:
    named = {value.platform for value in PAPER.values} | {value.ratio_to for value in PAPER.values if value.ratio_to}
    named |= {column for one in PAPER.metrics for column in one.columns}
    assert {CATALOG.platform(str(name)).template for name in named} == {True}
