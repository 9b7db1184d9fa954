"""DuckDB's answers over rows too large for the worker: out of core, on the host that the platform declares for it.

They are computed before the first trial, once: answers stay on that host, and the rows, which take as much disk as they
have, are removed.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbench.base.datasets import scale_name
from clusterbench.base.job import Job
from clusterbench.base.scripts import script
from clusterbench.base.sql import identifier, raw, statement
from clusterbench.workloads import etl_files
from clusterbench.workloads.from_duckdb import reference
from clusterbench.workloads.tpcds import dsdgen, files, programs, schema

if TYPE_CHECKING:
    from clusterbench.hosts.fleet import Fleet
    from clusterbench.spec.platform import IndependentAnswers

ROWS_BYTES_PER_SCALE = 400_000_000
"""In DuckDB's file: 0.33 GB at scale factor 1, where dimensions are a larger part than above."""
SORTING = 2
"""Times that, for what queries write to disk."""
ANSWER = "answer"
"""The table in a file of an answer."""


@dataclass(frozen=True)
class Rows:
    """Whose and how many rows are asked."""

    generator: str
    scale_factor: float


def answers(
    texts: Mapping[str, str], of: Rows, place: IndependentAnswers, fleet: Fleet
) -> dict[str, list[list[str | None]]]:
    """Key -> the answer, as ``reference.answer`` gives it. ``texts``: key -> query.

    Raises DatasetError with what DuckDB said, and where the disk is too small.
    """
    names = {key: f"{key}-{hashlib.sha256(text.encode()).hexdigest()[:12]}" for key, text in texts.items()}
    path = f"{fleet.work_dir(place.host)}/{folder(of)}"
    needed = int(SORTING * ROWS_BYTES_PER_SCALE * of.scale_factor)
    etl_files.check_space(fleet, place.host, path, needed, "declare another host in 'independent_answers'")
    put = programs.put(fleet, [place.host])[place.host]
    command = script("tpcds/answer", duckdb=f"{put}/{programs.DUCKDB}", folder=path)
    settings = settings_sql(place.memory_gb)
    work = {
        "asked": "".join(f"{name}\n" for name in names.values()),
        **{f"{name}.sql": settings + answer_sql(name, texts[key]) for key, name in names.items()},
        **rows_files(of, put, settings),
    }
    etl_files.run(fleet, place.host, f"{folder(of)}.answering", Job(work, {}, command))
    with tempfile.TemporaryDirectory(prefix="clusterbench-tpcds-") as local:
        fleet.fetch(place.host, f"{path}/answers", [f"{name}.duckdb" for name in names.values()], Path(local))
        return {key: _read(Path(local) / f"{name}.duckdb") for key, name in names.items()}


def folder(of: Rows) -> str:
    """Below the host's work folder; another version of the rows has another one."""
    version = dsdgen.version() if of.generator == "dsdgen" else files.version()
    digest = hashlib.sha256(version.encode()).hexdigest()[:8]
    return f"files/tpcds_sf{scale_name(of.scale_factor)}-{of.generator}-answers-{digest}"


def settings_sql(memory_gb: int) -> str:
    """As ``reference.database`` has them."""
    own = {"memory_limit": f"{memory_gb}GB", "temp_directory": "rows.spilled", "enable_progress_bar": "false"}
    return "".join(
        f"{statement('tpcds', 'set', setting=raw(name), value=value)};\n"
        for name, value in {**reference.SETTINGS, **own}.items()
    )


def rows_files(of: Rows, put: str, settings: str) -> dict[str, str]:
    """``rows.sh``, which makes all tables in ``rows.duckdb``, and the SQL that it runs. ``put``: where programs are."""
    if of.generator == "dsdgen":
        making = script(
            "tpcds/rows_of_dsdgen",
            generator=f"{put}/{programs.GENERATOR}",
            scale_factor=f"{of.scale_factor:f}",
            tables=list(schema.tables()),
        )
        reading = {
            f"{table}.read.sql": f"{settings}{dsdgen.read_sql(table, '/dev/stdin')};\n" for table in schema.tables()
        }
        return {"rows.sh": making, **reading}
    rows = statement(
        "tpcds", "all_rows", extension=f"{put}/{programs.EXTENSION}", rows=raw(files.rows_sql(of.scale_factor))
    )
    return {"rows.sh": script("tpcds/rows_of_duckdb"), "rows.sql": f"{settings}{rows};\n"}


def answer_sql(name: str, text: str) -> str:
    """Rows as a multiset: a table has no order."""
    return statement("tpcds", "keep_answer", file=f"{name}.new", query=raw(text)) + ";\n"


def _read(file: Path) -> list[list[str | None]]:
    import duckdb  # noqa: PLC0415  slow to import, and not needed on every path

    with duckdb.connect(str(file), read_only=True) as database:
        return reference.answer(database, statement("tables", "rows", table=identifier(ANSWER)))
