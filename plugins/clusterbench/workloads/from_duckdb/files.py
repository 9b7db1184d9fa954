"""Load files on the ETL host, of rows that DuckDB makes or reads there; made once and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from shlex import quote
from typing import TYPE_CHECKING

from clusterbench.base.errors import DatasetError
from clusterbench.base.job import Job
from clusterbench.base.scripts import script
from clusterbench.base.sql import identifier, raw, statement
from clusterbench.workloads import etl_files
from clusterbench.workloads.etl_files import etl_host
from clusterbench.workloads.from_duckdb import objects, programs
from clusterbench.workloads.from_duckdb.objects import Objects

if TYPE_CHECKING:
    from clusterbench.engines import Database
    from clusterbench.hosts.fleet import Fleet
    from clusterbench.workloads.tables import Table

ROWS_OF_PART = 250_000
PARTS_MAX = 16
"""As many files of one table as can be loaded at once; Greenplum has a file server for each."""
ESCAPED = r"replace(replace(replace(CAST(COLUMNS(*) AS varchar), '\', '\\'), '|', '\|'), chr(10), '\n')"
"""All columns as the loaders of PostgreSQL and Greenplum read them back."""
MEMORY = "2GB"
"""Of DuckDB on the ETL host; the rest goes to its file."""


@dataclass(frozen=True)
class Part:
    """One load file, as it was made."""

    name: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Made:
    """What DuckDB says that a table has."""

    rows: int
    checksum: int
    parts: tuple[Part, ...]

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)


@dataclass(frozen=True)
class Source:
    """Rows of some tables, as DuckDB comes by them."""

    folder: str
    """Of the load files, below the work folder of the ETL host's login."""
    rows_sql: str
    """Statements by which DuckDB has the tables, by their bare names; the last one without its semicolon."""
    tables: Mapping[str, Table] = field(repr=False)
    bytes_expected: int
    """Of all load files; DuckDB's own file takes as much while they are made."""
    generators: tuple[str, ...] = ()
    """Of ``programs.GENERATORS``, those that the statements call."""
    objects: Mapping[str, Objects] = field(default_factory=dict)
    """By table, what DuckDB reads from object storage."""
    is_escaped: bool = False
    """Texts may hold what means something to loaders: separators, backslashes and line ends."""
    remedy: str = "choose a smaller scale"
    """What a person can do where the host is too small."""

    @property
    def extensions(self) -> tuple[str, ...]:
        return (*self.generators, objects.EXTENSION) if self.objects else self.generators


def counts_sql(tables: Mapping[str, Table]) -> list[str]:
    """For DuckDB: name, rows and checksum of every table."""
    return [
        statement("tables", "made", label=name, table=identifier(name), row_hash=table.row_hash("row_hash_duckdb"))
        for name, table in tables.items()
    ]


def generate_sql(source: Source) -> str:
    """Rows of all tables, and what is counted of them."""
    loads = "\n".join(f"LOAD 'generator/{programs.extension_name(one)}';" for one in source.extensions)
    loads += f"\n{objects.SETTINGS}" if source.objects else ""
    made = raw("\nUNION ALL\n".join(counts_sql(source.tables)))
    return statement("tables", "generate", loads=raw(loads), memory_limit=MEMORY, rows=raw(source.rows_sql), made=made)


def parts_sql() -> str:
    return statement("tables", "parts", parts_max=PARTS_MAX, rows_of_part=ROWS_OF_PART)


def version_of(source: Source) -> str:
    """Of its rows and of their checksums: another text, or another generator, makes others."""
    packages = [metadata.version(f"duckdb-extension-{one}") for one in source.generators]
    text = "".join(packages) + generate_sql(source) + parts_sql()
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def generate(source: Source, engine: Database) -> dict[str, Made]:
    """Table -> what was made of it. What is there and is what was made is not made again.

    A try that still runs is waited for.
    """
    fleet, host = engine.fleet, etl_host(engine)
    path = f"{fleet.work_dir(host)}/{source.folder}"
    with fleet.alone(host, path):  # a neighbour, which wants the same files, then has them
        return _generate(source, engine, path)


def _generate(source: Source, engine: Database, path: str) -> dict[str, Made]:
    fleet, host = engine.fleet, etl_host(engine)
    if not _made(fleet, host, path):
        needed = 2 * source.bytes_expected  # the rows in DuckDB's file, too
        etl_files.check_space(fleet, host, path, needed, source.remedy)
    addresses = objects.signed_sql(source.objects, engine.connections)
    work = _making(path, programs.put(fleet, host, source.extensions), source, addresses)
    try:
        etl_files.run(fleet, host, f"{source.folder}.making", work)
    except DatasetError as error:
        raise DatasetError(objects.without_signatures(str(error))) from None
    made = _made(fleet, host, path)
    for name, one in made.items():
        if (lines := sum(part.rows for part in one.parts)) != one.rows:
            raise DatasetError(
                f"host {host!r}: DuckDB made {one.rows:,} rows of {name}, its load files have {lines:,} lines; "
                f"remove {path} there, and start again"
            )
    return made


def _making(path: str, put: str, source: Source, addresses: str) -> Job:
    files = {
        "make.sh": script("workloads/make_file") + script("workloads/make_files_by_duckdb"),
        "generate.sql": generate_sql(source),
        "parts.sql": parts_sql(),
    }
    command = (
        f"job=$PWD; cd {etl_files.from_home(path)}; {etl_files.link(put, 'generator')}\n"
        f'duckdb=generator/duckdb sql=$job columns={quote(ESCAPED if source.is_escaped else "*")}; . "$job/make.sh"\n'
    )
    return Job(files, {"objects.sql": addresses}, command)


def _made(fleet: Fleet, host: str, path: str) -> dict[str, Made]:
    """Nothing as long as a file is missing."""
    look = (
        f"cd {quote(path)} 2>/dev/null && [ -e parts ] || exit 0\n"
        "cat made; echo; while read -r name table _; do echo $table $name $(cat $name.facts 2>/dev/null); done <parts"
    )
    tables, _, parts = fleet.run_on(host, look).output.partition("\n\n")
    of_table: dict[str, list[Part]] = {}
    for words in map(str.split, parts.splitlines()):
        if len(words) < 5:
            return {}
        of_table.setdefault(words[0], []).append(Part(words[1], int(words[2]), int(words[3]), words[4]))
    counted = [line.split() for line in tables.splitlines()]
    return {name: Made(int(rows), int(checksum), tuple(of_table[name])) for name, rows, checksum in counted}
