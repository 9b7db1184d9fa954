"""What a difference is made of: the statements, transactions or phases of a trial."""

from __future__ import annotations

import pytest

from clusterbench.results.statements import explanation, is_statement, parts
from clusterbench.workloads import load_workload

MANY = {f"q{query:02d}_s": 1.0 for query in range(1, 100)}


def test_every_workload_of_many_statements_has_each_as_a_result() -> None:
    of = {
        name: [kind.statement for kind in load_workload(name).measurements.values() if kind.statement]
        for name in ("tpcds", "order_entry", "terasort")
    }
    assert of["tpcds"] == [f"query {query}" for query in range(1, 100)]
    assert of["order_entry"] == ["New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"]
    assert of["terasort"] == ["TeraGen", "TeraValidate", "map-shuffle of TeraSort", "reduce-merge of TeraSort"]
    assert is_statement("q64_s") and not is_statement("response_time_s") and not is_statement("of another version")


def test_a_query_that_takes_three_times_as_long_is_named_with_its_share() -> None:
    found = parts(MANY, MANY | {"q64_s": 3.0, "q04_s": 1.8})
    assert [(part.statement, part.before, part.after) for part in found[:2]] == [
        ("query 64", 1, 3),
        ("query 4", 1, 1.8),
    ]
    assert found[0].explains == pytest.approx(2.0 / 2.8)
    assert found[0].share == pytest.approx(3 / 101.8)
    assert sum(part.explains or 0 for part in found) == pytest.approx(1)
    assert explanation(found) == "query 64 is 71\u202f% of the difference, query 4 29\u202f%"


def test_where_all_take_longer_alike_none_is_named() -> None:
    said = explanation(parts(MANY, dict.fromkeys(MANY, 1.2)))
    assert said == "no statement stands out: 99 of 99 take longer"
    large = MANY | {"q01_s": 100.0}
    assert "no statement stands out" in explanation(parts(large, {name: 1.2 * value for name, value in large.items()}))


def test_one_that_went_the_other_way_explains_less_than_nothing() -> None:
    found = parts(MANY, MANY | {"q64_s": 4.0, "q04_s": 0.0})
    assert (found[0].explains, found[-1].explains) == (pytest.approx(1.5), pytest.approx(-0.5))
    assert explanation(found) == "query 64 is 150\u202f% of the difference"


def test_times_count_as_often_as_their_transactions_run() -> None:
    before = {"new_order_ms_mean": 10.0, "stock_level_ms_mean": 10.0}
    found = parts(before, {"new_order_ms_mean": 11.0, "stock_level_ms_mean": 11.0})
    assert found[0].statement == "New-Order"
    assert found[0].explains == pytest.approx(4455 / (4455 + 400))


def test_what_only_one_side_has_explains_nothing() -> None:
    found = parts({"q01_s": 1.0, "q02_s": 1.0}, {"q02_s": 2.0, "q03_s": 5.0})
    assert {part.measurement: part.explains for part in found} == {"q01_s": None, "q02_s": 1.0, "q03_s": None}
    assert {part.measurement: part.before for part in found} == {"q01_s": 1.0, "q02_s": 1.0, "q03_s": None}


@pytest.mark.parametrize("sides", [({}, {}), (MANY, MANY), ({}, MANY)])
def test_nothing_differs(sides: tuple[dict[str, float], dict[str, float]]) -> None:
    assert explanation(parts(*sides)) == ""
