"""A ramp: one repetition with a stepwise rise of concurrency (paper 004), and the rule that gives it up. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusterbench.base.errors import NotYetError
from clusterbench.base.records import FINDINGS, NOT_MEASURED, Trial, TrialRecord
from clusterbench.workloads import load_workload


def blocks(trials: Sequence[Trial]) -> list[list[Trial]]:
    """What is measured in one go: each ramp in rising concurrency, every other trial by itself."""
    found: dict[str, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.ramp or f"alone: {trial.id}", []).append(trial)
    return [sorted(block, key=concurrency) for block in found.values()]


def concurrency(trial: Trial) -> int:
    rising = {name for name, factor in load_workload(trial.workload).factors.items() if factor.is_concurrency}
    return max((int(level) for name, level in trial.levels.items() if name in rising), default=0)


def steps_before(trial: Trial, planned: Sequence[Trial]) -> list[Trial]:
    """The earlier steps of the trial's ramp, in their order; of a trial on its own there are none."""
    (block,) = (block for block in blocks(planned) if trial in block)
    return block[: block.index(trial)]


def check_turn(trial: Trial, before: Sequence[Trial], records: Mapping[str, TrialRecord]) -> None:
    """Raises NotYetError while an earlier step has no record."""
    if missing := [step.label for step in before if step.id not in records]:
        raise NotYetError(
            f"ramp {trial.ramp!r}: {trial.label} comes after {missing[0]}, which has no record yet: its task was "
            "interrupted, and is tried again"
        )


def given_up(before: Sequence[Trial], records: Mapping[str, TrialRecord]) -> str | None:
    """Why what comes after these steps of a ramp is not tried, or None.

    A level that cannot be had says nothing of the cluster, so it neither counts nor ends a row of failures.
    """
    row: list[Trial] = []
    for step in before:
        outcome = records[step.id].outcome if step.id in records else "not_applicable"
        if outcome in FINDINGS:
            row.append(step)
        elif outcome not in NOT_MEASURED:
            row = []
        if len(row) == step.give_up_after:
            levels = ", ".join(f"{concurrency(one)} ({records[one.id].outcome})" for one in row)
            return (
                f"ramp {step.ramp!r} was given up: concurrency {levels} did not complete, and its rule is "
                f"'give_up_after: {step.give_up_after}'"
            )
    return None
