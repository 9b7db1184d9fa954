"""Two answers to one query, compared as multisets of rows: a row that is twice in one must be twice in the other.

Texts, dates, whole numbers and exact decimals, such as sums of money, must be the same. Floating point may differ by
``TOLERANCE``: DuckDB divides, averages and takes roots in it (double, 15.9 significant digits) where PostgreSQL does so
with decimals (numeric, 16 digits or more). It is recognised by its exponent, with which ``reference.answer`` writes it.
If a query rounds to few digits, ties are decided in the query (changes.yaml, q78).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal

TOLERANCE = 1e-9
"""Relative to the larger of the two, and to 1 for what is smaller: a deviation that is 0 comes out as 1e-17. What adds
up over many rows, such as a deviation over all of a large table, loses some six of a double's digits."""

Cell = str | None
Row = tuple[Cell, ...]

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_ESCAPED = re.compile(r"\\(.)")
_MEANT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SHOWN = 200


def rows(copied: str) -> list[list[str | None]]:
    r"""What ``COPY (query) TO STDOUT`` gives: a line a row, tab separated, ``\N`` for NULL, and escaped."""
    return [[_unescaped(cell) for cell in line.split("\t")] for line in copied.removesuffix("\n").split("\n") if copied]


def _unescaped(cell: str) -> str | None:
    return None if cell == r"\N" else _ESCAPED.sub(lambda found: _MEANT.get(found[1], found[1]), cell)


def difference(found: Sequence[Sequence[Cell]], expected: Sequence[Sequence[Cell]]) -> str | None:
    """What is wrong with ``found``, in words; None if it is what was expected."""
    mine, theirs = _trimmed(found), _trimmed(expected)
    if problem := _columns_differ(mine, theirs):
        return problem
    extra, missing = _without_same(mine, theirs)
    if not extra and not missing:
        return None
    return _in_words(mine, extra, missing, counts=(len(mine), len(theirs)))


def _trimmed(answer: Iterable[Sequence[Cell]]) -> list[Row]:
    """Without the trailing blanks of CHAR columns, which mean nothing."""
    return [tuple(cell if cell is None else cell.rstrip(" ") for cell in row) for row in answer]


def _columns_differ(found: list[Row], expected: list[Row]) -> str | None:
    widths = [{len(row) for row in answer} for answer in (found, expected)]
    if found and expected and widths[0] != widths[1]:
        return f"rows of {_counts(widths[0])} columns where {_counts(widths[1])} were expected"
    return None


def _counts(widths: set[int]) -> str:
    return " or ".join(str(width) for width in sorted(widths))


def _without_same(found: list[Row], expected: list[Row]) -> tuple[list[int], list[Row]]:
    """Places in ``found`` that nothing in ``expected`` answers to, and what is left of ``expected``."""
    columns = [_Column(cells) for cells in zip(*found, *expected, strict=True)]
    floating = [place for place, column in enumerate(columns) if column.is_floating]
    waiting: dict[Row, list[Row]] = defaultdict(list)
    for row in sorted(expected, key=lambda row: _floats(row, floating)):
        waiting[_key(row, columns)].append(row)
    extra = []
    for place in sorted(range(len(found)), key=lambda place: _floats(found[place], floating)):
        candidates = waiting[_key(found[place], columns)]
        same = next((at for at, row in enumerate(candidates) if _is_close(found[place], row, floating)), None)
        if same is None:
            extra.append(place)
        else:
            candidates.pop(same)
    return sorted(extra), [row for rows in waiting.values() for row in rows]


class _Column:
    """What the cells of a column are, in both answers: floating point, exact numbers with a fraction, or texts."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        known = [cell for cell in cells if cell is not None]
        are_numbers = all(_NUMBER.fullmatch(cell) for cell in known)
        self.is_floating = are_numbers and any("e" in cell.lower() for cell in known)
        self.is_decimal = are_numbers and any("." in cell for cell in known)

    def key(self, cell: Cell) -> Cell:
        """What must be the same to the letter; of floating point, only whether it is there."""
        if cell is None:
            return None
        if self.is_floating:
            return ""
        return f"{Decimal(cell).normalize():f}" if self.is_decimal else cell


def _key(row: Row, columns: list[_Column]) -> Row:
    return tuple(column.key(cell) for column, cell in zip(columns, row, strict=True))


def _floats(row: Row, floating: list[int]) -> list[float]:
    return [float(row[place] or 0) for place in floating]


def _is_close(one: Row, other: Row, floating: list[int]) -> bool:
    pairs = zip(_floats(one, floating), _floats(other, floating), strict=True)
    return all(math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE) for a, b in pairs)


def _in_words(found: list[Row], extra: list[int], missing: list[Row], counts: tuple[int, int]) -> str:
    said = [f"{counts[0]} rows where {counts[1]} were expected"] if counts[0] != counts[1] else []
    if extra:
        said.append(f"row {extra[0] + 1} was not expected: {_shown(found[extra[0]])}")
    if missing:
        nearest = _nearest(found[extra[0]], missing) if extra else missing[0]
        said.append(f"missing is: {_shown(nearest)}")
    said.append(f"{len(extra)} rows too many, {len(missing)} missing, of {counts[1]}")
    return "; ".join(said)


def _nearest(row: Row, others: list[Row]) -> Row:
    return max(others, key=lambda other: sum(a == b for a, b in zip(row, other, strict=True)))


def _shown(row: Row) -> str:
    text = " | ".join("NULL" if cell is None else cell for cell in row)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
