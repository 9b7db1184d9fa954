"""``clusterbench list``: the newest runs of the archive, so that nobody must know a run id."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from clusterbench.base.archive import Store, experiments_in, runs_in
from clusterbench.base.errors import ArchiveError, suggest
from clusterbench.base.run_ids import WEEKLY
from clusterbench.base.words import ABSENT, shortened
from clusterbench.cli.common import OK, store, wide_console
from clusterbench.results.run_list import ListedRun, newest_runs
from clusterbench.spec.catalog import project_catalog

LIMIT = 20
NOTE_CHARACTERS = 60


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    runs = commands.add_parser("list", help="list the runs of the archive, newest first, finished or not")
    runs.add_argument(
        "experiment", metavar="EXPERIMENT", nargs="?", help="only runs of this experiment; 'weekly' for weekly runs"
    )
    runs.add_argument("--platform", metavar="NAME", help="only runs on this platform")
    runs.add_argument("--tag", metavar="TAG", help="only runs with this tag")
    runs.add_argument(
        "--limit", type=_count, default=LIMIT, metavar="N", help=f"list at most N runs; {LIMIT} unless given"
    )
    runs.add_argument("--json", action="store_true", help="everything, as JSON")
    runs.set_defaults(command=_list)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def _list(options: argparse.Namespace) -> int:
    archive = store()
    if options.experiment:
        _check_experiment(archive, options.experiment)
    runs = runs_in(archive, options.experiment)
    found = newest_runs(runs, options.limit, options.platform, options.tag)
    if options.json:
        print(json.dumps([one.as_json() for one in found], indent=1, sort_keys=True))
    elif not found:
        asked = [options.experiment and f"of {options.experiment}", options.platform and f"on {options.platform}"]
        asked.append(options.tag and f"with tag {options.tag!r}")
        print(" ".join(["no run", *filter(None, asked), f"in {archive.url}"]))
    else:
        _print_table(found)
        if options.platform is None and options.tag is None and len(found) < len(runs):
            print(f"the newest {len(found)} of {len(runs)} runs; --limit N shows more")
    return OK


def _check_experiment(archive: Store, name: str) -> None:
    """Known is what has runs, also where its declaration is gone, and what is declared and has none yet."""
    known = {*experiments_in(archive), *(path.stem for path in project_catalog().experiment_files), WEEKLY}
    if name not in known:
        raise ArchiveError(f"list: unknown experiment {name!r}{suggest(name, known)}")


def _words(one: ListedRun) -> str:
    return " ".join(filter(None, [shortened(one.note, NOTE_CHARACTERS), *(f"#{tag}" for tag in one.tags)]))


def _print_table(found: Sequence[ListedRun]) -> None:
    table = Table()
    table.add_column("run", no_wrap=True)
    for column in ("platform", "scale", "validity", "started by", "note and tags"):
        table.add_column(column, overflow="fold")
    for one in found:
        platforms = ", ".join(one.platforms) or ABSENT
        table.add_row(
            one.run, platforms, one.scale or ABSENT, one.validity, escape(one.started_by), escape(_words(one))
        )
    wide_console().print(table, highlight=False)
