"""Runs side by side, or platforms of one: first what they ran on, then the results that both have, as ratios. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from clusterbench.base.errors import ArchiveError, suggest
from clusterbench.results.compare_cells import ComparedCell, cells_of
from clusterbench.results.durability import Durability
from clusterbench.results.facts_compared import Difference, Side, count_of_facts, differences, of_texts
from clusterbench.results.judgement import say_deciding
from clusterbench.results.statistics import Result
from clusterbench.trial.rehearsal import scale_of

NOT_COMPARED_ACROSS = ("scale", "seed")
"""Choices of a run that make other data: numbers of two are never compared."""


@dataclass(frozen=True)
class OneRun:
    """What of a run is compared, by platform; ``declared``: setting -> what the platform file says of it."""

    name: str
    opened: Mapping[str, Any]
    sides: Mapping[str, Side]
    declared: Mapping[str, Mapping[str, str]]
    results: Sequence[Result]
    kept: Durability = field(default_factory=Durability)

    def results_on(self, platform: str) -> list[Result]:
        return [result for result in self.results if result.platform == platform]

    @property
    def choices(self) -> Mapping[str, Any]:
        return self.opened.get("choices") or {}

    @property
    def platforms(self) -> list[str]:
        """In the order in which they were chosen: the first is the reference."""
        chosen = [name for name in self.choices.get("platforms") or [] if name in self.sides]
        return chosen + [name for name in self.sides if name not in chosen]


@dataclass(frozen=True)
class Pair:
    """A platform of either run, or two of one; ``names`` is what the two are called beside their numbers."""

    a: str
    b: str
    facts: int
    hosts: tuple[int, int]
    differences: list[Difference]
    declared: list[Difference]
    cells: list[ComparedCell]
    durability: tuple[str, str] = ("", "")
    """How either traded durability away; empty where it did not, or where that is not known."""
    names: tuple[str, str] = ("A", "B")

    @property
    def deciding(self) -> str:
        """ "2 facts that decide differ: kernel, cpus": to be said beside the verdicts."""
        return say_deciding([one.what for one in self.differences if one.decides])

    def as_json(self, measurements: Collection[str] = ()) -> dict[str, Any]:
        wanted = [cell for cell in self.cells if not measurements or cell.measurement in measurements]
        return {
            **{name: getattr(self, name) for name in ("a", "b", "names", "facts", "hosts", "deciding", "durability")},
            "differences": [asdict(one) for one in self.differences],
            "declared": [asdict(one) for one in self.declared],
            "cells": [cell.as_json() for cell in wanted],
        }


@dataclass(frozen=True)
class Comparison:
    """``runs``: twice the same, where platforms of one run are compared."""

    runs: tuple[str, str]
    run_differences: list[Difference]
    pairs: list[Pair]
    alone: tuple[list[str], list[str]]
    """Platforms that only one of the runs has."""

    @property
    def is_of_one_run(self) -> bool:
        return self.runs[0] == self.runs[1]

    @property
    def caution(self) -> str:
        """What two runs, in whatever numbers they differ, do not show."""
        if self.is_of_one_run or not self.pairs:
            return ""
        return (
            "The intervals come from the repetitions within each run. What differs from one run to the next for no "
            "known reason is in none of them: a small difference of two runs may be gone in a third."
        )

    def as_json(self, measurements: Collection[str] = ()) -> dict[str, Any]:
        """``measurements``: only these, where any are named."""
        of_runs = [asdict(one) for one in self.run_differences]
        pairs = [pair.as_json(measurements) for pair in self.pairs]
        return {"runs": self.runs, "run_differences": of_runs, "platforms": pairs, "alone": self.alone}


def compare(a: OneRun, b: OneRun, asked: Sequence[str] = ()) -> Comparison:
    """``asked``: platforms of both, or "native=vm1" for one of A and another of B."""
    pairs = _asked(a, b, asked) if asked else _natural(a, b)
    used_a, used_b = ({pair[side] for pair in pairs} for side in (0, 1))
    alone = ([name for name in a.sides if name not in used_a], [name for name in b.sides if name not in used_b])
    of_runs = of_texts(_of_the_run(a), _of_the_run(b), "run")
    return Comparison((a.name, b.name), of_runs, [_pair(a, b, *pair) for pair in pairs], ([], []) if asked else alone)


def compare_platforms(run: OneRun, asked: Sequence[str] = ()) -> Comparison:
    """Each platform of a run beside its first. ``asked``: some of them, or "vm1=vm4" for vm4 beside vm1."""
    first, *others = run.platforms
    wanted = [name if "=" in name else f"{first}={name}" for name in asked or others]
    if not wanted:
        raise ArchiveError(f"run {run.name} has one platform, {first}: name a second run to compare it with")
    return Comparison((run.name, run.name), [], [_pair(run, run, *pair) for pair in _asked(run, run, wanted)], ([], []))


def _natural(a: OneRun, b: OneRun) -> list[tuple[str, str]]:
    """Platforms of the same name; of two runs with one platform each, those."""
    if len(a.sides) == len(b.sides) == 1:
        return [(next(iter(a.sides)), next(iter(b.sides)))]
    return [(name, name) for name in a.sides if name in b.sides]


def _asked(a: OneRun, b: OneRun, asked: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for words in asked:
        first, _, second = words.partition("=")
        for run, name in ((a, first), (b, second or first)):
            if name not in run.sides:
                raise ArchiveError(f"run {run.name} has no platform {name!r}{suggest(name, run.sides)}")
        pairs.append((first, second or first))
    return pairs


def _of_the_run(run: OneRun) -> dict[str, str]:
    said = {"experiment": run.name.partition("/")[0], "scale": scale_of(run.choices) or None}
    said |= {"seed": run.choices.get("seed"), "clusterbench": run.opened.get("clusterbench")}
    return {name: str(value) for name, value in said.items() if value is not None}


def _pair(a: OneRun, b: OneRun, name_a: str, name_b: str) -> Pair:
    side_a, side_b = a.sides[name_a], b.sides[name_b]
    names = ("A", "B") if a is not b else (name_a, name_b)
    kept = (a.kept.platforms.get(name_a, ""), b.kept.platforms.get(name_b, ""))
    refused = _other_choices(a, b) or _not_durable(kept, names)
    return Pair(
        name_a,
        name_b,
        count_of_facts(side_a, side_b),
        (len(side_a.hosts), len(side_b.hosts)),
        differences(side_a, side_b),
        of_texts(a.declared.get(name_a, {}), b.declared.get(name_b, {}), "platform file"),
        cells_of(a.results_on(name_a), b.results_on(name_b), names, refused),
        kept,
        names,
    )


def _other_choices(a: OneRun, b: OneRun) -> str:
    """Where both say what was chosen."""
    one, two = ({**run.choices, "scale": scale_of(run.choices) or None} for run in (a, b))
    chosen = [(name, one.get(name), two.get(name)) for name in NOT_COMPARED_ACROSS]
    other = [f"{name} {x} in A and {y} in B" for name, x, y in chosen if None not in {x, y} and x != y]
    return f"other data, {', '.join(other)}" if other else ""


def _not_durable(kept: tuple[str, str], names: tuple[str, str]) -> str:
    """Where one side alone traded durability away: its number is none beside that of the other."""
    traded = [f"{name} is {said}" for name, said in zip(names, kept, strict=True) if said]
    return traded[0] if len(traded) == 1 else ""
