"""Which cells of a sweep the first lines of a report compare: as ``finding`` declares it, or by default. Pure.

By default platforms are compared where there are several; else the levels of the first factor that is neither a load
nor a size and has two to four of them; else the highest concurrency, or the largest data, with the lowest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clusterbench.base.factors import Factor, Level, factor_of
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.statistics import Result
from clusterbench.results.sweep_results import is_number
from clusterbench.spec import SweepFinding
from clusterbench.spec.experiment import EXTREMES, PLATFORM

LEVELS_MAX = 4
"""So many levels of a factor are named in one sentence."""


@dataclass(frozen=True)
class Cells:
    """``base`` is what ``others`` are compared with. Without others it is told alone; ``factor`` is empty then."""

    view: SweepView
    asked: SweepFinding
    measurement: str
    factor: str
    base: Result
    others: tuple[Result, ...] = ()

    def level_of(self, result: Result) -> Level:
        return result.platform if self.factor == PLATFORM else result.levels[self.factor]


def asked_of(view: SweepView) -> SweepFinding:
    """As the experiment said when it ran, or says now: this changes no number."""
    for experiment in (view.run.experiment, view.run.declared_now):
        sweep = experiment.sweeps.get(view.name) if experiment else None
        if sweep and sweep.finding:
            return sweep.finding
    return SweepFinding()


def is_declared(view: SweepView) -> bool:
    return asked_of(view).model_fields_set != set()


def cells_of(view: SweepView, *, with_platforms: bool = True) -> list[Cells]:
    """What the sweep declares, then the default. ``with_platforms``: they are compared though it does not say so."""
    asked = asked_of(view)
    measured = [name for name in view.plotted if name in view.measured] + view.measured
    measurement = asked.measurement or next(iter(measured), "")
    several = len(view.platforms) > 1
    wanted = [PLATFORM] if several and (with_platforms or asked.compare == PLATFORM) else []
    own = default_factor(view) if asked.compare in {None, PLATFORM} else str(asked.compare)
    wanted += [own] if own or not wanted else []
    found = (_cells(view, asked, measurement, factor) for factor in wanted)
    return [cells for cells in found if cells is not None]


def default_factor(view: SweepView) -> str:
    """Empty where nothing was varied."""
    plain = [name for name in view.varied if not _grows(view, name) and 2 <= len(view.levels[name]) <= LEVELS_MAX]
    rising = sorted((name for name in view.varied if _grows(view, name)), key=lambda name: not _is_load(view, name))
    return next(iter(plain + rising), "")


def _cells(view: SweepView, asked: SweepFinding, measurement: str, factor: str) -> Cells | None:
    """Of cells that differ in ``factor`` alone: of which most completed, and of those at the preferred level."""
    groups = _groups(view, factor)
    levels = list(view.platforms) if factor == PLATFORM else list(view.levels.get(factor, [""]))
    base = _first(view, factor, levels)
    if factor == asked.compare and asked.to is not None and asked.to in levels:
        base = asked.to
    with_base = [group for group in groups if measurement in _measured(group, base)]
    if not with_base:
        return None

    def preference(group: Mapping[Level, Result]) -> tuple[float, ...]:
        numbers = [result for result in group.values() if measurement in result.measurements]
        whole = sum(result.completed == result.planned for result in numbers)
        return (-whole, -len(numbers), *_rank(view, asked, factor, group[base]))

    best = min(with_base, key=preference)
    others = [level for level in levels if level != base and measurement in _measured(best, level)]
    if factor != PLATFORM and factor and (_grows(view, factor) or len(others) >= LEVELS_MAX):
        others = others[-1:]
    return Cells(view, asked, measurement, factor, best[base], tuple(best[level] for level in others))


def _first(view: SweepView, factor: str, levels: Sequence[Level]) -> Level:
    """The first one; of platforms by density that to which the paper compares."""
    scenarios = view.run.published.scenarios if view.run.published else None
    if factor == PLATFORM and scenarios:
        of_reference = (name for name in view.platforms if view.run.densities.get(name) == scenarios.reference)
        return next(of_reference, levels[0])
    return levels[0]


def _measured(group: Mapping[Level, Result], level: Level) -> Mapping[str, object]:
    return group[level].measurements if level in group else {}


def _groups(view: SweepView, factor: str) -> list[dict[Level, Result]]:
    """Level of ``factor`` -> cell, for each combination of the other levels; of one platform, unless those differ."""
    found: dict[str, dict[Level, Result]] = {}
    for result in view.results:
        if factor != PLATFORM and result.platform != view.platforms[0]:
            continue
        others = {name: level for name, level in result.levels.items() if name != factor}
        level = result.platform if factor == PLATFORM else result.levels.get(factor, "")
        found.setdefault(repr(sorted(others.items())), {})[level] = result
    return list(found.values())


def _rank(view: SweepView, asked: SweepFinding, factor: str, result: Result) -> list[float]:
    """The lower the better: how near a cell is to where the comparison is asked for."""
    return [
        _distance(view, name, result.levels.get(name), asked.at.get(name)) for name in view.varied if name != factor
    ]


def _distance(view: SweepView, name: str, level: Level | None, wanted: Level | None) -> float:
    levels: Sequence[Level] = view.levels[name]
    if level is None or level not in levels:
        return float(len(levels))
    if wanted is not None and wanted not in EXTREMES and wanted in levels:
        return float(level != wanted)
    ordered = sorted(levels, key=_size) if all(map(is_number, levels)) else list(levels)
    is_last_wanted = wanted == "highest" or (wanted is None and _grows(view, name))
    place = ordered.index(level)
    return float(len(ordered) - 1 - place if is_last_wanted else place)


def _size(level: Level) -> float:
    return float(level)


# Factors.


def factor_in(view: SweepView, name: str) -> Factor | None:
    return factor_of(view.workload.factors if view.workload else {}, name)


def _is_load(view: SweepView, name: str) -> bool:
    factor = factor_in(view, name)
    return bool(factor and factor.is_concurrency)


def _grows(view: SweepView, name: str) -> bool:
    """A load or a size: its highest level is what is asked for."""
    factor = factor_in(view, name)
    return bool(factor and (factor.is_concurrency or factor.is_size)) or (
        len(view.levels[name]) > LEVELS_MAX and all(map(is_number, view.levels[name]))
    )
