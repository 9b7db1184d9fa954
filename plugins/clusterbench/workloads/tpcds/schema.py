"""The 24 tables of TPC-DS, from ``include/sql/tpcds/tables.yaml``: of what they are, and how they are kept. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache

from clusterbench.base.datasets import Layout
from clusterbench.base.sql import identifier, raw, statement
from clusterbench.workloads.tables import Columns, create_index, read


@dataclass(frozen=True)
class Table(Columns):
    """One table, by its bare name; its columns are in the order of the load files."""

    indexes: tuple[str, ...] = ()
    """Columns with an index of their own, beside the key's."""
    references: Mapping[str, str] = field(default_factory=dict)
    """Column -> table whose key it is, or NULL."""

    def keys(self, schema: str, layout: Layout) -> list[str]:
        """Statements that make its key and its indexes. None on append-optimised tables: scans do without, as
        practitioners do, and Greenplum 6 refuses unique indexes there."""
        if layout != "heap":
            return []
        table = identifier(f"{schema}.{self.name}").as_string(None)
        return [
            self.add_key(table),
            *(create_index(f"{self.name}_{column}", table, [column]) for column in self.indexes),
        ]

    def index_names(self, schema: str, layout: Layout) -> list[str]:
        own = [f"{self.name}_pkey", *(f"{self.name}_{column}" for column in self.indexes)]
        return [f"{schema}.{name}" for name in own] if layout == "heap" else []

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
    return {
        name: Table(
            name,
            columns=said["columns"],
            key=tuple(said["key"]),
            distributed_by=said["distributed_by"],
            indexes=tuple(said.get("indexes", ())),
            references=said.get("references", {}),
        )
        for name, said in read("tpcds").items()
    }
