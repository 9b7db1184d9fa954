"""The 24 tables of TPC-DS in DuckDB on the worker: rows made again by the same generator."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbench.workloads.from_duckdb import reference
from clusterbench.workloads.tpcds import dsdgen, schema
from clusterbench.workloads.tpcds.files import rows_sql

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

IN_MEMORY_SCALE_MAX = 1.0
"""Scale factor 1 is 0.33 GB in DuckDB; more goes to a temporary file."""


@contextmanager
def database(scale_factor: float, generator: str = "duckdb") -> Iterator[DuckDBPyConnection]:
    """One thread, 4 s at scale factor 0.1, 20 s at 1."""
    generators = () if generator == "dsdgen" else ("tpcds",)
    with reference.database(generators, in_memory=scale_factor <= IN_MEMORY_SCALE_MAX) as (connection, folder):
        if generator == "dsdgen":
            _read_files(connection, scale_factor, folder)
        else:
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
