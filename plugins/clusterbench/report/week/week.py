"""A weekly run as its page and its mail need it. Plain data, and what follows from it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property

from clusterbench.base.database_work import WorkChange
from clusterbench.base.plans import PlanChange
from clusterbench.base.remarks import Remark
from clusterbench.history.change_test import Change, State
from clusterbench.history.confirmation import Confirmation
from clusterbench.history.model import Point, Series
from clusterbench.report import addresses
from clusterbench.report.week.papers import Beside
from clusterbench.results.facts_compared import Difference
from clusterbench.results.judgement import is_speed
from clusterbench.results.run_state import RunState, run_state

SHOWN_MAX = 10
"""Results of each kind that the page tells one by one: the worst, or the best. The others are counted."""
RESULTS = "/bench"
"""Below Airflow's address: where the UI plugin has the pages of results."""


def day(when: date) -> str:
    return f"{when.day} {when:%B %Y}"


@dataclass(frozen=True)
class SeriesVerdict:
    """One result of the week. ``title`` is that of its measurement; ``facts`` are those that changed with it.

    ``points`` are there for what the page draws, and where the history database was.
    """

    series: Series
    title: str
    change: Change
    facts: tuple[Difference, ...] = ()
    facts_run_id: str | None = None
    """The first run with these facts: that of the new level, or one near to it."""
    points: tuple[Point, ...] = ()
    since_dag_run_id: str = ""
    """Airflow's id of the first run of the new level."""
    is_known: bool = False
    """Whether last week's report told of it, too: it has not been mended, nor accepted, since."""
    made_of: str = ""
    """Which statements the change is made of, in words; empty where it has one."""
    plans: tuple[PlanChange, ...] | None = None
    """That changed with it; None where none are known."""
    work: tuple[WorkChange, ...] = ()
    """What the database did more of, or less."""
    held_by: str = ""
    """Who held the locks, where more was waited for them."""
    events: tuple[Remark, ...] = ()
    """That people told of, near to where the level changed."""
    confirmation: Confirmation | None = None
    """What measuring it again at once has shown."""
    why: str = ""
    """Where this week has no number: the reason of the first trial that failed."""

    @property
    def is_speed(self) -> bool:
        """Whether a worse one is slower: a time, or something a second."""
        return is_speed(self.series.better, self.series.unit)


@dataclass(frozen=True)
class Before:
    """The run before of that experiment at that scale."""

    run_id: str
    completed: int
    planned: int
    took_s: float | None


@dataclass(frozen=True)
class ExperimentRun:
    """One experiment of the week. ``is_valid`` is None where no run was finished; ``reason`` then says why."""

    experiment: str
    title: str
    dag_run_id: str
    run_id: str | None
    reason: str
    is_valid: bool | None
    has_warnings: bool = False
    scale: str = ""
    """Of the run, which may be a smaller one than the week's."""
    platforms: tuple[str, ...] = ()
    planned: int = 0
    completed: int = 0
    took_s: float | None = None
    before: Before | None = None

    @property
    def state(self) -> RunState:
        return run_state(self.is_valid, has_warnings=self.has_warnings)


@dataclass(frozen=True)
class Week:
    run_id: str
    dag_run_id: str
    scale: str
    started_at: datetime
    url: str
    """In object storage."""
    ran: Sequence[ExperimentRun]
    judged: Sequence[SeriesVerdict]
    beside: Sequence[Beside] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Experiment -> why it was not wanted this time."""
    airflow_url: str = ""
    is_part: bool = False
    """Of every experiment only what it declares as its part was measured."""
    measured_nothing: bool = False
    """No experiment was chosen: ``ran`` are the newest runs from before."""
    without_history: str = ""
    """Why there are no charts and no earlier runs; empty where the history database answered."""
    without_time: int = 0
    unmeasured: Sequence[str] = ()
    """The most suspicious of them, in words."""
    """Results that looked worse, which were not measured again: no time was given, or it ended before."""
    is_followed: bool = True
    """Whether this installation has a history database; without one no result is compared with earlier weeks."""

    @cached_property
    def by_state(self) -> dict[str, list[SeriesVerdict]]:
        """What last week's report did not tell first, and of these the largest change."""
        found: dict[str, list[SeriesVerdict]] = {}
        for one in sorted(self.judged, key=lambda each: (each.is_known, -abs(each.change.change_percent or 0))):
            found.setdefault(one.change.state, []).append(one)
        return found

    def of(self, state: State) -> list[SeriesVerdict]:
        return self.by_state.get(state, [])

    def run_of(self, experiment: str) -> ExperimentRun | None:
        return next((ran for ran in self.ran if ran.experiment == experiment), None)

    def results_link(self, path: str) -> str:
        """A page of results inside the Airflow UI, by its path of ``ui.addresses``."""
        return f"{self.airflow_url.rstrip('/')}{RESULTS}{path}" if self.airflow_url else ""

    def link(self, name: str, dag_run_id: str) -> str:
        """A run's page in Airflow; nothing where nobody said where Airflow is."""
        if not (self.airflow_url and dag_run_id):
            return ""
        return self.airflow_url.rstrip("/") + addresses.dag_run(name, dag_run_id)
