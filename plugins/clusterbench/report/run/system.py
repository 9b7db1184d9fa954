"""The system's side: what throughput took of processors, disks and network, as Tables 2 and 3 of paper 003. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from clusterbench.base.words import ABSENT, exact
from clusterbench.hosts.resource_use import MEASUREMENTS
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.beside_paper import fits
from clusterbench.results.facts_compared import comparable
from clusterbench.results.gather import Gathered
from clusterbench.results.statistics import Result, Summary
from clusterbench.results.utilisation import TARGET, THROUGHPUT, is_at_utilisation
from clusterbench.spec.published import PublishedMetric, PublishedMetrics

LOOPBACK = ("loopback_packets_per_s", "loopback_mb_per_s")


@dataclass(frozen=True)
class Column:
    """One cell of ours: its platform, and in words what else it is."""

    platform: str
    said: str


@dataclass(frozen=True)
class Row:
    label: str
    unit: str
    ours: list[Summary | None]
    papers: list[str]
    note: str = ""


@dataclass(frozen=True)
class Group:
    title: str
    rows: list[Row]


@dataclass(frozen=True)
class SystemTable:
    """One utilisation, or the best throughput: a metric in each row, platforms and then the paper's as columns."""

    title: str
    columns: list[Column]
    papers: list[str]
    groups: list[Group]


def system_tables(run: Gathered, views: Sequence[SweepView], *, is_one_machine: bool) -> list[SystemTable]:
    made = []
    for view in views:
        if view.workload and TARGET in view.workload.measurements:
            for title, cells in _chosen(view):
                made.append(_table(run, view, title, cells, is_one_machine=is_one_machine))
    return made


def _chosen(view: SweepView) -> list[tuple[str, list[Result]]]:
    """Cells at a utilisation, platforms together; of rising concurrency each platform's best."""
    found: dict[str, list[Result]] = {}
    measured = [result for result in view.results if THROUGHPUT in result.measurements]
    for result in filter(is_at_utilisation, measured):
        said = view.words(result.levels, view.varied) or view.words(result.levels, [TARGET])
        found.setdefault(f"{view.title}: {said}", []).append(result)
    factors = view.workload.factors if view.workload else {}
    rising = [name for name in view.varied if name in factors and factors[name].is_concurrency]
    if not found and rising:
        best = [_best(r for r in measured if r.platform == name) for name in view.platforms]
        if any(best):
            found[f"{view.title}: where throughput was highest"] = [result for result in best if result]
    return list(found.items())


def _best(results: Iterable[Result]) -> Result | None:
    return max(results, key=lambda result: result.measurements[THROUGHPUT].median, default=None)


def _table(run: Gathered, view: SweepView, title: str, cells: Sequence[Result], *, is_one_machine: bool) -> SystemTable:
    tables = [table for table in (run.published.metrics if run.published else []) if _is_of_the_system(table)]
    papers = list(dict.fromkeys(column for table in tables for column in _columns_beside(table, cells)))
    groups = [_of_paper(view, table, papers, cells) for table in tables] or [_without_paper(view, cells)]
    if is_one_machine and (rows := _rows(view, LOOPBACK, cells, len(papers))):
        groups.append(Group("Between hosts that are one machine, through its loopback", rows))
    rising = [
        name for name, factor in (view.workload.factors if view.workload else {}).items() if factor.is_concurrency
    ]
    columns = [Column(cell.platform, f"{_load(view, cell, rising)}{cell.n_of_n}") for cell in cells]
    return SystemTable(title, columns, papers, groups)


def _load(view: SweepView, cell: Result, rising: Sequence[str]) -> str:
    """ "16 clients, ": those of the level, or those that were found for a utilisation."""
    if is_at_utilisation(cell):
        used = cell.measurements.get("clients_used")
        return f"{used.median:g} clients, " if used else ""
    return f"{view.words(cell.levels, rising)}, "


def _columns_beside(table: PublishedMetrics, cells: Sequence[Result]) -> list[str]:
    """The paper's columns that are of one of these cells: its load, and its size of data."""
    levels = {column: {**table.levels, **table.column_levels.get(column, {})} for column in table.columns}
    return [column for column in table.columns if any(fits(levels[column], cell) for cell in cells)]


def _is_of_the_system(table: PublishedMetrics) -> bool:
    """Other tables of a paper have no measurement of ours, or none of the hosts."""
    return any(row.measurement in MEASUREMENTS for row in table.rows)


def _of_paper(view: SweepView, table: PublishedMetrics, papers: Sequence[str], cells: Sequence[Result]) -> Group:
    rows = []
    for row in table.rows:
        beside = _columns_beside(table, cells)
        printed = {column: value for column, value in zip(table.columns, row.values, strict=True) if column in beside}
        unit = row.unit or (view.kind(row.measurement).unit if row.measurement else "")
        ours = [cell.measurements.get(str(row.measurement)) for cell in cells]
        shown = [_printed(printed.get(column)) for column in papers]
        rows.append(Row(row.metric, "" if unit == "1" else unit, ours, shown, row.note))
    return Group(f"{table.title} ({table.source})", rows)


def _printed(value: float | str | None) -> str:
    return ABSENT if value is None else exact(value)


def _without_paper(view: SweepView, cells: Sequence[Result]) -> Group:
    return Group(
        "Of the system", _rows(view, (THROUGHPUT, *(name for name in MEASUREMENTS if name not in LOOPBACK)), cells, 0)
    )


def _rows(view: SweepView, names: Sequence[str], cells: Sequence[Result], papers: int) -> list[Row]:
    found = []
    for name in names:
        kind, ours = view.kind(name), [cell.measurements.get(name) for cell in cells]
        if any(ours):
            found.append(Row(kind.title, "" if kind.unit == "1" else kind.unit, ours, [ABSENT] * papers))
    return found


# Tables of a paper that stand by themselves.


@dataclass(frozen=True)
class Printed:
    """``ours``: platforms with a text for each row; none where the table says nothing that was read back.

    ``cell`` is what the paper measured, in words, where no cell of ours is of it.
    """

    title: str
    source: str
    columns: list[str]
    rows: list[tuple[PublishedMetric, list[str]]]
    ours: list[tuple[str, list[str]]]
    cell: str = ""


def printed_tables(run: Gathered, views: Sequence[SweepView]) -> list[Printed]:
    """Of the published file, what is no load profile (software, figures, sentences), or one of no cell of ours."""
    shown = [cell for view in views if view.workload for _, cells in _chosen(view) for cell in cells]
    return [
        Printed(
            table.title,
            table.source,
            table.columns,
            [(row, [_printed(value) for value in row.values]) for row in table.rows],
            _facts_of(run, table) if any(row.fact for row in table.rows) else [],
            _cell(table, views) if _is_of_the_system(table) else "",
        )
        for table in (run.published.metrics if run.published else [])
        if not _is_of_the_system(table) or not _columns_beside(table, shown)
    ]


def _cell(table: PublishedMetrics, views: Sequence[SweepView]) -> str:
    """ "32000 warehouses; order_entry_native: 85 % CPU"."""
    view = next(view for view in views if view.workload and TARGET in view.workload.measurements)
    own = [f"{column}: {view.words(levels, levels)}" for column, levels in table.column_levels.items()]
    return "; ".join(part for part in [view.words(table.levels, table.levels), *own] if part)


def _facts_of(run: Gathered, table: PublishedMetrics) -> list[tuple[str, list[str]]]:
    return [(name, [_fact(run, name, row.fact) for row in table.rows]) for name in run.platforms]


def _fact(run: Gathered, platform: str, name: str | None) -> str:
    """Of the engine, or of the first of the database's hosts."""
    if name == "engine":
        engine = (run.facts.get(platform) or {}).get("engine") or {}
        return str(engine.get("product") or engine.get("version") or ABSENT).split(" (", maxsplit=1)[0]
    side = run.sides.get(platform)
    hosts = [host for host, roles in side.roles.items() if {"coordinator", "segment"} & set(roles)] if side else []
    if side is None or not hosts or hosts[0] not in side.hosts:
        return ABSENT
    said = comparable(side.hosts[hosts[0]])
    parts = [said.get("system"), said.get("kernel")] if name == "system" else [said.get("hypervisor")]
    return ", ".join(part for part in parts if part) or ABSENT
