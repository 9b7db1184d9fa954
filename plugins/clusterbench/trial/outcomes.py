"""What a trial came to, from how its driver ended, who was away meanwhile, and which hosts were watched. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clusterbench.base.measurements import Reading
from clusterbench.base.patience import CLUSTER, Outage
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.hosts.detached_job import JobState

CLOCK_SET_S = 3
"""From here on a clock was set while a driver ran. Whole seconds are compared, and a clock in use is slewed."""

SAID_ALWAYS = ("pgbench: setting random seed to",)
WORDS_LENGTH_MAX = 500


def of_driver(state: JobState, reading: Reading, before: Mapping[str, Any], output: Path) -> tuple[Any, str]:
    """How the trial ended, and why. A state of the caches that was not reached makes it invalid, never warm."""
    if state.timed_out:
        return "timed_out", "the driver did not end within its time limit and was stopped"
    if state.exit_status is None or state.is_disk_full:
        return "failed", f"the driver {state.how_it_ended}"
    if reading.timed_out:
        return "timed_out", "; ".join(reading.timed_out)
    said = (output / "stderr").read_text(errors="replace") if (output / "stderr").exists() else ""
    said = str(reading.details.get("driver_errors", "")) or said
    if state.exit_status or reading.errors:
        return "failed", "; ".join(reading.failed) or how_it_failed(state, reading.errors, said)
    if abs(state.clock_set_s) >= CLOCK_SET_S:
        return "failed", f"the clock of host {state.host!r} was set by {state.clock_set_s:+d} s while its driver ran"
    problem = before["caches"]["problem"]
    invalid = [str(problem)] if problem else reading.invalid
    return ("invalid", "; ".join(invalid)) if invalid else ("completed", "")


def how_it_failed(state: JobState, errors: int, said: str) -> str:
    """With the last lines of what the driver said, but for those that it says always."""
    lines = [line for line in said.strip().splitlines() if not line.startswith(SAID_ALWAYS)]
    while len("\n".join(lines)) > WORDS_LENGTH_MAX and len(lines) > 1:
        del lines[0]
    words = "\n".join(lines)[-WORDS_LENGTH_MAX:] or "nobody said why"
    return f"the driver {state.how_it_ended}, {errors} errors: {words}"


def given_up(trial: Trial, error: Exception, outages: Sequence[Outage]) -> TrialRecord:
    """A failed trial that could not be measured to its end, with who was away and when."""
    record = TrialRecord(trial, "failed", str(error))
    return replace(record, reason=with_outages(record, outages))


def with_outages(record: TrialRecord, outages: Sequence[Outage]) -> str:
    """Why it has failed, and who was away meanwhile, which may be why."""
    away = [str(each) for each in outages if each.awaited in CLUSTER] if record.outcome == "failed" else []
    return "\n".join([record.reason, *away])


def watched(record: TrialRecord, telling_hosts: Sequence[str]) -> TrialRecord:
    """The record; invalid where a host is unwatched without whose telemetry its numbers cannot be defended."""
    unwatched = [host for host in telling_hosts if not (record.telemetry.get(host) or {}).get("samples")]
    if record.outcome != "completed" or not unwatched:
        return record
    why = f"there is no telemetry of {', '.join(unwatched)}, so it is not known what else ran there"
    return replace(record, outcome="invalid", reason=why, evidence={**record.evidence, "unwatched": unwatched})
