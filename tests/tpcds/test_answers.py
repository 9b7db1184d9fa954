"""What counts as the same answer, and what is said of one that is not."""

from __future__ import annotations

import pytest

from clusterbench.tpcds.answers import difference, rows

ANSWER = [["AAA", "17", "2.50", None], ["BBB", "18", "1000000.25", "x"], ["BBB", "18", "1000000.25", "x"]]


def changed(row: int, column: int, cell: str | None) -> list[list[str | None]]:
    answer = [list(cells) for cells in ANSWER]
    answer[row][column] = cell
    return answer


def test_the_order_of_rows_and_trailing_blanks_mean_nothing() -> None:
    assert difference(ANSWER[::-1], ANSWER) is None
    assert difference(changed(0, 0, "AAA   "), ANSWER) is None
    assert difference([], []) is None


def test_what_copy_gives_is_read() -> None:
    assert rows("AAA\t17\t2.50\t\\N\nBBB\t\t1\tx\n") == [["AAA", "17", "2.50", None], ["BBB", "", "1", "x"]]


@pytest.mark.parametrize("cell", ["2.5", "2.500000000000", "25e-1", "2.5000000001"])
def test_a_fraction_may_be_written_otherwise_and_differ_a_little(cell: str) -> None:
    assert difference(changed(0, 2, cell), ANSWER) is None


@pytest.mark.parametrize(
    ("row", "column", "cell"),
    [
        (0, 2, "2.50000001"),
        (1, 2, "1000000.26"),
        (0, 2, None),
        (0, 1, "18"),
        (0, 0, "aaa"),
        (0, 0, " AAA"),
        (0, 3, ""),
        (1, 3, None),
    ],
)
def test_anything_else_is_a_difference(row: int, column: int, cell: str | None) -> None:
    said = difference(changed(row, column, cell), ANSWER)
    assert said is not None
    assert said.startswith(f"row {row + 1} was not expected: ")
    assert said.endswith("; 1 rows too many, 1 missing, of 3")


def test_the_row_that_differs_and_the_one_in_its_place_are_shown() -> None:
    assert difference(changed(1, 2, "1000000.26"), ANSWER) == (
        "row 2 was not expected: BBB | 18 | 1000000.26 | x; missing is: BBB | 18 | 1000000.25 | x; "
        "1 rows too many, 1 missing, of 3"
    )


def test_a_row_that_is_twice_must_be_twice() -> None:
    assert difference(ANSWER[:2], ANSWER) == (
        "2 rows where 3 were expected; missing is: BBB | 18 | 1000000.25 | x; 0 rows too many, 1 missing, of 3"
    )
    said = difference([ANSWER[0], ANSWER[0], ANSWER[1]], ANSWER)
    assert said is not None
    assert "1 rows too many, 1 missing" in said


def test_another_number_of_columns_is_said() -> None:
    assert difference([["1", "2"]], [["1"]]) == "rows of 2 columns where 1 were expected"


def test_whole_numbers_must_be_the_same_where_none_has_a_fraction() -> None:
    assert difference([["10000000000"]], [["10000000001"]]) is not None
    assert difference([["10000000000.0"]], [["10000000001"]]) is None


def test_texts_that_look_like_numbers_are_compared_as_texts() -> None:
    assert difference([["01234"]], [["1234"]]) is not None


def test_near_numbers_find_each_other_whatever_their_order() -> None:
    one, other = (
        [["a", "1.0", "5.5"], ["a", "1.0000000001", "4.5"]],
        [["a", "1.0000000001", "5.5"], ["a", "1.0", "4.5"]],
    )
    assert difference(one, other) is None


def test_a_division_by_nothing_is_the_same_nan() -> None:
    assert difference([["NaN"], ["1.5"]], [["nan"], ["1.5"]]) is None
    assert difference([["NaN"], ["1.5"]], [["1.5"], ["1.5"]]) is not None
