"""What people read of a weekly run, by mail and to a webhook. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusterbench.base.words import plural
from clusterbench.history.changes import QUESTION_DAYS, ReportedChange, broken, counted, regressions
from clusterbench.history.model import WeekRun
from clusterbench.results.run_state import RunState
from clusterbench.run.weekly import problems, runs_of

REGRESSIONS_TOLD = 50
"""In a webhook's message; the report has them all."""


@dataclass(frozen=True)
class Message:
    subject: str
    text: str
    webhook: Mapping[str, Any]
    """JSON that receivers like Slack's understand through ``text``."""
    report: bytes | None = None
    """The week's HTML page, for the mail."""


def of_week(
    week: Mapping[str, Any] | None,
    found: Sequence[ReportedChange] | None,
    *,
    text: str | None,
    report: bytes | None,
    url: str,
    ask: str = "",
) -> Message:
    """``week``, ``found`` and ``text`` (the report in a few lines) are None where a step before did not get so far.

    ``ask`` is where it is asked whether a new level is the baseline.
    """
    subject = f"clusterbench week {str(week['started_at'])[:10] if week else ''}".strip() + f": {_summary(week, found)}"
    failed = [one.experiment for one in runs_of(week) if one.failed] if week else []
    body = text or "\n".join(problems(week, found)) or _all_well(found)
    webhook = {
        "text": f"{subject}\n{url}",
        "regressions": [one.line for one in regressions(found or [])][:REGRESSIONS_TOLD],
        "failed": failed,
        "url": url,
    }
    links = [f"The run in Airflow: {url}"]
    if regressions(found or []):
        links.append(f"Is a new level meant to stay? Answer within {QUESTION_DAYS} days: {ask}")
    return Message(subject, "\n".join([body.rstrip(), "", *links, ""]), webhook, report)


def _summary(week: Mapping[str, Any] | None, found: Sequence[ReportedChange] | None) -> str:
    """All of it in one line, the worst first."""
    if week is None:
        return "the weekly run could not be archived"
    ran = runs_of(week)
    nothing = "nothing was measured, " if week.get("measured_nothing") else ""
    failed = sum(one.failed for one in ran)
    if found is None:
        said = [] if week.get("without_history") else ["results not compared"]
    else:
        said = counted(Counter(one.state for one in broken(found)))
    if failed:
        said.append(f"{failed} of {plural(len(ran), 'experiment')} not valid or not complete")
    well = "nothing is followed over time" if found is None else "no regression"
    return nothing + (", ".join(said) or f"{well}, {_valid(ran)}")


def _valid(ran: Sequence[WeekRun]) -> str:
    """ "6 experiments valid, 2 of them with warnings"; weeks of before validity was noted do not have the second."""
    warned = sum(one.validity == RunState.WARNINGS.value for one in ran)
    return f"{plural(len(ran), 'experiment')} valid{f', {warned} of them with warnings' if warned else ''}"


def _all_well(found: Sequence[ReportedChange] | None) -> str:
    if found is None:
        return "All experiments are valid. There is no history database, so nothing is followed over time."
    return "All experiments are valid, and there is no regression."


def of_standstill(dag_run_id: str, experiment: str, minutes: float, why: str, url: str) -> Message:
    """``why``: for whom a task waits, or what the tasks are; ``url``: of the experiment's run."""
    subject = f"clusterbench: the weekly run stands still at {experiment}, for {minutes:.0f} minutes"
    text = (
        f"The weekly run {dag_run_id} has made no progress for {minutes:.0f} minutes. {why}\n\n"
        f"It continues by itself as soon as that is fixed. The experiment's run in Airflow: {url}\n"
    )
    return Message(subject, text, {"text": f"{subject}\n{why}\n{url}", "regressions": [], "failed": [], "url": url})


def of_deadline(dag_run_id: str, asked: str, hours: float, url: str) -> Message:
    """``asked``: when the run was asked for, as Airflow writes it."""
    subject = f"clusterbench week {asked[:10]}: not finished after {hours:g} hours"
    text = (
        f"The weekly run {dag_run_id} should have ended {hours:g} hours after it was queued, and has not. It "
        "continues. In its grid look at the experiment that is running. If a dead run holds a cluster, that run is "
        f"named in the log of the task take_cluster.\n\nThe run in Airflow: {url}\n"
    )
    return Message(subject, text, {"text": f"{subject}\n{url}", "regressions": [], "failed": [], "url": url})
