"""A folder as a workload: what ``workloads.Workload`` asks for, by what the folder declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from clusterbench.base import database_work
from clusterbench.base.answers import TEXTS
from clusterbench.base.datasets import Dataset
from clusterbench.base.errors import EngineError
from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job, json_of
from clusterbench.base.measurements import NO_CLOCK, About, MeasurementKind, Reading
from clusterbench.base.sql import raw, statement
from clusterbench.drivers import pgbench, psql_streams
from clusterbench.hosts import resource_use
from clusterbench.workloads import (
    COMPRESSION,
    OPTIMIZER,
    STORAGE,
    Share,
    Workload,
    cache_not_applicable,
    fallen_back,
    load_workload,
    optimizer_not_applicable,
    optimizer_setting,
    settings_chosen,
    settings_not_applicable,
    storage_not_applicable,
)
from clusterbench.workloads.declared import answers, asked, clients, data, streams
from clusterbench.workloads.declared.folder import Folder
from clusterbench.workloads.declared.model import Asked
from clusterbench.workloads.declared.parameters import Listed, Typed
from clusterbench.workloads.declared.problems import check

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Database, Endpoint, Engine


WHOLE = ("smallint", "integer", "bigint")
OF_ANY_LENGTH = {"character": "bpchar", "bit": "varbit"}
"""Without a length, the name of a type of one letter or bit stands for more of them."""


class DeclaredWorkload:
    """One folder below ``include/sql``."""

    runs_on: Literal["client", "etl"] = "client"

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.by_clients = folder.by_clients
        self.title = folder.said.title
        self.outputs = pgbench.MIX_OUTPUTS if self.by_clients else psql_streams.OUTPUTS
        self.owner: Workload | None = load_workload(folder.said.data_of) if folder.said.data_of else None
        """Of the tables, where they are another workload's."""
        self.factors: Mapping[str, Factor] = _factors(folder, self.owner)
        self.refused: Mapping[str, str] = {} if self.by_clients else psql_streams.REFUSED
        self.measurements: Mapping[str, MeasurementKind] = _measurements(folder)
        self._listed: dict[tuple[str, str], Listed] = {}
        """By trial what its parameters' queries answered before the state of the caches was made."""

    def text(self) -> dict[str, str]:
        check(self.folder)
        return {file.name: self.folder.text(file.name) for file in sorted(self.folder.path.iterdir()) if file.is_file()}

    def dataset(self, levels: Mapping[str, Level], seed: int) -> Dataset:
        return self.owner.dataset(levels, seed) if self.owner else data.dataset_of(self.folder, levels, seed)

    def is_generated(self, dataset: Dataset, engine: Database) -> bool:
        return (
            self.owner.is_generated(dataset, engine) if self.owner else data.is_generated(self.folder, dataset, engine)
        )

    def generate(self, dataset: Dataset, engine: Database) -> None:
        check(self.folder)
        if self.owner:
            self.owner.generate(dataset, engine)
        else:
            data.generate(self.folder, dataset, engine)

    def inspect(self, dataset: Dataset, engine: Database) -> dict[str, object]:
        check(self.folder)
        return self.owner.inspect(dataset, engine) if self.owner else data.inspect(self.folder, dataset, engine)

    def checksum(self, dataset: Dataset) -> str | None:
        return self.owner.checksum(dataset) if self.owner else data.checksum(self.folder, dataset)

    def answers(
        self,
        dataset: Dataset,
        trials: Sequence[Trial],
        engine: Engine | None = None,  # noqa: ARG002  as every workload has it
    ) -> dict[str, Any] | None:
        """By DuckDB, where the folder says so and rows can be made again, or of files beside the statements."""
        listed = self._of_files()
        return answers.of_duckdb(self.folder, dataset, trials, listed) or answers.of_files(self.folder, trials, listed)

    def fingerprints(self) -> dict[str, str]:
        return answers.fingerprints(self.folder)

    def relations(self, trial: Trial) -> list[str]:
        if self.owner:
            return self.owner.relations(trial)
        return data.relations(self.folder, self.dataset(trial.levels, trial.seed))

    def not_applicable(self, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
        if self.folder.existing and not self.folder.is_reading and data.CHANGE_EXISTING in unavailable:
            return unavailable[data.CHANGE_EXISTING]
        return (
            optimizer_not_applicable(levels, unavailable)
            or settings_not_applicable(self.factors, levels, unavailable)
            or (storage_not_applicable(levels, unavailable) if "storage" in self.factors else None)
            or (cache_not_applicable(levels, unavailable) if levels["cache"] != "ramped_up" else None)
            or (None if self.by_clients else streams.not_applicable(self.folder, levels))
        )

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        return clients.estimate_s(levels) if self.by_clients else streams.estimate_s(self.folder, levels)

    def prepare(self, trial: Trial, engine: Database) -> dict[str, object]:
        """Tables put right, settings, and what parameters are drawn from; what must not be said of them is an error."""
        folder, dataset = self.folder, self.dataset(trial.levels, trial.seed)
        engine.reset_session()  # of a trial whose worker was lost
        own = data.own_session(folder, dataset, engine)
        if folder.said.changes:
            data.note_change(folder, dataset, engine)
        for file in folder.said.before_trial:
            values = {name: raw(str(trial.levels[name])) for name in folder.said.factors}
            for text in folder.statements(file.removesuffix(".sql"), engine.dialect, values):
                engine.execute(text, settings=own)
        if folder.said.changes:
            engine.settle(*(f"{dataset.table}.{name}" for name in folder.said.changes))
        found = asked.before(folder, trial, engine, own)
        if found["problems"]:
            raise EngineError(
                f"{dataset.table}: not as it must be before the trial: {'; '.join(found['problems'])}. See what the "
                "trial before this one did, and what 'before_trial' puts right"
            )
        settings = self._settings(trial, engine) | data.session(folder, dataset)
        engine.set_session(settings)
        self._listed[trial.platform, trial.id] = self._of_files() | self._of_queries(trial, engine, own)
        plans = self.plans(trial, engine) if trial.levels["optimizer"] == "orca" else {}
        return {"session_settings": settings, "asked": found, "planned_by_planner": fallen_back(trial.levels, plans)}

    def _settings(self, trial: Trial, engine: Database) -> dict[str, str]:
        """Of drivers' sessions."""
        settings = dict(trial.settings) | optimizer_setting(trial.levels, engine.unavailable)
        settings |= settings_chosen(self.factors, trial.levels)
        if not self.by_clients:
            settings["statement_timeout"] = f"{trial.levels['statement_timeout_s']}s"
        return settings

    def plans(self, trial: Trial, engine: Database) -> dict[str, str]:
        """Of each statement once, as the first stream asks it."""
        listed = self._listed.get((trial.platform, trial.id)) or self._all_listed(trial, engine)
        if not self.by_clients:
            named = self.folder.titles
            texts = {
                named[name]: streams.text(self.folder, trial, name, 1, engine.dialect, listed)
                for name in streams.order(self.folder, trial, 1)
            }
            return engine.explain(texts)
        named = self.folder.titles
        if trial.levels["protocol"] == "prepared":
            of_sessions = clients.prepared(self.folder, trial, engine.dialect, listed)
            return engine.explain({named[name]: one for name, one in of_sessions.items()})
        of_clients = {
            named[name]: clients.first_reading(self.folder, name, trial, engine.dialect, listed, 1)
            for name in clients.weights(self.folder, trial.levels)
        }
        return engine.explain({name: text for name, text in of_clients.items() if text})

    def job(self, trial: Trial, engine: Database) -> Job:
        if self.by_clients:
            return self.job_of(trial, engine, Share.whole(int(trial.levels["clients"])))
        listed = self._listed.get((trial.platform, trial.id)) or self._all_listed(trial, engine)
        return streams.job(self.folder, trial, engine.dialect, listed, self._endpoint(engine))

    def is_spread(self, trial: Trial) -> bool:
        return self.by_clients and int(trial.levels["clients"]) > 1

    def job_of(self, trial: Trial, engine: Database, share: Share) -> Job:
        """Of one driver of those that have clients."""
        listed = self._listed.get((trial.platform, trial.id)) or self._all_listed(trial, engine)
        return clients.job(self.folder, trial, engine.dialect, listed, self._endpoint(engine), share)

    def job_until(self, trial: Trial, engine: Database) -> Job:
        """Of streams beside another driver: their statements again and again, until it has ended."""
        listed = self._listed.get((trial.platform, trial.id)) or self._all_listed(trial, engine)
        return streams.job_until(self.folder, trial, engine.dialect, listed, self._endpoint(engine))

    def read_until(self, output: Path, trial: Trial, window: tuple[float, float]) -> Reading:
        """Of ``job_until``: what lies within the window of the other driver, in epoch seconds."""
        return streams.read_until(self.folder, output, trial, window)

    def _endpoint(self, engine: Database) -> Endpoint:
        """Where tables are there already, and nobody gave leave to change them, the server lets nothing be changed.

        Sessions are opened so: a setting of the role would be left behind by a worker that dies.
        """
        return engine.endpoint(pooled=False, settings=data.read_only(self.folder, engine))

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:
        answered: Mapping[str, Sequence[str]]
        if self.by_clients:
            reading, once = clients.read(self.folder, output, trial)
            answered = {key: [given] for key, given in once.items()}
        else:
            reading, answered = streams.read(self.folder, output, trial)
        if not reading.measurements:
            return reading
        before = json_of(output / "before.json").get("workload") or {}
        numbers, problems = asked.read(self.folder, output, before.get("asked") or {})
        wrong, digests = answers.judge(self.folder, trial, answered, expected)
        details = dict(reading.details) | {"answer": digests, TEXTS: answers.of_texts(self.folder, digests)}
        if fell := before.get("planned_by_planner"):
            warnings = cast(list[str], details.get("warnings") or [])
            details["warnings"] = [*warnings, f"ORCA did not plan {', '.join(fell)}; the planner did"]
        return replace(
            reading,
            measurements=reading.measurements | numbers,
            invalid=(*reading.invalid, *problems, *wrong),
            details=details,
        )

    def restore(self, trial: Trial, engine: Database) -> None:
        self._listed.pop((trial.platform, trial.id), None)
        engine.reset_session()

    # What parameters are drawn from.

    def _of_files(self) -> dict[int, list[Any]]:
        return {id(one): self.folder.lines(one.file) for one in self.folder.every_parameter if one.file}

    def _of_queries(self, trial: Trial, engine: Database, settings: Mapping[str, str]) -> dict[int, list[Any]]:
        """What the database answers now, in order, so that the seed decides what is drawn. Each file is asked once."""
        values = {name: raw(str(trial.levels[name])) for name in self.folder.said.factors}
        answered: dict[tuple[str, int], list[Any]] = {}
        found: dict[int, list[Any]] = {}
        for one, others in self.folder.queried:
            key = (str(one.query), max([1, *(other.column or 1 for other in others)]))
            if key not in answered:
                answered[key] = self._rows(engine, self.folder.only_statement(key[0], values), key[1], settings)
            if not answered[key]:
                raise EngineError(
                    f"workload {self.folder.name!r}: {one.query} answers nothing, so that there is nothing to draw from"
                )
            first = [row[0] for row in answered[key]]
            found[id(one)] = list(dict.fromkeys(first)) if one.count > 1 else first
            found |= {id(other): [row[(other.column or 1) - 1] for row in answered[key]] for other in others}
        return found

    def _rows(self, engine: Database, query: str, columns: int, settings: Mapping[str, str]) -> list[Any]:
        """Its first columns, as often as they are there, without those that have a NULL."""
        numbers = range(1, columns + 1)
        asked = statement(
            "tables",
            "typed_values",
            query=raw(query),
            columns=raw(", ".join(f"value_{n}" for n in numbers)),
            texts=raw(", ".join(f"CAST(answered.value_{n} AS text) AS text_{n}" for n in numbers)),
            types=raw(", ".join(f"CAST(pg_typeof(answered.value_{n}) AS text) AS type_{n}" for n in numbers)),
            present=raw(" AND ".join(f"answered.value_{n} IS NOT NULL" for n in numbers)),
        )
        rows = engine.query(asked, settings=settings)
        found = [tuple(_value(row[f"text_{n}"], row[f"type_{n}"]) for n in numbers) for row in rows]
        return sorted(found, key=lambda row: [(str(type(each)), each) for each in row])

    def _all_listed(self, trial: Trial, engine: Database) -> Listed:
        own = data.own_session(self.folder, self.dataset(trial.levels, trial.seed), engine)
        return self._of_files() | self._of_queries(trial, engine, own)


def _value(text: str, kind: str) -> int | Decimal | Typed:
    """Of a type that compares with what it came from: by an index, where there is one."""
    if kind in WHOLE:
        return int(text)
    return Decimal(text) if kind == "numeric" and text != "NaN" else Typed(text, OF_ANY_LENGTH.get(kind, kind))


def _factors(folder: Folder, owner: Workload | None) -> dict[str, Factor]:
    own = {
        name: Factor(
            factor.default,
            factor.title,
            choices=tuple(factor.choices or ()),
            minimum=factor.since or 0,
            maximum=factor.until or 0,
            is_fractional=factor.is_fractional,
            wording=factor.says,
            is_dataset=name in folder.size_factors,
            is_size=factor.is_size,
            setting=factor.setting or "",
        )
        for name, factor in folder.said.factors.items()
    }
    of_driver = clients.factors(folder) if folder.by_clients else streams.factors(folder)
    made = {"storage": STORAGE, "compression": COMPRESSION} if folder.made else {}
    if owner:
        made = {name: factor for name, factor in owner.factors.items() if factor.is_dataset}
    return {**own, **of_driver, "optimizer": OPTIMIZER, **made}


def _asked(one: Asked) -> MeasurementKind:
    """What the database is asked for after each trial."""
    less = ", less what it was before the trial" if one.minus_before else ""
    about = About(f"What the database answered after the trial to the query in `{one.file}`{less}.", NO_CLOCK)
    return MeasurementKind(one.unit, one.title, one.better, about=about)


def _measurements(folder: Folder) -> dict[str, MeasurementKind]:
    of_driver = clients.measurements(folder) if folder.by_clients else streams.measurements(folder)
    own = {name: _asked(one) for name, one in folder.said.asked.items()}
    beside = resource_use.MEASUREMENTS if folder.by_clients else {}
    return {**of_driver, **own, **beside, **database_work.MEASUREMENTS}
