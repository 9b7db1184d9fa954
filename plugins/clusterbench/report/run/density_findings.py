"""What VM density comes to: the last table of paper 004, ours and the paper's, a column for each scenario. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusterbench.base.words import ABSENT, change, number, plural, quantity
from clusterbench.report.run.density import REFERENCE, Column, DensityCell, DensityTable, Line
from clusterbench.report.run.nodes import NodeTable, node_tables
from clusterbench.results.gather import Gathered
from clusterbench.spec.scenarios import Scenario


@dataclass(frozen=True)
class Finding:
    """A line: (ours, the paper's) for each column."""

    what: str
    cells: list[tuple[str, str]]


def findings(run: Gathered, table: DensityTable) -> list[Finding]:
    """Placement, slowdown, collapse, warnings and steal of each scenario."""
    nodes = {one.platform: one for one in node_tables(run)}
    found: dict[str, list[tuple[str, str]]] = {}
    for place, column in enumerate(table.columns):
        lines = [line for _, lines in table.groups for line in lines if not line.is_paper]
        ours = _ours(
            run, column, [(line, line.cells[place]) for line in lines], table.medians[0][2][place], table, nodes
        )
        paper = _papers(column.paper, table.paper.factor) if column.paper else {}
        for what, said in ours.items():
            found.setdefault(what, []).append((said if column.platform else ABSENT, paper.get(what, ABSENT)))
    return [Finding(what, cells) for what, cells in found.items()]


def _ours(  # noqa: PLR0917  private, and each argument is a part of the table
    run: Gathered,
    column: Column,
    cells: list[tuple[Line, DensityCell]],
    median_change: str,
    table: DensityTable,
    nodes: Mapping[str, NodeTable],
) -> dict[str, str]:
    failed = [f"{line.label} of {line.sweep}" for line, cell in cells if cell.has_failed]
    return {
        "virtual machines": _placement((run.facts.get(column.platform) or {}).get("placement") or {}),
        "median change of the time": median_change,
        "did not complete": ", ".join(failed) or "none",
        "network warnings from": _warned(cells),
        "highest steal (CPU time taken by other VMs)": _steal(run, column, table),
        "nodes that differ most": _nodes(nodes, column),
    }


def _papers(scenario: Scenario, factor: str) -> dict[str, str]:
    slower = scenario.median_change_percent
    return {
        "virtual machines": scenario.placement,
        "median change of the time": REFERENCE if slower is None else change(1 + slower / 100),
        "did not complete": "yes" if scenario.collapsed else "none",
        "network warnings from": f"{scenario.warnings_from} {factor}" if scenario.warnings_from else "none",
        "highest steal (CPU time taken by other VMs)": scenario.steal,
        "nodes that differ most": scenario.nodes or ABSENT,
    }


def _placement(placement: Mapping[str, Any]) -> str:
    if not placement:
        return ABSENT
    machine, vms, each = placement["machine"], placement["vms_per_machine"], placement["host"]["cpus"]
    cores = machine["sockets"] * machine["cores_per_socket"]
    return (
        f"{plural(vms, 'VM')} per physical server: {plural(vms * each, 'vCPU')}, {plural(cores, 'core')}, "
        f"{plural(cores * machine['threads_per_core'], 'thread')}"
    )


def _warned(cells: list[tuple[Line, DensityCell]]) -> str:
    """The lowest concurrency with warnings; a dash where the engine counts none."""
    counted = [(line, cell) for line, cell in cells if cell.warnings != ABSENT]
    warned = [line for line, cell in counted if cell.warnings != "0"]
    if not warned:
        return "none" if counted else ABSENT
    first = min(warned, key=lambda line: int(line.level))
    return f"{first.label} of {first.sweep}"


def _steal(run: Gathered, column: Column, table: DensityTable) -> str:
    """Of the points of the courses over time, each a mean of a second or of a few."""
    points = [
        value
        for record in run.trials
        if record.trial.platform == column.platform and record.trial.sweep in table.sweeps
        for seen in record.telemetry.values()
        for value in (seen.get("course") or {}).get("cpu_steal_percent", ())
    ]
    return quantity(round(max(points), 1), "%") if points else ABSENT


def _nodes(nodes: Mapping[str, NodeTable], column: Column) -> str:
    """Of each figure the cell in which nodes differ most."""
    found: dict[str, float] = {}
    for row in nodes[column.platform].rows if column.platform in nodes else ():
        found[row.short] = max(found.get(row.short, 0.0), row.ratio)
    return ", ".join(f"{short} {number(value)}" for short, value in found.items()) or ABSENT
