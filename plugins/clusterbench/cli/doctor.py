"""``clusterbench doctor``: before the first run, all that it would trip over."""

from __future__ import annotations

import argparse

from rich.markup import escape
from rich.table import Table

from clusterbench.base.connections import local_connections
from clusterbench.base.errors import ArchiveError
from clusterbench.base.paths import lab_dir
from clusterbench.cli.common import FAILED, OK, store, wide_console

WORDS = {"good": "", "look": "LOOK", "bad": "BAD"}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    doctor = commands.add_parser("doctor", help="before the first run: look at a platform's hosts, server and archive")
    doctor.add_argument("platform")
    doctor.add_argument("--all", action="store_true", help="print also what is well")
    doctor.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    from clusterbench.run.doctor import hosts, server  # noqa: PLC0415
    from clusterbench.run.doctor.finding import Finding, folded  # noqa: PLC0415
    from clusterbench.run.run import Run  # noqa: PLC0415

    findings: list[Finding] = []
    try:
        findings += server.examine_archive(store())
    except ArchiveError as error:
        findings.append(Finding("archive", "archive", str(error), "bad", "mend connection 'clusterbench_archive'"))
    run = Run("by_hand", "doctor", local_connections(lab_dir()))
    with run.testbed(options.platform) as testbed:
        findings += hosts.examine(testbed.fleet, testbed.platform)
        findings += server.examine_leave(testbed.engine)
        for engine in testbed.engines.values():
            findings += server.examine(engine)
    lines = folded(findings)
    table = Table("", "what", "where", "found", "what to do", title=f"{options.platform}: before a run")
    for one in lines:
        if options.all or one.verdict != "good":
            table.add_row(WORDS[one.verdict], *map(escape, (one.what, one.where, one.found, one.remedy)))
    if table.row_count:
        wide_console().print(table, highlight=False)
    bad = sum(one.verdict == "bad" for one in lines)
    good = sum(one.verdict == "good" for one in lines)
    print(f"{bad or 'nothing'} to mend before a run; {good} things are well" + ("" if options.all else " (--all)"))
    return FAILED if bad else OK
