"""The dataset ``tpcds``: 24 tables in a schema of their own; statements find them by the setting ``search_path``.

A try that was cut off continues with the tables that are not loaded: each one's comment says how far it is (``marks``).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any

from clusterbench.base.datasets import BY_STORAGE, Dataset, Shares, row_skew_max, scale_name, stored_as, stored_bytes
from clusterbench.base.errors import DatasetError
from clusterbench.base.sql import identifier, statement
from clusterbench.engines.skew import skew
from clusterbench.workloads.from_duckdb import files as load_files
from clusterbench.workloads.from_duckdb import loading, marks
from clusterbench.workloads.from_duckdb.marks import Mark
from clusterbench.workloads.tables import Table
from clusterbench.workloads.tpcds import chunk_loading, dsdgen, files, queries, reference, schema

if TYPE_CHECKING:
    from clusterbench.engines import Database

SEED = 19620718
"""The generator's own; DuckDB's lets nobody choose another."""
ROWS_PER_SCALE = 19_557_378
"""At scale factor 1 (TPC-DS specification 3.2, table 3-2); beside the facts, tables grow more slowly."""
BYTES_PER_SCALE = 2_600_000_000
BYTES_LEAST = 40_000_000
"""Tables and indexes on PostgreSQL 15: 48 MB at scale factor 0.01, 199 MB at 0.1 (1.7 GB a scale factor). From 1 on
inventory, which has fifty times the rows of 0.1, adds 0.9 GB."""
SHARES: Shares = {
    "none": (0.32, 0.40),
    "zlib_1": (0.14, 0.17),
    "zlib_5": (0.13, 0.16),
    "zlib_9": (0.13, 0.15),
    "zstd_1": (0.14, 0.16),
    "zstd_5": (0.13, 0.15),
    "zstd_9": (0.13, 0.15),
}
"""Estimated at scale factor 1000: bytes a row of the seven large tables, of a sixteenth of their rows at scale factor
0.2, times the specification's rows. On Greenplum 6.24.3 the rows of scale factor 0.1 took 0.32 and 0.40 without, 0.13
and 0.17 with zlib at level 1, 0.11 and 0.15 at the highest levels."""
DSDGEN_BYTES_LEAST = 250_000_000
"""dsdgen makes customer_demographics and the like whole at any scale factor: 1.9 M rows."""
READ_SHARES = {
    "store_sales": 0.32,
    "catalog_sales": 0.24,
    "inventory": 0.19,
    "web_sales": 0.12,
    "store_returns": 0.03,
    "catalog_returns": 0.02,
    "web_returns": 0.01,
}
"""Of the bytes of all tables: DuckDB's load files at scale factor 1. The others do not grow as fast."""
CHECKED_BY_DUCKDB_SCALE_MAX = 1.0
"""Up to here the rows are made again on the worker (20 s); above, the count on the hosts that made them tells."""

GENERATORS = DUCKDB, DSDGEN = "duckdb", "dsdgen"
"""DuckDB's, which scales all tables down; and the specification's, in parts on many hosts at once."""


def dataset_of(scale_factor: float, layout: str, compression: str = BY_STORAGE, generator: str = DUCKDB) -> Dataset:
    """``rows`` is about how many: small tables do not grow with the scale factor.

    The rows of the two generators are not the same, so the name says whose they are where they are not DuckDB's.
    """
    is_dsdgen = generator == DSDGEN
    storage = stored_as(schema.tables()["store_sales"].distributed_by, layout, compression)
    whole_bytes = (DSDGEN_BYTES_LEAST if is_dsdgen else BYTES_LEAST) + int(scale_factor * BYTES_PER_SCALE)
    return Dataset(
        "tpcds",
        f"tpcds_sf{scale_name(scale_factor)}{'_dsdgen' if is_dsdgen else ''}{storage.suffix}",
        int(scale_factor * ROWS_PER_SCALE),
        SEED,
        stored_bytes(whole_bytes, storage, SHARES),
        storage,
        files_bytes=chunk_loading.files_bytes(scale_factor) if is_dsdgen else files.bytes_expected(scale_factor),
        files_work_bytes=0 if is_dsdgen else files.bytes_expected(scale_factor),
        version=_version(generator),
    )


@cache
def _version(generator: str) -> str:
    rows = dsdgen.version() if generator == DSDGEN else files.version()
    return hashlib.sha256(f"{rows} {schema.tables()}".encode()).hexdigest()[:8]


def _named(dataset: Dataset) -> re.Match[str]:
    found = re.fullmatch(
        r"tpcds_sf(?P<scale>\d+(?:_\d+)?)(?P<dsdgen>_dsdgen)?(?:_(?:append|row|column|pax)\w*)?", dataset.table
    )
    if not found:
        raise DatasetError(f"{dataset.table!r} is not a schema of TPC-DS; their names are like tpcds_sf0_1")
    return found


def scale_factor_of(dataset: Dataset) -> float:
    return float(_named(dataset)["scale"].replace("_", "."))


def generator_of(dataset: Dataset) -> str:
    return DSDGEN if _named(dataset)["dsdgen"] else DUCKDB


@cache
def read_share(query: int) -> float:
    """Of the dataset's bytes, those of the large tables that the query names."""
    words = set(re.findall(r"\w+", queries.template(query, "duckdb").lower()))
    return sum(share for table, share in READ_SHARES.items() if table in words)


def files_of(dataset: Dataset) -> int:
    """Of tables, their indexes and, where they are kept by column, their columns, on one instance."""
    if dataset.storage.layout == "append_column":
        return sum(len(table.columns) for table in schema.tables().values())
    return len(relations(dataset))


def tables(dataset: Dataset) -> list[str]:
    """As ``schema.table``."""
    return [f"{dataset.table}.{name}" for name in schema.tables()]


def relations(dataset: Dataset) -> list[str]:
    """The tables and their indexes."""
    layout = dataset.storage.layout
    indexes = [name for table in schema.tables().values() for name in table.index_names(dataset.table, layout)]
    return tables(dataset) + indexes


def is_generated(dataset: Dataset, engine: Database) -> bool:
    found = marks.read(dataset, schema.tables(), engine)
    return all(name in found and found[name].state == "complete" for name in schema.tables())


def generate(dataset: Dataset, engine: Database) -> None:
    """Files, tables, keys, statistics; whatever is there already stays."""
    found = marks.read(dataset, schema.tables(), engine)
    missing = [name for name in schema.tables() if name not in found or found[name].state == "begun"]
    scale_factor = scale_factor_of(dataset)
    if missing and generator_of(dataset) == DSDGEN:
        chunk_loading.load(missing, scale_factor, dataset, engine)
    elif missing:
        loading.make_and_load(
            files.source(scale_factor, files.folder(scale_factor)), missing, schema.tables(), dataset, engine
        )
    loading.complete(schema.tables(), dataset, engine)
    if generator_of(dataset) == DSDGEN:
        chunk_loading.forget(dataset, engine)


def drop(dataset: Dataset, engine: Database) -> None:
    """All its tables. Raises DatasetError if one of them is somebody else's."""
    present = marks.read(dataset, schema.tables(), engine)
    for name in present:
        engine.execute(statement("tables", "drop", table=identifier(f"{dataset.table}.{name}")))
    if generator_of(dataset) == DSDGEN:
        chunk_loading.forget(dataset, engine)


def inspect(dataset: Dataset, engine: Database) -> dict[str, object]:
    """Facts for the suites ``tpcds`` and, one row a table, ``tpcds_tables``. One scan of a table, several at once."""
    found = marks.read(dataset, schema.tables(), engine)
    with ThreadPoolExecutor(engine.parallelism()) as workers:
        rows = list(workers.map(lambda table: _look(table, found, dataset, engine), _all_tables()))
    by_name = {str(row["table"]): row for row in rows}
    for table in _all_tables():
        keys = int(by_name["item" if table.references else table.name]["row_count"])
        by_name[table.name]["row_skew_max"] = row_skew_max(max(1, keys))
    return {
        "table": dataset.table,
        "tables_complete": sum(mark.state == "complete" for mark in found.values()),
        "tables_expected": len(rows),
        "row_count": sum(row["row_count"] for row in rows),
        "checksum": str(sum(int(row["checksum"].split()[1]) for row in rows)),
        "tables": rows,
    }


def _all_tables() -> list[Table]:
    return list(schema.tables().values())


def _look(table: Table, found: Mapping[str, Mark], dataset: Dataset, engine: Database) -> dict[str, Any]:
    """One that is not there has no rows."""
    mark = found.get(table.name)
    seen: Sequence[Mapping[str, Any]] = []
    if mark:
        seen = engine.query(table.inspection(dataset.table, engine.segment_of_row, found, schema.tables()))
    rows_by_segment: Counter[Any] = Counter()
    for row in seen:  # ORCA of Greenplum 6 may answer several times for a segment: it groups as if rows stayed there
        rows_by_segment[row["segment"]] += int(row["row_count"])
    return {
        "table": table.name,
        "row_count": rows_by_segment.total(),
        "rows_made": mark.rows if mark else -1,
        "checksum": f"{table.name} {sum(int(row['checksum']) for row in seen)}",
        "checksum_made": f"{table.name} {mark.checksum if mark else 0}",
        "orphans": sum(int(row["orphans"]) for row in seen),
        "row_skew": skew(list(rows_by_segment.values()) or [0], engine.segments()) if table.distributed_by else 0.0,
    }


def checksum(dataset: Dataset) -> str | None:
    """By DuckDB over rows made again, or None where that would take too long."""
    scale_factor = scale_factor_of(dataset)
    if scale_factor > CHECKED_BY_DUCKDB_SCALE_MAX:
        return None
    with reference.database(scale_factor, generator_of(dataset)) as database:
        return str(sum(int(database.execute(one).fetchall()[0][2]) for one in load_files.counts_sql(schema.tables())))
