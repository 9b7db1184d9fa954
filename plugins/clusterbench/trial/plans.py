"""The plans of a cell's statements: asked for once in a run, before its first trial, and archived."""

from __future__ import annotations

from clusterbench.base.plans import fingerprint
from clusterbench.base.records import Trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import Planned, Workload


def noted(trial: Trial, workload: Workload, testbed: Testbed) -> dict[str, str]:
    """Statement -> fingerprint of its plan, when the trial is prepared. Empty where statements have no plans.

    Who entered this trial before, or measured another repetition, has asked already.
    """
    if not isinstance(workload, Planned):
        return {}
    found = testbed.archive.plans(trial.platform, trial.cell)
    if not found:
        found = dict(workload.plans(trial, testbed.engine))
        testbed.archive.put_plans(trial.platform, trial.cell, found)
    return {name: fingerprint(text) for name, text in found.items()}
