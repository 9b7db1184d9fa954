"""DuckDB as the independent engine: a database of its own on the worker, and its answers as texts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbench.workloads.from_duckdb.programs import extension_file

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "default_null_order": "nulls_last_on_asc_first_on_desc",  # as in PostgreSQL
    "integer_division": "true",  # likewise
}


@contextmanager
def database(generators: Sequence[str] = (), *, in_memory: bool = True) -> Iterator[tuple[DuckDBPyConnection, Path]]:
    """An empty database with these generators loaded, and a folder that is gone with it; else it is a file there."""
    import duckdb  # noqa: PLC0415  slow to import, and not needed on every path

    with tempfile.TemporaryDirectory(prefix="clusterbench-duckdb-") as folder:
        file = ":memory:" if in_memory else str(Path(folder) / "rows.duckdb")
        with duckdb.connect(file, config={**SETTINGS, "temp_directory": folder}) as connection:
            connection.execute("SET enable_progress_bar = false")
            for generator in generators:
                connection.load_extension(str(extension_file(generator)))
            yield connection, Path(folder)


def answer(connection: DuckDBPyConnection, sql: str) -> list[list[str | None]]:
    """The rows as text, as ``answers.difference`` takes them."""
    return [[_text(value) for value in row] for row in connection.execute(sql).fetchall()]


def _text(value: object) -> str | None:
    """Floating point has an exponent, which tells it from exact decimals."""
    if isinstance(value, float):
        return f"{value:.16e}"
    if isinstance(value, bool):
        return "t" if value else "f"
    return None if value is None else str(value)
