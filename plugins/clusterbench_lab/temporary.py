"""A lab for the length of a test, beside whatever other lab there is."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from clusterbench_lab import programs
from clusterbench_lab.lab import Lab, Report, silent
from clusterbench_lab.layout import PROJECT_DIR

_LENDER = PROJECT_DIR / ".lab"
"""The project's own lab, which need never have been up."""
_PREFIX = "clusterbench-lab-"


@contextlib.contextmanager
def _not_prepared(_: Path) -> Iterator[Mapping[str, str]]:
    yield {}


@contextlib.contextmanager
def temporary_lab(
    block: int,
    *,
    airflow: bool = False,
    keep: bool = False,
    partitions: bool = False,
    report: Report = silent,
    environment: Mapping[str, str] | None = None,
    prepared: Callable[[Path], AbstractContextManager[Mapping[str, str]]] = _not_prepared,
) -> Iterator[Lab]:
    """Up on entry; down and removed on exit.

    It lies below the system's folder for temporary files and not in pytest's own folder, which lets no other user
    pass, so that the servers of a lab brought up by root could not reach it. S3Proxy and Hadoop are copied from the
    project's own lab, into which they are fetched if it has none.

    ``environment``: of its Airflow. ``prepared``: what is done to its empty folder for as long as it is up; yields more
    of that environment.
    """
    lab_dir = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    try:
        with prepared(lab_dir) as more:
            own = {**(environment or {}), **more}
            lab = Lab(lab_dir, block=block, report=report, environment=own, partitions=partitions)
            try:
                borrow_programs(lab_dir)
                lab.up(airflow=airflow)
                yield lab
            finally:
                lab.down(at_once=not keep)
    finally:
        if not keep:
            shutil.rmtree(lab_dir, ignore_errors=True)


def remove_orphans() -> list[Path]:
    """Take down the temporary labs whose makers were killed before they could do it. Returns where they were."""
    found = []
    for lab_dir in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        maker = lab_dir.name.removeprefix(_PREFIX).partition("-")[0]
        if not maker.isdigit() or Path(f"/proc/{maker}").exists():
            continue
        with contextlib.suppress(FileNotFoundError):  # somebody else takes it down at the same moment
            if lab_dir.stat().st_uid == os.geteuid():
                Lab(lab_dir).down(at_once=True)
                shutil.rmtree(lab_dir, ignore_errors=True)
                found.append(lab_dir)
    return found


def borrow_programs(lab_dir: Path) -> None:
    """Copy S3Proxy and Hadoop from the project's own lab: Maven and the compiler run once, however many labs there are.

    If the project's own lab is another user's, this lab fetches them for itself.
    """
    with contextlib.suppress(OSError):
        programs.fetch(_LENDER)
        programs.copy(_LENDER, lab_dir)
