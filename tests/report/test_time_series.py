"""The figure of a result over time: what is drawn where, and what is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from clusterbench.history.change_test import Change
from clusterbench.history.model import Point
from clusterbench.report.time_series import CHANGE, HISTORY, RUNS_MAX, Break, change_figure, history_figure, line_figure
from tests import weeks

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
    found = history_figure(points(100, 110, 104), "ms")
    assert found is not None
    first, second, third = (dot.y for dot in found.dots)
    assert second < third < first
    assert all(HISTORY.top <= dot.high <= dot.y <= dot.low <= HISTORY.bottom for dot in found.dots)
    assert all(HISTORY.left < dot.x < HISTORY.right for dot in found.dots)
    assert not found.begins_at_zero


def test_a_level_ends_where_the_next_begins_and_is_the_median_of_its_valid_runs() -> None:
    series = points(100, 100, 100, 120, 120)
    found = history_figure(series, "ms", [Break("run3", 20.0)])
    assert found is not None
    before, after = found.levels
    assert (before.says, after.says) == ("median of these runs: 100.0 ms", "median of these runs: 120.0 ms")
    assert before.x2 == after.x1 == found.breaks[0].x
    assert found.dots[2].x < found.breaks[0].x < found.dots[3].x
    assert "20" in found.breaks[0].text and "up" in found.breaks[0].text


def test_a_run_that_is_not_valid_is_drawn_and_not_counted() -> None:
    series = [*points(100, 100), *points(900, valid=False)[:1]]
    found = history_figure(series, "ms")
    assert found is not None
    assert found.levels[0].says == "median of these runs: 100.0 ms"
    assert not found.dots[2].counts and "not valid" in found.dots[2].says


def test_what_has_no_number_has_no_place() -> None:
    found = history_figure(points(100, None, 101), "ms")
    assert found is not None
    assert found.dots[1].y is None and "0 of 3 completed" in found.dots[1].says
    assert history_figure(points(None, None), "ms") is None
    assert history_figure([], "ms") is None
    assert line_figure(points(100, None)) is None


@pytest.mark.parametrize("value", [0.0, 1e-9, 3.0, 1e12, -5.0])
def test_numbers_of_any_size_have_an_axis(value: float) -> None:
    found = history_figure(points(value, value), "1")
    assert found is not None
    assert len({tick.text for tick in found.y_ticks}) == len(found.y_ticks) >= 2
    assert len({tick.at for tick in found.y_ticks}) == len(found.y_ticks)


def test_five_years_have_ticks_that_do_not_touch() -> None:
    found = history_figure(points(*[100.0 + n % 7 for n in range(260)]), "ms")
    assert found is not None
    places = [tick.at for tick in found.x_ticks]
    assert 2 <= len(places) <= 10
    assert all(b - a > 70 for a, b in pairwise(places))


def test_words_of_changes_that_lie_close_are_not_on_one_line() -> None:
    found = history_figure(points(*range(100, 140)), "ms", [Break("run10", 6.0), Break("run11", -7.0)])
    assert found is not None
    assert [line.row for line in found.breaks] == [0, 1]


# Of a change, in the weekly report.


def change(
    at_run_id: str | None = None, before: float | None = None, after: float | None = None, runs_before: int = 0
) -> Change:
    return Change("regression", "", at_run_id=at_run_id, before=before, after=after, runs_before=runs_before)


def test_the_figure_of_a_change_shows_each_run_both_levels_and_where_facts_changed() -> None:
    drawn = weeks.points(100.0, step=0.2, since=3)
    found = change_figure(drawn, change(drawn[-3].run_id, 100.0, 120.0, 27), "s", "lower")
    assert found is not None
    assert len(found.dots) == len(drawn) == 30
    assert [dot.counts for dot in found.dots if dot.y is not None].count(False) == 1
    (changed,) = found.breaks
    assert found.dots[-4].x < changed.x < found.dots[-3].x
    assert len(found.facts) == 2
    assert found.facts[-1].x == changed.x
    after, before = found.levels
    assert (after.says, before.says, after.is_new) == ("120.0", "100.0", True)
    assert after.y < before.y  # more is higher
    assert all(
        CHANGE.left <= dot.x <= CHANGE.width and dot.y is not None and CHANGE.top <= dot.y <= CHANGE.height
        for dot in found.dots
    )


def test_the_figure_of_a_change_is_of_the_last_year_and_a_run_without_a_number_has_a_cross() -> None:
    drawn = list(weeks.points(100.0, runs=260))
    drawn[-1] = replace(drawn[-1], median=None, interval_95=None, n=0)
    found = change_figure(drawn, change(), "s", "lower")
    assert found is not None
    assert len(found.dots) == RUNS_MAX
    assert found.dots[-1].y is None
    assert found.dots[-1].says == "21 Nov 2026: 0 of 5 completed"


@pytest.mark.parametrize("medians", [[], [5.0], [None, None, 5.0]])
def test_nothing_is_drawn_of_fewer_than_two_numbers(medians: list[float | None]) -> None:
    drawn = [replace(weeks.points(5.0, runs=1)[0], median=median) for median in medians]
    assert change_figure(drawn, change(), "s", "lower") is None


def test_a_series_of_equal_numbers_is_drawn_all_the_same() -> None:
    drawn = [replace(one, median=0.0, interval_95=None) for one in weeks.points(1.0, runs=5)]
    found = change_figure(drawn, change(drawn[2].run_id, 0.0, 0.0, 2), "1", "lower")
    assert found is not None
    labels = [level.text_y for level in found.levels if level.text_y is not None]
    assert abs(labels[0] - labels[1]) > 10  # the labels do not touch
