"""A run beside its paper, as the command line prints it: what was measured on what first."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from clusterbench.base.words import number, plural, ratio_words
from clusterbench.report.compare_shown import Shown, escaped
from clusterbench.results.compare_published import PublishedCell, PublishedComparison
from clusterbench.results.judgement import Ratio

WITHOUT_SHOWN = 8


def show_published(found: PublishedComparison, console: Console, shown: Shown) -> None:
    """Other hardware comes first; sources last."""
    print_plain(console, f"Run {found.run} beside “{found.title}”, {found.authors}")
    for platform, made_of in found.made_of.items():
        print_plain(console, f"ours, {platform}: {made_of}")
    print_plain(console, f"the paper's: {' '.join(found.cluster.split())}")
    print_plain(console, "A printed number has no repetitions: the interval of a ratio to it is that of ours alone.")
    if any(cell.is_of_other_platforms for cell in found.cells):
        print_plain(console, "Its platforms have other names than ours: which of them stands for which, you decide.")
    cells = [cell for cell in found.cells if not shown.asked or cell.measurement in shown.asked]
    if cells:
        _cells(cells, console)
    else:
        print_plain(console, "No cell of this run is one that the paper measured.")
    if found.without:
        said = "; ".join(found.without[:WITHOUT_SHOWN]) + ("; …" if found.without[WITHOUT_SHOWN:] else "")
        print_plain(console, f"Without a cell of ours: {plural(len(found.without), 'value')} of the paper: {said}")


def _cells(cells: list[PublishedCell], console: Console) -> None:
    table = Table(title="Ours beside the paper's: median, 95 % interval", title_justify="left")
    for column in ("cell", "platform", "measurement", "ours", "paper", "ours / paper", "verdict"):
        table.add_column(column, justify="right" if column in {"ours", "paper"} else "left", overflow="fold")
    sources = list(dict.fromkeys(cell.source for cell in cells))
    for cell in cells:
        table.add_row(
            escaped(cell.label),
            escaped(cell.platform),
            f"{cell.measurement}, {'ratio' if ' / ' in cell.platform else cell.unit}",
            _ours(cell.ours),
            escaped(f"{cell.paper} [{sources.index(cell.source) + 1}]"),
            ratio_words(cell.ratio),
            escaped(cell.judgement.says),
        )
    console.print(table, highlight=False)
    for note, source in enumerate(sources, 1):
        print_plain(console, f"[{note}] {source}")


def _ours(ours: Ratio | None) -> str:
    if ours is None:
        return ""
    return number(ours[0]) + (f" ({number(ours[1][0])} – {number(ours[1][1])})" if ours[1] else "")


def print_plain(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False)
