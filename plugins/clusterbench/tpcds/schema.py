"""The 24 tables of TPC-DS, from ``include/sql/tpcds/tables.yaml``: of what they are, and how they are kept. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, cast

import yaml

from clusterbench.datasets import Storage
from clusterbench.paths import project_root
from clusterbench.spec.loading import LOADER
from clusterbench.sql import Value, identifier, raw, statement

Layout = Literal["heap", "append_row", "append_column"]


@dataclass(frozen=True)
class Table:
    """One table, by its bare name."""

    name: str
    columns: Mapping[str, str]
    """Name -> type, in the order of the load files."""
    key: tuple[str, ...]
    distributed_by: str
    indexes: tuple[str, ...] = ()
    """Columns with an index of their own, beside the key's."""
    references: Mapping[str, str] = field(default_factory=dict)
    """Column -> table whose key it is, or NULL."""

    def definition(self) -> str:
        """What stands between the parentheses of CREATE TABLE."""
        return ",\n".join(f"{name} {kind}" for name, kind in self.columns.items())

    def storage(self, layout: Layout) -> Storage:
        """As practitioners of Greenplum: compressed where the layout knows how to."""
        return Storage(self.distributed_by, layout, "none" if layout == "heap" else "zlib")

    def keys(self, schema: str, layout: Layout) -> list[str]:
        """Statements that make its key and its indexes. None on append-optimised tables: scans do without, as
        practitioners do, and Greenplum 6 refuses unique indexes there."""
        if layout != "heap":
            return []
        table = identifier(f"{schema}.{self.name}").as_string(None)
        return [
            f"ALTER TABLE {table} ADD CONSTRAINT {self.name}_pkey PRIMARY KEY ({', '.join(self.key)})",
            *(f"CREATE INDEX {self.name}_{column} ON {table} ({column})" for column in self.indexes),
        ]

    def index_names(self, schema: str, layout: Layout) -> list[str]:
        own = [f"{self.name}_pkey", *(f"{self.name}_{column}" for column in self.indexes)]
        return [f"{schema}.{name}" for name in own] if layout == "heap" else []

    def row_hash(self, name: Literal["row_hash", "row_hash_duckdb"]) -> Value:
        """A number for a row, the same on every engine."""
        words = ", ".join(_word(column, kind) for column, kind in self.columns.items())
        return raw(statement("tables", name, row_text=raw(f"concat_ws('|', {words})")))

    def inspection(self, schema: str, segment: str, present: Collection[str]) -> str:
        """The statement that looks at all rows once. References to tables that are not there cannot be looked at."""
        joins, orphans = [], []
        known = {column: other for column, other in self.references.items() if other in present}
        for number, (column, other) in enumerate(known.items()):
            (key,) = map(raw, tables()[other].key)
            table, found = identifier(f"{schema}.{other}"), raw(f"key_{number}")
            joins.append(statement("tpcds", "referenced", key=key, found=found, table=table, column=raw(column)))
            orphans.append(f"{column} IS NOT NULL AND key_{number} IS NULL")
        return statement(
            "tpcds",
            "inspect",
            table=identifier(f"{schema}.{self.name}"),
            row_hash=self.row_hash("row_hash"),
            segment=raw(segment if self.distributed_by else "0"),
            joins=raw("\n".join(joins)),
            orphan=raw(f"CASE WHEN {' OR '.join(orphans)} THEN 1 ELSE 0 END" if orphans else "0"),
        )


@cache
def tables() -> Mapping[str, Table]:
    """All of them by name."""
    text = (project_root() / "include/sql/tpcds/tables.yaml").read_text(encoding="utf-8")
    return {
        name: Table(
            name,
            columns=said["columns"],
            key=tuple(said["key"]),
            distributed_by=said["distributed_by"],
            indexes=tuple(said.get("indexes", ())),
            references=said.get("references", {}),
        )
        for name, said in yaml.load(text, LOADER).items()  # noqa: S506  a safe one
    }


def layout_of(storage: str) -> Layout:
    return cast(Layout, storage)


def _word(column: str, kind: str) -> str:
    """A column as text, the same on every engine: the blanks at the end of a fixed width mean nothing."""
    text = f"CAST({column} AS varchar)"
    text = f"rtrim({text})" if kind.startswith("character(") else text
    return f"COALESCE({text}, '')"
