"""What is read of TestDFSIO: its own words, and the times of its jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.records import Trial
from clusterbench.workloads.terasort.dfsio import WORKLOAD, expected_bytes

LEVELS = {"files": 4, "file_mib": 16, "replicas": 3, "pause_s": 1}
SAID = """\
----- TestDFSIO ----- : {0}
            Date & time: Thu Nov 26 20:50:00 UTC 2026
        Number of files: 4
 Total MBytes processed: {1}
      Throughput mb/sec: 23.74
 Average IO rate mb/sec: 25.01
  IO rate std deviation: 4.92
     Test exec time sec: 12.5
"""


def trial(**levels: Any) -> Trial:
    return Trial("t.r1", "t", "p", "t", "dfsio", LEVELS | levels, 1, 7, 600, {})


@pytest.fixture
def output(tmp_path: Path) -> Path:
    lines = ["write 1000.0 1020.0 0 2.0 0.5", "read 1030.0 1040.0 0 1.0 0.5"]
    (tmp_path / "jobs.txt").write_text("\n".join(lines) + "\n")
    for name in ("write", "read"):
        (tmp_path / f"{name}.txt").write_text(SAID.format(name, 64))
        (tmp_path / f"{name}.job.json").write_text(json.dumps({"job": {"id": "job_1_2", "state": "SUCCEEDED"}}))
        (tmp_path / f"{name}.counters.json").write_text(json.dumps({"jobCounters": {"counterGroup": []}}))
    return tmp_path


def test_rates_of_jobs_stand_beside_what_it_prints(output: Path) -> None:
    reading = WORKLOAD.read(output, trial(), {})
    assert reading.measurements == {
        "write_s": 20.0,
        "read_s": 10.0,
        "write_mib_per_s": 3.2,
        "read_mib_per_s": 6.4,
        "write_mib_per_s_of_a_task": 23.74,
        "read_mib_per_s_of_a_task": 23.74,
        "write_mib_per_s_spread": 4.92,
        "read_mib_per_s_spread": 4.92,
        "driver_cpu_share": pytest.approx(4 / 30),
    }
    assert reading.measurements.keys() <= WORKLOAD.measurements.keys()
    assert [(phase.name, phase.data_bytes) for phase in reading.phases] == [("write", 64 * 2**20), ("read", 64 * 2**20)]
    assert not reading.invalid and not reading.errors


def test_less_than_was_asked_for_is_no_number(output: Path) -> None:
    (output / "read.txt").write_text(SAID.format("read", 48))
    assert WORKLOAD.read(output, trial(), {}).invalid == ("TestDFSIO did not read 64 MiB: see read.txt",)
    (output / "read.txt").unlink()
    assert len(WORKLOAD.read(output, trial(), {}).invalid) == 1


def test_job_that_failed_is_told_in_its_own_words(output: Path) -> None:
    (output / "jobs.txt").write_text("write 1000.0 1020.0 1 2.0 0.5\n")
    (output / "write.err").write_text("java.io.IOException: No space left\n\tat org.apache.hadoop.Somewhere.run\n")
    reading = WORKLOAD.read(output, trial(), {})
    assert (reading.errors, reading.measurements) == (1, {})
    assert "java.io.IOException: No space left" in str(reading.details["driver_errors"])
    assert "Somewhere" not in str(reading.details["driver_errors"])


def test_every_replica_is_written_and_one_is_read() -> None:
    size = 64 * 2**20
    found = expected_bytes(LEVELS)
    assert (found["write"]["disk_write"], found["write"]["network"], found["read"]["disk_read"]) == (
        3 * size,
        2 * size,
        size,
    )
    assert WORKLOAD.dataset(LEVELS, 7).bytes_expected == 3 * size
