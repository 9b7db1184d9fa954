"""The hypervisor of a platform whose machines a run makes: is all there that they need, and what is up now."""

from __future__ import annotations

from collections.abc import Iterator

from clusterbench.base.connections import Connections
from clusterbench.base.errors import ClusterbenchError
from clusterbench.base.words import some_of
from clusterbench.machines import switch
from clusterbench.machines.hypervisors import hypervisor_of
from clusterbench.run.doctor.finding import Finding
from clusterbench.spec.machine_layout import layout
from clusterbench.spec.platform import Platform

CLOCK_BAD_S = 1.0
"""Windows are moved by the offset of its clock; one that is so far off is set by nobody."""


def examine(platform: Platform, connections: Connections) -> Iterator[Finding]:
    """All of it; what stops the look is a finding, too."""
    if platform.machines is None:
        return
    where, wanted = platform.machines.connection, layout(platform)
    try:
        with hypervisor_of(platform.machines, connections) as hypervisor:
            problems = switch.why_not_here(platform, hypervisor, wanted)
            for problem in problems:
                yield Finding("machines", where, problem, "bad", "correct the platform's file, or the hypervisor")
            if not problems:
                switch.planned(platform, hypervisor.look(), hypervisor.differs(wanted))  # raises where a name is taken
                yield Finding("machines", where, f"everything that {len(wanted)} machines need exists")
            ahead_s = hypervisor.clock_ahead_s()
            if abs(ahead_s) >= CLOCK_BAD_S:
                remedy = "synchronise both clocks by NTP: the hypervisor's counters have the time of its own clock"
                yield Finding("clock", where, f"{ahead_s:+.1f} s off this machine's", "bad", remedy)
            told = switch.guests_now(platform, hypervisor)
    except ClusterbenchError as error:
        yield Finding(
            "machines", where, str(error), "bad", "correct what the message names; until then no machine can be made"
        )
        return
    if down := [one.host for one in wanted if one.host not in told]:
        found = f"down, as usual between runs: {some_of(down)}; they were not checked"
        remedy = f"to check them too: clusterbench machines up {platform.platform}, then doctor again"
        yield Finding("machines", where, found, "look", remedy)


def are_up(platform: Platform, connections: Connections) -> bool:
    """Whether hosts and servers of the platform can be looked at."""
    if platform.machines is None:
        return True
    try:
        with hypervisor_of(platform.machines, connections) as hypervisor:
            return len(switch.guests_now(platform, hypervisor)) == len(layout(platform))
    except ClusterbenchError:
        return False
