"""SQL text from ``include/sql``: values and names are put in by the library's quoting, never by pasting."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import Literal

from psycopg import sql  # ids and literals are quoted by the library that talks to the server

from clusterbench.base.paths import own_or_built_in

Value = int | str | sql.Composable
Dialect = Literal["postgres", "greenplum"]
"""Of an engine's SQL: by it a workload chooses a text, where one text does not do for all."""


def statement(folder: str, name: str, **values: Value) -> str:
    """The statement ``include/sql/<folder>/<name>.sql`` with ``$names`` filled in.

    A plain text becomes a literal, ``identifier(…)`` a quoted name, ``raw(…)`` SQL made by this function before.
    """
    return filled(_template(own_or_built_in(f"include/sql/{folder}/{name}.sql")), values)


def filled(template: str, values: Mapping[str, Value]) -> str:
    """``template`` with ``$names`` filled in as ``statement`` does. Raises KeyError for a name without a value."""
    return Template(template).substitute({key: _text(value) for key, value in values.items()})


def identifier(name: str) -> sql.Composable:
    """``a`` as "a", and ``schema.table`` as "schema"."table"."""
    return sql.Identifier(*name.split(".", 1))


def quoted(name: str) -> str:
    """``identifier`` as text; cast to regclass, it also means the relation of exactly that name."""
    return identifier(name).as_string(None)


def raw(text: str) -> sql.Composable:
    """SQL that is trusted because this project wrote it."""
    return sql.SQL(text)  # the library wants a literal; ours comes from files


@cache
def _template(path: Path) -> str:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("--")]
    return "\n".join(lines).strip()


def _text(value: Value) -> str:
    composed = value if isinstance(value, sql.Composable) else sql.Literal(value)
    return composed.as_string(None)
