"""``clusterbench lab`` and ``bench``: commands of the package beside this one, which is found when it is asked for."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any

from clusterbench.base.errors import ClusterbenchError
from clusterbench.base.paths import lab_dir
from clusterbench.cli.common import OK
from clusterbench.cli.pools import make_pools


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    bench = commands.add_parser(
        "bench", help="compare the pipeline with its driver alone: how much the pipeline adds, as ratios"
    )
    bench.add_argument("--only", nargs="+", default=[], metavar="PART", help="some of its parts: throughput, own_time")
    bench.set_defaults(command=_bench)
    commands.add_parser(
        "lab", help="up | status | down: small real servers on this machine, to try things out", add_help=False
    )


def _bench(options: argparse.Namespace) -> int:
    return int(_of_lab("clusterbench_lab.bench.all").main(lab_dir(), options.only))


def run_lab(arguments: Sequence[str]) -> int:
    """What stands behind ``clusterbench lab`` on the command line: the lab parses that itself."""
    status = int(_of_lab("clusterbench_lab.command").main(arguments))
    if status == OK and arguments[:1] == ["up"] and "--no-airflow" not in arguments:
        return make_pools()
    return status


def _of_lab(module: str) -> Any:
    """The lab is a package beside this one, which an installation that measures real clusters need not have."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != "clusterbench_lab":
            raise
        raise ClusterbenchError(
            "the package clusterbench_lab is not installed here; only a clone of the project has the lab"
        ) from None
