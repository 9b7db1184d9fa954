"""``clusterbench plans``: how the server would run each statement now, in minutes, without measuring anything."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from clusterbench.base.plans import normalised
from clusterbench.base.words import plural
from clusterbench.cli.cluster import by_whom, held
from clusterbench.cli.common import FAILED, OK, RUN_HELP, add_choices, archive_of, chosen, own_connections, wide_console
from clusterbench.report.compare_shown import escaped

if TYPE_CHECKING:
    from clusterbench.results.compare import OneRun
    from clusterbench.run.plans_now import PlansOfCell

SHOWN_MAX = 40
"""Lines of a platform; --json has all."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    plans = commands.add_parser(
        "plans", help="show the plan of every statement as the server makes it now; runs none of the statements"
    )
    add_choices(plans)
    beside = f"list the plans that differ from those of this run: {RUN_HELP}"
    plans.add_argument("--with", dest="beside", metavar="RUN", help=beside)
    plans.add_argument(
        "--statement",
        action="append",
        metavar="NAME",
        help="print the whole plan of this statement, such as 'query 64'; repeatable",
    )
    plans.add_argument("--json", action="store_true", help="everything, as JSON")
    plans.set_defaults(command=_plans)


def _plans(options: argparse.Namespace) -> int:
    """Exits with 1 where a plan is another one than in the run that is named, or none was found."""
    from clusterbench.results.gather import read_run  # noqa: PLC0415
    from clusterbench.run.plans_now import cells_of, plans_now  # noqa: PLC0415
    from clusterbench.run.run import BY_HAND, Run  # noqa: PLC0415
    from clusterbench.trial.plan import make_plan, read_choices  # noqa: PLC0415

    beside = read_run(archive_of(options.beside)) if options.beside else None
    run = Run(BY_HAND, by_whom(), own_connections())
    experiment = run.catalog.experiment(options.experiment)
    plan = make_plan(experiment, read_choices(experiment, chosen(options)), run.catalog)
    found: list[PlansOfCell] = []
    for platform, trials in plan.trials.items():
        with run.testbed(platform) as testbed, held(testbed, run.holder):
            found += plans_now(cells_of(trials), testbed)
    changed = any(beside and one.changes_from(beside) for one in found)
    if options.json:
        print(json.dumps({"plans": [one.as_json() for one in found]}, indent=2))
    else:
        _print(found, beside, options.statement or ())
    return FAILED if changed or not any(one.plans for one in found) else OK


def _print(found: Sequence[PlansOfCell], beside: OneRun | None, statements: Sequence[str]) -> None:
    console = wide_console()
    for one in found:
        for name in statements:
            if name in one.plans:
                _plain(console, f"\n{one.trial.platform}, {one.label}, {name}:\n{one.plans[name]}")
    _table_of_changes(found, beside, console) if beside else _table(found, console)
    for one in found:
        if one.why_none:
            _plain(console, f"{one.trial.platform}, {one.label}: {one.why_none}")


def _table(found: Sequence[PlansOfCell], console: Console) -> None:
    table = Table("platform", "cell", "statement", "its first node")
    lines = [(one, name, text) for one in found for name, text in one.plans.items()]
    for one, name, text in lines[:SHOWN_MAX]:
        first = next(iter(normalised(text)), "").strip()
        table.add_row(one.trial.platform, escaped(one.label), name, escaped(first))
    if lines:
        console.print(table, highlight=False)
    if len(lines) > SHOWN_MAX:
        _plain(console, f"And {plural(len(lines) - SHOWN_MAX, 'other plan')}: --statement prints one, --json all.")


def _table_of_changes(found: Sequence[PlansOfCell], beside: OneRun, console: Console) -> None:
    table = Table("platform", "cell", "statement", "in the run", "now")
    same = unknown = lines = 0
    for one in found:
        changes = one.changes_from(beside) if one.plans else []
        unknown += changes is None
        same += len(one.plans) - len(changes) if changes is not None else 0
        for change in changes or ():
            lines += 1
            if lines <= SHOWN_MAX:
                words = (escaped(text) for text in (one.label, change.statement, change.before, change.after))
                table.add_row(one.trial.platform, *words)
    if lines:
        console.print(table, highlight=False)
    if lines > SHOWN_MAX:
        _plain(console, f"And {plural(lines - SHOWN_MAX, 'other plan')} that differ.")
    _plain(
        console,
        f"Plans that differ from {beside.name}: {lines}; the same: {same}. Estimates and parameters do not count.",
    )
    if unknown:
        _plain(console, f"That run noted no plan for {plural(unknown, 'cell')}.")


def _plain(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False)
