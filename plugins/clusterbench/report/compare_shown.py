"""Two runs compared, or a run beside its paper, as the command line prints it: what they ran on comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from clusterbench.base.words import number, plural, ratio_words
from clusterbench.results.compare import Comparison, Pair
from clusterbench.results.compare_cells import ComparedCell
from clusterbench.results.compare_published import PublishedCell, PublishedComparison
from clusterbench.results.facts_compared import Difference
from clusterbench.results.judgement import NOTHING_SHOWN, Ratio
from clusterbench.results.statistics import Summary

LINES_MAX = 60
"""Of a platform; of more, those that show no difference are counted and left out."""
PLANS_MAX = 20
"""Plans that differ, of a platform."""
WITHOUT_SHOWN = 8
"""Values of a paper without a cell of ours that are named; of more, the number is said."""

IN_TURNS = (
    "Measured in turns: a ratio is the median of those of trials that are neighbours in time, so a slow change is not "
    "in it. If the two have different repetitions of a cell, it is the ratio of the medians."
)
ONE_AFTER_THE_OTHER = "Measured one after the other: what changed in between is in the ratios, too."


@dataclass(frozen=True)
class Shown:
    """Which measurements of a cell are printed: those that were asked for, all, or the usual ones that it has."""

    usual: tuple[str, ...]
    asked: tuple[str, ...] = ()
    every: bool = False

    def of(self, measured: Sequence[ComparedCell]) -> list[ComparedCell]:
        if self.asked:
            return [cell for cell in measured if cell.measurement in self.asked]
        if self.every:
            return list(measured)
        return [cell for cell in measured if cell.measurement in self.usual] or list(measured[:1])


def show(found: Comparison, console: Console, shown: Shown) -> None:
    """All that is not printed is in the JSON. Results that are printed are looked at at once."""
    printed = {id(one) for pair in found.pairs for cells in _by_label(pair.cells).values() for one in shown.of(cells)}
    found = found.at_once(lambda cell: id(cell) in printed)
    a, b = found.runs
    of_runs = f"Run {a}" if found.is_of_one_run else f"A is {a}\nB is {b}"
    console.print(of_runs, highlight=False, markup=False)
    _differences(found.run_differences, "The runs", console)
    for pair in found.pairs:
        console.print(f"\n{_name(found, pair)}", style="bold", highlight=False, markup=False)
        if found.is_of_one_run:
            _print_plain(console, IN_TURNS if pair.in_turns else ONE_AFTER_THE_OTHER)
        sides = _sides(pair)
        _facts(pair, console, sides)
        _differences(pair.declared, "Declared settings", console, sides)
        _cells(pair, console, shown, sides)
        _plans(pair, console)
    if found.caution:
        console.print(f"\n{found.caution}", highlight=False)
    for run, names in zip("AB", found.alone, strict=True):
        if names:
            console.print(f"Only {run} has {', '.join(names)}.", highlight=False, markup=False)


def _name(found: Comparison, pair: Pair) -> str:
    if found.is_of_one_run:
        return f"{pair.b} beside {pair.a}"
    return pair.a if pair.a == pair.b else f"{pair.a} (A) and {pair.b} (B)"


def _sides(pair: Pair) -> tuple[str, str]:
    """Heads of the columns: whoever reads a number of a platform that is not durable reads that, too."""
    a, b = (f"{name} ({said})" if said else name for name, said in zip(pair.names, pair.durability, strict=True))
    return a, b


def _facts(pair: Pair, console: Console, sides: tuple[str, str]) -> None:
    if not all(pair.hosts):
        without = " and ".join(run for run, hosts in zip(pair.names, pair.hosts, strict=True) if not hosts)
        console.print(f"No facts of hosts were read in {without}: nobody knows whether the two can be compared.")
    if not pair.differences and all(pair.hosts):
        hosts = " and ".join(dict.fromkeys(plural(count, "host") for count in pair.hosts))
        console.print(f"The facts are the same: {plural(pair.facts, 'fact')} of {hosts}.", highlight=False)
    deciding = sum(one.decides for one in pair.differences)
    if deciding:
        console.print(
            f"{plural(deciding, 'fact')} below {'makes' if deciding == 1 else 'make'} the numbers hard to compare: "
            "a ratio holds what they do to it as well.",
            highlight=False,
        )
    _differences(pair.differences, "Facts", console, sides)


def _differences(found: Sequence[Difference], what: str, console: Console, sides: tuple[str, str] = ("A", "B")) -> None:
    if not found:
        return
    table = Table(title=f"{what}: {plural(len(found), 'difference')}", title_justify="left")
    for column in ("", "what", "where", *sides):
        table.add_column(column, overflow="fold")
    for one in found:
        table.add_row("!" if one.decides else "", one.what, one.where, escaped(one.a), escaped(one.b))
    console.print(table, markup=False, highlight=False)


def escaped(text: str) -> str:
    """A text that a table must not read as markup."""
    return text.replace("[", "\\[")


def _cells(pair: Pair, console: Console, shown: Shown, sides: tuple[str, str]) -> None:
    beside = f"; {pair.deciding}" if pair.deciding else ""
    table = Table(title=escaped(f"Results: median, 95 % interval{beside}"), title_justify="left")
    ratio = f"{pair.names[1]} / {pair.names[0]}, 95 % interval"
    for column in ("cell", "measurement", *sides, ratio, f"{pair.names[1]} is"):
        table.add_column(column, justify="right" if column in sides else "left", overflow="fold")
    lines = [cell for measured in _by_label(pair.cells).values() for cell in measured]
    is_long = len(lines) > LINES_MAX and not shown.every
    kept = [cell for cell in lines if not (is_long and cell.judgement.word == "no difference shown")]
    before = ""
    for cell in kept:
        table.add_row(
            escaped(cell.label) if cell.label != before else "",
            f"{cell.measurement}, {cell.unit}" if cell.measurement else "",
            escaped(_summary(cell.a, cell.said_a)),
            escaped(_summary(cell.b, cell.said_b)),
            ratio_words(cell.ratio),
            escaped(cell.judgement.says),
        )
        before = cell.label
    if kept:
        console.print(table, highlight=False)
    different = {cell.label for cell in kept if cell.judgement.word not in NOTHING_SHOWN}
    for label, said in pair.made_of.items():
        if label in different:
            _print_plain(console, f"{label}: {said}.")
    if len(kept) < len(lines):
        left_out = plural(len(lines) - len(kept), "line")
        console.print(
            f"Left out: {left_out} of {len(lines)} that show no difference; --all prints them.", highlight=False
        )
    if not lines:
        console.print("Neither has such a result.")


def _plans(pair: Pair, console: Console) -> None:
    for one in pair.plans[:PLANS_MAX]:
        _print_plain(console, f"{plural(len(one.labels), 'cell')}, the first of them {one.labels[0]}: {one.change}")
    if len(pair.plans) > PLANS_MAX:
        more = plural(len(pair.plans) - PLANS_MAX, "other plan")
        _print_plain(console, f"And {more}; --json has all of them, whole.")


def _by_label(cells: Iterable[ComparedCell]) -> dict[str, list[ComparedCell]]:
    grouped: dict[str, list[ComparedCell]] = {}
    for cell in cells:
        grouped.setdefault(cell.label, []).append(cell)
    return grouped


def _summary(summary: Summary | None, said: str) -> str:
    if summary is None:
        return said[:80]
    low_high = summary.interval_95
    return f"{summary.median:.4g}" + (f" ({low_high[0]:.4g} – {low_high[1]:.4g})" if low_high else "")


# A run beside its paper.


def show_published(found: PublishedComparison, console: Console, shown: Shown) -> None:
    """Other hardware comes first; sources last."""
    _print_plain(console, f"Run {found.run} beside “{found.title}”, {found.authors}")
    for platform, made_of in found.made_of.items():
        _print_plain(console, f"ours, {platform}: {made_of}")
    _print_plain(console, f"the paper's: {' '.join(found.cluster.split())}")
    _print_plain(console, "A printed number has no repetitions: the interval of a ratio to it is that of ours alone.")
    if any(cell.is_of_other_platforms for cell in found.cells):
        _print_plain(console, "Its platforms have other names than ours: which of them stands for which, you decide.")
    cells = [cell for cell in found.cells if not shown.asked or cell.measurement in shown.asked]
    if cells:
        _published_cells(cells, console)
    else:
        _print_plain(console, "No cell of this run is one that the paper measured.")
    if found.without:
        said = "; ".join(found.without[:WITHOUT_SHOWN]) + ("; …" if found.without[WITHOUT_SHOWN:] else "")
        _print_plain(console, f"Without a cell of ours: {plural(len(found.without), 'value')} of the paper: {said}")


def _published_cells(cells: list[PublishedCell], console: Console) -> None:
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
        _print_plain(console, f"[{note}] {source}")


def _ours(ours: Ratio | None) -> str:
    if ours is None:
        return ""
    return number(ours[0]) + (f" ({number(ours[1][0])} – {number(ours[1][1])})" if ours[1] else "")


def _print_plain(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False)
