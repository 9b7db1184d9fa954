"""Plans of statements on a real PostgreSQL: archived with a run, asked for without one, and told where they changed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from clusterbench.base.connections import Connections
from clusterbench.cli import main
from clusterbench.hosts import facts
from clusterbench.results.compare import compare
from clusterbench.results.gather import read_run
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.workloads.key_value.key_value import index_of
from clusterbench_lab import Lab
from tests.integration.helpers import generated_run, new_run, on_testbed
from tests.integration.planted import first_line

pytestmark = pytest.mark.lab
TABLE = "datajson_10000"
ASKED = {"sweeps": ["lookups"], "concurrency": [1], "repetitions": 1}
COMMAND = ["plans", "smoke", "--scale", "smoke", "--platform", "lab_db1", "--sweep", "lookups", "--concurrency", "1"]


def measured(connections: Connections, *, without_index: bool = False) -> Run:
    """Without one that helps: residency is asked of an index of that name."""
    with generated_run(connections, "smoke", "lab_db1", **ASKED) as run:
        trials = steps.validate_data(run, "lab_db1")
        if without_index:
            execute(run, f"DROP INDEX {index_of(TABLE)}; CREATE INDEX {index_of(TABLE)} ON {TABLE} ((jkeynum + 0))")
        assert {steps.measure(run, "lab_db1", trial.id).outcome for trial in trials} == {"completed"}
    steps.summarise(run)
    return run


def execute(run: Run, command: str) -> None:
    with run.testbed("lab_db1") as testbed:
        testbed.engine.execute(command)


@pytest.fixture(autouse=True)
def of_lab(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line looks there."""
    monkeypatch.setenv("CLUSTERBENCH_LAB_DIR", str(lab.lab_dir))


@pytest.fixture
def spoiled(connections: Connections) -> Iterator[None]:
    """The table is made anew for the next test."""
    yield
    execute(new_run(connections), f"DROP TABLE IF EXISTS {TABLE}")


@pytest.mark.usefixtures("spoiled")
@pytest.mark.long
def test_an_index_that_was_dropped_is_told_by_the_plan_that_changed(
    connections: Connections, capsys: pytest.CaptureFixture[str]
) -> None:
    before = measured(connections)
    (result, *_) = read_run(before.archive).results
    (plan,) = before.archive.plans("lab_db1", result.cell).values()
    assert plan.startswith(f"Index Scan using {index_of(TABLE)} on {TABLE}  (cost=")
    record = before.archive.trials()[0]
    assert record.evidence["plans"] == result.plans and list(result.plans) == ["lookup"]

    name = f"{before.experiment}/{before.run_id}"
    assert main.main([*COMMAND, "--with", name]) == 0
    assert f"Plans that differ from {name}: 0; the same: 2." in capsys.readouterr().out

    after = measured(connections, without_index=True)
    assert main.main([*COMMAND, "--with", name]) == 1
    said = capsys.readouterr().out
    assert f"Index Scan using {index_of(TABLE)}" in said and f"Seq Scan on {TABLE}" in said, said
    assert main.main([*COMMAND, "--json"]) == 0
    (one, _) = json.loads(capsys.readouterr().out)["plans"]
    assert "Seq Scan" in one["plans"]["lookup"]["plan"]

    (pair,) = compare([read_run(before.archive)], [read_run(after.archive)]).pairs
    (told,) = pair.plans
    assert len(told.labels) == 2, "the cold cell and the warm one"
    assert str(told.change) == (
        f"the plan of lookup changed: Index Scan using {index_of(TABLE)} on {TABLE} -> Seq Scan on {TABLE}"
    )
    assert told.a.startswith("Index Scan") and told.b.startswith("Seq Scan")


def test_plans_of_data_that_are_not_there_are_told_to_need_a_run(
    connections: Connections, capsys: pytest.CaptureFixture[str]
) -> None:
    execute(new_run(connections), f"DROP TABLE IF EXISTS {TABLE}")
    assert main.main([*COMMAND]) == 1
    assert f"{TABLE} is not there; a run generates it" in capsys.readouterr().out


def test_a_setting_that_somebody_changed_is_the_first_line_of_why(connections: Connections) -> None:
    with on_testbed(new_run(connections)) as testbed:
        hosts = facts.hosts(testbed.fleet)
        before = testbed.engine.facts()
        testbed.engine.execute("ALTER SYSTEM SET random_page_cost = 40")
        testbed.engine.execute("SELECT pg_reload_conf()")
        try:
            until = time.monotonic() + 20
            while (after := testbed.engine.facts())["settings"] == before["settings"]:
                assert time.monotonic() < until, "the server did not read its configuration again"
        finally:
            testbed.engine.execute("ALTER SYSTEM RESET random_page_cost")
            testbed.engine.execute("SELECT pg_reload_conf()")
        line = first_line(testbed.platform, ({"hosts": hosts, "engine": before}, {"hosts": hosts, "engine": after}))
    assert line == "Facts that changed there: random_page_cost (engine): server's default \u2192 40."


def test_a_plan_by_stale_statistics_is_the_first_line_of_why(connections: Connections) -> None:
    """Statistics of ten rows, and then a hundred thousand: the planner goes on as for ten."""
    statement = {"orders": "SELECT * FROM stale a JOIN stale b USING (id) WHERE a.day = 1"}
    with on_testbed(new_run(connections)) as testbed:
        hosts, engine = facts.hosts(testbed.fleet), testbed.engine
        engine.execute("DROP TABLE IF EXISTS stale")
        engine.execute("CREATE TABLE stale (id int PRIMARY KEY, day int) WITH (autovacuum_enabled = false)")
        engine.execute("INSERT INTO stale SELECT id, id % 100 FROM generate_series(1, 100000) id")
        engine.execute("ANALYZE stale")
        fresh = engine.explain(statement)
        engine.execute("DELETE FROM stale WHERE id > 10")
        engine.execute("ANALYZE stale")
        engine.execute("INSERT INTO stale SELECT id, id % 100 FROM generate_series(11, 100000) id")
        stale = engine.explain(statement)
        engine.execute("DROP TABLE stale")
        line = first_line(testbed.platform, ({"hosts": hosts}, {"hosts": hosts}), (fresh, stale))
    assert line.startswith("The plan of orders changed: "), line
