"""The server processes of a database, and where each one's data is. Pure.

PostgreSQL has one instance; Greenplum has a coordinator and many segments, with or without mirrors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from clusterbench.engines import state

COORDINATOR = -1
"""Its content id, as ``gp_segment_configuration`` has it; a plain server's, too."""


@dataclass(frozen=True)
class Instance:
    """One server process. ``host`` is the platform's name of its host, None where the platform names no hosts."""

    content: int
    host: str | None
    address: str
    port: int
    data_directory: str
    role: str = "p"
    preferred_role: str = "p"
    mode: str = "n"
    """s: in step with its mirror; n: not, or without one."""
    status: str = "u"
    """u: up, d: down, as the coordinator sees it."""

    @property
    def name(self) -> str:
        mirror = "" if self.preferred_role == "p" else " (mirror)"
        return f"{content_name(self.content)}{mirror} on {self.host or self.address}:{self.port}"

    @property
    def is_mirror(self) -> bool:
        return self.preferred_role == "m"

    @property
    def is_primary_segment(self) -> bool:
        """Whether it holds rows of its own, as neither the coordinator nor a mirror does."""
        return self.content != COORDINATOR and not self.is_mirror

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def content_name(content: object) -> str:
    """ "coordinator" or "segment 3"; archived facts may have the number as text."""
    return "coordinator" if str(content) == str(COORDINATOR) else f"segment {content}"


def place(
    rows: Sequence[Mapping[str, Any]], names_of_hosts: Mapping[str, Sequence[str]]
) -> tuple[list[Instance], list[str]]:
    """Instances from rows of ``gp_segment_configuration``, each on a host of the platform, and what fits none.

    ``names_of_hosts``: host of the platform -> the names and addresses that it goes by, the surest first.
    """
    placed, problems = [], []
    for row in rows:
        host = _host_of(row, names_of_hosts) if names_of_hosts else None
        instance = Instance(
            content=int(row["content"]),
            host=host,
            address=str(row["address"]),
            port=int(row["port"]),
            data_directory=str(row["datadir"]),
            role=str(row["role"]).strip(),
            preferred_role=str(row["preferred_role"]).strip(),
            mode=str(row["mode"]).strip(),
            status=str(row["status"]).strip(),
        )
        placed.append(instance)
        if names_of_hosts and host is None:
            problems.append(f"{instance.name}, host name {row['hostname']!r}, is on none of the platform's hosts")
    return placed, problems


def _host_of(row: Mapping[str, Any], names_of_hosts: Mapping[str, Sequence[str]]) -> str | None:
    wanted = (str(row["hostname"]), str(row["address"]))
    ranked = [(names.index(name), host) for host, names in names_of_hosts.items() for name in wanted if name in names]
    return min(ranked)[1] if ranked else None


def row(instance: Instance, started_at_s: int | None, problem: str = "") -> dict[str, Any]:
    """The instance's state; ``started_at_s`` is None where it does not run."""
    can_be_asked = instance.host and not problem.startswith(state.UNREACHABLE)
    return state.row(
        instance.name,
        alive=started_at_s is not None if can_be_asked else None,
        started_at_s=started_at_s,
        content=instance.content,
        preferred_role=instance.preferred_role,
        role=instance.role,
        mode=instance.mode,
        status=instance.status,
        problem=problem,
    )


def seen(instances: Iterable[Instance], looks: Mapping[str, str], lost: Mapping[str, str]) -> list[dict[str, Any]]:
    """A row of each instance, from what ``look.sh`` said on its host; ``lost``: host that did not answer -> why."""
    said = [(host, line.split("\t")) for host, output in looks.items() for line in output.splitlines()]
    lines = {(host, words[0]): words for host, words in said}
    found = []
    for each in instances:
        host = str(each.host)
        look = lines.get((host, each.data_directory))
        problem = f"{state.UNREACHABLE}: {lost[host]}" if host in lost else ""
        if look:
            problem = {"silent": state.SILENT, "frozen": state.FROZEN}.get(look[2], problem)
        found.append(row(each, int(look[1]) if look else None, problem))
    return found
