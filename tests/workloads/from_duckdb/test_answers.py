"""What counts as the same answer, and what is said of one that is not."""

from __future__ import annotations

import pytest

from clusterbench.workloads.from_duckdb.answers import difference, rows

ANSWER = [
    ["AAA", "17", "2.50", None, "2.5e+00"],
    ["BBB", "18", "1000000.25", "x", "1.00000025e+06"],
    ["BBB", "18", "1000000.25", "x", "1.00000025e+06"],
]
"""A text, a whole number, an exact decimal, a text that may be missing, floating point."""


def changed(row: int, column: int, cell: str | None) -> list[list[str | None]]:
    answer = [list(cells) for cells in ANSWER]
    answer[row][column] = cell
    return answer


def test_the_order_of_rows_and_trailing_blanks_mean_nothing() -> None:
    assert difference(ANSWER[::-1], ANSWER) is None
    assert difference(changed(0, 0, "AAA   "), ANSWER) is None
    assert difference([], []) is None


def test_what_copy_gives_is_read() -> None:
    assert rows("") == [] and rows("\n") == [[""]]
    assert rows("a\\\\b\\tc\\nd\\N\u2028\n") == [["a\\b\tc\ndN\u2028"]]
    assert rows("AAA\t17\t2.50\t\\N\nBBB\t\t1\tx\n") == [["AAA", "17", "2.50", None], ["BBB", "", "1", "x"]]


@pytest.mark.parametrize("cell", ["2.5", "2.500000000000", "2.5000000001"])
def test_floating_point_may_be_written_otherwise_and_differ_a_little(cell: str) -> None:
    assert difference(changed(0, 4, cell), ANSWER) is None


def test_a_decimal_may_have_more_zeros() -> None:
    assert difference(changed(0, 2, "2.5000"), ANSWER) is None


@pytest.mark.parametrize(
    ("row", "column", "cell"),
    [
        (0, 4, "2.50000001"),
        (1, 4, "1000000.2521"),
        (0, 4, None),
        (0, 2, "2.5000000001"),
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
        "row 2 was not expected: BBB | 18 | 1000000.26 | x | 1.00000025e+06; "
        "missing is: BBB | 18 | 1000000.25 | x | 1.00000025e+06; 1 rows too many, 1 missing, of 3"
    )


def test_a_row_that_is_twice_must_be_twice() -> None:
    assert difference(ANSWER[:2], ANSWER) == (
        "2 rows where 3 were expected; "
        "missing is: BBB | 18 | 1000000.25 | x | 1.00000025e+06; 0 rows too many, 1 missing, of 3"
    )
    said = difference([ANSWER[0], ANSWER[0], ANSWER[1]], ANSWER)
    assert said is not None
    assert "1 rows too many, 1 missing" in said


def test_another_number_of_columns_is_said() -> None:
    assert difference([["1", "2"]], [["1"]]) == "rows of 2 columns where 1 were expected"


def test_a_cent_in_a_hundred_millions_is_found_unless_it_is_floating_point() -> None:
    assert difference([["100000000.01"]], [["100000000.00"]]) is not None
    assert difference([["100000000.01"]], [["1.0000000000000000e+08"]]) is None


def test_texts_that_look_like_numbers_are_compared_as_texts() -> None:
    assert difference([["01234"]], [["1234"]]) is not None


def test_near_numbers_find_each_other_whatever_their_order() -> None:
    one = [["a", "1.0e0", "5.5e0"], ["a", "1.0000000001e0", "4.5e0"]]
    other = [["a", "1.0000000001", "5.5"], ["a", "1.0", "4.5"]]
    assert difference(one, other) is None
