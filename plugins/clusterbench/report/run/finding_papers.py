"""What the paper has for a comparison of ours: a ratio or a difference, and of which cell. Pure.

It stands beside ours also where its cell is another one, if that is said: then its levels are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from clusterbench.base.factors import Level
from clusterbench.report.run.finding_cells import Cells
from clusterbench.results.beside_paper import fits, without_sizes
from clusterbench.results.statistics import Result
from clusterbench.spec import PublishedTable, PublishedValue
from clusterbench.spec.experiment import PLATFORM

NATIVE = re.compile(r"(^|_)native$")
VMS = re.compile(r"(?:^|_)vm(\d*)$|^(\d+) VMs?$")
BOUNDS = ("at_least", "less_than")
"""A ratio of two numbers of which one is a bound is none."""


@dataclass(frozen=True)
class PaperRatio:
    """``levels``: of the paper's cell, where it says them. ``is_about``: it was not printed as a plain number."""

    value: float
    levels: Mapping[str, Level]
    is_about: bool


def papers_ratio(cells: Cells, ours: Result) -> PaperRatio | None:
    """Of ``ours`` to the cell that it is compared with; the first of those that are nearest to it."""
    if cells.view.run.published is None:
        return None
    of_platforms = (*_of_scenarios(cells, ours), *_of_platforms(cells, ours), *_of_tables(cells, ours))
    found = list(of_platforms if cells.factor == PLATFORM else _of_levels(cells, ours))
    return min(found, key=lambda one: (not fits(one.levels, ours), one.is_about), default=None)


def papers_difference(cells: Cells, ours: Result) -> tuple[float, str, bool] | None:
    """(value, unit, is it about) of ``ours`` minus the cell that it is compared with."""
    published = cells.view.run.published
    for one in published.differences if published else ():
        if (one.sweep, one.measurement, one.factor) == (cells.view.name, cells.measurement, cells.factor) and fits(
            without_sizes(one.levels), ours
        ):
            pair = cells.level_of(ours), cells.level_of(cells.base)
            if pair in {(one.of, one.minus), (one.minus, one.of)}:
                value = float(one.value) if pair == (one.of, one.minus) else -float(one.value)
                return value, one.unit, one.qualifier != "exactly"
    return None


def _of_levels(cells: Cells, ours: Result) -> Iterator[PaperRatio]:
    """Two numbers of the paper's at the same levels but for the factor that is compared."""
    over, under = (list(_values_at(cells, cells.level_of(result))) for result in (ours, cells.base))
    for one in over:
        for other in under:
            rest, rest_of_other = (
                {name: level for name, level in value.levels.items() if name != cells.factor} for value in (one, other)
            )
            if rest == rest_of_other and other.value:
                is_about = any(value.qualifier != "exactly" for value in (one, other))
                yield PaperRatio(float(one.value) / float(other.value), rest, is_about)


def _values_at(cells: Cells, level: Level) -> Iterable[PublishedValue]:
    published = cells.view.run.published
    return (
        value
        for value in (published.values if published else ())
        if (value.sweep, value.measurement) == (cells.view.name, cells.measurement)
        and value.platform is None
        and value.levels.get(cells.factor) == level
        and value.qualifier not in BOUNDS
    )


# Platforms: by their names, or by how many virtual machines share a physical server.


def _of_platforms(cells: Cells, ours: Result) -> Iterator[PaperRatio]:
    published = cells.view.run.published
    for value in published.values if published else ():
        is_of_it = (value.sweep, value.measurement) == (cells.view.name, cells.measurement) and value.ratio_to
        if is_of_it and value.qualifier not in BOUNDS and _is_kind(cells, ours, value.platform, value.ratio_to):
            yield PaperRatio(float(value.value), value.levels, value.qualifier != "exactly")


def _is_kind(cells: Cells, ours: Result, platform: str | None, ratio_to: str | None) -> bool:
    pair = ours.platform, cells.base.platform
    vms = tuple(cells.view.run.vms.get(name) for name in pair)
    return pair == (platform, ratio_to) or (None not in vms and vms == (vms_of(platform), vms_of(ratio_to)))


def vms_of(name: str | None) -> int | None:
    """How many virtual machines share a server, by the paper's name of a platform: native, vm2, hadoop_vm4, "4 VMs"."""
    if name is None or NATIVE.search(name):
        return None if name is None else 0
    found = VMS.search(name)
    return int(found[1] or found[2] or 1) if found else None


def _of_tables(cells: Cells, ours: Result) -> Iterator[PaperRatio]:
    published, vms = cells.view.run.published, cells.view.run.vms
    for table in published.tables if published else ():
        if cells.view.name in table.sweeps and cells.measurement in table.columns and _fits(table, ours):
            rows = {vms_of(row): values for row, values in table.rows.items() if row not in table.row_levels}
            over, under = rows.get(vms.get(ours.platform, -1)), rows.get(vms.get(cells.base.platform, -1))
            if over and under and under[table.columns.index(cells.measurement)]:
                place = table.columns.index(cells.measurement)
                yield PaperRatio(over[place] / under[place], table.levels, is_about=False)


def _fits(table: PublishedTable, ours: Result) -> bool:
    return fits(without_sizes(table.levels), ours)


def _of_scenarios(cells: Cells, ours: Result) -> Iterator[PaperRatio]:
    """Of platforms by the density that they declare: the paper's change of the time at the same concurrency."""
    run = cells.view.run
    table = run.published.scenarios if run.published else None
    level = ours.levels.get(table.factor) if table else None
    if table is None or level not in table.sweeps.get(cells.view.name, {}):
        return
    if cells.measurement == table.measurement and run.densities.get(cells.base.platform) == table.reference:
        found = table.cell(cells.view.name, int(level or 0), run.densities.get(ours.platform, ""))
        if found and found.change_percent is not None:
            yield PaperRatio(1 + found.change_percent / 100, {table.factor: level or 0}, is_about=False)
