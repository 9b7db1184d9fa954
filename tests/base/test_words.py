"""Percents as they read on pages and in verdicts."""

from __future__ import annotations

import pytest

from clusterbench.base.words import change, percent, percent_digits, share, some_of


@pytest.mark.parametrize(
    ("value", "said"), [(0, "0"), (0.00001, "0.01"), (0.0123, "1.2"), (0.0996, "10"), (12, "1,200")]
)
def test_percents_of_a_verdict_have_two_digits(value: float, said: str) -> None:
    assert percent_digits(value) == said


@pytest.mark.parametrize(("value", "said"), [(7.94, "+7.9 %"), (-12.4, "\u221212 %"), (0, "0 %"), (0.123, "+0.12 %")])
def test_a_change_has_its_sign_and_two_digits(value: float, said: str) -> None:
    assert percent(value, is_signed=True).replace("\u202f", " ") == said


def test_so_many_decimals_as_asked_and_no_sign_unless_asked() -> None:
    assert percent(60.13, decimals=1) == "60.1\u202f%"
    assert percent(-3.96, is_signed=True, decimals=1) == "\u22124.0\u202f%"


@pytest.mark.parametrize(("value", "said"), [(None, "–"), (0.0123, "1.2 %"), (0.1, "10 %"), (0.625, "62 %")])
def test_a_share_has_one_decimal_below_ten_percent(value: float | None, said: str) -> None:
    assert share(value).replace("\u202f", " ") == said


def test_a_ratio_of_one_is_no_change() -> None:
    assert [change(ratio).replace("\u202f", " ") for ratio in (1.68, 0.994, 1.0)] == ["+68 %", "\u22121 %", "0 %"]


def test_of_many_names_a_few_are_told() -> None:
    assert some_of(["a", "b"]) == "a, b"
    assert some_of([f"worker{number}" for number in range(1, 101)]) == "worker1, worker2, worker3 and 97 more"
