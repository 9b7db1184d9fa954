"""The papers' numbers beside the week's, a few lines an experiment. Pure.

Only what the reports plot. Where a paper compares platforms, ours are those of this run, so there the changes stand
side by side; a ratio of ours to the paper's is made of the same cell only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from clusterbench.base.factors import Level
from clusterbench.base.words import THIN_SPACE, number, quantity, ratio_words
from clusterbench.report.run.chart_data import Chart
from clusterbench.report.run.density import density_table
from clusterbench.report.run.paper_tables import BEST_RUNS, paper_tables
from clusterbench.report.run.platforms import comparisons
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.beside_paper import belongs, other_size, stands_beside
from clusterbench.results.durability import say_level
from clusterbench.results.gather import Gathered
from clusterbench.results.statistics import Result, Summary, ratio_to_number
from clusterbench.spec import PublishedValue
from clusterbench.spec.published import published_text

LINES_MAX = 10
"""Of one experiment."""


@dataclass(frozen=True)
class PaperLine:
    """``ratio`` is ours to the paper's with its interval, or why there is none; empty where both are ratios."""

    what: str
    ours: str
    paper: str
    ratio: str = ""


@dataclass(frozen=True)
class Beside:
    """One experiment's. ``more`` lines were left out."""

    experiment: str
    title: str
    cluster: str
    lines: tuple[PaperLine, ...]
    more: int = 0


def beside(run: Gathered) -> Beside | None:
    """None where the experiment has no paper, or nothing of this run stands beside it."""
    if run.published is None:
        return None
    views = SweepView.of_run(run)
    lines = [*_values(run, views), *_platforms(run, views), *_tables(run, views), *_densities(run, views)]
    if not lines:
        return None
    cluster = " ".join(run.published.cluster.split())
    more = max(0, len(lines) - LINES_MAX)
    return Beside(run.experiment_name, run.title, cluster, tuple(lines[:LINES_MAX]), more)


# Single numbers.


def _values(run: Gathered, views: Sequence[SweepView]) -> Iterator[PaperLine]:
    """Those of one number on one system, beside the cell that is the paper's, or comes nearest."""
    for view in views:
        for value in run.published.values if run.published else []:
            if value.sweep == view.name and not value.platform and value.measurement in view.plotted:
                found = [result for result in view.results if value.measurement in result.measurements]
                if nearest := _nearest(value, found):
                    yield _value(view, value, nearest)


def _nearest(value: PublishedValue, found: Sequence[Result]) -> Result | None:
    """Of the cells whose levels in words are the paper's, the one with most of its counts, and then the largest."""
    alike = [result for result in found if all(_may_stand_for(*pair) for pair in _pairs(value, result))]
    return max(alike, key=lambda result: _closeness(value, result), default=None)


def _pairs(value: PublishedValue, result: Result) -> list[tuple[Level | None, Level]]:
    return [(result.levels.get(name), level) for name, level in value.levels.items()]


def _may_stand_for(ours: Level | None, papers: Level) -> bool:
    are_counts = all(isinstance(level, int) and not isinstance(level, bool) for level in (ours, papers))
    return ours == papers or are_counts


def _closeness(value: PublishedValue, result: Result) -> tuple[int, float]:
    pairs = _pairs(value, result)
    return sum(ours == papers for ours, papers in pairs), sum(float(ours or 0) for ours, _ in pairs if _is_count(ours))


def _is_count(level: Level | None) -> bool:
    return isinstance(level, int) and not isinstance(level, bool)


def _value(view: SweepView, value: PublishedValue, result: Result) -> PaperLine:
    summary, kind = result.measurements[value.measurement], view.kind(value.measurement)
    several = f", {result.platform}" if view.names_platforms else ""
    return PaperLine(
        what=f"{result.label}: {kind.title.lower()}{several}",
        ours=_with_interval(summary),
        paper=f"{published_text(value)}{'' if value.unit == '1' else THIN_SPACE + value.unit}",
        ratio=_to_paper(summary, value) if belongs(value, result) else f"not compared: {_other(view, value, result)}",
    )


def _with_interval(summary: Summary) -> str:
    bounds = summary.interval_95
    said = f" ({number(bounds[0])} \u2013 {number(bounds[1])})" if bounds else ""
    return f"{quantity(summary.median, summary.unit)}{said}"


def _to_paper(summary: Summary, value: PublishedValue) -> str:
    if summary.unit != value.unit:
        return f"not compared: ours is in {summary.unit}"
    return ratio_words(ratio_to_number(summary.values, value.value))


def _other(view: SweepView, value: PublishedValue, result: Result) -> str:
    """ "1M rows here, 1000M rows there"."""
    names = [name for name, level in value.levels.items() if result.levels.get(name) != level]
    here = ", ".join(say_level(view.workload, name, result.levels[name]) for name in names if name in result.levels)
    there = ", ".join(say_level(view.workload, name, value.levels[name]) for name in names)
    return f"{here} here, {there} there"


# What another platform costs, or gains.


def _platforms(run: Gathered, views: Sequence[SweepView]) -> Iterator[PaperLine]:
    published = [value for value in (run.published.values if run.published else []) if value.ratio_to]
    plotted = {(view.name.replace("_", " "), name) for view in views for name in view.plotted}
    for entry in comparisons(run, views):
        for row in entry.rows:
            sweep = row.label.split(", ", maxsplit=1)[0]
            papers = [
                f"{value.platform} / {value.ratio_to} {published_text(value)}"
                for value in published
                if (value.sweep.replace("_", " "), value.measurement) == (sweep, entry.name)
            ]
            papers += [f"of {size}"] if papers and (size := _size(views, published, sweep)) else []
            if row.platform != entry.reference and row.ratio and papers and (sweep, entry.name) in plotted:
                what = f"{row.label}: {entry.kind.title.lower()}, {row.platform} / {entry.reference}"
                yield PaperLine(what, row.ratio, "; ".join(papers).replace("_", " "))


def _size(views: Sequence[SweepView], published: Sequence[PublishedValue], sweep: str) -> str:
    """Of which size the paper's are, where that is not ours."""
    results = [result for view in views for result in view.results if view.name.replace("_", " ") == sweep]
    values = [value for value in published if value.sweep.replace("_", " ") == sweep]
    sizes = [other_size(value, result) for value in values for result in results if stands_beside(value, result)]
    return next(filter(None, sizes), "")


def _tables(run: Gathered, views: Sequence[SweepView]) -> Iterator[PaperLine]:
    for table in paper_tables(run, views):
        if table.ratios:
            yield from _table(table.ratios, "" if table.papers else table.size)


def _table(ratios: Chart, size: str) -> Iterator[PaperLine]:
    """``platforms`` of our lab stand for none of the paper's, so each ratio has all of the paper's beside it."""
    printed = list(zip(ratios.rows[-len(ratios.papers) :], ratios.papers, strict=True))
    for line in (line for line in ratios.lines if not line.name.endswith(BEST_RUNS)):
        for mark in line.marks:
            head = f"paper: {mark.label}, "
            papers = [f"{row.removeprefix(head)} {paper.label}" for row, paper in printed if row.startswith(head)]
            papers += [f"of {size}"] if size else []
            low, high = mark.interval_95 or (None, None)
            said = f"{mark.y:.2f}\u00d7" + (f" ({low:.2f} \u2013 {high:.2f})" if low and high else ", no interval")
            yield PaperLine(f"{mark.label}, {line.name}", said, "; ".join(papers))


def _densities(run: Gathered, views: Sequence[SweepView]) -> Iterator[PaperLine]:
    """The median change of each density, over the levels that were run here."""
    table = density_table(run, views)
    if table is None:
        return
    ours = next(values for _, is_paper, values in table.medians if not is_paper)
    papers = next(values for _, is_paper, values in table.medians if is_paper)
    for place in islice(table.compared, LINES_MAX):
        column = table.columns[place]
        if column.platform:
            what = f"median change of time, {column.platform} against {table.reference}"
            yield PaperLine(what, ours[place], f"{column.density}: {papers[place]}")
