"""From a sweep's results and the paper's values to figures and tables, derived from the sweep's factors. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from clusterbench.base.factors import Level
from clusterbench.base.measurements import MeasurementKind
from clusterbench.base.words import named_counts, quantity, ratio_words, without_sweep
from clusterbench.results.beside_paper import belongs, median_beside
from clusterbench.results.durability import say_level
from clusterbench.results.gather import Gathered
from clusterbench.results.judgement import compare_two
from clusterbench.results.refused import refusal
from clusterbench.results.statistics import Result, Summary
from clusterbench.results.sweep_results import SweepResults, is_number, parts_of_sweeps
from clusterbench.spec import PublishedValue
from clusterbench.spec.published import published_text

X_STRETCH_MAX = 5
"""A published value this many times beyond our levels is drawn; one further away would squeeze ours to a dot."""
Y_STRETCH_MAX = 20
SeriesKey = tuple[Level, ...]


@dataclass(frozen=True)
class Mark:
    """One cell in a figure: ``y`` is None where nothing completed, and ``note`` says what happened instead."""

    x: float
    label: str
    y: float | None
    interval_95: tuple[float, float] | None
    note: str = ""


@dataclass(frozen=True)
class Line:
    """Marks that belong together. Colour and dash are numbers, so that one factor has one look."""

    name: str
    colour: int
    dash: int
    marks: list[Mark]


@dataclass(frozen=True)
class PaperMark:
    x: float
    y: float
    colour: int | None
    label: str


@dataclass(frozen=True)
class Chart:
    """Numbers along x where ``levels`` says so, else one row per category, whose names are ``rows``."""

    title: str
    unit: str
    x_title: str
    series: list[Line]
    papers: list[PaperMark]
    rows: list[str]
    reference: float | None = None
    """A value to compare with, such as 1 of ratios; the axis then begins near the values, not at zero."""

    @property
    def is_numeric(self) -> bool:
        return not self.rows

    @cached_property
    def values(self) -> list[float]:
        """Everything that the value axis must hold."""
        ours = [v for s in self.series for m in s.marks if m.y is not None for v in (m.y, *(m.interval_95 or ()))]
        return ours + [paper.y for paper in self.papers]

    @property
    def has_few(self) -> bool:
        """Whether a cell has too few repetitions for an interval."""
        return any(mark.y is not None and mark.interval_95 is None for s in self.series for mark in s.marks)

    @property
    def has_failed(self) -> bool:
        return self.is_numeric and any(mark.note.endswith("completed") for s in self.series for mark in s.marks)

    @property
    def sentence(self) -> str:
        """What the figure shows, for those who hear it."""
        parts = []
        for series in self.series:
            said = [f"{mark.label} {quantity(mark.y, self.unit) if mark.y else mark.note}" for mark in series.marks]
            parts.append(f"{series.name}: {', '.join(said)}")
        papers = [f"paper: {paper.label}" for paper in self.papers]
        return f"{self.title} by {self.x_title}. {'; '.join([*parts, *papers])}."


@dataclass(frozen=True)
class Row:
    """One line of a table. ``answer`` stands in place of numbers where there are none."""

    label: str
    platform: str
    n_of_n: str
    state: str
    summary: Summary | None
    answer: str
    ratio: str
    published: list[tuple[str, int, str]]
    """The paper's number, that of its source, and ours over it."""


@dataclass(frozen=True)
class Plot:
    """One measurement of a sweep: figure, table, and the sources of the published values in it."""

    name: str
    kind: MeasurementKind
    chart: Chart | None
    rows: list[Row]
    published_rows: list[dict[str, Any]]
    sources: list[str]
    beyond: list[str]
    """Published values that the figure leaves out, because they lie far from what was run here."""

    @property
    def has_published(self) -> bool:
        return bool(self.sources)

    @property
    def is_beside(self) -> bool:
        """Whether any number of the paper is one of our cells, and has ours over it."""
        return any(beside for row in self.rows for _, _, beside in row.published)


class SweepView(SweepResults):
    """The results of a sweep as the page shows them."""

    @property
    def plots(self) -> list[Plot]:
        return [_plot(self, name) for name in self.plotted]


def sweep_views(run: Gathered) -> list[SweepView]:
    """Every sweep that was planned, in the order of the experiment's file."""
    return [SweepView(*parts) for parts in parts_of_sweeps(run)]


# Published values.


def _published(view: SweepView, measurement: str) -> list[PublishedValue]:
    values = view.run.published.values if view.run.published else []
    unit = view.kind(measurement).unit
    own = [v for v in values if v.sweep == view.name and v.measurement == measurement and v.unit == unit]
    return [value for value in own if value.platform is None]  # the others are compared in ``platforms.py``


def _differs(view: SweepView, value: PublishedValue) -> str:
    """Levels of the paper's cell that are constant here and other than ours: "1G rows"."""
    other = [n for n, level in value.levels.items() if n not in view.varied and level not in view.levels.get(n, [])]
    return view.words(value.levels, other)


# Tables.


def _plot(view: SweepView, measurement: str) -> Plot:
    published = _published(view, measurement)
    sources = [f"{published_text(value)} {value.unit}: {value.source}" for value in published]
    chart, drawn = _chart(view, measurement, published)
    return Plot(
        name=measurement,
        kind=view.kind(measurement),
        chart=chart,
        rows=[_row(view, result, measurement, published) for result in view.results],
        published_rows=[
            {"label": view.words(value.levels, _in_order(view, value)), "text": published_text(value), "note": note}
            for note, value in enumerate(published, 1)
            if not any(belongs(value, result) for result in view.results)
        ],
        sources=sources,
        beyond=[
            f"{published_text(value)} {value.unit} at {view.words(value.levels, _in_order(view, value))}"
            for value in published
            if chart is not None and value not in drawn
        ],
    )


def _in_order(view: SweepView, value: PublishedValue) -> list[str]:
    return [name for name in view.levels if name in value.levels]


def _row(view: SweepView, result: Result, measurement: str, published: Sequence[PublishedValue]) -> Row:
    summary = result.measurements.get(measurement)
    return Row(
        label=without_sweep(result.label),
        platform=result.platform,
        n_of_n=result.n_of_n,
        state=state_of(result),
        summary=summary,
        answer="" if summary else answer(result),
        ratio=_ratio(view, result, measurement),
        published=[
            (published_text(v), n, paper_text(v, summary, view.kind(measurement)))
            for n, v in enumerate(published, 1)
            if belongs(v, result)
        ],
    )


def state_of(result: Result) -> str:
    """completed, partial, not_applicable, not_run, or failed: what colours a line, and what the words say."""
    if result.completed == result.planned:
        return "completed"
    if result.completed:
        return "partial"
    if result.was_given_up:
        return "failed"
    for state in ("not_applicable", "not_run"):
        if set(result.outcomes) == {state}:
            return state
    return "failed"


def answer(result: Result) -> str:
    """Why there is no number, which is an answer too."""
    why = "; ".join(result.reasons)
    state = state_of(result)
    if state in ("not_applicable", "not_run"):
        said = state.replace("_", " ")
    elif state == "completed":
        said = "not measured"
    elif set(result.outcomes) == {"not_applicable"}:
        said = "x"
    else:
        said = named_counts({name: count for name, count in result.outcomes.items() if name != "completed"})
    return f"{said}: {why}" if why else said


def _ratio(view: SweepView, result: Result, measurement: str) -> str:
    """Median over that of the reference platform, which is the first that was chosen."""
    if result.platform == view.platforms[0]:
        return ""
    cell = [r for r in view.results if r.levels == result.levels and r.platform == view.platforms[0]]
    if cell and (refused := refusal(result, cell[0])):
        return refused
    first = cell[0].measurements.get(measurement) if cell else None
    return ratio_text(result.measurements.get(measurement), first, view.kind(measurement))


def ratio_text(ours: Summary | None, reference: Summary | None, kind: MeasurementKind) -> str:
    """ "1.06× (1.02 – 1.09), slower": a ratio never stands without its interval and a word."""
    ratio, judged = compare_two(ours, reference, kind.better)
    return f"{ratio_words(ratio)}, {judged.word}" if ratio else ""


def paper_text(value: PublishedValue, ours: Summary | None, kind: MeasurementKind) -> str:
    """Ours over the paper's: "ours 0.02× (0.01 – 0.03), faster"; nothing where there is no number."""
    if ours is None:
        return ""
    ratio, judged = median_beside(value, ours.values, ours.unit, kind.better)
    said = judged.word if ratio[1] is None or judged.word != "not comparable" else judged.says
    return f"ours {ratio_words(ratio)}, {said}"


# Figures.


def _chart(
    view: SweepView, measurement: str, published: Sequence[PublishedValue]
) -> tuple[Chart | None, list[PublishedValue]]:
    """The figure, or None where no cell has a number, and the published values that are in it."""
    if not any(measurement in result.measurements for result in view.results):
        return None, []
    build = _along_numbers if view.x_factor else _by_category
    return build(view, measurement, published)


def _mark(result: Result, measurement: str, x: float, label: str) -> Mark:
    summary = result.measurements.get(measurement)
    if summary is None:
        said = {"not_applicable": "not applicable", "not_run": "not run"}.get(state_of(result))
        return Mark(x, label, None, None, said or f"{result.n_of_n} completed")
    return Mark(x, label, summary.median, summary.interval_95)


def _along_numbers(
    view: SweepView, measurement: str, published: Sequence[PublishedValue]
) -> tuple[Chart, list[PublishedValue]]:
    factor = str(view.x_factor)
    groups: dict[SeriesKey, list[Result]] = {}
    for result in view.results:
        key = (*(result.levels[name] for name in view.series_factors), result.platform)
        groups.setdefault(key, []).append(result)
    looks = _looks(view, list(groups))
    series = [
        Line(
            _series_name(view, key),
            *looks[key],
            [
                _mark(r, measurement, float(r.levels[factor]), say_level(view.workload, factor, r.levels[factor]))
                for r in found
            ],
        )
        for key, found in groups.items()
    ]
    kind = view.kind(measurement)
    bare = Chart(kind.title, kind.unit, factor.replace("_", " "), series, [], [])
    drawn = [value for value in published if _is_near(view, value, bare)]
    papers = [
        PaperMark(
            float(value.levels[factor]),
            float(value.value),
            _paper_colour(view, value, looks),
            _paper_label(view, value),
        )
        for value in drawn
    ]
    return Chart(kind.title, kind.unit, bare.x_title, series, papers, []), drawn


def _series_name(view: SweepView, key: SeriesKey) -> str:
    """The line's levels in words, and its platform where there are several or nothing else to say."""
    said = [say_level(view.workload, name, level) for name, level in zip(view.series_factors, key[:-1], strict=True)]
    return ", ".join([*said, *([str(key[-1])] if view.names_platforms or not said else [])])


def _looks(view: SweepView, keys: Sequence[SeriesKey]) -> dict[SeriesKey, tuple[int, int]]:
    """Colour by the first thing that differs, dash by the rest, so that many lines stay readable."""
    by_colour = 0 if view.series_factors else -1
    colours = list(dict.fromkeys(key[by_colour] for key in keys))
    rests = list(dict.fromkeys(key[1:] if view.series_factors else () for key in keys))
    return {key: (colours.index(key[by_colour]), rests.index(key[1:] if view.series_factors else ())) for key in keys}


def _is_near(view: SweepView, value: PublishedValue, chart: Chart) -> bool:
    """Drawn is what lies in one of our cells, or so near that it does not squeeze ours."""
    if any(belongs(value, result) for result in view.results):
        return True
    x, levels = value.levels.get(str(view.x_factor)), view.levels[str(view.x_factor)]
    if x is None or not is_number(x):
        return False
    return _within(float(x), [float(level) for level in levels], X_STRETCH_MAX) and _within(
        float(value.value), chart.values, Y_STRETCH_MAX
    )


def _within(value: float, ours: Sequence[float], times: float) -> bool:
    return min(ours) / times <= value <= max(ours) * times


def _paper_colour(view: SweepView, value: PublishedValue, looks: Mapping[SeriesKey, tuple[int, int]]) -> int | None:
    """The colour of the line that the paper's value belongs to, or None where it names no line."""
    if any(name not in value.levels for name in view.series_factors):
        return None
    names = [value.levels[name] for name in view.series_factors]
    fitting = {look[0] for key, look in looks.items() if list(key[:-1]) == names}
    return fitting.pop() if len(fitting) == 1 else None


def _paper_label(view: SweepView, value: PublishedValue) -> str:
    other = _differs(view, value)
    return f"{published_text(value)} {value.unit}" + (f", {other}" if other else "")


def _by_category(
    view: SweepView, measurement: str, published: Sequence[PublishedValue]
) -> tuple[Chart, list[PublishedValue]]:
    """One row per combination of levels, one series per platform."""
    rows = list(dict.fromkeys(_category(view, result) for result in view.results))
    series = [
        Line(
            platform,
            number,
            0,
            [
                _mark(r, measurement, float(rows.index(_category(view, r))), _category(view, r))
                for r in view.results
                if r.platform == platform
            ],
        )
        for number, platform in enumerate(view.platforms)
    ]
    kind = view.kind(measurement)
    papers, drawn = [], []
    for value in published:
        places = {_category(view, result) for result in view.results if belongs(value, result)}
        papers += [PaperMark(float(rows.index(p)), float(value.value), None, _paper_label(view, value)) for p in places]
        drawn += [value] if places else []
    x_title = ", ".join(name.replace("_", " ") for name in view.varied) or "cell"
    return Chart(kind.title, kind.unit, x_title, series, papers, rows), drawn


def _category(view: SweepView, result: Result) -> str:
    return view.words(result.levels, view.varied) or without_sweep(result.label)


def axis_is_log(values: Sequence[float]) -> bool:
    """Whether levels lie more evenly on a logarithmic axis; two levels, when they are a decade apart."""
    levels = sorted(set(values))
    if len(levels) < 2 or levels[0] <= 0:
        return False
    if len(levels) == 2:
        return levels[1] >= 10 * levels[0]
    return _widest_gap([math.log(level) for level in levels]) < _widest_gap(levels)


def _widest_gap(levels: Sequence[float]) -> float:
    """The largest step as a share of the whole."""
    return max(b - a for a, b in itertools.pairwise(levels)) / (levels[-1] - levels[0])
