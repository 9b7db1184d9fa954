"""What each host drove of a load that several drove: of every cell its completed trial in the middle, by host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from clusterbench.results.gather import Gathered


@dataclass(frozen=True)
class DrivenRow:
    """Medians over the cell's completed trials."""

    platform: str
    cell: str
    host: str
    clients: int
    ended_per_s: float
    cpu_share: float | None
    """Of its threads' processor time; None where nobody could tell."""
    clock_ahead_ms: float
    """The furthest that its clock was off the client host's."""


def drivers(run: Gathered) -> list[DrivenRow]:
    """Empty where one host drove all."""
    by_cell: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in run.trials:
        if record.outcome == "completed" and (told := record.evidence.get("drivers")):
            by_cell.setdefault((record.trial.platform, record.trial.cell_label), []).append(told)
    return [row for (platform, cell), told in by_cell.items() for row in _rows(platform, cell, told)]


def _rows(platform: str, cell: str, told: list[dict[str, Any]]) -> Iterator[DrivenRow]:
    for host in told[0]:
        of_host = [one[host] for one in told if host in one]
        shares = [one["driver_cpu_share"] for one in of_host if one.get("driver_cpu_share") is not None]
        yield DrivenRow(
            platform,
            cell,
            host,
            int(of_host[0]["clients"]),
            median(float(one.get("ended_per_s", 0.0)) for one in of_host),
            median(shares) if shares else None,
            1000 * max((float(one["clock_ahead_s"]) for one in of_host), key=abs),
        )
