"""An experiment: the question, as sweeps of factors over workloads, at three scales."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import Field, field_validator, model_validator

from clusterbench.base.errors import suggest
from clusterbench.base.factors import Level
from clusterbench.spec.loading import Strict

SCALES = ("smoke", "laptop", "full")
Scale = Literal["smoke", "laptop", "full"]
EXTENTS = ("whole", "part")
"""Of the weekly run: all of every experiment, or what each declares as its ``part``."""
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
NAME_OR_NONE = r"^([a-z][a-z0-9_]{0,39})?$"
TAG = r"^[A-Za-z0-9][A-Za-z0-9_.:-]*$"
Tag = Annotated[str, Field(pattern=TAG, max_length=64)]
"""A word that a person finds runs by."""
Levels = Annotated[list[Level], Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]


LevelsByEngine = Annotated[dict[Name, Levels], Field(min_length=1)]
"""Where engines differ in what they can do: ``{greenplum: [orca], postgres: [planner]}``."""


class LevelsByScale(Strict):
    """Levels of one factor, or a count, that differ by scale; all three are named so that none is forgotten."""

    smoke: Levels | LevelsByEngine
    laptop: Levels | LevelsByEngine
    full: Levels | LevelsByEngine


class UntilFirm(Strict):
    """Repetitions go on until a result is known well enough, in rounds: no cell is further than another."""

    at_least: Annotated[int, Field(ge=3)] = 5
    at_most: Annotated[int, Field(ge=3, le=100)] = 15
    until_percent: Annotated[float, Field(gt=0, le=50)]
    """Half of the 95 % interval of the median, of the median."""
    measurement: Name | None = None
    """Which result; without it the first that the report draws, or else the workload's first."""

    @model_validator(mode="after")
    def _is_a_range(self) -> UntilFirm:
        if self.at_least > self.at_most:
            raise ValueError(f"at_least {self.at_least} is more than at_most {self.at_most}")
        return self


Repetitions = Count | UntilFirm


class CountByScale(Strict):
    smoke: Repetitions
    laptop: Repetitions
    full: Repetitions


RUNS_MAX = 78
"""A year and a half of weekly runs: what a verdict looks back on."""


class Regression(Strict):
    """When a result counts as having become worse over the weeks. What a sweep does not say is the experiment's."""

    threshold_percent: Annotated[float, Field(gt=0, le=1000)] = 5.0
    runs_min: Annotated[int, Field(ge=6, le=RUNS_MAX)] = 10
    """Valid runs with a number, without which there is no verdict."""
    measurements: list[Name] = []
    """Those that are followed; empty: what the report draws."""


PLATFORM = "platform"
"""In place of a factor, where platforms are compared."""
EXTREMES = ("lowest", "highest")
"""In place of a level, which may be another one at each scale."""


class SweepFinding(Strict):
    """Which comparison of a sweep the first lines of a run's report say. All of it may be left out."""

    compare: str | None = None
    """The factor whose levels are compared, or ``platform``."""
    to: Level | None = None
    """The level that the others are compared with; without it the first one."""
    at: dict[str, Level] = {}
    """Factor -> level at which they are compared, or ``highest`` or ``lowest``. Without it: the highest concurrency and
    the largest data of which all that is compared has a number."""
    measurement: Name | None = None
    """Without it the first that the report draws, or else the workload's first."""
    show: Literal["ratio", "difference"] = "ratio"
    subject: str = ""
    """What is measured, as it stands in a sentence: ``lookups``, ``a report over all orders``."""
    words: dict[str, str] = {}
    """Level -> how it stands in a sentence: ``{cold: from cold caches}``."""


class Sweep(Strict):
    """One or two things varied at a time, as the papers do; every combination of the levels is a cell."""

    title: Annotated[str, Field(min_length=1)]
    workload: Name
    factors: dict[str, Levels | LevelsByScale]
    repetitions: Count | CountByScale | UntilFirm = 3
    timeout_s: Count = 3600
    plots: list[Name] = []
    """Measurements that the report draws; empty: the mean latency, or else the workload's first two."""
    order: Literal["random", "series"] = "random"
    """``series``: a repetition is measured in one go, in rising concurrency, as paper 004 does."""
    give_up_after: Count | None = None
    """So many levels of a series in a row that failed or timed out, and its later ones are not tried."""
    regression: Regression | None = None
    finding: SweepFinding | None = None
    """What the first lines of a run's report say of it."""

    @field_validator("factors", mode="before")
    @classmethod
    def _by_shape(cls, factors: Any) -> Any:
        """Choose list or per-scale here, so that an error speaks of the shape that was meant."""
        if not isinstance(factors, dict):
            raise ValueError(f"must be a mapping of factor to levels, found {factors!r}")
        if not factors:
            raise ValueError("is empty; name at least one factor with its levels")
        shaped = {}
        for factor, levels in factors.items():
            if isinstance(levels, dict):
                _check_scales(f"factor {factor!r}", levels)
            by_scale = levels if isinstance(levels, dict) else {"all scales": levels}
            for scale, listed in by_scale.items():
                by_engine = listed if isinstance(listed, dict) and listed else {"": listed}
                for engine, of_engine in by_engine.items():
                    _check_levels(f"factor {factor!r}, {scale}{f', {engine}' if engine else ''}", of_engine)
            shaped[factor] = LevelsByScale.model_validate(levels) if isinstance(levels, dict) else levels
        return shaped

    @field_validator("repetitions", mode="before")
    @classmethod
    def _counts(cls, repetitions: Any) -> Any:
        """As above: the error of a number must not speak of scales, nor the other way round."""
        is_by_scale = isinstance(repetitions, dict) and "until_percent" not in repetitions
        by_scale = repetitions if is_by_scale else {"all scales": repetitions}
        if is_by_scale:
            _check_scales("repetitions", repetitions)
        shaped: dict[str, Any] = {}
        for scale, count in by_scale.items():
            if isinstance(count, dict):
                shaped[scale] = UntilFirm.model_validate(count)
            elif isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise ValueError(f"{scale}: must be a whole number of at least 1, found {count!r}")
            else:
                shaped[scale] = count
        return CountByScale.model_validate(shaped) if is_by_scale else shaped["all scales"]

    @model_validator(mode="after")
    def _gives_up_series_only(self) -> Sweep:
        if self.give_up_after is not None and self.order != "series":
            raise ValueError("give_up_after: only a series can be given up; write 'order: series', or leave it out")
        return self

    @model_validator(mode="after")
    def _is_firm_in_rounds(self) -> Sweep:
        """A series and trials whose caches are as left go in one go, so that there are no rounds."""
        scales = cast(tuple[Scale, ...], SCALES)
        if any(self.until_at(scale) for scale in scales):
            left = [scale for scale in scales if "cache" in self.factors and "as_left" in self.levels("cache", scale)]
            if self.order == "series" or left:
                why = "order 'series'" if self.order == "series" else f"cache 'as_left' ({', '.join(left)})"
                raise ValueError(
                    f"repetitions: until_percent measures in rounds, and {why} is measured in one go; say a number"
                )
        return self

    def levels(self, factor: str, scale: Scale, engine: str = "") -> list[Level]:
        """Without an ``engine`` those of all: each once, in their order."""
        by_engine = self.by_engine(factor, scale)
        if engine and "" not in by_engine:
            return list(by_engine[engine])
        return list(dict.fromkeys(level for levels in by_engine.values() for level in levels))

    def by_engine(self, factor: str, scale: Scale) -> dict[str, list[Level]]:
        """Engine -> levels; the engine is empty where all have the same."""
        declared = self.factors[factor]
        listed = getattr(declared, scale) if isinstance(declared, LevelsByScale) else declared
        return dict(listed) if isinstance(listed, dict) else {"": listed}

    def repetitions_at(self, scale: Scale) -> int:
        """At most."""
        found = self._repetitions(scale)
        return found if isinstance(found, int) else found.at_most

    def until_at(self, scale: Scale) -> UntilFirm | None:
        found = self._repetitions(scale)
        return found if isinstance(found, UntilFirm) else None

    def _repetitions(self, scale: Scale) -> Repetitions:
        by_scale = self.repetitions
        found: Repetitions = getattr(by_scale, scale) if isinstance(by_scale, CountByScale) else by_scale
        return found


def _check_scales(what: str, by_scale: dict[Any, Any]) -> None:
    if unknown := [scale for scale in by_scale if scale not in SCALES]:
        raise ValueError(f"{what}: unknown scale {unknown[0]!r}{suggest(str(unknown[0]), SCALES)}")
    if missing := [scale for scale in SCALES if scale not in by_scale]:
        raise ValueError(f"{what}: nothing is said for scale {', '.join(missing)}; every scale must be named")


def _check_levels(where: str, levels: Any) -> None:
    if not isinstance(levels, list):
        raise ValueError(f"{where}: levels must be a list, found {levels!r}; write [{levels}]")
    if not levels:
        raise ValueError(f"{where}: the list of levels is empty; name at least one level or leave the factor out")
    for level in levels:
        if not isinstance(level, bool | int | float | str):
            raise ValueError(f"{where}: a level is a number or a word, found {level!r}")
    if len(set(levels)) < len(levels):
        raise ValueError(f"{where}: a level stands twice in {levels}; repetitions are a key of their own")


class Part(Strict):
    """What of an experiment a short weekly run measures. Empty: as for the whole."""

    scale: Scale | None = None
    """The largest: a smaller one that was asked for stays."""
    platforms: list[Name] = []
    sweeps: list[Name] = []
    concurrency: list[Annotated[int, Field(ge=1, le=10_000)]] = []
    repetitions: Annotated[int, Field(ge=0, le=1000)] = 0


class Experiment(Strict):
    """One YAML file in ``dags/experiments``; it becomes one DAG of the same name."""

    experiment: Name
    title: Annotated[str, Field(min_length=1)]
    description: Annotated[str, Field(min_length=1)]
    platforms: Annotated[list[Name], Field(min_length=1)]
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)]
    default_scale: Scale = "laptop"
    published: Name | None = None
    notice: str = ""
    """What must be said of its numbers wherever they are shown, such as that they are no results of a standard's."""
    settings: dict[Name, dict[str, str]] = {}
    """By engine: settings of every session that the drivers open."""
    failures_are_findings: bool = False
    layouts: Literal["random", "declared"] = "random"
    """In which order layouts of machines that a run makes take turns: drawn by its seed, or that of ``platforms``."""
    part: Part | None = None
    regression: Regression = Regression()
    sweeps: dict[Name, Sweep]

    @field_validator("sweeps")
    @classmethod
    def _has_sweeps(cls, sweeps: dict[str, Sweep]) -> dict[str, Sweep]:
        if not sweeps:
            raise ValueError("is empty; name at least one sweep, or there is nothing to measure")
        return sweeps

    def regression_of(self, sweep: str) -> Regression:
        """The experiment's, but for what the sweep says itself. A sweep that is no more has the experiment's."""
        own = self.sweeps[sweep].regression if sweep in self.sweeps else None
        said = own.model_dump(exclude_unset=True) if own else {}
        return self.regression.model_copy(update=said)
