"""Who held the locks that a cell's sessions waited for. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from clusterbench.base.records import TrialRecord

SHOWN = 2


def held_by(records: Sequence[TrialRecord]) -> str:
    """ "locks held by nightly (LOCK TABLE t) and psql (UPDATE t)": those seen most often; empty where none was."""
    seen: Counter[str] = Counter()
    for record in records:
        for one in (record.evidence.get("waits") or {}).get("held_by") or ():
            seen[f"{one['application']} ({one['statement']})"] += one["looks"]
    return f"locks held by {' and '.join(who for who, _ in seen.most_common(SHOWN))}" if seen else ""
