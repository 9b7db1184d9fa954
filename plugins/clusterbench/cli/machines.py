"""``clusterbench machines plan | status | up | down PLATFORM``: the virtual machines of a layout, without a run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.table import Table

from clusterbench.base.errors import MachineError
from clusterbench.cli.cluster import by_whom
from clusterbench.cli.common import FAILED, OK, PLATFORM_HELP, own_connections, wide_console
from clusterbench.machines.guests import without_machines
from clusterbench.spec import Platform
from clusterbench.spec.catalog import project_catalog
from clusterbench.spec.machine_layout import layout
from clusterbench.spec.machines import Machines

if TYPE_CHECKING:
    from clusterbench.machines.provider import Hypervisor


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "machines", help="plan, show, start or shut down the virtual machines that clusterbench makes for a platform"
    )
    parser.add_argument(
        "action",
        choices=["plan", "status", "up", "down"],
        help="plan: print every call that starting them would make, and make none",
    )
    parser.add_argument("platform", help=PLATFORM_HELP)
    parser.set_defaults(command=_machines)


def _machines(options: argparse.Namespace) -> int:
    platform = project_catalog().platform(options.platform)
    if platform.machines is None:
        raise MachineError(
            f"platform {platform.platform!r}: its file has no 'machines', so clusterbench does not make its hosts"
        )
    act = {"plan": _plan, "status": _status, "up": _up, "down": _down}[options.action]
    return act(platform, platform.machines)


def _plan(platform: Platform, machines: Machines) -> int:
    from clusterbench.machines import switch  # noqa: PLC0415
    from clusterbench.machines.hypervisors import hypervisor_of  # noqa: PLC0415

    calls: list[str] = []
    with hypervisor_of(machines, own_connections(), calls.append) as hypervisor:
        if problems := switch.why_not_here(platform, hypervisor, layout(platform)):
            print("\n".join(problems))
            return FAILED
        switch.bring_up(platform, hypervisor, f"by_hand/{by_whom()}")
    for number, call in enumerate(calls, 1):
        print(f"{number:>4}  {call}")
    print(f"{len(calls)} calls would change something; none was made" if calls else "nothing is to be done")
    return OK


def _status(platform: Platform, machines: Machines) -> int:
    """Exits with 1 where a machine is missing, down, or not as declared."""
    from clusterbench.machines.hypervisors import hypervisor_of  # noqa: PLC0415

    wanted = layout(platform)
    with hypervisor_of(machines, own_connections()) as hypervisor:
        found, differs = hypervisor.look(), hypervisor.differs(wanted)
        told = hypervisor.guests([one.name for one in wanted])
    table = Table("machine", "host", "on", "is", "made by", "address", "not as declared", title=platform.title)
    for one in wanted:
        there = found.get(one.name)
        state = "missing" if there is None else "not ours" if there.mark is None else "up" if there.is_on else "down"
        made_by = there.mark.made_by if there and there.mark else ""
        address = told[one.name].address if one.name in told else ""
        table.add_row(one.name, one.host, one.on, state, made_by, address, "; ".join(differs.get(one.name, ())))
    wide_console().print(table, highlight=False)
    is_well = not differs and all(one.name in told for one in wanted)
    return OK if is_well else FAILED


def _up(platform: Platform, machines: Machines) -> int:
    from clusterbench.machines import switch  # noqa: PLC0415

    with _held(platform, machines) as (hypervisor, holder):
        done = switch.bring_up(platform, hypervisor, holder, is_held=False)
        guests = switch.await_guests(platform, hypervisor)
    print("it was up already" if done.is_nothing else f"up: {', '.join(guests)}")
    return OK


def _down(platform: Platform, machines: Machines) -> int:
    """Deletes what ``afterwards: delete`` says only where this very command made it: never what a run made."""
    from clusterbench.machines import switch  # noqa: PLC0415

    with _held(platform, machines) as (hypervisor, holder):
        switch.release(platform, hypervisor, holder, [])
    print("shut down; what runs made is kept")
    return OK


@contextmanager
def _held(platform: Platform, machines: Machines) -> Iterator[tuple[Hypervisor, str]]:
    """The hypervisor, while no run has the cluster. Raises LeaseError where one has it."""
    from clusterbench.hosts import lease  # noqa: PLC0415
    from clusterbench.hosts.fleet import Fleet  # noqa: PLC0415
    from clusterbench.machines.hypervisors import hypervisor_of  # noqa: PLC0415

    holder, connections = f"by_hand/{by_whom()}", own_connections()
    bare = without_machines(platform)
    with Fleet.of(bare, connections) as fleet, hypervisor_of(machines, connections) as hypervisor:
        lease.acquire(fleet, bare, holder)
        try:
            yield hypervisor, holder
        finally:
            lease.release(fleet, bare, holder)
