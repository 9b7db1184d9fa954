"""The results of one sweep, in the order of its declared levels. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Self

from clusterbench.base.datasets import BY_STORAGE
from clusterbench.base.factors import Level, factor_of
from clusterbench.base.measurements import MeasurementKind
from clusterbench.results.durability import is_off, say_level
from clusterbench.results.gather import Gathered, workload_or_none
from clusterbench.results.statistics import Result
from clusterbench.spec.experiment import Scale
from clusterbench.trial.rehearsal import divisor
from clusterbench.workloads import Workload


class SweepResults:
    """One sweep with its results in the order of its declared levels."""

    def __init__(self, run: Gathered, name: str, found: Sequence[Result], workload_name: str) -> None:
        self.run, self.name = run, name
        self.workload: Workload | None = workload_or_none(workload_name)
        self.sweep = run.sweep(name)
        self.title = self.sweep.title if self.sweep else name.replace("_", " ")
        occurring = dict.fromkeys(result.platform for result in found)
        self.platforms = sorted(occurring, key=lambda name: _place(name, run.platforms))
        self.levels = self._levels(found)
        self.varied = [name for name, levels in self.levels.items() if len(levels) > 1 or self._trades(name)]
        self.results = sorted(found, key=self._order)

    @classmethod
    def of_run(cls, run: Gathered) -> list[Self]:
        """Every sweep that was planned, in the order of the experiment's file."""
        workloads: dict[str, str] = {}
        for record in run.trials:
            workloads[record.trial.sweep] = record.trial.workload
        for trials in run.plan.trials.values() if run.plan else []:
            workloads.update({trial.sweep: trial.workload for trial in trials})
        declared = list(run.experiment.sweeps) if run.experiment else []
        found = list(dict.fromkeys(result.sweep for result in run.results))
        names = [name for name in declared if name in found] + [name for name in found if name not in declared]
        return [cls(run, n, [r for r in run.results if r.sweep == n], workloads.get(n, "")) for n in names]

    def _levels(self, found: Sequence[Result]) -> dict[str, list[Level]]:
        """Levels that occur, by factor; factors and levels in the order in which they were declared."""
        declared = {name: self._declared(name) for name in (self.sweep.factors if self.sweep else {})}
        names = [*declared, *sorted({name for result in found for name in result.levels} - set(declared))]
        levels = {}
        for name in names:
            occurring = list(dict.fromkeys(result.levels[name] for result in found if name in result.levels))
            first = [level for level in declared.get(name, []) if level in occurring]
            levels[name] = first + [level for level in occurring if level not in first]
        return levels

    def _trades(self, name: str) -> bool:
        """A factor whose one level trades durability away names cells and lines as if it were varied."""
        factor = factor_of(self.workload.factors if self.workload else {}, name)
        return factor is not None and any(is_off(factor.setting, level) for level in self.levels[name])

    @property
    def names_platforms(self) -> bool:
        """Whether tables and figures say which platform a number is of: one that is not durable is always named."""
        return len(self.platforms) > 1 or bool(self.run.durability.platforms)

    def _declared(self, factor: str) -> list[Level]:
        choices = self.run.opened.get("choices") or {}
        scale: Scale = choices.get("scale") or "laptop"
        declared = self.sweep.levels(factor, scale) if self.sweep else []
        kind = self.workload.factors.get(factor) if self.workload else None
        return [kind.divided(level, divisor(choices)) for level in declared] if kind else declared

    @cached_property
    def x_factor(self) -> str | None:
        """The varied numeric factor with most levels; of equals, that of the dataset's size or of concurrency."""
        numeric = [name for name in self.varied if all(is_number(level) for level in self.levels[name])]
        return max(numeric, key=lambda name: (len(self.levels[name]), self._is_axis(name)), default=None)

    def _is_axis(self, name: str) -> bool:
        factor = self.workload.factors.get(name) if self.workload else None
        return bool(factor and (factor.is_dataset or factor.is_concurrency))

    @property
    def line_factors(self) -> list[str]:
        return [name for name in self.varied if name != self.x_factor]

    def _order(self, result: Result) -> tuple[int, ...]:
        """Line by line of the figure, then along x."""
        names = [*self.line_factors, *([self.x_factor] if self.x_factor else [])]
        places = [self.levels[name].index(result.levels[name]) for name in names if name in result.levels]
        return (*places, self.platforms.index(result.platform))

    @property
    def constant(self) -> str:
        """What all cells share, in words; settings that nobody chose are left out, and what 0 turns off."""
        factors = self.workload.factors if self.workload else {}
        as_set = {name: f.default for name, f in factors.items() if f.setting or f.default in (0, BY_STORAGE)}
        shared = [
            name
            for name, levels in self.levels.items()
            if len(levels) == 1 and levels[0] is not None and levels[0] != as_set.get(name)
        ]
        return ", ".join(say_level(self.workload, name, self.levels[name][0], named=True) for name in shared)

    @property
    def n_of_n(self) -> str:
        completed, planned = sum(r.completed for r in self.results), sum(r.planned for r in self.results)
        return f"{completed} of {planned} trials completed"

    def kind(self, measurement: str) -> MeasurementKind:
        if self.workload and measurement in self.workload.measurements:
            return self.workload.measurements[measurement]
        units = [r.measurements[measurement].unit for r in self.results if measurement in r.measurements]
        return MeasurementKind(units[0] if units else "1", measurement.replace("_", " "), "neither")

    @property
    def measured(self) -> list[str]:
        """Every measurement that any cell has, in the workload's order."""
        found = {name for result in self.results for name in result.measurements}
        known = [name for name in (self.workload.measurements if self.workload else {}) if name in found]
        return known + sorted(found - set(known))

    @property
    def plotted(self) -> list[str]:
        known = list(self.workload.measurements) if self.workload else self.measured
        declared = [name for name in self.run.plots(self.name) if name in known]
        measured = [name for name in declared if name in self.measured]  # an engine may not have one of them
        return measured or declared or (["latency_ms_mean"] if "latency_ms_mean" in known else known[:2])

    def words(self, levels: Mapping[str, Level], names: Iterable[str]) -> str:
        return ", ".join(say_level(self.workload, name, levels[name]) for name in names if name in levels)


def _place(name: str, order: Sequence[str]) -> tuple[int, str]:
    return (order.index(name) if name in order else len(order), name)


def is_number(level: Level) -> bool:
    return isinstance(level, int) and not isinstance(level, bool)
