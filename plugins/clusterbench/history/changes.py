"""What people read of changes.json: each series that changed, in words. Pure.

``change_test.py`` finds the changes; here is what the notification, the question about baselines and the leaf of the
weekly run read of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterbench.base.factors import Level
from clusterbench.base.plans import PlanChange
from clusterbench.base.remarks import Remark

if TYPE_CHECKING:
    from clusterbench.history.change_test import State

WORSE = ("regression", "no_number")
"""A number that got worse, and one that is no longer there."""
STATES: dict[State, tuple[str, str]] = {
    "regression": ("regression", "regressions"),
    "no_number": ("no number", "no number"),
    "improvement": ("improvement", "improvements"),
    "no_change": ("no change", "no change"),
    "too_few": ("too few runs", "too few runs"),
}
"""What each verdict is called wherever results are counted, in this order: of one, and of several (docs/words.md)."""
PLANS_SHOWN = 1
"""In the line of a change; the page of the result has all."""
QUESTION_DAYS = 6
"""An answer is waited for; then it is no. Next week's run finds no open question of this week's."""


@dataclass(frozen=True)
class ReportedChange:
    """An entry of changes.json, as ``series_changes.SeriesChange`` writes it."""

    experiment: str
    scale: str
    platform: str
    sweep: str
    label: str
    levels: Mapping[str, Level]
    measurement: str
    state: State
    says: str
    at_run_id: str
    """The first run of the new level; empty where there is none."""
    facts: tuple[str, ...]
    """That changed at that run, a line each."""
    explanation: str = ""
    """Which statements the change is made of."""
    plans: tuple[str, ...] = ()
    """That changed with it, a line each."""
    events: tuple[str, ...] = ()
    """That people told of, a line each."""

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> ReportedChange:
        series, change = entry["series"], entry["change"]
        names = ("experiment", "scale", "platform", "sweep", "label", "levels", "measurement")
        return cls(
            **{name: series[name] for name in names},
            state=change["state"],
            says=change["says"],
            at_run_id=change["at_run_id"] or "",
            facts=tuple(f"{one['what']} ({one['where']}): {one['a']} -> {one['b']}" for one in entry["differences"]),
            explanation=str(entry.get("explanation") or ""),
            plans=tuple(str(PlanChange(**one)) for one in entry.get("plans") or ()),
            events=tuple(Remark.of(one).line for one in entry.get("events") or ()),
        )

    @property
    def where(self) -> str:
        """Its place, for people who see many at once."""
        return f"{self.experiment} on {self.platform}: {self.sweep}, {self.label}, {self.measurement}"

    @property
    def line(self) -> str:
        why = [*self.events, self.explanation, *self.plans[:PLANS_SHOWN]]
        return " ".join([f"{self.where}: {self.says}", *(f"{said[0].upper()}{said[1:]}." for said in why if said)])

    @property
    def series_id(self) -> str:
        """The same in every week, of whichever change of the series."""
        parts = [self.experiment, self.scale, self.platform, self.sweep, dict(self.levels), self.measurement]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def counted(states: Mapping[State, int]) -> list[str]:
    """ "2 regressions", "96 no change": of each verdict that there is, how many results have it."""
    return [f"{states[state]} {words[states[state] != 1]}" for state, words in STATES.items() if states.get(state)]


def broken(found: Iterable[ReportedChange]) -> list[ReportedChange]:
    return [one for one in found if one.state in WORSE]


def regressions(found: Iterable[ReportedChange]) -> list[ReportedChange]:
    return [one for one in found if one.state == "regression"]
