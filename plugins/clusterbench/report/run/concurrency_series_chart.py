"""The figure of a series: what hosts and sessions did, a panel above the other, the levels marked."""

from __future__ import annotations

from typing import Any

from clusterbench.report.run.charts import CHARACTER_PX, DASHES, INK, WIDTH_PX, as_svg, colour_of
from clusterbench.report.run.concurrency_series import SESSIONS, Line, SeriesCourse

PANEL_PX, TITLE_PX = 104, 22
TOP_PX, BOTTOM_PX, LEFT_PX, RIGHT_PX = 18, 44, 40, 92
LEVELS_AT = 1 + TITLE_PX / (PANEL_PX - TITLE_PX)
"""Above the title of the first panel, as a share of its height."""
TIMES = ((4 * 3600, 3600, "hours"), (600, 60, "minutes"), (0, 1, "seconds"))
"""From how many seconds on, seconds in one, and its name."""


def draw_series(course: SeriesCourse, key: str, steal_max: float) -> str:
    """``steal_max``: the highest steal of all figures that stand side by side, so that they can be compared."""
    height = TOP_PX + PANEL_PX * len(course.panels) + BOTTOM_PX

    def fill(figure: Any) -> None:
        figure.set_size_inches(WIDTH_PX / 72, height / 72)
        for number, panel in enumerate(course.panels):
            box = (
                LEFT_PX / WIDTH_PX,
                1 - (TOP_PX + PANEL_PX * (number + 1)) / height,
                1 - (LEFT_PX + RIGHT_PX) / WIDTH_PX,
                (PANEL_PX - TITLE_PX) / height,
            )
            axes = figure.add_axes(box, facecolor="none")
            highest = max(steal_max * 1.15, 5) if panel == "steal" else 105
            _draw_panel(axes, course, panel, highest if course.unit(panel) == "%" else course.highest(panel) * 1.1 or 1)
            axes.tick_params(labelbottom=number == len(course.panels) - 1)
            if number == 0:
                _name_levels(axes, course)
                _name_lines(axes, course)
            if panel == SESSIONS:
                _name_waits(axes, list(course.lines[panel]))

    return as_svg(fill, key, course.sentence)


def _draw_panel(axes: Any, course: SeriesCourse, panel: str, highest: float) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: PLC0415  slow to import

    end_s = course.parts[-1].end_s
    divisor, unit = next((divisor, unit) for least, divisor, unit in TIMES if end_s >= least)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=3, width=0.8)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.set_title(course.title(panel), loc="left", fontsize=12, pad=4)
    axes.set_ylim(-0.03 * highest, highest)  # so that a line at zero is seen
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    axes.set_xlim(0, end_s / divisor)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if panel == course.panels[-1]:
        axes.set_xlabel(f"{unit} of measured time")
    for shade, part in enumerate(course.parts):
        axes.axvspan(part.start_s / divisor, part.end_s / divisor, color=INK, alpha=0.03 + 0.06 * (shade % 2), lw=0)
        axes.axvline(part.end_s / divisor, color=INK, alpha=0.35, linewidth=0.8)
    if panel == SESSIONS:
        _draw_stack(axes, list(course.lines[panel].values()), divisor)
        return
    if course.is_of_all_hosts:
        _draw_range(axes, list(course.lines[panel].values()), divisor)
        return
    for number, host in enumerate(course.hosts):
        seconds, values = course.lines[panel].get(host, ([], []))
        times = [second / divisor for second in seconds]
        axes.plot(times, values, color=colour_of(number), linewidth=1.3, linestyle=DASHES[number % len(DASHES)])


def _draw_range(axes: Any, lines: list[Line], divisor: int) -> None:
    """Median and range over hosts, at the times of the one with most points; a host without a level is left out."""
    import numpy as np  # noqa: PLC0415  as matplotlib

    seconds, values = max(lines, key=lambda line: len(line[0]))
    times, gaps = np.asarray(seconds), np.isnan(values)
    every = np.asarray([np.interp(times, *line, left=np.nan, right=np.nan) for line in lines])
    every[:, gaps] = 0
    low, middle, high = (np.where(gaps, np.nan, of(every, axis=0)) for of in (np.nanmin, np.nanmedian, np.nanmax))
    axes.fill_between(times / divisor, low, high, color=colour_of(0), alpha=0.25, lw=0)
    axes.plot(times / divisor, middle, color=colour_of(0), linewidth=1.5)


def _draw_stack(axes: Any, lines: list[Line], divisor: int) -> None:
    """One on the other, so that all together are seen as well."""
    times = [second / divisor for second in lines[0][0]]
    colours = [colour_of(number) for number in range(len(lines))]
    axes.stackplot(times, *(values for _, values in lines), colors=colours, alpha=0.75, linewidth=0)


def _name_waits(axes: Any, names: list[str]) -> None:
    for place, name in enumerate(reversed(names)):  # as they lie on each other
        style = {"linewidth": 7, "alpha": 0.75, "color": colour_of(len(names) - 1 - place)}
        _name_line(axes, place, name, style)


def _name_levels(axes: Any, course: SeriesCourse) -> None:
    """Above the first panel; names that would touch are left out, from the right, as the highest levels matter."""
    width = (WIDTH_PX - LEFT_PX - RIGHT_PX) / course.parts[-1].end_s
    free_to = float(WIDTH_PX)
    for part in reversed(course.parts):
        middle = (part.start_s + part.end_s) / 2
        half = len(part.label) * CHARACTER_PX / 2 + 2
        if middle * width + half > free_to:
            continue
        free_to = middle * width - half
        x = middle / course.parts[-1].end_s
        axes.text(x, LEVELS_AT, part.label, transform=axes.transAxes, ha="center", va="bottom", fontsize=11)
    axes.text(1.015, LEVELS_AT, course.factor.replace("_", " "), transform=axes.transAxes, va="bottom", fontsize=11)


def _name_lines(axes: Any, course: SeriesCourse) -> None:
    """Beside the first panel: a piece of each line with its host."""
    if course.is_of_all_hosts:
        _name_line(axes, 0, "median", {"linewidth": 1.6})
        _name_line(axes, 1, "range", {"linewidth": 7, "alpha": 0.25})
        return
    for number, host in enumerate(course.hosts):
        style = {"linewidth": 1.6, "linestyle": DASHES[number % len(DASHES)], "color": colour_of(number)}
        _name_line(axes, number, host, style)


def _name_line(axes: Any, place: int, name: str, style: dict[str, Any]) -> None:
    y = 0.9 - 0.2 * place
    axes.plot([1.015, 1.055], [y, y], transform=axes.transAxes, clip_on=False, **{"color": colour_of(0), **style})
    short = name if len(name) <= 10 else f"…{name[-9:]}"
    axes.text(1.07, y, short, transform=axes.transAxes, va="center_baseline", fontsize=11)
