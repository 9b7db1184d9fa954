"""What looks worse in a weekly run is measured again in the same weekend: which cells, and what came of it.

No Airflow in here. ``suspicions.json`` of the week's archive says what was asked for; the runs are runs like any other,
of the scale that ``rehearsal.scale_of`` gives them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from clusterbench.base.archive import MANIFEST, RunArchive
from clusterbench.base.connections import HISTORY
from clusterbench.base.factors import SERVER, SERVER_LEVEL
from clusterbench.base.in_parallel import in_parallel
from clusterbench.base.run_ids import run_started_by
from clusterbench.history import again
from clusterbench.history.again import Asked, MeasuredAgain, Suspicions, Turns
from clusterbench.results.compare_cells import cell_key
from clusterbench.run.weekly import find, runs_of
from clusterbench.spec.leave import why_not

if TYPE_CHECKING:
    from clusterbench.history.database import Database
    from clusterbench.run.run import Run

log = logging.getLogger(__name__)


def look(run: Run, hours: float) -> Suspicions:
    """suspicions.json: what looks worse, and may be measured again within so many hours; nothing with 0."""
    kept = run.archive.get_json("suspicions.json")
    if kept is None:
        run.archive.put_json("suspicions.json", _suspicions(run, hours).as_json())
        kept = run.archive.need_json("suspicions.json")
    return Suspicions.of(kept)


def _suspicions(run: Run, hours: float) -> Suspicions:
    from clusterbench.history import database, read, series_changes  # noqa: PLC0415  otava and numpy

    runs = {one.experiment: one.run_id for one in runs_of(run.archive.need_json("week.json")) if one.run_id}
    until = (datetime.now(UTC) + timedelta(hours=hours)).isoformat(timespec="seconds")
    with database.opened(run.connections(HISTORY)) as db:
        regarded = series_changes.regarded_of_week(db, run.catalog, runs)
        costs = {key: value for name, one in runs.items() for key, value in read.costs(db, name, one).items()}
        turns = {place: found for place in {one.place for one in regarded} if (found := _turns(db, run, place, runs))}
    chosen = again.choose(regarded, costs, hours, run.run_id, turns)
    return replace(chosen, until=until)


def _turns(db: Database, run: Run, place: again.Place, runs: Mapping[str, str]) -> Turns | None:
    """The one declared setting of the servers that changed since the run before, where it may be set; else None."""
    from clusterbench.history import read  # noqa: PLC0415

    experiment, name = place
    now = read.run(db, experiment, runs[experiment])
    assert now is not None
    (before,) = read.runs(db, experiment, now.scale, limit=1, before=now.started_at) or (None,)
    platform = run.catalog.platform(name)
    if before is None or why_not(platform, "engine_settings", "restart") or not platform.database:
        return None
    declared = read.declared(db, experiment, name, [before.run_id, now.run_id])
    old, new = (declared.get(one.run_id, {}) for one in (before, now))
    changed = [
        Turns(setting, old[setting], new[setting])
        for setting in platform.settings
        if setting in old and setting in new and old[setting] != new[setting]
        if SERVER_LEVEL.fullmatch(old[setting]) and SERVER_LEVEL.fullmatch(new[setting])
    ]
    return changed[0] if len(changed) == 1 else None


def choices_of(run: Run, asked: Asked) -> dict[str, Any]:
    """What the run that measures again is asked for: as the week's own run of the experiment, and of these cells."""
    runs = {one.experiment: one.run_id for one in runs_of(run.archive.need_json("week.json"))}
    own = RunArchive(run.archive.store, asked.experiment, runs[asked.experiment] or "").need_json("run.json")["choices"]
    kept = {name: own[name] for name in ("scale", "sweeps", "concurrency", "repetitions", "seed") if name in own}
    return {
        **kept,
        "platforms": [asked.platform],
        "cells": list(asked.cells),
        "confirms": run.run_id,
        **_in_turns(asked),
    }


def _in_turns(asked: Asked) -> dict[str, Any]:
    turns = asked.in_turns
    return {"in_turns": {f"{SERVER}{turns.setting}": [turns.old, turns.new]}} if turns else {}


def run_name(weekly_dag_run_id: str, asked: Asked, number: int) -> str:
    """Airflow's id of the run that measures again in that round, from 1 on."""
    return f"{run_started_by(weekly_dag_run_id)}__again_{asked.platform}_{number}"


def found(run: Run) -> MeasuredAgain | None:
    """What the valid ones of these runs have measured; None where nothing was asked for."""
    said = run.archive.get_json("suspicions.json")
    suspicions = Suspicions.of(said) if said else None
    if suspicions is None or not suspicions.asked:
        return None
    dag_run_id = run.archive.need_json("run.json")["started_by"]["dag_run_id"]
    wanted = [
        (asked, run_name(dag_run_id, asked, number))
        for asked in suspicions.asked
        for number in range(1, suspicions.rounds + 1)
    ]
    medians: dict[again.Key, list[float]] = {}
    pairs: dict[again.Key, list[tuple[float, float]]] = {}
    for of_run in in_parallel(lambda one: list(_medians(run, *one)), wanted):
        now = {key: value for key, is_old, value in of_run if not is_old}
        old = {key: value for key, is_old, value in of_run if is_old}
        for key, value in now.items():
            medians.setdefault(key, []).append(value)
            if key in old:
                pairs.setdefault(key, []).append((old[key], value))
    return MeasuredAgain(suspicions, medians, pairs)


def _medians(run: Run, asked: Asked, dag_run_id: str) -> Iterator[tuple[again.Key, bool, float]]:
    """Each result's median, and whether it was measured with the setting as it was before."""
    archive = find(run.archive.store, asked.experiment, dag_run_id)
    manifest: Mapping[str, Any] = (archive.get_json(MANIFEST) if archive else None) or {}
    if archive is None or not manifest.get("valid"):
        log.warning("%s, measured again on %s: no valid run %s", asked.experiment, asked.platform, dag_run_id)
        return
    factor, old = (f"{SERVER}{asked.in_turns.setting}", asked.in_turns.old) if asked.in_turns else ("", "")
    for result in archive.need_json("results.json")["results"]:
        is_old = bool(factor) and str(result["levels"].get(factor)) == old
        cell = cell_key(result["sweep"], {name: level for name, level in result["levels"].items() if name != factor})
        for name, summary in result["measurements"].items():
            yield (asked.experiment, result["platform"], cell, name), is_old, summary["median"]
