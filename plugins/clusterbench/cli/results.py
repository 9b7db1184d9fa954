"""``clusterbench results``: the results of a run, as a table or as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from rich.table import Table

from clusterbench.base.archive import RunArchive
from clusterbench.base.words import number, shortened
from clusterbench.cli.common import OK, SHOWN, add_run, archive_of, wide_console
from clusterbench.report.run.findings import findings_in
from clusterbench.results.durability import Durability, archived
from clusterbench.results.statistics import Result
from clusterbench.spec.catalog import project_catalog

CUT = "\u2026"
REASON_LENGTH = 60
"""Of a cell without numbers, in the table; below it stands all of it."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    results = commands.add_parser("results", help="print the results of a run as a table")
    add_run(results)
    results.add_argument("--json", action="store_true", help="everything, as JSON")
    results.set_defaults(command=_results)


def _results(options: argparse.Namespace) -> int:
    found, kept = _results_of(archive_of(options.run))
    if options.json:
        said = findings_in(archive_of(options.run), project_catalog()).as_json()
        everything = {
            "findings": said,
            "results": [result.as_json() for result in found],
            "durability": kept.as_json(),
        }
        print(json.dumps(everything, indent=1, sort_keys=True))
    else:
        _print_findings(archive_of(options.run))
        _print_table(found, kept)
    return OK


def print_results(archive: RunArchive) -> None:
    """As ``clusterbench results`` does. Raises ArchiveError where the run has none."""
    found, kept = _results_of(archive)
    _print_findings(archive)
    _print_table(found, kept)


def _print_findings(archive: RunArchive) -> None:
    """The first lines of the run's report."""
    lines = findings_in(archive, project_catalog()).lines
    if any(CUT in line for line in lines):
        lines.append(f"Whole reasons: in its report, or clusterbench results {archive.name} --json")
    for line in lines:
        wide_console().print(line, markup=False, highlight=False)


def _results_of(archive: RunArchive) -> tuple[list[Result], Durability]:
    found = archive.need_json("results.json")
    results = [Result.from_json(entry) for entry in found["results"]]
    platforms = dict.fromkeys(result.platform for result in results)
    facts = {name: archive.get_json(f"platforms/{name}/facts.json") or {} for name in platforms}
    kept = archived(found, facts)
    return kept.labelled(results), kept


def _print_table(results: Sequence[Result], kept: Durability) -> None:
    table = Table(title="Results: median, 95 % interval, best")
    for column in ("platform", "cell", "n", "measurement", "median", "95 % interval", "best", "unit"):
        table.add_column(column, justify="right" if column in ("median", "95 % interval", "best", "n") else "left")
    cut: dict[str, str] = {}
    for result in results:
        platform = kept.named(result.platform)
        shown = [name for name in SHOWN if name in result.measurements] or list(result.measurements)[:1]
        if not shown:
            reason = (result.reasons or ["not run"])[0]
            if len(reason) > REASON_LENGTH or "\n" in reason:
                cut.setdefault(reason, f"{platform}, {result.label}")
            table.add_row(platform, result.label, result.n_of_n, shortened(reason, REASON_LENGTH), "", "", "", "")
        for place, name in enumerate(shown):
            summary = result.measurements[name]
            low_high = summary.interval_95
            table.add_row(
                *((platform, result.label, result.n_of_n) if place == 0 else ("", "", "")),
                name,
                number(summary.median),
                f"{number(low_high[0])} to {number(low_high[1])}" if low_high else "fewer than 3",
                number(summary.best),
                summary.unit,
            )
    wide_console().print(table)
    for reason, where in cut.items():
        wide_console().print(f"{where}: {reason}", markup=False, highlight=False)
