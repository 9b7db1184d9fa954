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
                yield Finding("machines", where, problem, "bad", "mend the platform's file, or what is there")
            if not problems:
                switch.planned(platform, hypervisor.look(), hypervisor.differs(wanted))  # raises where a name is taken
                yield Finding("machines", where, f"all that {len(wanted)} machines need is there")
            ahead_s = hypervisor.clock_ahead_s()
            if abs(ahead_s) >= CLOCK_BAD_S:
                remedy = "set both clocks by NTP: its counters are told by its own"
                yield Finding("clock", where, f"{ahead_s:+.1f} s off this machine's", "bad", remedy)
            told = switch.guests_now(platform, hypervisor)
    except ClusterbenchError as error:
        yield Finding("machines", where, str(error), "bad", "mend that; until then nothing can be made")
        return
    if down := [one.host for one in wanted if one.host not in told]:
        found = f"down, as between runs: {some_of(down)}; nothing of them was looked at"
        remedy = f"clusterbench machines up {platform.platform}, and doctor again, looks at them too"
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
