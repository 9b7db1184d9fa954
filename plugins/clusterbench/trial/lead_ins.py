"""Trials whose caches are as the trials before left them: measured in one go, after a declared first one. Pure.

Reports that run after each other on data larger than memory find what the one before has left, which is neither cold
nor warm. The first of a sweep and dataset would find what another sweep left. So a trial is planned before it, whose
record is kept and shown, and of which no result is made: repetition 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clusterbench.base.records import Trial
from clusterbench.trial.ramp import concurrency
from clusterbench.workloads import load_workload

AS_LEFT = "as_left"


def in_one_go(blocks: Sequence[list[Trial]]) -> list[list[Trial]]:
    """Blocks that are measured one after the other: those as left of one sweep and dataset follow each other.

    They begin where the first of them stood, with their lead-in; what is not as left stays in its order.
    """
    found: dict[object, list[Trial]] = {}
    for number, block in enumerate(blocks):
        found.setdefault(go_of(block[0]) or number, []).extend(block)
    return [[lead_in(block), *block] if block[0].levels.get("cache") == AS_LEFT else block for block in found.values()]


def go_of(trial: Trial) -> tuple[str, str] | None:
    """What trials share that are measured in one go: sweep and table; None where caches are not as left."""
    return (trial.sweep, _table(trial)) if trial.levels.get("cache") == AS_LEFT else None


def lead_in(block: Sequence[Trial]) -> Trial:
    """At the lowest concurrency, with as many defaults as can be, then the one whose name comes first.

    A level that a platform lacks, which only its facts tell, is no default: without ORCA the planner leads in.
    """
    of = min(block, key=lambda trial: (concurrency(trial), _not_default(trial), trial.id))
    label = f"{of.cell_label} (#0, lead-in)"
    return replace(of, id=f"{of.cell}.r0", label=label, repetition=0, ramp="", lead_in=True, profiled=False)


def _table(trial: Trial) -> str:
    return load_workload(trial.workload).dataset(trial.levels, trial.seed).table


def _not_default(trial: Trial) -> int:
    factors = load_workload(trial.workload).factors
    return sum(name not in factors or level != factors[name].default for name, level in trial.levels.items())
