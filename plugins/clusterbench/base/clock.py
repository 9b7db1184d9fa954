"""The time on this machine, as it is written down in archives."""

from __future__ import annotations

from datetime import UTC, datetime


def now_iso() -> str:
    """In UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
