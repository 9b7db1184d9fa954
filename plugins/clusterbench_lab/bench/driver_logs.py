"""10^8 transactions of pgbench: what counting them takes of the client host, and reading that of the worker."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from clusterbench.drivers import pgbench, pgbench_log
from clusterbench_lab.bench.memory import peak_mb

TRANSACTIONS = 100_000_000
CLIENTS = 200
BLOCK = 1_000_000
"""So many lines are made up, and written again and again with later times."""
COUNT_S_MAX = 600.0
MEMORY_MB_MAX = 200.0
BEGUN_S = 1_800_000_000
PER_S = 50_000


def measure(say: Callable[..., bool]) -> bool:
    """Print the figures; True where all are within their bounds."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _write(folder, os.cpu_count() or 1)
        begun = time.perf_counter()
        reduce(folder)
        took_s = time.perf_counter() - begun
        done = subprocess.run([sys.executable, "-m", __name__, made], check=True, capture_output=True, text=True)
        samples, read_s, peak_mb = map(float, done.stdout.split())
        kept_mb = sum((folder / name).stat().st_size for name in ("reduced.txt", "window.txt")) / 1e6
    if samples != TRANSACTIONS:
        raise RuntimeError(f"{samples:,.0f} of {TRANSACTIONS:,} transactions were counted")
    count = f"seconds in which the client host counts {TRANSACTIONS:,} transactions"
    memory = "MB of memory of the process that reads what is left of them"
    say("MB that are left of them and travel", kept_mb)
    say("seconds to read that", read_s)
    held = [
        say(count, took_s, f"at most {COUNT_S_MAX:g}", holds=took_s <= COUNT_S_MAX),
        say(memory, peak_mb, f"at most {MEMORY_MB_MAX:g}", holds=peak_mb <= MEMORY_MB_MAX),
    ]
    return all(held)


def reduce(folder: Path) -> None:
    """The logs in a folder, as a job on the client host makes them small."""
    for name, text in pgbench_log.files().items():
        (folder / name).write_text(text)
    script = f"set -euo pipefail\n{pgbench_log.functions()}reduce_log"
    subprocess.run(["bash", "-c", script], cwd=folder, check=True)


def _write(folder: Path, threads: int) -> None:
    """A log for each thread of pgbench, one after the other's time is no matter."""
    anyhow = random.Random(1)  # noqa: S311  made-up latencies
    latencies = [int(anyhow.lognormvariate(8, 0.7)) for _ in range(BLOCK)]
    logs = [(folder / f"log.1.{n}").open("w") for n in range(threads)]
    for block in range(TRANSACTIONS // BLOCK):
        at_us = [BEGUN_S * 10**6 + (block * BLOCK + n) * 10**6 // PER_S for n in range(BLOCK)]
        logs[block % threads].writelines(
            f"{n % CLIENTS} {n} {us} 0 {at // 10**6} {at % 10**6}\n"
            for n, (us, at) in enumerate(zip(latencies, at_us, strict=True))
        )
    for log in logs:
        log.close()


if __name__ == "__main__":
    begun_s = time.perf_counter()
    found = pgbench.read(Path(sys.argv[1]), TRANSACTIONS)
    print(found.samples, time.perf_counter() - begun_s, peak_mb())
