"""Words of YAML files that have a better name by now: still read, and warned of until a date.

What is archived keeps its words for ever, so models go on reading them; ``until`` is for people's own files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from clusterbench.base.errors import SpecError
from clusterbench.spec.loading import FieldPath, read_yaml

ANY = "*"


@dataclass(frozen=True)
class OldWord:
    """A value at a place of a kind of file. ``since``: the version that has the new word."""

    kind: str
    at: tuple[str, ...]
    old: str
    new: str
    since: str
    until: date


OLD_WORDS = (OldWord("experiment", ("sweeps", ANY, "order"), "series", "ramp", "0.3.0", date(2027, 12, 1)),)


def in_todays_words(kind: str, key: str, value: Any) -> Any:
    """``value`` of a key as it is written today; whatever is no old word is given back as it is."""
    here = (word for word in OLD_WORDS if (word.kind, word.at[-1]) == (kind, key))
    return next((word.new for word in here if word.old == value), value)


def warnings(path: Path, kind: str) -> list[str]:
    """One line for each old word in a file: where it is, what to write, and until when it is read."""
    try:
        data, lines = read_yaml(path)
    except SpecError:
        return []  # `lint` has more to say of it than that
    return [
        f"{path}:{lines.get(place, 1)}: {'.'.join(map(str, place))}: {word.old!r} is called {word.new!r} "
        f"since clusterbench {word.since}; write '{word.at[-1]}: {word.new}'. "
        f"Releases before {word.until:%-d %B %Y} read both"
        for word in OLD_WORDS
        if word.kind == kind
        for place, value in _values_at(data, word.at)
        if value == word.old
    ]


def _values_at(data: Any, at: tuple[str, ...], before: FieldPath = ()) -> Iterator[tuple[FieldPath, Any]]:
    if not at:
        yield before, data
    elif isinstance(data, dict):
        for key in data if at[0] == ANY else {at[0]} & data.keys():
            yield from _values_at(data[key], at[1:], (*before, key))
