"""A dataset's slices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

import pytest

from clusterbench.base.datasets import Dataset, Storage
from clusterbench.workloads import generation
from clusterbench.workloads.generation import slices


@pytest.mark.parametrize("wanted", [1, 2, 3, 7, 16, 64, 1000])
@pytest.mark.parametrize("rows", [1, 2, 99, 100, 1000, 1_000_000, 1_000_001, 2_999_999, 50_000_000])
def test_slices_tile_the_table(rows: int, wanted: int) -> None:
    parts = slices(rows, wanted, 1_000_000)
    assert parts[0][0] == 1
    assert parts[-1][1] == rows
    assert all(first <= last for first, last in parts)
    assert all(one[1] + 1 == other[0] for one, other in pairwise(parts))
    assert max(last - first + 1 for first, last in parts) <= 1_000_000


def test_there_are_as_many_slices_as_are_wanted_and_more_where_they_would_be_too_large() -> None:
    assert len(slices(1_000_000, 8, 1_000_000)) == 8
    assert len(slices(1_000_000_000, 8, 1_000_000)) == 1000


STORAGE = Storage("n")


class Loading:
    """An engine that notes which slices it is asked for, and keeps a table's comment; it has so many processors."""

    slice_rows_max = 1_000_000

    def __init__(self, processors: int) -> None:
        self.processors, self.comment, self.slices, self.made = processors, "", [(0, 0)], 0

    def parallelism(self) -> int:
        return self.processors

    def query(self, _: str) -> list[dict[str, Any]]:
        return [{"is_there": bool(self.comment), "mark": self.comment}]

    def execute(self, text: str) -> None:
        if (found := re.search(r"COMMENT ON TABLE .* IS '(.*)'", text)) is not None:
            self.comment = found[1]

    def create_table(self, _table: str, _columns: str, _storage: object, mark: str) -> None:
        self.comment, self.made = mark, self.made + 1

    def forget_slices(self, _: str) -> None:
        self.slices = []

    def series(self, first: int, last: int) -> str:
        return f"{first} {last}"

    def load_slices(self, _table: str, _seed: int, parts: Any, _insert: object) -> Iterator[int]:
        self.slices = list(parts)
        raise InterruptedError
        yield 0


@pytest.mark.parametrize("rows", [1000, 25_000, 3_000_000, 8_400_000_000])
def test_slices_of_a_second_try_are_those_of_the_first_whatever_processors_there_are(rows: int) -> None:
    dataset = Dataset("numbers", f"numbers_{rows}", rows, 7, 1, STORAGE, version="1")
    engine = Loading(4)
    for _ in range(2):
        with pytest.raises(InterruptedError):
            generation.generate(dataset, cast(Any, engine), "n int", str)
        engine.processors = 96
    asked = engine.slices
    other = Loading(96)
    with pytest.raises(InterruptedError):
        generation.generate(dataset, cast(Any, other), "n int", str)
    assert asked == other.slices
    assert engine.made == 1, "what the first try has loaded stays"


def test_table_that_was_begun_in_slices_of_another_size_is_made_anew() -> None:
    dataset = Dataset("numbers", "numbers_1", 100_000, 7, 1, STORAGE, version="1")
    engine = Loading(4)
    with pytest.raises(InterruptedError):
        generation.generate(dataset, cast(Any, engine), "n int", str)
    engine.comment = engine.comment.replace("begun in slices of 10000", "begun")
    with pytest.raises(InterruptedError):
        generation.generate(dataset, cast(Any, engine), "n int", str)
    assert engine.made == 2
