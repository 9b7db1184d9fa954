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
from clusterbench.cli.common import FAILED, OK, PLATFORM_HELP, own_connections, wide_console
from clusterbench.machines.guests import without_machines
from clusterbench.spec import Platform
from clusterbench.spec.catalog import project_catalog

if TYPE_CHECKING:
    from clusterbench.hosts.conformance import Folded
    from clusterbench.results.stragglers import Straggler
    from clusterbench.trial.testbed import Testbed


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    cluster = commands.add_parser("cluster", help="start, stop or show a platform's servers, as a run does")
    cluster.add_argument(
        "action", choices=["up", "down", "status"], help="up: set up and start; down: restore settings, and stop"
    )
    cluster.add_argument("platform", help=PLATFORM_HELP)
    cluster.set_defaults(command=_cluster)

    setup = commands.add_parser(
        "setup", help="compare hosts and engine with the platform's file; changes nothing unless --apply or --undo"
    )
    setup.add_argument("platform", help=PLATFORM_HELP)
    how = setup.add_mutually_exclusive_group()
    how.add_argument(
        "--apply", action="store_true", help="change what 'may' in the platform's file allows, as a run does"
    )
    how.add_argument("--undo", action="store_true", help="restore the values from before --apply")
    setup.add_argument("--all", action="store_true", help="also print settings that are as declared")
    setup.set_defaults(command=_setup)

    hosts = commands.add_parser("hosts", help="show how fast each host of a platform is by itself, and which are slow")
    hosts.add_argument("platform", help=PLATFORM_HELP)
    hosts.add_argument(
        "--measure", action="store_true", help="measure now, as 'host_speed' in the platform's file declares"
    )
    hosts.add_argument("--json", action="store_true", help="everything, as JSON")
    hosts.set_defaults(command=_hosts)

    sudoers = commands.add_parser("sudoers", help="print the lines for /etc/sudoers.d on a platform's hosts")
    sudoers.add_argument("platform", help=PLATFORM_HELP)
    sudoers.set_defaults(command=_sudoers)

    release = commands.add_parser("release", help="free a cluster that a dead run still holds")
    release.add_argument("platform", help=PLATFORM_HELP)
    release.add_argument(
        "holder", nargs="?", default="", help="the run that holds the cluster, as in the error that refused yours"
    )
    release.add_argument("--force", action="store_true", help="free the cluster, whichever run holds it")
    release.set_defaults(command=_release)


def _setup(options: argparse.Namespace) -> int:
    """A run's set-up without a run; a dry run without ``--apply`` or ``--undo``. Changes nothing that a run holds."""
    from clusterbench.hosts import conformance  # noqa: PLC0415
    from clusterbench.run import steps  # noqa: PLC0415
    from clusterbench.run.run import BY_HAND, Run  # noqa: PLC0415

    run = Run(BY_HAND, by_whom(), own_connections())
    with run.testbed(options.platform) as testbed:
        if options.apply or options.undo:
            with held(testbed, run.holder):
                steps.apply_setup(testbed) if options.apply else steps.undo_setup(testbed)
        if options.undo:
            print("restored")
            return OK
        rows, platform = steps.conformance_of_hosts(testbed), testbed.platform
        try:
            rows += steps.conformance_of_engine(testbed)
        except EngineError as error:
            first = str(error).splitlines()[0][:200]
            print(f"the engine does not answer; start it with: clusterbench cluster up {platform.platform}\n  {first}")
    shown = [each for each in conformance.fold(rows) if options.all or each.row.verdict != conformance.AS_DECLARED]
    table = Table("setting", "where", "declared", "found", "", title=platform.title)
    for each in shown:
        row = each.row
        table.add_row(row.setting, each.where, row.declared, row.found or "unknown", _will(platform, each))
    if shown:
        wide_console().print(table)
    differ = sum(each.row.verdict == conformance.DIFFERENT for each in shown)
    print(f"{len(rows)} declared settings, {f'{differ} not as declared' if differ else 'all as declared'}")
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
        return "stops a run: hardware cannot be changed; correct the platform's file, or use another host"
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
    """Starts or stops a platform manually, as a run does; never while a run holds it."""
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
        print(
            "settings are restored. The servers keep running: clusterbench does not stop a database that it did not "
            "start"
        )
    if others := [row["name"] for row in rows if bool(row["alive"]) != wanted]:
        print(f"{', '.join(map(str, others))}: should be {'up' if wanted else 'down'}, but is not")
    return FAILED if others else OK


def _hosts(options: argparse.Namespace) -> int:
    """Exits with 1 if a host is slow, or if no host was ever measured."""
    from clusterbench.run import host_speeds  # noqa: PLC0415
    from clusterbench.run.run import BY_HAND, Run  # noqa: PLC0415

    run = Run(BY_HAND, by_whom(), own_connections())
    if options.measure:
        with run.testbed(options.platform) as testbed, held(testbed, run.holder):
            host_speeds.measure_now(run.archive.store, testbed, testbed.engine.facts(), run.run_id)
    platform = project_catalog().platform(options.platform)
    known = host_speeds.earlier(run.archive.store, options.platform)
    if not known:
        print(f"{options.platform}: its hosts were never measured; add --measure to do it now")
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
    """Holds the cluster's lease, so that no run can start. Raises LeaseError if a run holds it."""
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
            print(f"nothing to release: no run holds cluster {platform.cluster!r}")
            return FAILED
        if held.holder != options.holder and not options.force:
            print(
                f"nothing was released: cluster {platform.cluster!r} is held by run {held}; name that run, or use "
                "--force"
            )
            return FAILED
        # What the lost run left running would run beside the next one's trials; its files stay to be looked at.
        steps.end_what_runs(fleet, platform, held.holder)
        lease.release(fleet, platform, "" if options.force else held.holder)
    print(f"released: run {held.holder} had it")
    return OK
