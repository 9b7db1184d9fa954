"""The figure of a result over time: what is drawn where, and what is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from clusterbench.airflow.ui.chart import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Break, figure, spark
from clusterbench.history.model import Point

FIRST = datetime(2026, 1, 3, 20, tzinfo=UTC)


def points(*medians: float | None, valid: bool = True) -> list[Point]:
    return [
        Point(
            f"run{n}",
            FIRST + timedelta(weeks=n),
            valid,
            3 if value is not None else 0,
            3,
            value,
            None if value is None else (value - 1, value + 1),
            "facts",
        )
        for n, value in enumerate(medians)
    ]


def test_a_higher_number_is_drawn_higher_and_all_within_the_axes() -> None:
    found = figure(points(100, 110, 104), "ms")
    assert found is not None
    first, second, third = (dot.y for dot in found.dots)
    assert second < third < first
    assert all(TOP <= dot.high <= dot.y <= dot.low <= HEIGHT - BOTTOM for dot in found.dots)
    assert all(LEFT < dot.x < WIDTH - RIGHT for dot in found.dots)
    assert not found.begins_at_zero


def test_a_level_ends_where_the_next_begins_and_is_the_median_of_its_valid_runs() -> None:
    series = points(100, 100, 100, 120, 120)
    found = figure(series, "ms", [Break("run3", 20.0)])
    assert found is not None
    before, after = found.levels
    assert (before.says, after.says) == ("100.0 ms", "120.0 ms")
    assert before.x2 == after.x1 == found.breaks[0].x
    assert found.dots[2].x < found.breaks[0].x < found.dots[3].x
    assert "20" in found.breaks[0].text and "up" in found.breaks[0].text


def test_a_run_that_is_not_valid_is_drawn_and_not_counted() -> None:
    series = [*points(100, 100), *points(900, valid=False)[:1]]
    found = figure(series, "ms")
    assert found is not None
    assert found.levels[0].says == "100.0 ms"
    assert not found.dots[2].is_valid and "not valid" in found.dots[2].says


def test_what_has_no_number_has_no_place() -> None:
    found = figure(points(100, None, 101), "ms")
    assert found is not None
    assert found.dots[1].y is None and "0 of 3 completed" in found.dots[1].says
    assert figure(points(None, None), "ms") is None
    assert figure([], "ms") is None
    assert spark(points(100, None)) is None


@pytest.mark.parametrize("value", [0.0, 1e-9, 3.0, 1e12, -5.0])
def test_numbers_of_any_size_have_an_axis(value: float) -> None:
    found = figure(points(value, value), "1")
    assert found is not None
    assert len({tick.text for tick in found.y_ticks}) == len(found.y_ticks) >= 2
    assert len({tick.at for tick in found.y_ticks}) == len(found.y_ticks)


def test_five_years_have_ticks_that_do_not_touch() -> None:
    found = figure(points(*[100.0 + n % 7 for n in range(260)]), "ms")
    assert found is not None
    places = [tick.at for tick in found.x_ticks]
    assert 2 <= len(places) <= 10
    assert all(b - a > 70 for a, b in pairwise(places))


def test_words_of_changes_that_lie_close_are_not_on_one_line() -> None:
    found = figure(points(*range(100, 140)), "ms", [Break("run10", 6.0), Break("run11", -7.0)])
    assert found is not None
    assert [line.row for line in found.breaks] == [0, 1]
