"""What several commands share: exit statuses, arguments that mean the same everywhere, and where a run is found."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
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
PLATFORM_HELP = "name of a platform: a file in include/platforms, without .yaml"
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


def add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help=RUN_HELP)


def add_choices(parser: argparse.ArgumentParser) -> None:
    """An experiment and what the form of its DAG asks."""
    parser.add_argument(
        "experiment", metavar="EXPERIMENT", help="name of an experiment: a file in dags/experiments, without .yaml"
    )
    parser.add_argument("--scale", choices=SCALES, help="the size; the experiment's own default unless given")
    parser.add_argument(
        "--platform",
        action="append",
        metavar="NAME",
        help="measure this platform; repeat for several. Default: the experiment's platforms",
    )
    parser.add_argument(
        "--sweep", action="append", metavar="NAME", help="run only this sweep; repeat for several. Default: all"
    )
    parser.add_argument(
        "--cell",
        action="append",
        metavar="CELL",
        help="measure only this cell, named as in a mail or in results.json, such as 'concurrency: 10 clients, warm'; "
        "repeat for several",
    )
    parser.add_argument(
        "--concurrency",
        action="append",
        type=int,
        metavar="N",
        help="only this level, in sweeps that vary concurrency; repeat for several",
    )
    parser.add_argument(
        "--in-turns",
        action="append",
        metavar="SETTING=A,B",
        help="measure every cell with each of these values of a server's setting, such as work_mem=4MB,64MB; "
        "repeat for several settings",
    )
    parser.add_argument(
        "--set",
        action="append",
        dest="levels",
        metavar="FACTOR=LEVEL",
        help="fix a factor at one level in every sweep that has it, such as statements=q01; repeat for several",
    )
    parser.add_argument(
        "--generate-only", action="store_true", default=None, help="generate and check the data; measure nothing"
    )
    parser.add_argument(
        "--repetitions", type=int, metavar="N", help="how often each cell is measured; fewer than 3 give no interval"
    )
    parser.add_argument(
        "--rehearse",
        type=int,
        metavar="N",
        help="run the full scale with every size divided by N, and with shorter trials",
    )
    profile = "measure each cell once more while perf samples the processors; the report then has flame graphs"
    parser.add_argument("--profile", action="store_true", default=None, help=profile)
    parser.add_argument(
        "--seed", type=int, metavar="N", help="fixes data, keys and the order of trials. Another seed means other data"
    )
    add_words(parser)


def add_words(parser: argparse.ArgumentParser) -> None:
    """What a person writes about the run that they start."""
    parser.add_argument(
        "--note", metavar="TEXT", help="why this run is made; it is shown with the run in reports, lists and pages"
    )
    parser.add_argument(
        "--tag", action="append", metavar="TAG", help="a word to find the run by, such as before_upgrade; repeatable"
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
