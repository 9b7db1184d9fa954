"""What a check found of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """One expectation on one table of facts. ``check`` is the number of the list "How a number earns trust"."""

    suite: str
    check: int
    says: str
    passed: bool
    critical: bool
    found: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
