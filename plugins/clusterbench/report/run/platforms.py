"""Platforms side by side, ours and the paper's: what it costs, or gains, to run the same on another platform. Pure.

Where published values name platforms. Ours are the cells that the paper measured, as far as it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterbench.base.measurements import MeasurementKind
from clusterbench.base.words import THIN_SPACE, ratio_words
from clusterbench.report.run.cell_words import paper_text, ratio_text
from clusterbench.report.run.chart_data import Chart, Line, Mark, PaperMark
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.beside_paper import belongs, ratio_beside
from clusterbench.results.gather import Gathered
from clusterbench.results.refused import refusal
from clusterbench.results.statistics import Result, Summary, ratio
from clusterbench.spec import PublishedValue
from clusterbench.spec.published import published_text


@dataclass(frozen=True)
class Compared:
    """One cell on one platform. ``ratio`` is that of the medians to the reference platform's, with its interval."""

    label: str
    platform: str
    n_of_n: str
    summary: Summary | None
    ratio: str


@dataclass(frozen=True)
class PaperRow:
    label: str
    text: str
    note: int
    beside: str
    """Ours over it, where this run has the paper's platforms."""


@dataclass(frozen=True)
class Comparison:
    """One measurement. ``values`` has both ours and the paper's on one axis, ``ratios`` too, where there are any."""

    name: str
    kind: MeasurementKind
    reference: str
    values: Chart
    ratios: Chart | None
    rows: list[Compared]
    papers: list[PaperRow]
    sources: list[str]


def comparisons(run: Gathered, views: Sequence[SweepView]) -> list[Comparison]:
    """One for each measurement that the paper compares platforms by, in the order in which it does."""
    published = [value for value in (run.published.values if run.published else []) if value.platform]
    names = dict.fromkeys(value.measurement for value in published)
    made = (_comparison(name, views, [v for v in published if v.measurement == name]) for name in names)
    return [comparison for comparison in made if comparison is not None]


@dataclass(frozen=True)
class _Cell:
    """A cell, by platform."""

    label: str
    results: dict[str, Result]


def _comparison(name: str, views: Sequence[SweepView], published: Sequence[PublishedValue]) -> Comparison | None:
    shown = [view for view in views if any(value.sweep == view.name for value in published)]
    cells = [cell for view in shown for cell in _cells(view, published)]
    if not any(name in result.measurements for cell in cells for result in cell.results.values()):
        return None
    platforms = list(dict.fromkeys(p for view in shown for p in view.platforms))
    absolute = [value for value in published if not value.ratio_to]
    relative = [value for value in published if value.ratio_to]
    kind = shown[0].kind(name)
    return Comparison(
        name=name,
        kind=kind,
        reference=platforms[0],
        values=_values(name, kind, cells, platforms, absolute),
        ratios=_ratios(name, kind, cells, platforms, relative),
        rows=[_compared(name, kind, cell, platform, platforms[0]) for cell in cells for platform in cell.results],
        papers=[
            PaperRow(_paper_name(value), published_text(value), note, _beside(value, name, kind, cells))
            for note, value in enumerate(published, 1)
        ],
        sources=[
            f"{_paper_name(value)}, {published_text(value)} {_unit(value)}: {value.source}" for value in published
        ],
    )


def _unit(value: PublishedValue) -> str:
    return "×" if value.ratio_to else value.unit


def _cells(view: SweepView, published: Sequence[PublishedValue]) -> list[_Cell]:
    """The sweep's cells that any of the paper's values is about, named by what the paper leaves open."""
    about = [value for value in published if value.sweep == view.name]
    fixed = {name for value in about for name in value.levels}
    cells: dict[str, dict[str, Result]] = {}
    for result in view.results:
        if any(belongs(value, result) for value in about):
            said = view.words(result.levels, [name for name in view.varied if name not in fixed])
            label = ", ".join(part for part in (view.name.replace("_", " "), said) if part)
            cells.setdefault(label, {})[result.platform] = result
    return [_Cell(label, results) for label, results in cells.items()]


def _paper_name(value: PublishedValue) -> str:
    """ "data load, vm2 / vm1": sweep, platform, and what it is a ratio to."""
    platform = str(value.platform).replace("_", " ")
    over = f" / {value.ratio_to.replace('_', ' ')}" if value.ratio_to else ""
    return f"{value.sweep.replace('_', ' ')}, {platform}{over}"


def _beside(value: PublishedValue, name: str, kind: MeasurementKind, cells: Sequence[_Cell]) -> str:
    found = []
    for cell in cells:
        result = cell.results.get(str(value.platform))
        if result is None or not belongs(value, result):
            continue
        ours, first = (_summary(name, cell, str(platform)) for platform in (value.platform, value.ratio_to))
        said = "" if value.ratio_to else paper_text(value, ours, kind)
        if value.ratio_to and ours and first and not refusal(result, cell.results[value.ratio_to]):
            over, judged = ratio_beside(value, ratio(ours.values, first.values))
            said = f"ours {ratio_words(over)}, {judged.word}"
        found += [f"{cell.label}: {said}"] if said else []
    return "; ".join(found)


def _values(
    name: str, kind: MeasurementKind, cells: Sequence[_Cell], platforms: Sequence[str], papers: Sequence[PublishedValue]
) -> Chart:
    series = [
        Line(platform, number, 0, [m for row, cell in enumerate(cells) if (m := _mark(name, cell, platform, row))])
        for number, platform in enumerate(platforms)
    ]
    return _chart(f"{kind.title} by platform", kind.unit, cells, series, papers)


def _mark(name: str, cell: _Cell, platform: str, row: int) -> Mark | None:
    result = cell.results.get(platform)
    if result is None:
        return None
    summary = result.measurements.get(name)
    if summary is None:
        return Mark(float(row), cell.label, None, None, f"{platform}: {result.n_of_n} completed")
    return Mark(float(row), f"{cell.label}, {platform}", summary.median, summary.interval_95)


def _ratios(
    name: str, kind: MeasurementKind, cells: Sequence[_Cell], platforms: Sequence[str], papers: Sequence[PublishedValue]
) -> Chart | None:
    """Ours to the reference platform, the paper's to what it names. Where it names none, the table is enough."""
    if not papers:
        return None
    series = []
    for number, platform in enumerate(platforms[1:], 1):
        marks = []
        for row, cell in enumerate(cells):
            ours, first = (_summary(name, cell, each) for each in (platform, platforms[0]))
            if ours and first and not refusal(cell.results[platform], cell.results[platforms[0]]):
                marks.append(Mark(float(row), cell.label, *ratio(ours.values, first.values)))
        series.append(Line(f"{platform} / {platforms[0]}", number, 0, marks))
    used = cells if any(one.marks for one in series) else []
    return _chart(f"{kind.title}, ratio", "1", used, series, papers, reference=1.0)


def _chart(  # noqa: PLR0917  private, and each argument is a part of the figure
    title: str,
    unit: str,
    cells: Sequence[_Cell],
    series: list[Line],
    papers: Sequence[PublishedValue],
    reference: float | None = None,
) -> Chart:
    """Ours first, then a row for each of the paper's values."""
    rows = [*(cell.label for cell in cells), *(f"paper: {_paper_name(value)}" for value in papers)]
    marks = [
        PaperMark(float(len(cells) + number), float(value.value), None, published_text(value))
        for number, value in enumerate(papers)
    ]
    return Chart(title, unit, "platform", series, marks, rows, reference=reference)


def _summary(name: str, cell: _Cell, platform: str) -> Summary | None:
    result = cell.results.get(platform)
    return result.measurements.get(name) if result else None


def _compared(name: str, kind: MeasurementKind, cell: _Cell, platform: str, reference: str) -> Compared:
    ours, first = (_summary(name, cell, each) for each in (platform, reference))
    said = ratio_text(ours, first, kind) if platform != reference else f"1{THIN_SPACE}(reference)"
    if ours and first and (refused := refusal(cell.results[platform], cell.results[reference])):
        said = refused
    return Compared(cell.label, platform, cell.results[platform].n_of_n, ours, said)
