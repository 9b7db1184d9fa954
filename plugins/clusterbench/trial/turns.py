"""Trials of platforms that are measured in turns: one order for all, in which they are neighbours in time. Pure.

What drifts while a run lasts (the load of the network, the temperature of a hall) then lies on all of them.
"""

from __future__ import annotations

import hashlib
import random
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from zlib import crc32

from clusterbench.base.records import Trial
from clusterbench.trial import lead_ins, server_settings

Turn = tuple[str, str]
"""Platform and id of a trial."""


def in_turns(planned: Mapping[str, Sequence[Trial]], seed: int) -> list[Turn]:
    """Platform -> its trials in their order, which stays, to the order of all.

    A trial is followed by the same one on the other platforms; which of them is first is drawn for each. What is
    measured in one go (a ramp, trials whose caches are as left) stays whole, and the platforms take turns with that.
    """
    drawn = random.Random(hashlib.sha256(f"turns:{seed}".encode()).digest())  # noqa: S311  an order, no secret
    waiting = {name: deque(_goes(trials)) for name, trials in planned.items()}
    left = {name: {go for go, _ in goes} for name, goes in waiting.items()}
    found: list[Turn] = []

    def measure_next(name: str) -> None:
        go, trials = waiting[name].popleft()
        left[name].discard(go)
        found.extend((name, trial.id) for trial in trials)

    for name in planned:
        while waiting[name]:
            go, _ = waiting[name][0]
            turn = [other for other in planned if go in left[other]]
            for other in turn:
                while waiting[other][0][0] != go:  # what this platform alone has, or has earlier
                    measure_next(other)
            drawn.shuffle(turn)
            for other in turn:
                measure_next(other)
    return found


def pair_key(trial: Trial, in_turns: Collection[str]) -> str:
    """The same for trials that are measured one after the other so as to be compared; empty where there are none.

    They are of platforms ``in_turns``, or of values of a server's settings.
    """
    common = server_settings.turn_of(trial)
    if common is None and trial.platform not in in_turns:
        return ""
    if common is None:
        common = trial.sweep, trial.repetition, *sorted((name, str(level)) for name, level in trial.levels.items())
    key = "" if trial.platform in in_turns else trial.platform, *common
    return f"{crc32(repr(key).encode()):08x}"


def _goes(trials: Sequence[Trial]) -> list[tuple[object, list[Trial]]]:
    """What is measured in one go, each with a key that is the same on all platforms."""
    found: list[tuple[object, list[Trial]]] = []
    seen: dict[object, int] = {}
    for key, group in groupby(trials, key=lambda trial: lead_ins.go_of(trial) or trial.ramp or trial.id):
        seen[key] = seen.get(key, 0) + 1
        found.append(((key, seen[key]), list(group)))
    return found
