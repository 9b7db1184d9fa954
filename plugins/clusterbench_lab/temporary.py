"""A lab for the length of a test, beside whatever other lab there is."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from clusterbench_lab import maven
from clusterbench_lab.lab import Lab, Report, silent
from clusterbench_lab.layout import PROJECT_DIR

_LENDERS = [PROJECT_DIR / ".lab"]
"""The project's own lab, and temporary ones that are up."""
_PROGRAMS = {"s3proxy": ("lib",), "hadoop": ("lib", "classes")}


@contextlib.contextmanager
def temporary_lab(
    block: int,
    *,
    airflow: bool = False,
    keep: bool = False,
    report: Report = silent,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Lab]:
    """Up on entry; down and removed on exit.

    It lies below the system's folder for temporary files and not in pytest's own folder, which lets no other user
    pass, so that the servers of a lab brought up by root could not reach it. S3Proxy and Hadoop are taken over
    from the project's own lab, where that has them, or from another temporary one.
    """
    lab_dir = Path(tempfile.mkdtemp(prefix="clusterbench-lab-"))
    lab = Lab(lab_dir, block=block, report=report, environment=environment)
    try:
        borrow_programs(lab_dir)
        lab.up(airflow=airflow)
        _LENDERS.append(lab_dir)
        yield lab
    finally:
        if lab_dir in _LENDERS:
            _LENDERS.remove(lab_dir)
        lab.down()
        if not keep:
            shutil.rmtree(lab_dir, ignore_errors=True)


def borrow_programs(lab_dir: Path) -> None:
    """Take S3Proxy and Hadoop over from another lab, and save Maven and the compiler the way."""
    for program, parts in _PROGRAMS.items():
        for lender in _LENDERS:
            with contextlib.suppress(OSError):  # another user's lab, or none: Maven fetches it then
                if (lender / program / "lib" / maven.STAMP).exists() and not (lab_dir / program).exists():
                    for part in parts:
                        shutil.copytree(lender / program / part, lab_dir / program / part)
