"""The highest rate below a latency, looked for many times on one database: how often it lies where a search says.

A search says two rates: one that is held below the limit, and one that is not. Its own trial measures a window at the
first; another trial measures one at the second. The search is right where the 99th percentile is below the limit in the
one and above it in the other, each within the tolerance of a trial, as a window is a sample.
``python -m clusterbench_lab.bench.searches LAB_DIR 10`` makes ten, some four minutes each.
"""

from __future__ import annotations

import sys
from pathlib import Path

from clusterbench.base.connections import local_connections
from clusterbench.base.factors import Level
from clusterbench.base.records import Trial
from clusterbench.drivers.rate_search import HELD_SHARE_MIN, TOLERANCE
from clusterbench.engines import as_database
from clusterbench.trial.protocol import run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import load_workload
from clusterbench_lab.bench.trials import DATABASE, SEED, cluster_taken, trial_of

WORKLOAD = "order_entry"
LIMIT_MS = 50
LEVELS: dict[str, Level] = {
    "warehouses": 2,
    "clients": 8,
    "ramp_up_s": 2,
    "window_s": 12,
    "growth_percent_max": 1000,
    "server.commit_delay": "5000",
    "server.commit_siblings": "0",
}
"""A server whose commits take 5 ms, as those of many disks do: it waits, and how fast this machine's processors are at
the moment, which changes by a third within minutes, does not decide. Only so is there one answer to find."""
PROBE_S = 2


def main(lab_dir: Path, searches: int) -> int:
    """Print a row for each. Returns 0 where nine of ten were right."""
    with cluster_taken(DATABASE, local_connections(lab_dir)) as testbed:
        workload = load_workload(WORKLOAD)
        workload.generate(workload.dataset(_trial("data", 0).levels, SEED), as_database(testbed.engine))
        right = sum(_is_right(number, testbed) for number in range(1, searches + 1))
    print(f"{right} of {searches} were right")
    return 0 if right >= 0.9 * searches else 1


def _is_right(number: int, testbed: Testbed) -> bool:
    found = run_trial(_trial("search", number, response_ms_p99=LIMIT_MS, probe_s=PROBE_S), testbed)
    load = found.evidence.get("load") or {}
    for step in load.get("steps", []):
        said = "  {rate_per_s:g}/s, length {length}: {throughput_per_s:.4g}/s, {response_ms:.3g} ms"
        print(said.format_map(step), flush=True)
    if "rate_per_s" not in load:
        print(f"search {number}: {found.outcome}: {found.reason}", flush=True)
        return False
    above = run_trial(_trial("above", number, rate_per_s=load["above_per_s"]), testbed)
    below_ms, above_ms = (record.measurements.get("response_ms_p99") for record in (found, above))
    is_held = above.measurements.get("throughput_per_s", 0) >= HELD_SHARE_MIN * load["above_per_s"]
    right = found.outcome == "completed" and (not is_held or (above_ms or 0) >= LIMIT_MS / TOLERANCE)
    said = ", ".join(_at(rate, ms) for rate, ms in ((load["rate_per_s"], below_ms), (load["above_per_s"], above_ms)))
    print(f"search {number}, {len(load['steps'])} steps: {said}: {'right' if right else 'wrong'}", flush=True)
    for record in (found, above):
        if record.reason:
            print(f"  {record.trial.cell}: {record.reason}", flush=True)
    return right


def _at(rate_per_s: float, ms: float | None) -> str:
    return f"{rate_per_s:,.4g}/s {'not measured' if ms is None else f'{ms:.3g} ms'}"


def _trial(name: str, number: int, **levels: Level) -> Trial:
    return trial_of(WORKLOAD, LEVELS | levels, number, cell=name)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10))
