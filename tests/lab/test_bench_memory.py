"""What `make bench` says of memory is a process's own."""

from __future__ import annotations

import subprocess
import sys

from clusterbench_lab.bench.memory import peak_mb

SAY = "from clusterbench_lab.bench.memory import peak_mb; print(peak_mb())"


def test_the_peak_holds_what_was_given_back_and_nothing_of_the_process_that_started_this_one() -> None:
    before_mb = peak_mb()
    assert len(b"x" * (300 * 2**20)) == 300 * 2**20
    assert peak_mb() >= before_mb + 200
    said = subprocess.run([sys.executable, "-c", SAY], check=True, capture_output=True, text=True)
    assert float(said.stdout) < 200
