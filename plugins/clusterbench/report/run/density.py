"""Platforms by the density of their virtual machines: the table of paper 004, ours and the paper's in each cell. Pure.

A cell that not all repetitions completed says so with an x, as in the paper. Ours are medians, the paper's are means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from clusterbench.base.factors import Level
from clusterbench.base.records import FINDINGS
from clusterbench.base.words import ABSENT, change, count, duration, plural
from clusterbench.report.run.cell_words import state_of
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.durability import say_level
from clusterbench.results.gather import Gathered
from clusterbench.results.judgement import describe_ratio
from clusterbench.results.refused import refusal
from clusterbench.results.statistics import Result, ratio_of_two
from clusterbench.spec.scenarios import NOT_COMPLETED, PublishedScenarios, Scenario, ScenarioCell

REFERENCE = "reference"


@dataclass(frozen=True)
class Column:
    """A platform of ours with the paper's scenario of the same density; one of both may be missing."""

    platform: str
    density: str
    paper: Scenario | None

    @property
    def name(self) -> str:
        return self.platform or f"{self.density}, paper only"


@dataclass(frozen=True)
class DensityCell:
    """What stands in one cell. ``ratio`` is to the reference's time, where both completed."""

    time: str = ABSENT
    note: str = ""
    why: str = ""
    ratio: float | None = None
    change: str = ""
    bounds: str = ""
    warnings: str = ABSENT
    has_failed: bool = False


@dataclass(frozen=True)
class Line:
    """One concurrency of one sweep, ours or the paper's."""

    sweep: str
    label: str
    level: Level
    is_paper: bool
    cells: list[DensityCell]


@dataclass(frozen=True)
class DensityTable:
    paper: PublishedScenarios
    reference: str
    columns: list[Column]
    groups: list[tuple[str, list[Line]]]
    """(title of the sweep, lines)."""
    medians: list[tuple[str, bool, list[str]]]
    """(whose, is it the paper's, a median change for each column)."""

    @property
    def compared(self) -> list[int]:
        """Columns that have a change: all but the reference's."""
        return [place for place, column in enumerate(self.columns) if column.name != self.reference]

    @property
    def sweeps(self) -> set[str]:
        return {line.sweep for _, lines in self.groups for line in lines}


def density_table(run: Gathered, views: Sequence[SweepView]) -> DensityTable | None:
    """None where the experiment has no such table, or no platform of the run declares its density."""
    paper = run.published.scenarios if run.published else None
    shown = [view for view in views if paper and view.name in paper.sweeps]
    platforms = [name for name in run.platforms if any(name in view.platforms for view in shown)]
    if paper is None or not any(name in run.densities for name in platforms):
        return None
    columns = _columns(paper, platforms, run)
    of_reference = [column for column in columns if column.platform and column.density == paper.reference]
    reference = next((column.name for column in of_reference), platforms[0])
    groups = [(view.title, _lines(view, paper, columns, reference)) for view in shown]
    lines = [line for _, found in groups for line in found]
    return DensityTable(paper, reference, columns, groups, _medians(lines, columns, reference))


def _columns(paper: PublishedScenarios, platforms: Sequence[str], run: Gathered) -> list[Column]:
    """In the paper's order of scenarios; those that no platform has stay, as the paper's alone."""
    columns = []
    for density, scenario in paper.scenarios.items():
        found = [name for name in platforms if run.densities.get(name) == density]
        columns += [Column(name, density, scenario) for name in found or [""]]
    others = [name for name in platforms if run.densities.get(name) not in paper.scenarios]
    return columns + [Column(name, run.densities.get(name, ""), None) for name in others]


# Lines.


def _lines(view: SweepView, paper: PublishedScenarios, columns: Sequence[Column], reference: str) -> list[Line]:
    """By concurrency, ours before the paper's."""
    rows = paper.sweeps[view.name]
    levels = {result.levels.get(paper.factor): None for result in view.results}
    lines = []
    for level in sorted({*levels, *rows} - {None}, key=lambda level: int(level or 0)):
        label = say_level(view.workload, paper.factor, level or 0)
        cells = [result for result in view.results if result.levels.get(paper.factor) == level]
        for said, of_platform in _by_other_levels(view, paper, cells).items():
            ours = [_ours(of_platform, column, reference, paper) for column in columns]
            lines.append(Line(view.name, f"{label}, {said}" if said else label, level or 0, False, ours))
        if level in rows:
            printed = [_printed(paper.cell(view.name, int(level or 0), column.density), paper) for column in columns]
            lines.append(Line(view.name, label, level or 0, True, printed))
    return lines


def _by_other_levels(
    view: SweepView, paper: PublishedScenarios, results: Sequence[Result]
) -> dict[str, dict[str, Result]]:
    """What else the sweep varies, in words -> platform -> result."""
    found: dict[str, dict[str, Result]] = {}
    for result in results:
        said = view.words(result.levels, [name for name in view.varied if name != paper.factor])
        found.setdefault(said, {})[result.platform] = result
    return found


def _ours(results: dict[str, Result], column: Column, reference: str, paper: PublishedScenarios) -> DensityCell:
    result, first = results.get(column.platform), results.get(reference)
    if result is None:
        return DensityCell()
    summary, warnings = (result.measurements.get(name) for name in (paper.measurement, paper.warnings))
    under = first.measurements.get(paper.measurement) if first else None
    is_beside = first is not None and column.name != reference and not refusal(result, first)
    value, bounds = ratio_of_two(summary, under) if summary and under and is_beside else (None, None)
    return DensityCell(
        time=duration(summary.median) if summary else _instead(result),
        note=_completed(result) if summary or _is_finding(result) else "",
        why="; ".join(result.reasons),
        ratio=value,
        change="" if value is None else change(value),
        bounds=_bounds(value, bounds),
        warnings=ABSENT if warnings is None else count(warnings.median),
        has_failed=_is_finding(result),
    )


def _bounds(value: float | None, bounds: tuple[float, float] | None) -> str:
    if bounds is None:
        return "" if value is None else "no interval"
    word = describe_ratio(value, bounds, "lower", "s").word
    return f"{change(bounds[0])} to {change(bounds[1])}, {word}"


def _is_finding(result: Result) -> bool:
    return result.was_given_up or any(name in result.outcomes for name in FINDINGS)


def _instead(result: Result) -> str:
    """x only where something was tried, or would have been; a level that cannot be had is no collapse."""
    state = state_of(result)
    return state.replace("_", " ") if state in ("not_applicable", "not_run") else NOT_COMPLETED


def _completed(result: Result) -> str:
    if result.completed == result.planned:
        return result.n_of_n
    given_up = ", given up" if result.was_given_up else ""
    return f"{_x_before(result.completed)}{result.n_of_n} completed{given_up}"


def _x_before(completed: int) -> str:
    """The time of a cell that none completed is an x itself."""
    return f"{NOT_COMPLETED}: " if completed else ""


def _printed(cell: ScenarioCell | None, paper: PublishedScenarios) -> DensityCell:
    if cell is None:
        return DensityCell()
    is_short = cell.completed is not None and cell.completed < paper.repetitions
    return DensityCell(
        time=cell.time,
        note=f"{_x_before(cell.completed or 0)}{cell.completed} of {paper.repetitions} completed" if is_short else "",
        ratio=None if cell.change_percent is None else 1 + cell.change_percent / 100,
        change="" if cell.change_percent is None else change(1 + cell.change_percent / 100),
        warnings=NOT_COMPLETED if cell.warnings is None else count(cell.warnings),
        has_failed=is_short,
    )


# Medians over the lines.


def _medians(lines: Sequence[Line], columns: Sequence[Column], reference: str) -> list[tuple[str, bool, list[str]]]:
    ours = [line for line in lines if not line.is_paper]
    papers = [line for line in lines if line.is_paper]
    run_here = {(line.sweep, line.level) for line in ours}
    same = [line for line in papers if (line.sweep, line.level) in run_here]
    found = [("ours", False, _median_changes(ours, columns, reference))]
    if len(same) < len(papers) and same:
        found.append(("paper, at the levels that were run here", True, _median_changes(same, columns, reference)))
    return [*found, ("paper", True, _median_changes(papers, columns, reference))]


def _median_changes(lines: Sequence[Line], columns: Sequence[Column], reference: str) -> list[str]:
    found = []
    for place, column in enumerate(columns):
        known = [value for line in lines if (value := line.cells[place].ratio) is not None]
        found.append(f"{change(median(known))} over {plural(len(known), 'level')}" if known else ABSENT)
        if column.name == reference:
            found[-1] = REFERENCE
    return found
