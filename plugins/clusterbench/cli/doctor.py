"""``clusterbench doctor``: before the first run, all that it would trip over."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from rich.markup import escape
from rich.table import Table

from clusterbench.base.connections import no_connections
from clusterbench.base.errors import ClusterbenchError, SpecError
from clusterbench.base.paths import PROJECT_FILE, project_root
from clusterbench.cli.common import FAILED, OK, PLATFORM_HELP, own_connections, store, wide_console
from clusterbench.run.doctor.finding import Finding, folded
from clusterbench.spec.catalog import project_catalog
from clusterbench.spec.project import project_of

WORDS = {"good": "", "look": "LOOK", "bad": "BAD"}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="check a platform before a first run, or a project after an upgrade: what is wrong, and what to do",
    )
    whom = doctor.add_mutually_exclusive_group(required=True)
    whom.add_argument("platform", nargs="?", help=PLATFORM_HELP)
    whom.add_argument("--project", action="store_true", help="check this project's files with the installed version")
    doctor.add_argument("--all", action="store_true", help="also print what is in order")
    doctor.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    if options.project:
        return _told("the project", _of_project(), all_of_it=options.all)
    return _told(options.platform, _of_platform(options.platform), all_of_it=options.all)


def _of_project() -> list[Finding]:
    from clusterbench.run.doctor import project  # noqa: PLC0415

    root = project_root()
    declared = project_of(root)
    if declared is None:
        raise SpecError(
            [f"{root}: is not a project of your own, because it has no {PROJECT_FILE}; 'clusterbench init' makes one"]
        )
    try:
        connections = own_connections()
    except ClusterbenchError:
        connections = no_connections
    return list(project.examine(root, declared, connections))


def _of_platform(platform: str) -> list[Finding]:
    from clusterbench.hosts.fleet import Fleet  # noqa: PLC0415
    from clusterbench.machines.guests import without_machines  # noqa: PLC0415
    from clusterbench.run.doctor import hosts, machines, server  # noqa: PLC0415
    from clusterbench.run.run import connected  # noqa: PLC0415

    findings: list[Finding] = []
    try:
        findings += server.examine_archive(store())
    except ClusterbenchError as error:  # all else is worth knowing without it, too
        findings.append(Finding("archive", "archive", str(error), "bad", "correct connection 'clusterbench_archive'"))
    declared, connections = project_catalog().platform(platform), own_connections()
    findings += machines.examine(declared, connections)
    if not machines.are_up(declared, connections):
        with Fleet.of(bare := without_machines(declared), connections) as fleet:
            return [*findings, *hosts.examine(fleet, bare)]
    with connected(declared, connections, {}) as (fleet, engines):
        findings += hosts.examine(fleet, engines[0].platform)
        findings += server.examine_leave(engines[0])
        for engine in engines:
            findings += server.examine(engine)
    return findings


def _told(what: str, findings: Iterable[Finding], *, all_of_it: bool) -> int:
    lines = folded(findings)
    table = Table("", "what", "where", "found", "what to do", title=f"{what}: before a run")
    for one in lines:
        if all_of_it or one.verdict != "good":
            table.add_row(WORDS[one.verdict], *map(escape, (one.what, one.where, one.found, one.remedy)))
    if table.row_count:
        wide_console().print(table, highlight=False)
    bad = sum(one.verdict == "bad" for one in lines)
    good = sum(one.verdict == "good" for one in lines)
    print(f"{bad or 'nothing'} to fix before a run; {good} things are in order" + ("" if all_of_it else " (--all)"))
    return FAILED if bad else OK
