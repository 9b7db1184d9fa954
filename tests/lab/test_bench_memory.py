"""What `make bench` says of memory is a process's own."""

from __future__ import annotations

import subprocess
import sys

SAY = """\
from clusterbench_lab.bench.memory import peak_mb
print(peak_mb())
assert len(b"x" * (300 * 2**20)) == 300 * 2**20
print(peak_mb())
"""


def test_the_peak_holds_what_was_given_back_and_nothing_of_the_process_that_started_this_one() -> None:
    large = b"x" * (300 * 2**20)  # of this process, while it starts the other
    said = subprocess.run([sys.executable, "-c", SAY], check=True, capture_output=True, text=True)
    before_mb, after_mb = map(float, said.stdout.split())
    assert before_mb < 200 < len(large) / 2**20
    assert before_mb + 200 <= after_mb < before_mb + 500
