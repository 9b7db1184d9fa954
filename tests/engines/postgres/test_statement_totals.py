"""What servers wrote before version 10, as Greenplum 6 does: ? for every constant."""

from __future__ import annotations

import pytest

from clusterbench.engines.postgres.statement_totals import numbered


@pytest.mark.parametrize(
    ("counted", "read"),
    [
        ("SELECT a FROM t WHERE b = ? AND c >= ? LIMIT ?;", "SELECT a FROM t WHERE b = $1 AND c >= $2 LIMIT $3;"),
        ("SELECT a FROM t WHERE id = $2 AND b IN (?, ?)", "SELECT a FROM t WHERE id = $2 AND b IN ($3, $4)"),
        ("SELECT a FROM t WHERE doc ? ? AND doc ?| ?", "SELECT a FROM t WHERE doc ? $1 AND doc ?| $2"),
        ('SELECT "a?" FROM t -- b?\nWHERE b = ? /* c? */', 'SELECT "a?" FROM t -- b?\nWHERE b = $1 /* c? */'),
        ("SELECT a FROM t", "SELECT a FROM t"),
    ],
)  # fmt: skip
def test_constants_are_numbered(counted: str, read: str) -> None:
    assert numbered(counted) == read
