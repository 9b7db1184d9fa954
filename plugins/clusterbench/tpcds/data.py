"""The dataset ``tpcds``: 24 tables in a schema of their own, loaded from the ETL host and marked one by one.

A table's comment says what is in it, as the generator counted it, and how far it is: begun, loaded (with its keys), or
complete. A try that was cut off goes on with the tables that are not loaded. Statements find the tables by the setting
``search_path``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterbench import etl_files, streams
from clusterbench.datasets import Dataset, row_skew_max
from clusterbench.errors import DatasetError
from clusterbench.etl_files import etl_host
from clusterbench.instances import skew
from clusterbench.jobs import DetachedJob
from clusterbench.sql import identifier, raw, statement
from clusterbench.tpcds import files, schema
from clusterbench.tpcds.files import Made, scale_name
from clusterbench.workloads import Job

if TYPE_CHECKING:
    from clusterbench.engines import BulkLoad, Database

SEED = 19620718
"""The generator's own, which DuckDB's does not let choose."""
ROWS_PER_SCALE = 19_557_378
"""At scale factor 1 (TPC-DS specification 3.2, table 3-2); beside the facts, tables grow more slowly."""
BYTES_PER_SCALE = 2_400_000_000
BYTES_LEAST = 60_000_000
LOAD_AT_ONCE_BYTES = 1_000_000_000
"""Tables are loaded in groups of about so much, so that a try that is cut off repeats little."""
CHECKED_BY_DUCKDB_SCALE_MAX = 1.0
"""Up to here DuckDB makes the rows anew on the worker (20 s); above, the generator's count on the ETL host tells."""

MARK = re.compile(r"clusterbench: tpcds .*, (?P<rows>\d+) rows, checksum (?P<checksum>\d+), (?P<state>\w+)$")


def dataset_of(scale_factor: float, storage: str) -> Dataset:
    """``rows`` is about how many: small tables do not grow with the scale factor."""
    suffix = "" if storage == "heap" else f"_{storage}"
    return Dataset(
        "tpcds",
        f"tpcds_sf{scale_name(scale_factor)}{suffix}",
        int(scale_factor * ROWS_PER_SCALE),
        SEED,
        BYTES_LEAST + int(scale_factor * BYTES_PER_SCALE),
        schema.tables()["store_sales"].storage(schema.layout_of(storage)),
        files_bytes=files.bytes_expected(scale_factor),
        version=files.version(),
    )


def tables(dataset: Dataset) -> list[str]:
    """As ``schema.table``."""
    return [f"{dataset.table}.{name}" for name in schema.tables()]


def relations(dataset: Dataset) -> list[str]:
    """The tables and their indexes."""
    layout = dataset.storage.layout
    indexes = [name for table in schema.tables().values() for name in table.index_names(dataset.table, layout)]
    return tables(dataset) + indexes


def scale_factor_of(dataset: Dataset) -> float:
    found = re.fullmatch(r"tpcds_sf(\d+(?:_\d+)?)(?:_append_\w+)?", dataset.table)
    if not found:
        raise DatasetError(f"{dataset.table!r} is no schema of TPC-DS; they are called as tpcds_sf0_1")
    return float(found[1].replace("_", "."))


@dataclass(frozen=True)
class Mark:
    """What a table's comment says of it."""

    made: Made
    state: str


def is_generated(dataset: Dataset, engine: Database) -> bool:
    marks = _marks(dataset, engine)
    return all(name in marks and marks[name].state == "complete" for name in schema.tables())


def generate(dataset: Dataset, engine: Database) -> None:
    """Files, tables, keys, statistics; whatever is there already stays."""
    marks = _marks(dataset, engine)
    missing = [name for name in schema.tables() if name not in marks or marks[name].state == "begun"]
    if missing:
        made = files.generate(scale_factor_of(dataset), engine)
        for group in groups({name: made[name] for name in missing}):
            _load({name: made[name] for name in group}, dataset, engine)
        marks = _marks(dataset, engine)
    unsettled = [name for name, mark in marks.items() if mark.state != "complete"]
    if unsettled:
        engine.settle(*(f"{dataset.table}.{name}" for name in unsettled))
        engine.execute(";\n".join(_mark(dataset, name, marks[name].made, "complete") for name in unsettled))


def drop(dataset: Dataset, engine: Database) -> None:
    """All its tables. Raises DatasetError if one of them is somebody else's."""
    if present := _marks(dataset, engine, begun_too=True):
        engine.execute(";\n".join(_drop(dataset, name) for name in present))


def groups(made: Mapping[str, Made]) -> list[list[str]]:
    """Tables that are loaded together: the largest first, each group of about ``LOAD_AT_ONCE_BYTES``."""
    found: list[list[str]] = []
    room = 0
    for name in sorted(made, key=lambda each: -_size(made[each])):
        if room <= 0:
            found.append([])
            room = LOAD_AT_ONCE_BYTES
        found[-1].append(name)
        room -= _size(made[name])
    return found


def dealt(statements: Sequence[tuple[int, str]], sessions: int) -> list[list[str]]:
    """(bytes, statement) to as many sessions, the largest first, each to the one that has least to do."""
    hands: list[tuple[int, list[str]]] = [(0, []) for _ in range(max(1, min(sessions, len(statements))))]
    for size, text in sorted(statements, key=lambda one: -one[0]):
        least = min(range(len(hands)), key=lambda number: hands[number][0])
        hands[least] = (hands[least][0] + size, [*hands[least][1], text])
    return [texts for _, texts in hands]


def _size(made: Made) -> int:
    return sum(part.bytes for part in made.parts)


# The load of one group.


def _load(made: Mapping[str, Made], dataset: Dataset, engine: Database) -> None:
    """Empty tables, all files by several sessions on the ETL host, keys; then they are marked as loaded."""
    host, layout = etl_host(engine), dataset.storage.layout
    job = DetachedJob(engine.fleet, host, f"{files.folder(scale_factor_of(dataset))}.load")
    job.kill()  # of an earlier try: it must not write into the new tables
    present = _marks(dataset, engine, begun_too=True)
    for name, one in made.items():
        table = schema.tables()[name]
        if name in present:
            engine.execute(_drop(dataset, name))
        engine.create_table(
            f"{dataset.table}.{name}", table.definition(), table.storage(layout), _comment(dataset, one, "begun")
        )
    loads = {
        name: engine.bulk_load(f"{dataset.table}.{name}", host, [part.name for part in one.parts])
        for name, one in made.items()
    }
    creates = ";\n".join(load.create for load in loads.values() if load.create)
    drops = ";\n".join(load.drop for load in loads.values() if load.drop)
    try:
        if creates:
            engine.execute(creates)
        etl_files.run(job, _job(made, loads, dataset, engine), anew=True)
    except DatasetError as error:
        raise DatasetError(
            f"{dataset.table}: {', '.join(made)} could not be loaded, so none of them is: {error}"
        ) from None
    finally:
        if drops:
            engine.execute(drops)
    keyed = [
        [*schema.tables()[name].keys(dataset.table, layout), _mark(dataset, name, made[name], "loaded")]
        for name in made
    ]
    with ThreadPoolExecutor(engine.parallelism()) as workers:
        list(workers.map(engine.execute, map(";\n".join, keyed)))  # sent at once: one transaction
    print(f"{dataset.table}: loaded {', '.join(made)}", flush=True)


def _job(made: Mapping[str, Made], loads: Mapping[str, BulkLoad], dataset: Dataset, engine: Database) -> Job:
    """The file servers of the table with most files do for all: they serve a folder."""
    statements = [
        (_size(made[name]) // len(load.streams), text)
        for name, load in loads.items()
        for stream in load.streams
        for text in stream
    ]
    largest = loads[max(made, key=lambda name: len(made[name].parts))]
    path = f"{engine.fleet.work_dir(etl_host(engine))}/{files.folder(scale_factor_of(dataset))}"
    load = streams.Load(
        dealt(statements, engine.parallelism()),
        before=f"{etl_files.link(path)}\n{largest.before}",
        after=largest.after,
    )
    return streams.job(load, engine.endpoint(pooled=False), engine.database)


# What the tables' comments say.


def _comment(dataset: Dataset, made: Made, state: str) -> str:
    return f"clusterbench: tpcds version {dataset.version}, {made.rows} rows, checksum {made.checksum}, {state}"


def _mark(dataset: Dataset, name: str, made: Made, state: str) -> str:
    table = identifier(f"{dataset.table}.{name}")
    return statement("tables", "mark", table=table, mark=_comment(dataset, made, state))


def _drop(dataset: Dataset, name: str) -> str:
    return statement("tables", "drop", table=identifier(f"{dataset.table}.{name}"))


def _marks(dataset: Dataset, engine: Database, *, begun_too: bool = False) -> dict[str, Mark]:
    """Of the tables that are there. Raises DatasetError where one was not made by clusterbench."""
    wanted = raw(", ".join(f"'{name}'" for name in schema.tables()))
    found = {}
    for row in engine.query(statement("tpcds", "marks", schema=dataset.table, tables=wanted)):
        name, comment = str(row["table_name"]), str(row["mark"] or "")
        if not comment.startswith("clusterbench: "):
            table = f"{dataset.table}.{name}"
            raise DatasetError(f"table {table!r} is there and was not made by clusterbench; move it away or drop it")
        said = MARK.match(comment)
        ours = said and f"version {dataset.version}," in comment
        state = said["state"] if said and ours else "begun"  # of another version: made anew
        made = Made(int(said["rows"]), int(said["checksum"]), ()) if said else Made(0, 0, ())
        if begun_too or state != "begun":
            found[name] = Mark(made, state)
    return found


# What is in them.


def inspect(dataset: Dataset, engine: Database) -> dict[str, object]:
    """Facts for the suites ``tpcds`` and, one row a table, ``tpcds_tables``. One scan of a table, several at once."""
    marks = _marks(dataset, engine, begun_too=True)
    present = [table for name, table in schema.tables().items() if name in marks]
    with ThreadPoolExecutor(engine.parallelism()) as workers:
        seen = list(workers.map(lambda table: _look(table, dataset, engine), present))
    found = {table.name: rows for table, rows in zip(present, seen, strict=True)}
    rows = [_facts(name, found.get(name, []), marks.get(name), engine) for name in schema.tables()]
    items = max(1, next(row["row_count"] for row in rows if row["table"] == "item"))
    for row in rows:
        keys = items if schema.tables()[row["table"]].references else max(1, row["row_count"])
        row["row_skew_max"] = row_skew_max(keys)
    return {
        "table": dataset.table,
        "tables_complete": sum(mark.state == "complete" for mark in marks.values()),
        "tables_expected": len(schema.tables()),
        "row_count": sum(row["row_count"] for row in rows),
        "checksum": str(sum(int(row["checksum"].split()[1]) for row in rows)),
        "tables": rows,
    }


def _look(table: schema.Table, dataset: Dataset, engine: Database) -> list[dict[str, Any]]:
    return engine.query(table.inspection(dataset.table, engine.segment_of_row))


def _facts(name: str, seen: Sequence[Mapping[str, Any]], mark: Mark | None, engine: Database) -> dict[str, Any]:
    made = mark.made if mark else Made(0, 0, ())
    spread = schema.tables()[name].distributed_by
    return {
        "table": name,
        "row_count": sum(int(row["row_count"]) for row in seen),
        "rows_made": made.rows if mark else -1,
        "checksum": f"{name} {sum(int(row['checksum']) for row in seen)}",
        "checksum_made": f"{name} {made.checksum}",
        "orphans": sum(int(row["orphans"]) for row in seen),
        "row_skew": skew([int(row["row_count"]) for row in seen] or [0], engine.segments()) if spread else 0.0,
    }


def checksum(dataset: Dataset) -> str | None:
    """By DuckDB over rows made anew, or None where that would take too long."""
    scale_factor = scale_factor_of(dataset)
    if scale_factor > CHECKED_BY_DUCKDB_SCALE_MAX:
        return None
    import duckdb  # noqa: PLC0415  slow to import, and not needed on every path

    from clusterbench.tpcds import extension  # noqa: PLC0415

    with duckdb.connect() as database:
        database.load_extension(str(extension.extension_file()))
        database.execute(statement("tpcds", "rows", scale_factor=raw(f"{scale_factor:f}")))
        return str(sum(int(database.execute(one).fetchall()[0][2]) for one in files.counts_sql()))
