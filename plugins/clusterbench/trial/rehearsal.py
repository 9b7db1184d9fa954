"""A rehearsal: the plan of full scale with every size divided, and all else untouched. Pure.

All levels, files, streams, clients, order, suites and time-outs are full scale's; rows, warehouses and scale factors
are divided, and so is what only makes a trial long, down to some seconds or lookups: a study of 40 windows of half an
hour would else take a day. Settings of memory are no sizes of data. A rehearsal shows that every cell can be had. Its
numbers are none of full scale's, so it has a scale of its own wherever runs are separated by scale.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from clusterbench.base.errors import SpecError
from clusterbench.base.factors import Factor, Level, factor_of, say_count
from clusterbench.spec.experiment import Experiment, Scale, Sweep
from clusterbench.workloads import load_workload

REHEARSE_MAX = 1_000_000_000
AGAIN = "_again"


@dataclass(frozen=True)
class Size:
    """A size of full scale, or what makes its trials long, and what that is divided."""

    sweep: str
    factor: str
    full: Level
    rehearsed: Level
    is_least: bool
    """Divided it would be less than the workload takes, or than a rehearsal measures, so it is as much as that."""


def divisor(choices: Mapping[str, Any]) -> int:
    """Of what was chosen, or of a run's ``choices``. Runs that were archived before there were rehearsals say none."""
    found = choices.get("rehearse") or 1
    return found if isinstance(found, int) else 1


def scale_of(choices: Mapping[str, Any]) -> str:
    """The scale that runs are listed, followed and compared by: ``full``, or ``rehearsal_1000``; empty if unknown.

    Runs that measure some cells again for a weekly run are series of their own, such as ``laptop_again``: they are not
    whole runs, and there are more of them where something looked slow.
    """
    by = divisor(choices)
    scale = f"rehearsal_{by}" if by > 1 else str(choices.get("scale") or "")
    return f"{scale}{AGAIN}" if choices.get("confirms") else scale


def notice(choices: Mapping[str, Any]) -> str:
    """What must be said beside a rehearsal's numbers; nothing of another run's."""
    by = divisor(choices)
    if by == 1:
        return ""
    return (
        f"A rehearsal: full scale with every size divided by {by:,}. It shows whether every cell can be had, and how "
        "each ends. Its numbers are none of full scale's, and no published value stands beside them."
    )


def levels(sweep: Sweep, factor: str, scale: Scale, by: int, engine: str) -> list[Level]:
    """What a sweep declares for an engine; sizes divided."""
    declared = factor_of(load_workload(sweep.workload).factors, factor)
    if declared is None:
        raise SpecError([f"workload {sweep.workload!r} has no factor {factor!r}"])
    return [declared.divided(level, by) for level in sweep.levels(factor, scale, engine)]


def sizes(experiment: Experiment, sweeps: Collection[str], by: int) -> list[Size]:
    """Every size of the sweeps, of all if none are named; also one that a sweep leaves out and so has its default."""
    return [
        Size(name, factor.name, level, factor.kind.divided(level, by), is_least=_is_least(factor.kind, level, by))
        for name, factor in _sizes_of(experiment, sweeps)
        for level in factor.levels
        if factor.kind.is_size or factor.kind.divided(level, by) != level
    ]


def check(experiment: Experiment, scale: Scale, sweeps: Collection[str], by: int) -> None:
    """Raises SpecError where another scale is to be rehearsed, or where two sizes would become one."""
    if by == 1:
        return
    if scale != "full":
        raise SpecError([
            f"rehearse: {by} divides the sizes of scale 'full', and the chosen scale is {scale!r}; choose scale full, "
            "or take the rehearsal out (rehearse 1)"
        ])  # fmt: skip
    found = [factor for _, factor in _sizes_of(experiment, sweeps)]
    for name, factor in _sizes_of(experiment, sweeps):
        if alike := _alike(factor, by):
            one, other = map(_said, alike)
            raise SpecError([
                f"rehearse: divided by {by}, {factor.name} {one} and {other} of sweep {name!r} are both "
                f"{_said(factor.kind.divided(alike[0], by))}, so that two cells would be one; choose "
                f"{_largest(found, by)}, with which all sizes stay apart"
            ])  # fmt: skip


@dataclass(frozen=True)
class _SizeFactor:
    name: str
    kind: Factor
    levels: list[Level]


def _sizes_of(experiment: Experiment, sweeps: Collection[str]) -> Iterator[tuple[str, _SizeFactor]]:
    for name, sweep in experiment.sweeps.items():
        if not sweeps or name in sweeps:
            for factor, kind in load_workload(sweep.workload).factors.items():
                if kind.is_divided:
                    named = sweep.levels(factor, "full") if factor in sweep.factors else [kind.default]
                    yield name, _SizeFactor(factor, kind, named)


def _alike(factor: _SizeFactor, by: int) -> tuple[Level, Level] | None:
    """Two sizes that are one when they are divided: where any are, neighbours are."""
    in_order = sorted(factor.levels, key=float)
    return next(
        (pair for pair in pairwise(in_order) if factor.kind.divided(pair[0], by) == factor.kind.divided(pair[1], by)),
        None,
    )


def _largest(factors: Collection[_SizeFactor], by: int) -> int:
    """A smaller divisor that keeps all sizes apart, where the next larger one does not."""
    apart, together = 1, by
    while together - apart > 1:
        middle = (apart + together) // 2
        if any(_alike(factor, middle) for factor in factors):
            together = middle
        else:
            apart = middle
    return apart


def _is_least(kind: Factor, level: Level, by: int) -> bool:
    return not isinstance(level, str) and level / by < kind.least(level)


def _said(level: Level) -> str:
    return say_count(level) if isinstance(level, int) else str(level)
