"""Data that a workload needs: which rows, and how they are to be kept. The same on every platform, every week."""

from __future__ import annotations

import math
from collections.abc import Mapping
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


Layout = Literal["heap", "append_row", "append_column", "pax"]
BY_STORAGE = "by_storage"
"""Compression where none is named: none of a heap, zlib at level 1 of all others."""
COMPRESSIONS = ("none", "zlib_1", "zlib_5", "zlib_9", "zstd_1", "zstd_5", "zstd_9")


@dataclass(frozen=True)
class Storage:
    """How a table is to be kept where the engine has a choice; others keep it as they keep every table."""

    distributed_by: str
    """A column, where rows are spread over segments; nothing: every segment keeps all rows."""
    layout: Layout = "heap"
    compression: Literal["none", "zlib", "zstd"] = "none"
    """``compresstype``."""
    level: int = 1
    """``compresslevel``."""
    partitioned_by: str = ""
    """A column of dates or times; ``partitions`` are its ranges, in order and without gaps."""
    partitions: tuple[Partition, ...] = ()
    analysed: tuple[str, ...] = ()
    """Columns that statements ask for, where statistics of all, in every partition, would take minutes; else all."""

    @property
    def compression_and_level(self) -> str:
        """As ``COMPRESSIONS`` has it."""
        return "none" if self.compression == "none" else f"{self.compression}_{self.level}"

    @property
    def suffix(self) -> str:
        """Of the names of tables that are kept so: short, as Greenplum cuts off names of partitions after 63 bytes.

        Nothing of a heap, and ``_append_column`` of one with zlib at level 1, as before there was a choice.
        """
        if self.layout == "heap":
            return ""
        if (self.compression, self.level) == ("zlib", 1):
            return f"_{self.layout}"
        return f"_{self.layout.removeprefix('append_')}_{self.compression_and_level}"


Shares = Mapping[str, tuple[float, float]]
"""Compression -> what a table takes by column and by row, of what it takes as a heap with its keys.

How a workload knows them is said there.
"""


def scale_name(scale: float) -> str:
    """A scale factor, or a number of rows, as part of a name: ``1``, ``0_1``."""
    return f"{scale:f}".rstrip("0").rstrip(".").replace(".", "_")


def stored_bytes(heap_bytes: int, storage: Storage, shares: Shares) -> int:
    """Expected of a table that takes so much as a heap; PAX is taken for a layout by column."""
    if storage.layout == "heap":
        return heap_bytes
    by_column, by_row = shares[storage.compression_and_level]
    return int(heap_bytes * (by_row if storage.layout == "append_row" else by_column))


def stored_as(distributed_by: str, layout: str = "heap", compression: str = BY_STORAGE) -> Storage:
    """From words of levels: a layout, and one of ``COMPRESSIONS``."""
    if compression == BY_STORAGE:
        compression = "none" if layout == "heap" else "zlib_1"
    kind, _, level = compression.partition("_")
    return Storage(distributed_by, layout, kind, int(level or 1))  # type: ignore[arg-type]


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
    """Load files on the ETL host; where they are made on several hosts at once, on each of them at a time."""
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
    """Another text here, other rows: a table of another version is made again."""
    sizes: tuple[tuple[str, int | float], ...] = ()
    """Factors of size and their levels, where the name of the table does not tell which is which."""
    suite: str = ""
    """The expectations that its facts must meet, where they are not called as the dataset."""

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
