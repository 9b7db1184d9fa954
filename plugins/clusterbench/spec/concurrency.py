"""Levels of concurrency that an experiment has. Pure."""

from __future__ import annotations

from collections.abc import Collection

from clusterbench.base.factors import Level
from clusterbench.spec.by_name import declared_by
from clusterbench.spec.experiment import Experiment, Scale


def concurrency_levels(experiment: Experiment, scale: Scale, sweeps: Collection[str] = ()) -> list[Level]:
    """The levels that can be chosen: those of a factor of concurrency that ``sweeps`` vary, or that any sweep does."""
    found: set[Level] = set()
    for name, sweep in experiment.sweeps.items():
        if not sweeps or name in sweeps:
            rising = {factor for factor, kind in declared_by(sweep.workload).factors.items() if kind.is_concurrency}
            listed = [sweep.levels(factor, scale) for factor in sweep.factors if factor in rising]
            found |= {level for levels in listed if len(levels) > 1 for level in levels}
    return sorted(found, key=lambda level: (isinstance(level, str), level))
