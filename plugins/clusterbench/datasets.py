"""Data that a workload needs: which rows, and how they are to be kept. The same on every platform, every week."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Storage:
    """How a table is to be kept where the engine has a choice; others keep it as they keep every table."""

    distributed_by: str
    layout: Literal["heap", "append_row", "append_column"] = "heap"
    compression: Literal["none", "zlib", "zstd"] = "none"
    level: int = 1


@dataclass(frozen=True)
class Dataset:
    """Deterministic data, fixed by name, size and seed: the same rows on every platform, every week."""

    name: str
    table: str
    rows: int
    seed: int
    bytes_expected: int
    """Table and indexes on disk, from the widths of the columns; for plans and for the check of free space."""
    storage: Storage
