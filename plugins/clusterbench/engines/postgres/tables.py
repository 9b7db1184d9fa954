"""Tables: their statements, their partitions and indexes, and how their names are quoted."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import sql

from clusterbench.base.datasets import Storage
from clusterbench.base.sql import identifier, quoted, statement
from clusterbench.engines.postgres.server import Server


def regclasses(relations: Sequence[str]) -> sql.Composable:
    """The relations as a list of values of type regclass."""
    return sql.SQL(", ").join(sql.SQL("{}::regclass").format(sql.Literal(quoted(each))) for each in relations)


def schema_of(table: str) -> str:
    """Of ``schema.table``; nothing where the table's name is bare."""
    return table.split(".", 1)[0] if "." in table else ""


def create(server: Server, table: str, definition: str, comment: str) -> None:
    """An empty table by the statements of ``definition``, with its schema; all of it, or nothing."""
    mark = statement("tables", "mark", table=identifier(table), mark=comment)
    if schema := schema_of(table):
        server.execute(f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)}")
    server.execute(f"{definition};\n{mark}")  # sent at once: one transaction


def definition(table: str, columns: str, storage: Storage) -> str:
    """The statements that make it; layout and distribution mean nothing to one server."""
    name = quoted(table)
    own = "WITH (autovacuum_enabled = false)"  # it would run beside a trial; ``loading.settle`` does its work
    if not storage.partitions:
        return f"CREATE TABLE {name} ({columns}) {own}"
    leaves = [
        f"CREATE TABLE {quoted(part.table(table))} PARTITION OF {name} "
        f"FOR VALUES FROM ('{part.start}') TO ('{part.end}') {own}"
        for part in storage.partitions
    ]
    key = quoted(storage.partitioned_by)
    return ";\n".join([f"CREATE TABLE {name} ({columns}) PARTITION BY RANGE ({key})", *leaves])


def leaves(server: Server, relations: Sequence[str]) -> list[str]:
    """The tables that hold the rows: of a partitioned one its partitions, any other itself."""
    if not relations:
        return []
    asked = statement("postgres", "leaves", relations=regclasses(relations))
    found: dict[str, list[str]] = {}
    for row in server.look_up(asked):
        found.setdefault(row["relation"], []).append(row["leaf"])
        found.setdefault(f"{row['schema']}.{row['relation']}", []).append(f"{row['schema']}.{row['leaf']}")
    return [leaf for relation in relations for leaf in found.get(relation, [relation])]


def indexes(server: Server, relation: str) -> list[str]:
    """Names of the indexes of a table and of its partitions."""
    asked = statement("postgres", "indexes", relations=regclasses([relation, *leaves(server, [relation])]))
    return [str(row["name"]) for row in server.look_up(asked)]
