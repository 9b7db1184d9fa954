"""The retail experiment on real PostgreSQL: what stops it before a trial, what makes a trial invalid or failed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from shlex import quote
from typing import Any

import pytest

from clusterbench.base.connections import Connections
from clusterbench.base.errors import DatasetError
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.report.run.page import render_report
from clusterbench.run import steps
from clusterbench.run.known_answers import note_expected_answers, remember_answers
from clusterbench.run.run import Run
from clusterbench.trial.protocol import job_of, run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import generation, load_workload
from clusterbench.workloads.retail import load_files, order_lineitems
from tests.integration.helpers import generated_run, measured_whole, new_run, on_testbed

pytestmark = pytest.mark.lab
ROWS, SEED = 20_000, 20060101
"""Those of the experiment at smoke scale."""
TABLE = f"order_lineitems_{ROWS}"
LOAD_ROWS = 10_000


@pytest.fixture
def run(connections: Connections) -> Iterator[Run]:
    """A run of the experiment at smoke scale on one platform, ready for its trials to be measured."""
    with generated_run(connections, "retail", "lab_db1") as made:
        yield made


@pytest.fixture
def testbed(run: Run) -> Iterator[Testbed]:
    with on_testbed(run) as made:
        yield made


@pytest.fixture
def spoiled_table(testbed: Testbed) -> Iterator[Testbed]:
    """What a test does to the table is undone: it is made anew for the next."""
    yield testbed
    generation.drop(order_lineitems.dataset_of(ROWS, SEED), testbed.engine)


@pytest.fixture
def spoiled_files(testbed: Testbed) -> Iterator[Testbed]:
    yield testbed
    testbed.fleet.run_on("etl", f"rm -rf {quote(testbed.fleet.work_dir('etl'))}/files")


def mend_order(testbed: Testbed, order: int) -> None:
    """Its lines as they were made: a slice of rows is the same whenever it is made."""
    dataset = order_lineitems.dataset_of(ROWS, SEED)
    first, last = (order_lineitems.lines_before(number, ROWS) for number in (order, order + 1))
    testbed.engine.execute(f"DELETE FROM {TABLE} WHERE order_id = {order + 10**9}")
    testbed.engine.execute(order_lineitems.insert(dataset, testbed.engine.series(first + 1, last)))


def trial(workload: str, name: str = "t", **levels: Any) -> Trial:
    defaults = {factor: declared.default for factor, declared in load_workload(workload).factors.items()}
    rows = LOAD_ROWS if workload == "data_load" else ROWS
    return Trial(f"{name}.r1", name, "lab_db1", name, workload, defaults | {"rows": rows} | levels, 1, SEED, 120, {})


def measured(run: Run, testbed: Testbed, made: Trial) -> TrialRecord:
    """With the right answer known, as ``validate_data`` leaves it."""
    note_expected_answers(run, made.workload, load_workload(made.workload).dataset(made.levels, made.seed))
    return run_trial(made, testbed)


def files_path(testbed: Testbed, rows: int = LOAD_ROWS) -> str:
    dataset = load_workload("data_load").dataset({"rows": rows, "storage": "heap"}, SEED)
    return f"{testbed.fleet.work_dir('etl')}/{load_files.directory(dataset)}"


def exists(testbed: Testbed, table: str) -> bool:
    return bool(testbed.engine.query(f"SELECT to_regclass('{table}') IS NOT NULL AS found")[0]["found"])


# Before any trial.


@pytest.mark.parametrize(
    ("order", "corruption", "said"),
    [
        (
            0,
            "UPDATE {t} SET product_category_name = 'Gardening' WHERE order_item_id = 10000000001",
            "A product has one category, its category one name, and the product one name: 0 of 1 as expected",
        ),
        pytest.param(
            1,
            "INSERT INTO {t} SELECT * FROM {t} WHERE order_item_id = 10000000012",
            "No line is there twice: 0 of 1 as expected; not so: 1",
            marks=pytest.mark.long,
        ),
        pytest.param(
            7702,
            "UPDATE {t} SET order_datetime = order_datetime - interval '1 year' WHERE order_item_id = 10000077021",
            "Every partition has the lines of its month or week, no more and no fewer: 99 of 101 as expected",
            marks=pytest.mark.long,
        ),
        (
            1,
            "DELETE FROM {t} WHERE order_item_id = 10000000012",
            "No order lacks a line: 0 of 1 as expected; not so: 1",
        ),
        pytest.param(
            1,
            "UPDATE {t} SET customer_id = customer_id + 1 WHERE order_item_id = 10000000012",
            "A customer has one e-mail address: 0 of 1 as expected; not so: 1",
            marks=pytest.mark.long,
        ),
        (
            1,
            "UPDATE {t} SET ship_customer_name = 'Nobody' WHERE order_item_id = 10000000012",
            "The checksum is that of the same rows made by DuckDB, or of an earlier valid run: 0 of 1 as expected",
        ),
    ],
)
def test_a_corrupted_row_is_caught_before_any_trial(
    run: Run, testbed: Testbed, order: int, corruption: str, said: str
) -> None:
    testbed.engine.execute(corruption.format(t=TABLE))
    try:
        with pytest.raises(DatasetError) as caught:
            steps.validate_data(run, "lab_db1")
    finally:
        mend_order(testbed, order)
    assert said in str(caught.value)
    assert str(caught.value).startswith("platform 'lab_db1': the data is not valid:")
    assert str(caught.value).endswith("Nothing was measured")
    assert run.archive.trials() == []


@pytest.mark.long
def test_a_load_file_that_was_changed_is_caught_before_any_trial(run: Run, spoiled_files: Testbed) -> None:
    spoiled_files.fleet.run_on("etl", f"cd {files_path(spoiled_files)} && sed -i '3s/Street/Avenue/' part-05")
    with pytest.raises(DatasetError) as caught:
        steps.validate_data(run, "lab_db1")
    assert "Every load file is what was made: its SHA-256: 15 of 16 as expected; not so: ['part-05 " in str(
        caught.value
    )


@pytest.mark.long
def test_a_load_file_that_is_lost_is_made_again_and_is_the_same(run: Run, spoiled_files: Testbed) -> None:
    before = spoiled_files.fleet.run_on("etl", f"cd {files_path(spoiled_files)} && cat *.facts").output
    spoiled_files.fleet.run_on("etl", f"cd {files_path(spoiled_files)} && rm part-03 part-03.facts")
    with pytest.raises(DatasetError, match="There are 16 load files: 0 of 1 as expected"):
        steps.validate_data(run, "lab_db1")
    steps.generate_data(run, "lab_db1")
    assert spoiled_files.fleet.run_on("etl", f"cd {files_path(spoiled_files)} && cat *.facts").output == before
    assert spoiled_files.fleet.run_on("etl", f"cd {files_path(spoiled_files)} && ls").output.split() == sorted(
        [*load_files.names(), *(f"{name}.facts" for name in load_files.names())]
    ), "no password and no statement stays"


@pytest.mark.long
def test_a_table_of_that_name_that_is_not_ours_is_left_alone(run: Run, spoiled_table: Testbed) -> None:
    engine = spoiled_table.engine
    generation.drop(order_lineitems.dataset_of(ROWS, SEED), engine)
    engine.execute(f"CREATE TABLE {TABLE} (mine integer)")
    with pytest.raises(DatasetError) as caught:
        steps.generate_data(run, "lab_db1")
    assert str(caught.value) == (f"table '{TABLE}' is there and was not made by clusterbench; move it away or drop it")
    assert exists(spoiled_table, TABLE)
    engine.execute(f"DROP TABLE {TABLE}")


# The scans.


def test_every_stream_is_measured_and_its_answer_checked(run: Run, testbed: Testbed) -> None:
    for workload in ("full_scan", "partial_scan"):
        record = measured(run, testbed, trial(workload, workload, streams=4))
        assert record.outcome == "completed", record.reason
        assert record.samples == 4
        expected = run.archive.answers(workload, TABLE)
        assert expected["source"] == "DuckDB over the same rows"
        assert record.evidence["driver"]["answer"] == {"rows": expected["rows"], "sha256": expected["sha256"]}
        times = record.measurements
        assert times["statement_time_s_mean"] <= times["statement_time_s_max"] <= times["response_time_s"]
        assert len(record.evidence["driver"]["answers"]) == 4


def test_one_stream_s_response_time_is_psql_s_own(run: Run, testbed: Testbed) -> None:
    record = measured(run, testbed, trial("full_scan", "one"))
    raw = run.archive.store.get(run.archive.prefix + "trials/lab_db1/one.r1/times.1") or b""
    assert f"Time: {record.measurements['response_time_s'] * 1000:.3f} ms" in raw.decode()


@pytest.mark.long
def test_only_the_partitions_that_are_read_count_for_the_caches(run: Run, testbed: Testbed) -> None:
    full, partial = (measured(run, testbed, trial(name, name, cache="cold")) for name in ("full_scan", "partial_scan"))
    assert (full.outcome, partial.outcome) == ("completed", "completed"), (full.reason, partial.reason)
    assert full.evidence["caches"]["problem"] is None
    assert full.evidence["caches"]["total_bytes"] > 3 * partial.evidence["caches"]["total_bytes"] > 0
    assert full.evidence["caches"]["file_system_bytes"] == 0


def test_a_fast_wrong_answer_makes_the_trial_invalid_and_names_the_row(run: Run, spoiled_table: Testbed) -> None:
    spoiled_table.engine.execute(f"UPDATE {TABLE} SET order_id = 42 WHERE product_id = 20")
    record = measured(run, spoiled_table, trial("full_scan", "wrong"))
    assert record.outcome == "invalid"
    assert record.reason.startswith("wrong answer: ") and "of the sorted rows is" in record.reason
    assert "answer" not in record.evidence["driver"], "a wrong answer is never remembered"
    spoiled_table.engine.execute(f"DELETE FROM {TABLE} WHERE order_datetime BETWEEN '2010-03-01' AND '2010-06-01'")
    record = measured(run, spoiled_table, trial("partial_scan", "wrong_too"))
    assert record.outcome == "invalid"
    assert "wrong answer: 1 rows, expected 1 (DuckDB over the same rows); row 1 of the sorted rows is" in record.reason


@pytest.mark.long
def test_an_index_shows_in_the_report_while_the_answers_stay(run: Run, testbed: Testbed) -> None:
    plain = measured(run, testbed, trial("full_scan", "plain"))
    testbed.engine.execute(f"CREATE INDEX by_product ON {TABLE} (product_id)")
    steps.validate_data(run, "lab_db1")  # a warning, not a refusal
    indexed = measured(run, testbed, trial("full_scan", "indexed"))
    assert (plain.outcome, indexed.outcome) == ("completed", "completed"), (plain.reason, indexed.reason)
    assert plain.evidence["driver"]["answer"] == indexed.evidence["driver"]["answer"]
    assert "Seq Scan" in plain.evidence["workload"]["plan"]
    assert "Index" in indexed.evidence["workload"]["plan"]
    data = run.archive.need_json("platforms/lab_db1/data.json")
    assert data["datasets"]["order_lineitems"][0]["indexes"].startswith("by_product")
    (verdict,) = [v for v in data["verdicts"] if v["says"] == "The table has no index, as the paper's had none"]
    assert (verdict["passed"], verdict["critical"]) == (False, False)
    html = render_report(run.archive, run.catalog)
    assert "by_product" in html and "Index" in html
    testbed.engine.execute("DROP INDEX by_product")


def test_a_setting_shows_in_the_record_while_the_answers_stay(run: Run, testbed: Testbed) -> None:
    records = [measured(run, testbed, trial("partial_scan", f"mem_{m}", work_mem=m)) for m in ("1MB", "256MB")]
    assert [record.evidence["workload"]["session_settings"]["work_mem"] for record in records] == ["1MB", "256MB"]
    assert records[0].evidence["driver"]["answer"] == records[1].evidence["driver"]["answer"]
    assert testbed.engine.settings(["work_mem"]) == {"work_mem": "8MB"}, "set back"


@pytest.mark.long
def test_at_full_scale_earlier_valid_runs_say_the_answer(
    run: Run, spoiled_table: Testbed, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if 20,000 rows were too many for DuckDB."""
    monkeypatch.setattr(order_lineitems, "CHECKED_BY_DUCKDB_ROWS_MAX", 1000)
    first = measured(run, spoiled_table, trial("partial_scan", "first"))
    assert first.outcome == "completed" and run.archive.answers("partial_scan", TABLE) == {}
    remember_answers(run)
    later = new_run(connections, "retail")
    steps.open_run(later, {"scale": "smoke", "platforms": ["lab_db1"]}, {"by": "test"})
    with on_testbed(later) as testbed:
        again = measured(later, testbed, trial("partial_scan", "again"))
        assert again.outcome == "completed"
        assert later.archive.answers("partial_scan", TABLE)["source"] == "earlier valid runs"
        testbed.engine.execute(f"UPDATE {TABLE} SET item_quantity = item_quantity + 1")
        wrong = measured(later, testbed, trial("partial_scan", "wrong"))
        assert wrong.outcome == "invalid"
        assert "(earlier valid runs); SHA-256 of the sorted rows" in wrong.reason


# Loading.


def test_a_load_is_measured_checked_and_dropped(run: Run, testbed: Testbed) -> None:
    record = measured(run, testbed, trial("data_load", "load"))
    assert record.outcome == "completed", record.reason
    found = record.measurements
    size = record.evidence["workload"]["files_bytes"]
    assert found["throughput_mb_per_s"] == pytest.approx(size / 1e6 / found["response_time_s"])
    assert found["throughput_rows_per_s"] == pytest.approx(LOAD_ROWS / found["response_time_s"])
    dataset = load_workload("data_load").dataset({"rows": LOAD_ROWS, "storage": "heap"}, SEED)
    expected = {"rows": LOAD_ROWS, "checksum": order_lineitems.expected_checksum(dataset)}
    assert record.evidence["driver"]["answer"] == expected
    assert record.evidence["workload"]["files_bytes_in_memory"] == 0
    assert record.samples == 16
    assert not exists(testbed, dataset.table)


@pytest.mark.long
def test_a_load_from_files_on_several_disks(run: Run, testbed: Testbed) -> None:
    work, made = testbed.fleet.work_dir("etl"), trial("data_load", "spread", rows=5_000)
    with on_testbed(run, load_dirs=[f"{work}/disk0", f"{work}/disk1"]) as spread:
        load_files.generate(load_workload("data_load").dataset(made.levels, SEED), spread.engine)
        count = f"cd {quote(work)}; for disk in disk0 disk1; do find $disk -type f | wc -l; done"
        found = spread.fleet.run_on("etl", count).output.split()
        record = measured(run, spread, made)
    assert found == ["8", "8"]
    assert (record.outcome, record.reason) == ("completed", "")
    assert record.evidence["driver"]["answer"]["rows"] == 5_000


def test_a_rejected_row_fails_the_load_and_leaves_nothing(run: Run, spoiled_files: Testbed) -> None:
    spoiled_files.fleet.run_on("etl", f"cd {files_path(spoiled_files)} && sed -i '5s/^[0-9]*|/not a number|/' part-11")
    record = measured(run, spoiled_files, trial("data_load", "rejected"))
    assert record.outcome == "failed"
    assert 'invalid input syntax for type bigint: "not a number"' in record.reason
    assert "line 5, column order_id" in record.reason
    assert record.measurements == {}
    assert not exists(spoiled_files, f"order_lineitems_load_{LOAD_ROWS}")


@pytest.mark.long
def test_a_value_that_was_changed_in_a_file_makes_the_load_invalid(run: Run, spoiled_files: Testbed) -> None:
    spoiled_files.fleet.run_on("etl", f"cd {files_path(spoiled_files)} && sed -i '5s/Street/Avenue/' part-11")
    record = measured(run, spoiled_files, trial("data_load", "changed"))
    assert record.outcome == "invalid"
    assert record.reason.startswith("the table's checksum is ") and record.reason.endswith(
        "(DuckDB over the same rows)"
    )
    spoiled_files.fleet.run_on("etl", f"cd {files_path(spoiled_files)} && sed -i '5d' part-11")
    record = measured(run, spoiled_files, trial("data_load", "shorter"))
    assert (record.outcome, record.reason) == (
        "invalid", "the files have 10,000 rows, the table has 9,999 after the load",
    )  # fmt: skip


@pytest.mark.long
def test_a_stream_that_vanishes_fails_the_load_and_leaves_nothing(run: Run, testbed: Testbed) -> None:
    """One psql of sixteen is killed in the middle: the others are ended, and what they had committed is gone."""
    made = trial("data_load", "vanished", rows=200_000)
    dataset = load_workload("data_load").dataset(made.levels, SEED)
    load_files.generate(dataset, testbed.engine)
    seen: list[int] = []

    def kill_one() -> None:
        job = job_of(made, testbed, 1)
        until = time.monotonic() + 60
        while not seen and time.monotonic() < until:
            found = testbed.fleet.run_on(
                "etl", f"cd {quote(job.directory)} 2>/dev/null && [ -e clock.7 ] && pgrep -s $(cat pid) -x psql || true"
            ).output.split()
            if len(found) > 4:
                testbed.fleet.run_on("etl", f"kill -9 {found[3]}")
                seen.append(int(found[3]))

    killer = threading.Thread(target=kill_one)
    killer.start()
    record = measured(run, testbed, made)
    killer.join()
    assert seen, "the load was over before a stream could be killed"
    assert record.outcome == "failed"
    assert record.reason.startswith("the driver ended with status 1, ")
    assert not exists(testbed, dataset.table)


@pytest.mark.long
def test_a_load_whose_worker_died_is_undone_when_the_cluster_is_released(run: Run, testbed: Testbed) -> None:
    workload = load_workload("data_load")
    (planned,) = [t for t in run.plan().trials["lab_db1"] if t.workload == "data_load"]
    workload.prepare(planned, testbed.engine)
    table = workload.dataset(planned.levels, planned.seed).table
    assert exists(testbed, table)
    steps.release_cluster(run, "lab_db1")
    assert not exists(testbed, table)
    steps.take_cluster(run, "lab_db1")


# The whole.


@pytest.mark.long
def test_the_report_compares_both_platforms_with_the_paper(connections: Connections) -> None:
    run = new_run(connections, "retail")
    choices = {"scale": "smoke", "concurrency": [1], "repetitions": 1, "sweeps": ["full_scan", "data_load"]}
    steps.open_run(run, choices, {"by": "test"})
    for platform in run.plan().trials:
        measured_whole(run, platform)
    steps.summarise(run)
    steps.validate_results(run)
    verdicts = run.archive.need_json("verdicts.json")
    assert verdicts["valid"], [v for v in verdicts["verdicts"] if v["critical"] and not v["passed"]]
    steps.write_report(run)
    html = (run.archive.store.get(run.archive.prefix + "report.html") or b"").decode()
    assert "Platforms compared: response time" in html
    assert "lab_db2 / lab_db1" in html and "paper: data load, vm2 / vm1" in html
    assert "1\u202f514" in html and "from 991 to 829" in html
