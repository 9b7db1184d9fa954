"""The data of a declared workload: tables in a schema of their own, or tables that are there and stay as they are.

Statements find the tables by their bare names, by the setting ``search_path``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from clusterbench.base.datasets import (
    BY_STORAGE,
    OURS,
    Dataset,
    Shares,
    row_skew_max,
    scale_name,
    stored_as,
    stored_bytes,
)
from clusterbench.base.errors import DatasetError
from clusterbench.base.factors import Level
from clusterbench.base.sql import Value, filled, identifier, quoted, raw, statement
from clusterbench.engines.skew import skew
from clusterbench.workloads import generation, tables
from clusterbench.workloads.declared import sql_text
from clusterbench.workloads.declared.folder import Folder, rows_of
from clusterbench.workloads.declared.model import DeclaredTable, LoadedFrom
from clusterbench.workloads.from_duckdb import files, loading, marks, objects, reference
from clusterbench.workloads.from_duckdb.files import Source
from clusterbench.workloads.from_duckdb.marks import Mark
from clusterbench.workloads.from_duckdb.objects import Objects
from clusterbench.workloads.tables import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from clusterbench.engines import Database

SHARES: Shares = dict.fromkeys(("none", "zlib_1", "zlib_5", "zlib_9", "zstd_1", "zstd_5", "zstd_9"), (1.0, 1.0))
"""Nobody knows how well a stranger's rows compress: they are taken to need as much room as in a heap."""
CHECKED_BY_DUCKDB_ROWS_MAX = 10_000_000
"""Of all tables; above, earlier runs know the checksum."""
FACT_ROWS_MAX = 10_000
"""Of one suite; each is archived."""
SUITE = "declared"
THERE = "there"
READ_ONLY = {"default_transaction_read_only": "on"}
CHANGE_EXISTING = "change_existing"
"""What is unavailable where a platform's file gives no leave for it."""


def dataset_of(folder: Folder, levels: Mapping[str, Level], seed: int) -> Dataset:
    """Of the tables that the folder declares.

    The schema's name says the levels of size, in the order in which the factors stand, and how tables are kept.
    """
    sizes = tuple((name, _size(levels[name])) for name in folder.size_factors)
    main = max(folder.made.values(), key=lambda table: rows_of(table, levels), default=None)
    storage = stored_as(
        (main.distributed_by if main else None) or "",
        str(levels.get("storage", "heap")),
        str(levels.get("compression", BY_STORAGE)),
    )
    loaded = [table for table in folder.made.values() if not table.rows_by]
    return Dataset(
        folder.name,
        f"{_base(folder, sizes)}{storage.suffix}",
        sum(rows_of(table, levels) for table in folder.made.values()),
        seed,
        stored_bytes(sum(rows_of(table, levels) * table.row_bytes for table in folder.made.values()), storage, SHARES),
        storage,
        files_bytes=sum(rows_of(table, levels) * table.row_bytes for table in loaded),
        files_work_bytes=sum(rows_of(table, levels) * table.row_bytes for table in loaded),
        version=_version(folder),
        sizes=sizes,
        suite=SUITE,
    )


def relations(folder: Folder, dataset: Dataset) -> list[str]:
    """Tables and indexes that are made here, and the tables that are there."""
    schema, layout = dataset.table, dataset.storage.layout
    own = [f"{schema}.{name}" for name in folder.made]
    indexes = [name for table in tables_of(folder).values() for name in table.index_names(schema, layout)]
    return [*own, *indexes, *folder.existing]


def tables_of(folder: Folder) -> dict[str, Table]:
    """Those that are made here."""
    return {
        name: Table(
            name,
            columns=table.columns or {},
            key=tuple(table.key),
            distributed_by=table.distributed_by or "",
            indexes=tuple(table.indexes),
            references=table.references,
        )
        for name, table in folder.made.items()
    }


# Making it.


def is_generated(folder: Folder, dataset: Dataset, engine: Database) -> bool:
    made_here = all(generation.is_generated(_one(dataset, name, table), engine) for name, table in _by_select(folder))
    loaded = list(_loaded(folder))
    if not made_here or not loaded:
        return made_here
    found = marks.read(dataset, loaded, engine)
    return all(name in found and found[name].state == "complete" for name in loaded)


def generate(folder: Folder, dataset: Dataset, engine: Database) -> None:
    """What is there already stays; a try that was cut off is continued."""
    for name, table in _by_select(folder):
        _generate_by_select(folder, name, table, dataset, engine)
    if _loaded(folder):
        _load(folder, dataset, engine)


def _generate_by_select(folder: Folder, name: str, table: DeclaredTable, dataset: Dataset, engine: Database) -> None:
    one = _one(dataset, name, table)
    generation.generate(
        one,
        engine,
        tables_of(folder)[name].definition(),
        insert=lambda ids: _insert(folder, one, table, ids),
        finish=lambda: _make_keys(folder, name, dataset, engine),
    )


def note_change(folder: Folder, dataset: Dataset, engine: Database) -> None:
    """Before the first statement that changes rows: the next run makes these tables again."""
    for name in folder.said.changes:
        said = Mark(0, 0, "begun").comment(dataset) if name in _loaded(folder) else f"{OURS}changed by trials"
        engine.execute(tables.mark(f"{dataset.table}.{name}", said))


def source(folder: Folder, dataset: Dataset) -> Source:
    """What DuckDB is to have on the ETL host before tables are loaded."""
    loaded = {name: tables_of(folder)[name] for name in _loaded(folder)}
    return Source(
        f"files/{_base(folder, dataset.sizes)}-{dataset.version}",
        ";\n".join(_rows_by_duckdb(folder, dataset)),
        loaded,
        dataset.files_bytes,
        generators=tuple(folder.said.rows_by_duckdb.generators) if folder.said.rows_by_duckdb else (),
        objects={
            name: Objects(table.loaded_from.connection, tuple(table.loaded_from.files))
            for name, table in folder.made.items()
            if table.loaded_from and table.loaded_from.connection
        },
        is_escaped=True,
    )


def _load(folder: Folder, dataset: Dataset, engine: Database) -> None:
    found = marks.read(dataset, _loaded(folder), engine)
    if missing := [name for name in _loaded(folder) if name not in found or found[name].state == "begun"]:
        loading.make_and_load(source(folder, dataset), missing, tables_of(folder), dataset, engine)
    loading.complete(_loaded(folder), dataset, engine)


def _insert(folder: Folder, one: Dataset, table: DeclaredTable, ids: str) -> str:
    return statement("tables", "insert", table=identifier(one.table), rows=raw(_select(folder, one, table, ids)))


def _select(folder: Folder, dataset: Dataset, table: DeclaredTable, ids: str, dialect: str = "") -> str:
    """The rows of ``ids``, an expression for FROM."""
    name = str(table.rows_by)
    own = f"{name.removesuffix('.sql')}.{dialect}.sql"
    chosen = own if dialect and (folder.path / own).is_file() else name
    values: dict[str, Value] = {key: raw(str(level)) for key, level in dataset.sizes}
    return folder.only_statement(chosen, {**values, "ids": raw(ids), "seed": dataset.seed})


def _make_keys(folder: Folder, name: str, dataset: Dataset, engine: Database) -> None:
    """At once, or not at all; a try that was cut off after that makes them again."""
    table, schema, layout = tables_of(folder)[name], dataset.table, dataset.storage.layout
    own = quoted(f"{schema}.{name}")
    gone = [f"ALTER TABLE {own} DROP CONSTRAINT IF EXISTS {name}_pkey"] if table.key and layout == "heap" else []
    gone += [f"DROP INDEX IF EXISTS {quoted(each)}" for each in table.index_names(schema, layout)]
    loading.execute(engine, [*gone, *table.keys(schema, layout)])


def _rows_by_duckdb(folder: Folder, dataset: Dataset) -> Iterator[str]:
    values: dict[str, Value] = {key: raw(f"{level}") for key, level in dataset.sizes}
    if by := folder.said.rows_by_duckdb:
        text = folder.text(by.file)
        yield from (filled(each, values) for each in sql_text.statements(text))
    for name, table in folder.made.items():
        if table.loaded_from:
            yield f"CREATE TABLE {quoted(name)} ({tables_of(folder)[name].definition()})"
            columns = raw(", ".join(map(quoted, table.columns or {})))
            rows = raw(
                statement("tables", "read_files", columns=columns, files=raw(_reading(name, table, table.loaded_from)))
            )
            yield statement("tables", "insert", table=identifier(name), rows=rows)


def _reading(name: str, table: DeclaredTable, of: LoadedFrom) -> str:
    paths = "[" + ", ".join(f"'{path}'" for path in of.files) + "]"
    if of.connection:
        paths = f"getvariable('{objects.variable(name)}')"
    if of.format == "parquet":
        return f"read_parquet({paths})"
    types = ", ".join(f"'{name}': '{kind.split(' NOT NULL')[0]}'" for name, kind in (table.columns or {}).items())
    said = {"header": str(of.header).lower(), "delim": _quoted(of.delimiter), "nullstr": _quoted(of.null_text)}
    options = ", ".join(f"{key} = {value}" for key, value in said.items())
    return f"read_csv({paths}, columns = {{{types}}}, {options})"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


# Looking at it.


def inspect(folder: Folder, dataset: Dataset, engine: Database) -> dict[str, object]:
    """Facts for the suite ``declared``, for those beside the workload, and, a row a table, for ``declared_tables`` and
    ``declared_existing``: of a table that is there already nothing is known beforehand."""
    with ThreadPoolExecutor(engine.parallelism()) as workers:
        rows = list(workers.map(lambda name: _look(folder, name, dataset, engine), folder.made))
        there = list(workers.map(lambda name: _look_at_existing(name, engine), folder.existing))
    facts: dict[str, object] = {
        "table": dataset.table if folder.made else ", ".join(folder.existing),
        "tables_complete": sum(row["is_complete"] for row in [*rows, *there]),
        "tables_expected": len(rows) + len(there),
        "row_count": sum(row["row_count"] for row in [*rows, *there]),
    }
    facts |= {"tables": rows} if rows else {}
    facts |= {"existing": there} if there else {}
    facts |= {"checksum": None, "checksum_expected": None}
    if rows and not there:
        facts["checksum"] = str(sum(int(row["checksum"].split()[1]) for row in rows))
    levels = dict(dataset.sizes)
    for name, suite in folder.said.suites.items():
        facts[f"sql/{folder.name}/{suite.suite}"] = _fact_rows(folder, name, levels, dataset, engine)
    return facts


def _look(folder: Folder, name: str, dataset: Dataset, engine: Database) -> dict[str, Any]:
    """One scan of a table; one that is not there has no rows."""
    known, declared = tables_of(folder), folder.made[name]
    table, mark = known[name], None
    if name in _loaded(folder):
        mark = marks.read(dataset, [name], engine).get(name)
        is_complete = mark is not None and mark.state == "complete"
    else:
        is_complete = generation.is_generated(_one(dataset, name, declared), engine)
    seen: Sequence[Mapping[str, Any]] = []
    if is_complete:
        seen = engine.query(table.inspection(dataset.table, engine.segment_of_row, known, known))
    rows_by_segment: Counter[Any] = Counter()
    for row in seen:  # ORCA of Greenplum 6 may answer several times for a segment: it groups as if rows stayed there
        rows_by_segment[row["segment"]] += int(row["row_count"])
    expected = mark.rows if mark else rows_of(declared, dict(dataset.sizes))
    return {
        "table": name,
        "state": f"{name}: {THERE if is_complete else 'not there, or not complete'}",
        "is_complete": is_complete,
        "row_count": rows_by_segment.total(),
        "rows_made": expected,
        "checksum": f"{name} {sum(int(row['checksum'] or 0) for row in seen)}",
        "checksum_made": f"{name} {mark.checksum}" if mark else None,
        "orphans": sum(int(row["orphans"] or 0) for row in seen),
        "row_skew": skew(list(rows_by_segment.values()) or [0], engine.segments()) if table.distributed_by else 0.0,
        "row_skew_max": row_skew_max(max(1, rows_by_segment.total())),
    }


def _look_at_existing(name: str, engine: Database) -> dict[str, Any]:
    """As the server's own statistics have it: nothing is read of the table itself."""
    login = engine.endpoint(pooled=False).login
    found = engine.query(statement("tables", "existing", relation=quoted(name), login=login))[0]
    state = THERE
    lacking = [f"GRANT USAGE ON SCHEMA {schema} TO {login}"] if (schema := found["closed_schema"]) else []
    lacking += [] if found["is_readable"] else [f"GRANT SELECT ON {name} TO {login}"]
    if not found["is_there"]:
        state = "not there"
    elif lacking:
        state = f"not readable by drivers: {'; '.join(lacking)}"
    return {
        "table": name,
        "state": f"{name}: {state}",
        "is_complete": state == THERE,
        "row_count": max(0, int(found["row_count"] or 0)),
    }


def _fact_rows(
    folder: Folder, name: str, levels: Mapping[str, Level], dataset: Dataset, engine: Database
) -> list[dict[str, Any]]:
    values = {key: raw(str(level)) for key, level in levels.items()}
    query = folder.only_statement(folder.said.suites[name].rows, values)
    limited = statement("tables", "limited", query=raw(query), rows_max=FACT_ROWS_MAX + 1)
    rows = engine.query(limited, settings=own_session(folder, dataset, engine))
    if len(rows) > FACT_ROWS_MAX:
        raise DatasetError(
            f"suite {name!r} of workload {folder.name!r}: its query gave more than {FACT_ROWS_MAX:,} rows; let it sum "
            "them up"
        )
    return [{key: _plain(value) for key, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    """As JSON and Great Expectations take it."""
    if isinstance(value, Decimal):
        return float(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def session(folder: Folder, dataset: Dataset) -> dict[str, str]:
    """Settings with which statements find the tables. What is there already is found as by anybody else."""
    return {"search_path": f"{dataset.table}, public"} if folder.made or folder.said.data_of else {}


def read_only(folder: Folder, engine: Database) -> dict[str, str]:
    """Settings of sessions about tables that are there: without leave the server lets nothing be changed."""
    return READ_ONLY if folder.existing and CHANGE_EXISTING in engine.unavailable else {}


def own_session(folder: Folder, dataset: Dataset, engine: Database) -> dict[str, str]:
    """Of what set-up's login asks for the folder."""
    return {**session(folder, dataset), **read_only(folder, engine)}


# By DuckDB, anew.


def checksum(folder: Folder, dataset: Dataset) -> str | None:
    """Of all tables that are made here; None where that would take too long, or files on a host have the rows."""
    if not folder.made or not can_be_made_anew(folder, dataset):
        return None
    with anew(folder, dataset) as database:
        counted = [database.execute(one).fetchall()[0] for one in files.counts_sql(tables_of(folder))]
    return str(sum(int(row[2] or 0) for row in counted))


def can_be_made_anew(folder: Folder, dataset: Dataset) -> bool:
    loaded = any(table.loaded_from for table in folder.made.values())
    return not loaded and not folder.existing and dataset.rows <= CHECKED_BY_DUCKDB_ROWS_MAX


@contextmanager
def anew(folder: Folder, dataset: Dataset) -> Iterator[DuckDBPyConnection]:
    """All tables in DuckDB on the worker, by the same statements and generators."""
    by = folder.said.rows_by_duckdb
    with reference.database(tuple(by.generators) if by else ()) as (database, _):
        for text in _rows_by_duckdb(folder, dataset):
            database.execute(text)
        for name, table in _by_select(folder):
            rows = _select(
                folder, dataset, table, f"generate_series(1, {rows_of(table, dict(dataset.sizes))})", "duckdb"
            )
            database.execute(f"CREATE TABLE {quoted(name)} ({tables_of(folder)[name].definition()})")
            database.execute(statement("tables", "insert", table=identifier(name), rows=raw(rows)))
        yield database


# Its parts.


def _by_select(folder: Folder) -> list[tuple[str, DeclaredTable]]:
    return [(name, table) for name, table in folder.made.items() if table.rows_by]


def _loaded(folder: Folder) -> list[str]:
    return [name for name, table in folder.made.items() if not table.rows_by]


def _one(dataset: Dataset, name: str, table: DeclaredTable) -> Dataset:
    """One table of it, as a dataset."""
    storage = replace(dataset.storage, distributed_by=table.distributed_by or "")
    rows = rows_of(table, dict(dataset.sizes))
    return replace(dataset, table=f"{dataset.table}.{name}", rows=rows, storage=storage)


def _base(folder: Folder, sizes: Sequence[tuple[str, int | float]]) -> str:
    return "_".join([folder.name, *(scale_name(level) for _, level in sizes)])


def _size(level: Level) -> int | float:
    number = float(level)
    return int(number) if number == int(number) else number


def _version(folder: Folder) -> str:
    """Of what is made: another text makes other rows."""
    texts = [folder.text(str(table.rows_by)) for _, table in _by_select(folder)]
    texts += [folder.text(folder.said.rows_by_duckdb.file)] if folder.said.rows_by_duckdb else []
    said = {name: table.model_dump(exclude={"row_bytes"}) for name, table in folder.made.items()}
    return hashlib.sha256(f"{said} {texts}".encode()).hexdigest()[:8]
