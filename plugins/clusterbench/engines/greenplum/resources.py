"""Which resource group or queue the drivers' sessions are in: it may let fewer of them run at once than there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterbench.base.feature import Feature
from clusterbench.base.sql import statement
from clusterbench.engines.capacity import Known
from clusterbench.engines.postgres.server import Server

WHAT = "drivers' resources"
GROUPS = ("group", "group-v2")
"""Values of gp_resource_manager; the second is generation 7's, for control groups of version 2."""


def of_driver(server: Server) -> dict[str, Any]:
    """``driver_resources``: manager, name of group or queue, its limits in the server's own words, how many at once."""
    manager = str(server.fact("resource_manager"))
    login = server.driver.login
    rows: Sequence[Mapping[str, Any]] = []
    if manager in GROUPS:
        rows = server.query(statement("greenplum", "resource_group", login=login))
    elif manager == "queue":
        rows = server.query(statement("greenplum", "resource_queue", login=login))
    return {"driver_resources": said_of(manager, rows)}


def said_of(manager: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of what the catalogue answers: one row of a group, or one for each limit of a queue. Pure.

    Superusers are in no queue; in groups they have one of their own, ``admin_group``.
    """
    if manager in GROUPS:
        limits = {name: str(value) for row in rows for name, value in row.items() if value not in (None, "")}
        name, at_once = limits.pop("groupname", ""), limits.get("concurrency", "")
    else:
        limits = {str(row["resname"]): str(row["ressetting"]) for row in rows}
        name, at_once = (str(rows[0]["rsqname"]) if rows else ""), limits.get("active_statements", "")
    found: dict[str, Any] = {"manager": manager}
    if name:
        found |= {"name": name, "limits": limits}
    if at_once.lstrip("-").isdigit() and int(at_once) > 0:
        found["at_once"] = int(at_once)
    return found


def feature(found: Mapping[str, Any]) -> Feature:
    """``resource group default_group: concurrency 20, cpu_max_percent 20, …``. Pure."""
    manager = found.get("manager", "unknown")
    if not found.get("name"):
        return Feature(WHAT, f"resource manager {manager}" + (", in no queue" if manager == "queue" else ""))
    limits = ", ".join(f"{name} {value}" for name, value in found["limits"].items() if name != "groupid")
    return Feature(WHAT, f"{_kind(found)} {found['name']}: {limits}")


def running_at_once(facts: Mapping[str, Any]) -> Known | None:
    """How many the server lets run at once of what drivers ask; None where it limits nothing, or nobody asked. Pure."""
    found = facts.get("driver_resources") or {}
    if "at_once" not in found:
        return None
    what = "transactions" if found["manager"] in GROUPS else "statements"
    return Known(found["at_once"], f"{_kind(found)} {found['name']} of the drivers' role lets so many {what} run")


def _kind(found: Mapping[str, Any]) -> str:
    return "resource group" if found["manager"] in GROUPS else "resource queue"
