"""The command line: ``clusterbench lint | plan | run | setup | cluster | lab`` and more; ``--help`` lists them all.

Each command is a module of this room, whose ``add_to`` makes its part of the parser.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from clusterbench.base.errors import ClusterbenchError
from clusterbench.cli import (
    about,
    cluster,
    compare,
    discover,
    doctor,
    history,
    init,
    lab,
    lint,
    list_runs,
    lite,
    machines,
    plan,
    plans,
    pools,
    profile,
    regressions,
    remark,
    report,
    results,
    resume,
    run,
    show,
    verify,
    workload,
)
from clusterbench.cli.common import FAILED

COMMANDS = (
    *(lint, plan, run, resume, list_runs, verify, results, report, show, compare, plans, profile, regressions, remark),
    *(init, workload, discover, doctor, cluster, machines, history, lite, pools, lab),
)
"""In the order of ``--help``."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; errors that a person can act on are printed without a traceback."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments[:1] == ["lab"]:
            return lab.run_lab(arguments[1:])
        options = parser().parse_args(arguments)
        return int(options.command(options))
    except ClusterbenchError as error:
        print(f"clusterbench: {error}", file=sys.stderr)
        return FAILED
    except BrokenPipeError:  # who read it has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        print("clusterbench: interrupted; a run that was started continues in Airflow", file=sys.stderr)
        return FAILED


def parser() -> argparse.ArgumentParser:
    """Of every command but ``lab``, whose arguments the lab parses itself."""
    found = argparse.ArgumentParser("clusterbench", description="Benchmarks of data clusters, declared and repeatable.")
    commands = found.add_subparsers(required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_to(commands)
    about.tell(found, about.COMMANDS)
    return found


if __name__ == "__main__":
    sys.exit(main())
