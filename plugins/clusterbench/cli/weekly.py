"""``clusterbench run weekly``: start the weekly run in Airflow, follow it, and print what came of each experiment."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from clusterbench.airflow.api import AirflowApi
from clusterbench.airflow.watch import Tasks, follow
from clusterbench.base.archive import RunArchive
from clusterbench.base.errors import SpecError, suggest
from clusterbench.base.paths import lab_dir
from clusterbench.base.run_ids import WEEKLY, run_id_from, run_started_by
from clusterbench.cli.common import FAILED, OK, store
from clusterbench.history.changes import STATES, ReportedChange, broken, counted
from clusterbench.report import addresses
from clusterbench.run.weekly import runs_of
from clusterbench.spec.catalog import project_catalog

NOT_OF_A_WEEK = (
    *("platform", "sweep", "cell", "in_turns", "levels", "generate_only"),
    *("concurrency", "repetitions", "profile", "rehearse", "seed"),
)
Show = Callable[[RunArchive], None]


def add_to(run: argparse.ArgumentParser) -> None:
    """Options of ``run`` that only the weekly run has."""
    run.add_argument(
        "--part", action="store_true", help="only for 'weekly': run only the part that each experiment declares"
    )
    run.add_argument(
        "--confirm-hours",
        type=float,
        metavar="H",
        help="only for 'weekly': hours for measuring again what looks worse; 0 for none",
    )
    run.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="only for 'weekly': run only this experiment; repeat for several",
    )


def run_week(api: AirflowApi, chosen: Mapping[str, Any], show: Show, *, wait: bool) -> int:
    """``show`` prints the results of an experiment's archive. Exit status 0 only where all is valid."""
    dag_run_id = api.trigger(WEEKLY, chosen)
    print(f"started {WEEKLY}: {api.url}{addresses.dag_run(WEEKLY, dag_run_id)}")
    if said := api.unpause(WEEKLY):
        print(said)
    if not wait:
        return OK
    state = follow(api, WEEKLY, dag_run_id, started=lambda tasks: _started(tasks, dag_run_id))
    asked = datetime.fromisoformat(api.dag_run(WEEKLY, dag_run_id)["run_after"])
    return show_end(RunArchive(store(), WEEKLY, run_id_from(asked, dag_run_id)), state, show)


def chosen(options: argparse.Namespace) -> dict[str, Any]:
    """Of a weekly run. Raises SpecError for a choice of the one given to the other."""
    if options.experiment != WEEKLY:
        if options.part or options.only or options.confirm_hours is not None:
            raise SpecError([
                f"--part, --only and --confirm-hours are choices of 'weekly', not of {options.experiment!r}"
            ])  # fmt: skip
        return {}
    for name in NOT_OF_A_WEEK:
        if getattr(options, name) is not None:
            said = "set" if name == "levels" else name.replace("_", "-")
            raise SpecError(
                [f"--{said} is a choice of one experiment; allowed for a weekly run are --scale, --part and --only"]
            )
    known = [experiment.experiment for experiment, _ in project_catalog().experiments()]
    for name in options.only or []:
        if name not in known:
            raise SpecError([f"--only: unknown experiment {name!r}{suggest(name, known)}"])
    given = {
        "note": options.note,
        "tags": options.tag,
        "scale": options.scale,
        "extent": "part" if options.part else None,
        "experiments": options.only,
        "confirm_hours": options.confirm_hours,
    }
    return {name: value for name, value in given.items() if value is not None}


def _started(tasks: Tasks, dag_run_id: str) -> list[tuple[str, str]]:
    """The runs of experiments that the week has started."""
    begun = [str(task["task_id"]) for task in tasks if task["state"] == "success"]
    return [(name.removesuffix(".start"), run_started_by(dag_run_id)) for name in begun if name.endswith(".start")]


def show_end(week: RunArchive, state: str, show: Show) -> int:
    """Each experiment's results and report, what got worse or has no number, and the week's own report."""
    noted = week.get_json("week.json")
    for one in runs_of(noted) if noted else []:
        print(f"\n{one.experiment}: {'valid' if not one.failed else f'NOT VALID, {one.state}: {one.reason}'}")
        if one.run_id:
            show_run(RunArchive(week.store, one.experiment, one.run_id), show)
    for name, why in (noted or {}).get("left_out", {}).items():
        print(f"\n{name}: left out: it {why}")
    changes = (week.get_json("changes.json") or {}).get("changes", [])
    worse = broken(map(ReportedChange.of, changes))
    for found in worse:
        print(f"  {STATES[found.state][0]}: {found.line}", file=sys.stderr)
    print()
    _save_report(week, "week     ")
    print(f"archive  {week.url}")
    all_valid = week.sealed and noted is not None and not any(one.failed for one in runs_of(noted))
    got_worse = f"; {', '.join(counted(Counter(found.state for found in worse)))}" if worse else ""
    print(f"run {week.experiment}/{week.run_id}: {'all valid' if all_valid else 'NOT ALL VALID'}{got_worse}")
    return OK if all_valid and state == "success" else FAILED


def show_run(archive: RunArchive, show: Show) -> None:
    """Of one experiment: its results, where it has any, its report and where it is."""
    if archive.get_json("results.json"):
        show(archive)
    _save_report(archive, "report   ")
    print(f"archive  {archive.url}")


def _save_report(archive: RunArchive, word: str) -> None:
    """To the lab's folder; nothing where the run has none."""
    html = archive.store.get(f"{archive.prefix}report.html")
    if html:
        path = lab_dir() / "reports" / f"{archive.experiment}-{archive.run_id}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(html)
        print(f"{word}{path}")
