"""A dataset's slices."""

from __future__ import annotations

from itertools import pairwise

import pytest

from clusterbench.workloads.generation import slices


@pytest.mark.parametrize("parallelism", [1, 2, 3, 7, 16, 64, 1000])
@pytest.mark.parametrize("rows", [1, 2, 99, 100, 1000, 1_000_000, 1_000_001, 2_999_999, 50_000_000])
def test_slices_tile_the_table(rows: int, parallelism: int) -> None:
    parts = slices(rows, parallelism, 1_000_000)
    assert parts[0][0] == 1
    assert parts[-1][1] == rows
    assert all(first <= last for first, last in parts)
    assert all(one[1] + 1 == other[0] for one, other in pairwise(parts))
    assert max(last - first + 1 for first, last in parts) <= 1_000_000


def test_there_are_as_many_slices_as_can_be_loaded_at_once() -> None:
    assert len(slices(1_000_000, 8, 1_000_000)) == 8
    assert len(slices(1_000_000_000, 8, 1_000_000)) == 1000
