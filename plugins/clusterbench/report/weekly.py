"""The weekly report: one page for people who read one page, and the mail that it comes with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from clusterbench.archive import RunArchive
from clusterbench.catalog import Catalog
from clusterbench.report import week_said as said
from clusterbench.report.facts_compared import Difference
from clusterbench.report.sparkline import sparkline
from clusterbench.report.template import environment
from clusterbench.report.week import SHOWN_MAX, Change, Judged, Ran, State, Week

if TYPE_CHECKING:
    import psycopg

TEMPLATE = "weekly.html.j2"


def gather_week(db: psycopg.Connection[Any] | None, catalog: Catalog, archive: RunArchive) -> Week:
    """What the weekly run left behind. ``db`` is None where the history database is away."""
    raise NotImplementedError


def render_week(week: Week) -> str:
    """The page. Pure."""
    return (
        environment()
        .get_template(TEMPLATE)
        .render(
            week=week,
            title=said.title(week),
            headline=said.headline(week),
            changes=[_section(week, state) for state in said.WORDS],
        )
    )


def text_of_week(week: Week) -> str:
    """The plain-text mail, below 4 kB. Pure."""
    return said.text(week)


def subject_of_week(week: Week) -> str:
    return said.subject(week)


def _section(week: Week, state: State) -> dict[str, Any]:
    found = week.of(state)
    entries = [_changed(week, one) for one in found[:SHOWN_MAX]]
    return {
        "state": state,
        "verb": said.verb(found, state),
        "entries": entries,
        "has_lines": any(entry["line"] for entry in entries),
        "more": len(found) - len(entries),
        "counted": said.counted(found[SHOWN_MAX:]),
    }


def _changed(week: Week, one: Judged) -> dict[str, Any]:
    change, ran = one.change, week.run_of(one.series.experiment)
    line = sparkline(one.points, change.before, change.after, change.at_run_id, change.runs_before, one.series.unit)
    return {
        "one": one,
        "what": said.what(one),
        "amount": said.amount(one),
        "levels": said.levels(one),
        "since": said.since(one),
        "certainty": said.certainty(one),
        "interval": said.interval(one),
        "chance": said.chance(one),
        "facts": said.facts(one.facts),
        "line": line,
        "picture_says": f"{said.what(one)}: {said.amount(one)}, {said.since(one)}",
        "links": _links(week, one, ran),
        "run": f"{one.series.experiment}/{(ran.run_id if ran else None) or change.at_run_id}",
    }


def _links(week: Week, one: Judged, ran: Ran | None) -> list[tuple[str, str]]:
    experiment = one.series.experiment
    found = [
        ("this week's run", week.link(experiment, ran.dag_run_id if ran else "")),
        ("the first run of the new level", week.link(experiment, one.since_dag_run_id)),
    ]
    return [(text, address) for text, address in found if address]
