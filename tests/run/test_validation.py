"""No expectation is dead: every suite passes on good rows, and fails on rows broken in each single way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.hosts.conformance import Row
from clusterbench.results.statistics import results
from clusterbench.results.verdicts import Verdict
from clusterbench.run import validation
from clusterbench.run.validation import validate
from clusterbench.spec.catalog import Catalog

LATENCIES = {"latency_ms_p50": 1.0, "latency_ms_p95": 2.0, "latency_ms_p99": 3.0, "latency_ms_p999": 3.0}


def trial(repetition: int = 1) -> Trial:
    return Trial(f"a.r{repetition}", f"a (#{repetition})", "p", "a", "key_value", {"clients": 4}, repetition, 7, 60, {})


def record(repetition: int = 1, **changed: Any) -> TrialRecord:
    """A good trial, as ``trial/protocol.py`` writes it."""
    parts: dict[str, Any] = {
        "outcome": "completed",
        "reason": "",
        "measurements": {
            "throughput_per_s": 100.0 + repetition,
            **LATENCIES,
            "latency_ms_max": 9.0,
            "driver_cpu_share": 0.1,
        },
        "samples": 200,
        "evidence": {"caches": {"state": "warm", "problem": None}, "telemetry_missing": []},
        "telemetry": {"db": {"samples": 2, "cpu_percent_before": 3.0, "mean": {"cpu_steal_percent": 0.1}}},
        "driver_starts": 1,
    }
    return TrialRecord(trial(repetition), **(parts | changed))


def measurement_rows(**changed: Any) -> list[dict[str, Any]]:
    """Rows of twenty trials, one of them broken."""
    rows = validation.measurement_rows([record(number) for number in range(1, 21)])
    return [*rows[:-1], rows[-1] | changed]


def data_rows(**changed: Any) -> list[dict[str, Any]]:
    good = {
        "table": "datajson_1000",
        "rows_expected": 1000,
        "row_count": 1000,
        "key_min": 1,
        "key_max": 1000,
        "duplicate_keys": 0,
        "documents_with_wrong_key": 0,
        "row_skew": 0.003,
        "row_skew_max": 0.09,
        "checksum": "57641760417402373594753",
        "checksum_expected": "57641760417402373594753",
    }
    return [good, {**good, **changed}]


def setting_rows(**changed: Any) -> list[dict[str, Any]]:
    facts = {"engine": {"version": "PostgreSQL 15.18"}}
    row = Row("engine", "fsync", "on", "on", "as declared")
    rows = validation.conformance_rows({"lab_db1": facts}, {"lab_db1": {"rows": [row.as_json()]}})
    return [*rows[:-1], rows[-1] | changed]


def result_rows(**changed: Any) -> list[dict[str, Any]]:
    planned = {"p": [trial(number) for number in (1, 2, 3)]}
    return [row | changed for row in validation.result_rows(results(planned, [record(number) for number in (1, 2, 3)]))]


GOOD = {"key_value": data_rows, "measurements": measurement_rows, "platforms": setting_rows, "results": result_rows}

BROKEN: list[tuple[str, dict[str, Any], str]] = [
    ("key_value", {"row_count": 999}, "The table has as many rows as were asked for"),
    ("key_value", {"key_min": 0}, "Keys begin at 1"),
    ("key_value", {"key_max": 1001}, "Keys end at the number of rows"),
    ("key_value", {"duplicate_keys": 1}, "Every key is there once"),
    ("key_value", {"documents_with_wrong_key": 1}, "Every document parses as JSON and its id is its key"),
    ("key_value", {"row_skew": 0.1}, "The rows are spread evenly over the segments"),
    ("key_value", {"checksum": "57641760417402373594754"}, "The checksum is that of the same rows"),
    ("measurements", {"outcome": "invalid"}, "No trial is invalid"),
    ("measurements", {"outcome": "unheard_of"}, "No trial is invalid"),
    ("measurements", {"answers_problem": "wrong answer for key 7"}, "The driver's session gave the right answers"),
    ("measurements", {"cache_problem": "not cold"}, "The caches were in the state that each trial names"),
    ("measurements", {"driver_starts": 2}, "No driver was started twice"),
    ("measurements", {"errors": 1}, "Completed trials have no errors"),
    ("measurements", {"smallest_measurement": -0.001}, "No measurement is negative"),
    ("measurements", {"latencies_in_order": False}, "Percentiles of latency rise"),
    ("platforms", {"verdict": "different"}, "Settings read back from hosts and servers are those declared"),
    ("results", {"recorded": 2}, "Every planned trial has a record"),
    ("results", {"completed_or_explained": 2}, "What did not complete has its reason"),
    ("results", {"median_inside_interval": False}, "Every median lies inside its 95 % interval"),
]
BROKEN_IN_MANY: list[tuple[str, dict[str, Any], str]] = [
    ("measurements", {"was_watched": False}, "Client and database were watched"),
]
WARNINGS: list[tuple[str, dict[str, Any], str]] = [
    ("measurements", {"driver_cpu_share": 0.95}, "The load driver was not the bottleneck"),
    ("measurements", {"cpu_percent_before": 90.0}, "Hosts were quiet before nine of ten trials"),
    ("measurements", {"cpu_steal_percent": 20.0}, "Little was stolen by other guests"),
    ("measurements", {"hosts_without_telemetry": 1}, "Every host was watched"),
    ("measurements", {"swap_mb_per_s": 3.5}, "No host swapped"),
    ("results", {"planned": 2, "recorded": 2, "completed_or_explained": 2}, "At least three repetitions"),
]


@pytest.mark.parametrize("suite", GOOD)
def test_good_rows_pass(suite: str) -> None:
    assert [verdict for verdict in validate(suite, GOOD[suite]()) if not verdict.passed] == []


@pytest.mark.parametrize(
    ("suite", "changed", "says"), BROKEN, ids=lambda value: value if isinstance(value, str) else ""
)
def test_row_broken_in_one_way_fails_that_expectation_alone(suite: str, changed: dict[str, Any], says: str) -> None:
    verdicts = validate(suite, GOOD[suite](**changed))
    (failed,) = (verdict for verdict in verdicts if not verdict.passed)
    assert failed.says.startswith(says)
    assert failed.critical
    assert not validation.passed(verdicts)


@pytest.mark.parametrize(("suite", "changed", "says"), BROKEN_IN_MANY)
def test_one_row_may_be_so_and_many_may_not(suite: str, changed: dict[str, Any], says: str) -> None:
    assert validation.passed(validate(suite, GOOD[suite](**changed)))
    verdicts = validate(suite, [row | changed for row in GOOD[suite]()])
    (failed,) = (verdict for verdict in verdicts if not verdict.passed)
    assert failed.says.startswith(says) and failed.critical


@pytest.mark.parametrize(
    ("suite", "changed", "says"), WARNINGS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_warning_is_told_and_does_not_make_a_run_invalid(suite: str, changed: dict[str, Any], says: str) -> None:
    rows = [row | changed for row in GOOD[suite]()]
    verdicts = validate(suite, rows)
    (failed,) = (verdict for verdict in verdicts if not verdict.passed)
    assert failed.says.startswith(says)
    assert not failed.critical
    assert validation.passed(verdicts)


def test_every_expectation_is_broken_by_a_row_above() -> None:
    declared = {
        (path.stem, one["meta"]["says"])
        for path in (project_root() / "expectations").glob("*.json")
        if path.stem in GOOD
        for one in json.loads(path.read_text())["expectations"]
    }
    tried = {(suite, says) for suite, _, says in (*BROKEN, *BROKEN_IN_MANY, *WARNINGS)}
    for suite, says in declared:
        assert any(suite == other and says.startswith(start) for other, start in tried), says


def test_one_noisy_trial_of_twenty_is_no_warning() -> None:
    changed = {"driver_cpu_share": 0.95, "cpu_percent_before": 90.0, "cpu_steal_percent": 20.0}
    assert all(verdict.passed for verdict in validate("measurements", measurement_rows(**changed)))


@pytest.mark.parametrize(
    ("suite", "column"),
    [
        (path.stem, column)
        for path in sorted((project_root() / "expectations").glob("*.json"))
        for column in sorted(
            {
                value
                for one in json.loads(path.read_text())["expectations"]
                for key, value in one["kwargs"].items()
                if key in ("column", "column_A", "column_B")
            }
        )
        if path.stem in GOOD
    ],
)
def test_column_that_is_missing_is_a_failure_and_not_a_pass(suite: str, column: str) -> None:
    rows = [{name: value for name, value in row.items() if name != column} for row in GOOD[suite]()]
    failed = [verdict for verdict in validate(suite, rows) if not verdict.passed]
    assert failed
    for verdict in failed:
        assert verdict.found.startswith("could not be checked: ")
        assert column in verdict.found


@pytest.mark.parametrize("suite", GOOD)
def test_no_rows_are_a_failure_and_not_a_pass(suite: str) -> None:
    (verdict,) = validate(suite, [])
    assert (verdict.passed, verdict.critical, verdict.found) == (False, True, "nothing was recorded")


def test_verdict_says_what_was_found() -> None:
    verdicts = {verdict.says: verdict for verdict in validate("measurements", measurement_rows(outcome="invalid"))}
    outcome = next(verdict for says, verdict in verdicts.items() if says.startswith("No trial is invalid"))
    assert (outcome.suite, outcome.check) == ("measurements", 7)
    assert outcome.found == "1 of 20 trials is invalid"


def test_verdict_can_be_written_and_read() -> None:
    verdict = validate("results", result_rows())[0]
    assert Verdict(**json.loads(json.dumps(verdict.as_json()))) == verdict


def test_table_without_rows_is_not_valid() -> None:
    empty = {"row_count": 0, "key_min": None, "key_max": None, "checksum": "0"}
    failed = {verdict.says for verdict in validate("key_value", data_rows(**empty)) if not verdict.passed}
    assert "The table has as many rows as were asked for" in failed
    assert "Keys end at the number of rows" in failed


# Rows.


def test_trial_that_failed_has_no_measurements_rather_than_zero() -> None:
    (row,) = validation.measurement_rows([record(outcome="failed", reason="down", measurements={}, telemetry={})])
    assert row["smallest_measurement"] is None
    assert row["latencies_in_order"] is None
    assert row["hosts_without_telemetry"] is None
    assert row["driver_cpu_share"] is None
    assert row["cpu_percent_before"] is None


def test_failed_and_inapplicable_trials_do_not_break_the_suite_of_measurements() -> None:
    others = [
        record(2, outcome="failed", reason="down", errors=7, measurements={}, telemetry={}),
        record(3, outcome="not_applicable", reason="no ORCA", measurements={}, telemetry={}, driver_starts=0),
        record(4, outcome="timed_out", reason="late", measurements={}, telemetry={}),
    ]
    assert validation.passed(validate("measurements", validation.measurement_rows([record(), *others])))


def test_run_in_which_nothing_completed_is_judged_without_an_error() -> None:
    rows = validation.measurement_rows([record(outcome="failed", reason="down", measurements={}, telemetry={})])
    verdicts = validate("measurements", rows)
    assert "could not be checked" not in "".join(verdict.found for verdict in verdicts)
    assert validation.passed(verdicts)


def test_percentiles_out_of_order_are_seen() -> None:
    (row,) = validation.measurement_rows([record(measurements={**LATENCIES, "latency_ms_p95": 5.0})])
    assert row["latencies_in_order"] is False


def test_host_without_telemetry_is_counted_however_it_was_lost() -> None:
    empty = record(telemetry={"db": {"samples": 0}, "client": {"samples": 1}})
    absent = record(evidence={"caches": {"problem": None}, "telemetry_missing": ["host 'db': not reached"]})
    assert [row["hosts_without_telemetry"] for row in validation.measurement_rows([empty, absent])] == [1, 1]


def test_busiest_host_is_the_one_that_counts() -> None:
    hosts = {
        "a": {"samples": 1, "cpu_percent_before": 3.0, "mean": {"cpu_steal_percent": 9.0}},
        "b": {"samples": 1, "cpu_percent_before": 80.0, "mean": {"cpu_steal_percent": 1.0}},
        "c": {"samples": 1, "cpu_percent_before": None, "mean": {}},
    }
    (row,) = validation.measurement_rows([record(telemetry=hosts)])
    assert (row["cpu_percent_before"], row["cpu_steal_percent"]) == (80.0, 9.0)


def test_an_invalid_trial_s_reason_is_its_caches_or_its_answers() -> None:
    caches = {"caches": {"problem": "not cold"}}
    (row,) = validation.measurement_rows([replace(record(evidence=caches), outcome="invalid", reason="not cold")])
    assert (row["cache_problem"], row["answers_problem"]) == ("not cold", "none")
    (row,) = validation.measurement_rows([replace(record(), outcome="invalid", reason="wrong answer for key 7")])
    assert (row["cache_problem"], row["answers_problem"]) == ("none", "wrong answer for key 7")


def test_platform_that_was_never_set_up_is_not_valid() -> None:
    assert not validation.passed(validate("platforms", validation.conformance_rows({"lab_db1": {}}, {})))


def test_cell_that_did_not_complete_needs_a_reason() -> None:
    planned = {"p": [trial(number) for number in (1, 2, 3)]}
    without = [record(1), record(2), TrialRecord(trial(3), "failed", "")]
    explained = [record(1), record(2), TrialRecord(trial(3), "failed", "down")]
    assert not validation.passed(validate("results", validation.result_rows(results(planned, without))))
    assert validation.passed(validate("results", validation.result_rows(results(planned, explained))))


def test_trial_that_was_never_run_is_seen() -> None:
    planned = {"p": [trial(number) for number in (1, 2, 3)]}
    (row,) = validation.result_rows(results(planned, [record(1), record(2)]))
    assert (row["planned"], row["recorded"]) == (3, 2)


# Texts.

PASSED = Verdict("s", 1, "rows are there", True, True, "3 of 3 as expected")
FAILED = Verdict("s", 1, "keys are right", False, True, "2 of 3 as expected; not so: 7")
WARNED = Verdict("s", 5, "hosts were quiet", False, False, "0 of 3 as expected")


def test_failures_lists_what_is_critical_and_failed_with_what_was_found() -> None:
    said = validation.failures("the data", [PASSED, FAILED, WARNED])
    assert said == "the data is not valid:\n  keys are right: 2 of 3 as expected; not so: 7"


def test_run_is_valid_when_all_that_is_critical_passed() -> None:
    assert validation.passed([PASSED, WARNED])
    assert not validation.passed([PASSED, FAILED])


@pytest.mark.parametrize("outcome", ["failed", "timed_out"])
def test_failed_trial_makes_a_run_invalid_unless_failures_are_what_is_looked_for(outcome: Any) -> None:
    experiment = Catalog(project_root()).experiment("smoke")
    records = [record(1), record(2, outcome=outcome, reason="down")]
    (verdict,) = validation.about_failures(records, experiment)
    assert (verdict.passed, verdict.critical) == (False, True)
    assert verdict.found == "1 of 2 failed or timed out: a.r2"
    searching = experiment.model_copy(update={"failures_are_findings": True})
    (verdict,) = validation.about_failures(records, searching)
    assert (verdict.passed, verdict.critical) == (False, False)


@pytest.mark.parametrize("outcome", ["completed", "not_applicable"])
def test_other_outcomes_are_no_failures(outcome: Any) -> None:
    experiment = Catalog(project_root()).experiment("smoke")
    (verdict,) = validation.about_failures([record(outcome=outcome)], experiment)
    assert (verdict.passed, verdict.found) == (True, "0 of 1 failed or timed out")


def in_window(seconds: float, begin_s: float = 1_800_000_000, cell: str = "a", **levels: Any) -> TrialRecord:
    made = record(started_at="2027-01-15T07:59:50+00:00", window_start_s=begin_s, window_end_s=begin_s + seconds)
    levels = {"cache": "warm", **levels}
    return replace(made, trial=replace(made.trial, id=f"{cell}.r1", label=f"{cell} (#1)", levels=levels))


def test_windows_are_as_long_as_declared_or_a_second() -> None:
    long = [in_window(2.0, window_s=2), in_window(1.95, 1_800_000_004, window_s=2), in_window(1.0, 1_800_000_008)]
    (verdict,) = validation.about_windows(long, is_full_scale=True)
    assert (verdict.passed, verdict.critical) == (True, False)
    assert verdict.found == (
        "3 of 3 were; of the time from the first trial's begin to the last one's end 26% was measured"
    )
    short = [*long, in_window(1.5, window_s=2, cell="b"), in_window(0.2, cell="c"), in_window(0.2, cell="c")]
    (verdict,) = validation.about_windows(short, is_full_scale=True)
    assert (verdict.passed, verdict.critical) == (False, False)
    assert verdict.found.startswith("3 of 6 were; not c: 0.2 s, b: 1.5 s; of the time")
    assert verdict.found.endswith("to lengthen them: 'window_s' where the workload has it, or more data or rounds")


def test_after_a_cache_was_emptied_a_declared_window_is_none() -> None:
    """Each lookup fills it: there the number of lookups is what is measured."""
    assert validation.about_windows([in_window(1.2, window_s=10, cache="cold")], is_full_scale=True)[0].passed


def test_a_moment_is_no_number_at_full_scale() -> None:
    moment = [in_window(0.004)]
    assert validation.about_windows(moment, is_full_scale=True)[0].critical
    assert not validation.about_windows(moment, is_full_scale=False)[0].critical
    assert validation.about_windows([replace(moment[0], outcome="failed")], is_full_scale=True) == []


def scanned(storage: str = "heap", **evidence: Any) -> TrialRecord:
    """A trial whose answer nothing but another engine, or another run, can tell."""
    made = record(evidence={"driver": evidence})
    levels = {"scale_factor": 1000, "storage": storage, "generator": "dsdgen"}
    return replace(made, trial=replace(made.trial, workload="tpcds", levels=levels))


@pytest.mark.parametrize(
    ("source", "passed", "found"),
    [
        (
            {"source": "DuckDB over the same rows, on host 'etl'"},
            True,
            "those of DuckDB over the same rows, on host 'etl'",
        ),
        ({"source": validation.EARLIER_RUNS}, True, "those of earlier valid runs only, no independent engine's"),
        ({}, False, "nobody's, so that wrong ones would not be noticed; later runs are compared with this one"),
    ],
)
def test_whose_answers_were_compared_is_said_and_nobody_s_is_a_warning(
    source: dict[str, str], passed: bool, found: str
) -> None:
    (verdict,) = validation.about_sources([scanned(answer={}), scanned(answer={"q01.1": [1, "ab"]})], lambda *_: source)
    assert (verdict.check, verdict.passed, verdict.critical) == (2, passed, False)
    assert verdict.found == f"tpcds on tpcds_sf1000_dsdgen: with {found}"


def test_whose_answers_is_no_question_where_a_trial_can_tell_by_itself() -> None:
    assert validation.about_sources([record()], lambda *_: {}) == []


def test_an_experiment_may_ask_more_of_its_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a suite of its own, in which every measurement is a column."""
    monkeypatch.setenv("CLUSTERBENCH_ROOT", str(tmp_path))
    (tmp_path / "expectations" / "experiments").mkdir(parents=True)
    slow = {"type": "expect_column_values_to_be_between", "kwargs": {"column": "latency_ms_p99", "max_value": 2.0},
            "severity": "critical", "meta": {"check": 7, "says": "Lookups are quick"}}  # fmt: skip
    (tmp_path / "expectations/experiments/mine.json").write_text(json.dumps({"expectations": [slow]}))
    quick, slower = (record(measurements={"latency_ms_p99": value}) for value in (1.0, 3.0))
    assert validation.about_experiment("another", [slower]) == []
    assert validation.passed(validation.about_experiment("mine", [quick, quick]))
    (verdict,) = validation.about_experiment("mine", [quick, slower])
    assert not verdict.passed and verdict.critical and verdict.found == "1 of 2 as expected; not so: 3.0"


def test_row_of_a_trial_tells_the_host_that_swapped_most_and_nothing_where_nobody_looked() -> None:
    means = [{"swap_in_mb_per_s": 0.5, "swap_out_mb_per_s": 2.0}, {"swap_in_mb_per_s": 0.0, "swap_out_mb_per_s": 0.0}]
    seen = {name: {"samples": 1, "mean": mean} for name, mean in zip("ab", means, strict=True)}
    before = {"a": {"samples": 1, "mean": {"cpu_steal_percent": 0.0}}}
    rows = validation.measurement_rows([record(telemetry=seen), record(telemetry=before)])
    assert [row["swap_mb_per_s"] for row in rows] == [2.5, None]
