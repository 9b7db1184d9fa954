"""An experiment's page: its runs, the newest first, two of which can be compared; and what it follows over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from clusterbench.airflow.ui.declarations import title_of
from clusterbench.airflow.ui.latest import points_of
from clusterbench.airflow.ui.page_request import NotShown
from clusterbench.history import read
from clusterbench.history.database import Database
from clusterbench.history.model import Point, RunRow, Series
from clusterbench.report.time_series import Figure, line_figure

RUNS_SHOWN = 10
SERIES_SHOWN = 60
"""On a page: each comes with a small figure."""


@dataclass(frozen=True)
class Choice:
    """What the form asks for; empty for all. ``number`` is that of the page."""

    scale: str = ""
    platform: str = ""
    sweep: str = ""
    measurement: str = ""
    number: int = 1


FIELDS = ("scale", "platform", "sweep", "measurement")


@dataclass(frozen=True)
class Followed:
    series: Series
    title: str
    last: Point | None
    figure: Figure | None


@dataclass(frozen=True)
class Page:
    experiment: str
    title: str
    runs: list[RunRow]
    older: datetime | None
    """Runs before this moment are on the next page."""
    choice: Choice
    options: dict[str, list[str]]
    followed: list[Followed]
    total: int
    number: int
    pages: int


def gather(db: Database, experiment: str, choice: Choice, before: datetime | None) -> Page:
    runs = read.runs(db, experiment, limit=RUNS_SHOWN + 1, before=before)
    if not runs and before is None:
        raise NotShown(404, "No such experiment", f"No run of an experiment {experiment!r} is in the history database.")
    shown = runs[:RUNS_SHOWN]
    every = sorted(read.series(db, experiment=experiment), key=_order)
    found = [one for one in every if _is_chosen(one, choice)]
    pages = max(1, -(-len(found) // SERIES_SHOWN))
    number = min(max(1, choice.number), pages)
    return Page(
        experiment,
        runs[0].title if runs else experiment,
        shown,
        shown[-1].started_at if len(runs) > RUNS_SHOWN else None,
        choice,
        {name: list(dict.fromkeys(getattr(one, name) for one in every)) for name in FIELDS},
        _followed(db, found[(number - 1) * SERIES_SHOWN : number * SERIES_SHOWN]),
        len(found),
        number,
        pages,
    )


def _order(one: Series) -> tuple[object, ...]:
    """Levels as numbers where they are: 50 clients before 100."""
    return (one.scale, one.sweep, one.measurement, *((isinstance(level, str), level) for level in one.levels.values()))


def _is_chosen(one: Series, choice: Choice) -> bool:
    asked = ((name, getattr(choice, name)) for name in FIELDS)
    return all(getattr(one, name) == value for name, value in asked if value)


def _followed(db: Database, series: Sequence[Series]) -> list[Followed]:
    points = points_of(db, series)
    made = []
    for one in series:
        found = points.get((one.id, one.measurement), [])
        made.append(Followed(one, title_of(one), found[-1] if found else None, line_figure(found)))
    return made
