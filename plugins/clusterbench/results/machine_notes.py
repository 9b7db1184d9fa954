"""What a run's archive has of a platform's machines: when they were begun, what came up, when they were given back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusterbench.base.archive import RunArchive, nth
from clusterbench.base.clock import now_iso
from clusterbench.machines.provider import Guest


class Notes:
    """``begun``, ``up`` and ``released``, each as often as it happened; the newest counts. ``totals``: all of them."""

    def __init__(self, archive: RunArchive, platform: str) -> None:
        self.archive, self.folder = archive, f"platforms/{platform}/machines/"

    def add(self, what: str, said: Mapping[str, Any]) -> None:
        self.archive.put_json(f"{self.folder}{nth(what, self.count(what) + 1)}", {**said, "at": now_iso()})

    def count(self, what: str) -> int:
        return len(self.archive.keys(f"{self.folder}{what}."))

    def newest(self, what: str) -> dict[str, Any]:
        """Empty where nothing was noted."""
        count = self.count(what)
        return self.archive.need_json(f"{self.folder}{nth(what, count)}") if count else {}

    def newest_first(self, what: str) -> Iterator[dict[str, Any]]:
        """All that was noted of it, each read when it is asked for."""
        for number in range(self.count(what), 0, -1):
            yield self.archive.need_json(f"{self.folder}{nth(what, number)}")

    @property
    def is_begun(self) -> bool:
        """Whether machines were touched, and not given back since."""
        return self.count("begun") > self.count("released")

    def guests(self) -> dict[str, Guest]:
        """Host -> what its guest told when it last came up; empty before that, and when all is given back."""
        known = self.newest("up") if self.is_begun else {}
        return {host: Guest(**told) for host, told in (known.get("guests") or {}).items()}
