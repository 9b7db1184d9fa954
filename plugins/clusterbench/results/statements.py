"""What a trial's time is made of: queries, types of transactions, phases; and which of them a difference is. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterbench.base.words import share
from clusterbench.workloads import measurement_kinds

TOLD_MAX = 10
"""Statements that are kept of a change: those that explain most of it."""
EXPLAINS_MIN = 0.1
"""Share of a difference from which on a statement is named."""
NAMED_MAX = 3
OUT_OF_PROPORTION = 1.5
NONE_STANDS_OUT = "no statement stands out"
SAME = 0.001
"""Totals that differ by less are the same: nothing is to be explained."""


@dataclass(frozen=True)
class Part:
    """One statement on both sides. ``before`` and ``after`` in ``unit``; None where that side has no time of it."""

    measurement: str
    statement: str
    unit: str
    before: float | None
    after: float | None
    share: float
    """Of all statements' time on the later side, or on the other where that has none; each as often as it runs."""
    explains: float | None
    """Of the difference of all statements together; negative where it went the other way, None where there is none."""

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


def statement_of(measurement: str) -> str:
    """Of which statement, transaction or phase of a trial it is the time; empty of any other number."""
    kind = measurement_kinds().get(measurement)
    return kind.statement if kind else ""


def is_statement(measurement: str) -> bool:
    return bool(statement_of(measurement))


def parts(before: Mapping[str, float], after: Mapping[str, float]) -> list[Part]:
    """Of two levels of one cell, by measurement; what explains most of their difference first.

    Statements that only one side has explain nothing: the work was another.
    """
    kinds = measurement_kinds()  # once: each time it looks whether a workload was added
    weighed = [{name: kinds[name].weight * value for name, value in side.items()} for side in (before, after)]
    both = [name for name in weighed[0] if name in weighed[1]]
    totals = [sum(side[name] for name in both) for side in weighed]
    difference = totals[1] - totals[0]
    is_same = abs(difference) <= SAME * totals[0]
    shown = weighed[1] or weighed[0]
    whole = sum(shown.values())
    found = [
        Part(
            name,
            kinds[name].statement,
            kinds[name].unit,
            before.get(name),
            after.get(name),
            shown.get(name, 0.0) / whole if whole else 0.0,
            (weighed[1][name] - weighed[0][name]) / difference if name in both and not is_same else None,
        )
        for name in dict.fromkeys([*before, *after])
    ]
    return sorted(found, key=lambda part: (-(part.explains or 0.0), -part.share, part.measurement))


def explanation(found: Sequence[Part]) -> str:
    """ "query 64 is 71 % of the difference, query 4 12 %"; or that none stands out. Empty where nothing differs.

    One stands out where it explains more than its share of the time does already: if all take twice as long, none does.
    """
    counted = [part for part in found if part.explains is not None]
    if not counted:
        return ""
    kinds = measurement_kinds()
    before_s = {part.measurement: kinds[part.measurement].weight * (part.before or 0.0) for part in counted}
    whole_s = sum(before_s.values())
    named = [part for part in counted if _stands_out(part, before_s[part.measurement], whole_s)][:NAMED_MAX]
    if not named:
        slower = sum((part.after or 0.0) > (part.before or 0.0) for part in counted)
        return f"{NONE_STANDS_OUT}: {slower} of {len(counted)} take longer"
    first, *others = named
    said = [f"{first.statement} is {share(first.explains)} of the difference"]
    return ", ".join([*said, *(f"{part.statement} {share(part.explains)}" for part in others)])


def _stands_out(part: Part, before_s: float, whole_s: float) -> bool:
    own = before_s / whole_s if whole_s else 0.0
    return (part.explains or 0.0) >= max(EXPLAINS_MIN, OUT_OF_PROPORTION * own)
