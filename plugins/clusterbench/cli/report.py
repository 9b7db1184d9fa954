"""``clusterbench report``: the page of a run, or of a week, made again from the archive."""

from __future__ import annotations

import argparse
from pathlib import Path

from clusterbench.base.run_ids import WEEKLY
from clusterbench.cli.common import OK, add_run, archive_of, own_connections
from clusterbench.spec.catalog import project_catalog


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    report = commands.add_parser("report", help="compute a run's HTML report from the archive, and write it to a file")
    add_run(report)
    report.add_argument("--output", type=Path, default=Path("report.html"), metavar="FILE", help="the file to write")
    report.set_defaults(command=_report)


def _report(options: argparse.Namespace) -> int:
    from clusterbench.report.run.page import render_report  # noqa: PLC0415
    from clusterbench.report.week.page import render_week, week_of  # noqa: PLC0415

    archive, catalog = archive_of(options.run), project_catalog()
    if archive.experiment == WEEKLY:
        page = render_week(week_of(own_connections(), catalog, archive))
    else:
        page = render_report(archive, catalog)
    options.output.write_text(page, encoding="utf-8")
    print(f"written to {options.output}")
    return OK
