"""The weekly run: what each experiment is asked for, what became of it, and its archive. No Airflow in here.

It is archived like any run, below ``weekly/<run id>/`` (``docs/archive.md``). Every step can be tried again: what an
earlier try has written stands.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from clusterbench import __version__
from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.connections import HISTORY, Connections, why_no_history
from clusterbench.base.errors import ArchiveError, ClusterbenchError
from clusterbench.base.run_ids import WEEKLY, hash_suffix, whose
from clusterbench.base.words import shortened
from clusterbench.history.changes import ReportedChange, broken
from clusterbench.history.model import WeekRun
from clusterbench.results.compare_cells import cell_key
from clusterbench.results.lock_holders import held_by
from clusterbench.results.run_state import RunState, archived_state
from clusterbench.spec import SCALES, Experiment
from clusterbench.spec.catalog import is_offered
from clusterbench.spec.concurrency import concurrency_levels
from clusterbench.spec.experiment import Scale

if TYPE_CHECKING:
    from clusterbench.history.again import MeasuredAgain
    from clusterbench.history.series_changes import SeriesChange
    from clusterbench.run.run import Run

log = logging.getLogger(__name__)

NOT_STARTED = "not started"
"""The state of an experiment without a DAG run; others are Airflow's own of its DAG run."""
REASON_CHARACTERS = 400


class RegressionError(ClusterbenchError):
    """Something got worse, or is no longer there; the message names each."""


# What an experiment is asked for.


def choices_of(
    experiment: Experiment, scale: Scale, extent: str, words: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """What its form is sent; None where a part was asked for and it declares none.

    ``words``: the week's note and tags.
    """
    said = {name: value for name, value in (words or {}).items() if value}
    if extent == "whole":
        return {"scale": scale, **said}
    part = experiment.part
    if part is None:
        return None
    scale = min(scale, part.scale or scale, key=SCALES.index)
    levels = concurrency_levels(experiment, scale, part.sweeps)
    chosen: dict[str, Any] = {
        "platforms": [name for name in part.platforms if is_offered(name)],
        "sweeps": part.sweeps,
        "concurrency": [level for level in part.concurrency if level in levels],
        "repetitions": part.repetitions,
    }
    return {"scale": scale, **{name: value for name, value in chosen.items() if value}, **said}


# What became of it.


def runs_of(week: Mapping[str, Any]) -> list[WeekRun]:
    return [WeekRun(**run) for run in week["runs"]]


def find(store: Store, experiment: str, dag_run_id: str) -> RunArchive | None:
    """The archive of a DAG run: its run id ends in letters that stand for Airflow's."""
    for run_id in sorted(store.folders(f"{experiment}/"), reverse=True):
        if run_id.endswith(f"-{hash_suffix(dag_run_id)}"):
            archive = RunArchive(store, experiment, run_id)
            opened = archive.get_json("run.json") or {}
            if (opened.get("started_by") or {}).get("dag_run_id") == dag_run_id:
                return archive
    return None


def outcome(store: Store, experiment: str, dag_run_id: str, state: str | None) -> WeekRun:
    """``state`` is that of its DAG run, None where there is none."""
    if state is None:
        why = f"its run could not be started; the reason is in the log of {experiment}.start"
        return WeekRun(experiment, "", None, NOT_STARTED, why, RunState.INCOMPLETE.value)
    archive = find(store, experiment, dag_run_id)
    if archive is None:
        why = "it was refused before it began; the reason is in the log of its open_run"
        return WeekRun(
            experiment, dag_run_id, None, state, "" if state == "success" else why, RunState.INCOMPLETE.value
        )
    return WeekRun(
        experiment, dag_run_id, archive.run_id, state, _reason(archive, state), archived_state(archive).value
    )


def _reason(archive: RunArchive, state: str) -> str:
    """Why a run is not valid, in the words of its verdicts and errors, cut where they are many."""
    manifest = archive.get_json("manifest.json")
    if state == "success" and manifest and manifest["valid"]:
        return ""
    verdicts = (archive.get_json("verdicts.json") or {}).get("verdicts", [])
    said = [f"{error['platform']}, {error['step']}: {error['error']}" for error in archive.errors()]
    said += [f"check failed: {v['says']} ({v['found']})" for v in verdicts if v["critical"] and not v["passed"]]
    if not said:
        said = [f"its DAG run is {state}; the logs of its tasks say why"]
    return shortened("; ".join(" ".join(line.split()) for line in said), REASON_CHARACTERS)


# The steps.


def open_week(run: Run, chosen: Mapping[str, Any], started_by: Mapping[str, str]) -> str:
    """Claim the run id in the archive. Returns its address in object storage."""
    opened = {
        "run_id": run.run_id,
        "experiment": WEEKLY,
        "started_by": dict(started_by),
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "choices": dict(chosen),
        "clusterbench": __version__,
    }
    if not run.archive.put_json("run.json", opened) and (
        run.archive.sealed or run.archive.need_json("run.json")["started_by"] != opened["started_by"]
    ):
        said = whose(run.archive.need_json("run.json"), opened)
        raise ArchiveError(f"{run.archive.url}: a week with that id exists already; start a new weekly run{said}")
    return run.archive.url


def note_week(run: Run, outcomes: Sequence[WeekRun], left_out: Mapping[str, str], airflow_url: str) -> dict[str, Any]:
    """week.json: what ran, and what did not and why. ``left_out``: what was not wanted, and why.

    Whether there is a history database is noted here for the whole week, so that the steps after this one agree.
    """
    _check_open(run)
    no_history = why_no_history(run.connections)
    opened = run.archive.need_json("run.json")
    week = {
        "run_id": run.run_id,
        "dag_run_id": opened["started_by"]["dag_run_id"],
        "scale": opened["choices"]["scale"],
        "extent": opened["choices"]["extent"],
        "started_at": opened["started_at"],
        "ended_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "runs": [asdict(one) for one in outcomes],
        "left_out": dict(left_out),
        "airflow_url": airflow_url,
        **({"measured_nothing": True} if opened["choices"].get("experiments") == [] else {}),
        **({"without_history": no_history} if no_history else {}),
    }
    run.archive.put_json("week.json", week)
    return run.archive.need_json("week.json")


def _check_open(run: Run) -> None:
    if run.archive.sealed:
        raise ArchiveError(f"{run.archive.url}: this week is finished and sealed; start a new weekly run instead")


def load_history(run: Run) -> str:
    """What of the archive the history database lacks: runs, weeks, baselines, published values. Returns how much."""
    from clusterbench.history import database, load  # noqa: PLC0415  psycopg, which no DAG needs

    with database.for_loading(run.connections(HISTORY)) as db:
        return str(load.catch_up(db, run.archive.store, run.catalog))


def without_history(run: Run) -> str:
    """Why this week's results are not followed over time: the installation has no history database. Else empty."""
    return str((run.archive.get_json("week.json") or {}).get("without_history") or "")


def newest_runs(connections: Connections, experiments: Sequence[str], scale: str) -> list[WeekRun]:
    """For a weekly run that measures nothing: the last finished run of each experiment at that scale."""
    from clusterbench.history import database, read  # noqa: PLC0415

    if why := why_no_history(connections):
        raise ClusterbenchError(
            f"the newest runs are looked up in the history database, which this installation does not have: {why}"
        )
    with database.opened(connections(HISTORY)) as db:
        found = [row for row in read.latest(db, experiments) if row.scale == scale]
    return [
        WeekRun(row.experiment, row.dag_run_id, row.run_id, "success" if row.is_valid else "failed",
                "" if row.is_valid else "it is not valid; the reason is in its report", row.state.value)
        for row in found
    ]  # fmt: skip


def find_changes(run: Run, again: MeasuredAgain | None = None) -> list[ReportedChange]:
    """changes.json: each series of the week's runs against its history. Raises RegressionError for what got worse.

    ``again``: what was measured again, as it looked worse.
    """
    kept = run.archive.get_json("changes.json")
    if kept is None:
        _check_open(run)
        run.archive.put_json("changes.json", {"changes": _changes(run, again)})
        kept = run.archive.need_json("changes.json")
    found = [ReportedChange.of(entry) for entry in kept["changes"]]
    if worse := broken(found):
        raise RegressionError("\n".join(one.line for one in worse))
    return found


def _changes(run: Run, again: MeasuredAgain | None) -> list[dict[str, Any]]:
    from clusterbench.history import database, series_changes  # noqa: PLC0415  otava and numpy

    runs = runs_of(run.archive.need_json("week.json"))
    with database.opened(run.connections(HISTORY)) as db:
        run_ids = {one.experiment: one.run_id for one in runs if one.run_id}
        found = series_changes.of_week(db, run.catalog, run_ids, again)
    return [replace(change, held_by=_held_by(run, run_ids, change)).as_json() for change in found]


def _held_by(run: Run, run_ids: Mapping[str, str], change: SeriesChange) -> str:
    """Who held the locks in the week's own run; its records are read only where more was waited for them."""
    if not any(one.is_of_locks for one in change.work):
        return ""
    series = change.series
    cell = (series.platform, cell_key(series.sweep, series.levels))
    records = RunArchive(run.archive.store, series.experiment, run_ids[series.experiment]).trials()
    return held_by(
        [one for one in records if (one.trial.platform, cell_key(one.trial.sweep, one.trial.levels)) == cell]
    )


def write_report(run: Run) -> None:
    """The week's page, and the same in a few lines for a mail; without charts where the history database is away."""
    _check_open(run)
    from clusterbench.report.week import page  # noqa: PLC0415  templates and charts

    gathered = page.week_of(run.connections, run.catalog, run.archive)
    run.archive.put_new("report.html", page.render_week(gathered).encode(), "text/html; charset=utf-8")
    run.archive.put_new("report.txt", page.text_of_week(gathered).encode(), "text/plain; charset=utf-8")


def seal(run: Run) -> str:
    """The manifest, last and once; then the week's own rows of the history, where there is one.

    Returns the run's address.
    """
    from clusterbench.history import database, load  # noqa: PLC0415

    opened, week = run.archive.need_json("run.json"), run.archive.get_json("week.json")
    changes = (run.archive.get_json("changes.json") or {}).get("changes")
    found = None if changes is None else [ReportedChange.of(entry) for entry in changes]
    run.archive.seal({"valid": not problems(week, found), "started_by": opened["started_by"]})
    if without_history(run):
        return run.archive.url
    with database.opened(run.connections(HISTORY)) as db:
        load.load_week(db, run.archive)
    return run.archive.url


def problems(week: Mapping[str, Any] | None, found: Sequence[ReportedChange] | None) -> list[str]:
    """What makes a week a bad one, a line each; empty for a good one.

    ``found`` is None where nothing was compared: that is a problem only where there is a history to compare with.
    """
    if week is None:
        return ["the week was not archived; the reason is in the log of an earlier task"]
    said = [f"{one.experiment}: {one.state}: {one.reason}" for one in runs_of(week) if one.failed]
    if found is None and week.get("without_history"):
        return said
    if found is None:
        return [
            *said,
            "the results were not compared with their history; the reason is in the log of the task 'regressions'",
        ]
    return [*said, *(one.line for one in broken(found))]
