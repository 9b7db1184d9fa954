"""What a weekly run measures again at once, as it looks worse, and what that makes of its verdicts. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from clusterbench.base.words import as_sentence, percent, plural
from clusterbench.history.change_test import P_MAX as NEW_RUNS
from clusterbench.history.change_test import Change
from clusterbench.history.confirmation import (
    OTHERS,
    RUNS,
    RUNS_MIN,
    SUSPECT_SD,
    Confirmation,
    Measured,
    by_turns,
    judge,
    moved_as_a_whole,
    suspicion,
)
from clusterbench.history.model import Series
from clusterbench.results.compare_cells import cell_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMED = 5
"""Of what there was no time for."""
Place = tuple[str, str]
"""Experiment and platform: what is measured again in one run."""
Key = tuple[str, str, str, str]
"""Experiment, platform, cell and measurement: a series without its number, which a rebuilt history gives anew."""


@dataclass(frozen=True)
class Regarded:
    """A followed result of the week. ``level`` and ``newest``: logarithms of which more is worse.

    ``newest`` is None where the week's run has no number. ``stands``: it was confirmed some weeks ago.
    """

    series: Series
    change: Change
    level: NDArray[Any]
    newest: float | None
    threshold_percent: float
    stands: Change | None = None

    @property
    def place(self) -> Place:
        return self.series.experiment, self.series.platform

    @property
    def key(self) -> Key:
        return key_of(self.series)

    @property
    def worse(self) -> int:
        return worse_of(self.series)

    @property
    def moved(self) -> float | None:
        """How much worse the newest run is than the level, as a logarithm."""
        return None if self.newest is None or not len(self.level) else self.newest - float(self.level.mean())

    @property
    def suspicion(self) -> float:
        """In standard deviations; 0 of what cannot be told, infinite of what is told as new and worse."""
        if self.is_new_regression:
            return float("inf")
        if self.newest is None or len(self.level) < 2:
            return 0.0
        return suspicion(self.level, self.newest)

    @property
    def is_new_regression(self) -> bool:
        return self.change.state == "regression" and self.change.runs_after <= max(NEW_RUNS)

    @property
    def is_suspect(self) -> bool:
        """What was confirmed before is measured again where it does not look slow any more."""
        if self.series.better == "neither" or self.change.state not in ("no_change", "regression"):
            return False
        if self.change.state == "regression" and not self.is_new_regression:
            return False
        looks_worse = self.suspicion >= SUSPECT_SD
        return looks_worse is not (self.stands is not None)


def worse_of(series: Series) -> int:
    """1 where a higher number is worse, else -1: a logarithm times that is one of which more is worse."""
    return -1 if series.better == "higher" else 1


def key_of(series: Series) -> Key:
    return series.experiment, series.platform, cell_key(series.sweep, series.levels), series.measurement


@dataclass(frozen=True)
class Turns:
    """A declared setting of the servers that changed in the week's run: it is measured with the old value, too."""

    setting: str
    old: str
    new: str


@dataclass(frozen=True)
class Asked:
    """Some cells of a platform, in a run of their own; ``seconds`` is what their trials took in the week's run."""

    experiment: str
    platform: str
    cells: tuple[str, ...]
    seconds: float
    suspects: tuple[Key, ...]
    others: tuple[Key, ...]
    in_turns: Turns | None = None


@dataclass(frozen=True)
class Suspicions:
    """``suspicions.json`` of a weekly run. ``left_out``: suspicious results for which there was no time."""

    asked: tuple[Asked, ...]
    left_out: int = 0
    hours: float = 0.0
    rounds: int = RUNS
    until: str = ""
    """No run begins later; ISO time."""
    unmeasured: tuple[str, ...] = ()
    """The most suspicious of those for which there was no time, in words."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Suspicions:
        asked = tuple(
            Asked(
                **{
                    **one,
                    **{name: tuple(map(_tuple, one[name])) for name in ("cells", "suspects", "others")},
                    "in_turns": Turns(**one["in_turns"]) if one.get("in_turns") else None,
                }
            )
            for one in data["asked"]
        )
        return cls(**{**data, "asked": asked, "unmeasured": tuple(data.get("unmeasured") or ())})

    @property
    def summary(self) -> str:
        suspects = sum(len(one.suspects) for one in self.asked)
        left = f"; for {plural(self.left_out, 'other')} there is no time" if self.left_out else ""
        return f"{plural(suspects, 'result')} to be measured again, {self.rounds} times{left}"


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


Costs = Mapping[tuple[str, str, int], tuple[str, float]]
"""Experiment, platform and series -> the cell's name, and the seconds that its trials took."""


def choose(
    regarded: Sequence[Regarded], costs: Costs, hours: float, seed: str, turns: Mapping[Place, Turns] | None = None
) -> Suspicions:
    """The most suspicious first, as many as there is time for; of each platform some others with them.

    Where time is too short for ``RUNS`` rounds of all, there are fewer, down to ``RUNS_MIN``: what makes trials very
    slow is seen in three. ``turns``: where a setting changed; all is measured twice as often there.
    """
    turns = turns or {}
    suspects = sorted((one for one in regarded if one.is_suspect), key=lambda one: -one.suspicion)
    others = {place: _others(regarded, place, costs, seed) for place in {one.place for one in suspects}}
    tried = [
        (rounds, *_fitting(suspects, others, costs, turns, hours * 3600 / rounds))
        for rounds in range(RUNS, RUNS_MIN - 1, -1)
    ]
    rounds, chosen, left_out = min(tried, key=lambda one: len(one[2]))  # the first of several, which has most rounds
    asked = tuple(
        replace(_asked(place, cells, others[place], costs), in_turns=turns.get(place))
        for place, cells in chosen.items()
    )
    return Suspicions(asked, len(left_out), hours, rounds, unmeasured=tuple(_named(one) for one in left_out[:NAMED]))


def _fitting(
    suspects: Sequence[Regarded],
    others: Mapping[Place, Sequence[Regarded]],
    costs: Costs,
    turns: Mapping[Place, Turns],
    seconds_of_round: float,
) -> tuple[dict[Place, dict[str, list[Regarded]]], list[Regarded]]:
    """By place and cell those for which a round has time, and those for which it has none."""
    chosen: dict[Place, dict[str, list[Regarded]]] = {}
    spent, left_out = 0.0, []
    for one in suspects:
        name, seconds = _cost(one, costs)
        of_place = chosen.get(one.place)
        more = 0.0 if of_place and name in of_place else seconds
        more += 0.0 if of_place else sum(_cost(other, costs)[1] for other in others[one.place])
        more *= 2 if one.place in turns else 1
        if not name or spent + more > seconds_of_round:
            left_out.append(one)
            continue
        spent += more
        chosen.setdefault(one.place, {}).setdefault(name, []).append(one)
    return chosen, left_out


def _named(one: Regarded) -> str:
    """ "key_value on lab_db1, concurrency: 4 clients, latency_ms_mean: +340 %"."""
    series = one.series
    change = "new, and worse" if one.moved is None else percent(100 * math.expm1(one.worse * one.moved), is_signed=True)
    return f"{series.experiment} on {series.platform}, {series.label}, {series.measurement}: {change}"


def _others(regarded: Sequence[Regarded], place: Place, costs: Costs, seed: str) -> list[Regarded]:
    """One result each of some cells that do not look changed at all."""
    here = [one for one in regarded if one.place == place]
    suspicious = {one.series.id for one in here if one.is_suspect or one.change.state != "no_change" or one.stands}
    calm: dict[int, Regarded] = {}
    for one in here:
        if one.series.id not in suspicious and one.moved is not None and one.series.better != "neither":
            calm.setdefault(one.series.id, one)
    found = [one for one in calm.values() if _cost(one, costs)[0]]
    return random.Random(seed).sample(found, min(OTHERS, len(found)))  # noqa: S311  a choice to repeat, not a secret


def _cost(one: Regarded, costs: Costs) -> tuple[str, float]:
    return costs.get((*one.place, one.series.id), ("", 0.0))


def _asked(place: Place, cells: Mapping[str, list[Regarded]], others: Sequence[Regarded], costs: Costs) -> Asked:
    beside = {_cost(one, costs)[0]: _cost(one, costs)[1] for one in others}
    own = {name: _cost(found[0], costs)[1] for name, found in cells.items()}
    suspects = tuple(one.key for found in cells.values() for one in found)
    return Asked(
        *place, tuple({**own, **beside}), sum({**own, **beside}.values()), suspects, tuple(one.key for one in others)
    )


# What came of it.

Medians = Mapping[Key, Sequence[float]]
"""Of the runs that measured again, those that are valid."""
Pairs = Mapping[Key, Sequence[tuple[float, float]]]
"""Of those of them that measured in turns: with the setting as it was, and as it is."""


@dataclass(frozen=True)
class MeasuredAgain:
    """What looked worse in a week's runs, and the medians of the runs in which it was measured again."""

    suspicions: Suspicions
    medians: Medians
    pairs: Pairs = field(default_factory=dict)


def confirmations(regarded: Sequence[Regarded], again: MeasuredAgain) -> dict[Key, Confirmation]:
    suspicions, medians = again.suspicions, again.medians
    by_key = {one.key: one for one in regarded}
    found: dict[Key, Confirmation] = {}
    for asked in suspicions.asked:
        suspects = [by_key[key] for key in asked.suspects if key in by_key]
        others = [by_key[key] for key in asked.others if key in by_key and len(medians.get(key, ()))]
        here = [one for one in regarded if one.place == (asked.experiment, asked.platform) and one.moved is not None]
        shifts = [one.moved for one in here if one.moved is not None]
        judged = judge(
            [_measured(one, medians) for one in suspects],
            [_measured(one, medians) for one in others],
            moved_as_a_whole([one.suspicion for one in here], shifts),
            [one.worse for one in suspects],
            suspects[0].threshold_percent if suspects else 0.0,
        )
        for one, said in zip(suspects, judged, strict=True):
            turned = by_turns(again.pairs.get(one.key, ()), **asdict(asked.in_turns)) if asked.in_turns else ""
            found[one.key] = replace(said, in_turns=turned)
    return found


def _measured(one: Regarded, medians: Medians) -> Measured:
    import numpy as np  # noqa: PLC0415

    values = np.array([value for value in medians.get(one.key, ()) if value > 0], dtype=float)
    return Measured(one.level, one.worse * np.log(values))


def settled(one: Regarded, found: Confirmation | None, run_id: str) -> Change:
    """The week's verdict with what measuring again says; ``run_id``: the run that is judged."""
    change = one.change
    if found and found.in_turns:
        found = replace(found, says=f"{found.says}; {found.in_turns}", in_turns="")
    if found is None:
        return one.stands if one.stands and change.state == "no_change" else change
    if found.word == "not enough":
        kept = one.stands if one.stands and change.state == "no_change" else change
        return replace(kept, says=f"{kept.says} {as_sentence(found.says)}")
    if found.word == "not confirmed":
        return replace(change, state="no_change", says=f"no change: {found.says}. Before that: {change.says}")
    if change.state == "regression":
        return replace(change, says=f"{change.says} {as_sentence(found.says)}")
    level = math.exp(one.worse * float(one.level.mean()))
    return Change(
        "regression",
        f"worse since this week, {found.says}.",
        change_percent=found.change_percent,
        interval_95_percent=found.interval_95_percent,
        p_value=found.p_value,
        at_run_id=run_id,
        before=level,
        after=level * (1 + (found.change_percent or 0) / 100),
        runs_before=len(one.level),
        runs_after=1,
    )


def standing(confirmed: Change, at: datetime, runs_since: int) -> Change | None:
    """A change that was confirmed, for as long as too few weeks have passed for runs alone to tell."""
    if runs_since > max(NEW_RUNS):
        return None
    return replace(confirmed, says=f"still as it was found on {at:%-d %b %Y}: {confirmed.says}")
