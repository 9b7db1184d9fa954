"""The figure of one measurement of a sweep, with the paper's values that lie near enough. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clusterbench.base.factors import Level
from clusterbench.base.words import without_sweep
from clusterbench.report.run.cell_words import state_of
from clusterbench.report.run.chart_data import Chart, Line, Mark, PaperMark
from clusterbench.results.beside_paper import belongs
from clusterbench.results.durability import say_level
from clusterbench.results.statistics import Result
from clusterbench.results.sweep_results import SweepResults, is_number
from clusterbench.spec import PublishedValue
from clusterbench.spec.published import published_text

X_STRETCH_MAX = 5
"""A published value this many times beyond our levels is drawn; one further away would squeeze ours to a dot."""
Y_STRETCH_MAX = 20
LineKey = tuple[Level, ...]
"""Levels of the factors that tell lines apart, and the platform last."""


def sweep_chart(
    view: SweepResults, measurement: str, published: Sequence[PublishedValue]
) -> tuple[Chart | None, list[PublishedValue]]:
    """The figure, or None where no cell has a number, and the published values that are in it."""
    if not any(measurement in result.measurements for result in view.results):
        return None, []
    build = _along_numbers if view.x_factor else _by_category
    return build(view, measurement, published)


def _mark(result: Result, measurement: str, x: float, label: str) -> Mark:
    summary = result.measurements.get(measurement)
    if summary is None:
        said = {"not_applicable": "not applicable", "not_run": "not run"}.get(state_of(result))
        return Mark(x, label, None, None, said or f"{result.n_of_n} completed")
    return Mark(x, label, summary.median, summary.interval_95)


def _along_numbers(
    view: SweepResults, measurement: str, published: Sequence[PublishedValue]
) -> tuple[Chart, list[PublishedValue]]:
    factor = str(view.x_factor)
    groups: dict[LineKey, list[Result]] = {}
    for result in view.results:
        key = (*(result.levels[name] for name in view.line_factors), result.platform)
        groups.setdefault(key, []).append(result)
    looks = _looks(view, list(groups))
    lines = [
        Line(
            _line_name(view, key),
            *looks[key],
            [
                _mark(r, measurement, float(r.levels[factor]), say_level(view.workload, factor, r.levels[factor]))
                for r in found
            ],
        )
        for key, found in groups.items()
    ]
    kind = view.kind(measurement)
    bare = Chart(kind.title, kind.unit, factor.replace("_", " "), lines, [], [])
    drawn = [value for value in published if _is_near(view, value, bare)]
    papers = [
        PaperMark(
            float(value.levels[factor]),
            float(value.value),
            _paper_colour(view, value, looks),
            _paper_label(view, value),
        )
        for value in drawn
    ]
    return Chart(kind.title, kind.unit, bare.x_title, lines, papers, []), drawn


def _line_name(view: SweepResults, key: LineKey) -> str:
    """The line's levels in words, and its platform where there are several or nothing else to say."""
    said = [say_level(view.workload, name, level) for name, level in zip(view.line_factors, key[:-1], strict=True)]
    return ", ".join([*said, *([str(key[-1])] if view.names_platforms or not said else [])])


def _looks(view: SweepResults, keys: Sequence[LineKey]) -> dict[LineKey, tuple[int, int]]:
    """Colour by the first thing that differs, dash by the rest, so that many lines stay readable."""
    by_colour = 0 if view.line_factors else -1
    colours = list(dict.fromkeys(key[by_colour] for key in keys))
    rests = list(dict.fromkeys(key[1:] if view.line_factors else () for key in keys))
    return {key: (colours.index(key[by_colour]), rests.index(key[1:] if view.line_factors else ())) for key in keys}


def _is_near(view: SweepResults, value: PublishedValue, chart: Chart) -> bool:
    """Drawn is what lies in one of our cells, or so near that it does not squeeze ours."""
    if any(belongs(value, result) for result in view.results):
        return True
    x, levels = value.levels.get(str(view.x_factor)), view.levels[str(view.x_factor)]
    if x is None or not is_number(x):
        return False
    return _within(float(x), [float(level) for level in levels], X_STRETCH_MAX) and _within(
        float(value.value), chart.values, Y_STRETCH_MAX
    )


def _within(value: float, ours: Sequence[float], times: float) -> bool:
    return min(ours) / times <= value <= max(ours) * times


def _paper_colour(view: SweepResults, value: PublishedValue, looks: Mapping[LineKey, tuple[int, int]]) -> int | None:
    """The colour of the line that the paper's value belongs to, or None where it names no line."""
    if any(name not in value.levels for name in view.line_factors):
        return None
    names = [value.levels[name] for name in view.line_factors]
    fitting = {look[0] for key, look in looks.items() if list(key[:-1]) == names}
    return fitting.pop() if len(fitting) == 1 else None


def _paper_label(view: SweepResults, value: PublishedValue) -> str:
    other = _differs(view, value)
    return f"{published_text(value)} {value.unit}" + (f", {other}" if other else "")


def _differs(view: SweepResults, value: PublishedValue) -> str:
    """Levels of the paper's cell that are constant here and other than ours: "1G rows"."""
    other = [n for n, level in value.levels.items() if n not in view.varied and level not in view.levels.get(n, [])]
    return view.words(value.levels, other)


def _by_category(
    view: SweepResults, measurement: str, published: Sequence[PublishedValue]
) -> tuple[Chart, list[PublishedValue]]:
    """One row per combination of levels, one series per platform."""
    rows = list(dict.fromkeys(_category(view, result) for result in view.results))
    lines = [
        Line(
            platform,
            number,
            0,
            [
                _mark(r, measurement, float(rows.index(_category(view, r))), _category(view, r))
                for r in view.results
                if r.platform == platform
            ],
        )
        for number, platform in enumerate(view.platforms)
    ]
    kind = view.kind(measurement)
    papers, drawn = [], []
    for value in published:
        places = {_category(view, result) for result in view.results if belongs(value, result)}
        papers += [PaperMark(float(rows.index(p)), float(value.value), None, _paper_label(view, value)) for p in places]
        drawn += [value] if places else []
    x_title = ", ".join(name.replace("_", " ") for name in view.varied) or "cell"
    return Chart(kind.title, kind.unit, x_title, lines, papers, rows), drawn


def _category(view: SweepResults, result: Result) -> str:
    return view.words(result.levels, view.varied) or without_sweep(result.label)
