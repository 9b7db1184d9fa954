"""The work files that statements had on disk, by segment and operation, from looks at them. Pure.

A look is what was there at that moment (Greenplum's ``gp_toolkit.gp_workfile_entries``): what was written and removed
between two looks is in ``temporary_mb`` alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from clusterbench.base.database_work import BYTES_PER_MB

NAMED_MAX = 20


@dataclass
class WorkFiles:
    """``add`` each line of a look, in order. Bytes."""

    by_operation: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Operation and statement -> the sum over all looks."""
    peak_bytes: int = 0
    """Of all segments together."""
    peak_of_segment: dict[int, int] = field(default_factory=dict)
    _at_s: float = -1.0
    _now: Counter[int] = field(default_factory=Counter)

    def add(self, time_s: float, event: str, statement: str, size_bytes: int) -> None:
        """``event``: a segment's number and the operation, as "3 HashJoin"."""
        number, _, operation = event.partition(" ")
        if time_s != self._at_s:
            self._at_s, self._now = time_s, Counter()
        self.by_operation[operation, statement] += size_bytes
        self._now[int(number)] += size_bytes
        self.peak_bytes = max(self.peak_bytes, self._now.total())
        self.peak_of_segment[int(number)] = max(self.peak_of_segment.get(int(number), 0), self._now[int(number)])

    def told(self, looks: int) -> dict[str, Any]:
        """For a record: ``mean_mb`` over all looks. Empty where no work file was seen."""
        if not self.peak_of_segment:
            return {}
        segment, largest = max(self.peak_of_segment.items(), key=lambda one: one[1])
        return {
            "peak_mb": round(self.peak_bytes / BYTES_PER_MB, 1),
            "largest": {"segment": segment, "peak_mb": round(largest / BYTES_PER_MB, 1)},
            "segments": len(self.peak_of_segment),
            "operations": [
                {"operation": operation, "statement": statement, "mean_mb": round(size / looks / BYTES_PER_MB, 2)}
                for (operation, statement), size in self.by_operation.most_common(NAMED_MAX)
            ],
        }
