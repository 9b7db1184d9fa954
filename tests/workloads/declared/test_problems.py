"""What is wrong with a folder is told with file, line, field and remedy; what is hostile is refused."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.errors import SpecError
from clusterbench.cli.main import main
from clusterbench.spec.by_name import workload_folder_problems, workload_names
from clusterbench.spec.catalog import Catalog
from clusterbench.workloads import load_workload, measurement_kinds
from clusterbench.workloads.declared import answer_files
from clusterbench.workloads.declared.folder import read
from tests.declared import add_workload, project_with

WORKLOAD = """
    workload: shop
    title: Shop
    description: Lookups.
    driven_by: clients
    factors:
      rows: {title: rows, from: 1, to: 1000000, size: true, default: 1000}
    tables:
      items: {columns: {id: bigint NOT NULL, name: text}, key: [id], rows: $rows, rows_by: items.sql}
    parameters:
      id: {range: [1, $rows]}
    statements:
      one: {}
    answers: duckdb
"""
FILES = {
    "workload.yaml": WORKLOAD,
    "items.sql": "SELECT id, 'item ' || id FROM $ids AS ids(id)",
    "one.sql": "SELECT name FROM items WHERE id = $id",
}
EXPERIMENT = """
    experiment: shop
    title: Shop
    description: Lookups.
    platforms: [lab_db1]
    seed: 1
    sweeps:
      clients:
        title: By clients
        workload: shop
        factors:
          clients: {smoke: [1], laptop: [1], full: [1]}
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return project_with(tmp_path, monkeypatch, "shop", FILES, EXPERIMENT)


def change(root: Path, file: str, text: str) -> None:
    path = root / "include/sql/shop" / file
    path.write_text(textwrap.dedent(text))


def problems(root: Path) -> list[str]:
    said = workload_folder_problems()
    assert all(each.startswith(f"{root}/include/sql/shop/workload.yaml:") for each in said), said
    return [each.removeprefix(f"{root}/include/sql/shop/workload.yaml:") for each in said]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("a: {row_of: id, choice: [1, 2]}", "row_of: 'id' must be declared in the same place, with a 'choice'"),
        ("c: {choice: [1]}\n      d: {row_of: c, choice: [1, 2]}", "row_of: 'c' has 1 choices, and here are 2"),
        ("a: {row_of: c, column: 2}\n      c: {query: one.sql}", "is made of 'c', which is not declared before it"),
        (
            "c: {choice: [1]}\n      d: {row_of: c, column: 2}",
            "row_of: 'c' must be declared in the same place, with a 'query'",
        ),
    ],
)
def test_what_is_of_the_same_row_names_something_that_has_rows(root: Path, said: str, problem: str) -> None:
    change(root, "workload.yaml", WORKLOAD.replace("    parameters:\n", f"    parameters:\n      {said}\n"))
    assert any(problem in one for one in problems(root)), problems(root)


def test_files_of_answers_name_what_the_answers_depend_on(root: Path) -> None:
    change(root, "workload.yaml", WORKLOAD.replace("answers: duckdb", "answers: file"))
    (said,) = problems(root)
    assert "answers: there is no file one.answers.csv beside workload.yaml" in said
    change(root, "one.answers.csv", "$id,$rows,name\n1,1000,item 1\n2,1000.0,item 2\n")
    assert problems(root) == []
    folder = read(root / "include/sql/shop/workload.yaml")
    assert answer_files.answer(folder, "one", {"id": "2", "rows": "1000"}) == [["item 2"]]
    assert answer_files.answer(folder, "one", {"id": "3", "rows": "1000"}) is None
    change(root, "one.answers.csv", "$id,$row,name\n1,1000\n")
    said = " ".join(problems(root))
    assert "one.answers.csv: unknown column $row; did you mean 'rows'?" in said
    assert "has no column $rows, on which the answer depends" in said
    assert "line 2: has 2 cells, where the first line names 3 columns" in said


def test_what_is_to_be_filled_in_is_a_problem_and_placeholders_may_stand_side_by_side(root: Path) -> None:
    change(root, "workload.yaml", WORKLOAD.replace("range: [1, $rows]", "fill_in: a LIKE"))
    (said,) = problems(root)
    assert "parameters.id: no values are given yet (a LIKE); name a range, a choice" in said
    change(root, "workload.yaml", WORKLOAD)
    change(root, "one.sql", "SELECT name FROM items WHERE id IN ($id,$id,$rows) OR $id||$id = ''")
    assert problems(root) == []
    change(root, "one.sql", "SELECT name FROM items WHERE id IN ($id,$id) \\! ls")
    assert "a backslash outside of quotes" in problems(root)[0]


def test_objects_need_a_connection_and_nothing_else_does(root: Path) -> None:
    by_hand = WORKLOAD.replace("rows_by: items.sql", "loaded_from: LOADED").replace("duckdb", "none")
    for loaded, told in (
        (
            "{files: ['s3://shop/items.csv'], format: csv}",
            "name Airflow's connection (type aws) with the keys to s3://",
        ),
        ("{files: [/items.csv], format: csv, connection: mine}", "these are paths; take it out"),
        ("{files: [/a.csv, 's3://shop/b.csv'], format: csv, connection: mine}", "or all must be objects"),
        ("{files: ['http://shop/items.csv'], format: csv}", "files"),
    ):
        change(root, "workload.yaml", by_hand.replace("LOADED", loaded))
        assert told in " ".join(workload_folder_problems()), workload_folder_problems()
    change(
        root,
        "workload.yaml",
        by_hand.replace("LOADED", "{files: ['s3://a/*/b.parquet'], format: parquet, connection: m}"),
    )
    assert problems(root) == []


def test_a_folder_that_is_dropped_in_is_known_everywhere(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "shop" in workload_names() and problems(root) == []
    assert Catalog(root).lint() == []
    assert "one_ms_p99" in measurement_kinds() and "two_ms_p99" not in measurement_kinds()
    assert [experiment.experiment for experiment, _ in Catalog(root).experiments("shop")] == ["shop"]
    change(root, "workload.yaml", WORKLOAD.replace("one: {}", "one: {}\n      two: {}"))
    change(root, "two.sql", "SELECT 2")
    assert "two_ms_p99" in measurement_kinds()
    assert main(["plan", "shop", "--scale", "smoke"]) == 0
    assert "130,000 B" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("workload: shop", "workload: store", "2: workload: the name 'store' differs from the folder's; write 'shop'"),
        ("title: Shop", "titel: Shop", "3: titel: unknown key"),
        ("driven_by: clients", "driven_by: client", "5: driven_by: 'client' is not allowed; did you mean 'clients'?"),
        ("rows: $rows,", "rows: $row,", "9: tables.items.rows: unknown factor 'row' of size; did you mean 'rows'?"),
        ("rows: $rows,", "rows: many,", "must be a number, '$factor' or '10 * $factor', found 'many'"),
        ("key: [id]", "key: [ident]", "key: the table has no column 'ident'"),
        (", rows_by: items.sql", "", "9: tables.items: it is not declared where its rows come from"),
        ("rows_by: items.sql", "rows_by: ../x.sql", "must be the name of a file in the workload's own folder"),
        ("rows_by: items.sql", "rows_by: /etc/passwd", "must be the name of a file in the workload's own folder"),
        ("rows_by: items.sql", "rows_by: items.txt", "tables.items.rows_by: items.txt: a file of SQL ends with .sql"),
        ("rows_by: items.sql", "rows_by: item.sql", "there is no file 'item.sql' beside workload.yaml; did you mean"),
        ("{columns:", "{existing: a.b, columns:", "existing: the table is used as it is"),
        ("range: [1, $rows]", "range: [1, $size]", "11: parameters.id: unknown factor 'size'"),
        ("id: {range: [1, $rows]}", "id: {text: '{name}'}", "is made of 'name', which is not declared before it"),
        ("id: {range", "client_id: {range", "11: parameters.client_id: the name is taken"),
        ("id: {range", "a__b: {range", "two underscores in a row"),
        ("id: {range", "rows: {range", "there is a factor of that name"),
        ("range: [1, $rows]", "choice: ['12:x']", "pgbench would take ':x' for a variable, also within quotes"),
        ("range: [1, $rows]", 'choice: ["a\\nb"]', "holds a line break or the like"),
        ("one: {}", "two: {}", "13: statements.two: there is no file two.sql beside workload.yaml"),
        ("one: {}", "latency: {}", "statements.latency: the name is taken"),
        ("one: {}", "one: {title: 'x */ y'}", "statements.one.title: "),
        ("range: [1, $rows]", "query: items.sql", "answers: DuckDB cannot be asked what a parameter's 'query' answers"),
        ("one: {}", "all: {}", "statements.all: the name is taken"),
        ("answers: duckdb", "orders: [[one]]", "14: orders: workloads that are driven by 'clients' have none"),
        ("answers: duckdb", "mixes: {a: {ones: 1}}", "14: mixes.a: unknown statement 'ones'; did you mean 'one'?"),
        (
            "answers: duckdb",
            "changes: [item]",
            "14: changes: 'item' is not a table that this workload makes; did you mean",
        ),
        ("answers: duckdb", "checks: {c: one.sql}", "14: checks.c: one.sql: unknown placeholder $id"),
        ("default: 1000", "default: 0", "7: factors.rows.default: 0 is not allowed; allowed: 1 to 1e+06"),
        ("default: 1000", "default: x", "7: factors.rows.default: 'x' is not allowed"),
    ],
)
def test_what_is_wrong_in_the_file_is_told_with_its_line(root: Path, before: str, after: str, problem: str) -> None:
    assert before in WORKLOAD
    change(root, "workload.yaml", WORKLOAD.replace(before, after))
    found = problems(root)
    assert any(problem in each for each in found), found


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("one.sql", "SELECT name FROM items WHERE id = $ident", "unknown placeholder $ident; Allowed: id, rows"),
        ("one.sql", "SELECT 1, '$'", "a '$' without a name; write '$$'"),
        ("one.sql", "SELECT 1 \\! touch /tmp/x", "one.sql: line 1: a backslash outside of quotes"),
        ("one.sql", "SELECT '12:name'", "':name' would be a variable of pgbench, also within quotes"),
        ("one.sql", "", "holds no statement"),
        ("one.sql", "SELECT 'a", "is not SQL"),
        ("items.sql", "DELETE FROM items", "items.sql: must be a SELECT"),
        ("items.sql", "SELECT 1; SELECT 2", "holds 2 statements, but one is expected"),
        ("one.greenplum.sql", "SELECT \\g", "one.greenplum.sql: line 1: a backslash"),
        ("one.sql", "x" * 1_000_001, "'one.sql' has 1,000,001 bytes; 1,000,000 are allowed"),
    ],
)
def test_what_is_wrong_in_the_files_beside_it_is_told(root: Path, file: str, text: str, problem: str) -> None:
    change(root, file, text)
    found = problems(root)
    assert any(problem in each for each in found), found


def test_a_link_out_of_the_folder_is_not_followed(root: Path) -> None:
    path = root / "include/sql/shop/one.sql"
    path.unlink()
    path.symlink_to("/etc/hostname")
    said = "13: statements.one: one.sql: 'one.sql' leads out of the workload's folder; put the file itself there"
    assert said in problems(root)


def test_a_placeholder_cannot_end_a_quote(root: Path) -> None:
    """What begins a quote as it is written, ``$id$``, is none when the value stands there."""
    change(root, "one.sql", "SELECT $id$ \\! touch /tmp/x $id$")
    assert any("a '$' without a name" in each for each in problems(root))
    change(root, "one.sql", "SELECT $id$$ \\! touch /tmp/x $id$$ AS x$id$$")
    folder = load_workload("shop").folder  # type: ignore[attr-defined]
    with pytest.raises(SpecError, match="a backslash outside of quotes"):
        folder.statements("one", "postgres", {"id": 5})


def test_a_folder_with_a_mistake_does_not_take_others_with_it(root: Path) -> None:
    change(root, "workload.yaml", "workload: [")
    assert "throughput_per_s" in measurement_kinds()
    (said,) = [each for each in Catalog(root).lint() if "is not YAML" in each and "experiments" in each]
    assert (
        f"{root}/dags/experiments/shop.yaml:10: sweeps.clients.workload: {root}/include/sql/shop/workload.yaml:" in said
    )


def test_the_name_of_a_module_is_taken(root: Path) -> None:
    add_workload(root, "full_scan", {"workload.yaml": WORKLOAD.replace("shop", "full_scan")})
    (said,) = [each for each in workload_folder_problems() if "built in" in each]
    assert "'full_scan' is built in as a module; call the folder otherwise" in said


TOGETHER = """
    workload: both
    title: Both
    description: Lookups beside lookups.
    driven_by: together
    parts: {first: {workload: shop}, beside: {workload: ycsb}}
"""


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("parts:", "parts:", ""),
        (", beside: {workload: ycsb}", "", "parts: name at least two workloads that run together"),
        ("ycsb", "yscb", "6: parts.beside.workload: unknown workload 'yscb'; did you mean 'ycsb'?"),
        ("ycsb", "ch_benchmark", "6: parts.beside.workload: 'ch_benchmark' is itself made of others"),
        ("parts:", "answers: none\n    parts:", "answers: is for each part's own workload to say"),
    ],
)
def test_workloads_that_run_together_are_there_and_are_no_such_themselves(
    root: Path, before: str, after: str, problem: str
) -> None:
    path = add_workload(root, "both", {"workload.yaml": TOGETHER.replace(before, after)})
    found = [each for each in workload_folder_problems() if str(path) in each]
    assert any(problem in each for each in found) if problem else found == []


def test_parts_keep_their_factors_apart(root: Path) -> None:
    add_workload(root, "both", {"workload.yaml": TOGETHER})
    both: Any = load_workload("both")
    assert {"clients", "rows", "window_s", "beside_clients", "beside_mix"} <= set(both.factors)
    assert "beside_cache" not in both.factors and "beside_rows" not in both.factors
    assert [name for name, factor in both.factors.items() if factor.is_concurrency] == ["clients"]
    assert {"one_ms_p99", "throughput_per_s", "beside_throughput_per_s", "beside_read_ms_p99"} <= set(both.measurements)
