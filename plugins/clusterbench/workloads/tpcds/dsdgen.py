"""The rows of the specification's own generator, dsdgen, by ``tpcgen-cli``: its program, and which chunks there are.

Byte by byte it makes what the TPC's program makes (docs/tpcds.md), and any part of a table by itself, so that many
processes on many hosts make one table. It is one executable of this project's packages, which needs nothing else there.
"""

from __future__ import annotations

import math
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from psycopg.sql import Composable

from clusterbench.base.sql import identifier, raw, statement
from clusterbench.workloads.tpcds import schema

PACKAGE = PROGRAM = "tpcgen-cli"
CHUNK_BYTES = 250_000_000
"""Of a load file, about: 4 s of a processor, counted while it is made."""
COUNTING_MEMORY = "500MB"
"""Of each process of DuckDB that counts a chunk; it keeps no rows."""
LARGE = {
    "store_sales": (388e6, 1.0),
    "catalog_sales": (296e6, 1.0),
    "web_sales": (147e6, 1.0),
    "store_returns": (33e6, 1.0),
    "catalog_returns": (21e6, 1.0),
    "web_returns": (10e6, 1.0),
    "inventory": (236e6, 0.61),
    "customer": (13e6, 0.7),
    "customer_address": (5.5e6, 0.7),
}
"""Bytes of the file at scale factor 1, as made, and the power of the scale factor with which they grow: sales linearly,
the others as rows of table 3-2 of the specification do from 1 to 100,000. All others are one chunk."""
LINE_END = "line_end"
"""The empty column after the last separator of a line."""
SMALL = {"customer_demographics": 81e6, "date_dim": 10e6, "time_dim": 5e6, "item": 5e6, "catalog_page": 1.6e6}
"""Bytes at scale factor 1 of those that hardly grow; what is not named has less than 100 kB."""


@dataclass(frozen=True)
class Chunk:
    """Part ``number`` of ``of`` of a table's rows, counted from 1."""

    table: str
    number: int
    of: int
    bytes: int
    """Of its file, expected."""

    @property
    def name(self) -> str:
        return f"{self.table}-{self.number:05d}"


def chunks(scale_factor: float) -> list[Chunk]:
    """All of them, the largest first. They depend on nothing but the scale factor, so any later try has the same."""
    return sorted(_chunks(scale_factor), key=lambda chunk: (-chunk.bytes, chunk.table, chunk.number))


def _chunks(scale_factor: float) -> Iterator[Chunk]:
    for table in schema.tables():
        size = bytes_of(table, scale_factor)
        of = max(1, math.ceil(size / CHUNK_BYTES)) if table in LARGE else 1
        yield from (Chunk(table, number, of, size // of) for number in range(1, of + 1))


def bytes_of(table: str, scale_factor: float) -> int:
    """Of all its rows as text, about."""
    size, power = LARGE.get(table, (SMALL.get(table, 100e3), 0.0))
    return int(size * scale_factor**power)


def bytes_expected(scale_factor: float) -> int:
    """Of all load files together, if they were there at once."""
    return sum(bytes_of(table, scale_factor) for table in schema.tables())


def program_file() -> Path:
    """The executable, as its package has put it."""
    return Path(sysconfig.get_path("scripts")) / PROGRAM


@cache
def version() -> str:
    """Of the rows and of their checksums."""
    return f"{PACKAGE} {metadata.version(PACKAGE)} {_row_hash('reason').as_string(None)}"


def count_sql(table: str) -> str:
    """For DuckDB's program: rows and checksum of a load file on its standard input."""
    return statement(
        "tpcds",
        "count_chunk",
        row_hash=_row_hash(table),
        columns=raw(_columns(table)),
        memory_limit=COUNTING_MEMORY,
    )


def read_sql(table: str, file: Path | str) -> str:
    """For DuckDB: the table, from a file as the generator writes it, whose lines end with a separator."""
    columns = raw(f"{_columns(table)}, '{LINE_END}': 'varchar'")
    return statement(
        "tpcds", "read_file", table=identifier(table), file=str(file), columns=columns, line_end=identifier(LINE_END)
    )


def _row_hash(table: str) -> Composable:
    return schema.tables()[table].row_hash("row_hash_duckdb")


def _columns(table: str) -> str:
    types = {name: kind.removesuffix(" NOT NULL") for name, kind in schema.tables()[table].columns.items()}
    return ", ".join(f"'{name}': '{kind}'" for name, kind in types.items())
