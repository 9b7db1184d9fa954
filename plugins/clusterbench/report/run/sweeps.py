"""A sweep as the page of a run shows it: a table and a figure of each measurement, with the paper's values. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clusterbench.base.measurements import MeasurementKind
from clusterbench.base.words import without_sweep
from clusterbench.report.run.cell_words import answer, paper_text, ratio_text, state_of
from clusterbench.report.run.chart_data import Chart
from clusterbench.report.run.sweep_chart import sweep_chart
from clusterbench.results.beside_paper import other_size, stands_beside
from clusterbench.results.refused import refusal
from clusterbench.results.statistics import Result, Summary
from clusterbench.results.sweep_results import SweepResults
from clusterbench.spec import PublishedValue
from clusterbench.spec.published import published_text


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
    """One measurement of a sweep: figure, table, and the sources of the published values in it.

    Without a figure where nobody asked for one, and only the paper has a number.
    """

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
        return [_plot(self, name, is_drawn=name in self.plotted) for name in [*self.plotted, *self._of_paper_only]]

    @property
    def _of_paper_only(self) -> list[str]:
        """Printed there, and not asked for as a figure here."""
        known = self.workload.measurements if self.workload else self.measured
        return [name for name in known if name not in self.plotted and _published(self, name)]


# Published values.


def _published(view: SweepView, measurement: str) -> list[PublishedValue]:
    values = view.run.published.values if view.run.published else []
    unit = view.kind(measurement).unit
    own = [v for v in values if v.sweep == view.name and v.measurement == measurement and v.unit == unit]
    return [value for value in own if value.platform is None]  # the others are compared in ``platforms.py``


# Tables.


def _plot(view: SweepView, measurement: str, *, is_drawn: bool) -> Plot:
    published = _published(view, measurement)
    sources = [f"{published_text(value)} {value.unit}: {value.source}" for value in published]
    chart, drawn = sweep_chart(view, measurement, published) if is_drawn else (None, [])
    return Plot(
        name=measurement,
        kind=view.kind(measurement),
        chart=chart,
        rows=[_row(view, result, measurement, published) for result in view.results],
        published_rows=[
            {"label": view.words(value.levels, _in_order(view, value)), "text": published_text(value), "note": note}
            for note, value in enumerate(published, 1)
            if not any(stands_beside(value, result) for result in view.results)
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
            (_printed(v, result), n, paper_text(v, summary, view.kind(measurement)))
            for n, v in enumerate(published, 1)
            if stands_beside(v, result)
        ],
    )


def _printed(value: PublishedValue, result: Result) -> str:
    size = other_size(value, result)
    return published_text(value) + (f" (of {size})" if size else "")


def _ratio(view: SweepView, result: Result, measurement: str) -> str:
    """Median over that of the reference platform, which is the first that was chosen."""
    if result.platform == view.platforms[0]:
        return ""
    cell = [r for r in view.results if r.levels == result.levels and r.platform == view.platforms[0]]
    if cell and (refused := refusal(result, cell[0])):
        return refused
    first = cell[0].measurements.get(measurement) if cell else None
    return ratio_text(result.measurements.get(measurement), first, view.kind(measurement))
