"""From the records of a run to how long its cells took."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusterbench.base.factors import Level
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.results.measured import measured_cells
from clusterbench.workloads import load_workload

LEVELS: dict[str, Level] = {name: factor.default for name, factor in load_workload("key_value").factors.items()}


def record(number: int, started: str, driver_s: float, **changes: object) -> TrialRecord:
    trial = Trial(f"s.a.r{number}", f"s: a (#{number})", "p", "s", "key_value", LEVELS, number, 7, 60, {})
    phases = {"prepare": 1.0, "cache_state": 2.0, "driver": driver_s}
    telemetry = {"db": {"mean": {"disk_read_mb_per_s": 10.0}}, "same": {"mean": {"disk_read_mb_per_s": 10.0}}}
    made = TrialRecord(
        trial,
        "completed",
        "",
        window_start_s=100.0,
        window_end_s=104.0,
        telemetry=telemetry,
        phases_s=phases,
        started_at=started,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_trial_lasts_until_the_next_one_begins() -> None:
    """Trials of 13, 13 and 15 s, begun every 20 s: 7 s lie between two of them, of which the median is known."""
    records = [
        record(1, "2026-01-01T00:00:00+00:00", 10.0),
        record(2, "2026-01-01T00:00:20+00:00", 10.0),
        record(3, "2026-01-01T00:00:40+00:00", 12.0),
    ]
    (found,) = measured_cells("x/y", records, ["db"])
    assert (found.cell, found.label, found.trials) == ("s.a", "s: a", 3)
    assert (found.whole_s, found.driver_s) == (13.0 + 7.0, 10.0)
    assert (found.read_bytes, found.written_bytes) == (40_000_000, None)


@pytest.mark.parametrize("outcome", ["failed", "timed_out", "invalid", "not_applicable"])
def test_what_did_not_complete_is_no_measure(outcome: str) -> None:
    records = [record(1, "2026-01-01T00:00:00+00:00", 10.0, outcome=outcome)]
    assert measured_cells("x/y", records, ["db"]) == []
