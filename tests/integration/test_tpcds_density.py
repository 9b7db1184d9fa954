"""The study of VM density on real PostgreSQL: a valid run, wrong answers, a query past its limit, a hundred streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from clusterbench.base.connections import from_file
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.engines import as_database
from clusterbench.hosts import telemetry
from clusterbench.hosts.fleet import Fleet
from clusterbench.report.run.page import render_report
from clusterbench.results.windows import is_short
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.trial.protocol import run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads.tpcds import queries as queries_module
from clusterbench.workloads.tpcds import selection
from clusterbench_lab import Lab
from tests.integration.helpers import generated_run, on_testbed

pytestmark = [pytest.mark.lab, pytest.mark.long]
PLATFORM = "lab_db1"


@pytest.fixture(scope="module")
def run(lab: Lab) -> Iterator[Run]:
    """A run of the experiment at smoke scale on one platform, ready for its trials to be measured."""
    lab.up(airflow=False)  # mends what another test took down
    there = from_file(lab.lab_dir / "connections.json")
    with generated_run(there, "tpcds_density", PLATFORM, sweeps=["lite"]) as made:
        steps.validate_data(made, PLATFORM)
        yield made


@pytest.fixture
def testbed(run: Run) -> Iterator[Testbed]:
    with on_testbed(run, PLATFORM) as made:
        yield made


def another(run: Run, name: str, **levels: Any) -> Trial:
    """The run's first trial with other levels, and by itself."""
    first, *_ = run.plan().trials[PLATFORM]
    return replace(first, id=f"{name}.r1", label=name, levels=first.levels | levels, ramp="", give_up_after=None)


def queries(record: TrialRecord) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = record.evidence["driver"]["queries"]
    return found


def test_the_study_is_valid_and_stands_beside_the_paper_s(run: Run) -> None:
    for trial in run.plan().trials[PLATFORM]:
        record = steps.measure(run, PLATFORM, trial.id)
        assert record.outcome == "completed", record.reason
        streams, rounds = int(trial.levels["streams"]), record.evidence["driver"].get("rounds", 1)
        assert {one["stream"] for one in queries(record)} == set(range(1, streams + 1))
        assert len(queries(record)) == 51 * streams and record.samples == 51 * streams * rounds
        assert not is_short(record), record
    steps.release_cluster(run, PLATFORM)
    steps.summarise(run)
    steps.validate_results(run)
    verdicts = run.archive.need_json("verdicts.json")
    assert verdicts["valid"], [verdict for verdict in verdicts["verdicts"] if not verdict["passed"]]
    page = render_report(run.archive, run.catalog)
    assert "lite: the 51 fastest queries in every stream" in page
    assert "What hosts and sessions did over a series" in page


def test_a_query_past_its_limit_is_named_and_the_others_go_on(
    run: Run, testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = telemetry.start
    with testbed.engine.connect() as connection:  # type: ignore[attr-defined]

        def lock_and_begin(fleet: Fleet, name: str, *beside: Mapping[str, str]) -> None:
            """When the caches are made, and nothing but the driver is still to read the table."""
            connection.execute("BEGIN; LOCK TABLE tpcds_sf0_01.inventory IN ACCESS EXCLUSIVE MODE")
            begin(fleet, name, *beside)

        monkeypatch.setattr(telemetry, "start", lock_and_begin)
        record = run_trial(another(run, "locked", statement_timeout_s=1, window_s=0), testbed)
    assert record.outcome == "timed_out", record.reason
    assert "of stream 1 was ended at its limit, 1.0 s" in record.reason
    late = {one["query"] for one in queries(record) if one["time_s"] is None}
    assert late and late <= {21, 22, 37, 39, 72, 82}, "those that look at the stock"
    assert len(queries(record)) == 51


def test_nothing_runs_on_in_the_server_for_a_driver_that_was_stopped(run: Run, testbed: Testbed) -> None:
    asked = "SELECT count(*) AS sessions FROM pg_stat_activity WHERE application_name = 'clusterbench_driver'"
    record = run_trial(replace(another(run, "stopped", streams=16), timeout_s=2), testbed)
    assert record.outcome == "timed_out"
    assert record.reason == "the driver did not end within its time limit and was stopped"
    assert as_database(testbed.engine).query(asked) == [{"sessions": 0}]


def test_wrong_rows_make_a_trial_invalid(run: Run, testbed: Testbed) -> None:
    with testbed.engine.connect() as connection:  # type: ignore[attr-defined]
        connection.execute("UPDATE tpcds_sf0_01.item SET i_item_desc = reverse(i_item_desc)")
        try:
            record = run_trial(another(run, "changed"), testbed)
        finally:
            connection.execute("UPDATE tpcds_sf0_01.item SET i_item_desc = reverse(i_item_desc)")
    assert record.outcome == "invalid", record.reason
    assert record.reason.startswith("wrong answer to query ")
    assert "(expected: DuckDB over the same rows)" in record.reason


def test_a_hundred_streams_are_a_hundred_sessions_and_cost_the_driver_a_tenth_of_a_processor(
    run: Run, testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By ten queries of middling length: at this scale factor those of lite take 10 ms, as in no study."""
    middling = sorted(queries_module.QUERIES, key=lambda query: selection.lite().time_s[query])[60:70]
    monkeypatch.setattr(selection, "queries_of", lambda _: middling)
    record = run_trial(another(run, "hundred", streams=100, window_s=0), testbed)
    assert record.outcome == "completed", record.reason
    assert (record.samples, record.errors) == (1000, 0)
    assert record.measurements["driver_cores"] <= 0.1
