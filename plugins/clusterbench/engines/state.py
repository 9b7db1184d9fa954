"""The state of a deployment: a row for each of its processes, and what became of them between two looks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

SILENT = "is up, but does not answer"
"""It may be slow only."""
FROZEN = "is up, but stopped by a signal, and does not answer"
UNREACHABLE = "cannot be asked"

LOG_LINES = 15
"""Of the end of each log, in an error."""


class Placed(Protocol):
    """Something that runs on a host of the platform; None where the platform names no hosts."""

    @property
    def host(self) -> str | None: ...


AnyPlaced = TypeVar("AnyPlaced", bound=Placed)


def by_host(placed: Iterable[AnyPlaced]) -> dict[str, list[AnyPlaced]]:
    """Host -> what runs there; what runs on no known host is left out."""
    found: dict[str, list[AnyPlaced]] = {}
    for each in placed:
        if each.host is not None:
            found.setdefault(each.host, []).append(each)
    return found


def row(
    name: str,
    *,
    alive: bool | None,
    started_at_s: int | None,
    content: object = None,
    preferred_role: str = "p",
    role: str = "p",
    mode: str = "n",
    status: str = "u",
    problem: str = "",
) -> dict[str, Any]:
    """What two looks are compared by.

    ``alive`` is None where its host cannot be asked; ``problem`` may say why. ``content``, its own name if there is
    none, and ``preferred_role`` tell which process of an earlier look it is. ``status`` is u or d: up or down, as its
    master sees it.
    """
    return {
        "name": name,
        "content": name if content is None else content,
        "preferred_role": preferred_role,
        "role": role,
        "mode": mode,
        "status": status,
        "alive": alive,
        "started_at_s": started_at_s,
        "problem": problem,
    }


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """For the record of a trial, which a cluster of thousands of segments must not make large."""
    return {
        "instances": len(rows),
        "down": [row["name"] for row in rows if row["status"] == "d" or row["alive"] is False or row.get("problem")],
        "not_in_preferred_role": [row["name"] for row in rows if row["role"] != row["preferred_role"]],
    }


def faults(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> list[str]:
    """What became of the instances between two looks at them, in words: went down, restarted, silent, changed roles."""
    earlier = {(row["content"], row["preferred_role"]): row for row in before}
    found = []
    for row in after:
        old = earlier.get((row["content"], row["preferred_role"]))
        if old is None:
            continue
        if row.get("problem") and row["problem"] != old.get("problem"):
            found.append(f"{row['name']} {row['problem']}")
        elif (row["status"], row["alive"]) != (old["status"], old["alive"]):
            came = row["status"] == "u" and row["alive"] is not False
            found.append(f"{row['name']} {'came up' if came else 'went down'}")
        elif row["started_at_s"] != old["started_at_s"]:
            found.append(f"{row['name']} was restarted")
        if row["role"] != old["role"]:
            found.append(f"{row['name']} {'took over as primary' if row['role'] == 'p' else 'became a mirror'}")
    return found
