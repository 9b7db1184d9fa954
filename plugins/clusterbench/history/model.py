"""What the history database is asked for, as plain data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from clusterbench.base.factors import Level
from clusterbench.base.measurements import Better
from clusterbench.base.remarks import Remark, tags_of, withdrawals, withdrawn
from clusterbench.results.run_state import RunState, run_state

STATE = "state"
"""Beside what ``run.json`` says, the word for the run: steps with errors have no table of their own here."""


@dataclass(frozen=True)
class RunRow:
    """A finished run, as a line of a list. ``platforms`` in their order: the first is the reference."""

    experiment: str
    run_id: str
    title: str
    scale: str
    is_valid: bool
    started_at: datetime
    ended_at: datetime | None
    platforms: tuple[str, ...]
    planned: int
    completed: int
    dag_run_id: str
    started_by: Mapping[str, Any]
    choices: Mapping[str, Any]
    url: str
    remarks: tuple[Remark, ...] = ()
    """What people said of it, in the order in which they did."""
    has_warnings: bool = False
    in_turns: tuple[str, ...] = ()
    """Platforms whose trials were measured in turns."""

    @property
    def state(self) -> RunState:
        """As its report has it."""
        return run_state(self.is_valid, has_warnings=self.has_warnings)

    @property
    def withdrawn(self) -> str:
        """Who withdrew the whole run, when and why; empty where nobody did."""
        return withdrawn(withdrawals(self.remarks))

    @property
    def tags(self) -> list[str]:
        return tags_of(self.choices.get("tags") or (), self.remarks)


@dataclass(frozen=True)
class Series:
    """One measurement of one cell at one scale on one platform: what is followed over time.

    ``id`` is that of the cell, which other measurements share. ``label`` is how the last run called the cell.
    """

    id: int
    experiment: str
    scale: str
    platform: str
    sweep: str
    label: str
    levels: Mapping[str, Level]
    measurement: str
    unit: str
    better: Better


@dataclass(frozen=True)
class Point:
    """A series' result in one run. ``median`` is None where nothing completed: "x: 0 of 3 completed"."""

    run_id: str
    started_at: datetime
    is_valid: bool
    """Of the run: numbers of an invalid one are shown, and never judged by."""
    n: int
    planned: int
    median: float | None
    interval_95: tuple[float, float] | None
    fact_set: str
    """Of the platform: where it differs from the point before, facts had changed."""
    withdrawn: str = ""
    """Who withdrew it, its platform or its run, when and why; empty where nobody did."""
    has_warnings: bool = False
    """Of a valid run: an expectation that only warns did not hold."""

    @property
    def state(self) -> RunState:
        return run_state(self.is_valid, has_warnings=self.has_warnings)

    @property
    def counts(self) -> bool:
        """Whether others are judged by it."""
        return self.is_valid and not self.withdrawn and self.median is not None


@dataclass(frozen=True)
class Baseline:
    """A person's word that a series' level from this run on is the new normal."""

    from_run_id: str
    accepted_by: str
    accepted_at: datetime
    note: str


@dataclass(frozen=True)
class FailedTrial:
    """For links: ``map_index`` is that of Airflow's mapped task, in which there may be other trials."""

    platform: str
    trial: str
    label: str
    outcome: str
    reason: str
    map_index: int


@dataclass(frozen=True)
class WeekRun:
    """An experiment of a weekly run. ``run_id`` is None where it never began; ``reason`` is empty where it is valid.

    ``state`` is Airflow's, of its DAG run.
    """

    experiment: str
    dag_run_id: str
    run_id: str | None
    state: str
    reason: str
    validity: str = ""
    """A ``RunState``; empty in weeks of before it was noted."""

    @property
    def failed(self) -> bool:
        return self.state != "success"


@dataclass(frozen=True)
class WeekRow:
    """A weekly run. ``changes``: state -> how many series."""

    run_id: str
    scale: str
    started_at: datetime
    dag_run_id: str
    url: str
    runs: tuple[WeekRun, ...]
    changes: Mapping[str, int]


@dataclass(frozen=True)
class Week:
    """``changes``: entries of ``changes.json``, as regressions.py wrote them."""

    row: WeekRow
    changes: tuple[Mapping[str, Any], ...]
