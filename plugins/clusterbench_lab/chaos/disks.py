"""Small disks of their own for some folders of a lab, so that one can be filled up without the others."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from clusterbench.base.errors import LabError
from clusterbench_lab.lab import Lab

DISKS: Mapping[str, tuple[str, int]] = {
    "worker's disk": ("airflow/logs", 100),
    "client host's disk": ("hosts/client", 300),
    "database host's disk": ("hosts/db1", 3000),
}
"""Part -> folder of the lab, and its size in MB."""
WORKER_TEMPORARY = "airflow/logs/tmp"
"""Where a worker collects output: on the disk of its tasks' logs. What the scheduler writes is elsewhere: an Airflow
scheduler whose own log cannot be written hangs at its exit, and says nothing."""
BALLAST = "ballast"
STEP_BYTES = 1 << 20


@contextmanager
def small_disks(lab_dir: Path) -> Iterator[Mapping[str, str]]:
    """Mounted while the block lasts, in a mount namespace of our own. Yields what the lab's Airflow is to have in its
    environment."""
    mounted: list[Path] = []
    try:
        for folder, size_mb in DISKS.values():
            image, where = lab_dir / f"{folder.replace('/', '_')}.image", lab_dir / folder
            where.mkdir(parents=True)
            with image.open("wb") as file:
                file.truncate(size_mb * STEP_BYTES)
            _run("mkfs.ext4", "-q", "-m", "0", str(image))
            _run("mount", "-o", "loop", str(image), str(where))
            mounted.append(where)
        (lab_dir / WORKER_TEMPORARY).mkdir()
        yield {"TMPDIR": str(lab_dir / WORKER_TEMPORARY)}
    finally:
        for where in reversed(mounted):
            subprocess.run(["umount", "--lazy", str(where)], check=False)


@contextmanager
def filled(lab: Lab, part: str) -> Iterator[None]:
    """Not a byte is left on that disk while the block lasts."""
    ballast = lab.lab_dir / DISKS[part][0] / BALLAST
    with ballast.open("wb", buffering=0) as file:
        free = os.statvfs(file.fileno())
        with contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize // STEP_BYTES * STEP_BYTES)
        file.seek(0, os.SEEK_END)
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
    try:
        yield
    finally:
        ballast.unlink()


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"chaos: {' '.join(words)}: {done.stderr.strip()}")
