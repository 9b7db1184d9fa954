"""How fast hosts are by themselves, over time: into the history, and out of it again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clusterbench.base.archive import Store
from clusterbench.base.in_parallel import in_parallel
from clusterbench.history.database import Database, writing
from clusterbench.history.write import copy_rows
from clusterbench.hosts.speed_kinds import FOLDER

COLUMNS = ("object", "platform", "measured_at", "run_id", "host", "roles", "measurement", "value")


@dataclass(frozen=True)
class Measured:
    """All hosts of a platform, once. ``hosts``: host -> measurement -> value."""

    at: datetime
    run_id: str
    hosts: dict[str, dict[str, float]] = field(default_factory=dict)
    roles: dict[str, list[str]] = field(default_factory=dict)


def load(db: Database, store: Store) -> int:
    """How many measurements of a platform were new."""
    known = _loaded(db)
    new = [key for key in store.keys(FOLDER) if key not in known]
    found = in_parallel(lambda key: (key, json.loads(store.get(key) or b"{}")), new)
    with writing(db):
        meanwhile = _loaded(db)
        rows = [row for key, said in found if key not in meanwhile for row in _rows(key, said)]
        copy_rows(db, "host_speeds", COLUMNS, rows)
    return len(new)


def _loaded(db: Database) -> set[str]:
    return {key for (key,) in db.execute("SELECT DISTINCT object FROM host_speeds")}


def _rows(key: str, said: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    platform = key.removeprefix(FOLDER).partition("/")[0]
    for host, values in said["hosts"].items():
        for measurement, value in values.items():
            roles = list(said["roles"].get(host, ()))
            yield key, platform, said["at"], said["run"], host, roles, measurement, value


def read(db: Database, platform: str, limit: int) -> list[Measured]:
    """The last ``limit`` measurements of a platform, the newest last."""
    query = """
        SELECT object, measured_at, run_id, host, roles, measurement, value
        FROM host_speeds
        WHERE platform = %(platform)s AND object IN (
            SELECT object FROM host_speeds WHERE platform = %(platform)s
            GROUP BY object, measured_at ORDER BY measured_at DESC, object DESC LIMIT %(limit)s)
        ORDER BY measured_at, object, host, measurement"""
    found: dict[str, Measured] = {}
    for key, at, run_id, host, roles, measurement, value in db.execute(query, {"platform": platform, "limit": limit}):
        one = found.setdefault(key, Measured(at, run_id))
        one.hosts.setdefault(host, {})[measurement] = value
        one.roles[host] = roles
    return list(found.values())


def known_of(db: Database, platforms: Sequence[str]) -> list[str]:
    """Those of them whose hosts were ever measured."""
    query = """
        SELECT name FROM unnest(%s::text[]) WITH ORDINALITY AS asked (name, place)
        WHERE EXISTS (SELECT FROM host_speeds WHERE platform = name) ORDER BY place"""
    return [name for (name,) in db.execute(query, [list(platforms)])]
