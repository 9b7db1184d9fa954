"""Data that a workload needs: which rows, and how they are to be kept. The same on every platform, every week."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from typing import Literal

OURS = "clusterbench: "
"""So begins the comment of every table that clusterbench has made."""


@dataclass(frozen=True)
class Partition:
    """Rows from ``start`` until before ``end``."""

    name: str
    start: date
    end: date

    def table(self, parent: str) -> str:
        """The name of its own table, as Greenplum makes it; the other engines are told to use the same."""
        return f"{parent}_1_prt_{self.name}"


@dataclass(frozen=True)
class Storage:
    """How a table is to be kept where the engine has a choice; others keep it as they keep every table."""

    distributed_by: str
    """A column, where rows are spread over segments; nothing: every segment keeps all rows."""
    layout: Literal["heap", "append_row", "append_column"] = "heap"
    compression: Literal["none", "zlib", "zstd"] = "none"
    level: int = 1
    partitioned_by: str = ""
    """A column of dates or times; ``partitions`` are its ranges, in order and without gaps."""
    partitions: tuple[Partition, ...] = ()
    analysed: tuple[str, ...] = ()
    """Columns that statements ask for, where statistics of all, in every partition, would take minutes; else all."""


@dataclass(frozen=True)
class Dataset:
    """Deterministic data, fixed by name, size and seed: the same rows on every platform, every week."""

    name: str
    table: str
    """Where it has several: the name of their schema."""
    rows: int
    seed: int
    bytes_expected: int
    """Table and indexes on disk, from the widths of the columns; for plans and for the check of free space."""
    storage: Storage
    files_bytes: int = 0
    """Load files on the ETL host."""
    is_loaded_by_trial: bool = False
    """The files stay; the table is made from them by every trial, and removed."""
    is_of_trial: bool = False
    """Made and removed by every trial, because making it is what is measured; ``bytes_expected`` is all it takes."""
    space: str = ""
    """What those bytes are, in words."""
    files_work_bytes: int = 0
    """Beside the load files on the ETL host, while they are made."""
    files_at_once: int = 1
    """That are made at the same time."""
    version: str = "1"
    """Another text here, other rows: a table of another version is made anew."""

    @property
    def made_bytes(self) -> int:
        """What is made before the first trial: the table, the load files, or both."""
        tables = self.is_loaded_by_trial or self.is_of_trial
        return self.files_bytes + (0 if tables else self.bytes_expected)


def too_small(platform: str, dataset: Dataset, free_bytes: int) -> str:
    """Why a trial is refused that makes ``dataset``."""
    return (
        f"platform {platform!r}: too small: a trial on {dataset.table} takes {dataset.bytes_expected / 1e9:,.1f} GB "
        f"while it runs ({dataset.space}), free are {free_bytes / 1e9:,.1f} GB; free some space, or choose a smaller "
        "scale"
    )


def row_skew_max(keys: int) -> float:
    """The declared bound: a twentieth, and what chance does to few keys (four standard deviations of a hundred shares).

    A key hashed well stays far below it: 1 M rows on four segments were within 0.003.
    """
    return 0.05 + 4 * math.sqrt(100 / keys)
