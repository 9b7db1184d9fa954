"""The paper's tables as it printed them, our cells above its rows, and ratios to the first row as a figure. Pure.

Its rows stand below ours where they are of one of our cells. Of another size of data they stand apart, because only
ratios to the first row can be looked at beside ours then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterbench.base.factors import Level
from clusterbench.base.measurements import MeasurementKind
from clusterbench.report.run.chart_data import Chart, Line, Mark, PaperMark
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.beside_paper import fits, without_sizes
from clusterbench.results.gather import Gathered
from clusterbench.results.refused import refusal
from clusterbench.results.statistics import Result, Summary, ratio_of_two
from clusterbench.spec.published import PublishedTable

BEST_RUNS = "best runs"
"""How a line of ratios ends that is not of medians."""


@dataclass(frozen=True)
class OurRow:
    """One cell. ``best`` is one repetition, the best by the measurement that the table names: a value a column."""

    label: str
    n_of_n: str
    summaries: list[Summary | None]
    """None where nothing completed."""
    best: list[float | None]


@dataclass(frozen=True)
class PaperTable:
    """``papers``: (row, values) of cells that were run here; ``apart`` those of other sizes, which are ``size``."""

    name: str
    title: str
    source: str
    kinds: list[MeasurementKind]
    papers: list[tuple[str, Sequence[float]]]
    apart: list[tuple[str, Sequence[float]]]
    size: str
    best_by: str
    """What the best run was chosen by, in words; empty where the paper does not say that it printed one."""
    ours: list[OurRow]
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
    is_here = {row: any(fits(_levels(table, row), result) for _, result in cells) for row in table.rows}
    return PaperTable(
        name=table.table,
        title=table.title,
        source=table.source,
        kinds=kinds,
        papers=[(row, values) for row, values in table.rows.items() if is_here[row]],
        apart=[(row, values) for row, values in table.rows.items() if not is_here[row]],
        size=_sizes(table, view, [row for row in table.rows if not is_here[row]]),
        best_by=view.kind(table.best_by).title if table.best_by else "",
        ours=[
            OurRow(
                label,
                result.n_of_n,
                [result.measurements.get(name) for name in table.columns],
                best_run(result, table.columns, table.best_by, view.kind(table.best_by)) if table.best_by else [],
            )
            for label, result in cells
        ],
        ratios=_ratios(table, cells, view) if table.ratios_of else None,
        ratios_title=table.ratios_title,
    )


def _levels(table: PublishedTable, row: str) -> dict[str, Level]:
    return {**table.levels, **table.row_levels.get(row, {})}


def _sizes(table: PublishedTable, view: SweepView, rows: Sequence[str]) -> str:
    """ "300000M rows", of each that some of the rows have."""
    said = [_levels(table, row) for row in rows]
    sizes = [view.words(levels, [name for name in levels if name not in without_sizes(levels)]) for levels in said]
    return ", ".join(dict.fromkeys(size for size in sizes if size))


def best_run(result: Result, columns: Sequence[str], by: str, kind: MeasurementKind) -> list[float | None]:
    """All columns of the one repetition that was best; none where it cannot be told which numbers are of one run."""
    chosen = result.measurements.get(by)
    if chosen is None:
        return [None for _ in columns]
    best = (max if kind.better == "higher" else min)(range(chosen.n), key=chosen.values.__getitem__)
    of_columns = [result.measurements.get(name) for name in columns]
    return [each.values[best] if each and each.n == chosen.n == result.completed else None for each in of_columns]


def _cells(table: PublishedTable, views: Sequence[SweepView]) -> list[tuple[str, Result]]:
    """Our cells at the table's levels, of whatever size, each platform's once; named by what the table leaves open."""
    found: dict[str, Result] = {}
    for view in views:
        for result in view.results:
            if fits(without_sizes(table.levels), result):
                factors = view.workload.factors if view.workload else {}
                named = [
                    name
                    for name, factor in factors.items()
                    if name not in without_sizes(table.levels) and (factor.is_dataset or name in view.varied)
                ]
                label = ", ".join(part for part in (result.platform, view.words(result.levels, named)) if part)
                if label not in found or (result.completed and not found[label].completed):
                    found[label] = result
    return list(found.items())


def _ratios(table: PublishedTable, cells: Sequence[tuple[str, Result]], view: SweepView) -> Chart | None:
    """To the first platform's at the same levels, of our medians and of our best runs; and of the paper's rows."""
    titles = {name: view.kind(name).title for name in table.columns}
    reference = cells[0][1].platform
    lines: list[Line] = []
    for label, result in cells:
        first = next((r for _, r in cells if r.platform == reference and r.levels == result.levels), None)
        if result.platform == reference or first is None or refusal(result, first):
            continue
        name, colour = f"{label} / {reference}", 1 + len({line.colour for line in lines})
        medians, best = _of_medians(table, titles, result, first), _of_best_runs(table, titles, result, first, view)
        lines += [Line(name, colour, 0, medians)] if medians else []
        lines += [Line(f"{name}, {BEST_RUNS}", colour, 0, best)] if best else []
    if not lines:
        return None
    (first_name, first_values), *others = table.rows.items()
    rows, papers = [titles[name] for name in table.ratios_of], []
    for name in table.ratios_of:
        column = table.columns.index(name)
        for label, values in others:
            value = values[column] / first_values[column]
            papers.append(PaperMark(float(len(rows)), value, None, f"{value:.2f}"))
            rows.append(f"paper: {titles[name]}, {label} / {first_name}")
    return Chart("Elapsed time, ratio", "1", "platform", lines, papers, rows, reference=1.0)


def _of_medians(table: PublishedTable, titles: Mapping[str, str], result: Result, first: Result) -> list[Mark]:
    pairs = [(name, result.measurements.get(name), first.measurements.get(name)) for name in table.ratios_of]
    return [
        Mark(float(row), titles[name], *ratio_of_two(ours, theirs))
        for row, (name, ours, theirs) in enumerate(pairs)
        if ours and theirs
    ]


def _of_best_runs(
    table: PublishedTable, titles: Mapping[str, str], result: Result, first: Result, view: SweepView
) -> list[Mark]:
    """One run over one run has no interval."""
    if table.best_by is None:
        return []
    kind = view.kind(table.best_by)
    ours, theirs = (best_run(each, table.ratios_of, table.best_by, kind) for each in (result, first))
    return [
        Mark(float(row), titles[name], over / under, None)
        for row, (name, over, under) in enumerate(zip(table.ratios_of, ours, theirs, strict=True))
        if over is not None and under
    ]
