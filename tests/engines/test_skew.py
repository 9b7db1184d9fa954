"""The skew of a table."""

from __future__ import annotations

import pytest

from clusterbench.engines.skew import skew


@pytest.mark.parametrize(
    ("rows", "segments", "expected"),
    [
        ([250, 250, 250, 250], 4, 0.0),
        ([500, 500], 4, 1.0),
        ([0], 4, 0.0),
        ([249_548, 249_933, 250_659, 249_860], 4, 0.002636),
    ],
)
def test_skew_is_what_the_fullest_segment_has_over_its_share(rows: list[int], segments: int, expected: float) -> None:
    assert skew(rows, segments) == pytest.approx(expected)
