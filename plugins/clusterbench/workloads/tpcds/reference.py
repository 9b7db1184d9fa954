"""DuckDB as the independent engine: rows made anew by the same generator, and its answers to the same questions."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbench.workloads.tpcds import dsdgen, schema
from clusterbench.workloads.tpcds.extension import extension_file
from clusterbench.workloads.tpcds.files import rows_sql

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

IN_MEMORY_SCALE_MAX = 1.0
"""Scale factor 1 is 0.33 GB in DuckDB; more goes to a temporary file."""

SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "default_null_order": "nulls_last_on_asc_first_on_desc",  # as in PostgreSQL
    "integer_division": "true",  # likewise
}


@contextmanager
def database(scale_factor: float, generator: str = "duckdb") -> Iterator[DuckDBPyConnection]:
    """The 24 tables of TPC-DS, made anew: one thread, 4 s at scale factor 0.1, 20 s at 1."""
    import duckdb  # noqa: PLC0415  slow to import, and not needed on every path

    with tempfile.TemporaryDirectory(prefix="clusterbench-tpcds-") as folder:
        file = ":memory:" if scale_factor <= IN_MEMORY_SCALE_MAX else str(Path(folder) / "tpcds.duckdb")
        with duckdb.connect(file, config={**SETTINGS, "temp_directory": folder}) as connection:
            connection.execute("SET enable_progress_bar = false")
            if generator == "dsdgen":
                _read_files(connection, scale_factor, Path(folder))
            else:
                connection.load_extension(str(extension_file()))
                connection.execute(rows_sql(scale_factor))
            yield connection


def _read_files(connection: DuckDBPyConnection, scale_factor: float, folder: Path) -> None:
    """dsdgen's rows, by way of its files, one table after the other. What ends a line comes in as a column of NULLs."""
    for table in schema.tables():
        command = [str(dsdgen.program_file()), "tpcds", "dat", f"--scale-factor={scale_factor:f}", f"--tables={table}"]
        subprocess.run([*command, f"--output-dir={folder}", "--quiet", "--no-progress"], check=True)
        file = folder / f"{table}.dat"
        connection.execute(dsdgen.read_sql(table, file))
        file.unlink()


def answer(connection: DuckDBPyConnection, sql: str) -> list[list[str | None]]:
    """The rows as text, as ``answers.difference`` takes them."""
    return [[_text(value) for value in row] for row in connection.execute(sql).fetchall()]


def _text(value: object) -> str | None:
    """Floating point has an exponent, which tells it from exact decimals."""
    if isinstance(value, float):
        return f"{value:.16e}"
    return None if value is None else str(value)
