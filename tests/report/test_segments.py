"""How evenly segments worked, and their work files, in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from clusterbench.report.run.segments import SegmentRow, row_of


def trial(most: float, segment: int = 5, *, mb: float = 80.0, **waits: Any) -> Any:
    counted = {"temporary_mb": {"mb": mb, "segments": 8, "segment": segment, "most_mb": most}}
    return cast(Any, SimpleNamespace(evidence={"after": {"segments": counted}, "waits": waits}))


def said(*trials: Any) -> SegmentRow | None:
    return row_of("power", "gp", trials)


def test_a_segment_that_does_more_in_every_trial_is_named() -> None:
    row = said(trial(20.0), trial(30.0))
    assert row and row.evenness == ["written to temporary files: segment 5 did 2.50 times the mean of 8"]


def test_one_that_is_another_in_each_trial_is_not_and_even_work_is_called_even() -> None:
    row = said(trial(20.0), trial(20.0, 3))
    assert row and "one segment, not the same in each trial, did 2.00 times" in row.evenness[0]
    row = said(trial(10.4))
    assert row and row.evenness == ["written to temporary files: evenly by 8 segments"]


def test_little_is_nothing() -> None:
    assert said(trial(0.5, mb=0.8)) is None
    assert said(cast(Any, SimpleNamespace(evidence={}))) is None


def test_work_files_are_means_over_the_trials_that_looked() -> None:
    of_sort = {"operation": "Sort", "statement": "query 7", "mean_mb": 90.0}
    files = {"peak_mb": 458.0, "largest": {"segment": 1, "peak_mb": 120.0}, "segments": 8, "operations": [of_sort]}
    row = said(trial(10.0, waits=[], work_files=files), trial(10.0, waits=[]), trial(10.0))
    assert row and row.work_files.replace("\u202f", " ") == (
        "Sort of query 7: 45.0 MB; at most 458 MB at once, 120 MB on segment 1"
    )
