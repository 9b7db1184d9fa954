"""The plans that an experiment's statements have now, without measuring any; beside those of a run, if one is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusterbench.base.factors import server_settings
from clusterbench.base.plans import PlanChange, changes, fingerprint
from clusterbench.base.records import Trial
from clusterbench.results.compare import OneRun
from clusterbench.results.compare_cells import cell_key
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import Planned, load_workload, why_not


@dataclass(frozen=True)
class PlansOfCell:
    """``plans``: statement -> plan as text; without any, ``why_none`` says why."""

    trial: Trial
    plans: Mapping[str, str] = field(default_factory=dict)
    why_none: str = ""

    @property
    def label(self) -> str:
        return self.trial.cell_label

    def changes_from(self, run: OneRun) -> list[PlanChange] | None:
        """What is another plan than in that run; None where the run noted none of this cell."""
        key = cell_key(self.trial.sweep, self.trial.levels)
        known = [one.plans for one in run.results_on(self.trial.platform) if cell_key(one.sweep, one.levels) == key]
        if not any(known):
            return None
        now = {name: fingerprint(text) for name, text in self.plans.items()}
        texts = dict(run.plans) | {now[name]: text for name, text in self.plans.items()}
        return changes(known[0], now, texts)

    def as_json(self) -> dict[str, Any]:
        return {
            "platform": self.trial.platform,
            "cell": self.trial.cell,
            "label": self.label,
            "plans": {name: {"fingerprint": fingerprint(text), "plan": text} for name, text in self.plans.items()},
            "why_none": self.why_none,
        }


def cells_of(trials: Sequence[Trial]) -> list[Trial]:
    """One trial of each cell, in their order."""
    found: dict[str, Trial] = {}
    for trial in trials:
        if trial.makes_result:
            found.setdefault(trial.cell, trial)
    return list(found.values())


def plans_now(trials: Sequence[Trial], testbed: Testbed) -> Iterator[PlansOfCell]:
    """Of each of these trials, with its settings, on data that are there. Nothing is generated, nor run."""
    for trial in trials:
        reason = _why_none(trial, testbed)
        if reason:
            yield PlansOfCell(trial, why_none=reason)
            continue
        workload: Any = load_workload(trial.workload)
        try:
            workload.prepare(trial, testbed.engine)
            yield PlansOfCell(trial, workload.plans(trial, testbed.engine))
        finally:
            workload.restore(trial, testbed.engine)


def _why_none(trial: Trial, testbed: Testbed) -> str:
    workload = load_workload(trial.workload)
    if not isinstance(workload, Planned):
        return f"statements of {trial.workload} have no plans that can be asked for"
    if reason := why_not(trial, testbed.unavailable):
        return f"not applicable: {reason}"
    if wanted := server_settings(trial.levels):
        return f"takes settings of the servers ({', '.join(wanted)}), which only a run changes"
    dataset = workload.dataset(trial.levels, trial.seed)
    if not workload.is_generated(dataset, testbed.engine):
        return f"{dataset.table} is not there; a run generates it"
    return ""
