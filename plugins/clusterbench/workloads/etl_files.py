"""Load files on the ETL host, or on several, whatever is in them: each is made whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING

from clusterbench.base.errors import DatasetError
from clusterbench.base.job import Job

if TYPE_CHECKING:
    from clusterbench.engines import BulkLoad, Database
    from clusterbench.hosts.detached_job import DetachedJob
    from clusterbench.hosts.fleet import Fleet
    from clusterbench.spec.platform import Platform

TIMEOUT_S = 24 * 3600
"""One file of 62.5 GB, or all of TPC-DS, made by one session."""

READY_WITHIN_S = 60
"""What file servers may take to start."""

SERVERS = "file servers"
"""What engines that share an ETL host use one after the other: the ports of file servers are the host's."""

SPACE = "mkdir -p {directory}; df --block-size=1 --output=avail {directory} | tail -n 1"


def etl_host(engine: Database) -> str:
    """Where files are made and loaded from: where no host has that role, the client. Its clock measures no loading."""
    return (engine.platform.hosts_with("etl") or engine.platform.hosts_with("client"))[0]


def making_hosts(platform: Platform) -> list[str]:
    """Where files that can be made in parts are made: all ETL and segment hosts at once, or the client."""
    return platform.hosts_with("etl", "segment") or platform.hosts_with("client")


def name_of(engine: Database) -> str:
    """Of jobs and folders that are one engine's: a neighbour has the same ETL host as the platform's own engine."""
    return engine.platform.platform.replace("/", ".")


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


def run(fleet: Fleet, host: str, name: str, work: Job, *, result: str = "") -> str:
    """A job of that name, to its end; one that an earlier try left running is waited for.

    Returns what is in its file ``result``. Raises DatasetError with what it said.
    """
    job = _job(fleet, host, name)
    if job.state().phase != "running":
        job.remove()
        job.start(work, TIMEOUT_S)
    ended = job.wait()
    said = job.errors()
    made = job.text(result) if result and ended.exit_status == 0 else ""
    job.remove()
    if ended.exit_status != 0:
        raise DatasetError(f"host {host!r}: {said or f'it ended with status {ended.exit_status} without a message'}")
    return made


@contextmanager
def serving(fleet: Fleet, host: str, name: str, path: str, load: BulkLoad | None) -> Iterator[None]:
    """The file servers of ``load`` run on ``host`` meanwhile, as a job of that name; they serve the folder ``path``.

    Without ``load`` there are none. Raises DatasetError where they do not start.
    """
    if load is None:
        yield
        return
    with fleet.alone(host, SERVERS):
        yield from _served(_job(fleet, host, name), path, load)


def _served(job: DetachedJob, path: str, load: BulkLoad) -> Iterator[None]:
    job.kill()
    job.remove()
    serve = f"trap {quote(load.after)} EXIT\n{link(path)}\n{load.before}\n: >ready\nsleep infinity &\nwait\n"
    job.start(Job({}, {}, serve), TIMEOUT_S)
    try:
        if not job.is_ready(READY_WITHIN_S):
            said = job.errors() or "they say nothing"
            raise DatasetError(f"host {job.host!r}: its file servers do not start: {said}")
        yield
    finally:
        job.kill()
        job.remove()


def end(fleet: Fleet, host: str, name: str) -> None:
    """What an earlier try may have left running."""
    _job(fleet, host, name).kill()


def _job(fleet: Fleet, host: str, name: str) -> DetachedJob:
    from clusterbench.hosts.detached_job import DetachedJob  # noqa: PLC0415  loads an SSH client, and DAGs are parsed without one

    return DetachedJob(fleet, host, name)
