"""An experiment: the question, as sweeps of factors over workloads, at three scales."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import Field, field_validator, model_validator

from clusterbench.base.errors import suggest
from clusterbench.base.factors import Level
from clusterbench.spec.deprecated import in_todays_words
from clusterbench.spec.loading import Strict

SCALES = ("smoke", "laptop", "full")
Scale = Literal["smoke", "laptop", "full"]
EXTENTS = ("whole", "part")
"""Of the weekly run: all of every experiment, or what each declares as its ``part``."""
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="a name")]
NAME_OR_NONE = r"^([a-z][a-z0-9_]{0,39})?$"
TAG = r"^[A-Za-z0-9][A-Za-z0-9_.:-]*$"
Tag = Annotated[str, Field(pattern=TAG, max_length=64)]
"""A word that a person finds runs by."""
Levels = Annotated[list[Level], Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]


LevelsByEngine = Annotated[
    dict[Name, Levels], Field(min_length=1, description="a mapping from an engine to a list of levels")
]
"""Where engines differ in what they can do: ``{greenplum: [orca], postgres: [planner]}``."""


class LevelsByScale(Strict):
    """Levels of one factor, or a count, that differ by scale; all three are named so that none is forgotten."""

    smoke: Levels | LevelsByEngine
    """The levels at scale `smoke`."""
    laptop: Levels | LevelsByEngine
    """The levels at scale `laptop`."""
    full: Levels | LevelsByEngine
    """The levels at scale `full`."""


class UntilFirm(Strict):
    """Repetitions go on until a result is known well enough, in rounds: no cell is further than another."""

    at_least: Annotated[int, Field(ge=3)] = 5
    """Every cell has at least this many repetitions."""
    at_most: Annotated[int, Field(ge=3, le=100)] = 15
    """A cell ends after this many repetitions in any case."""
    until_percent: Annotated[float, Field(gt=0, le=50)]
    """Repetitions go on until half of the 95 % interval of the median is at most this percentage of the median."""
    measurement: Name | None = None
    """The measurement that must become firm. Without it, this is the first of `plots`, or else the workload's first."""

    @model_validator(mode="after")
    def _is_a_range(self) -> UntilFirm:
        if self.at_least > self.at_most:
            raise ValueError(f"at_least {self.at_least} is more than at_most {self.at_most}")
        return self


Repetitions = Count | UntilFirm


class CountByScale(Strict):
    smoke: Repetitions
    """The repetitions at scale `smoke`."""
    laptop: Repetitions
    """The repetitions at scale `laptop`."""
    full: Repetitions
    """The repetitions at scale `full`."""


RUNS_MAX = 78
"""A year and a half of weekly runs: what a verdict looks back on."""


class Regression(Strict):
    """When a result counts as having become worse over the weeks. What a sweep does not say is the experiment's."""

    threshold_percent: Annotated[float, Field(gt=0, le=1000)] = 5.0
    """A change is reported unless its whole 95 % interval lies below this percentage."""
    runs_min: Annotated[int, Field(ge=6, le=RUNS_MAX)] = 10
    """A result has no verdict before it has this many valid runs with a number."""
    measurements: list[Name] = []
    """The measurements that are followed. Without it, these are the ones that the report draws."""


PLATFORM = "platform"
"""In place of a factor, where platforms are compared."""
EXTREMES = ("lowest", "highest")
"""In place of a level, which may be another one at each scale."""


class SweepFinding(Strict):
    """Which comparison of a sweep the first lines of a run's report say. All of it may be left out."""

    compare: str | None = None
    """The factor whose levels are compared, or `platform` if platforms are compared. Without it, the report chooses."""
    to: Level | None = None
    """The level that the others are compared with. Without it, this is the first one."""
    at: dict[str, Level] = {}
    """The levels at which they are compared: see docs/reference.md#what-the-first-lines-of-a-report-say."""
    measurement: Name | None = None
    """What is compared. Without it, this is the first measurement that the report draws, or else the workload's
    first."""
    show: Literal["ratio", "difference"] = "ratio"
    """`ratio`: 3.4 times. `difference`: 62 ms more."""
    subject: str = ""
    """What is measured, as it stands in a sentence, such as `lookups`."""
    words: dict[str, str] = {}
    """How a level stands in a sentence, such as `{cold: from cold caches}`."""


class Sweep(Strict):
    """One or two things varied at a time, as the papers do; every combination of the levels is a cell."""

    title: Annotated[str, Field(min_length=1)]
    """The question that the sweep answers. The report prints it."""
    workload: Name
    """What is measured: a built-in workload, or a folder of your own (docs/workload.md)."""
    factors: Annotated[
        dict[str, Levels | LevelsByScale], Field(description="a mapping from a factor to its docs/reference.md#levels")
    ]
    """What varies. Every combination of the levels is one cell."""
    repetitions: Count | CountByScale | UntilFirm = 3
    """How often each cell is measured. Fewer than 3 give no interval."""
    timeout_s: Count = 3600
    """The seconds after which the driver is ended. The trial has then timed out."""
    plots: list[Name] = []
    """The measurements that get a figure in the report. Without it: the mean latency, or else the workload's
    first two."""
    order: Literal["random", "ramp"] = "random"
    """In which order trials are measured: see docs/reference.md#order-of-trials."""
    give_up_after: Count | None = None
    """After this many failed or timed-out levels in a row, the rest of that ramp is not measured. Only with
    `order: ramp`."""
    regression: Regression | None = None
    """Replaces keys of the experiment's `regression` for this sweep. Keys that you leave out are the experiment's."""
    finding: SweepFinding | None = None
    """Which comparison the first lines of a run's report print. Without it, the report chooses."""

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

    @field_validator("order", mode="before")
    @classmethod
    def _order_in_todays_words(cls, order: Any) -> Any:
        return in_todays_words("experiment", "order", order)

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
    def _gives_up_ramps_only(self) -> Sweep:
        if self.give_up_after is not None and self.order != "ramp":
            raise ValueError("give_up_after: only a ramp can be given up; write 'order: ramp', or leave it out")
        return self

    @model_validator(mode="after")
    def _is_firm_in_rounds(self) -> Sweep:
        """A ramp and trials whose caches are as left go in one go, so that there are no rounds."""
        scales = cast(tuple[Scale, ...], SCALES)
        if any(self.until_at(scale) for scale in scales):
            left = [scale for scale in scales if "cache" in self.factors and "as_left" in self.levels("cache", scale)]
            if self.order == "ramp" or left:
                why = "order 'ramp'" if self.order == "ramp" else f"cache 'as_left' ({', '.join(left)})"
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
        raise ValueError(f"{what}: no levels are given for scale {', '.join(missing)}; every scale must be named")


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
    """The largest scale of the part. If the weekly run asks for a smaller one, the part is measured at that one."""
    platforms: list[Name] = []
    """The platforms that the part measures. Without it, these are the experiment's. See
    docs/reference.md#what-a-part-measures."""
    sweeps: list[Name] = []
    """The sweeps that the part measures. Without it, it measures all of them."""
    concurrency: list[Annotated[int, Field(ge=1, le=10_000)]] = []
    """The levels of concurrency that the part measures. Without it, it measures all of them."""
    repetitions: Annotated[int, Field(ge=0, le=1000)] = 0
    """How often each cell is measured. 0 means as often as the sweep declares."""


class Experiment(Strict):
    """One YAML file in ``dags/experiments``; it becomes one DAG of the same name."""

    experiment: Name
    """The experiment's name. Its file and its DAG have the same name."""
    title: Annotated[str, Field(min_length=1)]
    """A short title for Airflow and the report."""
    description: Annotated[str, Field(min_length=1)]
    """What the experiment is about, for Airflow and the report."""
    platforms: Annotated[list[Name], Field(min_length=1)]
    """The platforms that the form preselects. In the form you can choose every platform of the same engines."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)]
    """Fixes the data, the keys that are drawn, and the order of trials."""
    default_scale: Scale = "laptop"
    """The scale that the form preselects."""
    published: Name | None = None
    """The file in `include/published` whose numbers stand beside ours."""
    notice: str = ""
    """A sentence at the head of every report, for example that the numbers are no official results of a standard."""
    settings: Annotated[
        dict[Name, dict[str, str]], Field(description="a mapping from an engine to settings and their values")
    ] = {}
    """Settings of every session that a driver opens."""
    failures_are_findings: bool = False
    """`true`: failed and timed-out trials leave a run valid. For experiments that look for the point of collapse."""
    layouts: Literal["random", "declared"] = "random"
    """For docs/machines.md: the order in which layouts take turns. `random`: drawn by the seed. `declared`: that of
    `platforms`."""
    platforms_in_turns: list[Name] = []
    """Two or more of `platforms` that are up at the same time. Their trials alternate: see
    docs/reference.md#platforms-in-turns. Without it, platforms are measured one after the other."""
    part: Part | None = None
    """What a weekly run of extent `part` measures. Without it, nothing of this experiment is in such a run."""
    regression: Regression = Regression()
    """When a result counts as having become worse over the weeks."""
    sweeps: dict[Name, Sweep]
    """The sweeps by name. Each becomes a section of the report."""

    @field_validator("sweeps")
    @classmethod
    def _has_sweeps(cls, sweeps: dict[str, Sweep]) -> dict[str, Sweep]:
        if not sweeps:
            raise ValueError("is empty; name at least one sweep, or there is nothing to measure")
        return sweeps

    @model_validator(mode="after")
    def _turns_are_of_several(self) -> Experiment:
        named = self.platforms_in_turns
        if len(named) == 1:
            raise ValueError(
                f"platforms_in_turns: names {named[0]!r} alone, and it takes two to take turns; name another one of "
                "'platforms', or leave the key out"
            )
        if twice := [name for name in named if named.count(name) > 1]:
            raise ValueError(f"platforms_in_turns: {twice[0]!r} stands twice; name it once")
        if unknown := [name for name in named if name not in self.platforms]:
            raise ValueError(
                f"platforms_in_turns: {unknown[0]!r} is none of 'platforms'{suggest(unknown[0], self.platforms)}"
            )
        return self

    def regression_of(self, sweep: str) -> Regression:
        """The experiment's, but for what the sweep says itself. A sweep that is no more has the experiment's."""
        own = self.sweeps[sweep].regression if sweep in self.sweeps else None
        said = own.model_dump(exclude_unset=True) if own else {}
        return self.regression.model_copy(update=said)
