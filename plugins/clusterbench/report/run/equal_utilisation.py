"""Platforms at the same CPU utilisation: what each does with the same share of its processors, as paper 003. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterbench.base.words import ratio_words
from clusterbench.report.run.cell_words import answer
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.beside_paper import reference_of, stands_beside
from clusterbench.results.gather import Gathered
from clusterbench.results.judgement import compare_two
from clusterbench.results.refused import not_durable, refusal
from clusterbench.results.statistics import Result
from clusterbench.results.utilisation import PER_CPU_SECOND, TARGET, THROUGHPUT, is_at_utilisation
from clusterbench.spec import PublishedValue


@dataclass(frozen=True)
class Pair:
    """One platform beside the reference at one utilisation. ``refused`` says why the two are not compared."""

    label: str
    platform: str
    reference: str
    n_of_n: str
    utilisation: str
    throughput: str = ""
    word: str = ""
    per_cpu_second: str = ""
    refused: str = ""


def pairs(run: Gathered, views: Sequence[SweepView]) -> list[Pair]:
    """Every platform beside the first one of the run, for each cell at a utilisation.

    A virtual machine also at the guest's utilisation that the paper's had when its server was as busy as without one.
    """
    found = []
    for view in views:
        cells = [result for result in view.results if is_at_utilisation(result)]
        for ours in (result for result in cells if result.platform != run.platforms[0]):
            first = next((r for r in cells if (r.platform, r.levels) == (run.platforms[0], ours.levels)), None)
            if first is not None:
                found.append(_pair(view, ours, first))
        found += [_pair(view, *pair, is_as_paper=True) for pair in _as_the_papers(run, view, cells)]
    return found


def _as_the_papers(run: Gathered, view: SweepView, cells: Sequence[Result]) -> list[tuple[Result, Result]]:
    """A guest's cell and the first platform's, at the levels at which the paper's server was equally busy."""
    values = [v for v in (run.published.values if run.published else []) if v.sweep == view.name and v.ratio_to_levels]
    found = []
    for ours in cells:
        papers = next((value for value in values if stands_beside(value, ours)), None)
        if papers and ours.platform in run.virtual and run.platforms[0] not in run.virtual:
            first = reference_of(papers, ours, run.platforms[0], cells)
            found += [(ours, first)] if first else []
    return found


def _pair(view: SweepView, ours: Result, first: Result, *, is_as_paper: bool = False) -> Pair:
    label = view.words(ours.levels, view.varied) or view.words(ours.levels, [TARGET])
    if is_as_paper:
        label = f"{label} over {first.levels[TARGET]} %, as the paper"
    utilisation = " and ".join(_utilisation(result) for result in (ours, first))
    n_of_n = ours.n_of_n if ours.n_of_n == first.n_of_n else f"{ours.n_of_n} and {first.n_of_n}"
    named = (label, ours.platform, first.platform, n_of_n, utilisation)
    if empty := [result for result in (ours, first) if THROUGHPUT not in result.measurements]:
        said = "; ".join(f"{result.platform}: {answer(result)}" for result in empty)
        return Pair(*named, refused=f"not compared: {said}")
    if refused := (not_durable if is_as_paper else refusal)(ours, first):
        return Pair(*named, refused=refused)
    ratios = {name: _judged(view, ours, first, name) for name in (THROUGHPUT, PER_CPU_SECOND)}
    return Pair(
        *named, throughput=ratios[THROUGHPUT][0], word=ratios[THROUGHPUT][1], per_cpu_second=ratios[PER_CPU_SECOND][0]
    )


def _utilisation(result: Result) -> str:
    summary = result.measurements.get(TARGET)
    return f"{summary.median:.1f} %" if summary else "–"


def _judged(view: SweepView, ours: Result, first: Result, name: str) -> tuple[str, str]:
    """The ratio, and the verdict."""
    sides = ours.measurements.get(name), first.measurements.get(name)
    ratio, judged = compare_two(*sides, view.kind(name).better, names=(ours.platform, first.platform))
    return ratio_words(ratio), judged.says


def papers(run: Gathered) -> list[tuple[str, str, str]]:
    """(platforms with their utilisation, ratio, source) of the ratios that the paper has."""
    values = run.published.values if run.published else []
    return [
        (
            f"{value.platform}{_at(value)} / {value.ratio_to}{_at(value, under=True)}",
            _as_printed(value.value),
            value.source,
        )
        for value in values
        if value.ratio_to and value.measurement == THROUGHPUT
    ]


def _at(value: PublishedValue, *, under: bool = False) -> str:
    """ " at 90 %": as the system of the paper's itself would have told it."""
    levels = {**value.levels, **(value.ratio_to_levels if under else {})}
    return f" at {levels[TARGET]} %" if TARGET in levels else ""


def _as_printed(value: float) -> str:
    """With two decimals, and a third where it has one: 0.90, 0.895."""
    return f"{value:.{2 if round(value, 2) == value else 3}f}×"
