"""What a Greenplum has and takes, as far as file and facts show. Pure.

Every session of a client has a process on every segment, and one more there for every further slice of its plan: what
is said here is the least.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clusterbench.engines.capacity import Capacity, cpus
from clusterbench.engines.greenplum import resources
from clusterbench.engines.postgres import capacity as postgres
from clusterbench.spec.placed import working_hosts
from clusterbench.spec.platform import Platform

SHARED_BUFFERS = "125MB"
STATEMENTS_AT_ONCE = 2
"""``Greenplum.parallelism``; each of them runs on all segments."""


def capacity(platform: Platform, facts: Mapping[str, Any]) -> Capacity:
    hosts = len(working_hosts(platform))
    segments = platform.segments_per_host or -(-int(facts.get("segments") or hosts) // hosts)
    mirrors = platform.mirrors_per_host if platform.mirrors_per_host is not None else int(facts.get("mirrors") or 0)
    processes, have = STATEMENTS_AT_ONCE * segments * hosts, cpus(platform)
    buffers = postgres.shared_buffers(platform, facts, SHARED_BUFFERS)
    return replace(
        postgres.capacity(platform, facts),
        data_roles=("segment", "coordinator"),
        running_at_once=resources.running_at_once(facts),
        sessions_remedy=(
            "raise max_connections of coordinator and segments ('settings' of its file), or choose fewer clients"
        ),
        processes_per_session=segments,
        memory_fixed_bytes=segments * buffers.value,
        memory_said_by=f"{segments} segments with {buffers.said_by}",
        copies=2 if mirrors else 1,
        has_file_servers=True,
        generating_processes=min(processes, have) if have else processes,
    )
