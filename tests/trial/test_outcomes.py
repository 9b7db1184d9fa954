"""How a trial ended, and why, from how its driver did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.measurements import Reading
from clusterbench.hosts.detached_job import JobState
from clusterbench.trial import outcomes

WARM: dict[str, Any] = {"caches": {"problem": None}}


@pytest.mark.parametrize(
    ("state", "outcome", "reason"),
    [
        (JobState("ended", 0), "completed", ""),
        (JobState("ended", 0, clock_set_s=1), "completed", ""),
        (
            JobState("ended", 0, clock_set_s=-3600, host="client"),
            "failed",
            "the clock of host 'client' was set by -3600 s while its driver ran",
        ),
        (
            JobState("ended", 0, is_disk_full=True, host="client"),
            "failed",
            "the driver ended with status 0; the disk of host 'client' was full then, so what it wrote may be cut "
            "short: free some space in the work folder there",
        ),
        (JobState("ended", 124), "timed_out", "the driver did not end within its time limit and was stopped"),
        (
            JobState("ended", 137, reached_limit=True),
            "timed_out",
            "the driver did not end within its time limit and was stopped",
        ),
        (
            JobState("ended", 137, oom_kills=1, host="client"),
            "failed",
            "the driver was ended by signal 9 (SIGKILL); during that time the kernel's OOM killer ended processes on "
            "host 'client', 1 time, 0 errors: nobody said why",
        ),
        (
            JobState("ended", None, host="client"),
            "failed",
            "the driver died without an exit status: it was killed, or the host restarted",
        ),
    ],
)
def test_outcome_and_reason(tmp_path: Path, state: JobState, outcome: str, reason: str) -> None:
    reading = Reading({"throughput_per_s": 1.0}, samples=1)
    assert outcomes.of_driver(state, reading, WARM, tmp_path) == (outcome, reason)


def test_last_words_are_in_the_reason(tmp_path: Path) -> None:
    (tmp_path / "stderr").write_text("stream 2: psql ended with status 2\n")
    _, reason = outcomes.of_driver(JobState("ended", 1), Reading({}), WARM, tmp_path)
    assert reason == "the driver ended with status 1, 0 errors: stream 2: psql ended with status 2"


def test_last_words_are_whole_lines_and_not_what_pgbench_says_always(tmp_path: Path) -> None:
    lines = [f"pgbench: error: client {number} aborted: the server closed the connection" for number in range(20)]
    (tmp_path / "stderr").write_text("\n".join(["pgbench: setting random seed to 62051", *lines]) + "\n")
    _, reason = outcomes.of_driver(JobState("ended", 2), Reading({}, errors=7), WARM, tmp_path)
    head, first = reason.splitlines()[0].split("errors: ")
    assert (head, first in lines, reason.splitlines()[-1]) == ("the driver ended with status 2, 7 ", True, lines[-1])
    assert len(reason) < outcomes.WORDS_LENGTH_MAX + 50 and "random seed" not in reason
