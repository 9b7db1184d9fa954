"""Programs for microbenchmarks, which Hadoop itself does not need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterbench.base.scripts import script
from clusterbench.engines.hadoop.cluster import Cluster

PROGRAMS = ("fio", "iperf3")


def missing(cluster: Cluster) -> dict[str, list[str]]:
    """Program -> hosts without it, of the client host and of the first worker, which alone need them."""
    wanted: dict[str, Sequence[str]] = dict.fromkeys(cluster.configuration.workers[:1], PROGRAMS[1:])
    wanted |= {cluster.platform.client: PROGRAMS}
    scripts = {host: script("hadoop/programs", programs=programs) for host, programs in wanted.items()}
    said = cluster.on_each(scripts, "bash must be there")
    absent = {program: [host for host, out in said.items() if program in out.split()] for program in PROGRAMS}
    return {program: hosts for program, hosts in absent.items() if hosts}


def unavailable(facts: Mapping[str, Any]) -> dict[str, str]:
    """As ``Engine.unavailable``, by program. Pure."""
    absent: Mapping[str, Sequence[str]] = facts.get("programs_missing") or {}
    return {
        program: f"{program} is not on PATH of {' and '.join(map(repr, hosts))}: install the package {program} there"
        for program, hosts in absent.items()
    }
