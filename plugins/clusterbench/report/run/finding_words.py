"""A comparison as a sentence for people who read only the first lines of a report. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from clusterbench.base.factors import Level
from clusterbench.base.measurements import MeasurementKind
from clusterbench.base.words import listed, number, plural, quantity, some_of
from clusterbench.report.run.finding_cells import Cells, factor_in
from clusterbench.report.run.finding_papers import PaperRatio, papers_difference, papers_ratio
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.durability import say_level
from clusterbench.results.judgement import TIMES, Ratio, compare_two
from clusterbench.results.refused import refusal
from clusterbench.results.statistics import Result, Summary
from clusterbench.results.utilisation import TARGET, is_at_utilisation
from clusterbench.spec import SweepFinding
from clusterbench.spec.experiment import PLATFORM

IN_THIS_RUN = "in this run (too few repetitions for an interval)"


def sentence(cells: Cells, doubted: Mapping[str, int] = MappingProxyType({})) -> str:
    """``doubted``: cells (``key``) whose difference is none among so many comparisons as are told."""
    first, *more = cells.others or (cells.base,)
    said = f"{_conditions(cells, first)}{_value(cells, first)}"
    said = said[:1].upper() + said[1:]
    if not cells.others:
        return f"{said}."
    if cells.asked.show == "difference" and cells.factor == cells.asked.compare:
        return f"{said}. {_difference(cells, first, doubted)}"
    said += f"{_beside(cells, first, doubted)}."
    said += f" {paper}" if (paper := _paper(cells, first)) else ""
    rest = [_also(cells, other, doubted) for other in more]
    return " ".join([said, *rest])


def other_statements(cells: Cells) -> str:
    """Where nobody declared which statement is told: those that are not, of the same cell and kind of number."""
    view = cells.view
    ours = view.kind(cells.measurement)
    if cells.asked.measurement or not ours.statement:
        return ""
    result = (cells.others or (cells.base,))[0]
    kinds = {name: view.kind(name) for name in result.measurements if name != cells.measurement}
    alike = [
        f"{kind.statement} {quantity(result.measurements[name].median, kind.unit)}"
        for name, kind in kinds.items()
        if kind.statement and kind.unit == ours.unit and kind.statement != ours.statement
    ]
    return f"The other statements there: {some_of(alike)}." if alike else ""


def key(result: Result) -> str:
    return f"{result.platform} {result.cell}"


# What was measured, and where.


def _conditions(cells: Cells, result: Result) -> str:
    """ "With 200 clients and 1M rows, ": what else is varied, the load, and how much data there is."""
    view = cells.view
    if is_at_utilisation(result):
        shown = [name for name in view.varied if name not in {cells.factor, TARGET}]
        words = [f"{float(result.levels[TARGET]):g} % of the CPUs busy"]
        said = listed([*words, *_level_words(view, result, shown)])
    else:
        said = listed(_level_words(view, result, _shown(cells)))
    several = cells.factor != PLATFORM and len(view.platforms) > 1
    place = f"on {platform_words(view, result.platform)}" if several else ""
    together = " ".join(filter(None, [f"with {said}" if said else "", place]))
    return f"{together}, " if together else ""


def _shown(cells: Cells) -> list[str]:
    """The load first, sizes last."""
    view, base = cells.view, cells.base
    factors = {name: factor_in(view, name) for name in base.levels if name != cells.factor}
    loads = [name for name, factor in factors.items() if factor and factor.is_concurrency]
    sizes = [name for name, factor in factors.items() if factor and factor.is_size]
    return [*loads, *(name for name in view.varied if name in factors and name not in {*loads, *sizes}), *sizes]


def _level_words(view: SweepView, result: Result, names: Iterable[str]) -> list[str]:
    return [say_level(view.workload, name, result.levels[name], named=True) for name in names]


def where(cells: Cells, result: Result) -> str:
    """ "on lab_vm4 (4 VMs per server)", "from cold caches", "with optimizer orca"."""
    if cells.factor == PLATFORM:
        return f"on {platform_words(cells.view, result.platform)}"
    if not cells.factor:
        return ""
    return level_where(cells.view, cells.asked, cells.factor, cells.level_of(result))


def level_where(view: SweepView, asked: SweepFinding, factor: str, level: Level) -> str:
    return asked.words.get(str(level)) or f"with {say_level(view.workload, factor, level, named=True)}"


def platform_words(view: SweepView, platform: str) -> str:
    """ "lab_vm4 with 4 VMs per server", "lab_native without VMs"."""
    vms = view.run.vms.get(platform)
    if vms is None:
        return platform
    return f"{platform} with {plural(vms, 'VM')} per server" if vms else f"{platform} without VMs"


def subject(view: SweepView, asked: SweepFinding, measurement: str) -> str:
    """What is declared, or the measurement: "the mean latency"."""
    return asked.subject or f"the {lowered(view.kind(measurement).title.split(',', maxsplit=1)[0])}"


def lowered(title: str) -> str:
    """ "Throughput" as "throughput", but TeraSort and CPU as they are."""
    first = title.split(" ", maxsplit=1)[0]
    return title[:1].lower() + title[1:] if first[1:].islower() or len(first) == 1 else title


def _verb(asked: SweepFinding, kind: MeasurementKind) -> str:
    if not asked.subject:
        return "is"
    is_plural = asked.subject.split(" ")[0].endswith("s")  # "lookups", not "a lookup" or "the tests"
    if kind.unit in TIMES:
        return "take" if is_plural else "takes"
    return "reach" if is_plural else "reaches"


def amount(summary: Summary) -> str:
    """ "14,000 a second (95 % interval 13,800 to 14,200)"."""
    said = quantity(summary.median, summary.unit) if summary.unit != "1/s" else f"{number(summary.median)} a second"
    if summary.interval_95 is None:
        return f"{said} {IN_THIS_RUN}"
    low, high = summary.interval_95
    return f"{said} (95 % interval {number(low)} to {number(high)})"


def _value(cells: Cells, result: Result) -> str:
    kind = cells.view.kind(cells.measurement)
    named = subject(cells.view, cells.asked, cells.measurement)
    words = [named, where(cells, result), _verb(cells.asked, kind), amount(result.measurements[cells.measurement])]
    return " ".join(filter(None, words))


# Beside the other one.


def judged(cells: Cells, ours: Result) -> tuple[Ratio | None, str]:
    """The ratio, and the word: of two that must not be compared the reason in place of it."""
    if refused := refusal(ours, cells.base):
        return None, refused
    kind = cells.view.kind(cells.measurement)
    over, under = (each.measurements[cells.measurement] for each in (ours, cells.base))
    ratio, found = compare_two(over, under, kind.better)
    return ratio, found.word if ratio else found.says


def _beside(cells: Cells, ours: Result, doubted: Mapping[str, int]) -> str:
    ratio, word = judged(cells, ours)
    if ratio is None:
        return f"; {_refused(word)}"
    if none := _none_shown(cells, ours, ratio, word, doubted):
        return f"; {none}"
    few = "in this run " if ratio[1] is None and ours.measurements[cells.measurement].interval_95 else ""
    return f", which {few}is {_times(cells, ratio)}"


def _also(cells: Cells, ours: Result, doubted: Mapping[str, int]) -> str:
    """Of a further platform or level: what the first one was compared with is known by now."""
    ratio, word = judged(cells, ours)
    place = where(cells, ours)
    begun = place[:1].upper() + place[1:]
    if ratio is None:
        return f"{begun} {_refused(word)}."
    if none := _none_shown(cells, ours, ratio, word, doubted):
        return f"{begun}, {none}."
    few = " in this run" if ratio[1] is None else ""
    paper = _paper(cells, ours)
    return f"{begun}, it is{few} {_times(cells, ratio)}.{f' {paper}' if paper else ''}"


def _refused(why: str) -> str:
    """ "not compared: …" and "no difference shown: all values are 0" as parts of a sentence."""
    return why.replace(" shown", " is shown", 1) if why.startswith("no difference") else f"it is {why}"


def _none_shown(cells: Cells, ours: Result, ratio: Ratio, word: str, doubted: Mapping[str, int]) -> str:
    """Empty where a difference is shown."""
    bounds = ratio[1]
    said = f"{_ratio(bounds[0], bounds)} to {_ratio(bounds[1], bounds)}" if bounds else ""
    none = f"no difference to the same {where(cells, cells.base)} is shown"
    if word == "no difference shown":
        return f"{none} (ratio {said})" if said else none
    if key(ours) in doubted:
        return f"{none}: the ratio is {said}, but among {doubted[key(ours)]} comparisons one like this may be chance"
    return ""


def _times(cells: Cells, ratio: Ratio) -> str:
    """ "3.4 times as long as on lab_native (3.1 to 3.7)"."""
    value, bounds = ratio
    kind, under = cells.view.kind(cells.measurement), where(cells, cells.base)
    said = _ratio(value, bounds)
    if kind.unit in TIMES:
        words = f"{said} times as long as {under}"
    elif kind.unit.endswith("/s"):
        noun = "throughput" if "throughput" in kind.title.lower() or kind.unit == "1/s" else "rate"
        words = f"{said} {'of' if value < 1 else 'times'} the {noun} {under}"
    else:
        words = f"{said} times that {under}"
    return f"{words} ({_ratio(bounds[0], bounds)} to {_ratio(bounds[1], bounds)})" if bounds else words


def _ratio(value: float, bounds: tuple[float, float] | None = None) -> str:
    """With as many digits as it takes to tell an interval that does not contain 1 from 1."""
    near = min((abs(bound - 1) for bound in bounds or () if bound != 1), default=1.0)
    digits = 0 if value >= 10 else 1 if value >= 2 and near >= 0.1 else 2 if near >= 0.005 else 3
    return f"{value:.{digits}f}" if value >= 0.1 else number(value, 2)


def _difference(cells: Cells, ours: Result, doubted: Mapping[str, int]) -> str:
    """Of the medians; how sure that is, the ratio says."""
    kind = cells.view.kind(cells.measurement)
    ratio, word = judged(cells, ours)
    if ratio is None:
        refused = _refused(word)
        return f"{refused[:1].upper()}{refused[1:]}."
    if none := _none_shown(cells, ours, ratio, word, doubted):
        return f"{none[:1].upper()}{none[1:]}."
    over, under = (each.measurements[cells.measurement].median for each in (ours, cells.base))
    few = "In this run that" if ratio[1] is None else "That"
    by = f"{quantity(abs(over - under), kind.unit)} {'more' if over > under else 'less'}"
    said = f"{few} is {by} than {where(cells, cells.base)}, or {_times(cells, ratio)}."
    if found := papers_difference(cells, ours):
        value, unit, is_about = found
        said += f" The paper's difference is {'about ' if is_about else ''}{quantity(abs(value), unit)}."
    return said


# The paper.


def _paper(cells: Cells, ours: Result) -> str:
    found = papers_ratio(cells, ours)
    if found is None:
        return ""
    about = "about " if found.is_about else ""
    return f"The paper's ratio{_paper_levels(cells, ours, found)} is {about}{_ratio(found.value)}."


def _paper_levels(cells: Cells, ours: Result, found: PaperRatio) -> str:
    """Where they are not ours: its ratio is of another cell then."""
    other: Mapping[str, Level] = {
        name: level for name, level in found.levels.items() if name != cells.factor and ours.levels.get(name) != level
    }
    if not other:
        return ""
    said = listed([say_level(cells.view.workload, name, level, named=True) for name, level in other.items()])
    return f", with {said},"
