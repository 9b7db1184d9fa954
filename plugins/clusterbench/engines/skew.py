"""How unevenly the rows of a table are spread over the instances that hold rows. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def skew(rows_by_segment: Sequence[int], segments: int) -> float:
    """How much more than its even share the fullest segment holds: 0 is even, 1 is twice the share."""
    total = sum(rows_by_segment)
    return max(rows_by_segment) * segments / total - 1 if total else 0.0
