"""What clients send: scripts of pgbench, and the same as the server is asked for its plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterbench.base.plans import Prepared
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.plan import make_plan, read_choices
from clusterbench.workloads.declared import clients
from clusterbench.workloads.declared.folder import read
from tests.declared import project_with
from tests.workloads.declared.test_problems import EXPERIMENT, FILES, WORKLOAD

CHOICE = "    parameters:\n      name: {choice: [a, b, c]}\n      limit: {choice: [1, 2, 3]}\n"


def test_statements_begin_with_their_title_and_are_planned_as_clients_prepare_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = WORKLOAD.replace("    parameters:\n", CHOICE).replace("one: {}", "one: {title: 'of a key: one'}")
    sql = "BEGIN; SELECT name::text FROM items WHERE id = $id AND name > $name LIMIT $limit; COMMIT"
    root = project_with(tmp_path, monkeypatch, "shop", {**FILES, "workload.yaml": said, "one.sql": sql}, EXPERIMENT)
    catalog = Catalog(root)
    experiment = catalog.experiment("shop")
    (trials,) = make_plan(experiment, read_choices(experiment, {"scale": "smoke"}), catalog).trials.values()
    folder = read(root / "include/sql/shop/workload.yaml")
    made = clients.scripts(folder, trials[0], "postgres", {})["one"]
    begin, text, commit = made.lines[-3:]
    assert (begin, commit) == ("BEGIN;", "COMMIT;")
    assert text.startswith("/* of a key one */ SELECT name::text FROM items WHERE id = :id AND name > (CAST(")
    planned = clients.prepared(folder, trials[0], "postgres", {})["one"]
    assert isinstance(planned, Prepared)
    assert planned.text == (
        "/* of a key one */ SELECT name::text FROM items "
        "WHERE id = $1 AND name > (CAST(ARRAY['a', 'b', 'c'] AS text[]))[1 + $2] "
        "LIMIT (CAST(ARRAY[1, 2, 3] AS integer[]))[1 + $3]"
    )
    assert len(planned.executions) == 6
    assert all(1 <= key <= 1000 and {name, limit} <= {0, 1, 2} for key, name, limit in planned.executions)
