"""A lab for the length of a test, beside whatever other lab there is."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from clusterbench.lab import maven
from clusterbench.lab.lab import Lab, Report, silent
from clusterbench.lab.layout import PROJECT_DIR


@contextlib.contextmanager
def temporary_lab(block: int, *, airflow: bool = False, keep: bool = False, report: Report = silent) -> Iterator[Lab]:
    """Up on entry; down and removed on exit.

    It lies below the system's folder for temporary files and not in pytest's own folder, which lets no other user
    pass, so that the servers of a lab brought up by root could not reach it. S3Proxy and Hadoop are taken over
    from the project's own lab, where that has them.
    """
    lab_dir = Path(tempfile.mkdtemp(prefix="clusterbench-lab-"))
    lab = Lab(lab_dir, block=block, report=report)
    try:
        borrow_programs(lab_dir)
        lab.up(airflow=airflow)
        yield lab
    finally:
        lab.down()
        if not keep:
            shutil.rmtree(lab_dir, ignore_errors=True)


def borrow_programs(lab_dir: Path) -> None:
    """Take S3Proxy and Hadoop over from the project's own lab, and save Maven the way."""
    for library in ("s3proxy/lib", "hadoop/lib"):
        there, here = PROJECT_DIR / ".lab" / library, lab_dir / library
        with contextlib.suppress(OSError):  # another user's lab, or none: Maven fetches it then
            if (there / maven.STAMP).exists() and not here.exists():
                shutil.copytree(there, here)
