"""Runs side by side, or platforms of one: first what they ran on, then the results that both have, as ratios. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from clusterbench.base.errors import ArchiveError, suggest
from clusterbench.base.plans import PlanChange, first_difference
from clusterbench.base.remarks import Remark, withdrawn
from clusterbench.results.between_runs import HISTORY_MIN
from clusterbench.results.compare_cells import (
    Asked,
    ComparedCell,
    Histories,
    at_once,
    cell_key,
    cells_of,
    made_of,
)
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
    plans: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Fingerprint -> plan, of the plans that results name."""
    withdrawals: Sequence[Remark] = ()
    """By people, and not put back."""

    def withdrawn(self, platform: str) -> dict[str, str]:
        """By sweep and levels (``cell_key``) the cells of a platform that were withdrawn: by whom, when and why."""
        if not self.withdrawals:
            return {}
        cells = ((one, withdrawn(self.withdrawals, platform, one.cell)) for one in self.results_on(platform))
        return {cell_key(one.sweep, one.levels): why for one, why in cells if why}

    def results_on(self, platform: str) -> list[Result]:
        return [result for result in self.results if result.platform == platform]

    @property
    def choices(self) -> Mapping[str, Any]:
        return self.opened.get("choices") or {}

    @property
    def in_turns(self) -> list[str]:
        """Platforms whose trials were measured in turns."""
        return list(self.opened.get("platforms_in_turns") or ())

    @property
    def platforms(self) -> list[str]:
        """In the order in which they were chosen: the first is the reference."""
        chosen = [name for name in self.choices.get("platforms") or [] if name in self.sides]
        return chosen + [name for name in self.sides if name not in chosen]


@dataclass(frozen=True)
class PlanDifference:
    """A statement of some cells whose plan is another one on the other side; ``a`` and ``b`` are the plans as text."""

    labels: tuple[str, ...]
    change: PlanChange
    a: str
    b: str


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
    made_of: Mapping[str, str] = field(default_factory=dict)
    """By label of a cell of several statements: which of them the difference is made of, in words."""
    plans: Sequence[PlanDifference] = ()
    in_turns: bool = False
    """Whether these are platforms of one run whose trials alternated."""

    @property
    def deciding(self) -> str:
        """ "2 important differences: kernel, cpus": to be said beside the verdicts."""
        return say_deciding([one.what for one in self.differences if one.decides])

    def as_json(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in ("a", "b", "names", "facts", "hosts", "deciding", "durability")},
            "differences": [asdict(one) for one in self.differences],
            "declared": [asdict(one) for one in self.declared],
            "made_of": dict(self.made_of),
            "in_turns": self.in_turns,
            "plans": [asdict(one) for one in self.plans],
            "cells": [cell.as_json() for cell in self.cells],
        }


@dataclass(frozen=True)
class Comparison:
    """``runs``: twice the same, where platforms of one run are compared; else A's and B's, one or more of each."""

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
        """Where nothing tells how far apart equal runs lie: what two runs do not show then."""
        if self.is_of_one_run or not any("in these runs" in cell.judgement.word for cell in self._cells):
            return ""
        return (
            "'In these two runs' is said where nothing tells how far apart equal runs lie: the interval comes from the "
            f"repetitions within each run, and the difference may be gone in a third. With {HISTORY_MIN} earlier valid "
            "runs in the history database, or with two runs or more on either side (A1,A2 B1,B2), the interval holds "
            "what differs from run to run."
        )

    @property
    def _cells(self) -> list[ComparedCell]:
        return [cell for pair in self.pairs for cell in pair.cells]

    def at_once(self, shown: Callable[[ComparedCell], bool]) -> Comparison:
        """The same, of those cells alone that are looked at, together: some of many look different by chance."""
        cells = iter(at_once([cell for cell in self._cells if shown(cell)]))
        pairs = [replace(pair, cells=[next(cells) for cell in pair.cells if shown(cell)]) for pair in self.pairs]
        return replace(self, pairs=pairs)

    def as_json(self) -> dict[str, Any]:
        of_runs = [asdict(one) for one in self.run_differences]
        pairs = [pair.as_json() for pair in self.pairs]
        return {"runs": self.runs, "run_differences": of_runs, "platforms": pairs, "alone": self.alone}


def compare(
    runs_a: Sequence[OneRun], runs_b: Sequence[OneRun], asked: Sequence[str] = (), histories: Histories | None = None
) -> Comparison:
    """``asked``: platforms of both, or "native=vm1" for one of A and another of B.

    Runs of one side are taken as repetitions of one another: facts and settings are those of its first, and what
    differs within a side is told, too. ``histories`` are of runs that are none of these.

    Raises ArchiveError where a run stands on both sides, or twice on one.
    """
    _check_runs(runs_a, runs_b)
    a, b = runs_a[0], runs_b[0]
    pairs = _asked(a, b, asked) if asked else _natural(a, b)
    used_a, used_b = ({pair[side] for pair in pairs} for side in (0, 1))
    alone = ([name for name in a.sides if name not in used_a], [name for name in b.sides if name not in used_b])
    found = [_pair(runs_a, runs_b, *pair, histories or {}) for pair in pairs]
    names = (", ".join(run.name for run in side) for side in (runs_a, runs_b))
    return Comparison((next(names), next(names)), _of_runs(runs_a, runs_b), found, ([], []) if asked else alone)


def compare_platforms(run: OneRun, asked: Sequence[str] = ()) -> Comparison:
    """Each platform of a run beside its first. ``asked``: some of them, or "vm1=vm4" for vm4 beside vm1."""
    first, *others = run.platforms
    wanted = [name if "=" in name else f"{first}={name}" for name in asked or others]
    if not wanted:
        raise ArchiveError(f"run {run.name} has one platform, {first}: name a second run to compare it with")
    pairs = [_pair([run], [run], *pair, None) for pair in _asked(run, run, wanted)]
    return Comparison((run.name, run.name), [], pairs, ([], []))


def _check_runs(runs_a: Sequence[OneRun], runs_b: Sequence[OneRun]) -> None:
    names = [run.name for run in (*runs_a, *runs_b)]
    for name in names:
        if names.count(name) > 1:
            raise ArchiveError(f"run {name} is named twice; a run is compared with others")


def _of_runs(runs_a: Sequence[OneRun], runs_b: Sequence[OneRun]) -> list[Difference]:
    """Between the first of either side, and within a side between its first and the others."""
    found = of_texts(_of_the_run(runs_a[0]), _of_the_run(runs_b[0]), "run")
    for side, (first, *others) in (("A", runs_a), ("B", runs_b)):
        for other in others:
            where = f"within {side}, {other.name}"
            apart = of_texts(_of_the_run(first), _of_the_run(other), where)
            for name in (name for name in first.sides if name in other.sides):
                facts = differences(first.sides[name], other.sides[name])
                apart += [replace(one, where=f"{where}, {name}") for one in facts if one.decides]
            found += apart
    return found


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


def _pair(
    runs_a: Sequence[OneRun], runs_b: Sequence[OneRun], name_a: str, name_b: str, histories: Histories | None
) -> Pair:
    """``histories`` is None for two platforms of one run."""
    a, b = runs_a[0], runs_b[0]
    side_a, side_b = a.sides[name_a], b.sides[name_b]
    names = ("A", "B") if a is not b else (name_a, name_b)
    kept = (_kept(runs_a, name_a), _kept(runs_b, name_b))
    refused = next(filter(None, (_other_choices(a, run) for run in (*runs_a[1:], *runs_b))), "")
    out = _withdrawn(runs_a, name_a, names[0]) | _withdrawn(runs_b, name_b, names[1])
    asked = Asked((name_a, name_b), names, refused or _not_durable(kept, names), histories, out)
    cells = cells_of([run.results_on(name_a) for run in runs_a], [run.results_on(name_b) for run in runs_b], asked)
    return Pair(
        name_a,
        name_b,
        count_of_facts(side_a, side_b),
        (len(side_a.hosts), len(side_b.hosts)),
        differences(side_a, side_b),
        of_texts(a.declared.get(name_a, {}), b.declared.get(name_b, {}), "platform file"),
        cells,
        kept,
        names,
        made_of(cells),
        _plans(a, b, name_a, name_b),
        a is b and {name_a, name_b} <= set(a.in_turns),
    )


def _plans(a: OneRun, b: OneRun, name_a: str, name_b: str) -> list[PlanDifference]:
    """Of the first run of either side. The same two plans of one statement in several cells are told once."""
    found: dict[tuple[str, str, str], list[str]] = {}
    before = {cell_key(one.sweep, one.levels): one.plans for one in a.results_on(name_a)}
    for after in b.results_on(name_b):
        for name, plan in before.get(cell_key(after.sweep, after.levels), {}).items():
            if after.plans.get(name, plan) != plan:
                found.setdefault((name, plan, after.plans[name]), []).append(after.label)
    texts = {(name, x, y): (a.plans.get(x, ""), b.plans.get(y, "")) for name, x, y in found}
    return [
        PlanDifference(tuple(labels), PlanChange(key[0], *first_difference(*texts[key])), *texts[key])
        for key, labels in found.items()
    ]


def _withdrawn(runs: Sequence[OneRun], platform: str, name: str) -> dict[str, str]:
    return {key: f"{name}: {why}" for run in runs for key, why in run.withdrawn(platform).items()}


def _kept(runs: Sequence[OneRun], platform: str) -> str:
    """How any of the runs traded durability away."""
    return next(filter(None, (run.kept.platforms.get(platform, "") for run in runs)), "")


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
