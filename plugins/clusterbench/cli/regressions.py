"""``clusterbench regressions``: what got slower or faster, by how much, since when, how certain, and which facts."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from clusterbench.base.errors import HistoryError
from clusterbench.base.words import plural
from clusterbench.cli.common import FAILED, OK, own_connections, wide_console
from clusterbench.history.changes import STATES, WORSE, counted
from clusterbench.report.compare_shown import escaped
from clusterbench.spec import SCALES
from clusterbench.spec.catalog import project_catalog

if TYPE_CHECKING:
    from clusterbench.history.change_test import State
    from clusterbench.history.series_changes import SeriesChange

SHOWN: tuple[State, ...] = ("regression", "no_number", "improvement")
FACTS_SHOWN = 4


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "regressions",
        help="compare the newest run of each experiment with its history; exit status 1 if a result got worse",
    )
    parser.add_argument("experiment", metavar="EXPERIMENT", nargs="?", help="only this experiment")
    parser.add_argument("--scale", choices=SCALES, help="only runs at this scale")
    parser.add_argument("--json", action="store_true", help="all results as JSON, also those that did not change")
    parser.set_defaults(command=_regressions)


def _regressions(options: argparse.Namespace) -> int:
    from clusterbench.history import (  # noqa: PLC0415
        database,
        read,
        series_changes,
    )

    catalog = project_catalog()
    with database.opened(own_connections()(database.CONNECTION_ID)) as db:
        latest = read.latest(db, [options.experiment] if options.experiment else None)
        runs = [run for run in latest if options.scale in (None, run.scale)]
        if not runs:
            what = " ".join(filter(None, (options.experiment or "any experiment", options.scale and "at that scale")))
            raise HistoryError(f"the history database has no run of {what}; 'clusterbench history status' lists them")
        found = series_changes.of_runs(db, catalog, runs)
    if options.json:
        print(json.dumps([one.as_json() for one in found], indent=1, sort_keys=True))
    else:
        _show(found, wide_console())
    return FAILED if any(one.change.state in WORSE for one in found) else OK


def _show(found: Sequence[SeriesChange], console: Console) -> None:
    for state in SHOWN:
        some = [one for one in found if one.change.state == state]
        some.sort(key=lambda one: -abs(one.change.change_percent or 0))
        if some:
            _table(f"{STATES[state][len(some) != 1].capitalize()}", some, console)
    said = counted(Counter(one.change.state for one in found))
    console.print(f"{plural(len(found), 'result')}: {', '.join(said) or 'none'}.", highlight=False)


def _table(title: str, found: Sequence[SeriesChange], console: Console) -> None:
    table = Table(title=title, title_justify="left")
    for column in ("result", "measurement", "what, by how much, since when, how certain", "facts that changed there"):
        table.add_column(column, overflow="fold")
    for one in found:
        series = one.series
        table.add_row(
            escaped(f"{series.experiment}, {series.scale}, {series.platform}\n{series.label}"),
            f"{series.measurement}, {series.unit}",
            escaped(one.change.says),
            escaped(_facts(one)),
        )
    console.print(table, highlight=False)


def _facts(one: SeriesChange) -> str:
    if not one.differences:
        return "none"
    said = [f"{fact.what} ({fact.where}): {fact.a} → {fact.b}" for fact in one.differences[:FACTS_SHOWN]]
    more = len(one.differences) - FACTS_SHOWN
    place = "" if one.facts_run_id == one.change.at_run_id else f"in run {one.facts_run_id}:\n"
    return place + "\n".join([*said, *([f"and {more} more"] if more > 0 else [])])
