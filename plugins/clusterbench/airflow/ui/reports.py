"""Archived reports, from object storage and in pieces: that of a large run has many megabytes."""

from __future__ import annotations

from collections.abc import Iterator

from clusterbench.airflow.ui.page_request import NotShown, PageRequest
from clusterbench.base.archive import RunArchive
from clusterbench.base.errors import ClusterbenchError
from clusterbench.report.run.findings import KEY, Findings

REPORT = "report.html"


def findings(visit: PageRequest, experiment: str, run_id: str) -> Findings | None:
    """The first lines of the run's report; None where they were not noted, or object storage is away."""
    try:
        noted = RunArchive(visit.store(), experiment, run_id).get_json(KEY)
    except ClusterbenchError:
        return None  # the page is of the history database, and shows the rest
    return Findings.from_json(noted) if noted else None


def must_exist(visit: PageRequest, experiment: str, run_id: str) -> RunArchive:
    archive = RunArchive(visit.store(), experiment, run_id)
    key = archive.prefix + REPORT
    if key not in archive.store.keys(key):
        raise NotShown(
            404,
            "No report",
            f"There is no {archive.url}{REPORT} in the archive. It can be made again from what is there: "
            f"clusterbench report {experiment}/{run_id}",
        )
    return archive


def report(visit: PageRequest, experiment: str, run_id: str) -> Iterator[bytes]:
    """Raises NotShown where there is none, before anything is sent."""
    archive = must_exist(visit, experiment, run_id)
    return archive.store.stream(archive.prefix + REPORT)
