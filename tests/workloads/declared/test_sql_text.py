"""SQL of a folder: cut into statements, and nothing in it that psql or pgbench would take for a command of its own."""

from __future__ import annotations

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.workloads.declared import sql_text


def test_placeholders_are_no_texts_in_dollars() -> None:
    assert sql_text.statements("SELECT $1,$2;SELECT $q$a;$1,$2$q$AS x, $$;$$, $a||$b, ${a},${b}") == (
        "SELECT $1,$2",
        "SELECT $q$a;$1,$2$q$AS x, $$;$$, $a||$b, ${a},${b}",
    )
    with pytest.raises(SpecError, match="a backslash outside of quotes"):
        sql_text.statements("SELECT ($1,$2) \\! ls")


def test_comments_go_and_statements_are_told_apart() -> None:
    text = "-- first; no\nSELECT 'a;b', $$c;d$$ /* e;f */ ;\n\nSELECT\n  2 -- g\n ;"
    assert sql_text.statements(text) == ("SELECT 'a;b', $$c;d$$", "SELECT\n  2")


@pytest.mark.parametrize(
    "text",
    [
        r"SELECT 1 \! touch /tmp/x",
        r"\! ls",
        "SELECT 1;\n\\shell ls",
        r"CALL f() \! ls",
        r"EXPLAIN \! ls",
        r"SELECT 'a\' \! ls --'",
        r"SELECT 1 /* a /* b */ c */ \g | ls",
        r'SELECT "a\" \! ls --"',
        r"SELECT $a$ b $a$ \! ls",
        "SELECT 1 \\gset",
    ],
)
def test_commands_of_psql_are_refused_wherever_they_stand(text: str) -> None:
    with pytest.raises(SpecError, match=r"line \d: a backslash outside of quotes is a command of psql"):
        sql_text.statements(text)


@pytest.mark.parametrize("text", [r"SELECT 'a\b'", r"SELECT E'\\'", r"SELECT $$ \! $$", "SELECT 1 -- \\! ls"])
def test_backslashes_within_quotes_and_comments_are_texts(text: str) -> None:
    assert len(sql_text.statements(text)) == 1


def test_what_is_no_sql_is_told() -> None:
    for text in ("SELECT 'a", "", "-- nothing"):
        with pytest.raises(SpecError):
            sql_text.statements(text)
    with pytest.raises(SpecError, match="holds 2 statements, but one is expected"):
        sql_text.only("SELECT 1; SELECT 2")
    with pytest.raises(SpecError, match="line 1: a text goes over several lines"):
        sql_text.on_one_line("SELECT 'a\nb'")
    assert sql_text.on_one_line("SELECT 1,\n 2 -- c\n") == "SELECT 1,  2"


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("SELECT 1", True),
        ("(SELECT 1) UNION SELECT 2", True),
        ("WITH a AS (SELECT 1) SELECT * FROM a", True),
        ("WITH a AS (DELETE FROM t RETURNING 1) SELECT * FROM a", False),
        ("SELECT 1 INTO t", False),
        ("SELECT 'DELETE'", True),
        ("UPDATE t SET a = 1", False),
        ("TRUNCATE t", False),
        ("BEGIN", False),
    ],
)
def test_what_reads_is_told_from_what_changes(text: str, reads: bool) -> None:
    assert sql_text.is_reading(text) == reads
    assert sql_text.is_framing(text) == (text == "BEGIN")
