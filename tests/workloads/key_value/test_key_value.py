"""Key-value lookups: the rows, their slices, the statements, the answers, and what cannot be had."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from clusterbench.base import database_work
from clusterbench.base.connections import Connection
from clusterbench.base.job import Job
from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial
from clusterbench.engines import Endpoint
from clusterbench.engines.greenplum.engine import Greenplum
from clusterbench.engines.postgres.engine import Postgres
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.workloads import FellBackError, load_workload
from clusterbench.workloads.key_value.key_value import (
    KeyValueData,
    _keys,
    expected_checksum,
    expected_documents,
    insert,
    wrong_answers,
)
from tests import FIXTURES
from tests.drivers.stand_in import reduce_log

CAPTURED = FIXTURES / "pgbench"
KEY_VALUE = load_workload("key_value")
INDEX_BUILD = load_workload("index_build")
SEED_OF_THE_CAPTURED = 20171002


def trial(repetition: int = 1, seed: int = SEED_OF_THE_CAPTURED, **levels: Any) -> Trial:
    defaults = {name: factor.default for name, factor in KEY_VALUE.factors.items()}
    chosen = defaults | {"rows": 10_000, "clients": 4, "lookups_per_client": 50} | levels
    return Trial("t.r1", "t", "lab_db1", "t", "key_value", chosen, repetition, seed, 60, {})


@pytest.fixture
def lab_db1() -> Platform:
    return Catalog(project_root()).platform("lab_db1")


# Rows.


def test_document_is_json_whose_id_is_its_key() -> None:
    for key, document in expected_documents([1, 42, 999, 1_000_000, 9_999_999], 7).items():
        assert json.loads(document)["widget"]["id"] == str(key)


def test_document_is_as_wide_as_the_paper_s() -> None:
    """The paper's plans say ``width=474``; a key of seven digits gives exactly that, one digit less a byte less."""
    documents = expected_documents([1_000_000, 9_999_999, 999_999, 1_000_000_000], 7)
    assert [len(document.encode()) for document in documents.values()] == [474, 474, 473, 477]


def test_signature_ties_the_document_to_seed_and_key() -> None:
    document = json.loads(expected_documents([42], 7)[42])
    assert document["widget"]["signature"] == hashlib.md5(b"7:42").hexdigest()


def test_same_seed_gives_the_same_documents_and_another_seed_others() -> None:
    assert expected_documents([1, 2, 3], 7) == expected_documents([1, 2, 3], 7)
    one, other = expected_documents([1, 2, 3], 7), expected_documents([1, 2, 3], 8)
    assert all(one[key] != other[key] for key in (1, 2, 3))


def test_documents_of_two_keys_differ() -> None:
    assert len(set(expected_documents(range(1, 500), 7).values())) == 499


def test_checksum_is_the_sum_of_digests_over_all_rows() -> None:
    """Computed again in plain Python, from the documents alone."""
    documents = expected_documents(range(1, 101), 7)
    digests = (hashlib.md5(f"{key}|{key}|{document}".encode()).hexdigest() for key, document in documents.items())
    assert expected_checksum(KeyValueData.dataset({"rows": 100}, 7)) == sum(int(digest[:15], 16) for digest in digests)


def test_checksum_of_another_seed_or_another_size_differs() -> None:
    found = {expected_checksum(KeyValueData.dataset({"rows": rows}, seed)) for rows in (100, 101) for seed in (7, 8)}
    assert len(found) == 4


def test_checksum_is_the_one_that_postgresql_computed_in_the_lab() -> None:
    """100,000 rows of seed 20171002: ``data.json`` of a real run of the experiment."""
    assert expected_checksum(KeyValueData.dataset({"rows": 100_000}, 20171002)) == 57641760417402373594753


def test_checksum_of_a_large_table_is_left_to_earlier_runs() -> None:
    assert expected_checksum(KeyValueData.dataset({"rows": 10_000_001}, 7)) is None


def test_rows_of_a_slice_are_made_where_they_will_live() -> None:
    made = insert(KeyValueData.dataset({"rows": 1000, "storage": "heap"}, 7), "generate_series(501, 1000)")
    assert made.startswith('INSERT INTO "datajson_1000" (jsonraw, jkeynum, jkey)')
    assert "generate_series(501, 1000)" in made
    assert "md5('7' || ':' || id)" in made


# Keys and answers.


@pytest.mark.parametrize("rows", [100, 10_000, 10_000_000_000])
def test_keys_to_check_are_keys_that_exist(rows: int) -> None:
    keys = _keys(trial(rows=rows), 500)
    assert len(keys) == 500
    assert 1 <= min(keys) <= max(keys) <= rows


def test_keys_to_check_are_fixed_by_seed_and_repetition() -> None:
    assert _keys(trial(), 20) == _keys(trial(), 20)
    assert _keys(trial(repetition=2), 20) != _keys(trial(), 20)
    assert _keys(trial(seed=8), 20) != _keys(trial(), 20)


@pytest.mark.parametrize("case", ["cold_4_clients_sql_prepare", "session_per_lookup", "protocol_prepare"])
def test_answers_of_a_real_server_are_those_of_duckdb(case: str) -> None:
    assert wrong_answers(CAPTURED / case / "answers.txt", _keys(trial(), 20), SEED_OF_THE_CAPTURED) is None


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    return Path(shutil.copy(CAPTURED / "cold_4_clients_sql_prepare" / "answers.txt", tmp_path / "answers.txt"))


def check(answers: Path) -> str | None:
    return wrong_answers(answers, _keys(trial(), 20), SEED_OF_THE_CAPTURED)


def test_changed_answer_is_found_and_shown(answers: Path) -> None:
    answers.write_text(answers.read_text().replace("Click Here", "Click There", 1))
    assert re.match(
        r"wrong answer for key 4019: found '\{\"widget\".*expected '\{\"widget\"", str(check(answers)), re.DOTALL
    )


def test_answers_in_another_order_are_wrong(answers: Path) -> None:
    first, second, *others = answers.read_text().split("\0")
    answers.write_text("\0".join([second, first, *others]))
    assert "wrong answer for key 4019" in str(check(answers))


def test_missing_answer_is_found(answers: Path) -> None:
    answers.write_text("\0".join(answers.read_text().split("\0")[1:]))
    assert check(answers) == "20 lookups were to be checked, but 19 gave an answer"


def test_answer_too_many_is_found(answers: Path) -> None:
    answers.write_text(answers.read_text() + '{"widget": 1}\0')
    assert check(answers) == "20 lookups were to be checked, but 21 gave an answer"


def test_empty_answer_is_a_missing_one(answers: Path) -> None:
    parts = answers.read_text().split("\0")
    answers.write_text("\0".join(["", *parts[1:]]))
    assert "but 19 gave an answer" in str(check(answers))


def test_no_answers_at_all_are_found(tmp_path: Path) -> None:
    assert check(tmp_path / "answers.txt") == "20 lookups were to be checked, but 0 gave an answer"


def test_answers_of_another_seed_are_wrong(answers: Path) -> None:
    assert "wrong answer" in str(wrong_answers(answers, _keys(trial(), 20), 7))


# A trial's output, its log made small as on the client host.


@pytest.fixture
def captured(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of real output."""

    def copied(case: str) -> Path:
        folder = Path(shutil.copytree(CAPTURED / case, tmp_path / case))
        reduce_log(folder)
        return folder

    return copied


def test_completed_trial_with_right_answers_is_valid(captured: Callable[[str], Path]) -> None:
    read = KEY_VALUE.read(captured("cold_4_clients_sql_prepare"), trial(), {})
    assert (read.errors, read.samples, read.invalid) == (0, 200, ())


def test_fast_wrong_answer_makes_the_trial_invalid(captured: Callable[[str], Path]) -> None:
    output = captured("cold_4_clients_sql_prepare")
    (output / "answers.txt").write_text("")
    assert KEY_VALUE.read(output, trial(), {}).invalid == ("20 lookups were to be checked, but 0 gave an answer",)


def test_failed_trial_is_failed_and_not_called_wrong(captured: Callable[[str], Path]) -> None:
    read = KEY_VALUE.read(captured("clients_aborted"), trial(), {})
    assert (read.errors, read.invalid) == (200, ())


def test_fewer_lookups_than_asked_for_are_errors(captured: Callable[[str], Path]) -> None:
    assert KEY_VALUE.read(captured("cold_4_clients_sql_prepare"), trial(clients=5), {}).errors == 50


BUILT = {
    "clock.1": "1000.0\n1000.5\n",
    "times.1": "Time: 100.000 ms\n",
    "errors.1": "",
    "driver_cpu.txt": "threads 1\nconnecting_s 0.0\nelapsed_s 1\nuser_s 0.1\nsystem_s 0\n",
}


@pytest.mark.parametrize(
    ("said", "seconds"),
    [({}, 0.1), ({"rounds.txt": "3\n", "times.1": "Time: 100.000 ms\nTime: 110.000 ms\nTime: 120.000 ms\n"}, 0.11)],
    ids=["once", "in a window"],
)
def test_index_build_is_timed_without_its_drops_and_its_rows_counted(
    tmp_path: Path, said: Mapping[str, str], seconds: float
) -> None:
    for name, text in {**BUILT, **said}.items():
        (tmp_path / name).write_text(text)
    read = INDEX_BUILD.read(tmp_path, replace(trial(), workload="index_build"), {})
    assert set(read.measurements) | set(database_work.MEASUREMENTS) == set(INDEX_BUILD.measurements)
    assert read.measurements["response_time_s"] == pytest.approx(seconds)
    assert read.measurements["throughput_rows_per_s"] == pytest.approx(10_000 / seconds)
    assert (read.window_start_s, read.window_end_s) == (1000.0, 1000.5)


def test_index_is_dropped_between_two_builds_where_there_is_a_window() -> None:
    built = replace(trial(window_s=1), workload="index_build")
    build, drop = (
        'CREATE INDEX "b_datajson_10000_jkeynum" ON "datajson_10000" (jkeynum);\n',
        'DROP INDEX IF EXISTS "b_datajson_10000_jkeynum";',
    )
    files = INDEX_BUILD.job(built, TinyEngine()).files  # type: ignore[arg-type]
    assert files["round.1.sql"] == f"\\o \\timing off \\\\ {drop} \\timing on\n{build}"
    assert build in files["stream.1.sql"] and "DROP" not in files["stream.1.sql"], "the first finds none"
    for levels in ({"window_s": 0}, {"cache": "cold"}):
        once = replace(built, levels=dict(built.levels) | levels)
        assert "round.1.sql" not in INDEX_BUILD.job(once, TinyEngine()).files  # type: ignore[arg-type]


# Statements.


class TinyEngine:
    """Says where it is, and notes poolers."""

    database = Connection("lab_db1", "db", 5432, "bench", "s3cret", "data", {})

    unavailable: ClassVar[dict[str, str]] = {"orca": "none here"}

    def __init__(self) -> None:
        self.poolers: list[tuple[str, int]] = []
        self.explained: list[tuple[str, str]] = []

    def set_session(self, settings: Mapping[str, str]) -> None:
        pass

    def explain(self, queries: Mapping[str, str], *, before: str = "") -> dict[str, str]:
        self.explained += [(query, before) for query in queries.values()]
        return dict.fromkeys(queries, "Index Scan")

    def endpoint(self, *, pooled: bool) -> Endpoint:
        return Endpoint("db", 16432 if pooled else 5432, "bench", "data")

    def start_pooler(self, mode: str, size: int) -> None:
        self.poolers.append((mode, size))


def job(engine: TinyEngine | None = None, **levels: Any) -> Job:
    return KEY_VALUE.job(trial(**levels), engine or TinyEngine())  # type: ignore[arg-type]


CHOOSE = "\\set key random(1, 10000)\n"
LOOKUP = 'SELECT jsonraw FROM "datajson_10000" WHERE jkeynum = '


def test_plain_statement_is_the_lookup_of_a_random_key() -> None:
    assert job(statement="plain").files["script.sql"] == f"{CHOOSE}{LOOKUP}:key;\n"


def test_sql_prepared_statement_is_prepared_once_a_session() -> None:
    assert job(statement="sql_prepare").files["script.sql"] == (
        f"\\if :prepared = 0\nPREPARE lookup (bigint) AS {LOOKUP}$1;\n\\set prepared 1\n\\endif\n"
        f"{CHOOSE}EXECUTE lookup(:key);\n"
    )
    assert "--define=prepared=0" in job(statement="sql_prepare").command


def test_protocol_prepared_statement_is_the_plain_one_by_another_protocol() -> None:
    made = job(statement="protocol_prepare")
    assert made.files["script.sql"] == job(statement="plain").files["script.sql"]
    assert "--protocol=prepared" in made.command
    assert "--protocol=simple" in job(statement="plain").command


def test_protocol_parsed_statement_is_sent_by_the_extended_protocol_and_parsed_each_time() -> None:
    assert "--protocol=extended" in job(statement="protocol_parse").command


def test_answers_are_asked_for_by_the_same_statement() -> None:
    keys = _keys(trial(), 20)
    assert job(statement="plain").files["answers.sql"] == "".join(f"{LOOKUP}{key};\n" for key in keys)
    prepared = job(statement="sql_prepare").files["answers.sql"].splitlines()
    assert prepared[1] == f"PREPARE lookup (bigint) AS {LOOKUP}$1;"
    assert prepared[2:-1] == [f"EXECUTE lookup({key});" for key in keys]


def test_number_of_checked_answers_is_a_level() -> None:
    assert job(answers_checked=2).files["answers.sql"].count("\n") == 2


def test_each_repetition_looks_up_other_keys_and_a_repeated_one_the_same() -> None:
    seeds = [re.search(r"--random-seed=(\d+)", job(repetition=number).command) for number in (1, 2, 1)]
    assert [int(seed[1]) for seed in seeds if seed] == [20171003, 20171004, 20171003]


def test_new_session_per_lookup_reconnects() -> None:
    assert "--connect" in job(session="per_lookup").command.split()
    assert "--connect" not in job(session="kept").command.split()


@pytest.mark.parametrize(
    ("levels", "pooler"),
    [
        ({"statement": "plain", "clients": 4}, ("transaction", 4)),
        ({"statement": "plain", "clients": 200}, ("transaction", 50)),
        ({"statement": "sql_prepare", "clients": 200}, ("session", 200)),
    ],
)
def test_pooler_is_as_large_as_its_mode_allows(levels: dict[str, Any], pooler: tuple[str, int]) -> None:
    engine = TinyEngine()
    assert "--port=16432" in job(engine, pooling="pgbouncer", **levels).command
    assert engine.poolers == [pooler]


def test_direct_trial_starts_no_pooler() -> None:
    engine = TinyEngine()
    assert "--port=5432" in job(engine, pooling="direct").command
    assert engine.poolers == []


def test_cache_state_is_of_the_table_and_its_index() -> None:
    assert KEY_VALUE.relations(trial()) == ["datajson_10000", "i_datajson_10000_jkeynum"]
    assert INDEX_BUILD.relations(trial()) == ["datajson_10000"]


# What cannot be had.


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        ({"optimizer": "orca"}, "PostgreSQL has no ORCA optimizer"),
        ({"session": "per_lookup", "statement": "sql_prepare"}, "a prepared statement ends with its session"),
        ({"session": "per_lookup", "statement": "protocol_prepare"}, "a prepared statement ends with its session"),
        ({"pooling": "pgbouncer", "statement": "protocol_prepare"}, "PgBouncer 1.18.0 does not carry"),
        ({"direct_dispatch": "off"}, "PostgreSQL has no segments to dispatch to"),
        ({"statement_mem": "25MB"}, "PostgreSQL has no statement_mem"),
        ({"storage": "append_column"}, "PostgreSQL has no append-optimised tables"),
    ],
)
def test_levels_that_cannot_be_had_say_why(levels: dict[str, Any], reason: str, lab_db1: Platform) -> None:
    unavailable = Postgres.unavailable_on(lab_db1, {"pooler_version": "1.18.0"})
    assert reason in str(KEY_VALUE.not_applicable(trial(**levels).levels, unavailable))


def test_newer_pooler_carries_prepared_statements(lab_db1: Platform) -> None:
    levels = trial(pooling="pgbouncer", statement="protocol_prepare").levels
    for version in ("1.21.0", "1.24.1", "2.0"):
        assert KEY_VALUE.not_applicable(levels, Postgres.unavailable_on(lab_db1, {"pooler_version": version})) is None
    assert KEY_VALUE.not_applicable(levels, Postgres.unavailable_on(lab_db1, {})) is None, "not known before set-up"


@pytest.mark.parametrize(
    "levels",
    [
        {},
        {"statement": "sql_prepare"},
        {"pooling": "pgbouncer"},
        {"pooling": "pgbouncer", "statement": "sql_prepare"},
        {"session": "per_lookup"},
        {"session": "per_lookup", "statement": "protocol_parse"},
        {"log_statement": "all"},
    ],
)
def test_other_levels_can_be_had(levels: dict[str, Any], lab_db1: Platform) -> None:
    assert KEY_VALUE.not_applicable(trial(**levels).levels, Postgres.unavailable_on(lab_db1, {})) is None


def test_orca_can_be_had_unless_the_server_says_that_it_was_built_without(lab_db1: Platform) -> None:
    without = {"orca": "Server has been compiled without ORCA"}
    orca = trial(optimizer="orca").levels
    assert KEY_VALUE.not_applicable(orca, Greenplum.unavailable_on(lab_db1, {})) is None
    assert (
        KEY_VALUE.not_applicable(orca, Greenplum.unavailable_on(lab_db1, {"orca": "GPORCA version: 3.116.0"})) is None
    )
    assert "Server has been compiled without ORCA" in str(
        KEY_VALUE.not_applicable(orca, Greenplum.unavailable_on(lab_db1, without))
    )


@pytest.mark.parametrize(
    ("changed", "cold", "pooled"),
    [
        ({"page_cache": "none"}, "page_cache: none", None),
        ({"hosts": {"client": {"ssh": "c", "roles": ["client"]}}}, "no coordinator or segment host", "no coordinator"),
    ],
)
def test_what_needs_hosts_is_not_applicable_where_none_is_known(
    changed: dict[str, Any], cold: str, pooled: str | None, lab_db1: Platform
) -> None:
    unavailable = Postgres.unavailable_on(Platform.model_validate(lab_db1.model_dump() | changed), {})
    assert cold in str(KEY_VALUE.not_applicable(trial(cache="cold").levels, unavailable))
    assert cold in str(INDEX_BUILD.not_applicable(trial(cache="database_warm").levels, unavailable))
    assert (pooled or "None") in str(KEY_VALUE.not_applicable(trial(pooling="pgbouncer").levels, unavailable))
    assert KEY_VALUE.not_applicable(trial().levels, unavailable) is None


# Settings.


def test_a_setting_that_is_a_factor_stands_over_the_experiment_s() -> None:
    engine = TinyEngine()
    chosen = replace(trial(log_statement="all"), settings={"log_statement": "none", "work_mem": "8MB"})
    assert KEY_VALUE.prepare(chosen, engine)["session_settings"]["log_statement"] == "all"  # type: ignore[index,arg-type]
    as_set = replace(trial(), settings={"log_statement": "none"})
    assert KEY_VALUE.prepare(as_set, engine)["session_settings"]["log_statement"] == "none"  # type: ignore[index,arg-type]


def test_the_plan_is_of_the_statement_that_is_measured() -> None:
    engine = TinyEngine()
    KEY_VALUE.prepare(trial(statement="plain"), engine)  # type: ignore[arg-type]
    KEY_VALUE.prepare(trial(statement="protocol_prepare"), engine)  # type: ignore[arg-type]
    plain, prepared = engine.explained
    assert plain[0].startswith("SELECT jsonraw FROM") and plain[1] == ""
    assert prepared[0].startswith("EXECUTE lookup(") and prepared[1].startswith("PREPARE lookup (bigint) AS SELECT")


class OneWithOrca(TinyEngine):
    unavailable: ClassVar[dict[str, str]] = {}
    planned_by = "Pivotal Optimizer (GPORCA)"

    def explain(self, queries: Mapping[str, str], *, before: str = "") -> dict[str, str]:
        found = super().explain(queries, before=before)
        return {name: f"{plan}\nOptimizer: {self.planned_by}" for name, plan in found.items()}


def test_a_plan_of_orca_stands_and_one_of_the_planner_is_not_measured_in_its_place() -> None:
    engine = OneWithOrca()
    assert "GPORCA" in str(KEY_VALUE.prepare(trial(optimizer="orca"), engine)["plan"])  # type: ignore[arg-type]
    engine.planned_by = "Postgres query optimizer"
    assert "GPORCA" not in str(KEY_VALUE.prepare(trial(), engine)["plan"])  # type: ignore[arg-type]
    with pytest.raises(FellBackError, match=r"did not plan 1 statement of 1: .*\(Optimizer: Postgres query"):
        KEY_VALUE.prepare(trial(optimizer="orca"), engine)  # type: ignore[arg-type]


# Estimates.


def test_estimate_grows_with_what_is_done() -> None:
    few, many = KEY_VALUE.estimate_s(trial(clients=1).levels), KEY_VALUE.estimate_s(trial(clients=200).levels)
    cold = KEY_VALUE.estimate_s(trial(clients=1, cache="cold").levels)
    scan = [KEY_VALUE.estimate_s(trial(access="scan", rows=rows).levels) for rows in (1_000_000, 1_000_000_000)]
    assert few < many
    assert few < cold
    assert scan[0] * 100 < scan[1]
    assert INDEX_BUILD.estimate_s({"rows": 1000}) < INDEX_BUILD.estimate_s({"rows": 1_000_000_000})
