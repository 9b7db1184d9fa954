"""Retail analytics: the paper's two statements, loading, their answers; what the engines and suites make of it."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from clusterbench.base import database_work, scripts
from clusterbench.base.answers import REMEDY
from clusterbench.base.connections import Connection
from clusterbench.base.measurements import Reading
from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.engines import BulkLoad, Endpoint
from clusterbench.engines.greenplum.engine import Greenplum
from clusterbench.engines.instances import Instance
from clusterbench.engines.postgres.engine import Postgres
from clusterbench.hosts import facts
from clusterbench.hosts.fleet import Address, Answer, Fleet
from clusterbench.run import validation
from clusterbench.run.validation import validate
from clusterbench.spec import Platform
from clusterbench.spec.catalog import Catalog
from clusterbench.spec.platform import Hardware
from clusterbench.workloads import load_workload
from clusterbench.workloads.retail import load_files, order_lineitems
from clusterbench.workloads.retail.scan import answer_of, wrong_answer

FULL_SCAN = load_workload("full_scan")
PARTIAL_SCAN = load_workload("partial_scan")
DATA_LOAD = load_workload("data_load")
CATALOG = Catalog(project_root())
VM1 = CATALOG.read_platform(project_root() / "include/platforms/vm1.yaml")
LAB_DB1 = CATALOG.platform("lab_db1")
DATABASE = Connection("vm1_database", "cdw", 5432, "gpadmin", "s3cret", "bench", {})
ROWS, SEED = 5000, 7


def trial(workload: str = "full_scan", seed: int = SEED, **levels: Any) -> Trial:
    defaults = {name: factor.default for name, factor in load_workload(workload).factors.items()}
    return Trial("t.r1", "t", "vm1", "t", workload, defaults | {"rows": ROWS} | levels, 1, seed, 60, {})


# What the statements ask.


class TinyEngine:
    """Says where it is."""

    database = DATABASE
    platform = VM1
    unavailable: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        self.settings: list[Mapping[str, str]] = []
        self.explained: list[str] = []

    def set_session(self, settings: Mapping[str, str]) -> None:
        self.settings.append(settings)

    def explain(self, queries: Mapping[str, str], *, before: str = "") -> dict[str, str]:
        self.explained += queries.values()
        return dict.fromkeys(queries, "Seq Scan\nOptimizer: GPORCA")

    def endpoint(self, *, pooled: bool) -> Endpoint:
        assert not pooled
        return Endpoint("cdw", 5432, "gpadmin", "bench")


def script(workload: str, stream: int = 1, **levels: Any) -> str:
    made = load_workload(workload).job(trial(workload, **levels), cast(Any, TinyEngine()))
    return made.files[f"stream.{stream}.sql"]


def test_full_scan_asks_for_the_paper_s_five_products() -> None:
    text = script("full_scan")
    assert "WHERE  PRODUCT_ID IN (20,25,29,50,38) ) BASE WHERE  BASE.RN = 1) TO STDOUT;\n" in text
    assert 'FROM   "order_lineitems_5000" ' in text
    assert "\nCOPY (SELECT CUSTOMER_ID ,      PRODUCT_CATEGORY_NAME ,      FIRST_ORDER_DATETIME " in text
    assert "PARTITION BY CUSTOMER_ID, PRODUCT_CATEGORY_ID ORDER BY ORDER_DATETIME ASC" in text
    assert "ROW_NUMBER() OVER (PARTITION BY CUSTOMER_ID, PRODUCT_CATEGORY_ID ORDER BY NULL) AS RN" in text


def test_each_window_of_full_scan_has_the_frame_that_makes_its_last_value_the_last() -> None:
    text = script("full_scan")
    assert text.count("_VALUE(") == text.count("ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS ") == 4


def test_partial_scan_asks_for_2010_as_the_paper_does() -> None:
    text = script("partial_scan")
    assert "WHERE  ORDER_DATETIME BETWEEN TIMESTAMP '2010-01-01' AND DATE '2010-12-31' " in text
    assert "\nCOPY (SELECT ROUND(AVG(ITEM_COUNT), 2) AS AVERAGE_ITEM_COUNT " in text
    assert "GROUP  BY CUSTOMER_ID, " in text
    assert text.count("TO_CHAR(ORDER_DATETIME, 'YYYY/MM')") == 3
    assert 'FROM  "order_lineitems_5000" ' in text


@pytest.mark.parametrize("workload", ["full_scan", "partial_scan"])
def test_every_stream_runs_the_same_statement_once(workload: str) -> None:
    made = load_workload(workload).job(trial(workload, streams=4), cast(Any, TinyEngine()))
    assert sorted(name for name in made.files if name.startswith("stream.")) == [
        f"stream.{n}.sql" for n in (1, 2, 3, 4)
    ]
    texts = {made.files[f"stream.{n}.sql"].partition("COPY (")[2].partition("\\o")[0] for n in (1, 2, 3, 4)}
    assert len(texts) == 1
    assert all(made.files[f"stream.{n}.sql"].count("COPY (") == 1 for n in (1, 2, 3, 4))
    assert (made.files["check.sql"], made.files["on_failure.sql"]) == ("", "")


def test_layout_is_another_table() -> None:
    assert 'FROM   "order_lineitems_5000_append_column" ' in script("full_scan", storage="append_column")


def test_settings_of_the_trial_are_the_session_s_and_the_plan_is_kept() -> None:
    engine = TinyEngine()
    planned = replace(trial("partial_scan", statement_mem="500MB"), settings={"log_statement": "none"})
    evidence = PARTIAL_SCAN.prepare(planned, cast(Any, engine))
    assert engine.settings == [{"log_statement": "none", "optimizer": "off", "statement_mem": "500MB"}]
    assert evidence == {"session_settings": engine.settings[0], "plan": "Seq Scan\nOptimizer: GPORCA"}
    assert engine.explained[0].startswith("SELECT ROUND(AVG(ITEM_COUNT), 2)")


@pytest.mark.parametrize(
    ("chosen", "setting"), [({}, "off"), ({"optimizer": "planner"}, "off"), ({"optimizer": "orca"}, "on")]
)
def test_optimizer_is_the_planner_unless_orca_is_chosen(chosen: dict[str, Any], setting: str) -> None:
    """Greenplum 4.2, the paper's, had no other; and where there is no ORCA nothing is set."""
    planned = trial("full_scan", **chosen)
    if not chosen:
        planned.levels.pop("optimizer")
    engine = TinyEngine()
    load_workload("full_scan").prepare(planned, cast(Any, engine))
    assert engine.settings[0]["optimizer"] == setting
    engine.unavailable = {"orca": "no ORCA here"}  # type: ignore[misc]
    assert load_workload("full_scan").not_applicable(planned.levels, engine.unavailable) == (
        "no ORCA here" if setting == "on" else None
    )
    load_workload("full_scan").prepare(planned, cast(Any, engine))
    assert "optimizer" not in engine.settings[1]


# What they answer, computed again in plain Python from the rows.


def rows_of(names: str, rows: int = ROWS, seed: int = SEED) -> list[tuple[Any, ...]]:
    made = order_lineitems.duckdb_rows(order_lineitems.dataset_of(rows, seed))
    return order_lineitems.duckdb(f"SELECT {names} FROM {made}")


def as_postgres(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S.%f}".rstrip("0").rstrip(".")


def answer_s(workload: str, rows: int = ROWS, seed: int = SEED) -> dict[str, Any]:
    made = load_workload(workload)
    found = made.answers(made.dataset({"rows": rows, "storage": "heap"}, seed), [])
    assert found is not None
    return found


@pytest.mark.parametrize(("rows", "seed"), [(5000, 7), (20_000, 8)])
def test_full_scan_answers_first_and_last_order_of_every_customer_and_category(rows: int, seed: int) -> None:
    orders = defaultdict(list)
    names = "customer_id, product_category_name, product_id, order_datetime, order_id"
    for customer, category, product, ordered, order in rows_of(names, rows, seed):
        if product in (20, 25, 29, 50, 38):
            orders[customer, category].append((ordered, order))
    expected = []
    for (customer, category), found in orders.items():
        (first, first_id), (last, last_id) = min(found), max(found)
        parts = (str(customer), category, as_postgres(first), str(first_id), as_postgres(last), str(last_id))
        expected.append("\t".join(parts))
    answer = answer_s("full_scan", rows, seed)
    assert answer["lines"] == sorted(expected)
    assert answer["rows"] == len(expected) > 10
    assert any(min(found) < max(found) for found in orders.values()), "some have two orders"


@pytest.mark.parametrize("seed", [7, 8, 9, 10])
def test_partial_scan_answers_the_mean_of_the_monthly_items_of_each_customer(seed: int) -> None:
    """Two digits, as PostgreSQL's ROUND of a numeric prints them: of seeds 8 and 9 the last one is 0."""
    items: dict[tuple[int, int], int] = defaultdict(int)
    for customer, ordered, quantity in rows_of("customer_id, order_datetime, item_quantity", seed=seed):
        if datetime(2010, 1, 1) <= ordered <= datetime(2010, 12, 31):
            items[customer, ordered.month] += quantity
    mean = (Decimal(sum(items.values())) / len(items)).quantize(Decimal("0.01"), ROUND_HALF_UP)
    answer = answer_s("partial_scan", seed=seed)
    assert (answer["rows"], answer["lines"]) == (1, [str(mean)])


@pytest.mark.parametrize("workload", ["full_scan", "partial_scan"])
def test_sum_of_an_answer_is_that_of_its_sorted_lines(workload: str) -> None:
    """As the job makes it: sort, then sha256sum."""
    answer = answer_s(workload)
    text = "".join(f"{line}\n" for line in sorted(answer["lines"], key=str.encode))
    assert answer["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert answer["source"] == "DuckDB over the same rows"


def test_answer_does_not_depend_on_how_the_table_is_kept() -> None:
    heap, column = (FULL_SCAN.dataset({"rows": 1000, "storage": kept}, SEED) for kept in ("heap", "append_column"))
    assert FULL_SCAN.answers(heap, []) == FULL_SCAN.answers(column, [])


@pytest.mark.parametrize("workload", ["full_scan", "partial_scan", "data_load"])
def test_answer_of_a_large_table_is_left_to_earlier_runs(workload: str) -> None:
    made = load_workload(workload)
    assert made.answers(made.dataset({"rows": 10_000_001, "storage": "heap"}, SEED), []) is None


# Whether an answer is right.


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return answer_s("full_scan")


def answered(folder: Path, *each: list[str], keep: bool = True) -> Path:
    """Output of streams that answered these lines, as the job leaves it."""
    texts = ["".join(f"{line}\n" for line in lines) for lines in each]
    (folder / "answers.txt").write_text(
        "".join(
            f"answer.{n}.1 {text.count(chr(10))} {hashlib.sha256(text.encode()).hexdigest()}  -\n"
            for n, text in enumerate(texts, 1)
        )
    )
    if keep:
        (folder / "answer.gz").write_bytes(gzip.compress(texts[0].encode()))
    return folder


def test_right_answers_are_right(tmp_path: Path, expected: dict[str, Any]) -> None:
    output = answered(tmp_path, expected["lines"], expected["lines"])
    assert wrong_answer(output, 2, expected) is None
    assert answer_of(output) == {"rows": expected["rows"], "sha256": expected["sha256"]}


def test_stream_without_an_answer_is_found(tmp_path: Path, expected: dict[str, Any]) -> None:
    output = answered(tmp_path, expected["lines"])
    assert wrong_answer(output, 2, expected) == "answers to be checked: 2, found: 1"


def test_no_answers_at_all_are_found(tmp_path: Path, expected: dict[str, Any]) -> None:
    assert wrong_answer(tmp_path, 1, expected) == "answers to be checked: 1, found: 0"
    assert answer_of(tmp_path) == {}


def test_streams_that_differ_are_found_even_where_nobody_knows_the_answer(
    tmp_path: Path, expected: dict[str, Any]
) -> None:
    output = answered(tmp_path, expected["lines"], expected["lines"], expected["lines"][1:])
    assert wrong_answer(output, 3, {}) == "the streams gave 2 different answers to one statement"
    assert wrong_answer(output, 3, expected) == "the streams gave 2 different answers to one statement"


def test_any_answer_that_all_streams_give_is_taken_where_nobody_knows_better(tmp_path: Path) -> None:
    assert wrong_answer(answered(tmp_path, ["1\tAudio"], ["1\tAudio"]), 2, {}) is None


def test_changed_row_is_found_and_shown(tmp_path: Path, expected: dict[str, Any]) -> None:
    lines = list(expected["lines"])
    right, lines[2] = lines[2], lines[2].replace("2", "3")
    assert wrong_answer(answered(tmp_path, lines), 1, expected) == (
        f"wrong answer: {len(lines)} rows, expected {len(lines)} (DuckDB over the same rows); "
        f"row 3 of the sorted rows is {lines[2]!r}, expected {right!r}"
    )


def test_missing_row_is_found_and_shown(tmp_path: Path, expected: dict[str, Any]) -> None:
    count = expected["rows"]
    assert wrong_answer(answered(tmp_path, expected["lines"][:-1]), 1, expected) == (
        f"wrong answer: {count - 1} rows, expected {count} (DuckDB over the same rows); "
        f"row {count} of the sorted rows is None, expected {expected['lines'][-1]!r}"
    )


def test_row_too_many_is_found_and_shown(tmp_path: Path, expected: dict[str, Any]) -> None:
    count = expected["rows"]
    assert wrong_answer(answered(tmp_path, [*expected["lines"], "zzz"]), 1, expected) == (
        f"wrong answer: {count + 1} rows, expected {count} (DuckDB over the same rows); "
        f"row {count + 1} of the sorted rows is 'zzz', expected None"
    )


def test_answer_that_is_too_large_to_compare_row_by_row_is_said_to_be_wrong(tmp_path: Path) -> None:
    output = answered(tmp_path, ["row"] * 1234, keep=False)
    known = {"rows": 1234567, "sha256": "0123456789abcdef", "source": "DuckDB over the same rows", "lines": ["row"]}
    seen = hashlib.sha256(b"row\n" * 1234).hexdigest()[:12]
    assert wrong_answer(output, 1, known) == (
        "wrong answer: 1,234 rows, expected 1,234,567 (DuckDB over the same rows); SHA-256 of the sorted rows "
        f"{seen}…, expected 0123456789ab…"
    )


def test_of_earlier_runs_only_the_sum_is_known(tmp_path: Path, expected: dict[str, Any]) -> None:
    output = answered(tmp_path, expected["lines"])
    earlier = {"rows": 3, "sha256": "0123456789abcdef", "source": "earlier valid runs"}
    assert wrong_answer(output, 1, earlier) == (
        f"wrong answer: {expected['rows']} rows, expected 3 (earlier valid runs); SHA-256 of the sorted rows "
        f"{expected['sha256'][:12]}…, expected 0123456789ab…"
    )
    assert wrong_answer(output, 1, answer_of(output) | {"source": "earlier valid runs"}) is None


# A scan's output.


def timed(folder: Path, *starts: float) -> Path:
    """Output of streams of one statement each, two seconds long."""
    for stream, start in enumerate(starts, 1):
        (folder / f"clock.{stream}").write_text(f"{start}\n")
        (folder / f"times.{stream}").write_text("Time: 2000.000 ms (00:02.000)\n")
        (folder / f"errors.{stream}").write_text("")
    (folder / "driver_cpu.txt").write_text("threads 2\nelapsed_s 2\nuser_s 0.1\nsystem_s 0.1\n")
    return folder


def test_completed_scan_with_right_answers_is_valid(tmp_path: Path, expected: dict[str, Any]) -> None:
    output = answered(timed(tmp_path, 1000.0, 1000.5), expected["lines"], expected["lines"])
    read = FULL_SCAN.read(output, trial(streams=2), expected)
    assert (read.errors, read.samples, read.invalid) == (0, 2, ())
    assert read.measurements["response_time_s"] == 2.5
    assert read.measurements["throughput_rows_per_s"] == ROWS * 2 / 2.5
    assert set(read.measurements) | set(database_work.MEASUREMENTS) == set(FULL_SCAN.measurements)
    assert read.details["answer"] == {"rows": expected["rows"], "sha256": expected["sha256"]}


def test_rows_that_partial_scan_reads_are_those_of_2010(tmp_path: Path) -> None:
    known = answer_s("partial_scan")
    output = answered(timed(tmp_path, 1000.0), known["lines"])
    of_2010 = sum(1 for (ordered,) in rows_of("order_datetime") if ordered >= datetime(2010, 1, 1))
    read = PARTIAL_SCAN.read(output, trial("partial_scan"), known)
    assert read.measurements["throughput_rows_per_s"] == of_2010 / 2


def test_fast_wrong_answer_makes_the_scan_invalid_and_is_not_remembered(
    tmp_path: Path, expected: dict[str, Any]
) -> None:
    output = answered(timed(tmp_path, 1000.0), expected["lines"][:-1])
    read = FULL_SCAN.read(output, trial(), expected)
    assert (len(read.invalid), read.errors) == (1, 0)
    assert read.invalid[0].startswith("wrong answer: ")
    assert "answer" not in read.details


def test_failed_scan_is_failed_and_not_called_wrong(tmp_path: Path, expected: dict[str, Any]) -> None:
    read = FULL_SCAN.read(timed(tmp_path, 1000.0), trial(streams=2), expected)
    assert (read.errors, read.invalid) == (1, ())


def test_scan_without_output_has_no_numbers(tmp_path: Path, expected: dict[str, Any]) -> None:
    read = FULL_SCAN.read(tmp_path, trial(streams=2), expected)
    assert (read.measurements, read.errors, read.invalid) == ({}, 2, ())


# What is read, and what cannot be had.


def test_full_scan_reads_all_partitions_and_partial_scan_those_of_2010() -> None:
    full, partial = FULL_SCAN.relations(trial()), PARTIAL_SCAN.relations(trial("partial_scan"))
    assert (len(full), len(partial)) == (101, 53)
    assert full[48:] == partial
    assert (full[0], full[47]) == ("order_lineitems_5000_1_prt_m2006_01", "order_lineitems_5000_1_prt_m2009_12")
    assert (partial[0], partial[-1]) == (
        "order_lineitems_5000_1_prt_w2010_01_01",
        "order_lineitems_5000_1_prt_w2010_12_31",
    )


def test_loading_reads_no_table() -> None:
    assert DATA_LOAD.relations(trial("data_load")) == []


def unavailable_to(engine: type[Postgres], platform: Platform = VM1) -> dict[str, str]:
    return engine.unavailable_on(platform, {})


NO_ETL = "the platform's file has no host with the role 'etl', from which files could be loaded"


@pytest.mark.parametrize(
    ("workload", "levels", "engine", "reason"),
    [
        (
            "partial_scan",
            {"work_mem": "1MB"},
            Greenplum,
            "Greenplum's memory for one statement is statement_mem; see that factor",
        ),
        (
            "partial_scan",
            {"statement_mem": "25MB"},
            Postgres,
            "PostgreSQL has no statement_mem; it is Greenplum's memory for one statement",
        ),
        (
            "full_scan",
            {"storage": "append_row"},
            Postgres,
            "PostgreSQL has no append-optimised tables; only Greenplum and its family have",
        ),
        (
            "data_load",
            {"storage": "append_row"},
            Postgres,
            "PostgreSQL has no append-optimised tables; only Greenplum and its family have",
        ),
    ],
)
def test_levels_that_cannot_be_had_say_why(
    workload: str, levels: dict[str, Any], engine: type[Postgres], reason: str
) -> None:
    levels = trial(workload, **levels).levels
    assert load_workload(workload).not_applicable(levels, unavailable_to(engine)) == reason


@pytest.mark.parametrize(
    ("workload", "levels", "engine"),
    [
        ("full_scan", {}, Postgres),
        ("full_scan", {"cache": "cold", "streams": 8}, Postgres),
        ("partial_scan", {"work_mem": "256MB"}, Postgres),
        ("partial_scan", {"statement_mem": "500MB"}, Greenplum),
        ("partial_scan", {"storage": "append_column"}, Greenplum),
        ("data_load", {}, Postgres),
        ("data_load", {"storage": "append_column"}, Greenplum),
    ],
)
def test_other_levels_can_be_had(workload: str, levels: dict[str, Any], engine: type[Postgres]) -> None:
    levels = trial(workload, **levels).levels
    assert load_workload(workload).not_applicable(levels, unavailable_to(engine)) is None


@pytest.mark.parametrize("engine", [Postgres, Greenplum])
def test_without_an_etl_host_nothing_is_loaded_but_all_is_scanned(engine: type[Postgres]) -> None:
    hosts = {name: host for name, host in VM1.hosts.items() if name != "etl"}
    unavailable = unavailable_to(engine, VM1.model_copy(update={"hosts": hosts}))
    assert DATA_LOAD.not_applicable(trial("data_load").levels, unavailable) == NO_ETL
    assert FULL_SCAN.not_applicable(trial().levels, unavailable) is None


def test_cold_caches_cannot_be_had_where_the_file_system_s_cannot_be_emptied() -> None:
    unavailable = unavailable_to(Greenplum, VM1.model_copy(update={"page_cache": "none"}))
    assert FULL_SCAN.not_applicable(trial(cache="cold").levels, unavailable) == (
        "the platform's file has 'page_cache: none', so the file system's cache cannot be emptied"
    )


# Loading.


@pytest.fixture(scope="module")
def loaded() -> dict[str, Any]:
    """What the loaded table must be."""
    return answer_s("data_load")


SIZE = 2_000_000


def load_output(folder: Path, check: str, in_memory: int = 0, streams: int = 1) -> Path:
    (folder / "check.txt").write_text(check)
    before = {"workload": {"files_bytes": SIZE, "files_bytes_in_memory": in_memory}}
    (folder / "before.json").write_text(json.dumps(before))
    return timed(folder, *[1000.0] * streams)


def read_load(output: Path, expected: Mapping[str, Any]) -> Reading:
    return DATA_LOAD.read(output, trial("data_load"), expected)


def test_loaded_table_is_to_have_all_rows_of_the_files(loaded: dict[str, Any]) -> None:
    checksum = order_lineitems.expected_checksum(order_lineitems.dataset_of(ROWS, SEED))
    assert loaded == {"rows": ROWS, "checksum": checksum, "source": "DuckDB over the same rows"}


def test_right_load_is_measured_in_bytes_and_rows(tmp_path: Path, loaded: dict[str, Any]) -> None:
    output = load_output(tmp_path, f"{ROWS} {loaded['checksum']}\n")
    read = read_load(output, loaded)
    assert (read.errors, read.invalid) == (0, ())
    assert read.measurements == {
        "response_time_s": 2.0,
        "throughput_mb_per_s": 1.0,
        "throughput_rows_per_s": ROWS / 2,
        "driver_cpu_share": pytest.approx(0.05),
    }
    assert set(read.measurements) | set(database_work.MEASUREMENTS) == set(DATA_LOAD.measurements)
    assert read.details["answer"] == {"rows": ROWS, "checksum": loaded["checksum"]}


def test_all_of_a_load_s_streams_are_one_load(tmp_path: Path, loaded: dict[str, Any]) -> None:
    output = load_output(tmp_path, f"{ROWS} {loaded['checksum']}\n", streams=16)
    (output / "clock.16").write_text("1002.0\n")
    read = read_load(output, loaded)
    assert (read.errors, read.samples) == (0, 16)
    assert read.measurements["response_time_s"] == 4.0
    assert read.measurements["throughput_mb_per_s"] == 0.5


def test_load_that_nobody_knows_better_is_remembered(tmp_path: Path) -> None:
    read = read_load(load_output(tmp_path, f"{ROWS} 77\n"), {})
    assert (read.invalid, read.details["answer"]) == ((), {"rows": ROWS, "checksum": "77"})


@pytest.mark.parametrize(
    ("check", "in_memory", "reason"),
    [
        ("4999 77\n", 0, "the files have 5,000 rows, the table has 4,999 after the load"),
        ("5000 78\n", 0, "the table's checksum is 78, that of the files 77 (DuckDB over the same rows)"),
        ("", 0, "the loaded table could not be checked: it gave neither rows nor checksum"),
        ("0\n", 0, "the loaded table could not be checked: it gave neither rows nor checksum"),
        ("5000 77\n", 20_001, "20,001 of the files' 2,000,000 bytes were in the ETL host's memory at the start"),
    ],
)
def test_wrong_load_is_invalid_and_not_remembered(tmp_path: Path, check: str, in_memory: int, reason: str) -> None:
    known = {"rows": ROWS, "checksum": "77", "source": "DuckDB over the same rows"}
    read = read_load(load_output(tmp_path, check, in_memory), known)
    assert read.invalid == (reason,)
    assert "answer" not in read.details
    assert read.errors == 0


def test_a_hundredth_of_the_files_may_be_in_memory(tmp_path: Path) -> None:
    assert read_load(load_output(tmp_path, f"{ROWS} 77\n", in_memory=20_000), {}).invalid == ()


def test_load_without_a_check_is_invalid(tmp_path: Path) -> None:
    output = load_output(tmp_path, "")
    (output / "check.txt").unlink()
    assert read_load(output, {}).invalid == (
        "the loaded table could not be checked: it gave neither rows nor checksum",
    )


def test_failed_load_is_failed_and_not_called_wrong(tmp_path: Path, loaded: dict[str, Any]) -> None:
    output = load_output(tmp_path, "", streams=2)
    (output / "times.2").write_text("")
    (output / "errors.2").write_text("psql: ERROR:  disk full\n")
    read = read_load(output, loaded)
    assert (read.errors, read.invalid) == (1, ())
    assert read.details["driver_errors"] == "psql: ERROR:  disk full"


def test_load_that_never_began_has_no_numbers(tmp_path: Path, loaded: dict[str, Any]) -> None:
    read = read_load(tmp_path, loaded)
    assert (read.measurements, read.invalid) == ({}, ())


def test_loaded_table_is_another_than_the_scanned_and_its_facts_are_the_files() -> None:
    dataset = DATA_LOAD.dataset({"rows": ROWS, "storage": "append_row"}, SEED)
    assert (dataset.name, dataset.table) == ("order_lineitems_files", "order_lineitems_load_5000_append_row")


# The engines: tables and loaders.


def greenplum(segments: int) -> Greenplum:
    """On two hosts, never reached."""
    found = [Instance(-1, "cdw", "cdw", 5432, "/data/gpseg-1")]
    found += [Instance(n, f"sdw{n % 2 + 1}", f"sdw{n % 2 + 1}", 6000 + n, f"/data/gpseg{n}") for n in range(segments)]
    known = {"instances": [i.as_json() for i in found], "program_directory": "/usr/local/gp/bin"}
    return Greenplum(VM1, Fleet([Address("etl", "10.0.0.9", 22, "bench")]), DATABASE, known)


def postgres() -> Postgres:
    return Postgres(LAB_DB1, cast(Fleet, None), DATABASE, {})


def definition(engine: Postgres, layout: str = "heap") -> str:
    dataset = order_lineitems.dataset_of(ROWS, SEED, layout=layout)
    return engine.table_definition(dataset.table, "order_id bigint", dataset.storage)


def test_postgresql_makes_each_partition_a_table_of_the_same_name_as_greenplum() -> None:
    text = definition(postgres())
    assert text.startswith(
        'CREATE TABLE "order_lineitems_5000" (order_id bigint) PARTITION BY RANGE ("order_datetime");\n'
        'CREATE TABLE "order_lineitems_5000_1_prt_m2006_01" PARTITION OF "order_lineitems_5000" '
        "FOR VALUES FROM ('2006-01-01') TO ('2006-02-01') WITH (autovacuum_enabled = false);\n"
    )
    assert text.endswith(
        'CREATE TABLE "order_lineitems_5000_1_prt_w2010_12_31" PARTITION OF "order_lineitems_5000" '
        "FOR VALUES FROM ('2010-12-31') TO ('2011-01-01') WITH (autovacuum_enabled = false)"
    )
    assert text.count(" PARTITION OF ") == text.count(";\n") == 101


def test_greenplum_makes_the_partitions_with_the_table() -> None:
    text = definition(greenplum(4))
    assert text.startswith(
        'CREATE TABLE "order_lineitems_5000" (order_id bigint) WITH (appendonly=false) DISTRIBUTED BY ("order_id")\n'
        'PARTITION BY RANGE ("order_datetime") (\n'
        "  PARTITION \"m2006_01\" START ('2006-01-01') INCLUSIVE END ('2006-02-01') EXCLUSIVE,\n"
    )
    assert text.endswith("  PARTITION \"w2010_12_31\" START ('2010-12-31') INCLUSIVE END ('2011-01-01') EXCLUSIVE\n)")
    assert text.count("  PARTITION ") == 101


def test_greenplum_keeps_the_table_in_the_layout_that_was_chosen() -> None:
    assert definition(greenplum(4), "append_column").startswith(
        'CREATE TABLE "order_lineitems_5000_append_column" (order_id bigint) WITH (appendonly=true, '
        'orientation=column, compresstype=zlib, compresslevel=1) DISTRIBUTED BY ("order_id")\nPARTITION BY RANGE '
    )


def places(first: int, count: int) -> str:
    return ", ".join(f"'gpfdist://10.0.0.9:{18080 + n}/part-{n:02d}'" for n in range(first, first + count))


def test_loads_of_one_table_at_the_same_time_have_external_tables_of_their_own() -> None:
    one, other = (greenplum(4).bulk_load("t", "etl", ["a"], name=f"chunk{number}_") for number in (1, 2))
    assert '"t_chunk1_0"' in one.create and '"t_chunk1_0"' in one.drop and '"t_chunk1_0"' in one.streams[0][0]
    assert "t_chunk1_0" not in other.create + other.drop + other.streams[0][0]


def bulk_load(engine: Postgres) -> BulkLoad:
    return engine.bulk_load("t", "etl", load_files.names())


def test_few_segments_need_several_external_tables_and_one_insert() -> None:
    """A table may name no more servers than there are segments."""
    made = bulk_load(greenplum(4))
    drops = [f'DROP EXTERNAL TABLE IF EXISTS "t_ext{n}"' for n in range(4)]
    creates = [
        f'CREATE READABLE EXTERNAL TABLE "t_ext{n}" (LIKE "t") LOCATION ({places(4 * n, 4)}) '
        "FORMAT 'TEXT' (DELIMITER '|' NULL '')"
        for n in range(4)
    ]
    assert made.drop == ";\n".join(drops)
    assert made.create == ";\n".join([*drops, *creates])
    assert made.streams == [
        [
            'INSERT INTO "t" SELECT * FROM "t_ext0" UNION ALL SELECT * FROM "t_ext1" UNION ALL '
            'SELECT * FROM "t_ext2" UNION ALL SELECT * FROM "t_ext3"'
        ]
    ]


@pytest.mark.parametrize("segments", [16, 32])
def test_one_external_table_is_enough_for_many_segments(segments: int) -> None:
    made = bulk_load(greenplum(segments))
    assert made.drop == 'DROP EXTERNAL TABLE IF EXISTS "t_ext0"'
    assert made.create.count("CREATE READABLE EXTERNAL TABLE") == 1
    assert f"LOCATION ({places(0, 16)})" in made.create
    assert made.streams == [['INSERT INTO "t" SELECT * FROM "t_ext0"']]


def test_segments_that_do_not_divide_the_files_leave_a_smaller_table() -> None:
    made = bulk_load(greenplum(6))
    assert made.create.count("CREATE READABLE EXTERNAL TABLE") == 3
    assert made.create.endswith(f"LOCATION ({places(12, 4)}) FORMAT 'TEXT' (DELIMITER '|' NULL '')")


def test_greenplum_s_file_servers_are_started_before_and_stopped_after() -> None:
    made = bulk_load(greenplum(4))
    assert made.before.splitlines()[:3] == [
        "program_path=/usr/local/gp/bin:/usr/local/greenplum-db/bin:/usr/local/greenplum-loaders/bin",
        "first_port=18080",
        "servers=16",
    ]
    assert "PATH=$PATH:$program_path\n" in made.before
    assert 'for n in $(seq "$servers"); do' in made.before
    assert "-p $((first_port + n - 1))" in made.before
    assert made.after == "kill $(cat servers.txt 2>/dev/null) 2>/dev/null || true"
    subprocess.run(["bash", "-n"], input=f"{made.before}\n{made.after}\n", text=True, check=True)


def test_missing_gpfdist_is_said(tmp_path: Path) -> None:
    ended = subprocess.run(
        ["bash", "-euo", "pipefail"],
        input=bulk_load(greenplum(4)).before,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("gpfdist is not installed on ")


def test_postgresql_copies_each_file_in_a_session_of_its_own() -> None:
    made = bulk_load(postgres())
    options = "WITH (FORMAT text, DELIMITER '|', NULL '')"
    assert made == BulkLoad([[f"\\copy \"t\" FROM 'files/part-{n:02d}' {options}"] for n in range(16)])


class LoadEngine(TinyEngine):
    """PostgreSQL's loader, on an ETL host that is this one."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.fleet = LocalFleet(folder)

    def bulk_load(self, table: str, host: str, files: list[str]) -> BulkLoad:
        assert host == "etl"
        return postgres().bulk_load(table, host, files)


class LocalFleet:
    """Runs scripts here; ``folder`` is the work folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def work_dir(self, host: str) -> str:
        return str(self.folder)

    def run_on(self, host: str, script: str, *, timeout_s: float = 60) -> Answer:
        ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
        return Answer(host, 0, ended.stdout, ended.stderr)


def test_load_job_links_the_files_checks_the_table_and_empties_it_after_a_failure(tmp_path: Path) -> None:
    dataset = DATA_LOAD.dataset({"rows": ROWS, "storage": "heap"}, SEED)
    made = DATA_LOAD.job(trial("data_load"), cast(Any, LoadEngine(tmp_path)))
    linked = f"ln -sfn {tmp_path}/files/order_lineitems_load_5000-seed7-{dataset.version} files\n"
    assert linked in made.files["before.sh"]
    assert made.files["check.sql"] == order_lineitems.checksum_query("order_lineitems_load_5000") + ";\n"
    assert made.files["on_failure.sql"] == 'TRUNCATE TABLE "order_lineitems_load_5000";\n'
    assert "\n\\copy \"order_lineitems_load_5000\" FROM 'files/part-15' WITH " in made.files["stream.16.sql"]
    assert "stream.17.sql" not in made.files


# Load files, on a host that is this one.


FILES_DATASET = DATA_LOAD.dataset({"rows": ROWS, "storage": "heap"}, SEED)


@pytest.fixture(scope="module")
def made_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder with files as psql on the ETL host writes them."""
    folder = tmp_path_factory.mktemp("etl")
    path = folder / load_files.directory(FILES_DATASET)
    path.mkdir(parents=True)
    query = f"SELECT * FROM {order_lineitems.duckdb_rows(FILES_DATASET)} ORDER BY order_item_id"
    lines = ["|".join(value or "" for value in row) for row in order_lineitems.duckdb(query, as_text=True)]
    for number, name in enumerate(load_files.names()):
        text = "".join(f"{line}\n" for line in lines[number :: load_files.FILES])
        (path / name).write_text(text)
        digest = hashlib.sha256(text.encode()).hexdigest()
        (path / f"{name}.facts").write_text(f"{text.count(chr(10))} {len(text)} {digest}\n")
    return folder


@pytest.fixture
def files_engine(tmp_path: Path, made_files: Path) -> LoadEngine:
    """With a copy that a test may spoil."""
    return LoadEngine(Path(shutil.copytree(made_files, tmp_path / "etl")))


def file_verdicts(engine: LoadEngine) -> list[str]:
    """What the suites say is wrong with the files."""
    found: dict[str, Any] = load_files.inspect(FILES_DATASET, cast(Any, engine))
    parts = found.pop("parts")
    verdicts = [*validate("order_lineitems_files", [found]), *validate("order_lineitems_files_parts", parts)]
    return [verdict.says for verdict in verdicts if not verdict.passed]


def test_files_as_they_were_made_pass(files_engine: LoadEngine) -> None:
    assert load_files.is_generated(FILES_DATASET, cast(Any, files_engine))
    found = load_files.inspect(FILES_DATASET, cast(Any, files_engine))
    assert (found["host"], found["files"], found["row_count"]) == ("etl", 16, ROWS)
    assert file_verdicts(files_engine) == []


def test_file_that_was_changed_is_found(files_engine: LoadEngine) -> None:
    path = Path(files_engine.fleet.work_dir("etl")) / load_files.directory(FILES_DATASET) / "part-03"
    path.write_text(path.read_text().replace("United States", "United Stated", 1))
    assert file_verdicts(files_engine) == ["Every load file is what was made: its SHA-256"]


def test_file_that_was_cut_off_is_found(files_engine: LoadEngine) -> None:
    path = Path(files_engine.fleet.work_dir("etl")) / load_files.directory(FILES_DATASET) / "part-03"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert file_verdicts(files_engine) == [
        "The load files have as many lines as were asked for",
        "Every load file has a sixteenth of the lines",
        "Every load file is as long as when it was made",
        "Every load file is what was made: its SHA-256",
    ]


def test_file_that_was_never_made_is_found(files_engine: LoadEngine) -> None:
    path = Path(files_engine.fleet.work_dir("etl")) / load_files.directory(FILES_DATASET)
    (path / "part-03.facts").unlink()
    assert not load_files.is_generated(FILES_DATASET, cast(Any, files_engine))
    assert file_verdicts(files_engine) == [
        "There are 16 load files",
        "The load files have as many lines as were asked for",
        "Every load file has a sixteenth of the lines",
        "Every load file is what was made: its SHA-256",
    ]


def test_no_files_at_all_are_found(tmp_path: Path) -> None:
    engine = LoadEngine(tmp_path)
    assert not load_files.is_generated(FILES_DATASET, cast(Any, engine))
    assert load_files.inspect(FILES_DATASET, cast(Any, engine))["files"] == 0


def test_files_are_dealt_out_to_the_disks_of_the_etl_host(tmp_path: Path) -> None:
    """As the scripts make them: the dataset's folder leads to them, and they are looked at and evicted like others."""
    disks = [str(tmp_path / f"disk{number}") for number in range(3)]
    on = load_files.on_disks(FILES_DATASET, disks)
    assert [Path(on[name]).parts[-3] for name in load_files.names()[:4]] == ["disk0", "disk1", "disk2", "disk0"]
    assert load_files.on_disks(FILES_DATASET, []) == {}
    engine = LoadEngine(tmp_path / "etl")
    path = Path(engine.fleet.work_dir("etl")) / load_files.directory(FILES_DATASET)
    path.mkdir(parents=True)
    make = scripts.script("workloads/make_file")
    for name in load_files.names():
        engine.fleet.run_on("etl", f"set -euo pipefail; cd {path}; disk={on[name]}\n{make}\nmake {name} echo {name}")
    assert load_files.is_generated(FILES_DATASET, cast(Any, engine))
    assert sorted(file.name for file in Path(on["part-01"]).iterdir()) == [f"part-{n:02d}" for n in (1, 4, 7, 10, 13)]
    assert (path / "part-01").resolve() == Path(on["part-01"]) / "part-01"
    found: dict[str, Any] = load_files.inspect(FILES_DATASET, cast(Any, engine))
    assert (found["files"], found["row_count"], found["files_bytes"]) == (16, 16, 16 * len("part-00\n"))
    assert load_files.evict(FILES_DATASET, cast(Any, engine))[1] == found["files_bytes"]


# Hardware.


def hosts(**changed: Any) -> dict[str, dict[str, Any]]:
    """Facts of the hosts of ``vm1.yaml`` as they tell them; ``changed`` are those of sdw2."""
    good = {"cpus": "16", "memory_bytes": str(92 * 10**9), "disks": "16"}
    return {name: good | (changed if name == "sdw2" else {}) for name in VM1.hosts}


def differing(platform: Platform, found: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    claims = facts.declared_hardware(platform, found)
    return {f"{host}: {what}": (declared, seen) for host, what, declared, seen, holds in claims if not holds}


def test_hardware_as_declared_is_equal() -> None:
    claims = facts.declared_hardware(VM1, hosts())
    assert all(holds for *_, holds in claims)
    assert len(claims) == 4 * 3
    assert {what: declared for host, what, declared, *_ in claims if host == "sdw3"} == {
        "cpus": "16",
        "memory_gb": "92",
        "data_disks": "16",
    }


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"cpus": "8"}, {"sdw2: cpus": ("16", "8")}),
        ({"cpus": "32"}, {"sdw2: cpus": ("16", "32")}),
        ({"memory_bytes": str(80 * 10**9)}, {"sdw2: memory_gb": ("92", "80")}),
        ({"memory_bytes": str(110 * 10**9)}, {"sdw2: memory_gb": ("92", "110")}),
        ({"disks": "15"}, {"sdw2: data_disks": ("16", "15")}),
        ({"disks": ""}, {"sdw2: data_disks": ("16", "0")}),
    ],
)
def test_other_hardware_than_declared_is_told_by_host(
    changed: dict[str, str], expected: dict[str, tuple[str, str]]
) -> None:
    assert differing(VM1, hosts(**changed)) == expected


@pytest.mark.parametrize(
    "changed", [{"memory_bytes": str(83 * 10**9)}, {"memory_bytes": str(101 * 10**9)}, {"disks": "17"}]
)
def test_memory_within_a_tenth_and_more_disks_are_as_declared(changed: dict[str, str]) -> None:
    assert differing(VM1, hosts(**changed)) == {}


def test_disks_that_are_not_declared_are_not_compared() -> None:
    claim = VM1.model_copy(update={"segment_host": Hardware(cpus=16, memory_gb=92)})
    assert {(host, what) for host, what, *_ in facts.declared_hardware(claim, hosts(disks="0"))} == {
        (f"sdw{n}", what) for n in (1, 2, 3, 4) for what in ("cpus", "memory_gb")
    }


def test_platform_that_claims_nothing_is_not_compared() -> None:
    assert facts.declared_hardware(LAB_DB1, {}) == []


# Answers of a whole run.


def record(repetition: int, answer: Any, workload: str = "full_scan", **levels: Any) -> TrialRecord:
    made = replace(trial(workload, **levels), repetition=repetition)
    return TrialRecord(made, "completed", "", evidence={"driver": {"answer": answer}} if answer else {"driver": {}})


SAYS = "All trials of a statement gave the same answer"


def test_same_answers_pass() -> None:
    (verdict,) = validation.about_answers([record(n, {"rows": 22, "sha256": "ab"}) for n in (1, 2, 3)])
    assert (verdict.suite, verdict.check, verdict.says) == ("results", 2, SAYS)
    assert (verdict.passed, verdict.critical) == (True, True)
    assert verdict.found == "one answer to every statement"


def test_different_answers_fail() -> None:
    records = [record(1, {"rows": 22, "sha256": "ab"}), record(2, {"rows": 22, "sha256": "cd"})]
    (verdict,) = validation.about_answers(records)
    assert (verdict.check, verdict.passed, verdict.critical) == (2, False, True)
    said = f"full_scan on 5,000 rows: 2 trials gave 2 different answers to sha256; {REMEDY}"
    assert verdict.found == said
    assert validation.failures("the run", [verdict]) == f"the run is not valid:\n  {SAYS}: {said}"


def test_answer_must_be_the_same_however_the_table_is_kept_and_however_many_ask() -> None:
    records = [record(1, {"rows": 1}), record(2, {"rows": 2}, storage="append_column", streams=8, cache="cold")]
    (verdict,) = validation.about_answers(records)
    assert verdict.found == f"full_scan on 5,000 rows: 2 trials gave 2 different answers to rows; {REMEDY}"


def test_other_statements_and_other_rows_have_other_answers() -> None:
    records = [
        record(1, {"rows": 1}),
        record(1, {"rows": 2}, "partial_scan"),
        record(1, {"rows": 3}, "data_load"),
        record(1, {"rows": 4}, rows=6000),
    ]
    (verdict,) = validation.about_answers(records)
    assert (verdict.passed, verdict.found) == (True, "one answer to every statement")


def test_trials_without_an_answer_are_not_judged() -> None:
    assert validation.about_answers([record(1, None), TrialRecord(trial(), "failed", "down")]) == []


# Expectations.


def table_facts(**changed: Any) -> list[dict[str, Any]]:
    good = {
        "table": "order_lineitems_5000",
        "rows_expected": 5000,
        "row_count": 5000,
        "wrong_products": 0,
        "wrong_customers": 0,
        "wrong_lines": 0,
        "out_of_range": 0,
        "wrong_nulls": 0,
        "share_of_2010": 0.1999,
        "duplicate_lines": 0,
        "orders_with_missing_lines": 0,
        "orders_of_several_customers_or_times": 0,
        "row_skew": 0.003,
        "row_skew_max": 0.09,
        "indexes": "none",
        "checksum": "2884207201940245903124",
        "checksum_expected": "2884207201940245903124",
        "checksum_source": "DuckDB over the same rows",
    }
    return [good, {**good, **changed}]


def partition_facts(**changed: Any) -> list[dict[str, Any]]:
    dataset = order_lineitems.dataset_of(ROWS, SEED)
    found = [
        {
            "leaf": part.table(dataset.table),
            "row_count": order_lineitems.rows_of(part, ROWS),
            "first_ordered": None,
            "last_ordered": None,
        }
        for part in order_lineitems.partitions()
    ]
    rows = order_lineitems.partition_rows(dataset, found)
    return [*rows[:-1], rows[-1] | changed]


def files_facts(**changed: Any) -> list[dict[str, Any]]:
    good = {
        "table": "order_lineitems_load_5000",
        "host": "etl",
        "files": 16,
        "files_expected": 16,
        "row_count": 5000,
        "rows_expected": 5000,
        "files_bytes": 2_030_000,
        "line_bytes_mean": 406.0,
    }
    return [good, {**good, **changed}]


def files_parts_facts(**changed: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {
            "file": name,
            "row_count": load_files.lines_of(number, ROWS),
            "rows_expected": load_files.lines_of(number, ROWS),
            "rows_made": load_files.lines_of(number, ROWS),
            "file_bytes": 127_000 + number,
            "bytes_made": 127_000 + number,
            "sha256": f"{name} ab",
            "sha256_made": f"{name} ab",
        }
        for number, name in enumerate(load_files.names())
    ]
    return [*rows[:-1], rows[-1] | changed]


GOOD: dict[str, Callable[..., list[dict[str, Any]]]] = {
    "order_lineitems": table_facts,
    "order_lineitems_partitions": partition_facts,
    "order_lineitems_files": files_facts,
    "order_lineitems_files_parts": files_parts_facts,
}

BROKEN: list[tuple[str, dict[str, Any], str]] = [
    ("order_lineitems", {"row_count": 4999}, "The table has as many lines as were asked for"),
    ("order_lineitems", {"wrong_products": 1}, "A product has one category, its category one name, and the product"),
    ("order_lineitems", {"wrong_customers": 1}, "A customer has one e-mail address"),
    ("order_lineitems", {"wrong_lines": 1}, "A line belongs to its order"),
    ("order_lineitems", {"out_of_range": 1}, "Numbers are in their ranges"),
    ("order_lineitems", {"wrong_nulls": 1}, "What was not returned has no dates of it"),
    ("order_lineitems", {"duplicate_lines": 1}, "No line is there twice"),
    ("order_lineitems", {"orders_with_missing_lines": 1}, "No order lacks a line"),
    ("order_lineitems", {"orders_of_several_customers_or_times": 1}, "An order has one customer and one time"),
    ("order_lineitems", {"share_of_2010": 0.19}, "A fifth of the lines is of 2010"),
    ("order_lineitems", {"share_of_2010": 0.21}, "A fifth of the lines is of 2010"),
    ("order_lineitems", {"checksum": "2884207201940245903125"}, "The checksum is that of the same rows"),
    ("order_lineitems", {"row_skew": 0.1}, "The rows are spread evenly over the segments"),
    ("order_lineitems_partitions", {"row_count": 0}, "Every partition has the lines of its month or week"),
    ("order_lineitems_partitions", {"begins": "w2010_12_31: too early, 2010-12-30 23:59:59"}, "No line is older"),
    ("order_lineitems_partitions", {"ends": "w2010_12_31: too late, 2011-01-01 00:00:00"}, "No line is younger"),
    ("order_lineitems_files", {"files": 15}, "There are 16 load files"),
    ("order_lineitems_files", {"row_count": 4999}, "The load files have as many lines as were asked for"),
    ("order_lineitems_files", {"line_bytes_mean": 380.0}, "A line is as long as the paper's"),
    ("order_lineitems_files", {"line_bytes_mean": 460.0}, "A line is as long as the paper's"),
    ("order_lineitems_files_parts", {"row_count": 311}, "Every load file has a sixteenth of the lines"),
    ("order_lineitems_files_parts", {"file_bytes": 1}, "Every load file is as long as when it was made"),
    ("order_lineitems_files_parts", {"sha256": "part-15 cd"}, "Every load file is what was made"),
]
WARNINGS = [("order_lineitems", {"indexes": "i_orders"}, "The table has no index")]


@pytest.mark.parametrize("suite", GOOD)
def test_good_facts_pass(suite: str) -> None:
    assert [verdict for verdict in validate(suite, GOOD[suite]()) if not verdict.passed] == []


@pytest.mark.parametrize(
    ("suite", "changed", "says"), BROKEN, ids=lambda value: value if isinstance(value, str) else ""
)
def test_fact_broken_in_one_way_fails_that_expectation_alone(suite: str, changed: dict[str, Any], says: str) -> None:
    verdicts = validate(suite, GOOD[suite](**changed))
    (failed,) = (verdict for verdict in verdicts if not verdict.passed)
    assert failed.says.startswith(says)
    assert (failed.check, failed.critical) == (1, True)
    assert not validation.passed(verdicts)


@pytest.mark.parametrize(("suite", "changed", "says"), WARNINGS)
def test_index_is_a_warning_and_does_not_make_the_data_invalid(suite: str, changed: dict[str, Any], says: str) -> None:
    verdicts = validate(suite, GOOD[suite](**changed))
    (failed,) = (verdict for verdict in verdicts if not verdict.passed)
    assert failed.says.startswith(says)
    assert not failed.critical
    assert validation.passed(verdicts)


def test_every_expectation_is_broken_by_a_fact_above() -> None:
    tried = [(suite, says) for suite, _, says in (*BROKEN, *WARNINGS)]
    for suite in GOOD:
        for one in json.loads((project_root() / "expectations" / f"{suite}.json").read_text())["expectations"]:
            says = one["meta"]["says"]
            assert any(suite == other and says.startswith(start) for other, start in tried), says


@pytest.mark.parametrize("suite", GOOD)
def test_no_facts_are_a_failure_and_not_a_pass(suite: str) -> None:
    (verdict,) = validate(suite, [])
    assert (verdict.passed, verdict.critical, verdict.found) == (False, True, "nothing was recorded")


@pytest.mark.parametrize("suite", GOOD)
def test_suite_is_of_facts_that_are_there(suite: str) -> None:
    expectations = json.loads((project_root() / "expectations" / f"{suite}.json").read_text())["expectations"]
    named = {value for one in expectations for key, value in one["kwargs"].items() if key.startswith("column")}
    assert named <= set(GOOD[suite]()[0])
    assert {one["meta"]["check"] for one in expectations} <= {1, 8}


def test_checksum_that_nobody_knows_is_a_failure_and_not_a_pass() -> None:
    verdicts = validate("order_lineitems", table_facts(checksum_expected=None))
    assert not validation.passed(verdicts)
