"""Which instances a cluster has, and whether they are where the platform's file says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterbench.base.errors import EngineError
from clusterbench.engines import instances
from clusterbench.engines.instances import COORDINATOR, Instance
from clusterbench.engines.postgres.server import Server
from clusterbench.engines.postgres.settings import public_value
from clusterbench.engines.state import by_host
from clusterbench.hosts.data_network import data_addresses
from clusterbench.spec.platform import Platform


def place(server: Server, rows: Sequence[Mapping[str, Any]], names: Mapping[str, Sequence[str]]) -> list[Instance]:
    """Instances from rows of ``gp_segment_configuration``. Raises EngineError for one on a host that nobody named.

    ``names``: host of the platform -> what the cluster may call it, the surest first.
    """
    placed, problems = instances.place(rows, names)
    if problems:
        named = ", ".join(server.platform.database_hosts)
        raise EngineError(
            f"{server.where} is not the cluster that it reaches:\n  "
            + "\n  ".join(problems)
            + f"\nIts file names {named}; add the missing hosts with the role 'segment', under the names above"
        )
    return placed


def names_of_hosts(server: Server) -> dict[str, list[str]]:
    """Host of the platform -> what the cluster may call it: its name here, its address, what it calls itself."""
    answers = {}
    if server.platform.database_hosts:
        answers = server.on_hosts("uname -n; hostname -f 2>/dev/null || true; hostname -I 2>/dev/null || true", "")
    data = data_addresses(server.fleet, server.platform, answers)
    return {
        host: [host, data[host].address, server.fleet.addresses[host].host, *said.split()]
        for host, said in answers.items()
    }


def check_counts(platform: Platform, placed: Sequence[Instance]) -> None:
    """Segments and mirrors per host, against the platform's file. Raises EngineError where they differ. Pure."""
    if not platform.database_hosts:
        return  # nobody can say what is where
    primaries = [i for i in placed if i.is_primary_segment]
    mirrors = [i for i in placed if i.content != COORDINATOR and i.is_mirror]
    wrong = [
        *_wrong_counts("segments", platform.segments_per_host, primaries, "segments_per_host"),
        *_wrong_counts("mirrors", platform.mirrors_per_host, mirrors, "mirrors_per_host"),
    ]
    if wrong:
        raise EngineError(f"platform {platform.platform!r}: " + "; ".join(wrong))


def _wrong_counts(what: str, declared: int | None, found: Sequence[Instance], key: str) -> list[str]:
    if declared is None:
        return []
    counts = {host: len(here) for host, here in by_host(found).items()}
    wrong = {host: count for host, count in counts.items() if count != declared}
    if not wrong and (counts or not declared):
        return []
    said = ", ".join(f"{count} on {host}" for host, count in sorted(wrong.items())) or "none"
    return [f"declared are {declared} {what} per host, found {said}; change {key!r} in its file, or the cluster"]


def settings_that_differ(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Setting -> instance's content -> value, for changed settings that are not the same on every instance.

    Where an instance is left out, it has the default.
    """
    contents = {row["content"] for row in rows}
    values: dict[str, dict[str, str]] = {}
    for row in rows:
        values.setdefault(str(row["name"]), {})[str(row["content"])] = str(row["value"])
    return {
        name: {content: public_value(name, value) for content, value in found.items()}
        for name, found in values.items()
        if len(set(found.values())) > 1 or len(found) < len(contents)
    }
