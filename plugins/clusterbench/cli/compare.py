"""``clusterbench compare``: two runs, the platforms of one, or a run and what its paper says."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clusterbench.base.archive import RunArchive
from clusterbench.base.errors import ArchiveError, ClusterbenchError, suggest
from clusterbench.cli.common import OK, SHOWN, archive_of, own_connections, wide_console
from clusterbench.spec.catalog import project_catalog
from clusterbench.trial.rehearsal import notice

if TYPE_CHECKING:
    from clusterbench.report.compare_shown import Shown
    from clusterbench.results.compare import OneRun
    from clusterbench.results.compare_cells import Histories


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    compare = commands.add_parser(
        "compare",
        help="compare two runs, the platforms of one run, or a run and its paper",
    )
    runs = "EXPERIMENT/RUN_ID, or the run id alone; several equal runs with commas: R1,R2,R3"
    compare.add_argument("run_a", metavar="RUN_A", help=f"{runs}. Ratios are to this run")
    compare.add_argument(
        "run_b",
        metavar="RUN_B",
        nargs="?",
        help="the run to compare with RUN_A; without it the platforms of RUN_A are compared",
    )
    compare.add_argument("--published", action="store_true", help="compare RUN_A with the numbers of its paper")
    compare.add_argument(
        "--platform",
        action="append",
        metavar="P",
        default=[],
        help="compare this platform of both runs, or with P_OF_A=P_OF_B one of each",
    )
    compare.add_argument(
        "--measurement", action="append", metavar="NAME", default=[], help="only this measurement; repeatable"
    )
    compare.add_argument("--all", action="store_true", help="print every line, also those that show no difference")
    compare.add_argument("--json", action="store_true", help="everything, as JSON")
    compare.set_defaults(command=_compare)


def _compare(options: argparse.Namespace) -> int:
    from clusterbench.report.compare_shown import Shown  # noqa: PLC0415
    from clusterbench.results.gather import read_run  # noqa: PLC0415

    if options.published and options.run_b:
        raise ArchiveError("compare: give a second run or --published, not both")
    archives = [[archive_of(name) for name in named.split(",")] for named in (options.run_a, options.run_b) if named]
    sides = [[read_run(archive) for archive in side] for side in archives]
    if len(sides) == 1 and len(sides[0]) > 1:
        raise ArchiveError(
            "compare: a group of runs needs a second group to compare with; give it as RUN_B, or give one run alone"
        )
    _check_measurements([run for side in sides for run in side], options.measurement)
    shown = Shown(SHOWN, tuple(options.measurement), options.all)
    if options.published:
        return _published(archives[0][0], sides[0][0], options, shown)
    return _runs(sides, options, shown)


def _runs(sides: list[list[OneRun]], options: argparse.Namespace, shown: Shown) -> int:
    from clusterbench.report.compare_shown import show  # noqa: PLC0415
    from clusterbench.results.compare import compare, compare_platforms  # noqa: PLC0415

    asked, wanted = options.platform, options.measurement
    if len(sides) == 1:
        found = compare_platforms(sides[0][0], asked)
    else:
        found = compare(sides[0], sides[1], asked, _histories([run for side in sides for run in side]))
    if options.json:
        found = found.at_once(lambda cell: not wanted or cell.measurement in wanted)
        print(json.dumps(found.as_json(), indent=1, sort_keys=True))
    else:
        show(found, wide_console(), shown)
    return OK


def _histories(runs: list[OneRun]) -> Histories:
    """Runs are compared without it, too, and their words say so."""
    from clusterbench.history import database, read  # noqa: PLC0415

    try:
        with database.opened(own_connections()(database.CONNECTION_ID)) as db:
            return read.spreads_for(db, runs)
    except ClusterbenchError as error:
        print(f"compare: without the history of these results: {error}", file=sys.stderr)
        return {}


def _published(archive: RunArchive, run: OneRun, options: argparse.Namespace, shown: Shown) -> int:
    from clusterbench.report.compare_shown import show_published  # noqa: PLC0415
    from clusterbench.results.compare_published import compare_published  # noqa: PLC0415
    from clusterbench.results.gather import published_beside  # noqa: PLC0415

    paper = published_beside(archive, project_catalog())
    if said := notice(run.choices):
        raise ArchiveError(f"run {run.name}: {said}")
    if paper is None:
        raise ArchiveError(f"run {run.name}: its experiment names no file of published numbers ('published')")
    found = compare_published(run, paper, options.platform)
    if options.json:
        print(json.dumps(found.as_json(options.measurement), indent=1, sort_keys=True))
    else:
        show_published(found, wide_console(), shown)
    return OK


def _check_measurements(runs: Sequence[OneRun], asked: Sequence[str]) -> None:
    known = dict.fromkeys(name for run in runs for result in run.results for name in result.measurements)
    for name in asked:
        if name not in known:
            where = " and ".join(run.name for run in runs)
            raise ArchiveError(f"{where}: no cell has a measurement {name!r}{suggest(name, known)}")
