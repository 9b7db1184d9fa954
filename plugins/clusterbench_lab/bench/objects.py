"""A run with an object of more than 5 GB and tens of thousands of small ones: time, and memory of the worker.

5 GB are what S3 takes in one request. ``python -m clusterbench_lab.bench.objects LAB_DIR 200000`` prints seconds and
memory of the process for so many objects. They took 81 minutes and 656 MB here, beside other tests, with a server that
lists quickly (versitygw): S3Proxy, the lab's, walks the whole folder for each page. What was stored is removed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from clusterbench.base.archive import CONNECTION_ID, RunArchive, Store
from clusterbench.base.connections import local_connections
from clusterbench.base.in_parallel import in_parallel
from clusterbench_lab.bench.memory import peak_mb

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import ObjectIdentifierTypeDef

LARGE_BYTES = 6 * 10**9
OBJECTS = 20_000
BLOCK_BYTES = 1 << 24
DELETED_AT_ONCE = 1000
MEMORY_MB_MAX = 1000.0
WAYS = (
    f"seconds to store a file of {LARGE_BYTES / 1e9:g} GB",
    "seconds to read it for its checksum",
    f"seconds to store {OBJECTS:,} small objects",
    "seconds to seal a run that has all of them",
    "seconds to verify it",
)


def measure(lab_dir: Path, say: Callable[..., bool]) -> bool:
    """Print the figures; True where the memory is within its bound."""
    command = [sys.executable, "-m", __name__, str(lab_dir)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    *seconds, peak_mb = map(float, done.stdout.split())
    for what, took in zip(WAYS, seconds, strict=True):
        say(what, took)
    memory = "MB of memory of the process that does so"
    return say(memory, peak_mb, f"at most {MEMORY_MB_MAX:g}", holds=peak_mb <= MEMORY_MB_MAX)


def _seconds(store: Store, objects: int) -> Iterator[float]:
    """In the order of ``WAYS``. Raises RuntimeError where what is stored is not what was sent."""
    run = RunArchive(store, "_bench", f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    try:
        yield from _large(run)
        begun = time.monotonic()
        in_parallel(lambda number: run.put_json(f"trials/{number:06d}.json", {"number": number}), range(objects))
        yield time.monotonic() - begun
        begun = time.monotonic()
        sealed = run.seal({})
        yield time.monotonic() - begun
        begun = time.monotonic()
        problems = run.verify()
        yield time.monotonic() - begun
        if problems or len(sealed["objects"]) != objects + 1:
            raise RuntimeError(f"{len(sealed['objects'])} objects are sealed; {problems[:3]}")
    finally:
        _delete(store, list(store.keys(run.prefix)))


def _delete(store: Store, keys: Sequence[str]) -> None:
    for first in range(0, len(keys), DELETED_AT_ONCE):
        some: list[ObjectIdentifierTypeDef] = [
            {"Key": store.prefix + key} for key in keys[first : first + DELETED_AT_ONCE]
        ]
        store.client.delete_objects(Bucket=store.bucket, Delete={"Objects": some, "Quiet": True})


def _large(run: RunArchive) -> Iterator[float]:
    with tempfile.NamedTemporaryFile() as file:
        block = os.urandom(BLOCK_BYTES)
        for _ in range(0, LARGE_BYTES, BLOCK_BYTES):
            file.write(block)
        file.truncate(LARGE_BYTES)
        file.flush()
        begun = time.monotonic()
        if not run.put_new("large", Path(file.name)):
            raise RuntimeError(f"{run.url}large was there")
        yield time.monotonic() - begun
    begun = time.monotonic()
    _, size = run.store.sha256(run.prefix + "large")
    yield time.monotonic() - begun
    if size != LARGE_BYTES:
        raise RuntimeError(f"{size:,} of {LARGE_BYTES:,} bytes are stored")


if __name__ == "__main__":
    archive = Store.of(local_connections(Path(sys.argv[1]))(CONNECTION_ID))
    many = int(sys.argv[2]) if len(sys.argv) > 2 else OBJECTS
    print(*_seconds(archive, many), peak_mb())
