"""What a workload is. Each is found by its name: adding one touches no list.

A folder ``include/sql/x`` with a ``workload.yaml`` is the workload ``x`` (``workloads/declared``). What cannot be said
there is a module: ``workloads/<study>/x.py`` that defines ``WORKLOAD``, an object with the attributes and methods of
``Workload``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, runtime_checkable

from clusterbench.base.capabilities import EVERYTHING, why_no_cache_state
from clusterbench.base.datasets import BY_STORAGE, COMPRESSIONS, Dataset
from clusterbench.base.errors import ClusterbenchError, SpecError
from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job
from clusterbench.base.measurements import MeasurementKind, Reading
from clusterbench.base.words import plural
from clusterbench.spec.by_name import workload_names, workload_object, workload_state

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Engine
    from clusterbench.spec import Experiment, Platform

AS_SET = "as_set"
"""The level of a setting that leaves it as the experiment's ``settings`` have it, or the server."""

CACHE = Factor(
    "warm",
    "The state of the caches at the start: see docs/reference.md#states-of-the-caches.",
    choices=("cold", "warm", "database_warm", "as_left"),
)
WARM = ("warm", "database_warm")
"""States of the caches for which tables are read. Work does not change them, so a window may be of any length."""
STORAGE = Factor(
    "heap",
    "How tables are stored: see docs/reference.md#storage-and-compression.",
    choices=("heap", "append_row", "append_column", "pax"),
    is_dataset=True,
)
COMPRESSION = Factor(
    BY_STORAGE,
    "How tables are compressed: see docs/reference.md#storage-and-compression.",
    choices=(BY_STORAGE, *COMPRESSIONS),
    is_dataset=True,
    is_later=True,
)

OPTIMIZER = Factor(
    "planner", "The optimizer. `orca` is not applicable on an engine without it.", choices=("planner", "orca")
)


def window_s(levels: Mapping[str, Level]) -> int:
    """How long is measured at least; 0 where the amount of work is what is asked for: after a cache was emptied, each
    lookup and each scan fills it."""
    return int(levels.get("window_s", 0)) if levels.get("cache", WARM[0]) in WARM else 0


def with_window_s(once_s: float, levels: Mapping[str, Level]) -> float:
    """How long streams take, roughly, whose statements take ``once_s``: with a window they do them once or twice before
    it, and as often as fill it."""
    window = window_s(levels)
    return 2 * max(once_s, window) if window else once_s


def settings_chosen(factors: Mapping[str, Factor], levels: Mapping[str, Level]) -> dict[str, str]:
    """Setting -> value, of the factors that are settings and whose level is not to leave it as it is."""
    return {f.setting: str(levels[name]) for name, f in factors.items() if f.setting and levels[name] != AS_SET}


def settings_not_applicable(
    factors: Mapping[str, Factor], levels: Mapping[str, Level], unavailable: Mapping[str, str]
) -> str | None:
    """Why a chosen setting cannot be had; ``unavailable`` names such by their factor."""
    chosen = (name for name, f in factors.items() if f.setting and levels[name] != AS_SET)
    return next((unavailable[name] for name in chosen if name in unavailable), None)


def optimizer_setting(levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> dict[str, str]:
    """Nothing where there is only the planner."""
    return {} if "orca" in unavailable else {"optimizer": "on" if levels.get("optimizer") == "orca" else "off"}


def optimizer_not_applicable(levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
    return unavailable.get("orca") if levels.get("optimizer") == "orca" else None


class FellBackError(ClusterbenchError):
    """ORCA was asked for, and the server planned every statement of the trial with its planner."""


def fallen_back(levels: Mapping[str, Level], plans: Mapping[str, str]) -> list[str]:
    """The names of statements that ORCA was to plan and did not; ``plans`` by the name of their statement.

    A Greenplum falls back to its planner without a word where ORCA cannot plan a statement. Only the last line of a
    plan tells: ``Optimizer: Pivotal Optimizer (GPORCA)`` in Greenplum 6, ``Optimizer: GPORCA`` in 7.

    Raises FellBackError where it planned none: then the trial would be one of the planner.
    """
    if levels.get("optimizer") != "orca":
        return []
    fell = [name for name, plan in plans.items() if "GPORCA" not in plan]
    if len(fell) < len(plans):
        return fell
    said = next((line.strip() for line in plans[fell[0]].splitlines() if "Optimizer" in line), "no line 'Optimizer'")
    raise FellBackError(
        f"ORCA was asked for, and did not plan {plural(len(fell), 'statement')} of {len(plans)}: the server fell back "
        f"to its planner ({said}). 'SET optimizer_trace_fallback = on' before EXPLAIN says why"
    )


def storage_not_applicable(levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
    """Of its compression, too, which is named only where it was chosen."""
    layout, compression = str(levels["storage"]), str(levels.get("compression", BY_STORAGE))
    if layout != "heap" and (why := unavailable.get("pax" if layout == "pax" else "append_optimised")):
        return why
    if compression in (BY_STORAGE, "none"):
        return None
    if layout == "heap":
        return unavailable.get("compression", "a heap is not compressed; choose another 'storage' with it")
    return unavailable.get(compression.partition("_")[0])


def kept(levels: Mapping[str, Level]) -> dict[str, str]:
    """Layout and compression of a table, as far as they are named."""
    return {
        "layout": str(levels.get("storage", "heap")),
        "compression": str(levels.get("compression", BY_STORAGE)),
    }


def cache_not_applicable(levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
    return why_no_cache_state(str(levels["cache"]), unavailable)


class Workload(Protocol):
    """One module of this folder. All methods but ``prepare`` and ``restore`` are pure."""

    title: str
    factors: Mapping[str, Factor]
    measurements: Mapping[str, MeasurementKind]
    runs_on: Literal["client", "etl"]
    """The role of the host that runs the job, and whose clock measures."""
    outputs: tuple[str, ...]
    """Files of the job's directory that go to the archive as raw output."""

    def dataset(self, levels: Mapping[str, Level], seed: int) -> Dataset:
        """The dataset that a trial with these levels needs. Its name must differ if its rows differ."""

    def is_generated(self, dataset: Dataset, engine: Engine) -> bool:
        """Whether the dataset is complete on the platform."""

    def generate(self, dataset: Dataset, engine: Engine) -> None:
        """Generate the dataset on the platform. It skips what exists, so a retry continues with the missing slices."""

    def inspect(self, dataset: Dataset, engine: Engine) -> dict[str, object]:
        """Facts about the dataset, computed in the database. The Great Expectations suite of its name checks them.

        If a fact is a list, it is rows for a suite of their own, ``<dataset>_<fact>``.
        """

    def checksum(self, dataset: Dataset) -> str | None:
        """The ``checksum`` that ``inspect`` must find. An independent engine computes it over the same rows.

        None if that would take too long: then the checksum of an earlier valid run is used.
        """

    def answers(self, dataset: Dataset, trials: Sequence[Trial], engine: Engine | None = None) -> dict[str, Any] | None:
        """The right answers to ``trials`` on the dataset, for ``read``. ``source`` names the engine that computed them.

        ``engine``: its platform may declare a host for that. None if ``read`` needs no answers, or if computing them
        would take too long: then the answers of an earlier valid run are used.
        """

    def relations(self, trial: Trial) -> list[str]:
        """Tables and indexes whose cache state is part of the trial."""

    def not_applicable(self, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
        """Why these levels are impossible without what is ``unavailable`` (``Engine.unavailable``). None: possible."""

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        """A rough guess of one trial's length, cache state included, from the papers and from the lab."""

    def prepare(self, trial: Trial, engine: Engine) -> dict[str, object]:
        """Called before the cache state is made, for session settings and the like. Returns evidence, as the plan."""

    def job(self, trial: Trial, engine: Engine) -> Job:
        """What runs on the host of ``runs_on`` for this trial: its files and its script."""

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:
        """Turn the job's output into measurements. ``expected``: the right answers; empty if they are not known yet.

        Put what the trial answered into ``details["answer"]``, for later runs; warnings about a number into
        ``details["warnings"]``; rows for suites of Great Expectations into ``details["facts"]``, by suite.
        """

    def restore(self, trial: Trial, engine: Engine) -> None:
        """Undo ``prepare``. It is also called after a failure, so it must work for a trial that never began."""


@runtime_checkable
class Planned(Protocol):
    """A workload whose statements a database plans, one by one."""

    def plans(self, trial: Trial, engine: Any) -> Mapping[str, str]:
        """Statement -> its plan as text (``Database.explain``), after ``prepare``. If a statement has measurements, its
        name is that in ``MeasurementKind.statement``."""


@runtime_checkable
class SubmitsJobs(Protocol):
    """A workload whose jobs are given settings that are factors (``server.mapreduce.task.io.sort.mb``)."""

    def goes_with_jobs(self, setting: str) -> bool:
        """Whether its jobs are given it; else the servers are."""

    def why_not_given(self, setting: str, platform: Platform) -> str:
        """Why neither its jobs nor the platform's servers can be given it. Empty: they can."""


@runtime_checkable
class Rewritable(Protocol):
    """A workload whose statements people may change: its answers belong to the text that a statement had."""

    def fingerprints(self) -> Mapping[str, str]:
        """Statement -> a digest of all on which its answers depend, besides the data and the levels."""


@dataclass(frozen=True)
class Share:
    """The part of a load that one of several drivers does."""

    number: int
    """Counted from 0, which is that of the client host."""
    clients: int
    first_client: int
    of_clients: int
    start_s: float
    """Epoch seconds on the clock of its host; 0: at once."""
    ahead_us: int = 0
    """By how much that clock is ahead of the client host's."""

    @classmethod
    def whole(cls, clients: int) -> Share:
        """The whole load, for a single driver."""
        return cls(0, clients, 0, clients, 0)

    def of_rate(self, rate_per_s: float) -> float:
        return rate_per_s * self.clients / self.of_clients


@runtime_checkable
class Spread(Protocol):
    """A workload whose load several hosts can drive at once: so many clients for some time."""

    def is_spread(self, trial: Trial) -> bool: ...

    def job_of(self, trial: Trial, engine: Any, share: Share) -> Job:
        """Like ``job``, for one of several drivers."""


def not_applicable(workload: Workload, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
    """The workload's reason, or the reason why nothing can be measured on the platform."""
    return unavailable.get(EVERYTHING) or workload.not_applicable(levels, unavailable)


def why_not(trial: Trial, unavailable: Mapping[str, str]) -> str | None:
    """Why the trial is not applicable: a reason of the plan, or something that is ``unavailable``."""
    return trial.not_applicable or not_applicable(load_workload(trial.workload), trial.levels, unavailable)


@runtime_checkable
class DeclaredByText(Protocol):
    """A workload that consists of files. They are archived with every run."""

    def text(self) -> dict[str, str]:
        """File name -> content. Raises SpecError with every problem of the files."""


def declared_text(name: str) -> dict[str, str]:
    """The files of a declared workload. Empty if the workload is written in Python."""
    workload: object = load_workload(name)
    return workload.text() if isinstance(workload, DeclaredByText) else {}


def load_workload(name: str) -> Workload:
    """The workload of that name. Raises SpecError that lists the workloads there are."""
    return cast(Workload, workload_object(name))


def _usable() -> Iterator[Workload]:
    """All workloads except folders with a mistake, which ``lint`` reports. Those must not break the others."""
    for name in workload_names():
        with suppress(SpecError):
            yield load_workload(name)


def measurement_kinds() -> Mapping[str, MeasurementKind]:
    """Every measurement of every workload by its name.

    If workloads do not agree which direction is better, neither is.
    """
    return _measurement_kinds(workload_state())


@lru_cache(maxsize=1)
def _measurement_kinds(state: tuple[tuple[str, int], ...]) -> Mapping[str, MeasurementKind]:  # noqa: ARG001  its key
    found: dict[str, MeasurementKind] = {}
    for workload in _usable():
        for name, kind in workload.measurements.items():
            known = found.setdefault(name, kind)
            if known.better != kind.better:
                found[name] = replace(known, better="neither")
    return found


def size_factors() -> Mapping[str, Factor]:
    """Every factor of every workload that is a size of data: rows, warehouses, the scale factor."""
    return _size_factors(workload_state())


@lru_cache(maxsize=1)
def _size_factors(state: tuple[tuple[str, int], ...]) -> Mapping[str, Factor]:  # noqa: ARG001  its key
    return {name: factor for each in _usable() for name, factor in each.factors.items() if factor.is_size}


def measurement_title(experiment: Experiment | None, sweep: str, name: str) -> str:
    """The title that the sweep's workload gives it. If this version no longer has it, its name in words.

    Two workloads may have different titles for one name: response time is that of a scan in one, and of
    building an index in another.
    """
    declared = experiment.sweeps.get(sweep) if experiment else None
    kinds = load_workload(declared.workload).measurements if declared else {}
    return kinds[name].title if name in kinds else name.replace("_", " ").capitalize()
