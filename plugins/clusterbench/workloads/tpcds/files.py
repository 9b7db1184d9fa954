"""Load files of TPC-DS on the ETL host, by DuckDB's generator, which is put there once; made once and kept.

The host needs nothing of its own but a shell: program and extension are files of this project's packages.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from shlex import quote
from typing import TYPE_CHECKING

from clusterbench.base.errors import DatasetError
from clusterbench.base.job import Job
from clusterbench.base.scripts import script
from clusterbench.base.sql import identifier, raw, statement
from clusterbench.workloads import etl_files
from clusterbench.workloads.etl_files import etl_host
from clusterbench.workloads.tpcds import extension, schema

if TYPE_CHECKING:
    from clusterbench.engines import Database
    from clusterbench.hosts.fleet import Fleet

ROWS_OF_PART = 250_000
PARTS_MAX = 16
"""As many files of one table as can be loaded at once; Greenplum has a file server for each."""
PROGRAM, EXTENSION = "duckdb", "tpcds.duckdb_extension"
MEMORY = "2GB"
"""Of DuckDB on the ETL host; the rest goes to its file."""
FILES_BYTES_PER_SCALE = 1_250_000_000
FILES_BYTES_LEAST = 25_000_000
"""Dates, times and the like do not grow: 26 MB at scale factor 0.01, 116 MB at 0.1."""


@dataclass(frozen=True)
class Part:
    """One load file, as it was made."""

    name: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Made:
    """What the generator says that a table has."""

    rows: int
    checksum: int
    parts: tuple[Part, ...]

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)


def bytes_expected(scale_factor: float) -> int:
    return FILES_BYTES_LEAST + int(scale_factor * FILES_BYTES_PER_SCALE)


def folder(scale_factor: float) -> str:
    """Below the work folder of the ETL host's login."""
    return f"files/tpcds_sf{scale_name(scale_factor)}-{version()}"


def scale_name(scale_factor: float) -> str:
    """A scale factor as part of a name: ``1``, ``0_1``."""
    return f"{scale_factor:f}".rstrip("0").rstrip(".").replace(".", "_")


@cache
def version() -> str:
    """Of the rows and of their checksums."""
    text = metadata.version("duckdb-extension-tpcds") + generate_sql(1) + parts_sql()
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def rows_sql(scale_factor: float) -> str:
    """For DuckDB with its generator loaded."""
    return statement("tpcds", "rows", scale_factor=raw(f"{scale_factor:f}"))


def counts_sql() -> list[str]:
    """For DuckDB: name, rows and checksum of every table."""
    return [
        statement("tpcds", "made", label=name, table=identifier(name), row_hash=table.row_hash("row_hash_duckdb"))
        for name, table in schema.tables().items()
    ]


def generate_sql(scale_factor: float) -> str:
    """Rows of all tables, and what is counted of them."""
    rows = raw(rows_sql(scale_factor))
    made = raw("\nUNION ALL\n".join(counts_sql()))
    loaded = f"generator/{EXTENSION}"
    return statement("tpcds", "generate", extension=loaded, memory_limit=MEMORY, rows=rows, made=made)


def parts_sql() -> str:
    return statement("tpcds", "parts", parts_max=PARTS_MAX, rows_of_part=ROWS_OF_PART)


def generate(scale_factor: float, engine: Database) -> dict[str, Made]:
    """Table -> what was made of it. What is there and is what was made is not made again.

    A try that still runs is waited for.
    """
    fleet, host = engine.fleet, etl_host(engine)
    path = f"{fleet.work_dir(host)}/{folder(scale_factor)}"
    if not _made(fleet, host, path):
        needed = 2 * bytes_expected(scale_factor)  # the rows in DuckDB's file, too
        etl_files.check_space(fleet, host, path, needed, "choose a smaller scale factor")
    work = _making(path, _put_programs(fleet, host), scale_factor)
    etl_files.run(fleet, host, f"{folder(scale_factor)}.making", work)
    made = _made(fleet, host, path)
    for name, one in made.items():
        if (lines := sum(part.rows for part in one.parts)) != one.rows:
            raise DatasetError(
                f"host {host!r}: the generator made {one.rows:,} rows of {name}, its load files have {lines:,} lines; "
                f"remove {path} there, and start again"
            )
    return made


def _making(path: str, programs: str, scale_factor: float) -> Job:
    files = {
        "make.sh": script("workloads/make_file") + script("tpcds/make_files"),
        "generate.sql": generate_sql(scale_factor),
        "parts.sql": parts_sql(),
    }
    command = (
        f"job=$PWD; cd {etl_files.from_home(path)}; {etl_files.link(programs, 'generator')}\n"
        'duckdb=generator/duckdb sql=$job; . "$job/make.sh"\n'
    )
    return Job(files, {}, command)


def _put_programs(fleet: Fleet, host: str) -> str:
    """The folder of DuckDB's program and extension there, which are what this project pins."""
    path = f"{fleet.work_dir(host)}/duckdb"
    local = {PROGRAM: extension.program_file(), EXTENSION: extension.extension_file()}
    content = {name: file.read_bytes() for name, file in local.items()}
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in content.items())
    look = f"cd {quote(path)} 2>/dev/null && sha256sum --check --status <<<{quote(sums.strip())}"
    if fleet.run_on(host, look, check=False).exit_status != 0:
        fleet.put(host, path, content)
        fleet.run_on(host, f"chmod u+x {quote(path)}/{PROGRAM}; {look}")
    ran = fleet.run_on(host, f"{quote(path)}/{PROGRAM} -version", check=False)
    if ran.exit_status != 0:
        raise DatasetError(
            f"host {host!r}: the generator of TPC-DS does not run there: {(ran.error or ran.output).strip()}\n"
            "It is DuckDB's program for this machine's kind; give the role 'etl' to a host of the same kind"
        )
    return path


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
