"""Flame graphs of profiles, drawn by inferno: one profile, or how two differ."""

from __future__ import annotations

import importlib
import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from clusterbench.base.errors import ClusterbenchError
from clusterbench.base.profiles import Profile, differing, shortened

LEAST_SHARE = 0.002
"""Of all samples: a frame of less is two pixels wide."""
SCALE = 1000
"""Samples are told as whole numbers, also where those of one profile were scaled to another's."""
NOT_OF_A_PAGE = re.compile(r"<script.*?</script>|<style.*?</style>|<!--.*?-->|<text id=.*?</text>", re.DOTALL)
NAMES = re.compile(r' (?:id|onload|fg:[xw])="[^"]*"')


def draw(profile: Profile, title: str) -> str:
    """An SVG in which a click looks closer. Raises ClusterbenchError where it cannot be drawn here."""
    short = shortened(profile.stacks, LEAST_SHARE)
    summed: Counter[str] = Counter()
    for stack, times in profile.stacks.items():
        summed[short[stack]] += times
    return _drawn([f"{stack} {times}" for stack, times in sorted(summed.items())], title)


def draw_difference(before: Profile, after: Profile, title: str) -> str:
    """As wide as the second profile; red is what took more than in the first, blue what took less."""
    both = differing(before, after)
    short = shortened({stack: sum(times) for stack, times in both.items()}, LEAST_SHARE)
    summed: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for stack, times in both.items():
        for side in (0, 1):
            summed[short[stack]][side] += times[side]
    lines = [f"{stack} {round(one * SCALE)} {round(other * SCALE)}" for stack, (one, other) in sorted(summed.items())]
    return _drawn(lines, title)


def for_page(svg: str) -> str:
    """The same without what a page must not have: scripts, and styles and names that are not its own."""
    start = svg.index("<svg")
    return NAMES.sub("", NOT_OF_A_PAGE.sub("", svg[start:]))


def _drawn(lines: Sequence[str], title: str) -> str:
    try:
        inferno = importlib.import_module("pyinferno")
    except ImportError as error:
        raise ClusterbenchError(
            "flame graphs are drawn by pyinferno, which has no package for this version of Python: draw them under "
            "Python 3.11, or put the file profile.folded.gz of the trial into a tool of yours"
        ) from error
    return str(inferno.flamegraph_from_lines(list(lines), title=title))
