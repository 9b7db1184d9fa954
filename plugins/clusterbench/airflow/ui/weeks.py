"""Weekly reports. Each tells of every experiment, so it is for those only who may read all of them."""

from __future__ import annotations

from clusterbench.airflow.ui.page_request import NotShown, PageRequest
from clusterbench.base.run_ids import WEEKLY
from clusterbench.history import read
from clusterbench.history.database import Database
from clusterbench.history.model import WeekRow

SHOWN = 104


def readable(db: Database, visit: PageRequest) -> list[WeekRow]:
    """The newest first."""
    rows = read.weeks(db, SHOWN)
    names = visit.readable({run.experiment for row in rows for run in row.runs})
    return [row for row in rows if names.issuperset(run.experiment for run in row.runs)]


def found(db: Database, visit: PageRequest, run_id: str) -> WeekRow:
    visit.must_read(WEEKLY)
    week = read.week(db, run_id)
    if week is None:
        raise NotShown(404, "No such weekly run", f"The history database has no weekly run {run_id!r}.")
    visit.must_read(*(run.experiment for run in week.row.runs))
    return week.row
