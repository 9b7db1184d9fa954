"""Experiment x platforms x choices -> trials, in a random order that the seed fixes. Pure: touches no host."""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

import yaml
from pydantic import Field, ValidationError

from clusterbench.base.datasets import Dataset
from clusterbench.base.errors import SpecError, suggest
from clusterbench.base.factors import SERVER, SERVER_LEVEL, Factor, Level, factor_of
from clusterbench.base.records import Trial, Until
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.concurrency import concurrency_levels
from clusterbench.spec.experiment import Experiment, Name, Scale, Sweep, Tag
from clusterbench.spec.loading import Strict, say
from clusterbench.spec.platform import Platform
from clusterbench.trial import lead_ins, profiles, ramp, rehearsal, server_settings, warmth
from clusterbench.trial.rehearsal import REHEARSE_MAX
from clusterbench.trial.turns import Turn, in_turns
from clusterbench.workloads import load_workload, why_not

ServerFactor = Annotated[str, Field(pattern=r"^server\.[a-z][a-z0-9_.]*$")]
ServerLevel = Annotated[str, Field(pattern=f"^{SERVER_LEVEL.pattern}$")]


class Choices(Strict):
    """What a person chose in the form, on the command line or over the API; empty means: as the YAML says."""

    scale: Scale
    platforms: Annotated[list[Name], Field(min_length=1)]
    sweeps: list[Name] = []
    concurrency: list[Annotated[int, Field(ge=1, le=10_000)]] = []
    repetitions: Annotated[int, Field(ge=0, le=1000)] = 0
    rehearse: Annotated[int, Field(ge=1, le=REHEARSE_MAX)] = 1
    """By what every size of full scale is divided; 1: no rehearsal."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)]
    cells: list[str] = []
    """Only these, of all sweeps, as results.json calls them; empty for all."""
    in_turns: dict[ServerFactor, Annotated[list[ServerLevel], Field(min_length=2)]] = {}
    """Settings of the servers (``server.shared_buffers``) whose values are measured in turns, in every cell."""
    levels: list[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.]*=.+$")]] = []
    """``factor=level``: held at that in every sweep whose workload has the factor, whatever the sweep says of it."""
    generate_only: bool = False
    """Whether the run ends when its data is made and checked, and measures nothing."""
    profile: bool = False
    """Whether each cell is measured once more, with its processors sampled; no result is made of that."""
    confirms: str = ""
    """The weekly run whose verdicts this run is to confirm; empty for any other run."""
    note: Annotated[str, Field(max_length=2000)] = ""
    """A person's words on why this run is made; like the tags it changes nothing that is measured."""
    tags: list[Tag] = []


TRIAL_TASKS_MAX = 500
"""Tasks of Airflow for the trials of a platform, or of all that are measured in turns. Airflow's scheduler reads every
task of a run again at each turn of its loop: 2,007 of them took 0.3 of a processor beside each trial. Its own limit,
``max_map_length``, is 1024 unless configured."""


@dataclass(frozen=True)
class Plan:
    """All trials of a run, by platform, in the order in which they will run."""

    experiment: str
    choices: Choices
    trials: dict[str, list[Trial]]
    order: list[str] = field(default_factory=list)
    """Platforms as they are taken. Those in turns come first. Layouts of machines that are made come last, in random
    order unless declared."""
    turns: list[Turn] = field(default_factory=list)
    """The trials of platforms that are measured in turns, in the order of all of them."""
    trial_tasks_max: int = 0
    """``TRIAL_TASKS_MAX`` when the plan was made; 0: each trial had a task of its own."""

    @property
    def in_turns(self) -> list[str]:
        """Platforms that are measured in turns, in the order in which they are taken."""
        found = {platform for platform, _ in self.turns}
        return [name for name in self.order if name in found]

    def together_with(self, platform: str) -> list[str]:
        """All that are measured in turns with it, in the order in which they are taken; itself where there are none."""
        return self.in_turns if platform in self.in_turns else [platform]

    def before(self, platform: str) -> list[str]:
        """Platforms whose turn is earlier."""
        order = self.order or list(self.trials)
        return order[: order.index(platform)] if platform in order else []

    def datasets(self, platform: str, unavailable: Mapping[str, str]) -> list[tuple[str, Dataset]]:
        """(workload, dataset) of those of the platform's trials that can be had, each dataset once, smallest first."""
        found: dict[str, tuple[str, Dataset]] = {}
        for workload, dataset in self.workloads(platform, unavailable):
            if not dataset.is_of_trial:
                found.setdefault(dataset.table, (workload, dataset))
        return sorted(found.values(), key=lambda pair: pair[1].rows)

    def made_by_trials(self, platform: str, unavailable: Mapping[str, str]) -> list[Dataset]:
        """Datasets that trials make and remove, one at a time; the largest first."""
        found = [dataset for _, dataset in self.workloads(platform, unavailable) if dataset.is_of_trial]
        return sorted(found, key=lambda dataset: -dataset.bytes_expected)

    def workloads(self, platform: str, unavailable: Mapping[str, str]) -> list[tuple[str, Dataset]]:
        """As ``datasets``, but every workload with each of its datasets."""
        found: dict[tuple[str, Dataset], None] = {}
        for trial in self.trials[platform]:
            if not why_not(trial, unavailable):
                dataset = load_workload(trial.workload).dataset(trial.levels, trial.seed)
                found[trial.workload, dataset] = None
        return list(found)

    def refused(self, platform: str) -> dict[tuple[str, str], int]:
        """(sweep, reason) -> trials that cannot be had, as the platform's file alone tells."""
        return Counter((trial.sweep, trial.not_applicable) for trial in self.trials[platform] if trial.not_applicable)

    def trial(self, platform: str, trial_id: str) -> Trial:
        for trial in self.trials.get(platform, []):
            if trial.id == trial_id:
                return trial
        raise SpecError([f"no trial {trial_id!r} on platform {platform!r} in this run's plan"])

    def trials_per_task(self, platform: str) -> int:
        """How many trials, neighbours in their order, a task of Airflow measures one after the other; mostly 1."""
        trials = len(self.turns) if platform in self.in_turns else len(self.trials[platform])
        return max(1, math.ceil(trials / self.trial_tasks_max)) if self.trial_tasks_max else 1

    def earlier_repetitions(self, trial: Trial) -> list[Trial]:
        planned = self.trials[trial.platform]
        return [one for one in planned if one.cell == trial.cell and one.repetition < trial.repetition]

    def as_json(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment,
            "choices": self.choices.model_dump(),
            "order": self.order,
            "turns": self.turns,
            "trial_tasks_max": self.trial_tasks_max,
            "trials": {name: [asdict(trial) for trial in trials] for name, trials in self.trials.items()},
        }

    @property
    def to_measure(self) -> dict[str, list[Trial]]:
        """All trials, or none where the run only makes data."""
        return {name: [] if self.choices.generate_only else trials for name, trials in self.trials.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        choices = Choices.model_validate(data["choices"])
        named = dict.fromkeys([*choices.platforms, *data["trials"]])  # the first one chosen is the reference
        found = {name: data["trials"][name] for name in named if name in data["trials"]}
        trials = {name: [Trial.from_json(trial) for trial in listed] for name, listed in found.items()}
        turns = [(platform, trial) for platform, trial in data.get("turns") or ()]
        order = list(data.get("order") or ())
        return cls(data["experiment"], choices, trials, order, turns, data.get("trial_tasks_max", 0))


def read_choices(experiment: Experiment, chosen: Mapping[str, Any]) -> Choices:
    """The choices of a form or of an API call, defaults filled in. Raises SpecError in words of the form."""
    defaults: dict[str, Any] = {
        "scale": "full" if rehearsal.divisor(chosen) > 1 else experiment.default_scale,
        "platforms": experiment.platforms,
        "seed": experiment.seed,
    }
    unknown = [key for key in chosen if key not in Choices.model_fields]
    problems = [f"{key!r} is not a choice{suggest(key, list(Choices.model_fields))}" for key in unknown]
    if problems:
        raise SpecError(problems)
    given = {key: value for key, value in chosen.items() if value is not None}
    try:
        choices = Choices.model_validate(defaults | given)
    except ValidationError as error:
        raise SpecError(
            [f"{'.'.join(str(part) for part in problem['loc'])}: {say(problem)}" for problem in error.errors()]
        ) from None
    problems = [
        f"sweeps: unknown sweep {name!r}{suggest(name, list(experiment.sweeps))}"
        for name in choices.sweeps
        if name not in experiment.sweeps
    ]
    if problems:
        raise SpecError(problems)
    return choices


def make_plan(experiment: Experiment, choices: Choices, catalog: Catalog) -> Plan:
    """All trials of a run. The same experiment and choices give the same trials in the same order."""
    _check_concurrency(experiment, choices)
    _check_held(experiment, choices)
    rehearsal.check(experiment, choices.scale, choices.sweeps, choices.rehearse)
    chosen, engines = {}, catalog.engines_of(experiment)
    together = [one.platform for one in catalog.platforms_in_turns(experiment) if one.platform in choices.platforms]
    cells: dict[str, None] = {}
    for name in dict.fromkeys(choices.platforms):
        platform = catalog.platform(name)
        _check_engine(experiment, platform, engines)
        _check_is_for(experiment, platform)
        if choices.profile:
            profiles.check(platform)
        planned = list(_trials(experiment, choices, platform))
        cells |= dict.fromkeys(name for cell, _ in planned for name in _names(cell))
        chosen[name] = _chosen(planned, choices.cells)
    _check_cells(choices.cells, cells)
    of_all = [trial for name in together for trial in chosen[name]]
    trials = {
        name: _in_random_order(found, choices.seed, of_all if name in together else ())
        for name, found in chosen.items()
    }
    turns = in_turns({name: trials[name] for name in together}, choices.seed)
    order = _order(experiment, choices, catalog, together)
    return Plan(experiment.experiment, choices, trials, order, turns, TRIAL_TASKS_MAX)


def _order(experiment: Experiment, choices: Choices, catalog: Catalog, together: Sequence[str]) -> list[str]:
    """Layouts that exclude each other are measured one after the other, so that what drifts meanwhile lies on them by
    chance; unless the experiment declares that their order stays."""
    chosen = list(dict.fromkeys([*together, *choices.platforms]))
    made = [name for name in chosen if catalog.platform(name).machines]
    if experiment.layouts == "random":
        random.Random(choices.seed).shuffle(made)  # noqa: S311  an order, no secret
    return [*(name for name in chosen if name not in made), *made]


def _names(cell: Trial) -> tuple[str, str]:
    """What a person may call it: as results.json does, or as mail and pages do."""
    return cell.cell, cell.cell_label


def _chosen(planned: list[tuple[Trial, Trial]], cells: Collection[str]) -> list[Trial]:
    """Of these cells; of a ramp all, as what came before is a part of each.

    ``planned``: each with a trial of its cell as it is where nothing is measured in turns.
    """
    asked = {cell.cell for cell, _ in planned if any(name in cells for name in _names(cell))}
    ramps = {trial.ramp for cell, trial in planned if cell.cell in asked} - {""}
    return [trial for cell, trial in planned if not cells or cell.cell in asked or trial.ramp in ramps]


def _check_cells(asked: Collection[str], known: Collection[str]) -> None:
    for cell in asked:
        if cell not in known:
            raise SpecError([
                f"cells: no chosen sweep has a cell {cell!r} on these platforms at this scale{suggest(cell, known)}; "
                "'clusterbench plan EXPERIMENT --cells' lists them"
            ])  # fmt: skip


def _check_engine(experiment: Experiment, platform: Platform, engines: Collection[str]) -> None:
    if platform.engine not in engines:
        raise SpecError(
            [
                f"platforms: {platform.platform!r} is a platform of {platform.engine}, and experiment "
                f"{experiment.experiment!r} measures {' and '.join(sorted(engines))}; choose one of those, or name the "
                "engine in the experiment's 'settings'"
            ]
        )


def _check_is_for(experiment: Experiment, platform: Platform) -> None:
    if platform.platform not in experiment.platforms and not platform.is_for(experiment.experiment):
        raise SpecError(
            [
                f"platforms: {platform.platform!r} is only for {' and '.join(platform.experiments)} ('experiments' "
                f"in its file); choose another, or add {experiment.experiment!r} there"
            ]
        )


def _check_concurrency(experiment: Experiment, choices: Choices) -> None:
    """A level that no chosen sweep varies would be left out without a word; say so instead."""
    declared = concurrency_levels(experiment, choices.scale, choices.sweeps)
    if unknown := [level for level in choices.concurrency if level not in declared]:
        allowed = ", ".join(map(str, declared)) or "none, no chosen sweep varies it"
        raise SpecError([f"concurrency: level {unknown[0]} is not in the experiment at this scale; allowed: {allowed}"])


def _held(choices: Choices, factors: Mapping[str, Factor]) -> dict[str, Level]:
    """Of the factors that a workload has: factor -> the level at which a person wants it."""
    said = (one.partition("=") for one in choices.levels)
    return {name: yaml.safe_load(level) for name, _, level in said if name in factors}


def _check_held(experiment: Experiment, choices: Choices) -> None:
    """A factor that no chosen sweep has would be held nowhere without a word; say so instead."""
    sweeps = [sweep for name, sweep in experiment.sweeps.items() if not choices.sweeps or name in choices.sweeps]
    known = {name: f for sweep in sweeps for name, f in load_workload(sweep.workload).factors.items()}
    for one in choices.levels:
        name, _, level = one.partition("=")
        if name not in known:
            raise SpecError([f"levels: no chosen sweep has a factor {name!r}{suggest(name, list(known))}"])
        if problem := known[name].problem(yaml.safe_load(level)):
            raise SpecError([f"levels: {name}: {problem}"])


def _trials(experiment: Experiment, choices: Choices, platform: Platform) -> Iterator[tuple[Trial, Trial]]:
    """Each with a trial of its cell without what is measured in turns."""
    for name, sweep in experiment.sweeps.items():
        if choices.sweeps and name not in choices.sweeps:
            continue
        _check_levels_of_engine(name, sweep, choices.scale, platform)
        for levels, varied in _cells(sweep, choices, platform.engine):
            steady = [factor for factor in varied if factor not in choices.in_turns]
            cell = _trial(experiment, name, platform, levels, steady, 1, choices.seed)
            repetitions = choices.repetitions or sweep.repetitions_at(choices.scale)
            until = None if choices.repetitions else _until(sweep, choices.scale)
            for repetition in range(1, repetitions + 1):
                trial = _trial(experiment, name, platform, levels, varied, repetition, choices.seed)
                yield cell, replace(trial, until=until)
            if choices.profile:
                trial = _trial(experiment, name, platform, levels, varied, repetitions + 1, choices.seed)
                yield cell, replace(trial, label=f"{trial.cell_label} (#{trial.repetition}, profiled)", profiled=True)


def _until(sweep: Sweep, scale: Scale) -> Until | None:
    """As declared, with the measurement that is to be firm."""
    until = sweep.until_at(scale)
    if until is None:
        return None
    first = next(iter([*sweep.plots, *load_workload(sweep.workload).measurements]))
    return Until(until.at_least, until.at_most, until.until_percent, until.measurement or first)


def _check_levels_of_engine(name: str, sweep: Sweep, scale: Scale, platform: Platform) -> None:
    for factor in sweep.factors:
        by_engine = sweep.by_engine(factor, scale)
        if not {"", platform.engine} & set(by_engine):
            raise SpecError(
                [
                    f"sweeps.{name}.factors.{factor}.{scale}: has levels only for {' and '.join(by_engine)}, and "
                    f"platform {platform.platform!r} has engine {platform.engine}; add its levels, or choose other "
                    "platforms"
                ]
            )


def _cells(sweep: Sweep, choices: Choices, engine: str) -> Iterator[tuple[dict[str, Level], list[str]]]:
    """Every combination of levels, defaults filled in, and the names of the factors that vary."""
    factors = _factors(sweep, choices.in_turns)
    by = choices.rehearse
    levels = {name: rehearsal.levels(sweep, name, choices.scale, by, engine) for name in sweep.factors}
    for name, listed in levels.items():
        if factors[name].is_concurrency and choices.concurrency and len(listed) > 1:
            levels[name] = [level for level in listed if level in choices.concurrency]
    varied = [name for name in levels if len(sweep.levels(name, choices.scale, engine)) > 1]
    varied += [name for name in choices.in_turns if name not in varied]
    levels |= {name: [*values] for name, values in choices.in_turns.items()}
    declared = load_workload(sweep.workload).factors
    for name, level in _held(choices, declared).items():
        varied += [name] if name not in varied and level != declared[name].default else []
        levels[name] = [level]
    defaults = {name: factor.divided(factor.default, by) for name, factor in declared.items()}
    for combination in itertools.product(*levels.values()):
        chosen = defaults | dict(zip(levels, combination, strict=True))
        left_out = {name for name, f in factors.items() if f.is_later and chosen[name] == f.default} - set(varied)
        yield {name: level for name, level in chosen.items() if name not in left_out}, varied


def _factors(sweep: Sweep, also: Collection[str] = ()) -> dict[str, Factor]:
    """The workload's, and the settings of the servers that the sweep names, or the choices."""
    declared = load_workload(sweep.workload).factors
    return {**declared, **{name: found for name in (*sweep.factors, *also) if (found := factor_of(declared, name))}}


def _trial(  # noqa: PLR0917  private, and each argument is a part of the trial
    experiment: Experiment,
    name: str,
    platform: Platform,
    levels: dict[str, Level],
    varied: list[str],
    repetition: int,
    seed: int,
) -> Trial:
    sweep = experiment.sweeps[name]
    factors = _factors(sweep, levels)
    parts = [f"{factor.removeprefix(SERVER)}_{levels[factor]}" for factor in varied]
    steady = [part for factor, part in zip(varied, parts, strict=True) if not factors[factor].is_concurrency]
    said = [factors[factor].say(levels[factor]) for factor in varied or sweep.factors if factor in levels]
    return Trial(
        id=".".join([name, *parts, f"r{repetition}"]),
        label=f"{name.replace('_', ' ')}: {', '.join(said)} (#{repetition})",
        platform=platform.platform,
        sweep=name,
        workload=sweep.workload,
        levels=levels,
        repetition=repetition,
        seed=seed,
        timeout_s=sweep.timeout_s,
        settings=experiment.settings.get(platform.engine, {}),
        ramp=".".join([name, *steady, f"r{repetition}"]) if sweep.order == "ramp" else "",
        give_up_after=sweep.give_up_after,
        not_applicable=server_settings.why_not(levels, platform, load_workload(sweep.workload))
        or warmth.too_large(load_workload(sweep.workload), levels, seed, platform),
    )


def _in_random_order(trials: list[Trial], seed: int, of_all: Sequence[Trial] = ()) -> list[Trial]:
    """Shuffled, so that drift of the machine does not fall on one level; the same on every platform.

    ``of_all``: the trials of all platforms in turns, whose order is then one also where some have cells of their own.

    A ramp stays whole, and rises. So do trials whose caches are as the ones before left them, behind their lead-in.
    Where cells are measured until they are firm, all repetitions are in rounds. Profiled trials are last, so that the
    others are as they are without them; those of caches ``as_left`` are the last of their dataset.
    """
    digest = hashlib.sha256(f"order:{seed}".encode()).digest()
    own = {trial.id: trial for trial in trials}
    known = {trial.id: trial for trial in of_all} | own
    shuffled = []
    for profiled in (False, True):
        some = [trial for trial in known.values() if trial.profiled == profiled]
        blocks = ramp.blocks(sorted(some, key=lambda trial: trial.id))
        random.Random(digest).shuffle(blocks)  # noqa: S311  an order to repeat, not a secret
        shuffled += [kept for block in blocks if (kept := [trial for trial in block if trial.id in own])]
    ordered = [trial for block in lead_ins.in_one_go(shuffled) for trial in block]
    return server_settings.in_turns(_in_rounds(ordered))


def _in_rounds(trials: list[Trial]) -> list[Trial]:
    """Each cell once a round where any is measured until it is firm; in a round the order stays.

    What has a fixed number of repetitions, and may go in one go, is all in the first round.
    """
    if not any(trial.until for trial in trials):
        return trials
    return sorted(trials, key=lambda trial: trial.repetition if trial.until or trial.profiled else 1)


DISK_HEADROOM = 1.3
"""Free space for write-ahead log, sorting of index builds and the index built twice, over the finished data."""
