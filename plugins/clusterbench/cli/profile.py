"""``clusterbench profile``: flame graphs of a run's profiled trials, or of how those of two runs differ."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from clusterbench.base.archive import RunArchive
from clusterbench.base.errors import ArchiveError
from clusterbench.base.profiles import moved
from clusterbench.cli.common import OK, RUN_HELP, archive_of, wide_console
from clusterbench.report.compare_shown import escaped

if TYPE_CHECKING:
    from clusterbench.results.profiles import ProfileOfTrial

FUNCTIONS = 10


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    profile = commands.add_parser(
        "profile", help="draw the flame graphs of a run that had --profile, or of the difference of two"
    )
    profile.add_argument("run", metavar="RUN", help=RUN_HELP)
    profile.add_argument(
        "after", metavar="RUN_B", nargs="?", help="a second run: show what took more or less than in RUN"
    )
    profile.add_argument("--platform", action="append", metavar="NAME", help="only this platform; repeatable")
    profile.add_argument(
        "--cell", action="append", metavar="CELL", help="only this cell, named as in results.json; repeatable"
    )
    profile.add_argument(
        "--output",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="folder for the SVG files; the current one unless given",
    )
    profile.set_defaults(command=_profile)


def _profile(options: argparse.Namespace) -> int:
    found = _profiles(archive_of(options.run), options)
    options.output.mkdir(parents=True, exist_ok=True)
    if options.after is None:
        for one in found.values():
            _one(one, options)
        return OK
    after = _profiles(archive_of(options.after), options)
    both = [key for key in found if key in after]
    if not both:
        raise ArchiveError(
            f"{options.run} and {options.after}: no cell was profiled in both; in the first: {_keys(found)}; in the "
            f"second: {_keys(after)}"
        )
    for key in both:
        _two(found[key], after[key], options)
    return OK


def _profiles(archive: RunArchive, options: argparse.Namespace) -> dict[tuple[str, str], ProfileOfTrial]:
    """By platform and cell, those that have samples. Raises ArchiveError where there is none."""
    from clusterbench.results.profiles import profiles_of  # noqa: PLC0415

    every = profiles_of(archive, archive.trials())
    found = {(one.trial.platform, one.trial.cell): one for one in every if one.profile}
    if not found:
        why = "; ".join(dict.fromkeys(problem for one in every for problem in one.problems))
        raise ArchiveError(f"run {archive.name}: {why or 'nothing was profiled; start one with --profile'}")
    wanted = {
        key: one
        for key, one in found.items()
        if key[0] in (options.platform or [key[0]]) and key[1] in (options.cell or [key[1]])
    }
    if not wanted:
        raise ArchiveError(f"run {archive.name}: no such platform and cell was profiled; those are: {_keys(found)}")
    return wanted


def _keys(found: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{platform} {cell}" for platform, cell in found)


def _one(one: ProfileOfTrial, options: argparse.Namespace) -> None:
    from clusterbench.report.flame_graph import draw  # noqa: PLC0415

    assert one.profile
    path = options.output / f"{one.trial.platform}.{one.trial.cell}.svg"
    path.write_text(draw(one.profile, f"{one.trial.platform}, {one.trial.cell_label}"), encoding="utf-8")
    table = Table("process: function", "of the time, itself alone", title=str(path), title_justify="left")
    for name, part in list(one.profile.own_shares().items())[:FUNCTIONS]:
        table.add_row(escaped(name), f"{100 * part:.1f} %")
    wide_console().print(table, highlight=False)


def _two(before: ProfileOfTrial, after: ProfileOfTrial, options: argparse.Namespace) -> None:
    from clusterbench.report.flame_graph import draw_difference  # noqa: PLC0415

    assert before.profile
    assert after.profile
    path = options.output / f"{before.trial.platform}.{before.trial.cell}.difference.svg"
    title = f"{before.trial.platform}, {before.trial.cell_label}: red takes more in {options.after}, blue less"
    path.write_text(draw_difference(before.profile, after.profile, title), encoding="utf-8")
    table = Table(
        "process: function, with what it calls", "of the time before", "after", title=str(path), title_justify="left"
    )
    for name, one, other in moved(before.profile, after.profile)[:FUNCTIONS]:
        table.add_row(escaped(name), f"{100 * one:.1f} %", f"{100 * other:.1f} %")
    wide_console().print(table, highlight=False)
