"""What a workload is. Each is one module here, found by its name: adding one touches no list.

A module ``workloads/x.py`` holds ``WORKLOAD``, an object with the attributes and methods of ``Workload``.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from clusterbench.datasets import Dataset
from clusterbench.errors import SpecError, suggest

if TYPE_CHECKING:
    from clusterbench.engines import Engine
    from clusterbench.records import Trial
    from clusterbench.spec import Experiment

Level = bool | int | float | str


@dataclass(frozen=True)
class Factor:
    """What can be varied: which levels are allowed, which is used when nothing is said, how it reads aloud."""

    default: Level
    help: str
    choices: tuple[str, ...] = ()
    minimum: float = 0
    maximum: float = 0
    is_fractional: bool = False
    """Numbers that are not whole are allowed, too."""
    wording: str = "{}"
    """How a level reads in a label, `{}` being the level: "{} clients"."""
    is_concurrency: bool = False
    is_dataset: bool = False
    """True where another level needs other data."""
    setting: str = ""
    """The engine's setting that this factor is, for every session of the driver."""

    def problem(self, level: Level) -> str | None:
        """Why ``level`` is not allowed, or None."""
        if self.choices:
            if level in self.choices:
                return None
            return f"level {level!r} is not allowed{suggest(str(level), list(self.choices))}"
        if isinstance(level, bool) or not isinstance(level, int | float if self.is_fractional else int):
            kind = "number" if self.is_fractional else "whole number"
            return f"level {level!r} is not a {kind}; allowed: {self.minimum} to {self.maximum}"
        if not self.minimum <= level <= self.maximum:
            return f"level {level} is out of range; allowed: {self.minimum} to {self.maximum}"
        return None

    def say(self, level: Level) -> str:
        """A level in words: "200 clients", "1 client", "cold"."""
        wording = self.wording.removesuffix("s") if level == 1 else self.wording
        return wording.format(say_count(level) if isinstance(level, int) else str(level).replace("_", " "))


def say_count(count: int) -> str:
    """1_000_000 as 1M, 1_000_000_000 as 1000M as the papers write it, 100_000 as 100k; other numbers as they are."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if count >= size and count % (size // 10) == 0:
            return f"{count / size:g}{letter}"
    return str(count)


EVERYTHING, ALONE = "everything", "alone"
"""Of what an engine or its hosts may lack: every trial; a load that can be run once only, beside nobody."""
AS_SET = "as_set"
"""The level of a setting that leaves it as the experiment's ``settings`` have it, or the server."""

CACHE = Factor("warm", "state of the caches at the start", choices=("cold", "warm", "database_warm"))
STORAGE = Factor(
    "heap",
    "how the table is kept, where the engine has a choice",
    choices=("heap", "append_row", "append_column"),
    is_dataset=True,
)

OPTIMIZER = Factor("planner", "planner, or ORCA where the engine has it", choices=("planner", "orca"))


def settings_chosen(factors: Mapping[str, Factor], levels: Mapping[str, Level]) -> dict[str, str]:
    """Setting -> value, of the factors that are settings and whose level is not to leave it as it is."""
    return {f.setting: str(levels[name]) for name, f in factors.items() if f.setting and levels[name] != AS_SET}


def settings_not_applicable(
    factors: Mapping[str, Factor], levels: Mapping[str, Level], lacks: Mapping[str, str]
) -> str | None:
    """Why a chosen setting cannot be had; ``lacks`` names such by their factor."""
    chosen = (name for name, f in factors.items() if f.setting and levels[name] != AS_SET)
    return next((lacks[name] for name in chosen if name in lacks), None)


def optimizer_setting(levels: Mapping[str, Level], lacks: Mapping[str, str]) -> dict[str, str]:
    """Nothing where there is only the planner."""
    return {} if "orca" in lacks else {"optimizer": "on" if levels["optimizer"] == "orca" else "off"}


def optimizer_not_applicable(levels: Mapping[str, Level], lacks: Mapping[str, str]) -> str | None:
    return lacks.get("orca") if levels["optimizer"] == "orca" else None


def storage_not_applicable(levels: Mapping[str, Level], lacks: Mapping[str, str]) -> str | None:
    return lacks.get("append_optimised") if levels["storage"] != "heap" else None


def cache_not_applicable(levels: Mapping[str, Level], lacks: Mapping[str, str]) -> str | None:
    return lacks.get("flush") if levels["cache"] not in {"warm", "ramped_up"} else None


@dataclass(frozen=True)
class MeasurementKind:
    """A number that a workload observes: unit, title, and which direction is better."""

    unit: str
    title: str
    better: Literal["lower", "higher", "neither"] = "lower"


@dataclass(frozen=True)
class Phase:
    """A part of the measured window, in epoch seconds of the driver's host."""

    name: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Reading:
    """What was read from a driver's raw output: measurements by name, and what was wrong with it."""

    measurements: dict[str, float]
    errors: int = 0
    samples: int = 0
    window_start_s: float | None = None
    """Epoch seconds on the client host's clock, of the first and of the last thing measured."""
    window_end_s: float | None = None
    timed_out: tuple[str, ...] = ()
    """Statements that passed a limit of their own and were ended by the server: the trial has timed out."""
    invalid: tuple[str, ...] = ()
    """Reasons why the numbers must not be believed: wrong answers, lost log lines."""
    phases: tuple[Phase, ...] = ()
    """Where the window has parts that differ: telemetry is then summed over each."""
    details: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """What runs on the client host: files, and a command among them. ``secrets`` are deleted when it ends."""

    files: Mapping[str, str]
    secrets: Mapping[str, str]
    command: str
    """Lines of bash, run in the job's directory."""


def json_of(path: Path) -> dict[str, Any]:
    """A file of a driver's output; empty where it is not there."""
    return dict(json.loads(path.read_text())) if path.exists() else {}


class Workload(Protocol):
    """One module of this folder. All methods but ``prepare`` and ``restore`` are pure."""

    title: str
    factors: Mapping[str, Factor]
    measurements: Mapping[str, MeasurementKind]
    runs_on: Literal["client", "etl"]
    """The role of the host that drives it, and whose clock measures."""
    outputs: tuple[str, ...]
    """Files of the job's directory that go to the archive as raw output."""

    def dataset(self, levels: Mapping[str, Level], seed: int) -> Dataset: ...

    def is_generated(self, dataset: Dataset, engine: Engine) -> bool: ...

    def generate(self, dataset: Dataset, engine: Engine) -> None:
        """Make the dataset where it will live; skips what is there already, resumable by slice."""

    def inspect(self, dataset: Dataset, engine: Engine) -> dict[str, object]:
        """Facts about the dataset, computed where it is, for its Great Expectations suite: the one of its name.

        A list among the facts is rows for a suite of their own, ``<dataset>_<fact>``.
        """

    def checksum(self, dataset: Dataset) -> str | None:
        """What ``inspect`` must find as ``checksum``, by an independent engine over rows made anew.

        None where that would take too long: then earlier runs say it.
        """

    def answers(self, dataset: Dataset, trials: Sequence[Trial]) -> dict[str, Any] | None:
        """What ``trials`` on the dataset must answer, by an independent engine, for ``read``.

        None where ``read`` knows it by itself, or where it would take too long: then earlier valid runs say it.
        """

    def relations(self, trial: Trial) -> list[str]:
        """Tables and indexes whose cache state is part of the trial."""

    def not_applicable(self, levels: Mapping[str, Level], lacks: Mapping[str, str]) -> str | None:
        """Why these levels cannot be had where ``lacks`` cannot be had (``Engine.lacks``), or None."""

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        """A rough guess of one trial's length, cache state included, from the papers and from the lab."""

    def prepare(self, trial: Trial, engine: Engine) -> dict[str, object]:
        """Before the cache state is made: session settings and the like. Returns evidence, such as the plan."""

    def job(self, trial: Trial, engine: Engine) -> Job: ...

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:
        """``expected``: what ``answers`` said, or an earlier run; empty where nobody knows yet.

        What was answered goes to ``details["answer"]``, for later runs; what must be said beside a number to
        ``details["warnings"]``; rows for suites of Great Expectations to ``details["facts"]``, by suite.
        """

    def restore(self, trial: Trial, engine: Engine) -> None:
        """Undo ``prepare``; called also after a failure, so it must not mind a trial that never began."""


def not_applicable(workload: Workload, levels: Mapping[str, Level], lacks: Mapping[str, str]) -> str | None:
    """As the workload says, unless the platform cannot be had at all."""
    return lacks.get(EVERYTHING) or workload.not_applicable(levels, lacks)


def load_workload(name: str) -> Workload:
    """The workload of that name. Raises SpecError that lists the workloads there are."""
    if name not in workload_names():
        raise SpecError([f"unknown workload {name!r}{suggest(name, workload_names())}"])
    return cast(Workload, importlib.import_module(f"clusterbench.workloads.{name}").WORKLOAD)


@lru_cache(maxsize=1)
def measurement_kinds() -> Mapping[str, MeasurementKind]:
    """Every measurement of every workload, for a number of which only its name is known.

    Where workloads do not agree which direction is better, neither is.
    """
    found: dict[str, MeasurementKind] = {}
    for workload in map(load_workload, workload_names()):
        for name, kind in workload.measurements.items():
            known = found.setdefault(name, kind)
            if known.better != kind.better:
                found[name] = replace(known, better="neither")
    return found


def measurement_title(experiment: Experiment | None, sweep: str, name: str) -> str:
    """What the sweep's workload calls it; its name in words where this version has it no longer.

    Two workloads may call it differently: response time is that of a scan in one, and of building an index in another.
    """
    declared = experiment.sweeps.get(sweep) if experiment else None
    kinds = load_workload(declared.workload).measurements if declared else {}
    return kinds[name].title if name in kinds else name.replace("_", " ").capitalize()


def workload_names() -> list[str]:
    return sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
