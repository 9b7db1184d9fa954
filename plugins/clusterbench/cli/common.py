"""What several commands share: exit statuses, arguments that mean the same everywhere, and where a run is found."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from textwrap import fill
from typing import Any

from rich.console import Console

from clusterbench.base.archive import CONNECTION_ID, RunArchive, Store, find_run
from clusterbench.base.connections import Connections, local_connections
from clusterbench.base.errors import SpecError
from clusterbench.base.factors import SERVER
from clusterbench.base.paths import lab_dir
from clusterbench.spec import SCALES
from clusterbench.spec.project import connection_id

OK, FAILED = 0, 1
RUN_HELP = "EXPERIMENT/RUN_ID, or the run id alone"
PLATFORM_HELP = "its name, as in include/platforms/PLATFORM.yaml"
TABLE_WIDTH = 150
"""Columns that a table of results needs; a narrower window, or a file, gets as many."""
SHOWN = (
    *("throughput_per_s", "latency_ms_p50", "latency_ms_p99", "response_time_s", "throughput_mb_per_s"),
    *("teragen_s", "terasort_s", "teravalidate_s", "map_shuffle_s", "reduce_merge_s", "throughput_gb_per_s"),
    *("write_mib_per_s", "read_mib_per_s"),
)
"""Measurements that the command line prints, of those that a cell has."""


def own_connections() -> Connections:
    """Those of the command line, by the names that they have in every project."""
    known = local_connections(lab_dir())
    return lambda name: known(connection_id(name))


def store() -> Store:
    """The archive that the connections of the command line lead to."""
    return Store.of(own_connections()(CONNECTION_ID))


def archive_of(run: str) -> RunArchive:
    """Of a run by ``RUN_HELP``. Raises ArchiveError where there is none."""
    return find_run(store(), run)


def wide_console() -> Console:
    return Console(width=max(TABLE_WIDTH, Console().width))


def words(about: str, *examples: str, failed: str = "") -> dict[str, Any]:
    """What ``--help`` of a command says beside its options, and so its section in docs/commands.md.

    ``failed``: when it exits with 1, beside an error that it prints.
    """
    one = f"{failed}; or an error, which is printed" if failed else "an error, which is printed"
    exits = f"exit status:\n  0  done\n  1  {one}\n  2  a call that cannot be understood"
    epilog = "\n".join(["examples:", *(f"  {call}" for call in examples), "", exits])
    return {"description": fill(about, 100), "epilog": epilog, "formatter_class": argparse.RawDescriptionHelpFormatter}


def add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)


def add_choices(parser: argparse.ArgumentParser) -> None:
    """An experiment and what the form of its DAG asks."""
    parser.add_argument("experiment", metavar="EXPERIMENT", help="its name, as in dags/experiments/EXPERIMENT.yaml")
    parser.add_argument("--scale", choices=SCALES, help="the size; the experiment's default_scale unless given")
    parser.add_argument(
        "--platform",
        action="append",
        metavar="NAME",
        help="measure this platform instead of those of the experiment's file; may be given several times",
    )
    parser.add_argument("--sweep", action="append", metavar="NAME", help="only this sweep; may be given several times")
    parser.add_argument(
        "--cell",
        action="append",
        metavar="CELL",
        help="only this cell, by the name that reports and results.json give it; may be given several times",
    )
    parser.add_argument(
        "--concurrency",
        action="append",
        type=int,
        metavar="N",
        help="only this number of clients or streams; may be given several times",
    )
    parser.add_argument(
        "--in-turns",
        action="append",
        metavar="SETTING=A,B",
        help="a setting of the servers, whose values are measured in turns in every cell; may be given several times",
    )
    parser.add_argument(
        "--set",
        action="append",
        dest="levels",
        metavar="FACTOR=LEVEL",
        help="hold a factor at this level wherever a sweep has it, such as statements=q01; may be given several times",
    )
    parser.add_argument("--generate-only", action="store_true", default=None, help="make and check the data, no more")
    parser.add_argument("--repetitions", type=int, metavar="N", help="measure each cell N times")
    parser.add_argument(
        "--rehearse",
        type=int,
        metavar="N",
        help="full scale with every size divided by N, shorter trials, and all else untouched",
    )
    profile = "measure each cell once more while perf samples its hosts' processors: flame graphs in the report"
    parser.add_argument("--profile", action="store_true", default=None, help=profile)
    parser.add_argument(
        "--seed", type=int, metavar="N", help="fixes data, keys and the order of trials; the file's unless given"
    )
    add_words(parser)


def add_words(parser: argparse.ArgumentParser) -> None:
    """What a person says of the run that they start."""
    parser.add_argument("--note", metavar="TEXT", help="why this run is made; reports, lists and pages show it")
    parser.add_argument(
        "--tag", action="append", metavar="TAG", help="a word to find the run by; may be given several times"
    )


def _in_turns(said: Sequence[str] | None) -> dict[str, list[str]] | None:
    """``shared_buffers=1GB,8GB`` as the factor of the servers that it is."""
    found: dict[str, list[str]] = {}
    for one in said or ():
        setting, equals, values = one.partition("=")
        if not equals or "," not in values:
            raise SpecError([f"--in-turns {one}: must be SETTING=VALUE,VALUE, such as shared_buffers=1GB,8GB"])
        found[f"{SERVER}{setting}"] = values.split(",")
    return found or None


def chosen(options: argparse.Namespace) -> dict[str, Any]:
    """What ``add_choices`` was given, by the names of the form; what was not given is not in it."""
    given = {
        "scale": options.scale,
        "platforms": options.platform,
        "sweeps": options.sweep,
        "cells": options.cell,
        "concurrency": options.concurrency,
        "in_turns": _in_turns(options.in_turns),
        "levels": options.levels,
        "generate_only": options.generate_only,
        "repetitions": options.repetitions,
        "profile": options.profile,
        "rehearse": options.rehearse,
        "seed": options.seed,
        "note": options.note,
        "tags": options.tag,
    }
    return {name: value for name, value in given.items() if value is not None}
