"""How numbers, units and other small things read on the page. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from clusterbench.base.factors import say_count

SIGNIFICANT_DIGITS = 3
THIN_SPACE = "\u202f"
"""Narrow and no-break, so that a number never falls apart at the end of a line."""
ABSENT = "–"

HOW = {
    "manual": "Trigger in Airflow, or the command line",
    "scheduled": "the calendar",
    "operator_triggered": "another DAG, such as the weekly run",
}
"""Airflow's words for how a DAG run was started."""


ALL_OF = 6
"""Up to so many names are listed; of more, the first three."""


def some_of(names: Sequence[str]) -> str:
    """As in: worker1, worker2, worker3 and 97 more."""
    if len(names) <= ALL_OF:
        return ", ".join(names)
    return f"{', '.join(names[:3])} and {len(names) - 3} more"


def listed(parts: Sequence[str], word: str = "and") -> str:
    """ "a", "a and b", "a, b and c"; empty of none."""
    return f" {word} ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def shortened(text: str, characters_max: int) -> str:
    """As it is, or cut so that it has that many characters with the … at its end."""
    return text if len(text) <= characters_max else f"{text[: characters_max - 1]}…"


def number(value: float | None, digits: int = SIGNIFICANT_DIGITS) -> str:
    """Three significant digits, thousands apart; absent is a dash, never 0."""
    if value is None or not math.isfinite(value):
        return ABSENT
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    # 999.6 has become 1000: one digit less behind the point.
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(0, decimals)}f}".replace(",", THIN_SPACE)


def quantity(value: float | None, unit: str, digits: int = SIGNIFICANT_DIGITS) -> str:
    said = number(value, digits)
    return said if value is None or unit == "1" else f"{said}{THIN_SPACE}{unit}"


def interval(bounds: Sequence[float] | None) -> str:
    return f"{number(bounds[0])} – {number(bounds[1])}" if bounds else "–, fewer than 3"


def short_count(value: float) -> str:
    """A tick: 100k, 1M, 0.05."""
    return say_count(round(value)) if value >= 10_000 and value == round(value) else f"{value:g}"


def size(count: float | None) -> str:
    """Bytes in decimal units."""
    if count is None:
        return ABSENT
    for unit, letter in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{number(count / unit)}{THIN_SPACE}{letter}"
    return f"{count:.0f}{THIN_SPACE}B"


def count(value: float) -> str:
    """A count as it is, 1 312; a median between two as 40.5."""
    return f"{value:,.0f}".replace(",", THIN_SPACE) if float(value).is_integer() else number(value)


def duration(seconds: float) -> str:
    """0:04:26 as in the papers; less than a minute with its hundredths, 0:00:02.31."""
    whole, rest = divmod(round(seconds * 100), 100)
    if seconds >= 60:
        whole, rest = round(seconds), -1
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}" + (f".{rest:02}" if rest >= 0 else "")


def change(ratio: float) -> str:
    """A ratio as the papers write it: 1.68 as +68 %, 0.994 as −1 %."""
    return percent(round((ratio - 1) * 100), is_signed=True, decimals=0)


def ratio_words(ratio: tuple[float, tuple[float, float] | None] | None) -> str:
    """ "1.06× (1.02 – 1.09)"; nothing where there is no ratio."""
    if ratio is None:
        return ""
    value, bounds = ratio
    return f"{_hundredths(value)}×" + (f" ({' – '.join(map(_hundredths, bounds))})" if bounds else ", no interval")


def _hundredths(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else number(value, 2)


def percent(value: float, *, is_signed: bool = False, decimals: int | None = None) -> str:
    """7.9 of a hundred as 7.9 %, with two significant digits or so many decimals; signed as +7.9 % or −7.9 %."""
    said = number(abs(value), 2) if decimals is None else f"{abs(value):.{decimals}f}"
    sign = "\u2212" if value < 0 else "+" if is_signed and value > 0 else ""
    return f"{sign}{said}{THIN_SPACE}%"


def share(value: float | None) -> str:
    """A share of 1 in percent, one decimal below 10."""
    return ABSENT if value is None else percent(value * 100, decimals=0 if value >= 0.1 else 1)


def percent_digits(share: float) -> str:
    """Of a share of 1, for a sentence that is archived: two significant digits below ten percent, whole ones above."""
    value = 100 * share
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.2g}" if value >= 0.01 or not value else "0.01"


def moment(iso: str) -> str:
    """2026-11-21 08:02:06 UTC of an ISO time; other text as it is."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]00:?00)", iso)
    return f"{found[1]} {found[2]} UTC" if found else iso


def plain(text: object) -> str:
    """A text for people: floats in it shortened, as in "49.25, 26.019999999999996"."""
    return re.sub(r"(?<![\w.])\d+\.\d{4,}(?![\w.])", lambda match: number(float(match[0])), str(text))


def as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}".replace(",", THIN_SPACE)


def named_counts(counts: Mapping[str, int]) -> str:
    """{"failed": 2, "timed_out": 1} as "2 failed, 1 timed out"."""
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())


def exact(value: float | str) -> str:
    """A number as it was printed: no digit of a whole one is lost. A text as it is."""
    if isinstance(value, str):
        return value
    return f"{int(value):,}".replace(",", THIN_SPACE) if float(value).is_integer() else f"{value:.4g}"


def without_sweep(label: str) -> str:
    """A cell's label where the sweep is known from the heading."""
    return label.split(": ", 1)[-1]


def said_by(started_by: Mapping[str, Any]) -> str:
    """Who started the run: as Airflow tells it, one word as it is, or more with their names."""
    if {"dag_run_id", "how"} <= set(started_by):
        return f"{HOW.get(str(started_by['how']), started_by['how'])} ({started_by['dag_run_id']})"
    if set(started_by) == {"by"}:
        return str(started_by["by"])
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in started_by.items() if value) or "not recorded"
