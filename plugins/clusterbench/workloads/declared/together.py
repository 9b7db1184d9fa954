"""Several workloads at the same time on one database, such as transactions and reports.

Each has its own driver, settings and results. The first decides the window, and its measurements and factors keep their
names. Those of the others begin with the name of their part. What is driven by streams goes on until the first has
ended, and what lies within its window counts.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from clusterbench.base.datasets import Dataset
from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job, json_of
from clusterbench.base.measurements import About, MeasurementKind, Reading
from clusterbench.base.scripts import script
from clusterbench.drivers import psql_until
from clusterbench.workloads import Workload, load_workload
from clusterbench.workloads.declared.folder import Folder
from clusterbench.workloads.declared.part import OfPart
from clusterbench.workloads.declared.workload import DeclaredWorkload

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Database, Engine

SHARED = ("cache", "storage", "compression")
"""Factors of the first part alone: there is one state of the caches, and one kind of tables."""
SEARCHES = ("cpu_percent", "response_ms_p99")
"""Factors of a search for a load, which tries one driver by itself."""
SEPARATOR = "-"
"""Between the name of a part and that of a file."""
PER_HOUR = MeasurementKind(
    "1/h",
    "Statements ended in an hour",
    "higher",
    about=About(
        "Statements of this part that began and ended within the window of the first part, as a rate per hour.",
        leaves_out="statements that were under way when the window began or ended",
    ),
)
LOOKED_AT = ("stderr",)


class TogetherWorkload:
    """A folder that names others as its parts."""

    runs_on: Literal["client", "etl"] = "client"

    def __init__(self, folder: Folder) -> None:
        self.folder, self.title = folder, folder.said.title
        self.parts: dict[str, Workload] = {
            name: load_workload(part.workload) for name, part in folder.said.parts.items()
        }
        (self.first_name, self.first), *others = self.parts.items()
        self.others = dict(others)
        outputs = {name: self._outputs(name) for name in self.parts}
        self.outputs = tuple(f"{name}{SEPARATOR}{file}" for name, files in outputs.items() for file in files)
        self._engines: dict[tuple[str, str], dict[str, OfPart]] = {}
        """By platform and trial, from its preparation on."""
        self.factors: Mapping[str, Factor] = self._factors()
        self.measurements: Mapping[str, MeasurementKind] = self._measurements()

    def text(self) -> dict[str, str]:
        """Its own file, and those of its parts that are folders."""
        found = {"workload.yaml": self.folder.text("workload.yaml")}
        for name, part in self.parts.items():
            if isinstance(part, DeclaredWorkload):
                found |= {f"{name}/{file}": text for file, text in part.text().items()}
        return found

    # Declarations.

    def _outputs(self, name: str) -> tuple[str, ...]:
        own = psql_until.OUTPUTS if self._goes_on(name) else self.parts[name].outputs
        return tuple(dict.fromkeys([*own, *LOOKED_AT]))

    def _goes_on(self, name: str) -> bool:
        """Whether the part is streams beside the first, which repeat until that has ended."""
        part = self.parts[name]
        return name != self.first_name and isinstance(part, DeclaredWorkload) and not part.by_clients

    def _factors(self) -> dict[str, Factor]:
        of_data = {name for name, factor in self.first.factors.items() if factor.is_dataset}
        beside = {
            f"{part}_{name}": replace(factor, is_concurrency=False, wording=f"{part}: {factor.wording}")
            for part in self.others
            for name, factor in self._factors_of(part).items()
            if name not in of_data and name not in SHARED
        }
        return {**{name: f for name, f in self.first.factors.items() if name not in SEARCHES}, **beside}

    def _factors_of(self, name: str) -> Mapping[str, Factor]:
        """Of a part: what goes on until the first has ended has no window of its own."""
        own = self.parts[name].factors
        return {each: one for each, one in own.items() if each != "window_s"} if self._goes_on(name) else own

    def _measurements(self) -> dict[str, MeasurementKind]:
        found = dict(self.first.measurements)
        for part, workload in self.others.items():
            kinds = {"statements_per_hour": PER_HOUR, **workload.measurements}
            found |= {
                f"{part}_{name}": replace(kind, title=f"{part}: {kind.title}", statement="")
                for name, kind in kinds.items()
            }
        return found

    def trial_of(self, name: str, trial: Trial) -> Trial:
        """The trial as the part sees it: with its own levels, by their own names."""
        workload = self.parts[name]
        prefix = "" if name == self.first_name else f"{name}_"
        levels: dict[str, Level] = {factor: declared.default for factor, declared in self._factors_of(name).items()}
        for factor in levels:
            if f"{prefix}{factor}" in trial.levels:
                levels[factor] = trial.levels[f"{prefix}{factor}"]
            elif factor in trial.levels:
                levels[factor] = trial.levels[factor]
        if prefix and "cache" in levels:
            levels["cache"] = workload.factors["cache"].default
        return replace(trial, workload=self.folder.said.parts[name].workload, levels=levels)

    # Data: that of the first part, which the others use, too.

    def dataset(self, levels: Mapping[str, Level], seed: int) -> Dataset:
        return self.first.dataset(levels, seed)

    def is_generated(self, dataset: Dataset, engine: Engine) -> bool:
        return self.first.is_generated(dataset, engine)

    def generate(self, dataset: Dataset, engine: Engine) -> None:
        self.first.generate(dataset, engine)

    def inspect(self, dataset: Dataset, engine: Engine) -> dict[str, object]:
        return self.first.inspect(dataset, engine)

    def checksum(self, dataset: Dataset) -> str | None:
        return self.first.checksum(dataset)

    def answers(
        self,
        dataset: Dataset,  # noqa: ARG002  what is read while rows change has no answer that could be known
        trials: Sequence[Trial],  # noqa: ARG002
        engine: Engine | None = None,  # noqa: ARG002
    ) -> dict[str, Any] | None:
        return None

    def relations(self, trial: Trial) -> list[str]:
        found = [each for name, part in self.parts.items() for each in part.relations(self.trial_of(name, trial))]
        return list(dict.fromkeys(found))

    def not_applicable(self, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
        for name, part in self.parts.items():
            prefix = "" if name == self.first_name else f"{name}_"
            own = {
                factor: levels.get(f"{prefix}{factor}", levels.get(factor, f.default))
                for factor, f in self._factors_of(name).items()
            }
            if reason := part.not_applicable(own, unavailable):
                return f"{name}: {reason}"
        return None

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        return self.first.estimate_s({**{name: f.default for name, f in self.first.factors.items()}, **levels})

    # A trial.

    def prepare(self, trial: Trial, engine: Database) -> dict[str, object]:
        """Each part as by itself, but for the settings of its sessions: those of the role would be all parts'."""
        engine.reset_session()
        return {
            name: part.prepare(self.trial_of(name, trial), cast("Database", self._engine_of(name, trial, engine)))
            for name, part in self.parts.items()
        }

    def plans(self, trial: Trial, engine: Database) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, part in self.parts.items():
            if plan := getattr(part, "plans", None):
                texts = plan(self.trial_of(name, trial), self._engine_of(name, trial, engine))
                prefix = "" if name == self.first_name else f"{name}: "
                found |= {f"{prefix}{statement}": text for statement, text in texts.items()}
        return found

    def job(self, trial: Trial, engine: Database) -> Job:
        jobs = {}
        for name, part in self.parts.items():
            of_part = cast("Database", self._engine_of(name, trial, engine))
            own = self.trial_of(name, trial)
            if self._goes_on(name):
                jobs[name] = cast(DeclaredWorkload, part).job_until(own, of_part)
            else:
                jobs[name] = part.job(own, of_part)
        files = {f"{name}{SEPARATOR}{file}": text for name, job in jobs.items() for file, text in job.files.items()}
        files |= {f"{name}{SEPARATOR}command.sh": f"set -euo pipefail\n{job.command}" for name, job in jobs.items()}
        secrets = {f"{name}{SEPARATOR}{file}": text for name, job in jobs.items() for file, text in job.secrets.items()}
        return Job(files, secrets, script("drivers/together", parts=list(self.parts)))

    def _engine_of(self, name: str, trial: Trial, engine: Database) -> OfPart:
        """The same for one trial, whose parts each keep their settings in it."""
        known = self._engines.setdefault((trial.platform, trial.id), {})
        if name not in known or known[name].engine is not engine:
            known[name] = OfPart(engine)
        return known[name]

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:  # noqa: ARG002  see answers
        before = json_of(output / "before.json")
        with self._files_of(self.first_name, output, before) as folder:
            reading = self.first.read(folder, self.trial_of(self.first_name, trial), {})
        if reading.window_start_s is None or reading.window_end_s is None:
            return reading
        window = (reading.window_start_s, reading.window_end_s)
        details = dict(reading.details)
        for name in self.others:
            with self._files_of(name, output, before) as folder:
                beside = self._read_beside(name, folder, trial, window)
            reading = replace(
                reading,
                measurements={**reading.measurements, **{f"{name}_{m}": v for m, v in beside.measurements.items()}},
                errors=reading.errors + beside.errors,
                invalid=(*reading.invalid, *(f"{name}: {problem}" for problem in beside.invalid)),
            )
            details[name] = {**beside.details, "samples": beside.samples, "errors": beside.errors}
        return replace(reading, details=details)

    def _read_beside(self, name: str, folder: Path, trial: Trial, window: tuple[float, float]) -> Reading:
        part, own = self.parts[name], self.trial_of(name, trial)
        if self._goes_on(name):
            return cast(DeclaredWorkload, part).read_until(folder, own, window)
        return part.read(folder, own, {})

    @contextmanager
    def _files_of(self, name: str, output: Path, before: Mapping[str, Any]) -> Iterator[Path]:
        """The part's files, by the names that it gave them."""
        with tempfile.TemporaryDirectory(prefix="clusterbench-together-") as temporary:
            folder = Path(temporary)
            for file in output.glob(f"{name}{SEPARATOR}*"):
                (folder / file.name.removeprefix(f"{name}{SEPARATOR}")).symlink_to(file.resolve())
            own = {**before, "workload": (before.get("workload") or {}).get(name) or {}}
            (folder / "before.json").write_text(json.dumps(own))
            yield folder

    def restore(self, trial: Trial, engine: Database) -> None:
        for name, part in self.parts.items():
            part.restore(self.trial_of(name, trial), cast("Database", self._engine_of(name, trial, engine)))
        self._engines.pop((trial.platform, trial.id), None)
        engine.reset_session()
