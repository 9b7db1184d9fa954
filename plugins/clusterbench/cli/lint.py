"""``clusterbench lint``: every declaration is read, and every problem printed."""

from __future__ import annotations

import argparse
import sys

from clusterbench.base.paths import project_root
from clusterbench.cli.common import FAILED, OK
from clusterbench.spec.catalog import Catalog


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    lint = commands.add_parser("lint", help="check every experiment, platform and published file")
    lint.set_defaults(command=_lint)


def _lint(_options: argparse.Namespace) -> int:
    catalog = Catalog(project_root())
    problems = catalog.lint()
    for problem in problems:
        print(problem, file=sys.stderr)
    files = len(catalog.experiment_files) + len(catalog.platform_files) + len(catalog.published_files)
    print(f"{files} files, {len(problems) or 'no'} problem{'' if len(problems) == 1 else 's'}")
    return FAILED if problems else OK
