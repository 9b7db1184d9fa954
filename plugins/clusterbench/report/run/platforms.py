"""Platforms side by side, ours and the paper's: what it costs, or gains, to run the same on another platform. Pure.

Where published values name platforms. Ours are the cells that the paper measured, as far as it says; where only the
size of the data is another, its ratios stand beside ours, and its other numbers do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterbench.base.factors import Level
from clusterbench.base.measurements import MeasurementKind
from clusterbench.base.words import THIN_SPACE, ratio_words
from clusterbench.report.run.cell_words import paper_text, ratio_text
from clusterbench.report.run.chart_data import Chart, Line, Mark, PaperMark
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.beside_paper import belongs, other_size, ratio_beside, reference_of, stands_beside
from clusterbench.results.gather import Gathered
from clusterbench.results.refused import not_durable, refusal
from clusterbench.results.statistics import Result, Summary, ratio_of_two
from clusterbench.spec import PublishedValue
from clusterbench.spec.published import published_text
from clusterbench.workloads import size_factors


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
    is_of_other_size: bool
    """Whether the paper's ratios stand beside ours of other sizes of data."""


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
    results = [result for cell in cells for result in cell.results.values()]
    absolute = [v for v in published if not v.ratio_to and any(belongs(v, result) for result in results)]
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
            PaperRow(_paper_name(value), published_text(value), note, _beside(value, name, kind, shown, cells))
            for note, value in enumerate(published, 1)
        ],
        sources=[
            f"{_paper_name(value)}, {published_text(value)} {_unit(value)}: {value.source}" for value in published
        ],
        is_of_other_size=any(
            other_size(v, result) for v in published for result in results if stands_beside(v, result)
        ),
    )


def _unit(value: PublishedValue) -> str:
    return "×" if value.ratio_to else value.unit


def _cells(view: SweepView, published: Sequence[PublishedValue]) -> list[_Cell]:
    """The sweep's cells that any of the paper's values is about, named by what the paper leaves open."""
    about = [value for value in published if value.sweep == view.name]
    named = {name: {value.levels.get(name) for value in about} for value in about for name in value.levels}
    fixed = {name for name, levels in named.items() if len(levels) == 1 and name not in size_factors()}
    cells: dict[str, dict[str, Result]] = {}
    for result in view.results:
        if any(stands_beside(value, result) or _is_reference(value, result, view.results) for value in about):
            said = view.words(result.levels, [name for name in view.varied if name not in fixed])
            label = ", ".join(part for part in (view.name.replace("_", " "), said) if part)
            cells.setdefault(label, {})[result.platform] = result
    return [_Cell(label, results) for label, results in cells.items()]


def _is_reference(value: PublishedValue, result: Result, results: Sequence[Result]) -> bool:
    """Whether a ratio of the paper's, of cells at different levels, is to this one."""
    over = [ours for ours in results if value.ratio_to_levels and stands_beside(value, ours)]
    return any(reference_of(value, ours, result.platform, results) is result for ours in over)


def _paper_name(value: PublishedValue) -> str:
    """ "data load, vm2 / vm1": sweep, platform, what it is a ratio to, and levels where both have their own."""
    named = {name: value.levels.get(name) for name in value.ratio_to_levels}
    platform = f"{value.platform}{_told(named)}".replace("_", " ")
    over = f" / {value.ratio_to}{_told(value.ratio_to_levels)}".replace("_", " ") if value.ratio_to else ""
    return f"{value.sweep.replace('_', ' ')}, {platform}{over}"


def _told(levels: Mapping[str, Level | None]) -> str:
    return f" ({', '.join(f'{name} {level}' for name, level in levels.items())})" if levels else ""


def _beside(
    value: PublishedValue, name: str, kind: MeasurementKind, views: Sequence[SweepView], cells: Sequence[_Cell]
) -> str:
    """Of which cell it is, where this run has none such, and ours over it, where it has the paper's platforms."""
    view = next((view for view in views if view.name == value.sweep), None)
    if view is None:
        return f"of {value.sweep.replace('_', ' ')}, not run here"
    found = []
    if not any(belongs(value, result) for result in view.results):
        sizes = dict.fromkeys(other_size(value, result) for result in view.results if stands_beside(value, result))
        found.append(f"of {next(iter(sizes), '') or view.words(value.levels, value.levels)}, not run here")
    results = [result for cell in cells for result in cell.results.values()]
    for cell in cells:
        ours = cell.results.get(str(value.platform))
        if ours is not None and stands_beside(value, ours) and (said := _over_paper(value, name, kind, ours, results)):
            found.append(f"{cell.label}: {said}")
    return "; ".join(found)


def _over_paper(
    value: PublishedValue, name: str, kind: MeasurementKind, ours: Result, results: Sequence[Result]
) -> str:
    summary = ours.measurements.get(name)
    if value.ratio_to is None:
        return paper_text(value, summary, kind)
    first = reference_of(value, ours, value.ratio_to, results)
    under = first.measurements.get(name) if first else None
    refused = not_durable if value.ratio_to_levels else refusal  # the paper says that those levels are alike
    if summary is None or first is None or under is None or refused(ours, first):
        return ""
    over, judged = ratio_beside(value, ratio_of_two(summary, under))
    return f"ours {ratio_words(over)}, {judged.word}"


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
                marks.append(Mark(float(row), cell.label, *ratio_of_two(ours, first)))
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
