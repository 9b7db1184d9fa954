"""Who held the locks that were waited for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from clusterbench.base.records import TrialRecord
from clusterbench.results.lock_holders import held_by


def record(*holders: tuple[str, str, int]) -> TrialRecord:
    told = [{"application": who, "statement": what, "looks": looks} for who, what, looks in holders]
    evidence: dict[str, Any] = {"waits": {"held_by": told}} if told else {}
    return cast(TrialRecord, SimpleNamespace(evidence=evidence))


def test_those_that_were_seen_most_are_named_over_all_trials() -> None:
    records = [record(("nightly", "LOCK TABLE t", 3), ("psql", "UPDATE t", 4), ("cron", "-", 1)), record()]
    more = record(("nightly", "LOCK TABLE t", 3))
    assert held_by([*records, more]) == "locks held by nightly (LOCK TABLE t) and psql (UPDATE t)"


def test_nobody_is_named_where_nobody_was_seen() -> None:
    assert held_by([record()]) == ""
    assert held_by([]) == ""
