"""The highest rate at which the 99th percentile from the scheduled start is below a limit: looked for before a trial.

What to try is ``drivers/rate_search.py``; here it is tried, with the workload's own driver, each step a short job.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from clusterbench.base.records import Trial
from clusterbench.drivers.load_search import ClientLoad, NextLoad
from clusterbench.drivers.rate_search import NextRate, RateNotFound, RateStep, long_of, next_rate, why_not_held
from clusterbench.hosts.detached_job import PROBE, DetachedJob
from clusterbench.trial.utilisation import QUIET_S, CannotReachError, end_step, reading_of, start_step
from clusterbench.workloads import Workload

if TYPE_CHECKING:
    from clusterbench.trial.testbed import Testbed

log = logging.getLogger(__name__)
LIMIT = "response_ms_p99"
"""The factor, and the measurement that is limited."""


def check(evidence: Mapping[str, Any] | None, measured: Mapping[str, float]) -> str:
    """Why the measured window did not stay below the limit; empty where it did, or where there is none."""
    if not evidence or LIMIT not in evidence:
        return ""
    return why_not_held(evidence[LIMIT], evidence["rate_per_s"], measured.get(LIMIT))


def evidence_of(trial: Trial, workload: Workload, testbed: Testbed, job: DetachedJob) -> dict[str, Any]:
    """Every step, and the load that was found: ``clients`` and ``rate_per_s``, with ``above_per_s``.

    Raises CannotReachError where there is no such rate.
    """
    limit_ms, clients = float(trial.levels[LIMIT]), int(trial.levels["clients"])
    long = long_of(float(trial.levels["window_s"]), float(trial.levels["probe_s"]))
    steps: list[RateStep] = []
    try:
        while isinstance(said := next_rate(steps, limit_ms, long), NextRate):
            load = NextLoad(ClientLoad(clients, said.rate_per_s), said.length)
            short, told = start_step(trial, workload, testbed, job.beside(PROBE), load)
            found = reading_of(short, workload, testbed, job.beside(PROBE), told).measurements
            response_ms = found["response_ms_p99" if said.rate_per_s else "latency_ms_p99"]
            step = RateStep(said.rate_per_s, said.length, found["throughput_per_s"], response_ms)
            log.info("%s: %.1f transactions/s, p99 %.4g ms", said, step.throughput_per_s, step.response_ms)
            steps.append(step)
    finally:
        end_step(testbed, job)
    evidence: dict[str, Any] = {LIMIT: limit_ms, "steps": [asdict(step) for step in steps]}
    if isinstance(said, RateNotFound):
        raise CannotReachError(said.reason, evidence)
    time.sleep(QUIET_S)
    return evidence | {"clients": clients, **asdict(said)}
