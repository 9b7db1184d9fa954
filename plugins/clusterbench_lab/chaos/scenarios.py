"""Which part is hit how, when and for how long: all pairs of these four, in as few runs as that takes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from clusterbench_lab.chaos.faults import PARTS

PHASES = ("set-up", "generation", "before the driver", "in the window", "while collecting", "at the seal")


@dataclass(frozen=True)
class Scenario:
    """One run, and what happens to it."""

    part: str
    fault: str
    phase: str
    outage_s: float

    def __str__(self) -> str:
        return f"{self.part}: {self.fault}{f' for {self.outage_s:g} s' if self.outage_s else ''}, {self.phase}"


def scenarios(outages_s: Sequence[float]) -> Iterator[Scenario]:
    """Every part in every phase; fault and length go round, so that each meets each of the others."""
    for (number, one), (turn, phase) in product(enumerate(PARTS), enumerate(PHASES)):
        if one.is_moment:
            yield from (Scenario(one.name, fault, phase, 0.0) for fault in one.faults)
            continue
        fault = one.faults[(number + turn) % len(one.faults)]
        yield Scenario(one.name, fault, phase, outages_s[(number + turn + turn // len(outages_s)) % len(outages_s)])


def chosen(all_of_them: Sequence[Scenario], only: Sequence[str]) -> list[Scenario]:
    """Those that hold every one of these words, such as "archive" and "in the window"; of ``a|b`` one will do."""
    return [one for one in all_of_them if all(any(each in str(one) for each in word.split("|")) for word in only)]
