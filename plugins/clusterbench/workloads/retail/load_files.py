"""Load files of ``order_lineitems`` on the ETL host, made once and kept there: 16 files, for 16 servers (paper 000).

File n of 0 to 15 has every sixteenth row, so all files have rows of all partitions. A file's facts are written when it
is complete; they tell later whether it still is what was made.

The paper's ETL server has 16 data disks. Where the platform names folders on them (``load_dirs``), the files are dealt
out to these in turn, and the dataset's own folder has links to them, and the facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from shlex import quote
from typing import TYPE_CHECKING

from clusterbench.base.datasets import Dataset
from clusterbench.base.scripts import script
from clusterbench.base.sql import raw, statement
from clusterbench.workloads import etl_files
from clusterbench.workloads.etl_files import TIMEOUT_S, etl_host
from clusterbench.workloads.retail import order_lineitems

if TYPE_CHECKING:
    from clusterbench.engines import Database
    from clusterbench.hosts.fleet import Fleet

FILES = 16
AT_ONCE = 4
"""Files that are made at the same time; the engine works for each."""


def names() -> list[str]:
    return [f"part-{number:02d}" for number in range(FILES)]


def directory(dataset: Dataset) -> str:
    """Below the work folder of the ETL host's login."""
    return f"files/{dataset.table}-seed{dataset.seed}-{dataset.version}"


def on_disks(dataset: Dataset, load_dirs: Sequence[str]) -> dict[str, str]:
    """File -> the folder that has it, in turn; empty where the dataset's own folder has them all."""
    if not load_dirs:
        return {}
    return {name: f"{load_dirs[number % len(load_dirs)]}/{directory(dataset)}" for number, name in enumerate(names())}


def lines_of(number: int, rows: int) -> int:
    return len(range(number + 1, rows + 1, FILES))


def is_generated(dataset: Dataset, engine: Database) -> bool:
    fleet, host = engine.fleet, etl_host(engine)
    look = f"cd {quote(_path(dataset, fleet, host))} 2>/dev/null && ls *.facts 2>/dev/null | wc -l || echo 0"
    return int(fleet.run_on(host, look).output.split()[-1]) == FILES


def generate(dataset: Dataset, engine: Database) -> None:
    """Every file by one session of psql on the ETL host, several at once. Those that are there are not made again."""
    fleet, host = engine.fleet, etl_host(engine)
    path = _path(dataset, fleet, host)
    with fleet.alone(host, path):  # a neighbour, which wants the same files, then has them
        if not is_generated(dataset, engine):
            _generate(dataset, engine, path)


def _generate(dataset: Dataset, engine: Database, path: str) -> None:
    fleet, host = engine.fleet, etl_host(engine)
    _check_space(dataset, engine, path)
    endpoint, disks = engine.endpoint(pooled=False), on_disks(dataset, engine.platform.load_dirs)
    queries = {f"{name}.sql": _copy(dataset, engine, number) for number, name in enumerate(names())}
    fleet.put(host, path, {**queries, **endpoint.secrets})

    def make(name: str) -> str:
        disk = disks.get(name, "")
        copy = script("workloads/copy_to_file", directory=path, disk=disk, name=name, where=endpoint.psql_options)
        fleet.run_on(host, script("workloads/make_file") + script("drivers/programs") + copy, timeout_s=TIMEOUT_S)
        return name

    try:
        with ThreadPoolExecutor(AT_ONCE) as workers:
            for done, making in enumerate(as_completed([workers.submit(make, name) for name in names()]), 1):
                print(f"{dataset.table}: {making.result()} is ready, {done} of {FILES} files", flush=True)
    finally:
        fleet.run_on(host, f"cd {quote(path)} && rm -f *.sql {' '.join(map(quote, endpoint.secrets))}")


def _check_space(dataset: Dataset, engine: Database, path: str) -> None:
    """Of every disk for its files. Raises DatasetError."""
    fleet, host = engine.fleet, etl_host(engine)
    size = dataset.rows * order_lineitems.FILE_LINE_BYTES
    remedy = "choose a smaller scale or no data_load sweep, or name more disks as 'load_dirs' in the platform's file"
    on = Counter(on_disks(dataset, engine.platform.load_dirs).values()) or {path: FILES}
    for folder, files in on.items():
        etl_files.check_space(fleet, host, folder, size * files // FILES, remedy)


def inspect(dataset: Dataset, engine: Database) -> dict[str, object]:
    """Facts for the suites ``order_lineitems_files`` and, one row a file, ``order_lineitems_files_parts``.

    Every file is read once, all of them at the same time.
    """
    fleet, host = engine.fleet, etl_host(engine)
    look = script("workloads/look_at_files", directory=_path(dataset, fleet, host))
    said = fleet.run_on(host, look, timeout_s=TIMEOUT_S).output
    seen = {line.split()[0]: line.split()[1:] for line in said.splitlines()}
    parts: list[dict[str, object]] = []
    for number, name in enumerate(names()):
        made_rows, made_bytes, made_sum, lines, length, checksum = seen.get(
            name, ["0", "0", "never made", "0", "0", ""]
        )
        parts.append(
            {
                "file": name,
                "row_count": int(lines),
                "rows_expected": lines_of(number, dataset.rows),
                "rows_made": int(made_rows),
                "file_bytes": int(length),
                "bytes_made": int(made_bytes),
                "sha256": f"{name} {checksum}",
                "sha256_made": f"{name} {made_sum}",
            }
        )
    rows = sum(int(str(part["row_count"])) for part in parts)
    size = sum(int(str(part["file_bytes"])) for part in parts)
    return {
        "table": dataset.table,
        "host": host,
        "files": len(seen),
        "files_expected": FILES,
        "row_count": rows,
        "rows_expected": dataset.rows,
        "files_bytes": size,
        "line_bytes_mean": round(size / rows, 1) if rows else 0,
        "parts": parts,
    }


def evict(dataset: Dataset, engine: Database) -> tuple[int, int]:
    """Have the ETL host forget the files' pages. Returns bytes that are still in its memory, and bytes in all."""
    fleet, host = engine.fleet, etl_host(engine)
    said = fleet.run_on(
        host,
        f"cd {quote(_path(dataset, fleet, host))}; sync --file-system part-[0-9][0-9]\n"
        "ls *.facts | sed 's/[.]facts$//' | xargs -I '{}' dd if='{}' iflag=nocache count=0 status=none\n"
        "fincore --bytes --raw --noheadings --output RES,SIZE part-[0-9][0-9]",
        timeout_s=600,
    ).output
    pairs = [line.split() for line in said.splitlines()]
    return sum(int(pair[0]) for pair in pairs), sum(int(pair[1]) for pair in pairs)


def link(dataset: Dataset, engine: Database) -> str:
    """Bash for a job on the ETL host: ``files`` in its directory is where they are."""
    return etl_files.link(_path(dataset, engine.fleet, etl_host(engine)))


def _path(dataset: Dataset, fleet: Fleet, host: str) -> str:
    return f"{fleet.work_dir(host)}/{directory(dataset)}"


def _copy(dataset: Dataset, engine: Database, number: int) -> str:
    ids = engine.series(number + 1, dataset.rows, FILES)
    rows = order_lineitems.select(dataset.rows, dataset.seed, ids)
    return statement("order_lineitems", "copy_out", rows=raw(rows)) + ";\n"
