"""Bash that runs on hosts: files below ``include``, where shellcheck reads them, with values set before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from shlex import quote

from clusterbench.base.paths import own_or_built_in

Value = str | int | float | Sequence[str]
"""A text or number becomes a variable, a sequence an array."""


def script(name: str, /, **values: Value) -> str:
    """The text of ``include/<name>.sh``, after a line ``variable=value`` for each of ``values``, quoted."""
    return assignments(values) + _text(own_or_built_in(f"include/{name}.sh"))


def assignments(values: Mapping[str, Value]) -> str:
    """Lines of bash, a variable or an array each."""
    return "".join(f"{variable}={_word(value)}\n" for variable, value in values.items())


def _word(value: Value) -> str:
    if isinstance(value, str | int | float):
        return quote(str(value))
    return f"({' '.join(map(quote, value))})"


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
