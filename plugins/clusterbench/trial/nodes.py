"""What each node did in a trial: hosts with segments, or virtual machines with a server each. Pure.

Nodes of a Greenplum are its hosts with segments, of Hadoop its workers. Where VMs of one physical server are databases
of their own, as in the lab, the measured one and its neighbours are the nodes; each also has a time of its own,
because neighbours run the same streams in rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clusterbench.base.records import FINDINGS, TrialRecord
from clusterbench.hosts import node_spread

if TYPE_CHECKING:
    from clusterbench.spec.platform import Platform
    from clusterbench.workloads import Workload


def told(record: TrialRecord, platform: Platform, workload: Workload) -> TrialRecord:
    """The record with its ``nodes``, and how far they differ, if the workload declares that it wants to know."""
    wanted = [name for name in node_spread.MEASUREMENTS if name in workload.measurements]
    hosts = nodes_of(platform)
    if not wanted or len(hosts) < 2 or record.window_start_s is None or record.window_end_s is None:
        return record
    window_s = record.window_end_s - record.window_start_s
    found = node_spread.work(record.telemetry, list(hosts), window_s)
    for host, name in hosts.items():
        time_s = record.measurements.get("response_time_s") if name == "" else _round_s(record, name)
        if time_s is not None and platform.neighbours:
            found[host][node_spread.TIME] = time_s
    rounded = {host: {key: round(value, 3) for key, value in did.items()} for host, did in found.items()}
    spread = {name: value for name, value in node_spread.spread(found).items() if name in wanted}
    measured = {} if record.outcome in FINDINGS else spread
    return replace(
        record,
        measurements={**record.measurements, **measured},
        evidence={**record.evidence, "nodes": rounded},
    )


def nodes_of(platform: Platform) -> dict[str, str]:
    """Host -> the neighbour whose it is; "" where it belongs to the database that is measured."""
    own = platform.hosts_with("segment", "worker")
    if len(own) > 1 or not platform.neighbours:
        return dict.fromkeys(own, "")
    found = dict.fromkeys(platform.database_hosts, "")
    for name, neighbour in platform.neighbours.items():
        found |= {host: name for host, one in neighbour.hosts.items() if set(one.roles) & {"coordinator", "segment"}}
    return found


def _round_s(record: TrialRecord, neighbour: str) -> float | None:
    """Mean of the rounds that a neighbour has ended in the window; None where it ended none."""
    seen: Mapping[str, Any] = (record.evidence.get("neighbours") or {}).get(neighbour) or {}
    return seen.get("round_s")
