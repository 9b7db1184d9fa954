"""An archived run -> rows of the history database. Pure, but for reading the archive."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from clusterbench.base.archive import RunArchive
from clusterbench.base.errors import HistoryError
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.base.run_ids import asked_at
from clusterbench.history.model import STATE
from clusterbench.results.compare import OneRun
from clusterbench.results.facts_compared import AS_COMPARED, Side
from clusterbench.results.gather import Gathered, gather, of_gathered, plans_of
from clusterbench.results.statistics import Result
from clusterbench.results.sweep_results import SweepResults
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.rehearsal import scale_of

AT_ONCE = 256
"""Records that are in memory at a time: of each only a line is kept."""
DIGITS = 6
"""Of telemetry: a mean of samples is not known better."""

Row = tuple[Any, ...]
SeriesKey = tuple[str, str, str]
"""Platform, sweep, levels as JSON: with experiment and scale, which series of the database a result belongs to."""


@dataclass(frozen=True)
class RunRows:
    """Columns in the order of ``load.py``. ``measurements`` has as many entries as ``results``: those of each."""

    run: dict[str, Any]
    fact_sets: dict[str, str]
    platforms: list[Row]
    trials: list[Row]
    series: list[SeriesKey]
    results: list[Row]
    measurements: list[list[Row]] = field(repr=False)
    verdicts: list[Row] = field(repr=False)
    plan_sets: dict[str, str] = field(default_factory=dict, repr=False)
    plans: dict[str, str] = field(default_factory=dict, repr=False)
    """Fingerprint -> plan."""


def rows_of(archive: RunArchive, catalog: Catalog, manifest_sha256: str) -> RunRows:
    run = gather(archive, catalog, trials=[])
    if not run.opened:
        archive.need_json("run.json")  # says what is wrong
    compared = of_gathered(run) if run.results_are_final else None
    sides = {name: side.as_compared() for name, side in run.sides.items()}
    fact_sets = {name: json.dumps(_facts_json(side)) for name, side in sides.items()}
    trials, times = _trials(archive, run, sides)
    results = compared.results if compared else []
    return RunRows(
        run=_run(run, compared, manifest_sha256, trials, times),
        fact_sets={_digest(text): text for text in fact_sets.values()},
        platforms=[
            (name, position, _digest(fact_sets[name]), *_declared(compared, name))
            for position, name in enumerate(run.platforms)
            if name in sides
        ],
        trials=trials,
        series=[(result.platform, result.sweep, as_json(result.levels)) for result in results],
        results=[_result(position, result) for position, result in enumerate(results)],
        measurements=_measurements(run, results),
        verdicts=[
            (n, v.suite, v.check, text(v.says), v.passed, v.critical, text(v.found)) for n, v in enumerate(run.verdicts)
        ],
        plan_sets={_digest(said): said for result in results if (said := _plan_set(result))},
        plans={fingerprint: text(plan) for fingerprint, plan in plans_of(archive, results).items()},
    )


def as_json(value: object) -> str:
    """NaN is none of JSON's numbers, and NUL none of PostgreSQL's letters."""
    return json.dumps(_finite(value), sort_keys=True).replace("\\u0000", "\\ufffd")


def text(value: object) -> str:
    return str(value).replace("\0", "\ufffd")


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _digest(said: str) -> str:
    return hashlib.sha256(said.encode()).hexdigest()


# The run and its platforms.


def _run(
    run: Gathered, compared: OneRun | None, manifest_sha256: str, trials: Sequence[Row], times: Sequence[datetime]
) -> dict[str, Any]:
    choices = run.opened.get("choices") or {}
    started_at = asked_at(run.run_id) or min(times, default=None)
    if started_at is None:
        raise HistoryError(f"{run.url}: neither its id nor any trial has a time, so it cannot be placed in the history")
    return {
        "experiment": run.experiment_name,
        "run_id": run.run_id,
        "title": text(run.title),
        "scale": scale_of(choices),
        "seed": int(choices.get("seed") or 0),
        "is_valid": bool(run.valid),
        "started_at": started_at,
        "ended_at": max(times, default=None),
        "planned": len(trials),
        "completed": sum(trial[OUTCOME] == "completed" for trial in trials),
        "dag_run_id": str((run.opened.get("started_by") or {}).get("dag_run_id") or ""),
        "opened": as_json({**run.opened, STATE: run.state.value}),
        "durability": as_json(compared.kept.as_json()) if compared else None,
        "clusterbench": str(run.opened.get("clusterbench") or ""),
        "url": run.url,
        "manifest_sha256": manifest_sha256,
    }


def _declared(compared: OneRun | None, platform: str) -> tuple[str, str]:
    """Declared settings, and how durability was traded away."""
    if compared is None:
        return "{}", ""
    return json.dumps(compared.declared.get(platform, {})), compared.kept.platforms.get(platform, "")


def _facts_json(side: Side) -> dict[str, Any]:
    """Of a side as it is compared. Hosts that are alike share one kind."""
    kinds: dict[str, int] = {}
    hosts = []
    for host, facts in side.hosts.items():
        kind = {"roles": list(side.roles[host]), "facts": facts[AS_COMPARED]}
        hosts.append((host, kinds.setdefault(json.dumps(kind), len(kinds))))
    return {"engine": side.facts[AS_COMPARED], "kinds": [json.loads(kind) for kind in kinds], "hosts": hosts}


def side_of(found: Mapping[str, Any]) -> Side:
    """The side again."""
    kinds = found["kinds"]
    hosts = {host: {AS_COMPARED: kinds[kind]["facts"]} for host, kind in found["hosts"]}
    return Side({AS_COMPARED: found["engine"], "hosts": hosts}, {h: kinds[kind]["roles"] for h, kind in found["hosts"]})


# Trials.

OUTCOME = 9
"""Its place in a row of ``trials``."""


def _trials(archive: RunArchive, run: Gathered, sides: Mapping[str, Side]) -> tuple[list[Row], list[datetime]]:
    """A row for every planned trial, and when the trials began and ended."""
    rows: list[Row] = []
    times: list[datetime] = []
    if run.plan is None:
        return rows, times
    in_turns = {turn: index for index, turn in enumerate(run.plan.turns)}
    for platform, planned in run.plan.trials.items():
        roles, per_task = sides[platform].roles, run.plan.trials_per_task(platform)
        for index, trial, record in _records(archive, planned):
            if not trial.makes_result:
                continue
            task = in_turns.get((platform, trial.id), index) // per_task
            rows.append(_trial(task, trial, record, roles))
            times += _times(record)
    return rows, times


def _records(archive: RunArchive, planned: Sequence[Trial]) -> Iterator[tuple[int, Trial, TrialRecord | None]]:
    for first in range(0, len(planned), AT_ONCE):
        batch = planned[first : first + AT_ONCE]
        records = archive.records([(trial.platform, trial.id) for trial in batch])
        for number, (trial, record) in enumerate(zip(batch, records, strict=True)):
            yield first + number, trial, record


def _trial(index: int, trial: Trial, record: TrialRecord | None, roles: Mapping[str, Sequence[str]]) -> Row:
    said = record or TrialRecord(trial, "invalid", "")
    return (
        trial.platform,
        trial.id,
        index,
        trial.label,
        trial.sweep,
        trial.workload,
        trial.cell,
        trial.repetition,
        as_json(trial.levels),
        record.outcome if record else "not_run",
        text(said.reason),
        said.started_at or None,
        said.window_start_s,
        said.window_end_s,
        said.samples,
        said.errors,
        as_json(said.measurements),
        as_json(telemetry_by_role(said.telemetry, roles)),
    )


def _times(record: TrialRecord | None) -> list[datetime]:
    if record is None or not record.started_at:
        return []
    began = datetime.fromisoformat(record.started_at)
    began = began if began.tzinfo else began.replace(tzinfo=UTC)
    return [began, began + timedelta(seconds=sum(record.phases_s.values()))]


def telemetry_by_role(found: Mapping[str, Any], roles: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Role -> how many hosts, and of each metric the mean of their means and, of several hosts, the highest.

    By role, as all hosts of 636 of them would be a million rows a run; the archive has each host's.
    """
    by_role: dict[str, list[Mapping[str, float]]] = {}
    for host, told in found.items():
        if told.get("samples") and told.get("mean"):
            for role in roles.get(host, ["host"]):
                by_role.setdefault(role, []).append(told["mean"])
    return {role: _of_hosts(means) for role, means in by_role.items()}


def _of_hosts(means: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    names = dict.fromkeys(name for each in means for name in each)
    values = {name: [each[name] for each in means if name in each] for name in names}
    told: dict[str, Any] = {"hosts": len(means), "mean": {n: _rounded(sum(v) / len(v)) for n, v in values.items()}}
    return told if len(means) == 1 else told | {"highest": {n: _rounded(max(v)) for n, v in values.items()}}


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


# Results.


def _result(position: int, result: Result) -> Row:
    reasons = json.dumps(list(result.reasons)).replace("\\u0000", "\\ufffd")
    said = (position, result.cell, result.label, result.planned, result.completed)
    plan_set = _plan_set(result)
    return (*said, as_json(result.outcomes), reasons, _digest(plan_set) if plan_set else None)


def _plan_set(result: Result) -> str:
    """Empty where its statements have no plans."""
    return as_json(result.plans) if result.plans else ""


def _measurements(run: Gathered, results: Iterable[Result]) -> list[list[Row]]:
    """Direction and what is plotted are the workload's and the experiment's, where this version still has them."""
    views = {view.name: view for view in SweepResults.of_run(run)}
    plotted = {name: set(view.plotted) for name, view in views.items()}
    return [
        [
            (
                name,
                found.unit,
                views[result.sweep].kind(name).better,
                name in plotted[result.sweep],
                *(found.n, found.median, found.best, *(found.interval_95 or (None, None)), list(found.values)),
            )
            for name, found in result.measurements.items()
        ]
        for result in results
    ]
