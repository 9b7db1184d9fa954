"""Two answers to one query, compared as multisets of rows: a row that is twice in one must be twice in the other.

Texts, dates and whole numbers must be the same. Numbers with a fraction may differ by ``TOLERANCE``: the engines add
them up in another order, and one divides, averages and takes roots of decimals (PostgreSQL's numeric, 16 significant
digits and more) where the other has floating point (DuckDB's double, 15.9 digits). Some six of these are lost
in sums over the largest tables. Where a query rounds to few digits, ties are mended in the query (changes.yaml, q78).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

TOLERANCE = 1e-9
"""Relative to the larger of the two, and to 1 for what is smaller: a deviation that is 0 comes out as 1e-17."""

Cell = str | None
Row = tuple[Cell, ...]
Key = tuple[Cell, ...]

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_SHOWN = 200
_NOT_A_NUMBER = ("nan", "inf", "-inf", "infinity", "-infinity")


def rows(copied: str) -> list[list[str | None]]:
    r"""What ``COPY (query) TO STDOUT`` gives: a line a row, tab separated, ``\N`` for NULL.

    No text of TPC-DS holds a tab, a line break or a backslash, so nothing is escaped.
    """
    return [[None if cell == r"\N" else cell for cell in line.split("\t")] for line in copied.splitlines()]


def difference(found: Sequence[Sequence[Cell]], expected: Sequence[Sequence[Cell]]) -> str | None:
    """What is wrong with ``found``, in words; None if it is what was expected."""
    mine, theirs = _trimmed(found), _trimmed(expected)
    if problem := _columns_differ(mine, theirs):
        return problem
    fractions = _fraction_columns([*mine, *theirs])
    extra, missing = _without_same(mine, theirs, fractions)
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


def _fraction_columns(answer: list[Row]) -> list[int]:
    """Columns of numbers of which at least one, in either answer, is written with a fraction."""
    columns = zip(*answer, strict=True) if answer else ()
    return [place for place, column in enumerate(columns) if _has_fractions([cell for cell in column if cell])]


def _has_fractions(cells: list[str]) -> bool:
    numbers = [cell for cell in cells if _NUMBER.fullmatch(cell) or cell.lower() in _NOT_A_NUMBER]
    return len(numbers) == len(cells) and any(not cell.lstrip("+-").isdigit() for cell in cells)


def _without_same(found: list[Row], expected: list[Row], fractions: list[int]) -> tuple[list[int], list[Row]]:
    """Places in ``found`` that nothing in ``expected`` answers to, and what is left of ``expected``."""
    waiting: dict[Key, list[Row]] = defaultdict(list)
    for row in sorted(expected, key=lambda row: _as_numbers(row, fractions)):
        waiting[_key(row, fractions)].append(row)
    extra = []
    for place in sorted(range(len(found)), key=lambda place: _as_numbers(found[place], fractions)):
        candidates = waiting[_key(found[place], fractions)]
        same = next((at for at, row in enumerate(candidates) if _is_close(found[place], row, fractions)), None)
        if same is None:
            extra.append(place)
        else:
            candidates.pop(same)
    return sorted(extra), [row for rows in waiting.values() for row in rows]


def _key(row: Row, fractions: list[int]) -> Key:
    """What must be the same to the letter; of a fraction, only whether it is there."""
    return tuple((None if cell is None else "") if place in fractions else cell for place, cell in enumerate(row))


def _as_numbers(row: Row, fractions: list[int]) -> list[float]:
    return [float(row[place] or 0) for place in fractions]


def _is_close(one: Row, other: Row, fractions: list[int]) -> bool:
    pairs = ((one[place], other[place]) for place in fractions)
    return all(a == b or (a and b and _are_close(float(a), float(b))) for a, b in pairs)


def _are_close(one: float, other: float) -> bool:
    both_nan = math.isnan(one) and math.isnan(other)
    return both_nan or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


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
