"""``clusterbench compare``: two runs, the platforms of one, or a run and what its paper says."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clusterbench.base.archive import RunArchive
from clusterbench.base.errors import ArchiveError, suggest
from clusterbench.base.paths import project_root
from clusterbench.cli.common import OK, SHOWN, archive_of, wide_console
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.rehearsal import notice

if TYPE_CHECKING:
    from clusterbench.report.compare_shown import Shown
    from clusterbench.results.compare import OneRun


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    compare = commands.add_parser(
        "compare",
        help="two runs, platforms of one, or a run and its paper: facts that differ, then ratios and verdicts",
    )
    compare.add_argument("run_a", metavar="RUN_A", help="EXPERIMENT/RUN_ID, or the run id alone; ratios are to it")
    compare.add_argument("run_b", metavar="RUN_B", nargs="?", help="without it: RUN_A's platforms beside its first")
    compare.add_argument("--published", action="store_true", help="RUN_A beside the numbers of the paper")
    compare.add_argument("--platform", action="append", metavar="P", default=[], help="of both, or P_OF_A=P_OF_B")
    compare.add_argument("--measurement", action="append", metavar="NAME", default=[], help="only this one; repeatable")
    compare.add_argument("--all", action="store_true", help="print every line")
    compare.add_argument("--json", action="store_true", help="everything, as JSON")
    compare.set_defaults(command=_compare)


def _compare(options: argparse.Namespace) -> int:
    from clusterbench.report.compare_shown import Shown  # noqa: PLC0415
    from clusterbench.results.gather import read_run  # noqa: PLC0415

    if options.published and options.run_b:
        raise ArchiveError("compare: give a second run or --published, not both")
    archive = archive_of(options.run_a)
    run_a = read_run(archive)
    run_b = read_run(archive_of(options.run_b)) if options.run_b else None
    _check_measurements([run for run in (run_a, run_b) if run], options.measurement)
    shown = Shown(SHOWN, tuple(options.measurement), options.all)
    if options.published:
        return _published(archive, run_a, options, shown)
    return _runs(run_a, run_b, options, shown)


def _runs(run_a: OneRun, run_b: OneRun | None, options: argparse.Namespace, shown: Shown) -> int:
    from clusterbench.report.compare_shown import show  # noqa: PLC0415
    from clusterbench.results.compare import compare, compare_platforms  # noqa: PLC0415

    asked = options.platform
    found = compare(run_a, run_b, asked) if run_b else compare_platforms(run_a, asked)
    if options.json:
        print(json.dumps(found.as_json(options.measurement), indent=1, sort_keys=True))
    else:
        show(found, wide_console(), shown)
    return OK


def _published(archive: RunArchive, run: OneRun, options: argparse.Namespace, shown: Shown) -> int:
    from clusterbench.report.compare_shown import show_published  # noqa: PLC0415
    from clusterbench.results.compare_published import compare_published  # noqa: PLC0415
    from clusterbench.results.gather import published_beside  # noqa: PLC0415

    paper = published_beside(archive, Catalog(project_root()))
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
