"""Commands that touch the hosts of one platform: compare and set up, start and stop, free, and what root is for."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.table import Table

from clusterbench.base.errors import EngineError
from clusterbench.base.words import number
from clusterbench.cli.common import FAILED, OK, own_connections, wide_console
from clusterbench.machines.guests import without_machines
from clusterbench.spec import Platform
from clusterbench.spec.catalog import project_catalog

if TYPE_CHECKING:
    from clusterbench.hosts.conformance import Folded
    from clusterbench.results.stragglers import Straggler
    from clusterbench.trial.testbed import Testbed


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    cluster = commands.add_parser("cluster", help="set up, give back or look at a platform's servers, as a run does")
    cluster.add_argument("action", choices=["up", "down", "status"])
    cluster.add_argument("platform")
    cluster.set_defaults(command=_cluster)

    setup = commands.add_parser("setup", help="compare a platform's hosts and engine with its file; change nothing")
    setup.add_argument("platform")
    how = setup.add_mutually_exclusive_group()
    how.add_argument("--apply", action="store_true", help="apply what 'may' allows, as a run does")
    how.add_argument("--undo", action="store_true", help="put back what was applied")
    setup.add_argument("--all", action="store_true", help="print also what is as declared")
    setup.set_defaults(command=_setup)

    hosts = commands.add_parser("hosts", help="how fast each host of a platform is by itself, and which are slow")
    hosts.add_argument("platform")
    hosts.add_argument("--measure", action="store_true", help="now, as 'host_speed' in the platform's file says")
    hosts.add_argument("--json", action="store_true", help="everything, as JSON")
    hosts.set_defaults(command=_hosts)

    sudoers = commands.add_parser("sudoers", help="print what root is needed for on a platform's hosts, for sudo")
    sudoers.add_argument("platform")
    sudoers.set_defaults(command=_sudoers)

    release = commands.add_parser("release", help="free a cluster whose run died")
    release.add_argument("platform")
    release.add_argument("holder", nargs="?", default="", help="the run that holds it, as the refusal names it")
    release.add_argument("--force", action="store_true", help="free it from whoever holds it")
    release.set_defaults(command=_release)


def _setup(options: argparse.Namespace) -> int:
    """The set-up of a run by hand; without ``--apply`` and ``--undo`` its dry run. Never changes what a run has."""
    from clusterbench.hosts import conformance  # noqa: PLC0415
    from clusterbench.run import steps  # noqa: PLC0415
    from clusterbench.run.run import BY_HAND, Run  # noqa: PLC0415

    run = Run(BY_HAND, by_whom(), own_connections())
    with run.testbed(options.platform) as testbed:
        if options.apply or options.undo:
            with held(testbed, run.holder):
                steps.apply_setup(testbed) if options.apply else steps.undo_setup(testbed)
        if options.undo:
            print("put back")
            return OK
        rows, platform = steps.conformance_of_hosts(testbed), testbed.platform
        try:
            rows += steps.conformance_of_engine(testbed)
        except EngineError as error:
            first = str(error).splitlines()[0][:200]
            print(f"the engine could not be asked; is it up? clusterbench cluster up {platform.platform}\n  {first}")
    shown = [each for each in conformance.fold(rows) if options.all or each.row.verdict != conformance.AS_DECLARED]
    table = Table("setting", "where", "declared", "found", "", title=platform.title)
    for each in shown:
        row = each.row
        table.add_row(row.setting, each.where, row.declared, row.found or "not known there", _will(platform, each))
    if shown:
        wide_console().print(table)
    differ = sum(each.row.verdict == conformance.DIFFERENT for each in shown)
    print(f"{len(rows)} declared settings, {differ or 'none'} not as declared")
    return FAILED if differ else OK


def _will(platform: Platform, each: Folded) -> str:
    """What set-up does about a setting."""
    from clusterbench.hosts.conformance import DIFFERENT, ENGINE  # noqa: PLC0415
    from clusterbench.spec.by_name import engine_declaration  # noqa: PLC0415
    from clusterbench.spec.checks import HARDWARE  # noqa: PLC0415
    from clusterbench.spec.host_settings import ONLY_READ  # noqa: PLC0415

    if each.row.verdict != DIFFERENT:
        return f"{each.row.verdict}: {each.row.reason}" if each.row.reason else each.row.verdict
    kind = each.row.setting.split()[0]
    if remedy := ONLY_READ.get(kind):
        return remedy
    if kind in HARDWARE:
        return "stops a run: it is what the host is made of"
    of_engine = each.hosts[0].startswith(ENGINE)
    leave = "engine_settings" if of_engine else "host_settings"
    always = of_engine and engine_declaration(platform.engine).settings_from_templates
    changes = always or leave in platform.may
    return "set-up will change it" if changes else f"stops a run: {leave!r} is not in 'may'"


def _sudoers(options: argparse.Namespace) -> int:
    from clusterbench.hosts.sudoers import sudoers  # noqa: PLC0415

    platform = project_catalog().platform(options.platform)
    logins = ["LOGIN"]
    if not platform.template:
        connections = own_connections()
        ids = [host.ssh for host in without_machines(platform).every_host.values()]
        ids += [platform.machines.login] if platform.machines else []
        logins = [connections(each).login for each in ids]
    print(sudoers(platform, logins), end="")
    return OK


def _cluster(options: argparse.Namespace) -> int:
    """The deployment of a platform by hand, as a run sets it up and takes it down; never while a run has it."""
    from clusterbench.run.run import BY_HAND, Run  # noqa: PLC0415

    run = Run(BY_HAND, by_whom(), own_connections())
    with run.testbed(options.platform) as testbed:
        if options.action != "status":
            with held(testbed, run.holder):
                for engine in testbed.engines.values():
                    engine.set_up() if options.action == "up" else engine.tear_down()
        rows = [row for engine in testbed.engines.values() for row in engine.state()]
        is_left_running = testbed.engine.is_left_running
    for row in rows:
        print(f"{row['name']:<40} {'up' if row['alive'] and row['status'] == 'u' else 'down'}")
    wanted = options.action != "down" or is_left_running
    if options.action == "down" and is_left_running:
        print("settings are as they were; its servers are somebody's, and run on: a database is not stopped here")
    if others := [row["name"] for row in rows if bool(row["alive"]) != wanted]:
        print(f"{', '.join(map(str, others))}: to be {'up' if wanted else 'down'}, and not so")
    return FAILED if others else OK


def _hosts(options: argparse.Namespace) -> int:
    """Exits with 1 where a host is slow, or nothing was ever measured."""
    from clusterbench.run import host_speeds  # noqa: PLC0415
    from clusterbench.run.run import BY_HAND, Run  # noqa: PLC0415

    run = Run(BY_HAND, by_whom(), own_connections())
    if options.measure:
        with run.testbed(options.platform) as testbed, held(testbed, run.holder):
            host_speeds.measure_now(run.archive.store, testbed, testbed.engine.facts(), run.run_id)
    platform = project_catalog().platform(options.platform)
    known = host_speeds.earlier(run.archive.store, options.platform)
    if not known:
        print(f"{options.platform}: its hosts were never measured; --measure does it now")
        return FAILED
    slow = host_speeds.told(known, platform)
    if options.json:
        print(json.dumps({**known[-1], "stragglers": [one.as_json() for one in slow]}, indent=1, sort_keys=True))
    else:
        _print_speeds(known[-1], slow)
    return FAILED if slow else OK


def _print_speeds(measured: Mapping[str, Any], slow: Sequence[Straggler]) -> None:
    from clusterbench.hosts.speed_kinds import KINDS  # noqa: PLC0415

    names = [name for name in KINDS if any(name in of for of in measured["hosts"].values())]
    table = Table("host", "roles", *(f"{KINDS[name].title}, {KINDS[name].unit}" for name in names))
    for host, values in measured["hosts"].items():
        said = (number(values.get(name)) for name in names)
        table.add_row(host, ", ".join(measured["roles"].get(host, ())), *said)
    wide_console().print(table, highlight=False)
    for problem in (f"{host}: {one}" for host, many in measured["problems"].items() for one in many):
        print(problem)
    print(f"measured at {measured['at']}, by {measured['run']}")
    for one in slow:
        print(f"slow: {one}")


def by_whom() -> str:
    """This command, and nobody else's: two of them at once keep each other out as two runs do."""
    return f"{getpass.getuser()}@{socket.gethostname()}.{os.getpid()}"


@contextmanager
def held(testbed: Testbed, holder: str) -> Iterator[None]:
    """The cluster is nobody else's meanwhile. Raises LeaseError where a run has it."""
    from clusterbench.hosts import lease  # noqa: PLC0415

    lease.acquire(testbed.fleet, testbed.platform, holder)
    try:
        yield
    finally:
        lease.release(testbed.fleet, testbed.platform, holder)


def _release(options: argparse.Namespace) -> int:
    from clusterbench.hosts import lease  # noqa: PLC0415
    from clusterbench.hosts.fleet import Fleet  # noqa: PLC0415
    from clusterbench.run import steps  # noqa: PLC0415

    platform = without_machines(project_catalog().platform(options.platform))
    with Fleet.of(platform, own_connections()) as fleet:
        held = lease.holder_of(fleet, platform)
        if held is None:
            print(f"nothing to release: cluster {platform.cluster!r} is free")
            return FAILED
        if held.holder != options.holder and not options.force:
            print(
                f"nothing was released: cluster {platform.cluster!r} is held by run {held}; name that run, or --force"
            )
            return FAILED
        # What the lost run left running would run beside the next one's trials; its files stay to be looked at.
        steps.end_what_runs(fleet, platform, held.holder)
        lease.release(fleet, platform, "" if options.force else held.holder)
    print(f"released: run {held.holder} had it")
    return OK
