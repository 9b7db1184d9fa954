"""How far to trust a run: its verdict in words, the checks, what failed and why. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clusterbench.base.patience import Outage
from clusterbench.base.words import duration, moment, named_counts, plain, plural, some_of
from clusterbench.results.gather import Gathered
from clusterbench.results.run_state import RunState
from clusterbench.results.verdicts import Verdict

CHECKS = {
    1: "The data is right",
    2: "The answers are right",
    3: "The caches were as said",
    4: "The load driver was not the bottleneck",
    5: "The hosts were quiet",
    6: "Repetitions, in random order",
    7: "Nothing is dropped",
    8: "The platform is what it claims to be",
}
"""The list "How a number earns trust" of docs/concepts.md; a verdict carries the number of its check."""


@dataclass(frozen=True)
class Check:
    number: int
    title: str
    state: str
    """pass, warning, fail or not measured."""
    verdicts: list[Verdict]


def checks(verdicts: Sequence[Verdict]) -> list[Check]:
    """The eight checks, and any that a suite numbers otherwise, so that no verdict is left out."""
    numbers = [*CHECKS, *sorted({verdict.check for verdict in verdicts} - set(CHECKS))]
    return [_check(number, [verdict for verdict in verdicts if verdict.check == number]) for number in numbers]


def _check(number_of_check: int, verdicts: Sequence[Verdict]) -> Check:
    merged = list(dict.fromkeys(verdicts))  # two platforms with the same finding
    ordered = sorted(merged, key=lambda verdict: (verdict.passed, not verdict.critical))
    title = CHECKS.get(number_of_check, "Other expectations")
    if not ordered:
        return Check(number_of_check, title, "not measured", [])
    states = {state_of_verdict(verdict) for verdict in ordered}
    worst = next(state for state in ("fail", "warning", "pass") if state in states)
    return Check(number_of_check, title, worst, ordered)


def state_of_verdict(verdict: Verdict) -> str:
    if verdict.passed:
        return "pass"
    return "fail" if verdict.critical else "warning"


@dataclass(frozen=True)
class Badge:
    words: str
    css: str
    meaning: str


def badge(run: Gathered) -> Badge:
    """May these numbers be used? In words, because a colour alone says nothing to some readers."""
    state = run.state
    return Badge(state.value, state.css, _meaning(run, state))


def _meaning(run: Gathered, state: RunState) -> str:
    if state is RunState.VALID:
        return "Every check passed."
    if state is RunState.INCOMPLETE:
        return "The run was never judged, so its numbers must not be used."
    if state is RunState.NOT_VALID:
        return "At least one critical check failed, so its numbers must not be used."
    warnings = sum(not verdict.passed for verdict in run.verdicts)
    said = [plural(warnings, "warning")] if warnings else []
    said += [plural(len(run.errors), "error")] if run.errors else []
    return f"Every critical check passed, with {' and '.join(said)}."


AS_EXPECTED = re.compile(r"(\d+) of (\d+) as expected; not so: (.*)", re.DOTALL)


def found_words(verdict: Verdict) -> str:
    """What a check found: "8 of 81 are not: 60.1 %, 61.6 %"; of one that passed as it was noted."""
    counted = AS_EXPECTED.fullmatch(verdict.found)
    if not counted:
        return plain(verdict.found)
    wrong = int(counted[2]) - int(counted[1])
    return plain(f"{wrong} of {counted[2]} {'is' if wrong == 1 else 'are'} not: {counted[3]}")


def broken(run: Gathered) -> list[str]:
    """Critical checks that failed, each with what was found."""
    return [
        f"{verdict.says}: {found_words(verdict)}" for verdict in run.verdicts if verdict.critical and not verdict.passed
    ]


def summary(run: Gathered) -> str:
    """The run in one sentence."""
    if run.plan is None:
        return "The run ended before its trials were planned."
    if run.plan.choices.generate_only:
        return "This run made its data and checked it, as it was asked to, and measured nothing."
    planned = sum(map(len, run.plan.trials.values()))
    outcomes: dict[str, int] = {}
    recorded = [*run.trials, *run.without_result]
    for record in recorded:
        outcomes[record.outcome] = outcomes.get(record.outcome, 0) + 1
    outcomes |= {"not_run": planned - len(recorded)} if planned > len(recorded) else {}
    cells = sum(bool(result.completed) for result in run.results)
    ended = named_counts(dict(sorted(outcomes.items(), key=lambda item: item[0] != "completed")))
    has = "has" if cells == 1 else "have"
    return f"{cells} of {plural(len(run.results), 'cell')} {has} numbers; of {plural(planned, 'trial')}, {ended}."


def failed_cells(run: Gathered) -> list[dict[str, Any]]:
    """Cells with a trial that failed, by reason, so that one cause reads as one."""
    grouped: dict[str, list[str]] = {}
    for result in run.results:
        bad = {name: n for name, n in result.outcomes.items() if name not in ("completed", "not_applicable", "not_run")}
        if bad:
            cell = f"{result.label}: {result.n_of_n} completed, {named_counts(bad)}"
            several = f"{result.platform}, " if run.names_platforms else ""
            grouped.setdefault("; ".join(result.reasons) or "no reason was recorded", []).append(several + cell)
    return [{"reason": reason, "cells": cells} for reason, cells in grouped.items()]


def outages(run: Gathered) -> list[dict[str, str]]:
    """Who was away and was waited for, and before which trial: caches and weather may have changed meanwhile."""
    found = []
    for noted in run.outages:
        outage = Outage.from_json(noted)
        where = "" if noted["platform"] == "run" else f", platform {noted['platform']}"
        step = str(noted["step"]).replace("_", " ")
        found.append(
            {
                "who": outage.awaited,
                "since": moment(outage.since.isoformat(timespec="seconds")),
                "for": duration(outage.waited_s) + ("" if outage.is_over else ", in vain"),
                "during": (f"trial {noted['trial']}" if noted["trial"] else f"step {step}") + where,
                "said": outage.said,
            }
        )
    return found


def stopped_trials(run: Gathered) -> list[str]:
    """Sentences about trials that a person stopped while they were measured, and that were measured again later."""
    return [
        f"{record.trial.label} on {record.trial.platform} was stopped on {moment(stop['at'])}, while it was measured: "
        "its driver was ended, what it had measured is void, and the trial was measured again from its start."
        for record in run.trials
        for stop in record.evidence.get("stopped") or []
    ]


def not_run(run: Gathered) -> int:
    return sum(result.outcomes.get("not_run", 0) for result in run.results)


def shared_machines(run: Gathered) -> list[str]:
    """Sentences about hosts that are one machine, by boot id. What that means is among what is not known."""
    by_boot = _by_boot(run)
    shared = [hosts for hosts in by_boot.values() if len(hosts) > 1]
    if is_one_machine(run):
        return [
            f"All {len(shared[0])} hosts are one machine ({some_of(shared[0])} have the same boot id): clients, "
            "servers and everything else share its processors, memory and disk."
        ]
    return [
        f"{some_of(hosts)} are one machine (they have the same boot id) and share its resources." for hosts in shared
    ]


def is_one_machine(run: Gathered) -> bool:
    """Whether all its hosts are, of which there are several."""
    return [len(hosts) > 1 for hosts in _by_boot(run).values()] == [True]


def _by_boot(run: Gathered) -> dict[str, list[str]]:
    """Boot id -> hosts, each by itself where it is not known."""
    by_boot: dict[str, list[str]] = {}
    for platform, facts in run.facts.items():
        for host, found in (facts.get("hosts") or {}).items():
            several = f"{platform}/" if run.names_platforms else ""
            by_boot.setdefault(str(found.get("boot_id") or f"unknown {platform} {host}"), []).append(several + host)
    return by_boot


def logs_of_faults(run: Gathered) -> list[tuple[str, str]]:
    """(trial, last lines of the servers' logs) of trials during which an instance went down or was restarted."""
    found = ((record, (record.evidence.get("after") or {}).get("log")) for record in [*run.trials, *run.without_result])
    return [(f"{record.trial.platform}, {record.trial.label}", str(log)) for record, log in found if log]
