"""How fast a platform's hosts are by themselves: those that are slow first, and all of them over time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from clusterbench.airflow.ui.page_request import NotShown, PageRequest
from clusterbench.base.errors import ClusterbenchError
from clusterbench.base.measurements import MeasurementKind
from clusterbench.history import host_speeds, read
from clusterbench.history.database import Database
from clusterbench.history.host_speeds import Measured
from clusterbench.history.model import Point
from clusterbench.hosts.speed_kinds import KINDS
from clusterbench.report.time_series import Figure, history_figure, line_figure
from clusterbench.results import stragglers
from clusterbench.results.stragglers import Straggler
from clusterbench.spec.catalog import project_catalog
from clusterbench.spec.platform import HostSpeed

TIMES_MAX = 104
"""Measurements: two years of weekly ones."""
HOSTS_MAX = 64
"""Hosts in the table: those that are slow, then the others as they are named."""
SPARK = 30


@dataclass(frozen=True)
class Cell:
    """A host's newest value, how far it is from the median of all, and its last ones."""

    value: float | None
    off_percent: float | None
    is_slow: bool
    figure: Figure | None


@dataclass(frozen=True)
class HostLine:
    host: str
    roles: str
    cells: list[Cell]


@dataclass(frozen=True)
class Hosts:
    """``figures``: of each kind the median of all hosts over time, from the slowest to the fastest."""

    platform: str
    kinds: list[MeasurementKind]
    newest: Measured
    slow: list[Straggler]
    figures: list[tuple[MeasurementKind, Figure]]
    times: int
    lines: list[HostLine]
    more: int


def gather(db: Database, visit: PageRequest, platform: str) -> Hosts:
    """Raises NotShown where the visitor may read no experiment of the platform, or its hosts were never measured."""
    experiments = {run.experiment for run in read.latest(db) if platform in run.platforms}
    if experiments and not visit.readable(experiments):
        raise NotShown(
            403,
            "Not for you",
            f"Your login may read no DAG in Airflow whose experiment ran on {platform!r}, and so not its hosts either. "
            "Who administers Airflow can give you that right.",
        )
    known = host_speeds.read(db, platform, TIMES_MAX) if experiments else []
    if not known:
        raise NotShown(
            404,
            "No hosts were measured",
            f"How fast each host of {platform!r} is by itself was never measured, or not loaded yet. 'host_speed' "
            "in the platform's file has set-up do it; 'clusterbench hosts' with --measure does it now.",
        )
    newest, before = known[-1], [one.hosts for one in known[:-1]]
    slow = stragglers.find(newest.hosts, newest.roles, before, _slower_percent(platform))
    names = [name for name in KINDS if any(name in of for of in newest.hosts.values())]
    worst = list(dict.fromkeys(one.host for one in slow))
    order = [*worst, *(host for host in sorted(newest.hosts, key=_in_order) if host not in worst)]
    figures = [(KINDS[name], figure) for name in names if (figure := _of_all(known, name))]
    lines = [_line(host, names, known, slow) for host in order[:HOSTS_MAX]]
    kinds = [KINDS[name] for name in names]
    return Hosts(platform, kinds, newest, slow, figures, len(known), lines, len(order[HOSTS_MAX:]))


def _in_order(host: str) -> list[tuple[int, str]]:
    """Numbers in a name by their value: host2 before host10."""
    return [(int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", host)]


def _slower_percent(platform: str) -> float:
    """As its file says today; as usual where it is gone, or cannot be read."""
    try:
        declared = project_catalog().platform(platform).host_speed
    except ClusterbenchError:
        declared = None
    return (declared or HostSpeed()).slower_percent


def _of_all(known: Sequence[Measured], name: str) -> Figure | None:
    points = []
    for one in known:
        values = [of[name] for of in one.hosts.values() if name in of]
        if values:
            points.append(_point(one.at, one.run_id, median(values), (min(values), max(values)), len(values)))
    return history_figure(points, KINDS[name].unit) if points else None


def _line(host: str, names: Sequence[str], known: Sequence[Measured], slow: Sequence[Straggler]) -> HostLine:
    newest = known[-1]
    cells = []
    for name in names:
        value = newest.hosts[host].get(name)
        usual = median(of[name] for of in newest.hosts.values() if name in of)
        off = 100 * (value / usual - 1) if value is not None and usual else None
        is_slow = any((one.host, one.what) == (host, name) for one in slow)
        had = [_point(one.at, one.run_id, one.hosts.get(host, {}).get(name)) for one in known[-SPARK:]]
        cells.append(Cell(value, off, is_slow, line_figure(had)))
    return HostLine(host, ", ".join(newest.roles.get(host, ())), cells)


def _point(
    at: datetime, run_id: str, value: float | None, spread: tuple[float, float] | None = None, n: int = 1
) -> Point:
    return Point(f"{run_id}@{at:%Y%m%dT%H%M%SZ}", at, True, n, n, value, spread, "")
