"""The paper's tables as it printed them, our cells above its rows, and ratios to the first row as a figure. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterbench.base.measurements import MeasurementKind
from clusterbench.report.run.chart_data import Chart, Line, Mark, PaperMark
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.gather import Gathered
from clusterbench.results.refused import refusal
from clusterbench.results.statistics import Result, Summary, ratio
from clusterbench.spec.published import PublishedTable


@dataclass(frozen=True)
class PaperTable:
    """``papers``: (row, values); ``ours``: (row, n of n, summaries), None where nothing completed."""

    name: str
    title: str
    source: str
    kinds: list[MeasurementKind]
    papers: list[tuple[str, Sequence[float]]]
    ours: list[tuple[str, str, list[Summary | None]]]
    ratios: Chart | None
    ratios_title: str


def paper_tables(run: Gathered, views: Sequence[SweepView]) -> list[PaperTable]:
    """Those beside which any of our cells stands."""
    tables = run.published.tables if run.published else []
    made = (_table(table, [view for view in views if view.name in table.sweeps]) for table in tables)
    return [table for table in made if table is not None]


def _table(table: PublishedTable, views: Sequence[SweepView]) -> PaperTable | None:
    cells = _cells(table, views)
    if not cells:
        return None
    view = views[0]
    kinds = [view.kind(name) for name in table.columns]
    return PaperTable(
        name=table.table,
        title=table.title,
        source=table.source,
        kinds=kinds,
        papers=list(table.rows.items()),
        ours=[
            (label, result.n_of_n, [result.measurements.get(name) for name in table.columns]) for label, result in cells
        ],
        ratios=_ratios(table, cells, kinds) if table.ratios_of else None,
        ratios_title=table.ratios_title,
    )


def _cells(table: PublishedTable, views: Sequence[SweepView]) -> list[tuple[str, Result]]:
    """Our cells at the table's levels, each platform's once; named by what the table leaves open."""
    found: dict[str, Result] = {}
    for view in views:
        for result in view.results:
            if all(result.levels.get(name) == level for name, level in table.levels.items()):
                factors = view.workload.factors if view.workload else {}
                named = [
                    name
                    for name, factor in factors.items()
                    if name not in table.levels and (factor.is_dataset or name in view.varied)
                ]
                label = ", ".join(part for part in (result.platform, view.words(result.levels, named)) if part)
                if label not in found or (result.completed and not found[label].completed):
                    found[label] = result
    return list(found.items())


def _ratios(
    table: PublishedTable, cells: Sequence[tuple[str, Result]], kinds: Sequence[MeasurementKind]
) -> Chart | None:
    """Of the medians to the first platform's at the same levels, and of the paper's rows to its first."""
    titles = dict(zip(table.columns, (kind.title for kind in kinds), strict=True))
    reference = cells[0][1].platform
    series: dict[str, list[Mark]] = {}
    for label, result in cells:
        first = next((r for _, r in cells if r.platform == reference and r.levels == result.levels), None)
        if result.platform == reference or first is None or refusal(result, first):
            continue
        for row, name in enumerate(table.ratios_of):
            ours, theirs = result.measurements.get(name), first.measurements.get(name)
            if ours and theirs:
                mark = Mark(float(row), titles[name], *ratio(ours.values, theirs.values))
                series.setdefault(f"{label} / {reference}", []).append(mark)
    if not series:
        return None
    (first_name, first_values), *others = table.rows.items()
    rows, papers = [titles[name] for name in table.ratios_of], []
    for name in table.ratios_of:
        column = table.columns.index(name)
        for label, values in others:
            value = values[column] / first_values[column]
            papers.append(PaperMark(float(len(rows)), value, None, f"{value:.2f}"))
            rows.append(f"paper: {titles[name]}, {label} / {first_name}")
    drawn = [Line(name, number, 0, marks) for number, (name, marks) in enumerate(series.items(), 1)]
    return Chart("Elapsed time, ratio", "1", "platform", drawn, papers, rows, reference=1.0)
