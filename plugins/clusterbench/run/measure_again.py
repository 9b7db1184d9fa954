"""What looks worse in a weekly run is measured again in the same weekend: which cells, and what came of it.

No Airflow in here. ``suspicions.json`` of the week's archive says what was asked for; the runs are runs like any other,
of the scale that ``rehearsal.scale_of`` gives them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from clusterbench.base.archive import MANIFEST, RunArchive, in_parallel
from clusterbench.base.connections import HISTORY
from clusterbench.base.run_ids import run_started_by
from clusterbench.history import again
from clusterbench.history.again import Asked, MeasuredAgain, Suspicions
from clusterbench.results.compare_cells import cell_key
from clusterbench.run.weekly import find, runs_of

if TYPE_CHECKING:
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
    chosen = again.choose(regarded, costs, hours, run.run_id)
    return Suspicions(chosen.asked, chosen.left_out, hours, chosen.rounds, until)


def choices_of(run: Run, asked: Asked) -> dict[str, Any]:
    """What the run that measures again is asked for: as the week's own run of the experiment, and of these cells."""
    runs = {one.experiment: one.run_id for one in runs_of(run.archive.need_json("week.json"))}
    own = RunArchive(run.archive.store, asked.experiment, runs[asked.experiment] or "").need_json("run.json")["choices"]
    kept = {name: own[name] for name in ("scale", "sweeps", "concurrency", "repetitions", "seed") if name in own}
    return {**kept, "platforms": [asked.platform], "cells": list(asked.cells), "confirms": run.run_id}


def run_name(weekly_dag_run_id: str, asked: Asked, number: int) -> str:
    """Airflow's id of the run that measures again for the so-manieth time."""
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
    for of_run in in_parallel(lambda one: dict(_medians(run, *one)), wanted):
        for key, value in of_run.items():
            medians.setdefault(key, []).append(value)
    return MeasuredAgain(suspicions, medians)


def _medians(run: Run, asked: Asked, dag_run_id: str) -> Iterator[tuple[again.Key, float]]:
    archive = find(run.archive.store, asked.experiment, dag_run_id)
    manifest: Mapping[str, Any] = (archive.get_json(MANIFEST) if archive else None) or {}
    if archive is None or not manifest.get("valid"):
        log.warning("%s, measured again on %s: no valid run %s", asked.experiment, asked.platform, dag_run_id)
        return
    for result in archive.need_json("results.json")["results"]:
        for name, summary in result["measurements"].items():
            cell = cell_key(result["sweep"], result["levels"])
            yield (asked.experiment, result["platform"], cell, name), summary["median"]
