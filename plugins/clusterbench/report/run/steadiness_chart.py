"""The small figure of a cell's throughput over time: all transactions with their trend, and below it each type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusterbench.base.words import short_count
from clusterbench.report.run.charts import DASHES, INK, as_svg, colour_of
from clusterbench.report.run.steadiness import Steadiness

WIDTH_PX, ALL_PX, TYPES_PX = 360, 96, 110
LEFT_PX, RIGHT_PX, TOP_PX, BOTTOM_PX, GAP_PX = 46, 16, 8, 40, 12
HEIGHT_PX = TOP_PX + ALL_PX + GAP_PX + TYPES_PX + BOTTOM_PX


def draw_steadiness(cell: Steadiness, key: str) -> str:
    def fill(figure: Any) -> None:
        figure.set_size_inches(WIDTH_PX / 72, HEIGHT_PX / 72)
        width = 1 - (LEFT_PX + RIGHT_PX) / WIDTH_PX
        seconds = [cell.part_s * (number + 0.5) for number in range(len(cell.total))]
        end_s = cell.part_s * len(cell.total)
        places = {"all": (BOTTOM_PX + TYPES_PX + GAP_PX, ALL_PX), "types": (BOTTOM_PX, TYPES_PX)}
        for what, (bottom, height) in places.items():
            box = (LEFT_PX / WIDTH_PX, bottom / HEIGHT_PX, width, height / HEIGHT_PX)
            axes = figure.add_axes(box, facecolor="none")
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(length=3, width=0.8, labelbottom=what == "types", labelsize=11)
            axes.grid(axis="y")
            axes.set_xlim(0, end_s)
            if what == "all":
                _draw_all(axes, cell, seconds)
            else:
                _draw_types(axes, cell, seconds)
                axes.set_xlabel("seconds of the measured window", fontsize=11)

    return as_svg(fill, key, cell.sentence)


def _draw_all(axes: Any, cell: Steadiness, seconds: Sequence[float]) -> None:
    """From zero, so that a wave looks as large as it is; the trend is a straight line through all of it."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: PLC0415  slow to import

    axes.plot(seconds, cell.total, color=colour_of(0), linewidth=1.6)
    if len(seconds) > 1:
        begin, end = _trend(seconds, cell.total)
        axes.plot([seconds[0], seconds[-1]], [begin, end], color=INK, linewidth=1, linestyle=(0, (4, 3)))
    axes.set_ylim(0, max(cell.total) * 1.15 or 1)
    axes.yaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))


def _trend(seconds: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """The fitted line's values at its begin and end."""
    from numpy.polynomial import Polynomial  # noqa: PLC0415  as matplotlib

    line = Polynomial.fit(seconds, values, 1)
    return float(line(seconds[0])), float(line(seconds[-1]))


def _draw_types(axes: Any, cell: Steadiness, seconds: Sequence[float]) -> None:
    """Logarithmic: the rare types are a tenth of the frequent ones. A part without any of a type is a gap."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator  # noqa: PLC0415

    for number, values in enumerate(cell.lines.values()):
        shown = [value or float("nan") for value in values]
        axes.plot(seconds, shown, color=colour_of(number + 1), linewidth=1.3, linestyle=DASHES[number % len(DASHES)])
    known = [value for values in cell.lines.values() for value in values if value]
    axes.set_yscale("log")
    axes.set_ylim(min(known, default=1) / 1.6, max(known, default=10) * 1.6)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(
        LogLocator(subs=(1, 3) if max(known, default=10) < 300 * min(known, default=1) else (1,))
    )
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))
