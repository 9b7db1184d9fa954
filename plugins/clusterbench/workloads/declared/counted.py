"""Statements that a server has counted, or that a log holds, and what can be told of them by their SQL alone. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from clusterbench.base.errors import SpecError
from clusterbench.workloads.declared import sql_text
from clusterbench.workloads.declared.model import Value

CHANGING = {"nextval", "setval"}
"""Of the server's own functions; those of others, the server is asked about."""
WITH_A_TYPE = re.compile(r"\b(interval|date|timestamp|timestamptz|time)\s+\$(\d+)", re.IGNORECASE)
"""What only a constant may follow."""


@dataclass(frozen=True)
class Counted:
    """A statement, with $1, $2 for its constants or with the constants; how often, and how long in all.

    ``rows``: how many all calls answered. ``observed``: what stood there for $1, $2, where a log has it, call by call.
    """

    text: str
    calls: int
    time_ms: float = 0.0
    rows: float = 0.0
    observed: Sequence[Sequence[Value]] = ()

    def with_calls_of(self, other: Counted) -> Counted:
        return replace(
            self,
            calls=self.calls + other.calls,
            time_ms=self.time_ms + other.time_ms,
            rows=self.rows + other.rows,
            observed=(*self.observed, *other.observed),
        )


def tables_in(counted: Sequence[Counted]) -> list[str]:
    """Names of tables, as the server has them; without those that a WITH makes."""
    found: dict[str, None] = {}
    for one in counted:
        tree = parsed(one.text)
        made = {str(cte.alias) for cte in tree.find_all(exp().CTE)}
        for table in tree.find_all(exp().Table):
            name = name_of(table)
            if name and name not in made and isinstance(table.this, exp().Identifier):
                found[name] = None
    return list(found)


def name_of(table: Any) -> str:
    """With its schema, where it has one."""
    return ".".join(folded(part) for part in (table.args.get("db"), table.this) if isinstance(part, exp().Identifier))


def folded(name: Any) -> str:
    """An identifier as the server has it: in small letters, unless it stands in quotes."""
    return str(name.this) if name.quoted else str(name.this).lower()


def why_not(one: Counted) -> str:
    """Why it cannot be measured: tables that are there stay as they are. Empty where it can."""
    try:
        text = sql_text.only(one.text)
        if not sql_text.is_reading(text):
            return "it changes rows, or is not a query"
        if any(token.token_type.name == "HEREDOC_STRING" for token in sql_text.tokens(text)):
            return "it has a text between dollar signs; write it in quotes"
        if names := functions_in(one) & CHANGING:
            return f"it calls {', '.join(sorted(names))}, which changes something"
        return "" if tables_in([one]) else "it reads no table"
    except SpecError as error:
        return error.problems[0]


def functions_in(one: Counted) -> set[str]:
    """Names that a parenthesis follows, without their schemas and in small letters."""
    tokens = sql_text.tokens(one.text)
    return {
        name.text.lower()
        for name, after in pairwise(tokens)
        if after.token_type.name == "L_PAREN" and re.fullmatch(r"\w+", name.text)
    }


def merged(found: Iterable[Counted]) -> list[Counted]:
    """Statements of the same text as one: a server counts them apart where clients send other types."""
    by_text: dict[str, Counted] = {}
    for one in found:
        text = " ".join(one.text.split())
        same = by_text.get(text)
        by_text[text] = same.with_calls_of(one) if same else one
    return list(by_text.values())


def with_casts(text: str) -> str:
    return WITH_A_TYPE.sub(r"CAST($\2 AS \1)", text)


def parsed(text: str) -> Any:
    from sqlglot import parse_one  # noqa: PLC0415  slow to import
    from sqlglot.errors import SqlglotError  # noqa: PLC0415

    text = with_casts(text)
    try:
        return parse_one(re.sub(r"(\$\d+)(?=\S)", r"\1 ", text), read="postgres")  # see sql_text.PLACEHOLDER
    except SqlglotError as error:
        raise SpecError([f"is not read as SQL: {str(error).splitlines()[0]}"]) from None


def exp() -> Any:
    from sqlglot import exp  # noqa: PLC0415  as above

    return exp
