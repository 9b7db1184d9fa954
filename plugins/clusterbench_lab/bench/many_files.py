"""300,000 files of a database: how long a host takes to look at them and to forget them, and the worker's memory.

A database of tables in columns has so many. Here they are files of a page in a folder that is laid out as PostgreSQL's,
on a host of this machine; the scripts are those that a run uses.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from clusterbench.base.scripts import script
from clusterbench.engines.instances import Instance
from clusterbench.engines.postgres.caches import look_at
from clusterbench.engines.postgres.server import instance_script
from clusterbench.hosts.fleet import Fleet
from clusterbench_lab.bench.memory import peak_mb
from clusterbench_lab.many_hosts import many_hosts

FILES = 300_000
FILE_BYTES = 8192
DATABASE_OID = 16_384
SECONDS_MAX = 60.0
MEMORY_MB_MAX = 1000.0
PROGRAMS = "/usr/bin"
"""No server is asked."""
WAYS = ("look at all", "look at those of relations", "forget all", "look at what is forgotten")


def measure(say: Callable[..., bool]) -> bool:
    """Print the figures; True where all are within their bounds."""
    done = subprocess.run([sys.executable, "-m", __name__], check=True, stdout=subprocess.PIPE, text=True)
    *seconds, peak_mb = map(float, done.stdout.split())
    held = [
        say(f"seconds to {way}, {FILES:,} files of a host", took, f"at most {SECONDS_MAX:g}", holds=took <= SECONDS_MAX)
        for way, took in zip(WAYS, seconds, strict=True)
    ]
    memory = "MB of memory of the process that asks for that"
    held.append(say(memory, peak_mb, f"at most {MEMORY_MB_MAX:g}", holds=peak_mb <= MEMORY_MB_MAX))
    return all(held)


def _fill(folder: Path) -> list[str]:
    """Returns their paths in it."""
    for needed in (f"base/{DATABASE_OID}", "global", "pg_tblspc"):
        (folder / needed).mkdir(parents=True)
    paths = [f"base/{DATABASE_OID}/{number}" for number in range(DATABASE_OID, DATABASE_OID + FILES)]
    content = os.urandom(FILE_BYTES)
    for path in paths:
        (folder / path).write_bytes(content)
    os.sync()
    return paths


def _seconds() -> Iterator[float]:
    """Of each way. Raises RuntimeError where a host says something else of the files than is so."""
    with many_hosts(1) as hosts, Fleet(hosts.addresses) as fleet:
        folder = hosts.folder / "database"
        paths = _fill(folder)
        here = [Instance(0, fleet.names[0], "127.0.0.1", 5432, str(folder))]
        look = instance_script("postgres/resident", PROGRAMS, here, database_oid=DATABASE_OID)
        named = script("postgres/pages_in_memory") + look_at(str(folder), paths)
        forget = script("hosts/forget_pages") + instance_script(
            "postgres/evict", PROGRAMS, here, database_oid=DATABASE_OID
        )
        for asked, is_there in ((look, True), (named, True), (forget, None), (look, False)):
            begun = time.monotonic()
            said = fleet.run_on(fleet.names[0], asked).output.split()
            yield time.monotonic() - begun
            if is_there is not None and (int(said[0]) > FILES * FILE_BYTES / 2) != is_there:
                raise RuntimeError(f"{said} bytes in memory {'before' if is_there else 'after'} they were forgotten")


if __name__ == "__main__":
    print(*_seconds(), peak_mb())
