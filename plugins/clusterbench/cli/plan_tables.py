"""What ``clusterbench plan`` prints: tables and sentences from estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from clusterbench.base.words import ABSENT, plural
from clusterbench.cli.common import wide_console
from clusterbench.results.plan_compared import PlanComparison
from clusterbench.spec import Platform
from clusterbench.spec.machine_layout import layout
from clusterbench.spec.placed import placed
from clusterbench.spec.placement_rules import check_practices
from clusterbench.trial.estimate import Estimate
from clusterbench.trial.needs import CellNeeds

COLUMNS = ("reads", "writes", "memory", "connec-\ntions", "open files", "ports", "largest\nobject", "a trial", "basis")
CELLS_NAMED = 3


def print_summary(title: str, estimates: Sequence[Estimate]) -> None:
    table = Table(title=title)
    for column in ("platform", "trials", "not applicable", "data", "disk needed", "load files", "about"):
        table.add_column(column, justify="left" if column == "platform" else "right")
    for one in estimates:
        table.add_row(
            one.platform,
            str(one.trials),
            str(one.not_applicable),
            bytes_said(one.dataset_bytes),
            bytes_said(one.disk_needed_bytes),
            bytes_said(one.files_bytes) if one.files_bytes else "none",
            duration_said(one.estimate_s),
        )
    Console().print(table)


def print_needs(one: Estimate, *, each: bool) -> None:
    """By sweep, from the least of its cells to the most; ``each``: every cell by itself."""
    title = f"{one.platform}: {'every cell' if each else 'the cells of each sweep'}"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("cell" if each else "sweep", no_wrap=not each, overflow="fold")
    for column in (*(() if each else ("cells",)), "trials", *COLUMNS[:-1], *(() if each else ("all trials",))):
        table.add_column(column, justify="right")
    table.add_column("basis")
    for sweep, group in groupby(one.cells, key=lambda cell: cell.sweep):
        cells = list(group)
        had = [cell for cell in cells if cell.not_applicable is None]
        if each:
            for cell in cells:
                table.add_row(cell.label, str(cell.trials), *_said_cell(cell))
        elif had:
            total = duration_said(sum(cell.total_s for cell in had))
            *said, basis = _said_cells(had)
            table.add_row(sweep, str(len(had)), str(sum(c.trials for c in had)), *said, total, basis)
        else:
            table.add_row(sweep, "0", "0", *[ABSENT] * (len(COLUMNS) - 1), ABSENT, "not applicable")
    wide_console().print(table, highlight=False)


def _said_cell(cell: CellNeeds) -> list[str]:
    if cell.not_applicable is not None:
        return [*[ABSENT] * (len(COLUMNS) - 1), "not applicable"]
    return _said_cells([cell])


def _said_cells(cells: Sequence[CellNeeds]) -> list[str]:
    refused = sum(bool(cell.refused) for cell in cells)
    kinds = Counter(cell.basis for cell in cells)
    basis = ", ".join(kinds) if len(kinds) == 1 else ", ".join(f"{kind} {count}" for kind, count in kinds.items())
    basis += f"; REFUSED: {refused} of {len(cells)}" if refused and len(cells) > 1 else "; REFUSED" if refused else ""
    return [
        _range((cell.read_bytes for cell in cells), _bytes_short),
        _range((cell.written_bytes for cell in cells), _bytes_short),
        _range((cell.memory_bytes for cell in cells), _bytes_short),
        *(
            _range((getattr(cell, name) for cell in cells), lambda count: f"{int(count):,}")
            for name in ("connections", "open_files", "ports")
        ),
        _range((cell.largest_object_bytes for cell in cells), _bytes_short),
        _range((cell.estimate_s for cell in cells), duration_said),
        basis,
    ]


def _range(values: Iterable[float | None], say: Callable[[float], str]) -> str:
    """From the least to the most; ``?`` where one depends on the speed."""
    listed = list(values)
    known = [value for value in listed if value is not None]
    if not known:
        return "?"
    low, high = say(min(known)), say(max(known))
    said = low if low == high else f"{_without_unit_of(high, low)} to {high}"
    return said if len(known) == len(listed) else f"{said}, ?"


def _without_unit_of(high: str, low: str) -> str:
    """ "5.9 TB" before "52.9 TB" is "5.9"."""
    number, _, unit = low.partition(" ")
    return number if unit and high.endswith(f" {unit}") else low


def print_basis(one: Estimate, why_none: str) -> None:
    """Where the hours come from, and disk by the role of a host."""
    times = {"generation": one.generation_s, "validation": one.validation_s, "trials": one.trials_s}
    said = ", ".join(f"{name} {duration_said(seconds)}" for name, seconds in times.items())
    print(f"\n{one.platform}: about {duration_said(one.estimate_s)}: {said}")
    kinds = [f"{duration_said(s)} {kind}" for kind, s in one.seconds_by_basis.items() if s]
    print(f"  time of the trials   {', '.join(kinds) or 'none'}; {_said_runs(one, why_none)}")
    for name, basis in (("generation", one.generation_basis), ("validation", one.validation_basis)):
        print(f"  {name:<19}  {basis}")
    for need in one.disks:
        hosts = f"{need.role} ({need.hosts} hosts, each)" if need.hosts > 1 else need.role
        has = f"; declared {bytes_said(need.declared_bytes)}" if need.declared_bytes else ""
        print(f"  disk of {hosts}: {bytes_said(need.bytes_each)}{has} ({need.of})")


def _said_runs(one: Estimate, why_none: str) -> str:
    return f"known from {', '.join(one.runs)}" if one.runs else f"all are guesses: {why_none}"


def print_refused(one: Estimate) -> None:
    """What cannot be, once each, with the cells; then what may go wrong."""
    for why, cells in one.refused:
        print(f"\n{one.platform}: REFUSED{_said_of(cells)}: {why}")
    minds: dict[str, list[CellNeeds]] = {}
    for cell in one.cells:
        for why in cell.mind:
            minds.setdefault(why, []).append(cell)
    for why, cells in minds.items():
        print(f"\n{one.platform}: mind{_said_of(cells)}: {why}")


def _said_of(cells: Sequence[CellNeeds]) -> str:
    if not cells:
        return ""
    named = "; ".join(cell.label for cell in cells[:CELLS_NAMED])
    more = f"; and {plural(len(cells) - CELLS_NAMED, 'other cell')}" if len(cells) > CELLS_NAMED else ""
    return f" ({named}{more})"


def print_notes(platforms: Sequence[Platform]) -> None:
    for platform in platforms:
        if note := platform.without_hosts:
            print(f"{platform.platform}: {note}")
        if platform.neighbours:
            names = ", ".join(platform.neighbours)
            print(f"{platform.platform}: beside every trial its neighbours are under the same load: {names}")
    for platform in platforms:
        _print_placement(platform)


def _print_placement(platform: Platform) -> None:
    """Where its hosts are, and what the papers' best practices say of that."""
    if not (one := placed(platform)):
        return
    print(f"\n{platform.platform}: {one.say()}")
    if platform.machines:
        made, budget = layout(platform), platform.machines.budget
        hosts = len({each.on for each in made})
        print(
            f"  {plural(len(made), 'machine')} on {plural(hosts, 'host')} of {platform.machines.connection} "
            f"({platform.machines.provider}), made and switched by the run; budget: {budget.machines} machines, "
            f"{budget.hours:g} hours"
        )
    for judged in check_practices(one):
        print(f"  {judged.level:<8}{judged.rule:<30}{judged.found} (paper {judged.source})")


def print_budgets(platforms: Sequence[Platform], estimates: Sequence[Estimate]) -> None:
    """Of machines that a run makes: where it is likely to be too small."""
    needed_h = {one.platform: one.estimate_s / 3600 for one in estimates}
    for platform in platforms:
        if platform.machines and (hours := needed_h[platform.platform]) > platform.machines.budget.hours:
            print(
                f"{platform.platform}: about {hours:.0f} hours, and the budget of its machines is "
                f"{platform.machines.budget.hours:g}: trials that would begin later are not measured; raise "
                "machines.budget.hours, or choose less"
            )


def print_comparison(found: PlanComparison, *, each: bool) -> None:
    """How far off the plan was; the ratio is of what was measured to what was estimated."""
    table = Table(title=f"{found.run}: estimated beside measured")
    for column in ("platform", "cell" if each else "sweep"):
        table.add_column(column, overflow="fold")
    for column in (*(() if each else ("cells",)), "trials", "estimated", "measured", "ratio"):
        table.add_column(column, justify="right")
    if not each:
        table.add_column("ratio of a cell", justify="right")
    table.add_column("basis")
    for row in found.rows:
        if each or not row.sweep:
            said = [duration_said(row.estimated_s), duration_said(row.measured_s), f"{row.ratio:.2f}"]
            count = [] if each else [ABSENT]
            table.add_row(row.platform, row.label, *count, str(row.trials), *said, *count, row.basis)
    for sweep in () if each else found.sweeps():
        low, middle, high = sweep.ratios
        table.add_row(
            sweep.platform,
            sweep.sweep,
            str(sweep.cells),
            str(sweep.trials),
            duration_said(sweep.estimated_s),
            duration_said(sweep.measured_s),
            f"{sweep.ratio:.2f}",
            f"{low:.2f} to {high:.2f}, median {middle:.2f}",
            ", ".join(f"{kind} {count}" for kind, count in sweep.basis.items()),
        )
    wide_console().print(table, highlight=False)
    for platform, runs in found.known_runs.items():
        print(f"{platform}: the estimate knew {', '.join(runs) or 'no older run of this experiment there'}")
    if found.without:
        print(f"without a completed trial: {'; '.join(found.without)}")


def bytes_said(count: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{int(count):,} B"


def _bytes_short(count: float) -> str:
    """Below a megabyte in kB: nobody compares the bytes."""
    return f"{count / 1e3:,.0f} kB" if 1e3 <= count < 1e6 else bytes_said(count)


def duration_said(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
