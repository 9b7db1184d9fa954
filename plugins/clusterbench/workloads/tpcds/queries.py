"""The 99 queries: the generator's own text, the changes a dialect needs, and the values of one stream put in.

The texts are DuckDB's (``tpcds_queries()``): the specification's templates (TPC-DS 3.2, appendix B) with their
qualification values; where those stood, ``$names`` stand now. ``include/sql/tpcds/changes.yaml`` holds every other
difference, and docs/tpcds.md shows it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal

from pydantic import Field, model_validator

from clusterbench.base.errors import SpecError
from clusterbench.base.paths import own_or_built_in
from clusterbench.base.sql import filled
from clusterbench.spec.loading import Strict, load

QUERIES = range(1, 100)

Dialect = Literal["postgres", "greenplum", "duckdb"]

Text = Annotated[str, Field(min_length=1)]


class Change(Strict):
    """One difference from the generator's text, wherever ``find`` stands in one of ``queries``.

    Line breaks and indentation of ``find`` mean nothing.
    """

    queries: Annotated[list[Annotated[int, Field(ge=1, le=99)]], Field(min_length=1)]
    """The queries in which the text is replaced."""
    dialects: Annotated[list[Dialect], Field(min_length=1)]
    """The dialects for which the text is replaced."""
    find: Text
    """The text that is replaced. Line breaks and indentation do not matter."""
    replace: str
    """The text that stands there instead."""
    why: Text
    """The reason."""

    @model_validator(mode="after")
    def _changes_something(self) -> Change:
        if self.find == self.replace:
            raise ValueError("find and replace are the same; write what should stand there instead, or drop the change")
        return self


class Changes(Strict):
    """``include/sql/tpcds/changes.yaml``; applied from top to bottom."""

    changes: list[Change]
    """The changes. They are applied from top to bottom."""


def text(number: int, values: Mapping[str, int | str], dialect: Dialect) -> str:
    """Query ``number`` as one statement without semicolon; ``values`` of its parameters become literals."""
    try:
        return filled(template(number, dialect), values)
    except KeyError as error:
        raise SpecError([f"q{number:02}.sql: no value for its parameter ${error.args[0]}"]) from None


@cache
def template(number: int, dialect: Dialect) -> str:
    """The query in ``dialect``, with ``$names`` for its parameters."""
    written = _file(number)
    for change in changes():
        if number in change.queries and dialect in change.dialects:
            written = changed(written, change, number)
    return written


def changed(written: str, change: Change, number: int) -> str:
    """``written`` with ``change`` made. Raises SpecError where there is nothing to change."""
    pattern = r"\s+".join(re.escape(word) for word in change.find.split())
    done, times = re.subn(pattern, lambda _: change.replace, written)
    if not times:
        raise SpecError(
            [
                f"changes.yaml: query {number}: {change.find!r} does not occur in q{number:02}.sql as the changes "
                "above leave it; copy the words from there, or take the query out of this change"
            ]
        )
    return done


@cache
def changes() -> tuple[Change, ...]:
    return tuple(load(own_or_built_in("include/sql/tpcds/changes.yaml"), Changes).changes)


def _file(number: int) -> str:
    """Without comments: one would swallow the rest of a statement that is put on one line."""
    path = own_or_built_in(f"include/sql/tpcds/queries/q{number:02}.sql")
    return re.sub(r"\s*--.*", "", path.read_text(encoding="utf-8")).strip()
