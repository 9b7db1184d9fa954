"""A run as its archive has it: all that its report says, or what of it is compared with another run.

What is absent stays absent: a run that failed has little.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from pydantic import ValidationError

from clusterbench.base import remark_store
from clusterbench.base.archive import RunArchive
from clusterbench.base.errors import ClusterbenchError
from clusterbench.base.in_parallel import in_parallel
from clusterbench.base.plans import fingerprint
from clusterbench.base.records import TrialRecord
from clusterbench.base.remarks import folder_of, withdrawals
from clusterbench.hosts.conformance import Row, archived
from clusterbench.results.compare import OneRun
from clusterbench.results.durability import Durability, of_run
from clusterbench.results.durability import archived as archived_durability
from clusterbench.results.facts_compared import Side
from clusterbench.results.hypervisor_views import Views, gathered
from clusterbench.results.machine_notes import Notes
from clusterbench.results.run_state import RunState, run_state
from clusterbench.results.statistics import Result, results
from clusterbench.results.verdicts import Verdict
from clusterbench.spec import Experiment, Published, Sweep
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.plan import Plan
from clusterbench.trial.rehearsal import divisor
from clusterbench.workloads import Workload, load_workload


@dataclass(frozen=True)
class Gathered:
    """One run, as the archive has it. ``results_are_final`` is False where they were made here, from a partial run."""

    experiment_name: str
    run_id: str
    url: str
    opened: Mapping[str, Any]
    experiment: Experiment | None
    declared_now: Experiment | None
    published: Published | None
    plan: Plan | None
    facts: Mapping[str, Mapping[str, Any]]
    conformance: Mapping[str, list[Row]]
    data: Mapping[str, Mapping[str, Any]]
    results: list[Result]
    results_are_final: bool
    valid: bool | None
    """None where the run was never judged."""
    verdicts: list[Verdict]
    errors: list[dict[str, Any]]
    trials: list[TrialRecord]
    without_result: list[TrialRecord] = field(default_factory=list)
    """Lead-ins and profiled trials."""
    sides: Mapping[str, Side] = field(default_factory=dict)
    """Facts again, with the roles of the hosts, by platform: for comparison."""
    densities: Mapping[str, str] = field(default_factory=dict)
    """What a platform's placement was declared to be, where it was."""
    virtual: frozenset[str] = frozenset()
    """Platforms whose placement was declared to be of virtual machines."""
    vms: Mapping[str, int] = field(default_factory=dict)
    """Virtual machines on each physical server, by platform, where its placement says so; 0: it has none."""
    durability: Durability = field(default_factory=Durability)
    """Read back, and by platform and cell how it was traded away; by the names of before ``labels.py``."""
    outages: Sequence[Mapping[str, Any]] = ()
    """As ``RunArchive.outages``."""
    machines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Platforms whose machines were made for the run, with what came up."""
    views: Views = field(default_factory=dict)
    """What their hypervisor saw of their trials."""
    databases: tuple[str, ...] = ()
    """Platforms whose durability matters, as their files say that they are databases."""

    @property
    def platforms(self) -> list[str]:
        """Those of the plan, or of the choices where the run was not even planned."""
        chosen = (self.opened.get("choices") or {}).get("platforms") or []
        return list(self.plan.trials) if self.plan else list(chosen)

    @property
    def in_turns(self) -> list[str]:
        """Platforms whose trials alternated; none where one was chosen alone."""
        found = self.plan.in_turns if self.plan else []
        return found if len(found) > 1 else []

    @property
    def state(self) -> RunState:
        """May its numbers be used? Of a run that was judged and is not sealed yet what it will be."""
        has_warnings = bool(self.errors) or not all(verdict.passed for verdict in self.verdicts)
        return run_state(self.valid, has_warnings=has_warnings)

    @property
    def names_platforms(self) -> bool:
        """Whether a table says which platform a line is of: one that is not durable is always named."""
        return len(self.platforms) > 1 or bool(self.durability.platforms)

    @property
    def title(self) -> str:
        title = self.experiment.title if self.experiment else self.experiment_name.replace("_", " ")
        by = divisor(self.opened.get("choices") or {})
        return title if by == 1 else f"{title}, rehearsed 1:{by:,}"

    def sweep(self, name: str) -> Sweep | None:
        return self.experiment.sweeps.get(name) if self.experiment else None

    def plots(self, name: str) -> list[str]:
        """What to plot: as the experiment said when it ran, or says now, as this changes no number."""
        for experiment in (self.experiment, self.declared_now):
            sweep = experiment.sweeps.get(name) if experiment else None
            if sweep and sweep.plots:
                return list(sweep.plots)
        return []


def gather(archive: RunArchive, catalog: Catalog, trials: list[TrialRecord] | None = None) -> Gathered:
    """``trials``: in place of all, for who reads them otherwise. Durability is then that of ``results.json``."""
    plan_json = archive.get_json("plan.json")
    plan = Plan.from_json(plan_json) if plan_json else None
    results_json = archive.get_json("results.json")
    verdicts = archive.get_json("verdicts.json")
    now = _declared_now(archive.experiment, catalog)
    experiment, opened = _as_run(archive) or now, archive.get_json("run.json") or {}
    platforms = list(plan.trials) if plan else []
    facts = {name: archive.get_json(f"platforms/{name}/facts.json") or {} for name in platforms}
    files = {name: archive.store.get(f"{archive.prefix}platforms/{name}/platform.yaml") for name in platforms}
    declared = {name: _declared(file) for name, file in files.items()}
    if trials is None:
        trials = archive.trials()
        durability = of_run(facts, trials)
    else:
        durability = archived_durability(results_json, facts)
    measured = [record for record in trials if record.trial.makes_result]
    made = {
        name: up for name, said in declared.items() if "machines" in said and (up := Notes(archive, name).newest("up"))
    }
    return Gathered(
        experiment_name=archive.experiment,
        run_id=archive.run_id,
        url=archive.url,
        opened=opened,
        experiment=experiment,
        declared_now=now,
        published=_published(experiment, catalog, opened),
        plan=plan,
        facts=facts,
        sides={name: Side.of(facts[name], file) for name, file in files.items()},
        densities={name: density for name, said in declared.items() if (density := _density(said))},
        virtual=frozenset(name for name, said in declared.items() if _is_virtual(said)),
        vms={name: vms for name, said in declared.items() if (vms := _vms(said)) is not None},
        durability=durability,
        databases=tuple(name for name, said in declared.items() if said.get("database")),
        conformance={name: archived(archive.get_json(f"platforms/{name}/conformance.json")) for name in platforms},
        data={name: archive.get_json(f"platforms/{name}/data.json") or {} for name in platforms},
        results=_results(results_json, plan, trials),
        results_are_final=results_json is not None,
        valid=bool(verdicts.get("valid")) if verdicts else None,
        verdicts=[Verdict(**verdict) for verdict in (verdicts or {}).get("verdicts", [])],
        errors=archive.errors(),
        outages=archive.outages(),
        machines=made,
        views=gathered(archive, measured, list(made)),
        trials=measured,
        without_result=[record for record in trials if not record.trial.makes_result],
    )


def published_beside(archive: RunArchive, catalog: Catalog) -> Published | None:
    """The paper's numbers that the run's experiment names; none beside a rehearsal."""
    experiment = _as_run(archive) or _declared_now(archive.experiment, catalog)
    return _published(experiment, catalog, archive.get_json("run.json") or {})


def workload_or_none(name: str) -> Workload | None:
    """None for a workload that this version no longer has; its numbers are shown all the same."""
    try:
        return load_workload(name)
    except ClusterbenchError:
        return None


def _as_run(archive: RunArchive) -> Experiment | None:
    """The experiment as it was when the run was opened, if this version still reads it."""
    raw = archive.store.get(archive.prefix + "experiment.yaml")
    try:
        return Experiment.model_validate(yaml.safe_load(raw)) if raw else None
    except (yaml.YAMLError, ValidationError):
        return None


def _declared(platform: bytes | None) -> dict[str, Any]:
    try:
        return dict(yaml.safe_load(platform or b"") or {})
    except yaml.YAMLError:
        return {}


def _density(declared: Mapping[str, Any]) -> str:
    return str((declared.get("placement") or {}).get("density") or "")


def _is_virtual(declared: Mapping[str, Any]) -> bool:
    return bool((declared.get("placement") or {}).get("vms_per_machine"))


def _vms(declared: Mapping[str, Any]) -> int | None:
    found = (declared.get("placement") or {}).get("vms_per_machine")
    return None if found is None else int(found)


def _declared_now(name: str, catalog: Catalog) -> Experiment | None:
    try:
        return catalog.experiment(name)
    except ClusterbenchError:
        return None


def _published(experiment: Experiment | None, catalog: Catalog, opened: Mapping[str, Any]) -> Published | None:
    if experiment is None or experiment.published is None or divisor(opened.get("choices") or {}) > 1:
        return None
    try:
        return catalog.published(experiment.published)
    except ClusterbenchError:
        return None


def _results(found: Mapping[str, Any] | None, plan: Plan | None, trials: list[TrialRecord]) -> list[Result]:
    if found is not None:
        return [Result.from_json(entry) for entry in found.get("results", [])]
    return results(plan.trials, trials, plan.in_turns) if plan else []


# What of a run is compared with another.


def read_run(archive: RunArchive) -> OneRun:
    """Raises ArchiveError where the run has no results yet."""
    found = archive.need_json("results.json")
    results = [Result.from_json(entry) for entry in found["results"]]
    platforms = dict.fromkeys(result.platform for result in results)
    facts = {name: archive.get_json(f"platforms/{name}/facts.json") for name in platforms}
    sides = {
        name: Side.of(facts[name], archive.store.get(f"{archive.prefix}platforms/{name}/platform.yaml"))
        for name in platforms
    }
    rows = {name: archived(archive.get_json(f"platforms/{name}/conformance.json")) for name in platforms}
    declared = {name: _declared_of(found) for name, found in rows.items()}
    kept = archived_durability(found, {name: known or {} for name, known in facts.items()})
    name, opened = f"{archive.experiment}/{archive.run_id}", archive.need_json("run.json")
    said = tuple(withdrawals(remark_store.read(archive.store, folder_of(archive.experiment, archive.run_id))))
    return OneRun(name, opened, sides, declared, kept.labelled(results), kept, plans_of(archive, results), said)


def plans_of(archive: RunArchive, results: Sequence[Result]) -> dict[str, str]:
    """Fingerprint -> plan, of the plans that these results name."""
    wanted = {known for result in results for known in result.plans.values()}
    cells = [(result.platform, result.cell) for result in results if result.plans]
    found = in_parallel(lambda cell: list(archive.plans(*cell).values()), cells)
    return {known: plan for plans in found for plan in plans if (known := fingerprint(plan)) in wanted}


def of_gathered(run: Gathered) -> OneRun:
    """The same of a run with results that was gathered without its trials: nothing is read again."""
    platforms = dict.fromkeys(result.platform for result in run.results)
    sides = {name: run.sides[name] for name in platforms}
    declared = {name: _declared_of(run.conformance[name]) for name in platforms}
    name, kept = f"{run.experiment_name}/{run.run_id}", run.durability
    return OneRun(name, run.opened, sides, declared, kept.labelled(run.results), kept)


def _declared_of(rows: Iterable[Row]) -> dict[str, str]:
    """Hosts of the same setting as one: they have other names in other runs."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        found.setdefault(row.setting, {})[row.declared] = None
    return {setting: ", ".join(sorted(values)) for setting, values in found.items()}
