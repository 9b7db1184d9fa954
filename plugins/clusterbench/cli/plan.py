"""``clusterbench plan``: what a run would do, and what of it cannot be, without touching a host."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from clusterbench.base.errors import ArchiveError, ClusterbenchError
from clusterbench.cli import plan_tables, rehearsal
from clusterbench.cli.common import FAILED, OK, RUN_HELP, add_choices, archive_of, chosen, store
from clusterbench.results.measured import read_measured
from clusterbench.results.plan_compared import compare_plan
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog, project_catalog
from clusterbench.spec.placement_rules import described
from clusterbench.trial.estimate import estimate
from clusterbench.trial.measured import Measured
from clusterbench.trial.plan import make_plan, read_choices
from clusterbench.trial.rehearsal import scale_of

if TYPE_CHECKING:
    from clusterbench.trial.estimate import Estimate
    from clusterbench.trial.plan import Plan


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    plan = commands.add_parser(
        "plan", help="show the trials, bytes, disk and time of a run, without connecting to a host"
    )
    add_choices(plan)
    plan.add_argument("--cells", action="store_true", help="list every cell, not only every sweep")
    plan.add_argument("--trials", action="store_true", help="list every trial in its order")
    plan.add_argument("--json", action="store_true", help="everything, as JSON")
    plan.add_argument(
        "--guess", action="store_true", help="do not read the archive: estimate times as if nothing had been run yet"
    )
    plan.add_argument(
        "--compare-with",
        metavar="RUN",
        help=f"compare this run with its plan, made with the run's own choices: {RUN_HELP}",
    )
    plan.set_defaults(command=_plan)


def _plan(options: argparse.Namespace) -> int:
    """Exits with 1 where something is refused."""
    catalog = project_catalog()
    experiment = catalog.experiment(options.experiment)
    if options.compare_with:
        return _compare(options, catalog)
    plan = make_plan(experiment, read_choices(experiment, chosen(options)), catalog)
    measured = {name: _measured(experiment.experiment, name, guess=options.guess) for name in plan.trials}
    estimates = estimate(plan, catalog, measured)
    platforms = [catalog.platform(name) for name in plan.trials]
    rehearsed = rehearsal.of_plan(plan, experiment, catalog)
    status = FAILED if any(one.refused for one in estimates) else OK
    if options.json:
        _print_json(plan, estimates, platforms, rehearsed)
        return status
    title = f"{experiment.title}, {scale_of(plan.choices.model_dump())} scale, seed {plan.choices.seed}"
    plan_tables.print_summary(title, estimates)
    for line in rehearsal.lines(rehearsed) if rehearsed else []:
        print(line)
    for one in estimates:
        plan_tables.print_needs(one, each=options.cells)
        plan_tables.print_basis(one, measured[one.platform].why_none)
        plan_tables.print_refused(one)
    plan_tables.print_notes(platforms)
    plan_tables.print_budgets(platforms, estimates)
    _print_in_turns(plan)
    _print_until(plan)
    _print_not_applicable(plan)
    if options.trials:
        _print_trials(plan)
    return status


def _print_in_turns(plan: Plan) -> None:
    if len(plan.in_turns) > 1:
        print(
            f"{', '.join(plan.in_turns)}: in turns: taken and set up in this order, then measured one trial at a time "
            f"on all of them, and released when the last of {len(plan.turns)} trials has ended"
        )


def _print_until(plan: Plan) -> None:
    """Trials and times of the tables are those of all repetitions."""
    for name, trials in plan.trials.items():
        untils = {trial.sweep: trial.until for trial in trials if trial.until}
        for sweep, until in untils.items():
            print(
                f"{name}: {sweep}: {until.at_least} to {until.at_most} repetitions, until {until.measurement} is known "
                f"to {until.until_percent:g} %; counts and times above are those of all {until.at_most}"
            )


def _print_not_applicable(plan: Plan) -> None:
    for name, trials in plan.trials.items():
        for (sweep, why), count in plan.refused(name).items():
            planned = sum(trial.sweep == sweep for trial in trials)
            print(f"{name}: {sweep}: not applicable, {count} of {planned} trials: {why}")


def _measured(experiment: str, platform: str, *, guess: bool) -> Measured:
    """Nothing where no archive is known, or it does not answer; then it says why."""
    if guess:
        return Measured(why_none="the archive was not asked (--guess)")
    try:
        return read_measured(store(), experiment, platform)
    except ClusterbenchError as error:
        return Measured(why_none=f"no archive could be read: {str(error).splitlines()[0]}")


def _compare(options: argparse.Namespace, catalog: Catalog) -> int:
    if given := sorted(chosen(options)):
        raise ArchiveError(f"plan: --compare-with takes the choices of the run itself; leave out {', '.join(given)}")
    archive = archive_of(options.compare_with)
    if archive.experiment != options.experiment:
        raise ArchiveError(
            f"plan: run {archive.name} is of experiment {archive.experiment!r}, not of {options.experiment!r}"
        )
    found = compare_plan(archive, catalog)
    if options.json:
        print(json.dumps(found.as_json(), indent=1, sort_keys=True))
    else:
        plan_tables.print_comparison(found, each=options.cells)
    return OK


def _print_json(
    plan: Plan, estimates: Sequence[Estimate], platforms: Sequence[Platform], rehearsed: dict[str, Any] | None
) -> None:
    said = {
        **plan.as_json(),
        "estimates": [_as_json(one) for one in estimates],
        "without_hosts": {platform.platform: platform.without_hosts for platform in platforms},
        "placements": {platform.platform: described(platform) for platform in platforms},
        "neighbours": {platform.platform: list(platform.neighbours) for platform in platforms},
        "rehearsal": rehearsed,
    }
    print(json.dumps(said, indent=1, sort_keys=True))


def _as_json(one: Estimate) -> Mapping[str, Any]:
    refused = [{"why": why, "cells": [cell.cell for cell in cells]} for why, cells in one.refused]
    return {**asdict(one), "refused": refused}


def _print_trials(plan: Plan) -> None:
    """In their order: those of platforms in turns, which come first, are counted together."""
    in_turns = [plan.trial(*turn) for turn in plan.turns]
    alone = [plan.trials[name] for name in plan.order if name not in plan.in_turns]
    for trials in (in_turns, *alone):
        for number, trial in enumerate(trials, 1):
            why = f": not applicable: {trial.not_applicable}" if trial.not_applicable else ""
            print(f"{trial.platform} {number:4d} {trial.id:60} {trial.label}{why}")
