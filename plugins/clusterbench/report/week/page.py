"""The weekly report: one page for people who read one page, and its mail. Pure but for ``week_of``."""

from __future__ import annotations

from typing import Any

from clusterbench.base.run_ids import WEEKLY
from clusterbench.history.change_test import FALSE_SHARE, State
from clusterbench.report import addresses
from clusterbench.report.template import environment
from clusterbench.report.time_series import change_figure
from clusterbench.report.week import sentences as said
from clusterbench.report.week.gather import gather_week, week_of
from clusterbench.report.week.week import SHOWN_MAX, ExperimentRun, SeriesVerdict, Week
from clusterbench.report.week.why import why

__all__ = ["gather_week", "render_week", "text_of_week", "week_of"]

TEMPLATE = "weekly.html.j2"
REASON_MAX = 300
"""Characters of a reason on the page: an error may quote a server's whole log."""


def render_week(week: Week) -> str:
    """The page. Pure."""
    return (
        environment()
        .get_template(TEMPLATE)
        .render(
            week=week,
            title=said.title(week),
            headline=said.headline(week),
            worse=_section(week, "regression"),
            nicer=_section(week, "improvement"),
            missing=_missing(week),
            runs=[_run(week, ran) for ran in week.ran],
            has_invalid=any(ran.is_valid is False for ran in week.ran),
            few=said.few(week),
            compared=len(week.judged) - len(week.of("too_few")),
            share_by_chance=round(FALSE_SHARE * 100),
            left_out=said.left_out(week),
            measured_again=said.measured_again(week),
            not_followed="" if week.is_followed else said.NOT_FOLLOWED,
            link=week.link(WEEKLY, week.dag_run_id),
        )
    )


def text_of_week(week: Week) -> str:
    """The plain-text mail, below 7 kB. Pure."""
    return said.text(week)


def _section(week: Week, state: State) -> dict[str, Any]:
    found = week.of(state)
    entries = [_changed(week, one) for one in found[:SHOWN_MAX]]
    return {
        "state": state,
        "verb": said.verb(found, state),
        "entries": entries,
        "has_pictures": any(entry["picture"] for entry in entries),
        "more": len(found) - len(entries),
        "counted": said.counted(found[SHOWN_MAX:]),
        "common": said.common(found),
    }


def _changed(week: Week, one: SeriesVerdict) -> dict[str, Any]:
    ran = week.run_of(one.series.experiment)
    return {
        "one": one,
        "what": said.what(one),
        "amount": said.amount(one),
        "levels": said.levels(one),
        "since": said.since(one),
        "certainty": said.certainty(one),
        "interval": said.interval(one),
        "chance": said.chance(one),
        "why": why(one),
        "repeat": said.repeat(one),
        "picture": change_figure(one.points, one.change, one.series.unit, one.series.better),
        "picture_says": f"{said.what(one)}: {said.amount(one)}, {said.since(one)}",
        "links": _links(week, one, ran),
        "run": f"{one.series.experiment}/{(ran.run_id if ran else None) or one.change.at_run_id}",
    }


def _links(week: Week, one: SeriesVerdict, ran: ExperimentRun | None) -> list[tuple[str, str]]:
    experiment, run_id = one.series.experiment, (ran.run_id if ran else None) or ""
    found = [
        ("all weeks", week.results_link(addresses.series(one.series))),
        ("this week's run in Airflow", week.link(experiment, ran.dag_run_id if ran else "")),
        (
            "report of this week's run",
            week.results_link(f"{addresses.run(experiment, run_id)}/report") if run_id else "",
        ),
        ("first run of the new level in Airflow", week.link(experiment, one.since_dag_run_id)),
    ]
    return [(text, address) for text, address in found if address]


def _missing(week: Week) -> dict[str, Any]:
    found = week.of("no_number")
    return {
        "entries": [(said.place(one), said.cut(said.missing_why(one), REASON_MAX)) for one in found[:SHOWN_MAX]],
        "more": max(0, len(found) - SHOWN_MAX),
        "counted": said.counted(found[SHOWN_MAX:]),
    }


def _run(week: Week, ran: ExperimentRun) -> dict[str, Any]:
    return {
        "one": ran,
        "link": week.link(ran.experiment, ran.dag_run_id),
        "report": week.results_link(f"{addresses.run(ran.experiment, ran.run_id)}/report") if ran.run_id else "",
        "state": said.state_of(ran),
        "css": "pass" if ran.is_valid else "fail",
        "trials": f"{ran.completed} of {ran.planned}" if ran.planned else "\u2013",
        "took": said.duration(ran.took_s),
        "before": said.against(ran),
        "reason": said.cut(ran.reason, REASON_MAX),
    }
