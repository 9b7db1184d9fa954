"""The load of a trial, where it is to be found first: by the processors' utilisation, or by a limit of latency."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clusterbench.base.records import Trial
from clusterbench.hosts.detached_job import DetachedJob
from clusterbench.trial import latency_limit, utilisation
from clusterbench.workloads import Workload

if TYPE_CHECKING:
    from clusterbench.trial.testbed import Testbed


def reach(trial: Trial, workload: Workload, testbed: Testbed, job: DetachedJob) -> tuple[Trial, dict[str, Any] | None]:
    """The trial with the load that it asks for, and every step on the way; as it is, and None, where it says a load."""
    if not trial.levels.get(latency_limit.LIMIT):
        return utilisation.reach(trial, workload, testbed, job)
    evidence = latency_limit.evidence_of(trial, workload, testbed, job)
    return utilisation.found(trial, evidence), evidence


def check(evidence: Mapping[str, Any] | None, observed: Mapping[str, float], measured: Mapping[str, float]) -> str:
    """Why the measured window was not what was asked for; empty where it was.

    ``observed``: of the hosts, ``measured``: by the driver.
    """
    return utilisation.check_target(evidence, observed) or latency_limit.check(evidence, measured)
