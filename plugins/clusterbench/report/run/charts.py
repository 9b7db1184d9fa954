"""A figure as inline SVG: drawn by matplotlib in sentinel colours, which become the page's own, light or dark."""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from clusterbench.base.words import short_count
from clusterbench.report.run.chart_data import Chart, Line, PaperMark, axis_is_log
from clusterbench.report.run.resources import Course

WIDTH_PX, HEIGHT_PX = 560, 330
COURSE_WIDTH_PX = 860
ROW_PX = 30
CHARACTER_PX = 6.6
"""Mean width of a character at 12 px; texts are laid out before the reader's font is known."""
LABEL_GAP_PX = 15
ROW_NAME_MAX, LINE_NAME_MAX = 38, 28
"""Characters of a line of a name, of which there may be more: of a row, and at the end of a drawn line."""
LOG_FROM_RATIO = 15
"""A linear axis begins at zero; beyond this ratio the small values would lie on it."""

INK, PAGE = "#010203", "#fdfcfb"
COLOURS = ["#0a0001", "#0a0002", "#0a0003", "#0a0004", "#0a0005", "#0a0006"]
"""Sentinels: no colour is shown as such. ``--s1`` to ``--s6`` of the page's style are Okabe and Ito's."""
DASHES: list[Any] = ["-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (10, 3))]
SHAPES = ["o", "s", "^", "v", "P"]

STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 12,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.8,
    "grid.color": INK,
    "grid.alpha": 0.13,
    "grid.linewidth": 0.8,
}


def draw(chart: Chart, key: str) -> str:
    """The figure as an ``<svg>`` element. ``key`` keeps its ids apart from those of other figures on the page."""
    fill = _draw_numeric if chart.is_numeric else _draw_rows
    return as_svg(lambda figure: fill(figure, chart), key, chart.sentence)


def as_svg(fill: Callable[[Any], None], key: str, sentence: str) -> str:
    """What ``fill`` draws into an empty figure; ``sentence`` says it to those who hear it."""
    import matplotlib as mpl  # noqa: PLC0415  slow to import, and only reports need it
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context({**STYLE, "svg.hashsalt": key}):  # type: ignore[dict-item]  # keys are spelt out in its types
        figure = Figure(dpi=72, facecolor="none")
        FigureCanvasSVG(figure)
        fill(figure)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg")
    return _inline(drawn.getvalue(), key, sentence)


PANELS = (
    ("CPU, %", [("all", "cpu_percent"), ("steal", "cpu_steal_percent")]),
    ("Storage, MB/s", [("read", "disk_read_mb_per_s"), ("write", "disk_write_mb_per_s")]),
    (
        "Network, MB/s",
        [
            ("received", "network_received_mb_per_s"),
            ("sent", "network_sent_mb_per_s"),
            ("loopback", "loopback_mb_per_s"),
        ],
    ),
)
PANEL_PX = 130
COURSE_HEIGHT_PX = PANEL_PX * len(PANELS) + 70


def draw_course(course: Course, key: str) -> str:
    """CPU, storage and network of a host over a trial, one above the other, its phases marked."""

    def fill(figure: Any) -> None:
        figure.set_size_inches(COURSE_WIDTH_PX / 72, COURSE_HEIGHT_PX / 72)
        for number, (title, lines) in enumerate(PANELS):
            _draw_panel(figure, course, number, title, lines)

    phases = "; ".join(f"{name} from {start:.0f} to {end:.0f} s" for name, start, end in course.phases)
    return as_svg(fill, key, f"CPU, storage and network of {course.host} over {course.cell}. {phases}.")


def _draw_panel(figure: Any, course: Course, number: int, title: str, lines: Sequence[tuple[str, str]]) -> None:
    bottom = (46 + PANEL_PX * (len(PANELS) - 1 - number)) / COURSE_HEIGHT_PX
    box = (58 / COURSE_WIDTH_PX, bottom, 1 - (58 + 84) / COURSE_WIDTH_PX, (PANEL_PX - 30) / COURSE_HEIGHT_PX)
    axes = figure.add_axes(box, facecolor="none")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.set_title(title, loc="left", fontsize=12)
    axes.set_xlim(0, course.phases[-1][2])
    highest = max((value for _, name in lines for value in course.series.get(name, ())), default=0)
    axes.set_ylim(0, 105 if title.startswith("CPU") else highest * 1.1 or 1)
    for shade, (_, start, end) in enumerate(course.phases):
        axes.axvspan(start, end, color=INK, alpha=0.1 if shade % 2 else 0.05, linewidth=0)
    for colour, (label, name) in enumerate(lines):
        values = course.series.get(name, ())
        if any(values) or colour == 0:
            axes.plot(course.series["second"], values, color=colour_of(colour), linewidth=1.4, linestyle=DASHES[colour])
            place = (1.01, 0.85 - 0.22 * colour)
            axes.text(*place, label, color=colour_of(colour), transform=axes.transAxes, va="center_baseline")
    if number == 0:
        for name, start, end in course.phases:
            axes.annotate(
                name,
                ((start + end) / 2, 1),
                xycoords=axes.get_xaxis_transform(),
                xytext=(0, 5),
                textcoords="offset points",
                ha="center",
                alpha=0.8,
                fontsize=11,
            )
    if number == len(PANELS) - 1:
        axes.set_xlabel("seconds")
    else:
        axes.tick_params(labelbottom=False)


def _axes(figure: Any, height_px: float, left_px: float, right_px: float) -> Any:
    """Axes with margins in pixels; only the line that carries the levels is drawn."""
    figure.set_size_inches(WIDTH_PX / 72, height_px / 72)
    left, bottom = left_px / WIDTH_PX, 46 / height_px
    width, height = 1 - (left_px + right_px) / WIDTH_PX, 1 - (46 + 26) / height_px
    axes = figure.add_axes((left, bottom, width, height), facecolor="none")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(length=3, width=0.8)
    axes.set_axisbelow(True)
    return axes


def _draw_numeric(figure: Any, chart: Chart) -> None:
    labels = [line for series in chart.lines for line in _wrapped(series.name, LINE_NAME_MAX).splitlines()]
    axes = _axes(figure, HEIGHT_PX, 58, min(200, 14 + max(map(len, labels)) * CHARACTER_PX))
    axes.grid(axis="y")
    axes.text(-58 + 8, 9, _value_title(chart), transform=_pixels_from_corner(axes, 0, 1), ha="left", va="bottom")
    axes.set_xlabel(chart.x_title)
    _levels_along_x(axes, chart)
    _value_axis(axes.yaxis, chart.values, axes.set_yscale, axes.set_ylim)
    for series in chart.lines:
        _draw_line(axes, series)
    _label_lines(axes, chart.lines)
    for paper in chart.papers:
        _draw_paper(axes, paper.x, paper.y, paper)


def _draw_rows(figure: Any, chart: Chart) -> None:
    rows = [_wrapped(row, ROW_NAME_MAX) for row in chart.rows]
    left_px = 16 + max(len(line) for row in rows for line in row.splitlines()) * CHARACTER_PX
    count = len(chart.lines)
    axes = _axes(figure, 46 + 26 + max(ROW_PX, 18 * count) * (len(chart.rows) + 0.4), left_px, 64)
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(chart.rows) - 0.3, -0.7)
    axes.set_xlabel(_value_title(chart))
    _value_axis(axes.xaxis, chart.values, axes.set_xscale, axes.set_xlim, chart.reference)
    if chart.reference is not None:
        axes.axvline(chart.reference, color=INK, linewidth=1, linestyle=(0, (4, 3)), alpha=0.6)
    for number, series in enumerate(chart.lines):
        _draw_dots(axes, series, (number - (count - 1) / 2) * min(0.4, 0.8 / max(1, count)))
    for paper in chart.papers:
        _draw_paper(axes, paper.y, paper.x, paper)


def _wrapped(name: str, width: int) -> str:
    return textwrap.fill(name, width, break_long_words=False)


def _value_title(chart: Chart) -> str:
    return chart.title if chart.unit == "1" else f"{chart.title}, {chart.unit}"


def _pixels_from_corner(axes: Any, x: float, y: float) -> Any:
    """Coordinates in pixels from a point of the axes, given as shares of its width and height."""
    from matplotlib.transforms import ScaledTranslation  # noqa: PLC0415

    start_x, start_y = axes.transAxes.transform((x, y))
    return axes.figure.dpi_scale_trans.frozen().__class__().scale(1) + ScaledTranslation(
        start_x / 72, start_y / 72, axes.figure.dpi_scale_trans
    )


def _levels_along_x(axes: Any, chart: Chart) -> None:
    """Ticks are the levels themselves, the paper's too; labels that would touch are left out."""
    from matplotlib.ticker import NullLocator  # noqa: PLC0415

    levels = sorted({m.x for s in chart.lines for m in s.marks} | {paper.x for paper in chart.papers})
    is_log = axis_is_log(levels)
    places = [math.log(level) for level in levels] if is_log else levels
    margin = 0.05 * ((places[-1] - places[0]) or 1)
    ends = (places[0] - margin, places[-1] + margin)
    if is_log:
        axes.set_xscale("log")
    axes.set_xlim(*([math.exp(end) for end in ends] if is_log else ends))
    axes.xaxis.set_minor_locator(NullLocator())
    texts = [short_count(level) for level in levels]
    room = [(place - ends[0]) / (ends[1] - ends[0]) * (WIDTH_PX - 180) for place in places]
    axes.set_xticks(levels, _without_touching(texts, room))


def _without_touching(texts: Sequence[str], places_px: Sequence[float]) -> list[str]:
    """From the right, because the largest level is the one that matters."""
    kept, free_to = list(texts), math.inf
    for number in reversed(range(len(texts))):
        half = len(texts[number]) * CHARACTER_PX / 2 + 3
        if places_px[number] + half > free_to:
            kept[number] = ""
        else:
            free_to = places_px[number] - half
    return kept


def _value_axis(
    axis: Any, values: Sequence[float], set_scale: Any, set_limits: Any, reference: float | None = None
) -> None:
    """From zero, or logarithmic where values span more than a decade; around ``reference`` where there is one."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator  # noqa: PLC0415

    low, high = min(values), max(values)
    if reference is not None:
        low, high = min(low, reference), max(high, reference)
        margin = 0.1 * (high - low) or 0.1
        axis.set_major_locator(MaxNLocator(5))
        set_limits(low - margin, high + 2 * margin)
        return
    axis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))
    if low > 0 and high / low > LOG_FROM_RATIO:
        set_scale("log")
        axis.set_major_formatter(FuncFormatter(lambda value, _: short_count(value)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_locator(FixedLocator(_log_ticks(low / 1.7, high * 1.7)))
        set_limits(low / 1.7, high * 1.7)
    else:
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        set_limits(min(0.0, low * 1.1), (high or 1.0) * 1.1)


def _log_ticks(low: float, high: float) -> list[float]:
    """Decades, with 2 and 5 between them where there are few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1, 2, 5) if math.log10(high / low) < 2 else (1, 3) if math.log10(high / low) < 3.2 else (1,)
    return [digit * 10.0**decade for decade in decades for digit in digits if low <= digit * 10.0**decade <= high]


def colour_of(number: int | None) -> str:
    return INK if number is None else COLOURS[number % len(COLOURS)]


def _draw_line(axes: Any, series: Line) -> None:
    colour, shape = colour_of(series.colour), SHAPES[series.dash % len(SHAPES)]
    dash = DASHES[series.dash % len(DASHES)]
    done = [mark for mark in series.marks if mark.y is not None]
    axes.plot([m.x for m in done], [m.y for m in done], color=colour, linestyle=dash, linewidth=1.8)
    for mark in series.marks:
        if mark.y is not None:
            _draw_point(axes, mark.x, mark.y, mark.interval_95, colour, shape, along_y=True)
        elif mark.note not in ("not applicable", "not run"):
            axes.plot(
                [mark.x], [0.03], "x", color=colour, ms=8, mew=2, transform=axes.get_xaxis_transform(), clip_on=False
            )


def _draw_point(  # noqa: PLR0917  private, and each is a part of the point
    axes: Any,
    x: float,
    y: float,
    bounds: tuple[float, float] | None,
    colour: str,
    shape: str,
    *,
    along_y: bool,
) -> None:
    """The median, hollow where there are too few repetitions for an interval."""
    value = y if along_y else x
    error = [[value - bounds[0]], [bounds[1] - value]] if bounds else None
    axes.errorbar(
        [x],
        [y],
        **{"yerr" if along_y else "xerr": error},
        fmt=shape,
        color=colour,
        ms=6,
        mfc=colour if bounds else PAGE,
        mew=1.5,
        elinewidth=1.4,
        capsize=3.5,
        capthick=1.4,
        zorder=3,
    )


def _label_lines(axes: Any, lines: Sequence[Line]) -> None:
    """Names at the right end of their lines, moved apart where they would touch."""
    from matplotlib.transforms import IdentityTransform  # noqa: PLC0415

    ends = []
    for series in lines:
        done = [mark for mark in series.marks if mark.y is not None]
        if done:
            ends.append((float(axes.transData.transform((done[-1].x, done[-1].y))[1]), series))
    ends.sort(key=lambda end: end[0])
    names = [_wrapped(series.name, LINE_NAME_MAX) for _, series in ends]
    halves = [LABEL_GAP_PX / 2 * len(name.splitlines()) for name in names]
    heights = _apart([end[0] for end in ends], halves, axes.bbox.y0, axes.bbox.y1)
    for height, name, (_, series) in zip(heights, names, ends, strict=True):
        axes.text(
            axes.bbox.x1 + 6,
            height,
            name,
            color=colour_of(series.colour),
            va="center_baseline",
            transform=IdentityTransform(),
        )


def _apart(heights: Sequence[float], halves: Sequence[float], lowest: float, highest: float) -> list[float]:
    """Ascending middles of labels, half as high as ``halves``, that do not touch; within the axes if there is room."""
    placed: list[float] = []
    for number, height in enumerate(heights):
        below = placed[-1] + halves[number - 1] + halves[number] if placed else lowest
        placed.append(max(height, lowest, below))
    for number in reversed(range(len(placed))):
        is_last = number + 1 == len(placed)
        limit = highest if is_last else placed[number + 1] - halves[number + 1] - halves[number]
        placed[number] = min(placed[number], limit)
    return placed


def _draw_dots(axes: Any, series: Line, offset: float) -> None:
    colour = colour_of(series.colour)
    for mark in series.marks:
        if mark.y is None:
            axes.annotate(
                mark.note,
                (0, mark.x + offset),
                xycoords=axes.get_yaxis_transform(),
                xytext=(6, 0),
                textcoords="offset points",
                va="center_baseline",
                fontstyle="italic",
                alpha=0.75,
            )
            continue
        _draw_point(axes, mark.y, mark.x + offset, mark.interval_95, colour, "o", along_y=False)
        upper = mark.interval_95[1] if mark.interval_95 else mark.y
        axes.annotate(
            short_count(float(f"{mark.y:.3g}")),
            (upper, mark.x + offset),
            xytext=(9, 0),
            textcoords="offset points",
            va="center_baseline",
        )


def _draw_paper(axes: Any, x: float, y: float, paper: PaperMark) -> None:
    """A hollow diamond and its words: another cluster's number must never be taken for ours."""
    colour = colour_of(paper.colour)
    axes.plot([x], [y], "D", ms=8, mfc=PAGE, mec=colour, mew=1.7, zorder=4, clip_on=False)
    is_right = axes.transAxes.inverted().transform(axes.transData.transform((x, y)))[0] > 0.6
    axes.annotate(
        f"paper {paper.label}",
        (x, y),
        xytext=(-9 if is_right else 9, 0),
        textcoords="offset points",
        va="center_baseline",
        ha="right" if is_right else "left",
        color=colour,
        zorder=5,
    )


# From matplotlib's file to a part of the page.


def _inline(svg: str, key: str, sentence: str) -> str:
    """Only the ``<svg>`` element, without metadata, namespaces and sentinels, its ids its own."""
    from markupsafe import escape  # noqa: PLC0415

    body = svg[svg.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", body, flags=re.DOTALL)
    body = re.sub(
        r"<svg[^>]*viewBox=\"([^\"]*)\"[^>]*>",
        lambda match: f'<svg viewBox="{match[1]}" role="img" aria-label="{escape(sentence)}">',
        body,
        count=1,
    )
    body = body.replace("xlink:href", "href")
    body = re.sub(r' d="[^"]*"', lambda m: re.sub(r"(\.\d\d)\d+", r"\1", m[0]), body)  # finer than anybody can see
    body = re.sub(r"font: (?:italic )?([\d.]+)px [^;\"]*", lambda m: _font(m[0], m[1]), body)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', body))
    body = re.sub(r' id="([^"]*)"', lambda m: f' id="{key}-{m[1]}"' if m[1] in used else "", body)
    body = re.sub(r'(href="#|url\(#)', rf"\g<1>{key}-", body)
    for number, sentinel in enumerate(COLOURS, 1):
        body = body.replace(sentinel, f"var(--s{number})")
    body = body.replace(INK, "currentColor").replace(PAGE, "var(--page)")
    return re.sub(r"\n\s*", "\n", body).strip()


def _font(declared: str, size_px: str) -> str:
    """Size and slant only, so that the page's font is inherited."""
    return f"font-size: {size_px}px" + ("; font-style: italic" if "italic" in declared else "")
