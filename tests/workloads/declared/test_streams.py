"""Declared streams: the orders of a window's rounds, and what cannot be repeated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clusterbench.base.records import Trial
from clusterbench.workloads import load_workload
from clusterbench.workloads.declared import streams
from clusterbench.workloads.declared.workload import DeclaredWorkload


def declared(name: str) -> DeclaredWorkload:
    found = load_workload(name)
    assert isinstance(found, DeclaredWorkload)
    return found


def trial(workload: str, **levels: Any) -> Trial:
    defaults = {name: factor.default for name, factor in declared(workload).factors.items()}
    return Trial("t.r1", "t", "lab_db1", "t", workload, defaults | levels, 1, 7, 60, {})


def order_of(asked: Trial, stream: int, before: int) -> list[str]:
    folder = declared(asked.workload).folder
    first = streams.order(folder, asked, stream)
    return [first[place - 1] for place in streams.orders(folder, asked)[stream - 1][before]]


def test_a_stream_that_is_alone_keeps_the_order_of_the_power_test() -> None:
    asked, folder = trial("tpch", streams=1, window_s=1), declared("tpch").folder
    assert {tuple(order_of(asked, 1, before)) for before in range(20)} == {tuple(folder.said.orders[0])}


def test_several_streams_go_on_with_the_orders_of_further_ones() -> None:
    asked, said = trial("tpch", streams=2, window_s=1), declared("tpch").folder.said.orders[1:]
    assert [order_of(asked, 1, before) for before in range(3)] == [said[0], said[2], said[4]]
    assert [order_of(asked, 2, before) for before in range(3)] == [said[1], said[3], said[5]]


def test_without_a_window_or_after_a_cache_was_emptied_there_are_no_rounds() -> None:
    for levels in ({"window_s": 0}, {"window_s": 1, "cache": "cold"}):
        assert streams.orders(declared("tpch").folder, trial("tpch", streams=2, **levels)) == []


def test_one_statement_has_one_order() -> None:
    asked = trial("tpch", streams=1, window_s=1, statements="q06")
    assert streams.orders(declared("tpch").folder, asked) == [[[1]] * 20]


def test_orders_of_other_statements_are_left_out() -> None:
    folder = declared("tpch").folder
    some = [["q01", "q02"], ["q01", "q02"], ["q03"], ["q02", "q01"]]
    folder = replace(folder, said=folder.said.model_copy(update={"orders": some}))
    asked = trial("tpch", streams=3, window_s=1)
    assert streams.orders(folder, asked)[0] == [[1, 2]] * 20, "the first of three has the first of three orders"
    one = trial("tpch", streams=2, window_s=1)
    assert {tuple(places) for places in streams.orders(folder, one)[0]} == {(1, 2), (2, 1)}


def test_statements_that_change_rows_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = declared("tpch")
    levels = trial("tpch", window_s=1).levels
    assert workload.not_applicable(levels, {}) is None
    monkeypatch.setitem(vars(workload.folder), "only_reads", False)
    assert workload.not_applicable(levels, {}) == (
        "its statements change rows, so that each round of a window would find other rows than the one before; leave "
        "'window_s' out"
    )
    assert workload.not_applicable({**levels, "window_s": 0}, {}) is None


def test_reports_beside_transactions_have_no_window_of_their_own() -> None:
    both = load_workload("ch_benchmark")
    assert "window_s" in both.factors and "reports_window_s" not in both.factors
