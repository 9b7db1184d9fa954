"""What is said of answers to one statement that are not the same. Pure.

Most answers are kept as digests: how many rows there were, and a hash of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection

TEXTS = "answer_texts"
"""In a driver's evidence: part of an answer -> ``statement/fingerprint``, to whose text the answer belongs."""
CHANGED = "changed"
"""Among the answers that are expected: statements whose text has changed since earlier runs answered them."""
REMEDY = (
    "sums and averages of floating-point numbers depend on the order in which rows are read: if the statement has one, "
    "write round() around it or cast what it adds up to numeric; if it has a LIMIT, order by something unique"
)
_DIGEST = re.compile(r"(\d+) rows, [0-9a-f]+")


def statement_of(part: str) -> str:
    """The statement's name, of a part such as ``color=red by_color.3``: levels, statement, execution."""
    return part.rsplit(" ", 1)[-1].rsplit(".", 1)[0]


def digest_of(rows: int, hash_of_rows: str) -> str:
    """As it is kept."""
    return f"{rows} rows, {hash_of_rows}"


def how_digests_differ(digests: Collection[str]) -> str:
    """In how many rows, or else that it is in values; which ones is not known any more. Empty if one is no digest."""
    found = [_DIGEST.fullmatch(each) for each in digests]
    counts = sorted({int(each[1]) for each in found if each})
    if not all(found) or not counts:
        return ""
    if len(counts) > 1:
        return f"{counts[0]} to {counts[-1]} rows"
    return f"{counts[0]} row{'' if counts[0] == 1 else 's'} each, with other values in them, which are not kept"
