"""Trials of the benchmarks on the lab: every factor at its default, but for what a benchmark says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from clusterbench.base.connections import Connections
from clusterbench.base.errors import ClusterbenchError
from clusterbench.base.factors import Level
from clusterbench.base.records import Trial
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.trial.protocol import run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import load_workload

DATABASE, HADOOP = "lab_db1", "lab_hadoop1"
SEED = 7


@contextmanager
def cluster_taken(platform: str, connections: Connections) -> Iterator[Testbed]:
    """The platform's hosts and its cluster, which nobody else takes until it is given back."""
    run = Run("bench", f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}", connections)
    with run.testbed(platform) as testbed:
        steps.take_cluster(run, platform)
        try:
            yield testbed
        finally:
            steps.release_cluster(run, platform)


def trial_of(
    workload: str,
    levels: Mapping[str, Level],
    number: int,
    *,
    cell: str = "bench",
    platform: str = DATABASE,
    timeout_s: int = 600,
) -> Trial:
    """``number``: its repetition."""
    chosen = {name: factor.default for name, factor in load_workload(workload).factors.items()} | dict(levels)
    return Trial(f"{cell}.r{number}", cell, platform, cell, workload, chosen, number, SEED, timeout_s, {})


def measured(trial: Trial, testbed: Testbed, measurement: str) -> float:
    """One measurement of a trial with all that is around it."""
    record = run_trial(trial, testbed)
    if record.outcome != "completed":
        raise ClusterbenchError(f"the trial of the benchmark {record.outcome}: {record.reason}")
    return record.measurements[measurement]
