"""Two runs compared, as the command line prints it: the facts first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from rich.console import Console
from rich.table import Table

from clusterbench.compare import Cell, Comparison, Pair
from clusterbench.report.facts_compared import Difference
from clusterbench.report.sweeps import ratio_text
from clusterbench.report.words import plural
from clusterbench.statistics import Summary


def show(found: Comparison, console: Console, shown: Collection[str]) -> None:
    """``shown``: the measurements of a cell to print, of those that it has; all of them are in the JSON."""
    console.print(f"A is {found.runs[0]}\nB is {found.runs[1]}", highlight=False, markup=False)
    _differences(found.run_differences, "The runs", console)
    for pair in found.pairs:
        name = pair.a if pair.a == pair.b else f"{pair.a} (A) and {pair.b} (B)"
        console.print(f"\n{name}", style="bold", highlight=False, markup=False)
        sides = _sides(pair)
        _facts(pair, console, sides)
        _differences(pair.declared, "Declared settings", console, sides)
        _cells(pair.cells, console, shown, sides)
    for run, names in zip("AB", found.alone, strict=True):
        if names:
            console.print(f"Only {run} has {', '.join(names)}.", highlight=False, markup=False)


def _sides(pair: Pair) -> tuple[str, str]:
    """Heads of the columns: whoever reads a number of a platform that is not durable reads that, too."""
    a, b = (f"{run} ({said})" if said else run for run, said in zip("AB", pair.durability, strict=True))
    return a, b


def _facts(pair: Pair, console: Console, sides: tuple[str, str]) -> None:
    if not all(pair.hosts):
        without = " and ".join(run for run, hosts in zip("AB", pair.hosts, strict=True) if not hosts)
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
        table.add_row("!" if one.decides else "", one.what, one.where, _plain(one.a), _plain(one.b))
    console.print(table, markup=False, highlight=False)


def _plain(text: str) -> str:
    return text.replace("[", "\\[")


def _cells(cells: Iterable[Cell], console: Console, shown: Collection[str], sides: tuple[str, str]) -> None:
    table = Table(title="Results: median, 95 % interval", title_justify="left")
    for column in ("cell", "measurement", *sides, "B / A (95 % bootstrap interval)"):
        table.add_column(column, justify="left" if column in ("cell", "measurement") else "right", overflow="fold")
    grouped: dict[str, list[Cell]] = {}
    for cell in cells:
        grouped.setdefault(cell.label, []).append(cell)
    for label, measured in grouped.items():
        rows = [cell for cell in measured if cell.measurement in shown] or measured[:1]
        for number, cell in enumerate(rows):
            table.add_row(
                _plain(label) if number == 0 else "",
                f"{cell.measurement}, {cell.unit}" if cell.measurement else "",
                _plain(_summary(cell.a, cell.said_a)),
                _plain(_summary(cell.b, cell.said_b)),
                ratio_text(cell.b, cell.a),
            )
    if grouped:
        console.print(table, highlight=False)
    else:
        console.print("Neither run has a result.")


def _summary(summary: Summary | None, said: str) -> str:
    if summary is None:
        return said[:80]
    low_high = summary.interval_95
    return f"{summary.median:.4g}" + (f" ({low_high[0]:.4g} – {low_high[1]:.4g})" if low_high else "")
