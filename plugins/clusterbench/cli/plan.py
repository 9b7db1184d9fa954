"""``clusterbench plan``: what a run would do, without touching a host."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from clusterbench.base.paths import project_root
from clusterbench.cli import rehearsal
from clusterbench.cli.common import OK, add_choices, chosen
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.placed import placed
from clusterbench.spec.placement_rules import check_practices, described
from clusterbench.trial.plan import estimate, make_plan, read_choices
from clusterbench.trial.rehearsal import scale_of

if TYPE_CHECKING:
    from clusterbench.trial.plan import Estimate, Plan


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    plan = commands.add_parser("plan", help="show trials, bytes, disk and time, without touching a host")
    add_choices(plan)
    plan.add_argument("--trials", action="store_true", help="list every trial in its order")
    plan.add_argument("--json", action="store_true", help="everything, as JSON")
    plan.set_defaults(command=_plan)


def _plan(options: argparse.Namespace) -> int:
    catalog = Catalog(project_root())
    experiment = catalog.experiment(options.experiment)
    plan = make_plan(experiment, read_choices(experiment, chosen(options)), catalog)
    estimates = estimate(plan, catalog)
    platforms = [catalog.platform(name) for name in plan.trials]
    rehearsed = rehearsal.of_plan(plan, experiment, catalog)
    if options.json:
        _print_json(plan, estimates, platforms, rehearsed)
        return OK
    _print_table(
        f"{experiment.title}, {scale_of(plan.choices.model_dump())} scale, seed {plan.choices.seed}", estimates
    )
    for line in rehearsal.lines(rehearsed) if rehearsed else []:
        print(line)
    _print_notes(platforms)
    for name, trials in plan.trials.items():
        for (sweep, why), count in plan.refused(name).items():
            planned = sum(trial.sweep == sweep for trial in trials)
            print(f"{name}: {sweep}: not applicable, {count} of {planned} trials: {why}")
    if options.trials:
        for name, trials in plan.trials.items():
            for number, trial in enumerate(trials, 1):
                why = f": not applicable: {trial.not_applicable}" if trial.not_applicable else ""
                print(f"{name} {number:4d} {trial.id:60} {trial.label}{why}")
    return OK


def _print_json(
    plan: Plan, estimates: Sequence[Estimate], platforms: Sequence[Platform], rehearsed: dict[str, Any] | None
) -> None:
    said = {
        **plan.as_json(),
        "estimates": [asdict(one) for one in estimates],
        "without_hosts": {platform.platform: platform.without_hosts for platform in platforms},
        "placements": {platform.platform: described(platform) for platform in platforms},
        "neighbours": {platform.platform: list(platform.neighbours) for platform in platforms},
        "rehearsal": rehearsed,
    }
    print(json.dumps(said, indent=1, sort_keys=True))


def _print_table(title: str, estimates: Sequence[Estimate]) -> None:
    table = Table(title=title)
    for column in ("platform", "trials", "not applicable", "data", "disk needed", "load files", "about"):
        table.add_column(column, justify="left" if column == "platform" else "right")
    for one in estimates:
        table.add_row(
            one.platform,
            str(one.trials),
            str(one.not_applicable),
            _bytes(one.dataset_bytes),
            _bytes(one.disk_needed_bytes),
            _bytes(one.files_bytes) if one.files_bytes else "none",
            _duration(one.estimate_s),
        )
    Console().print(table)


def _print_notes(platforms: Sequence[Platform]) -> None:
    for platform in platforms:
        if note := platform.without_hosts:
            print(f"{platform.platform}: {note}")
        if platform.neighbours:
            names = ", ".join(platform.neighbours)
            print(f"{platform.platform}: beside every trial its neighbours are under the same load: {names}")
    for platform in platforms:
        _print_placement(platform)


def _print_placement(platform: Platform) -> None:
    """Where its hosts are, and what the papers' best practices say of that."""
    if not (one := placed(platform)):
        return
    print(f"\n{platform.platform}: {one.say()}")
    for judged in check_practices(one):
        print(f"  {judged.level:<8}{judged.rule:<30}{judged.found} (paper {judged.source})")


def _bytes(count: int) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count:,} B"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
