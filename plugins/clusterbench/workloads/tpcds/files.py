"""What DuckDB's generator of TPC-DS makes on the ETL host, and how large it becomes."""

from __future__ import annotations

from functools import cache

from clusterbench.base.datasets import scale_name
from clusterbench.base.sql import raw, statement
from clusterbench.workloads.from_duckdb import files
from clusterbench.workloads.from_duckdb.files import Source
from clusterbench.workloads.tpcds import schema

FILES_BYTES_PER_SCALE = 1_250_000_000
FILES_BYTES_LEAST = 25_000_000
"""Dates, times and the like do not grow: 26 MB at scale factor 0.01, 116 MB at 0.1."""


def bytes_expected(scale_factor: float) -> int:
    return FILES_BYTES_LEAST + int(scale_factor * FILES_BYTES_PER_SCALE)


def source(scale_factor: float, folder: str = "") -> Source:
    """The rows of all tables as load files."""
    return Source(
        folder,
        rows_sql(scale_factor),
        schema.tables(),
        bytes_expected(scale_factor),
        generators=("tpcds",),
        remedy="choose a smaller scale factor",
    )


def folder(scale_factor: float) -> str:
    """Below the work folder of the ETL host's login."""
    return f"files/tpcds_sf{scale_name(scale_factor)}-{version()}"


@cache
def version() -> str:
    """Of the rows and of their checksums, whatever their scale factor."""
    return files.version_of(source(1))


def rows_sql(scale_factor: float) -> str:
    """For DuckDB with its generator loaded."""
    return statement("tpcds", "rows", scale_factor=raw(f"{scale_factor:f}"))
