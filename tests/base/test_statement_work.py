"""What a database counted of each statement between two looks."""

from __future__ import annotations

from dataclasses import asdict

from clusterbench.base.statement_work import KEPT_MAX, Totals, since


def totals(calls: float, time_ms: float, rows: float = 0, read_bytes: float = 0) -> Totals:
    return Totals(calls, time_ms, rows, read_bytes, 0)


def test_differences_are_those_of_what_ran_meanwhile_the_longest_first() -> None:
    before = {"1": asdict(totals(10, 100, 10)), "2": asdict(totals(5, 50)), "3": asdict(totals(1, 9))}
    after = {"1": totals(12, 130, 12), "2": totals(5, 50), "3": totals(2, 109), "4": totals(7, 3, 70, 8192)}
    assert since(before, after) == {"3": totals(1, 100), "1": totals(2, 30, 2), "4": totals(7, 3, 70, 8192)}


def test_what_was_reset_meanwhile_is_not_told() -> None:
    """It began anew: less than before, or more calls and less time."""
    before = {"1": asdict(totals(10, 100)), "2": asdict(totals(1, 100))}
    assert since(before, {"1": totals(3, 30), "2": totals(2, 30)}) == {}


def test_a_record_keeps_those_of_the_most_time() -> None:
    found = since({}, {str(number): totals(1, number) for number in range(1, 101)})
    assert list(found) == [str(number) for number in range(100, 100 - KEPT_MAX, -1)]
