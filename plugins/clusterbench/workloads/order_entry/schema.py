"""The nine tables of Order-Entry, from ``include/sql/order_entry/tables.yaml``. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from clusterbench.base.datasets import Storage
from clusterbench.base.sql import quoted
from clusterbench.workloads.tables import Columns, create_index, read

ITEM = "item"
"""The only table that no transaction changes."""


@dataclass(frozen=True)
class Table(Columns):
    """One table, by its bare name."""

    indexes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name -> columns, beside the key's."""
    fillfactor: int = 100

    def storage(self) -> Storage:
        return Storage(self.distributed_by)

    def leave_room(self, schema: str) -> str:
        """The statement that sets how full its pages are made."""
        return f"ALTER TABLE {quoted(f'{schema}.{self.name}')} SET (fillfactor = {self.fillfactor})"

    def set_autovacuum(self, schema: str, *, is_on: bool) -> str:
        """Tables are made without it."""
        return f"ALTER TABLE {quoted(f'{schema}.{self.name}')} SET (autovacuum_enabled = {str(is_on).lower()})"

    def make_keys(self, schema: str) -> list[str]:
        """Statements that make its key and its indexes, whatever a try that was cut off, or another one, has made."""
        table = quoted(f"{schema}.{self.name}")
        drop = [f"DROP INDEX IF EXISTS {quoted(f'{schema}.{name}')}" for name in self.indexes]
        make = [create_index(name, table, columns) for name, columns in self.indexes.items()]
        if not self.key:
            return [*drop, *make]
        return [f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {self.name}_pkey", *drop, self.add_key(table), *make]

    def index_names(self, schema: str) -> list[str]:
        own = [f"{self.name}_pkey"] if self.key else []
        return [f"{schema}.{name}" for name in [*own, *self.indexes]]


@cache
def tables() -> Mapping[str, Table]:
    """All of them by name."""
    return {
        name: Table(
            name,
            columns=said["columns"],
            key=tuple(said.get("key", ())),
            distributed_by=said["distributed_by"],
            indexes={index: tuple(columns) for index, columns in said.get("indexes", {}).items()},
            fillfactor=said.get("fillfactor", 100),
        )
        for name, said in read("order_entry").items()
    }


def changing() -> list[Table]:
    """The tables that transactions change."""
    return [table for table in tables().values() if table.name != ITEM]
