"""What sessions wait for, on a real PostgreSQL: a lock that somebody holds is named, and nothing is left behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from clusterbench.base.connections import Connections
from clusterbench.base.errors import EngineError
from clusterbench.trial.protocol import run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import load_workload
from tests.integration.helpers import dataset, new_run, on_testbed, trial, wait_for

pytestmark = pytest.mark.lab
HELD_S, CLIENTS = 2.0, 4
SESSIONS = "SELECT count(*) AS n FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query"
OF_DRIVERS = f"{SESSIONS} LIKE 'SELECT jsonraw%'"
OF_WATCH = f"{SESSIONS} LIKE '%pg_stat_activity%'"


@pytest.fixture
def testbed(connections: Connections) -> Iterator[Testbed]:
    with on_testbed(new_run(connections), watch_sessions=True) as testbed:
        load_workload("key_value").generate(dataset(), testbed.engine)
        testbed.engine.facts()
        yield testbed


def hold_a_lock(testbed: Testbed) -> None:
    """From the time on when all clients have looked something up."""
    wait_for(lambda: testbed.engine.query(OF_DRIVERS)[0]["n"] == CLIENTS, "the driver's sessions")
    with testbed.engine.connect() as session, session.transaction():  # type: ignore[attr-defined]
        session.execute("SET LOCAL application_name = 'somebody'")
        session.execute(f"LOCK TABLE {dataset().table} IN ACCESS EXCLUSIVE MODE")
        time.sleep(HELD_S)


def test_a_lock_that_somebody_holds_is_what_sessions_waited_for(testbed: Testbed) -> None:
    locker = threading.Thread(target=hold_a_lock, args=[testbed])
    locker.start()
    record = run_trial(trial(clients=CLIENTS, window_s=5), testbed)
    locker.join()
    assert record.outcome == "completed", record.reason
    waits = record.evidence["waits"]
    assert waits["looks"] >= 10
    locked = sum(wait["sessions"] for wait in waits["waits"] if (wait["type"], wait["event"]) == ("Lock", "relation"))
    assert 0.5 < locked <= CLIENTS, waits
    of_somebody = [one for one in waits["held_by"] if one["application"] == "somebody"]  # and perhaps its COMMIT
    (holder,) = [one for one in of_somebody if one["statement"].startswith(f"LOCK TABLE {dataset().table}")]
    assert holder["looks"] >= 5
    assert record.measurements["sessions_waiting_for_locks"] == pytest.approx(locked, abs=0.01)
    assert record.measurements["wal_mb"] >= 0 and record.measurements["temporary_mb"] == 0
    wait_for(lambda: testbed.engine.query(OF_WATCH)[0]["n"] == 0, "the end of the session that looked")


def test_nobody_looks_where_the_platform_s_file_does_not_ask_for_it(connections: Connections) -> None:
    with on_testbed(new_run(connections)) as testbed:
        load_workload("key_value").generate(dataset(), testbed.engine)
        testbed.engine.facts()
        record = run_trial(trial(clients=2, window_s=1), testbed)
    assert record.outcome == "completed" and "waits" not in record.evidence
    assert "sessions_on_cpu" not in record.measurements and "checkpoints" in record.measurements


def test_what_the_server_counted_of_each_statement_is_in_the_record(connections: Connections) -> None:
    settings = {"shared_preload_libraries": "pg_stat_statements"}
    with on_testbed(new_run(connections), settings=settings, may=["restart", "engine_settings"]) as testbed:
        load_workload("key_value").generate(dataset(), testbed.engine)
        testbed.engine.facts()
        assert testbed.engine.statement_totals() == {}, "not installed"
        with pytest.raises(EngineError, match=r"has no extension pg_stat_statements.*or give a file of statements by"):
            testbed.engine.heaviest_statements(10)
        testbed.engine.execute("CREATE EXTENSION pg_stat_statements")
        try:
            assert testbed.engine.statement_totals() == {}, "installed, and not loaded at start"
            testbed.engine.set_up()
            record = run_trial(trial(clients=2), testbed)
            heavy = testbed.engine.heaviest_statements(10)
            testbed.engine.tear_down()
        finally:
            testbed.engine.execute("DROP EXTENSION pg_stat_statements")
    assert record.outcome == "completed", record.reason
    (lookups,) = [
        one for one in record.evidence["after"]["statements"] if one["statement"].startswith("SELECT jsonraw")
    ]
    assert "$1" in lookups["statement"]
    assert lookups["calls"] == lookups["rows"] > record.samples == 100, "with those of the warm-up"
    assert lookups["time_ms"] > 0 and lookups["temporary_bytes"] == 0
    assert "statement_totals" not in record.evidence, "running totals of all are in before.json"
    (found,) = [one for one in heavy if one.query.startswith("SELECT jsonraw")]
    assert found.calls >= lookups["calls"] and found.time_ms > 0
    assert not [one.query for one in heavy if one.query.startswith(("SET", "BEGIN", "CREATE", "COPY"))]
