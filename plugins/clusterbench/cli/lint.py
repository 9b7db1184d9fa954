"""``clusterbench lint``: every declaration is read, and every problem printed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from clusterbench.cli.common import FAILED, OK
from clusterbench.spec.by_name import workload_folders
from clusterbench.spec.catalog import Catalog, is_offered, project_catalog
from clusterbench.spec.placed import memory_bytes
from clusterbench.spec.project import hiding
from clusterbench.trial.plan import make_plan, read_choices


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    lint = commands.add_parser("lint", help="check every experiment, platform, workload and published file")
    lint.set_defaults(command=_lint)


def _notes(catalog: Catalog) -> Iterator[str]:
    """How much of an experiment cannot be had at full scale on a platform, as its file alone tells. No mistakes.

    Nothing is said of templates, which nobody runs; ``plan`` says it of them.
    """
    for experiment in map(catalog.read_experiment, catalog.experiment_files):
        engines = catalog.engines_of(experiment)
        for platform in map(catalog.read_platform, catalog.platform_files):
            is_of_it = is_offered(platform.platform) and platform.engine in engines
            if platform.template or not is_of_it or not memory_bytes(platform):
                continue
            if platform.is_for(experiment.experiment):
                name = platform.platform
                plan = make_plan(experiment, read_choices(experiment, {"scale": "full", "platforms": [name]}), catalog)
                if refused := plan.refused(name):
                    yield (
                        f"note: {experiment.experiment} at full scale on {name}: {sum(refused.values())} of "
                        f"{len(plan.trials[name])} trials are not applicable; 'clusterbench plan' lists them: "
                        f"{next(why for _, why in refused)}"
                    )


def _lint(_options: argparse.Namespace) -> int:
    catalog = project_catalog()
    problems = catalog.lint()
    for problem in problems:
        print(problem, file=sys.stderr)
    for warning in catalog.warnings():
        print(f"warning: {warning}", file=sys.stderr)
    if not problems:
        for path in hiding():
            print(f"note: {path} replaces the built-in file of the same name")
        for note in _notes(catalog):
            print(note)
    files = len(catalog.experiment_files) + len(catalog.platform_files) + len(catalog.published_files)
    files += len(workload_folders())
    print(f"{files} files, {len(problems) or 'no'} problem{'' if len(problems) == 1 else 's'}")
    return FAILED if problems else OK
