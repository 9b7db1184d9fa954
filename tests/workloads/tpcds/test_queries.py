"""The 99 texts: complete, changed only where changes.yaml says so, and what is said when that file is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.base.paths import project_root
from clusterbench.spec.loading import load
from clusterbench.workloads.tpcds import queries
from clusterbench.workloads.tpcds.queries import Change, Changes


def change(**keys: object) -> Change:
    return Change.model_validate({"queries": [1], "dialects": ["postgres"], "find": "a", "replace": "b"} | keys)


def test_every_query_is_there_in_every_dialect() -> None:
    for dialect in ("postgres", "greenplum", "duckdb"):
        for number in queries.QUERIES:
            text = queries.template(number, dialect)
            assert text.lower().startswith(("select", "with"))
            assert not text.endswith(";")


def test_a_change_is_made_only_in_its_queries_and_dialects() -> None:
    assert "concat(" in queries.template(84, "duckdb")
    assert "concat(" not in queries.template(84, "postgres")
    assert queries.template(2, "postgres") == queries.template(2, "duckdb")


def test_line_breaks_of_what_is_found_mean_nothing() -> None:
    made = queries.changed("SELECT a\n     , b\nFROM t", change(find="a , b FROM", replace=r"\1 FROM", why="x"), 1)
    assert made == "SELECT \\1 FROM t"


def test_a_change_that_finds_nothing_says_which_query_and_words() -> None:
    with pytest.raises(SpecError) as refused:
        queries.changed("SELECT 1", change(find="FROM dual", why="x"), 7)
    assert str(refused.value) == (
        "changes.yaml: query 7: 'FROM dual' does not occur in q07.sql as the changes above leave it; "
        "copy the words from there, or take the query out of this change"
    )


def test_a_parameter_without_a_value_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "template", lambda number, dialect: "SELECT $year")
    with pytest.raises(SpecError, match=r"q03.sql: no value for its parameter \$year"):
        queries.text(3, {}, "postgres")


def test_values_become_literals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "template", lambda number, dialect: "SELECT $year, $county")
    assert queries.text(3, {"year": 2001, "county": "O'Brien"}, "postgres") == "SELECT 2001, 'O''Brien'"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("dialects: [oracle]", "is not allowed; Allowed: duckdb, greenplum, postgres"),
        ("dialects: []", "is empty; name at least one"),
        ("queries: [100]", "must be less than or equal to 99"),
        ("because: x", "unknown key"),
        ('find: ""', "is empty; write a text"),
        ("replace: a", "find and replace are the same"),
    ],
)
def test_a_wrong_file_is_refused_with_the_line(tmp_path: Path, line: str, says: str) -> None:
    keys = {"queries": "[1]", "dialects": "[duckdb]", "find": "a", "replace": "b", "why": "c"}
    name, value = line.split(": ")
    text = "changes:\n  - " + "\n    ".join(f"{key}: {given}" for key, given in (keys | {name: value}).items())
    (tmp_path / "changes.yaml").write_text(text + "\n")
    with pytest.raises(SpecError, match=rf"changes.yaml:\d+: changes.0.*{says}"):
        load(tmp_path / "changes.yaml", Changes)


def test_the_table_of_changes_in_the_docs_is_the_file() -> None:
    page = (project_root() / "docs" / "tpcds.md").read_text()
    shown = [line for line in page.splitlines() if line.startswith("| q") and not line.startswith("| query ")]
    assert shown == [_row(one) for one in queries.changes()]


def _row(one: Change) -> str:
    numbers = ", ".join(f"q{number:02}" for number in one.queries)
    dialects = "all" if len(one.dialects) == len(get_args(queries.Dialect)) else ", ".join(one.dialects)
    cells = [numbers, dialects, *(f"`{' '.join(text.split())}`" for text in (one.find, one.replace)), one.why]
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
