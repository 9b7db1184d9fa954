"""Measured windows: whether they were long enough, and how much of a run's time they are. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from clusterbench.base.records import TrialRecord
from clusterbench.workloads import window_s as declared_s

WANTED_S = 1.0
"""Of a window for which nothing is declared. In less, a host's telemetry has hardly a sample."""
NEEDED_S = 0.01
"""Below it nothing was measured but a moment."""
TOLERANCE = 0.95
"""A window of whole seconds is some milliseconds less from the first transaction's begin to the last one's end."""


def window_s(record: TrialRecord) -> float | None:
    """How long was measured; None of a trial that has no number."""
    if record.outcome != "completed" or record.window_start_s is None or record.window_end_s is None:
        return None
    return record.window_end_s - record.window_start_s


def length_s(record: TrialRecord) -> float:
    """The same, 0 where there is none."""
    return window_s(record) or 0.0


def is_short(record: TrialRecord) -> bool:
    """Of a trial that has a number. What is declared (``window_s``) holds where the caches stay as they are."""
    return length_s(record) < TOLERANCE * (declared_s(record.trial.levels) or WANTED_S)


def measured_share(records: Sequence[TrialRecord]) -> float | None:
    """Of the time from the begin of the first trial's preparation to the end of the last window."""
    begun = [datetime.fromisoformat(record.started_at).timestamp() for record in records if record.started_at]
    ended = [record.window_end_s for record in records if record.window_end_s]
    if not (begun and ended) or max(ended) <= min(begun):
        return None
    return sum(map(length_s, records)) / (max(ended) - min(begun))
