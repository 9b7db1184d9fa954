"""The protocol of a trial on real servers: what becomes a number, and what must not."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.helpers import ROWS, bench_on, changed, dataset, new_run, store_of, trial

from clusterbench import telemetry
from clusterbench.connections import Connections
from clusterbench.errors import ArchiveError, HostError
from clusterbench.trial import Bench, job_of, run_trial
from clusterbench.workloads import load_workload

pytestmark = pytest.mark.lab


@pytest.fixture
def bench(connections: Connections) -> Iterator[Bench]:
    with bench_on(new_run(connections)) as bench:
        load_workload("key_value").generate(dataset(), bench.engine)
        bench.engine.facts()
        yield bench


def raw(bench: Bench, name: str, file: str) -> str:
    archive = bench.archive
    keys = [key for key in archive.keys(f"trials/lab_db1/{name}/") if key.rsplit("/", 1)[1].startswith(file)]
    return "".join((archive.store.get(archive.prefix + key) or b"").decode() for key in keys)


def test_the_numbers_are_those_of_the_raw_log(bench: Bench) -> None:
    """Recomputed here from the archive with nothing but sorting and division."""
    record = run_trial(trial(clients=3), bench)
    lines = [line.split() for line in raw(bench, "lookups.r1", "log.").splitlines()]
    latencies = sorted(int(words[2]) for words in lines)
    ends_us = [int(words[4]) * 1_000_000 + int(words[5]) for words in lines]
    starts_us = [end - int(words[2]) for end, words in zip(ends_us, lines, strict=True)]
    assert record.outcome == "completed", record.reason
    assert len(lines) == record.samples == 150
    assert record.measurements["throughput_per_s"] == pytest.approx(150e6 / (max(ends_us) - min(starts_us)))
    assert record.measurements["latency_ms_mean"] == pytest.approx(sum(latencies) / 150 / 1000)
    assert record.measurements["latency_ms_max"] == latencies[-1] / 1000
    assert latencies[74] / 1000 <= record.measurements["latency_ms_p50"] <= latencies[75] / 1000


def test_a_trial_that_is_entered_again_is_not_measured_again(bench: Bench) -> None:
    first = run_trial(trial(), bench)
    again = run_trial(trial(), bench)
    assert again == first or again.as_json() == json.loads(json.dumps(first.as_json()))


def test_a_worker_that_dies_while_the_driver_runs_is_followed_by_another(
    bench: Bench, connections: Connections
) -> None:
    """The first worker only gets as far as starting the driver; the second collects it, and starts none."""
    slow = trial(clients=2, lookups_per_client=20_000)

    class DiedError(BaseException):
        """As SIGKILL: nothing is caught, nothing is undone."""

    original = type(job_of(slow, bench)).wait
    try:
        type(job_of(slow, bench)).wait = lambda self: (_ for _ in ()).throw(DiedError())  # type: ignore[method-assign]
        with pytest.raises(DiedError):
            run_trial(slow, bench)
    finally:
        type(job_of(slow, bench)).wait = original  # type: ignore[method-assign]
    assert job_of(slow, bench).state().phase == "running"
    with bench_on(new_run(connections)) as second:
        second.archive = bench.archive
        record = run_trial(slow, second)
    assert record.outcome == "completed" and record.samples == 40_000
    assert len({line.split(".")[1] for line in bench.archive.keys("trials/lab_db1/lookups.r1/log.")}) >= 1
    assert record.evidence["caches"]["state"] == "warm"  # evidence of before the start survived the worker
    processes = {key.split("/log.")[1].split(".")[0] for key in bench.archive.keys("trials/lab_db1/lookups.r1/log.")}
    assert len(processes) == 1, "pgbench's logs carry its process id: one process"


def collectors(bench: Bench) -> int:
    """Telemetry collectors that run for this lab's hosts; other labs of this machine have their own."""
    lab_dir = bench.fleet.work_dir("client").rsplit("/hosts/", 1)[0]
    script = "for pid in $(pgrep -x sadc -u $(id -u)); do readlink /proc/$pid/cwd; done"
    return bench.fleet.run_on("client", script + " || true").output.count(f"{lab_dir}/")


@pytest.mark.parametrize("mode", ["plain", "sql_prepare", "protocol_prepare"])
@pytest.mark.parametrize("pooling", ["direct", "pgbouncer"])
def test_every_way_to_ask_gives_right_answers(bench: Bench, mode: str, pooling: str) -> None:
    record = run_trial(trial(statement=mode, pooling=pooling, clients=2), bench)
    if (mode, pooling) == ("protocol_prepare", "pgbouncer"):
        assert record.outcome == "not_applicable" and "PgBouncer" in record.reason and record.driver_starts == 0
    else:
        assert (record.outcome, record.reason) == ("completed", "")


def test_a_wrong_answer_makes_a_fast_trial_invalid(bench: Bench) -> None:
    table = dataset().table
    bench.engine.execute(f"UPDATE {table} SET jsonraw = replace(jsonraw::text, 'sun1', 'sun2')::json")
    try:
        record = run_trial(trial(), bench)
    finally:
        bench.engine.execute(f"DROP TABLE {table}")
    assert record.outcome == "invalid"
    assert "wrong answer for key" in record.reason


def test_a_cold_trial_that_is_not_cold_is_invalid_never_warm(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """An eviction that does nothing, as on a file system that ignores the advice."""
    bench.engine.warm([dataset().table])
    monkeypatch.setattr(bench.engine, "empty_file_system_cache", lambda relations: None)
    record = run_trial(trial(cache="cold"), bench)
    assert record.outcome == "invalid"
    assert "bytes were in the file system's cache at the start of a cold trial" in record.reason


def test_where_caches_cannot_be_emptied_cold_is_not_applicable(connections: Connections) -> None:
    with bench_on(new_run(connections), page_cache="none") as bench:
        load_workload("key_value").generate(dataset(), bench.engine)
        record = run_trial(trial(cache="cold"), bench)
    assert record.outcome == "not_applicable"
    assert record.reason == "the platform's file says 'page_cache: none': its file system cache cannot be emptied"


def test_a_driver_that_takes_too_long_has_timed_out(bench: Bench) -> None:
    record = run_trial(trial(timeout_s=1, lookups_per_client=10_000_000), bench)
    assert record.outcome == "timed_out" and record.measurements == {}


def test_a_database_that_dies_in_the_middle_is_a_failed_trial_with_the_drivers_words(bench: Bench) -> None:
    long = trial(lookups_per_client=2_000_000, clients=2)
    data = bench.engine.facts()["data_directory"]
    killer = subprocess.Popen(["sh", "-c", f"sleep 3.5; kill -9 $(head -n 1 {data}/postmaster.pid)"])
    record = run_trial(long, bench)
    killer.wait()
    time.sleep(1)
    bench.engine.start()
    assert record.outcome == "failed"
    assert "aborted" in record.reason or "terminat" in record.reason or "connection" in record.reason
    assert record.measurements == {}


def test_an_index_build_leaves_no_index_behind(bench: Bench) -> None:
    record = run_trial(trial("build", "index_build"), bench)
    assert record.outcome == "completed", record.reason
    assert record.measurements["throughput_rows_per_s"] == pytest.approx(
        ROWS / record.measurements["response_time_s"], rel=1e-6
    )
    indexes = bench.engine.query(f"SELECT count(*) AS n FROM pg_indexes WHERE tablename = '{dataset().table}'")
    assert indexes[0]["n"] == 1


def test_every_host_was_watched_and_watching_cost_under_a_hundredth_of_a_core(bench: Bench) -> None:
    record = run_trial(trial(lookups_per_client=60_000), bench)
    assert set(record.telemetry) == {"client", "etl", "db1"}
    for seen in record.telemetry.values():
        assert seen["samples"] >= 1
        assert seen["collector_cpu_share"] < 0.01
        assert seen["mean"]["cpu_percent"] > 0 and seen["mean"]["context_switches_per_s"] > 0
        assert {"cpu_steal_percent", "disk_iops", "network_sent_mb_per_s", "memory_used_percent"} <= set(seen["mean"])
    assert 0 < record.measurements["driver_cpu_share"] <= 1
    assert collectors(bench) == 0


def test_telemetry_that_is_started_twice_runs_once(bench: Bench) -> None:
    for _ in range(2):
        telemetry.start(bench.fleet, "telemetry/twice")
    assert collectors(bench) == len(bench.fleet.names)
    telemetry.stop(bench.fleet, "telemetry/twice")
    assert collectors(bench) == 0


def test_a_trial_that_fails_before_its_driver_leaves_no_collector(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise HostError("host client: no room left for the job")

    monkeypatch.setattr("clusterbench.jobs.DetachedJob.start", refuse)
    record = run_trial(trial(), bench)
    assert (record.outcome, record.reason) == ("failed", "host client: no room left for the job")
    assert record.driver_starts == 0
    assert collectors(bench) == 0


def test_a_store_that_vanishes_loses_nothing(bench: Bench, connections: Connections, tmp_path: Path) -> None:
    """The record cannot be written; the next try collects what the driver left, and measures nothing again."""
    good = bench.archive.store
    bench.archive.store = store_of(
        changed(connections, "clusterbench_archive", extra={"endpoint_url": "http://127.0.77.13:1"})
    )
    with pytest.raises(ArchiveError, match="is the server up\\? What was written before is kept"):
        run_trial(trial(), bench)
    bench.archive.store = good
    record = run_trial(trial(), bench)
    assert record.outcome == "completed" and record.samples == 50


def test_no_password_reaches_the_archive(bench: Bench, connections: Connections) -> None:
    run_trial(trial(pooling="pgbouncer"), bench)
    secrets = [connections("lab_db1_postgres").password, connections("clusterbench_archive").password]
    for key in bench.archive.keys(""):
        content = (bench.archive.store.get(bench.archive.prefix + key) or b"").decode(errors="replace")
        assert not any(secret in content for secret in secrets), key
