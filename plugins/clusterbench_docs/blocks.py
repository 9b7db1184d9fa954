"""Rewrites what stands between markers in a Markdown page. What it is made of is the business of the kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Kinds = dict[str, Callable[[str], str]]
"""The name of a kind of block -> what turns the rest of the marker's line into Markdown."""
BEGIN = re.compile(r"<!-- made by clusterbench_docs: (?P<kind>\S+)(?: (?P<argument>\S.*?))? -->")
END = "<!-- end -->"
FENCE = re.compile(r"\s*(```+|~~~+)")


class PageError(Exception):
    """A marker that cannot be followed; the text begins with ``:line: ``."""


def rewritten(page: str, kinds: Kinds) -> str:
    """The page with every block made again. Markers inside blocks of code are examples, and stay."""
    written: list[str] = []
    lines = iter(enumerate(page.split("\n"), start=1))
    fence = ""
    for number, line in lines:
        written.append(line)
        fence = _fence_after(fence, line)
        if fence or not (marker := BEGIN.fullmatch(line.strip())):
            continue
        _skip_to_end(lines, number)
        written += ["", *_made(marker, number, kinds).strip("\n").split("\n"), "", END]
    return "\n".join(written)


def _skip_to_end(lines: Iterator[tuple[int, str]], begin: int) -> None:
    for number, line in lines:
        if line.strip() == END:
            return
        if BEGIN.fullmatch(line.strip()):
            raise PageError(f":{begin}: has no {END} before the next block in line {number}")
    raise PageError(f":{begin}: has no {END} after it")


def _fence_after(fence: str, line: str) -> str:
    """What ends the block of code that goes on after this line; empty if there is none."""
    found = FENCE.match(line)
    if not found:
        return fence
    if not fence:
        return found[1]
    return "" if line.strip() == fence else fence


def outside_code(text: str) -> list[str]:
    """The lines that stand in no block of code."""
    lines, fence = [], ""
    for line in text.split("\n"):
        before, fence = fence, _fence_after(fence, line)
        if not before and not fence:
            lines.append(line)
    return lines


def slug(heading: str) -> str:
    """The name of a heading in links, as Git hosts and the site make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _made(marker: re.Match[str], number: int, kinds: Kinds) -> str:
    kind, argument = marker["kind"], marker["argument"] or ""
    if kind not in kinds:
        raise PageError(f":{number}: there is no kind {kind!r} of block; there are {', '.join(sorted(kinds))}")
    try:
        return kinds[kind](argument)
    except LookupError as error:
        raise PageError(f":{number}: {kind} {argument}: {error.args[0]}") from error


def table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table in Markdown. Bars inside cells are escaped."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
