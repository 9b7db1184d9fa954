"""What each node of a platform did, and how far they differ: paper 004's "same performance of each cluster node". Pure.

Archives made before have no nodes; then there is no table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from clusterbench.base.records import TrialRecord
from clusterbench.hosts.node_spread import CPU, DISK, TIME, spread, told_by_all
from clusterbench.results.gather import Gathered

SPREADS = {
    "node_time_max_over_min": ("time", TIME),
    "node_cpu_max_over_mean": ("CPU", CPU),
    "node_disk_max_over_mean": ("disks", DISK),
}
WHAT = {TIME: ("time of its streams", "s", 1.0), CPU: ("CPU-seconds", "s", 1.0), DISK: ("through its disks", "MB", 1e6)}
"""Title, unit, and what to divide by."""


@dataclass(frozen=True)
class NodeRow:
    """One figure of one cell over all nodes; of each node the median of its repetitions."""

    cell: str
    short: str
    what: str
    unit: str
    nodes: int
    least: float
    least_node: str
    mean: float
    most: float
    most_node: str
    ratio: float
    """The most over the mean; of times the longest over the shortest."""


@dataclass(frozen=True)
class NodeTable:
    platform: str
    rows: list[NodeRow]


def node_tables(run: Gathered) -> list[NodeTable]:
    """A table for each platform with several nodes, a line for each cell and figure."""
    cells: dict[tuple[str, str], list[TrialRecord]] = {}
    for record in run.trials:
        if record.outcome == "completed" and record.evidence.get("nodes"):
            cells.setdefault((record.trial.platform, record.trial.cell), []).append(record)
    order = {(result.platform, result.cell): place for place, result in enumerate(run.results)}
    rows: dict[str, list[NodeRow]] = {}
    for key in sorted(cells, key=lambda key: order.get(key, len(order))):
        rows.setdefault(key[0], []).extend(_rows(cells[key]))
    return [NodeTable(name, rows[name]) for name in run.platforms if rows.get(name)]


def _rows(records: Sequence[TrialRecord]) -> list[NodeRow]:
    nodes = _medians([record.evidence["nodes"] for record in records])
    ratios = spread(nodes)
    return [
        _row(records[0].trial.cell_label, short, key, nodes, ratios[name])
        for name, (short, key) in SPREADS.items()
        if name in ratios
    ]


def _medians(trials: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """Node -> figure -> median; a figure that one of the trials lacks is left out."""
    found: dict[str, dict[str, float]] = {}
    for node in trials[0]:
        each = [trial.get(node, {}) for trial in trials]
        found[node] = {key: median(did[key] for did in each) for key in each[0] if all(key in did for did in each)}
    return found


def _row(cell: str, short: str, key: str, nodes: Mapping[str, Mapping[str, float]], ratio: float) -> NodeRow:
    title, unit, divisor = WHAT[key]
    values = {node: did[key] / divisor for node, did in nodes.items()}
    least, most = min(values, key=lambda node: values[node]), max(values, key=lambda node: values[node])
    mean = sum(told_by_all(nodes, key)) / len(values) / divisor
    return NodeRow(cell, short, title, unit, len(values), values[least], least, mean, values[most], most, ratio)
