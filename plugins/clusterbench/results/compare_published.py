"""A run beside the numbers that its paper printed. Pure.

A printed number has no repetitions, so the interval of a ratio to it is that of ours alone. Where the paper gives the
ratio of two platforms, ours of two platforms stands beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from clusterbench.base.errors import ArchiveError, suggest
from clusterbench.base.measurements import Better
from clusterbench.base.words import plural
from clusterbench.results.beside_paper import median_beside, other_size, ratio_beside, reference_of, stands_beside
from clusterbench.results.compare import OneRun, compare_platforms
from clusterbench.results.facts_compared import comparable
from clusterbench.results.judgement import Judgement, Ratio, describe_ratio
from clusterbench.results.statistics import Result, ratio_of_two, ratio_to_number
from clusterbench.spec import Published, PublishedValue
from clusterbench.spec.published import published_text
from clusterbench.workloads import measurement_kinds


@dataclass(frozen=True)
class PublishedCell:
    """One of our numbers beside one of the paper's. ``ours`` is a median, or a ratio of two, with its interval."""

    label: str
    platform: str
    """ "vm1 / native" for a ratio."""
    measurement: str
    unit: str
    ours: Ratio | None
    value: float
    paper: str
    """As it was printed: "≈ 1.2", of which platforms where it is a ratio, and of which size if not of ours."""
    paper_platform: str | None
    paper_ratio_to: str | None
    source: str
    ratio: Ratio | None
    judgement: Judgement

    @property
    def is_of_other_platforms(self) -> bool:
        """Whether the paper names platforms, and others than ours."""
        named = [self.paper_platform, self.paper_ratio_to]
        return self.paper_platform is not None and self.platform != " / ".join(name for name in named if name)

    def as_json(self) -> dict[str, Any]:
        found = {**asdict(self), "verdict": self.judgement.word, "says": self.judgement.says}
        del found["judgement"]
        return found


@dataclass(frozen=True)
class PublishedComparison:
    run: str
    made_of: Mapping[str, str]
    """Platform -> its hosts and its engine, in words."""
    title: str
    authors: str
    cluster: str
    """What the paper measured, in its own words."""
    cells: list[PublishedCell]
    without: list[str]
    """Values of the paper that no cell of ours is of."""

    def as_json(self, measurements: Collection[str] = ()) -> dict[str, Any]:
        cells = [cell.as_json() for cell in self.cells if not measurements or cell.measurement in measurements]
        of_all = {name: getattr(self, name) for name in ("run", "made_of", "title", "authors", "cluster", "without")}
        return {**of_all, "cells": cells}


def compare_published(run: OneRun, paper: Published, asked: Sequence[str] = ()) -> PublishedComparison:
    """``asked``: some of the run's platforms."""
    for name in asked:
        if name not in run.sides:
            raise ArchiveError(f"run {run.name} has no platform {name!r}{suggest(name, run.sides)}")
    cells, without = [], []
    for value in paper.values:
        found = list((_of_ratio if value.ratio_to else _of_number)(run, value))
        cells += [cell for cell in found if not asked or cell.platform.split(" / ")[0] in asked]
        if not found:
            without.append(_paper_name(value))
    made_of = {name: _made_of(run, name) for name in asked or run.platforms}
    return PublishedComparison(run.name, made_of, paper.title, paper.authors, paper.cluster.strip(), cells, without)


def _paper_name(value: PublishedValue) -> str:
    levels = ", ".join(f"{name} {level}" for name, level in value.levels.items())
    parts = [
        value.sweep,
        f"{value.platform}{f' / {value.ratio_to}' if value.ratio_to else ''}" if value.platform else "",
    ]
    return f"{published_text(value)} {value.unit} ({', '.join(part for part in [*parts, levels] if part)})"


def _of_number(run: OneRun, value: PublishedValue) -> Iterator[PublishedCell]:
    """Of every platform, or of that which the paper names, where this run has it."""
    kind = measurement_kinds().get(value.measurement)
    better: Better = kind.better if kind else "neither"
    for result in run.results:
        if stands_beside(value, result) and value.platform in {None, result.platform}:
            summary = result.measurements.get(value.measurement)
            if summary is None:
                refused = describe_ratio(None, None, better, refused=f"ours: {_instead(result)}")
                yield _cell(result, result.platform, value, None, (None, refused))
            else:
                ours = ratio_to_number(summary.values, 1.0)
                beside = median_beside(value, summary.values, summary.unit, better)
                yield _cell(result, result.platform, value, ours, beside)


def _of_ratio(run: OneRun, value: PublishedValue) -> Iterator[PublishedCell]:
    """The paper's two platforms, where this run has them; else each of ours beside the first."""
    if len(run.platforms) < 2:
        return
    named = [str(value.ratio_to), str(value.platform)]
    asked = ["=".join(named)] if set(named) <= set(run.sides) else []
    if value.ratio_to_levels:
        yield from _of_other_levels(run, value, asked)
        return
    by_label = {(each.platform, each.label): each for each in run.results if each.sweep == value.sweep}
    for pair in compare_platforms(run, asked).pairs:
        for cell in pair.cells:
            result = by_label.get((pair.b, cell.label))
            if cell.measurement == value.measurement and result and stands_beside(value, result):
                beside = ratio_beside(value, cell.ratio) if cell.ratio else (None, cell.judgement)
                yield _cell(result, f"{pair.b} / {pair.a}", value, cell.ratio, beside)


def _of_other_levels(run: OneRun, value: PublishedValue, asked: Sequence[str]) -> Iterator[PublishedCell]:
    """Of two cells at different levels, of which the paper says that they are alike."""
    first, *others = asked[0].split("=") if asked else run.platforms
    for result in (each for each in run.results if each.platform in others and each.sweep == value.sweep):
        under = reference_of(value, result, first, run.results) if stands_beside(value, result) else None
        sides = [each.measurements.get(value.measurement) if each else None for each in (result, under)]
        if sides[0] and sides[1]:
            ours = ratio_of_two(sides[0], sides[1])
            yield _cell(result, f"{result.platform} / {first}", value, ours, ratio_beside(value, ours))


def _cell(
    result: Result, platform: str, value: PublishedValue, ours: Ratio | None, beside: tuple[Ratio | None, Judgement]
) -> PublishedCell:
    size = other_size(value, result)
    said = [f"{value.platform} / {value.ratio_to}" if value.ratio_to else "", f"of {size}" if size else ""]
    of = f" ({', '.join(filter(None, said))})" if any(said) else ""
    return PublishedCell(
        label=result.label,
        platform=platform,
        measurement=value.measurement,
        unit=value.unit,
        ours=ours,
        value=float(value.value),
        paper=published_text(value) + of,
        paper_platform=value.platform,
        paper_ratio_to=value.ratio_to,
        source=value.source,
        ratio=beside[0],
        judgement=beside[1],
    )


def _instead(result: Result) -> str:
    reason = f": {result.reasons[0]}" if result.reasons and not result.completed else ""
    return f"{result.n_of_n} completed{reason}"


def _made_of(run: OneRun, platform: str) -> str:
    """ "2 hosts: Xeon E5-2699 v3, 72 CPUs, 512 GB; PostgreSQL 15.18": to be read beside the paper's cluster."""
    side = run.sides[platform]
    kinds: dict[str, int] = {}
    for facts in map(comparable, side.hosts.values()):
        cpus = f"{facts['cpus']} CPUs" if "cpus" in facts else ""
        said = ", ".join(part for part in (facts.get("cpu_model"), cpus, facts.get("memory_bytes")) if part)
        kinds[said] = kinds.get(said, 0) + 1
    engine = side.facts.get("engine") or {}
    version = str(engine.get("product") or engine.get("version") or "").split(" on ", maxsplit=1)[0]
    hosts = [f"{plural(count, 'host')}: {said}" for said, count in kinds.items()]
    return "; ".join(part for part in [*hosts, version] if part) or "no facts were read"
