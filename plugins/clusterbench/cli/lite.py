"""``clusterbench lite``: the queries of the short TPC-DS test, chosen from a run of all."""

from __future__ import annotations

import argparse

from clusterbench.base.paths import project_root
from clusterbench.cli.common import OK, add_run, archive_of


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    lite = commands.add_parser(
        "lite", help="choose the 51 fastest TPC-DS queries from a run of all 99; needed only once"
    )
    add_run(lite)
    lite.add_argument("--platform", required=True, metavar="P", help="the reference platform")
    lite.set_defaults(command=_lite)


def _lite(options: argparse.Namespace) -> int:
    from clusterbench.workloads.tpcds import selection  # noqa: PLC0415

    archive, path = archive_of(options.run), project_root() / selection.FILE
    records = [record for record in archive.trials() if record.trial.makes_result]
    chosen = selection.select(f"{archive.experiment}/{archive.run_id}", options.platform, records)
    path.write_text(selection.as_yaml(chosen), encoding="utf-8")
    print(f"{path}: {', '.join(map(str, chosen.queries))}")
    return OK
