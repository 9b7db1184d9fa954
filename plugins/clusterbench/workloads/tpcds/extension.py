"""DuckDB's generator of TPC-DS, as files: the extension and the command line program of the same release.

Both come from packages, so nothing is fetched where they run.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def extension_file() -> Path:
    """What ``LOAD`` takes."""
    return _only("duckdb_extension_tpcds", "extensions/*/tpcds.duckdb_extension")


def program_file() -> Path:
    """The command line program: one executable, which needs nothing else on a host."""
    return _only("duckdb_cli", "duckdb")


def _only(package: str, pattern: str) -> Path:
    (found,) = Path(str(files(package))).glob(pattern)
    return found
