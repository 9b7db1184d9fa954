"""Load files on the ETL host, whatever is in them: each is made whole or not at all, with its facts beside it."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from clusterbench.base.errors import DatasetError

if TYPE_CHECKING:
    from clusterbench.base.job import Job
    from clusterbench.engines import Database
    from clusterbench.hosts.detached_job import DetachedJob
    from clusterbench.hosts.fleet import Fleet

TIMEOUT_S = 24 * 3600
"""One file of 62.5 GB, or all of TPC-DS, made by one session."""

SPACE = "mkdir -p {directory}; df --block-size=1 --output=avail {directory} | tail -n 1"


def etl_host(engine: Database) -> str:
    """Where files are made and loaded from: where no host has that role, the client. Its clock measures no loading."""
    return (engine.platform.hosts_with("etl") or engine.platform.hosts_with("client"))[0]


def check_space(fleet: Fleet, host: str, path: str, needed: int, remedy: str) -> None:
    """Makes the folder ``path``. Raises DatasetError where the host has fewer than ``needed`` bytes for it."""
    free = int(fleet.run_on(host, SPACE.format(directory=quote(path))).output)
    if needed > free:
        raise DatasetError(
            f"host {host!r}: too small for the load files: they need {needed / 1e9:,.1f} GB, free are "
            f"{free / 1e9:,.1f} GB in {path}; free some space, or {remedy}"
        )


def link(path: str, name: str = "files") -> str:
    """Bash for a job on the ETL host: ``files`` in its directory is the folder ``path``."""
    return f"ln -sfn {from_home(path)} {name}"


def from_home(path: str) -> str:
    """A path below a work folder, in bash, wherever the shell is."""
    return quote(path) if path.startswith("/") else f"~/{quote(path)}"


def run(fleet: Fleet, host: str, name: str, work: Job) -> None:
    """A job of that name, to its end; one that an earlier try left running is waited for.

    Raises DatasetError with what it said.
    """
    job = _job(fleet, host, name)
    if job.state().phase != "running":
        job.remove()
        job.start(work, TIMEOUT_S)
    ended = job.wait()
    said = job.errors()
    job.remove()
    if ended.exit_status != 0:
        raise DatasetError(f"host {host!r}: {said or f'it ended with status {ended.exit_status} and said nothing'}")


def end(fleet: Fleet, host: str, name: str) -> None:
    """What an earlier try may have left running."""
    _job(fleet, host, name).kill()


def _job(fleet: Fleet, host: str, name: str) -> DetachedJob:
    from clusterbench.hosts.detached_job import DetachedJob  # noqa: PLC0415  loads an SSH client, and DAGs are parsed without one

    return DetachedJob(fleet, host, name)
