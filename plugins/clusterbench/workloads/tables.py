"""Tables of datasets that have several: what they are made of, and what their comments say of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import yaml
from psycopg.sql import Composable

from clusterbench.base.datasets import OURS, Layout
from clusterbench.base.errors import DatasetError
from clusterbench.base.paths import own_or_built_in
from clusterbench.base.sql import identifier, quoted, raw, statement
from clusterbench.spec.loading import LOADER

if TYPE_CHECKING:
    from clusterbench.base.datasets import Dataset
    from clusterbench.engines import Database


@dataclass(frozen=True)
class Columns:
    """One table, by its bare name."""

    name: str
    columns: Mapping[str, str]
    """Name -> type, in the order of the rows."""
    key: tuple[str, ...]
    distributed_by: str

    def definition(self) -> str:
        """What stands between the parentheses of CREATE TABLE. Engines differ in the words that need quotes there."""
        return ",\n".join(f"{quoted(name)} {kind}" for name, kind in self.columns.items())

    def row_hash(self, name: Literal["row_hash", "row_hash_duckdb"]) -> Composable:
        """A number for a row, the same on every engine; without columns whose text each engine writes its own way."""
        words = ", ".join(_word(column, kind) for column, kind in self.columns.items() if is_told_alike(kind))
        return raw(statement("tables", name, row_text=raw(f"concat_ws('|', {words})")))

    def add_key(self, table: str) -> str:
        """The statement that makes its key; ``table``: its name as SQL has it."""
        return f"ALTER TABLE {table} ADD CONSTRAINT {self.name}_pkey PRIMARY KEY ({', '.join(map(quoted, self.key))})"


@dataclass(frozen=True)
class Table(Columns):
    """One that is loaded from files: its columns are in their order."""

    indexes: tuple[str, ...] = ()
    """Columns with an index of their own, beside the key's."""
    references: Mapping[str, str] = field(default_factory=dict)
    """Column -> table whose key it is, or NULL."""

    def keys(self, schema: str, layout: Layout) -> list[str]:
        """Statements that make its key and its indexes. None on append-optimised tables: scans do without, as
        practitioners do, and Greenplum 6 refuses unique indexes there."""
        if layout != "heap":
            return []
        table = quoted(f"{schema}.{self.name}")
        return [
            *([self.add_key(table)] if self.key else []),
            *(create_index(f"{self.name}_{column}", table, [column]) for column in self.indexes),
        ]

    def index_names(self, schema: str, layout: Layout) -> list[str]:
        own = [f"{self.name}_pkey"] if self.key else []
        own += [f"{self.name}_{column}" for column in self.indexes]
        return [f"{schema}.{name}" for name in own] if layout == "heap" else []

    def inspection(self, schema: str, segment: str, present: Collection[str], tables: Mapping[str, Table]) -> str:
        """The statement that looks at all rows once. ``tables``: all of the schema; references to those that are not
        ``present`` cannot be looked at."""
        joins, orphans = [], []
        known = {column: other for column, other in self.references.items() if other in present}
        for number, (column, other) in enumerate(known.items()):
            (key,) = map(identifier, tables[other].key)
            table, found = identifier(f"{schema}.{other}"), raw(f"key_{number}")
            joins.append(
                statement("tables", "referenced", key=key, found=found, table=table, column=identifier(column))
            )
            orphans.append(f"{quoted(column)} IS NOT NULL AND key_{number} IS NULL")
        return statement(
            "tables",
            "inspect",
            table=identifier(f"{schema}.{self.name}"),
            row_hash=self.row_hash("row_hash"),
            segment=raw(segment if self.distributed_by else "0"),
            joins=raw("\n".join(joins)),
            orphan=raw(f"CASE WHEN {' OR '.join(orphans)} THEN 1 ELSE 0 END" if orphans else "0"),
        )


def create_index(name: str, table: str, columns: Sequence[str]) -> str:
    return f"CREATE INDEX {name} ON {table} ({', '.join(map(quoted, columns))})"


def read(folder: str, name: str = "tables") -> dict[str, dict[str, Any]]:
    """What ``include/sql/<folder>/<name>.yaml`` says, by table."""
    text = own_or_built_in(f"include/sql/{folder}/{name}.yaml").read_text(encoding="utf-8")
    return dict(yaml.load(text, LOADER))  # noqa: S506  a safe one


def comments(schema: str, tables: Iterable[str], engine: Database) -> dict[str, str]:
    """Of the tables that are there. Raises DatasetError where one was not made by clusterbench."""
    wanted = raw(", ".join(f"'{name}'" for name in tables))
    rows = engine.query(statement("tables", "comments", schema=schema, tables=wanted))
    return {str(row["table_name"]): ours(f"{schema}.{row['table_name']}", row["mark"]) for row in rows}


def rows_of(dataset: Dataset) -> str:
    """So goes on the comment of a table with all, or some, of the dataset's rows; how far they are comes last."""
    return f"{OURS}{dataset.name}, {dataset.rows} rows, seed {dataset.seed}, version {dataset.version}"


def ours(table: str, comment: str | None) -> str:
    """The comment of a table that is there. Raises DatasetError where clusterbench did not make it."""
    if not str(comment).startswith(OURS):
        raise DatasetError(f"table {table!r} is there and was not made by clusterbench; move it away or drop it")
    return str(comment)


def mark(table: str, comment: str) -> str:
    """The statement that has the table's comment say so."""
    return statement("tables", "mark", table=identifier(table), mark=comment)


TOLD_ALIKE = re.compile(
    r"(small|big)?(int(eger)?|serial)\b|(numeric|decimal)\(|char|varchar|text\b|date\b|bool"
    r"|timestamp\b(?!.*with time)"
)
"""Types that all engines write as the same text. Floating point is not among them."""


def is_told_alike(kind: str) -> bool:
    return bool(TOLD_ALIKE.match(kind.lower()))


def _word(column: str, kind: str) -> str:
    """A column as text, the same on every engine: the blanks at the end of a fixed width mean nothing."""
    text = f"CAST({quoted(column)} AS varchar)"
    text = f"rtrim({text})" if kind.startswith("character(") else text
    return f"COALESCE({text}, '')"
