"""The workload TPC-DS without a server: what every stream asks, and what is made of what it got."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from clusterbench.base.connections import Connection
from clusterbench.base.errors import SpecError
from clusterbench.base.measurements import Reading
from clusterbench.base.paths import project_root
from clusterbench.base.records import Outcome, Trial, TrialRecord
from clusterbench.engines import Endpoint
from clusterbench.spec.catalog import Catalog
from clusterbench.workloads import FellBackError
from clusterbench.workloads.tpcds import parameters, selection
from clusterbench.workloads.tpcds.tpcds import WORKLOAD, order

CATALOG = Catalog(project_root())
SEED = 7


def trial(**levels: Any) -> Trial:
    defaults = {name: factor.default for name, factor in WORKLOAD.factors.items()}
    return Trial("t.r1", "t", "lab_db1", "t", "tpcds", defaults | {"scale_factor": 0.01} | levels, 1, SEED, 60, {})


class TinyEngine:
    database = Connection("db1", "db1", 5432, "bench", "s3cret", "bench", {})
    dialect = "postgres"
    platform = CATALOG.platform("lab_db1")
    unavailable: ClassVar[dict[str, str]] = {"orca": "PostgreSQL has no ORCA optimizer"}

    def __init__(self) -> None:
        self.settings: Mapping[str, str] = {}

    def set_session(self, settings: Mapping[str, str]) -> None:
        self.settings = settings

    def endpoint(self, *, pooled: bool) -> Endpoint:
        assert not pooled
        return Endpoint("db1", 5432, "bench", "bench")


def scripts(**levels: Any) -> list[str]:
    made = WORKLOAD.job(trial(**levels), cast(Any, TinyEngine()))
    return [made.files[f"stream.{n}.sql"] for n in range(1, levels.get("streams", 1) + 1)]


# What is asked.


@pytest.mark.parametrize(("test", "count"), [("full", 99), ("lite", 51)])
def test_every_stream_asks_every_query_of_the_test_once(test: str, count: int) -> None:
    asked = trial(test=test, streams=3)
    orders = [order(asked, stream) for stream in (1, 2, 3)]
    assert len({tuple(each) for each in orders}) == 3, "each in an order of its own"
    assert [sorted(each) for each in orders] == [sorted(selection.queries_of(test))] * 3
    for script in scripts(test=test, streams=3):
        assert script.count("\nCOPY (") == script.count(") TO STDOUT;\n") == count


def test_each_round_of_a_window_has_the_order_of_a_further_stream() -> None:
    asked = trial(test="lite", streams=2, window_s=1)
    files = WORKLOAD.job(asked, cast(Any, TinyEngine())).files
    alone = trial(test="lite", streams=6)
    for stream in (1, 2):
        places = [list(map(int, line.split())) for line in files[f"orders.{stream}.txt"].splitlines()]
        assert len(places) == 20 and len(set(map(tuple, places))) == 20
        first = order(asked, stream)
        for before in range(3):
            found = [first[place - 1] for place in places[before]]
            assert found == order(alone, stream + 2 * before), "of streams 1, 3 and 5, and of 2, 4 and 6"
    for levels in ({"window_s": 0}, {"cache": "as_left"}):
        once = WORKLOAD.job(trial(test="lite", streams=2, **{"window_s": 1, **levels}), cast(Any, TinyEngine())).files
        assert not [name for name in once if name.startswith(("orders", "round"))]


def test_streams_ask_with_parameters_of_their_own_and_always_the_same() -> None:
    alone, first, second = *scripts(streams=1), *scripts(streams=2)
    assert alone == first, "what stream 1 asks does not depend on how many there are"
    same = set(first.splitlines()) & set(second.splitlines())
    assert len([line for line in same if line.startswith("COPY")]) <= len(parameters.fixed()) + 5


def test_with_the_qualification_s_parameters_all_streams_ask_the_same() -> None:
    first, second = scripts(streams=2, parameters="qualification")
    assert sorted(line for line in first.splitlines() if line.startswith("COPY")) == sorted(
        line for line in second.splitlines() if line.startswith("COPY")
    )


def test_tables_are_found_by_their_schema_and_a_query_has_its_limit() -> None:
    engine = TinyEngine()
    said = WORKLOAD.prepare(trial(statement_timeout_s=90), cast(Any, engine))
    assert engine.settings == {"search_path": "tpcds_sf0_01, public", "statement_timeout": "90s"}
    assert said == {"session_settings": engine.settings, "planned_by_planner": []}


def test_orca_is_not_applicable_where_there_is_none() -> None:
    assert (
        WORKLOAD.not_applicable(trial(optimizer="orca").levels, TinyEngine.unavailable)
        == TinyEngine.unavailable["orca"]
    )
    assert WORKLOAD.not_applicable(trial().levels, TinyEngine.unavailable) is None


def test_scale_factor_is_a_number_in_its_range() -> None:
    factor = WORKLOAD.factors["scale_factor"]
    assert [factor.problem(level) for level in (0.01, 1, 1000)] == [None] * 3
    assert factor.problem("big") == "level 'big' is not a number; allowed: 0.01 to 100000"
    assert factor.problem(0.001) == "level 0.001 is out of range; allowed: 0.01 to 100000"


# What is made of the output: two streams of the test lite.

ANSWER = ["a\t1.50", "b\t\\N"]


class Output:
    """A trial's folder as the driver leaves it: every statement took 10 ms and answered ``ANSWER``."""

    def __init__(self, folder: Path, streams: int = 2) -> None:
        self.folder, self.trial = folder, trial(test="lite", streams=streams)
        self.answers: dict[tuple[int, ...], list[str]] = {
            (n, i): ANSWER for n in range(1, streams + 1) for i in range(1, 52)
        }
        self.times = {n: [10.0] * 51 for n in range(1, streams + 1)}
        self.errors = dict.fromkeys(range(1, streams + 1), "")
        self.cpu = "threads 2\nconnecting_s 0.5\nelapsed_s 10\nuser_s 0.6\nsystem_s 0.3\n"

    def read(self, expected: Mapping[str, Any] | None = None) -> Reading:
        for n, times in self.times.items():
            (self.folder / f"clock.{n}").write_text(f"{1000 + n}\n{1000.6 + n}\n")
            (self.folder / f"times.{n}").write_text("".join(f"Time: {ms:.3f} ms\n" for ms in times))
            (self.folder / f"errors.{n}").write_text(self.errors[n])
        (self.folder / "driver_cpu.txt").write_text(self.cpu)
        with tarfile.open(self.folder / "answers.tar.gz", "w:gz") as archive:
            for place, lines in self.answers.items():
                text = "".join(f"{line}\n" for line in lines).encode()
                info = tarfile.TarInfo(f"answer.{'.'.join(map(str, place))}")
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text))
        return WORKLOAD.read(self.folder, self.trial, expected or {})

    def expected(self) -> dict[str, Any]:
        keys = json.loads(json.dumps(self.read().details["answer"]))
        return {"source": "DuckDB over the same rows", "answers": {key: [["a", "1.5"], ["b", None]] for key in keys}}


def test_two_streams_read(tmp_path: Path) -> None:
    made = Output(tmp_path)
    reading = made.read(made.expected())
    assert reading.invalid == () and reading.errors == 0 and reading.samples == 102
    assert reading.measurements["response_time_s"] == pytest.approx(1.6)
    assert reading.measurements["driver_cores"] == pytest.approx(0.04), "connecting is no part of it"
    assert reading.measurements["driver_cpu_share"] == pytest.approx(0.02)
    assert [(one.name, one.start_s) for one in reading.phases] == [("streams", 1001.0)]
    queries = cast(list[dict[str, Any]], reading.details["queries"])
    assert [one["query"] for one in queries if one["stream"] == 2] == order(made.trial, 2)
    assert all(one["time_s"] == 0.01 and "error" not in one for one in queries)
    assert "warnings" not in reading.details


def test_one_wrong_answer_makes_the_trial_invalid_and_is_named(tmp_path: Path) -> None:
    made = Output(tmp_path)
    expected = made.expected()
    made.answers[2, 7] = ["a\t1.50", "c\t\\N"]
    (wrong,) = made.read(expected).invalid
    query = order(made.trial, 2)[6]
    assert wrong.startswith(f"wrong answer to query {query}, parameters ")
    assert wrong.endswith("(expected: DuckDB over the same rows)")
    assert made.read({}).invalid == (), "nobody knows it"


def test_rounds_of_a_window_are_read_by_query_and_each_answer_is_checked(tmp_path: Path) -> None:
    made = Output(tmp_path, streams=1)
    made.trial = trial(test="lite", streams=1, window_s=1)
    queries = [order(made.trial, 1, before) for before in range(2)]
    made.times = {1: [query / 10 for each in queries for query in each]}
    made.answers = {(1, i, r): ANSWER for i in range(1, 52) for r in (1, 2)}
    (tmp_path / "rounds.txt").write_text("2\n")
    expected = made.expected()
    reading = made.read(expected)
    assert (reading.invalid, reading.errors, reading.samples) == ((), 0, 102)
    assert reading.measurements["response_time_s"] == pytest.approx(0.3), "0.6 s for two rounds"
    of_query = {query: reading.measurements[f"q{query:02d}_s"] for query in queries[0]}
    assert of_query == {query: pytest.approx(query / 1e4) for query in queries[0]}, "whatever the order of its round"
    noted = cast(list[dict[str, Any]], reading.details["queries"])
    assert [(one["query"], one["time_s"]) for one in noted] == [(query, query / 1e4) for query in queries[0]]
    made.answers[1, 7, 2] = ["a\t1.50", "c\t\\N"]
    (wrong,) = made.read(expected).invalid
    assert wrong.startswith(f"wrong answer to query {queries[0][6]}, parameters "), "the seventh, in another place"


def test_many_wrong_answers_are_counted(tmp_path: Path) -> None:
    made = Output(tmp_path)
    expected = made.expected()
    made.answers = {key: ["z\t9"] for key in made.answers}
    said = made.read(expected).invalid
    assert len(said) == 6 and said[-1].startswith("and ")


def test_answers_of_earlier_valid_runs_are_compared_by_their_sums(tmp_path: Path) -> None:
    made = Output(tmp_path)
    known = {**json.loads(json.dumps(made.read().details["answer"])), "source": "earlier valid runs"}
    assert made.read(known).invalid == ()
    made.answers[1, 1] = ["a\t1.50"]
    assert "1 rows, expected 2, or other values in them (expected: earlier valid runs)" in made.read(known).invalid[0]


def test_answer_that_was_not_kept_is_a_reason_not_to_believe(tmp_path: Path) -> None:
    made = Output(tmp_path)
    del made.answers[1, 3]
    assert made.read().invalid == ("answers to be checked: 102, found: 101",)
    assert made.read().details["answer"] == {}


def test_query_that_fails_is_an_error_of_its_own_and_the_others_count(tmp_path: Path) -> None:
    made = Output(tmp_path)
    made.errors[1] = "psql:stream.1.sql:8: ERROR:  out of memory\nDETAIL:  Failed on request of size 8.\n"
    made.answers[1, 3] = []
    reading = made.read()
    assert (reading.errors, reading.samples, reading.invalid) == (1, 101, ())
    failed = [one for one in cast(list[dict[str, Any]], reading.details["queries"]) if one["time_s"] is None]
    assert failed == [
        {
            "stream": 1,
            "query": order(made.trial, 1)[2],
            "time_s": None,
            "error": "ERROR:  out of memory",
            "failed_after_s": 0.01,
        }
    ]


def test_query_past_its_limit_is_named(tmp_path: Path) -> None:
    made = Output(tmp_path)
    made.errors[2] = "psql:stream.2.sql:4: ERROR:  canceling statement due to statement timeout\n"
    query = order(made.trial, 2)[0]
    assert made.read().timed_out == (f"query {query} of stream 2 was ended at its limit, 0.0 s",)


def test_what_a_lost_session_did_not_ask_is_recorded(tmp_path: Path) -> None:
    made = Output(tmp_path)
    made.times[2] = [10.0] * 20
    made.errors[2] = "psql:stream.2.sql:44: error: connection to server was lost\n"
    made.answers = {key: value for key, value in made.answers.items() if key[0] == 1 or key[1] <= 20}
    reading = made.read()
    queries = cast(list[dict[str, Any]], reading.details["queries"])
    assert (reading.errors, len(queries)) == (31, 102)
    assert {one["error"] for one in queries if one["time_s"] is None} == {
        "did not end: the session was lost, or ended with the trial"
    }


def test_driver_that_takes_much_is_told(tmp_path: Path) -> None:
    made = Output(tmp_path)
    made.cpu = made.cpu.replace("user_s 0.6", "user_s 3.2")
    assert made.read().details["warnings"] == ["the driver took 30% of a processor; more than 10% is much"]


class OneWithOrca(TinyEngine):
    """Its ORCA cannot plan what ``by_planner`` names, and nobody says so but the plan."""

    unavailable: ClassVar[dict[str, str]] = {}
    dialect = "greenplum"

    def __init__(self, by_planner: str) -> None:
        super().__init__()
        self.by_planner = by_planner

    def explain(self, queries: Mapping[str, str], *, before: str = "") -> dict[str, str]:
        return {
            name: f"Limit\nOptimizer: {'Postgres query optimizer' if self.by_planner in query else 'GPORCA'}"
            for name, query in queries.items()
        }


def test_queries_that_orca_left_to_the_planner_are_told(tmp_path: Path) -> None:
    made = Output(tmp_path)
    orca = trial(test="lite", optimizer="orca")
    evidence = WORKLOAD.prepare(orca, cast(Any, OneWithOrca("ss_quantity")))
    fell = cast(list[str], evidence["planned_by_planner"])
    assert 0 < len(fell) < 51 and set(fell) < {f"query {query}" for query in range(1, 100)}
    (tmp_path / "before.json").write_text(json.dumps({"workload": evidence}))
    (said,) = made.read().details["warnings"]
    assert said == f"ORCA did not plan {len(fell)} of 51 queries, the planner did: {', '.join(fell)}"
    assert WORKLOAD.prepare(trial(test="lite"), cast(Any, TinyEngine()))["planned_by_planner"] == []


def test_a_trial_of_orca_of_which_the_planner_plans_everything_is_none() -> None:
    with pytest.raises(FellBackError, match="did not plan 51 statements of 51"):
        WORKLOAD.prepare(trial(test="lite", optimizer="orca"), cast(Any, OneWithOrca("")))


# The choice of the 51.


def record(outcome: Outcome = "completed", **levels: Any) -> TrialRecord:
    times = [{"stream": 1, "query": query, "time_s": 100.0 - query} for query in range(1, 100)]
    return TrialRecord(trial(**levels), outcome, "", evidence={"driver": {"queries": times}})


def test_selection_is_the_fastest_by_median_and_its_file_says_so(tmp_path: Path) -> None:
    made = selection.select("tpcds_density/x", "lab_db1", [record(), record(test="lite"), record("failed")])
    assert made.queries == list(range(49, 100)) and made.repetitions == 1
    (tmp_path / "lite.yaml").write_text(selection.as_yaml(made))
    assert selection.load(tmp_path / "lite.yaml", selection.Selection) == made


def test_selection_needs_a_measurement_of_all(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no completed trial of all 99 queries with one stream on platform 'lab_db1'"):
        selection.select("x", "lab_db1", [record(streams=2), record("failed")])
    text = selection.as_yaml(selection.select("x", "lab_db1", [record()])).replace("  17: 83.0\n", "")
    (tmp_path / "lite.yaml").write_text(text)
    with pytest.raises(SpecError, match="no time of query 17; all 99 have to be measured"):
        selection.load(tmp_path / "lite.yaml", selection.Selection)


def test_lite_is_51_measured_queries() -> None:
    assert len(selection.lite().queries) == len(set(selection.lite().queries)) == selection.LITE_QUERIES
