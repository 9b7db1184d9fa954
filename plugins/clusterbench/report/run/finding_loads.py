"""Rising load as sentences: where the throughput stops to rise, and where a platform breaks down. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from clusterbench.base.factors import Level
from clusterbench.base.records import FINDINGS
from clusterbench.report.run.finding_cells import Cells, factor_in
from clusterbench.report.run.finding_words import amount, level_where, platform_words, subject
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.judgement import compare_two
from clusterbench.results.statistics import REPETITIONS_MIN, Result
from clusterbench.spec import SweepFinding

LEVELS_MIN = 3
"""Of fewer levels nobody can tell where a throughput stops to rise."""


def peak(cells: Cells) -> str:
    """ "…rises up to 16 clients, where it is 900 a second"; empty where that is not what the sweep is about."""
    view, kind = cells.view, cells.view.kind(cells.measurement)
    factor = factor_in(view, cells.factor)
    if not (factor and factor.is_concurrency and kind.better == "higher" and kind.unit.endswith("/s")):
        return ""
    course = _course(cells)
    if len(course) < LEVELS_MIN:
        return ""
    top = _where_it_stops(cells, course)
    named = subject(view, cells.asked, cells.measurement)
    begun = f"{named[:1].upper()}{named[1:]}" if not cells.asked.subject else f"The throughput of {cells.asked.subject}"
    words = say(view, cells.asked, cells.factor, top)
    value = amount(top.measurements[cells.measurement])
    if top is course[-1]:
        return f"{begun} still rises at the highest load that was measured, {words}, where it is {value}."
    few = "in this run " if len(top.measurements[cells.measurement].values) < REPETITIONS_MIN else ""
    return f"{begun} {few}rises up to {words}, where it is {value}. A higher load is not shown to raise it further."


def _course(cells: Cells) -> list[Result]:
    """The cells that differ from the base in the load alone, in rising load."""
    rest = {name: level for name, level in cells.base.levels.items() if name != cells.factor}
    found = [
        result
        for result in cells.view.results
        if result.platform == cells.base.platform
        and {name: level for name, level in result.levels.items() if name != cells.factor} == rest
        and cells.measurement in result.measurements
    ]
    return sorted(found, key=lambda result: float(result.levels[cells.factor]))


def _where_it_stops(cells: Cells, course: Sequence[Result]) -> Result:
    """The lowest load than which no higher one is shown to be faster; the best one where there are no intervals."""
    better = cells.view.kind(cells.measurement).better
    summaries = [result.measurements[cells.measurement] for result in course]
    if any(len(summary.values) < REPETITIONS_MIN for summary in summaries):
        return max(zip(course, summaries, strict=True), key=lambda pair: pair[1].median)[0]
    for place, summary in enumerate(summaries):
        words = [compare_two(higher, summary, better)[1].word for higher in summaries[place + 1 :]]
        if "faster" not in words:
            return course[place]
    return course[-1]


def say(view: SweepView, asked: SweepFinding, factor: str, result: Result) -> str:
    return level_where(view, asked, factor, result.levels[factor]).removeprefix("with ")


# Where it breaks down.


def breakdowns(view: SweepView, asked: SweepFinding) -> list[str]:
    """For each platform the lowest load that did not complete, in sweeps of rising load in one go."""
    is_ramp = view.sweep is not None and view.sweep.order == "ramp"
    if not is_ramp and not any(result.was_given_up for result in view.results):
        return []
    loads = [name for name in view.levels if (factor := factor_in(view, name)) and factor.is_concurrency]
    if not loads:
        return []
    found = (_breakdown(view, asked, loads[0], platform) for platform in view.platforms)
    return [text for text in found if text]


def _breakdown(view: SweepView, asked: SweepFinding, load: str, platform: str) -> str:
    cells = sorted(
        (result for result in view.results if result.platform == platform and load in result.levels),
        key=lambda result: float(result.levels[load]),
    )
    broken = next((result for result in cells if _is_broken(result)), None)
    if broken is None:
        return ""
    place = cells.index(broken)
    where = f" on {platform_words(view, platform)}" if view.names_platforms else ""
    named = asked.subject or f"the sweep {view.name.replace('_', ' ')}"
    said = f"With {say(view, asked, load, broken)}, {named} did not complete{where}: {_counted(broken)}."
    done = [result for result in cells[:place] if result.completed]
    said += f" With {say(view, asked, load, done[-1])} it did." if done else ""
    paper = _paper(view, load, platform)
    return f"{said} {paper}" if paper else said


def _is_broken(result: Result) -> bool:
    return result.was_given_up or any(name in result.outcomes for name in FINDINGS)


def _counted(result: Result) -> str:
    return f"{result.completed} of {result.planned} repetitions completed"


def _paper(view: SweepView, load: str, platform: str) -> str:
    """At the same density."""
    table = view.run.published.scenarios if view.run.published else None
    density = view.run.densities.get(platform, "")
    if table is None or load != table.factor or view.name not in table.sweeps or density not in table.scenarios:
        return ""
    levels: list[Level] = sorted(table.sweeps[view.name], key=float)
    short = [
        level
        for level in levels
        if (cell := table.cell(view.name, int(level), density))
        and cell.completed is not None
        and cell.completed < table.repetitions
    ]
    if not short:
        return "In the paper it completed at every load with this density."
    said = factor.say(short[0]) if (factor := factor_in(view, load)) else str(short[0])
    return f"In the paper, with this density, it no longer completed from {said} on."
