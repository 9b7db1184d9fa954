"""What the drivers' own role is given, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from clusterbench.base.connections import Connection
from clusterbench.base.paths import project_root
from clusterbench.engines.postgres import driver_role
from clusterbench.engines.postgres.engine import Postgres
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.catalog import Catalog

PLATFORM = Catalog(project_root()).platform("lab_db1")
DATABASE = Connection("db", "db1", 5432, "owner", "", "bench", {})
DRIVER = Connection("driver", "db1", 5432, "guest", "", "bench", {})


class Told(Postgres):
    """A server that notes what it is told."""

    def __init__(self, *, is_let_in: bool = False) -> None:
        super().__init__(PLATFORM, cast(Fleet, None), DATABASE, {}, DRIVER)
        self.is_let_in, self.told = is_let_in, list[str]()

    def query(self, query: str, *, settings: Mapping[str, str] = {}) -> list[dict[str, Any]]:
        return [{"is_let_in": self.is_let_in}] if "is_let_in" in query else []

    def look_up(self, question: str) -> list[dict[str, Any]]:
        return self.query(question)

    def execute(self, command: str, *, settings: Mapping[str, str] = {}) -> None:
        self.told.append(command)


def test_a_server_where_nothing_is_made_is_told_nothing() -> None:
    server = Told()
    driver_role.own_tables(server)
    assert server.told == []


def test_who_gets_a_table_may_use_the_database_and_is_not_granted_it_twice() -> None:
    server = Told()
    driver_role.give(server, "made.lines")
    assert server.told == [
        'GRANT CONNECT, CREATE, TEMPORARY ON DATABASE "bench" TO "guest"',
        'ALTER SCHEMA "made" OWNER TO "guest"',
        'ALTER TABLE "made"."lines" OWNER TO "guest"',
    ]
    server = Told(is_let_in=True)
    driver_role.give(server, "made.lines")
    assert server.told == ['ALTER SCHEMA "made" OWNER TO "guest"', 'ALTER TABLE "made"."lines" OWNER TO "guest"']
