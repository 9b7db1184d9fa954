"""Platforms that are measured in turns: all are up at the same time, so they must not share a server. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from clusterbench.spec.experiment import Experiment
from clusterbench.spec.platform import Platform
from clusterbench.spec.roles import DRIVERS

GROUP = "in_turns"
"""The task group of an experiment's DAG in which they are taken and measured."""
TAKE_OUT = "take one of them out of this key: platforms that it does not name are measured one after the other"


def in_turns(experiment: Experiment, platforms: Sequence[Platform]) -> list[list[Platform]]:
    """The platforms by turn: those in turns first and together, then each of the others by itself.

    Those in turns come in the order in which every run takes them, whatever the order in a file: of two runs that want
    the same clusters one waits for the first cluster, so neither holds what the other waits for.
    """
    together = [platform for platform in platforms if platform.platform in experiment.platforms_in_turns]
    alone = [[platform] for platform in platforms if platform.platform not in experiment.platforms_in_turns]
    return [*([in_order_of_taking(together)] if together else []), *alone]


def in_order_of_taking(platforms: Sequence[Platform]) -> list[Platform]:
    return sorted(platforms, key=lambda platform: (platform.cluster, platform.platform))


def problems(together: Sequence[Platform]) -> list[str]:
    """Why platforms cannot be up at the same time; each begins with the experiment's key."""
    found = [
        f"{platform.platform!r} has 'machines', and a run has the machines of one layout up at a time; take it out "
        "of this key: layouts take turns by themselves"
        for platform in together
        if platform.machines
    ]
    for one, other in combinations(together, 2):
        found += [f"{one.platform!r} and {other.platform!r} {problem}" for problem in _shared(one, other)]
    return [f"platforms_in_turns: {problem}" for problem in found]


def _shared(one: Platform, other: Platform) -> Iterator[str]:
    """What both use, and only one of two platforms that are up can."""
    if one.database is not None and one.database == other.database:
        yield f"have the same database ({one.database!r}), which is one server with one configuration; {TAKE_OUT}"
    pairs = [
        (a, b) for a, host in one.every_host.items() for b, beside in other.every_host.items() if host.ssh == beside.ssh
    ]
    for a, b in pairs:
        if a in one.engine_hosts or b in other.engine_hosts:
            yield (
                f"share a server: hosts.{a} of {one.platform!r} and hosts.{b} of {other.platform!r} have the same "
                f"connection {one.every_host[a].ssh!r}, so what one of them runs would be load beside the other's "
                f"trials. Only hosts that drive load ({', '.join(sorted(DRIVERS))}) may be shared; {TAKE_OUT}"
            )
            return
    if pairs and one.cluster != other.cluster:
        yield (
            f"share host {pairs[0][0]!r}, and their clusters are {one.cluster!r} and {other.cluster!r}: write the same "
            "'cluster' into both files, so that no other run uses the host"
        )
    if one.cluster == other.cluster and (machines := _machines(one) & _machines(other)):
        machine = min(machines)
        yield (
            f"are on one physical machine: hosts of both have 'machine: {machine}', and only one of them can have it; "
            f"{TAKE_OUT}"
        )


def _machines(platform: Platform) -> set[str]:
    """Of the hosts that run an engine. Names of machines are those of a cluster."""
    return {machine for name in platform.engine_hosts if (machine := platform.every_host[name].machine)}
