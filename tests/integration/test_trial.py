"""The protocol of a trial on real servers: what becomes a number, and what must not."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clusterbench.base.connections import Connections
from clusterbench.base.errors import ArchiveError, HostError
from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.cli.main import main
from clusterbench.hosts import telemetry
from clusterbench.hosts.sudoers import sudoers
from clusterbench.report.run.page import render_report
from clusterbench.results.profiles import profiles_of
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.lead_ins import lead_in
from clusterbench.trial.plan import Choices, Plan
from clusterbench.trial.protocol import job_of, run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import load_workload
from clusterbench_lab import Lab
from clusterbench_lab.account import server_account
from tests import BLOCK
from tests.integration.helpers import ROWS, SEED, changed, dataset, measured_while, new_run, on_testbed, store_of, trial
from tests.integration.namespaces import needs_root

pytestmark = pytest.mark.lab


@pytest.fixture
def testbed(connections: Connections) -> Iterator[Testbed]:
    with on_testbed(new_run(connections)) as testbed:
        load_workload("key_value").generate(dataset(), testbed.engine)
        testbed.engine.facts()
        yield testbed


def raw(testbed: Testbed, name: str, file: str) -> str:
    archive = testbed.archive
    keys = [key for key in archive.keys(f"trials/lab_db1/{name}/") if key.rsplit("/", 1)[1].startswith(file)]
    contents = [(key, archive.store.get(archive.prefix + key) or b"") for key in keys]
    return "".join((gzip.decompress(each) if key.endswith(".gz") else each).decode() for key, each in contents)


def test_the_numbers_are_those_of_the_raw_log(testbed: Testbed) -> None:
    """Recomputed here from the archive with nothing but sorting and division."""
    record = run_trial(trial(clients=3), testbed)
    lines = [line.split() for line in raw(testbed, "lookups.r1", "log.").splitlines()]
    latencies = sorted(int(words[2]) for words in lines)
    ends_us = [int(words[4]) * 1_000_000 + int(words[5]) for words in lines]
    starts_us = [end - int(words[2]) for end, words in zip(ends_us, lines, strict=True)]
    assert record.outcome == "completed", record.reason
    assert len(lines) == record.samples == 150
    assert record.measurements["throughput_per_s"] == pytest.approx(150e6 / (max(ends_us) - min(starts_us)))
    assert record.measurements["latency_ms_mean"] == pytest.approx(sum(latencies) / 150 / 1000)
    assert record.measurements["latency_ms_max"] == latencies[-1] / 1000
    assert record.measurements["latency_ms_p50"] == pytest.approx(latencies[74] / 1000, rel=0.001)


@pytest.mark.parametrize("session", ["kept", pytest.param("per_lookup", marks=pytest.mark.long)])
def test_a_window_lasts_until_it_holds_enough_and_all_clients_end_at_once(testbed: Testbed, session: str) -> None:
    record = run_trial(trial(clients=3, window_s=2, lookups_per_client=50, session=session), testbed)
    assert (record.outcome, record.reason) == ("completed", "")
    lines = [line.split() for line in raw(testbed, "lookups.r1", "log.").splitlines()]
    assert len(lines) == record.samples > 150
    assert record.window_start_s and record.window_end_s and record.window_end_s - record.window_start_s >= 1.9
    spans: dict[str, list[int]] = {}
    for words in lines:
        end_us = int(words[4]) * 1_000_000 + int(words[5])
        spans.setdefault(words[0], []).extend((end_us - int(words[2]), end_us))
    ends = [max(each) for each in spans.values()]
    assert max(ends) - min(ends) < 250_000, "none is left alone"
    rate = sum(len(each) / 2 / (max(each) - min(each)) * 1e6 for each in spans.values())
    assert record.measurements["throughput_per_s"] == pytest.approx(rate)
    assert "response_time_s" not in record.measurements
    assert "progress" not in record.evidence["driver"]["driver_errors"]


@pytest.mark.long
def test_a_window_of_few_seconds_goes_on_until_there_are_enough_lookups(testbed: Testbed) -> None:
    record = run_trial(trial(clients=2, window_s=1, lookups_per_client=40_000), testbed)
    assert record.outcome == "completed" and record.samples >= 80_000


def test_in_an_open_loop_responses_are_from_the_scheduled_start(testbed: Testbed) -> None:
    """At a tenth of what it can, hardly anybody waits; at ten times, everybody does, and it shows in no latency."""
    fastest = run_trial(trial("closed", clients=2, window_s=1), testbed).measurements["throughput_per_s"]
    calm = run_trial(trial("calm", clients=2, window_s=2, rate_per_s=int(fastest / 10)), testbed)
    assert calm.outcome == "completed", calm.reason
    assert calm.measurements["throughput_per_s"] == pytest.approx(fastest / 10, rel=0.15)
    lines = [line.split() for line in raw(testbed, "calm.r1", "log.").splitlines()]
    responses = sorted(int(words[2]) for words in lines)
    lags = [int(words[6]) for words in lines]
    assert calm.measurements["response_ms_mean"] == pytest.approx(sum(responses) / len(responses) / 1e3)
    assert calm.measurements["schedule_lag_ms_mean"] == pytest.approx(sum(lags) / len(lags) / 1e3)
    assert calm.measurements["response_ms_p50"] == pytest.approx(responses[(len(responses) - 1) // 2] / 1e3, rel=0.002)
    over = run_trial(trial("over", clients=2, window_s=2, rate_per_s=int(10 * fastest)), testbed).measurements
    assert over["response_ms_p50"] > 20 * over["latency_ms_p50"]
    assert over["not_started"] > over["throughput_per_s"]


def test_a_setting_of_the_server_is_set_for_its_trial_and_put_back(testbed: Testbed) -> None:
    """One that is read at start only, and one that is not; the server was restarted for the first."""
    engine: Any = testbed.engine
    names = ("shared_buffers", "random_page_cost")
    before = engine.settings(names)
    record = run_trial(trial(**{"server.shared_buffers": "24MB", "server.random_page_cost": "1.5"}), testbed)
    assert (record.outcome, record.reason) == ("completed", "")
    assert record.evidence["server_settings"] == {"shared_buffers": "24MB", "random_page_cost": "1.5"}
    assert before["shared_buffers"] != "24MB" and engine.settings(names) == before
    wrong = run_trial(trial("wrong", **{"server.shared_buffers": "24576kB"}), testbed)
    assert wrong.outcome == "failed" and "write a level as the server shows it" in wrong.reason
    assert engine.settings(names) == before
    unknown = run_trial(trial("unknown", **{"server.shared_bufers": "24MB"}), testbed)
    assert unknown.outcome == "failed" and "shared_bufers" in unknown.reason
    assert engine.settings(names) == before


def test_lookups_after_a_cache_was_emptied_are_so_many_and_no_more(testbed: Testbed) -> None:
    record = run_trial(trial(clients=2, window_s=2, cache="cold"), testbed)
    assert record.outcome == "completed" and record.samples == 100


def test_a_trial_that_is_entered_again_is_not_measured_again(testbed: Testbed) -> None:
    first = run_trial(trial(), testbed)
    again = run_trial(trial(), testbed)
    assert again == first or again.as_json() == json.loads(json.dumps(first.as_json()))


def test_a_worker_that_dies_while_the_driver_runs_is_followed_by_another(
    testbed: Testbed, connections: Connections
) -> None:
    """The first worker only gets as far as starting the driver; the second collects it, and starts none."""
    slow = trial(clients=2, lookups_per_client=20_000)

    class DiedError(BaseException):
        """As SIGKILL: nothing is caught, nothing is undone."""

    original = type(job_of(slow, testbed, 1)).wait
    try:
        type(job_of(slow, testbed, 1)).wait = lambda self: (_ for _ in ()).throw(DiedError())  # type: ignore[method-assign]
        with pytest.raises(DiedError):
            run_trial(slow, testbed)
    finally:
        type(job_of(slow, testbed, 1)).wait = original  # type: ignore[method-assign]
    assert job_of(slow, testbed, 1).state().phase == "running"
    with on_testbed(new_run(connections)) as second:
        second.archive = testbed.archive
        record = run_trial(slow, second)
    assert record.outcome == "completed" and record.samples == 40_000
    assert len({line.split(".")[1] for line in testbed.archive.keys("trials/lab_db1/lookups.r1/log.")}) >= 1
    assert record.evidence["caches"]["state"] == "warm"  # evidence of before the start survived the worker
    processes = {key.split("/log.")[1].split(".")[0] for key in testbed.archive.keys("trials/lab_db1/lookups.r1/log.")}
    assert len(processes) == 1, "pgbench's logs carry its process id: one process"


def collectors(testbed: Testbed) -> int:
    """Telemetry collectors that run for this lab's hosts; other labs of this machine have their own."""
    lab_dir = testbed.fleet.work_dir("client").rsplit("/hosts/", 1)[0]
    script = "for pid in $(pgrep -x bash -u $(id -u)); do readlink /proc/$pid/cwd || true; done"
    folders = testbed.fleet.run_on("client", script).output.splitlines()
    return sum(folder.startswith(f"{lab_dir}/") and "/telemetry/" in folder for folder in folders)


@pytest.mark.parametrize("mode", [pytest.param("plain", marks=pytest.mark.long), "sql_prepare", "protocol_prepare"])
@pytest.mark.parametrize("pooling", ["direct", "pgbouncer"])
def test_every_way_to_ask_gives_right_answers(testbed: Testbed, mode: str, pooling: str) -> None:
    record = run_trial(trial(statement=mode, pooling=pooling, clients=2), testbed)
    if (mode, pooling) == ("protocol_prepare", "pgbouncer"):
        assert record.outcome == "not_applicable" and "PgBouncer" in record.reason and record.driver_starts == 0
    else:
        assert (record.outcome, record.reason) == ("completed", "")


def test_a_wrong_answer_makes_a_fast_trial_invalid(testbed: Testbed) -> None:
    table = dataset().table
    testbed.engine.execute(f"UPDATE {table} SET jsonraw = replace(jsonraw::text, 'sun1', 'sun2')::json")
    try:
        record = run_trial(trial(), testbed)
    finally:
        testbed.engine.execute(f"DROP TABLE {table}")
    assert record.outcome == "invalid"
    assert "wrong answer for key" in record.reason


def test_a_cold_trial_that_is_not_cold_is_invalid_never_warm(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """An eviction that does nothing, as on a file system that ignores the advice."""
    testbed.engine.warm([dataset().table])
    monkeypatch.setattr(testbed.engine, "empty_file_system_cache", lambda relations: None)
    record = run_trial(trial(cache="cold"), testbed)
    assert record.outcome == "invalid"
    assert "bytes were in the file system's cache at the start of a cold trial" in record.reason


def test_where_caches_cannot_be_emptied_cold_is_not_applicable(connections: Connections) -> None:
    with on_testbed(new_run(connections), page_cache="none") as testbed:
        load_workload("key_value").generate(dataset(), testbed.engine)
        record = run_trial(trial(cache="cold"), testbed)
    assert record.outcome == "not_applicable"
    assert record.reason == "the platform's file has 'page_cache: none', so the file system's cache cannot be emptied"


@pytest.mark.long
def test_caches_as_left_are_measured_and_the_trial_that_left_them_is_named(testbed: Testbed) -> None:
    first = run_trial(trial("first", cache="as_left"), testbed)
    run_trial(trial("warmed", cache="warm"), testbed)
    after_warm = run_trial(trial("second", cache="as_left"), testbed)
    run_trial(trial("emptied", cache="cold"), testbed)
    after_cold = run_trial(trial("third", cache="as_left"), testbed)
    caches = [record.evidence["caches"] for record in (first, after_warm, after_cold)]
    assert {record.outcome for record in (first, after_warm, after_cold)} == {"completed"}
    assert [found["left_by"] for found in caches] == ["", "warmed.r1", "emptied.r1"]
    assert {(found["state"], found["method"], found["problem"]) for found in caches} == {("as_left", "none", None)}
    in_memory = [found["database_bytes"] for found in caches]
    assert caches[1]["total_bytes"] > 1_000_000
    assert in_memory[1] >= 0.9 * caches[1]["total_bytes"], "nothing was emptied"
    assert 0 < in_memory[2] < in_memory[1], "nothing was warmed"


def measured_as_a_run(connections: Connections, *trials: Trial, **chosen: Any) -> tuple[Run, list[TrialRecord]]:
    """These trials are its plan."""
    run, choices = new_run(connections), Choices(scale="smoke", platforms=["lab_db1"], seed=SEED, **chosen)
    run.archive.put_json("run.json", {"run_id": run.run_id, "choices": choices.model_dump(), "started_by": {}})
    run.archive.put_json("plan.json", Plan("smoke", choices, {"lab_db1": list(trials)}).as_json())
    with on_testbed(run) as testbed:
        load_workload("key_value").generate(dataset(), testbed.engine)
    steps.take_cluster(run, "lab_db1")
    try:
        return run, [steps.measure(run, "lab_db1", one.id) for one in trials]
    finally:
        steps.release_cluster(run, "lab_db1")


@pytest.mark.long
def test_lead_in_is_measured_and_shown_and_no_result_is_made_of_it(connections: Connections) -> None:
    planned = trial(cache="as_left")
    first = lead_in([planned])
    run, records = measured_as_a_run(connections, first, planned)
    assert [(one.outcome, one.trial.lead_in) for one in records] == [("completed", True), ("completed", False)]
    assert records[1].evidence["caches"]["left_by"] == first.id == "lookups.r0"
    steps.summarise(run)
    steps.validate_results(run)
    (result,) = run.archive.need_json("results.json")["results"]
    assert (result["planned"], result["completed"]) == (1, 1)
    assert result["measurements"]["throughput_per_s"]["values"] == [records[1].measurements["throughput_per_s"]]
    page = render_report(run.archive, run.catalog)
    assert "lookups (#0, lead-in)" in page and "as left by lookups.r0" in page


@pytest.fixture
def allowed_by_sudo() -> Iterator[None]:
    """Perf, and nothing else, for the login of the lab's hosts, where that is not root's."""
    file = Path(f"/etc/sudoers.d/clusterbench_test_{os.getpid()}")
    platform = Catalog(project_root()).platform("lab_db1").model_copy(update={"may": ["profile"]})
    file.write_text(sudoers(platform, [server_account().name]))
    file.chmod(0o440)
    yield
    file.unlink()


@pytest.mark.long
@needs_root
def test_profiled_trial_says_what_the_processors_ran_and_no_result_is_made_of_it(
    connections: Connections,
    allowed_by_sudo: None,
    lab: Lab,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    planned = trial(clients=2, lookups_per_client=20_000)
    profiled = replace(planned, id="lookups.r2", label="lookups (#2, profiled)", repetition=2, profiled=True)
    run, (plain, sampled) = measured_as_a_run(connections, planned, profiled, profile=True)
    assert "profile" not in plain.evidence
    told = sampled.evidence["profile"]
    assert "problems" not in told and told["samples"] > 20 and told["hosts"] == ["db1"]
    (found,) = profiles_of(run.archive, run.archive.trials())
    assert found.profile and found.profile.samples == told["samples"]
    assert any(stack.startswith("postgres;") and "PostgresMain" in stack for stack in found.profile.stacks)
    steps.summarise(run)
    steps.validate_results(run)
    assert all(result["planned"] == 1 for result in run.archive.need_json("results.json")["results"])
    page = render_report(run.archive, run.catalog)
    assert "What the processors ran" in page and "(#2, profiled)" in page
    assert "<title>PostgresMain (" in page and "<script" not in page
    monkeypatch.setenv("CLUSTERBENCH_CONNECTIONS", str(lab.layout.connections_file))
    capsys.readouterr()
    assert main(["profile", run.run_id, "--output", str(tmp_path)]) == 0
    busiest = next(iter(found.profile.own_shares()))  # of any process: other tests may run on this machine
    assert f"{busiest.partition(': ')[0]}: " in capsys.readouterr().out
    assert "PostgresMain" in (tmp_path / "lab_db1.lookups.svg").read_text()
    assert main(["profile", run.run_id, run.run_id, "--output", str(tmp_path)]) == 0, "beside itself nothing differs"
    assert (tmp_path / "lab_db1.lookups.difference.svg").exists()
    assert main(["profile", run.run_id, "--cell", "lookup"]) == 1
    assert "no such platform and cell was profiled; those are: lab_db1 lookups" in capsys.readouterr().err
    with on_testbed(run) as testbed:
        left = "pgrep -x perf || true; ls -d $HOME/*/telemetry/*/*/*/*/profile 2>/dev/null || true"
        assert testbed.fleet.run(["db1"], left)["db1"].output == ""


def test_what_is_known_to_be_too_large_to_be_warm_is_told_without_a_host(connections: Connections) -> None:
    """The platform's hosts could not be reached."""
    run = new_run(changed(connections, "lab_client", host="127.0.0.1", port=1))
    planned = replace(trial(), not_applicable="570 GB of relations cannot be warm")
    choices = Choices(scale="smoke", platforms=["lab_db1"], seed=SEED)
    run.archive.put_json("plan.json", Plan("smoke", choices, {"lab_db1": [planned]}).as_json())
    record = steps.measure(run, "lab_db1", planned.id)
    assert (record.outcome, record.reason) == ("not_applicable", planned.not_applicable)
    assert run.archive.trial("lab_db1", planned.id) == record


def test_a_driver_that_takes_too_long_has_timed_out(testbed: Testbed) -> None:
    record = run_trial(trial(timeout_s=1, lookups_per_client=10_000_000), testbed)
    assert record.outcome == "timed_out" and record.measurements == {}


def test_a_database_that_dies_in_the_middle_is_a_failed_trial_with_the_drivers_words(testbed: Testbed) -> None:
    long = trial(lookups_per_client=2_000_000, clients=2)
    data = testbed.engine.facts()["data_directory"]
    killer = subprocess.Popen(["sh", "-c", f"sleep 3.5; kill -9 $(head -n 1 {data}/postmaster.pid)"])
    record = run_trial(long, testbed)
    killer.wait()
    time.sleep(1)
    testbed.engine.start()
    assert record.outcome == "failed"
    assert "aborted" in record.reason or "terminat" in record.reason or "connection" in record.reason
    assert record.measurements == {}


def test_an_index_build_leaves_no_index_behind(testbed: Testbed) -> None:
    record = run_trial(trial("build", "index_build"), testbed)
    assert record.outcome == "completed", record.reason
    assert record.measurements["throughput_rows_per_s"] == pytest.approx(
        ROWS / record.measurements["response_time_s"], rel=1e-6
    )
    indexes = testbed.engine.query(f"SELECT count(*) AS n FROM pg_indexes WHERE tablename = '{dataset().table}'")
    assert indexes[0]["n"] == 1


@pytest.mark.long
def test_an_index_is_built_until_its_window_is_full_and_leaves_none_behind(testbed: Testbed) -> None:
    once = run_trial(trial("build", "index_build"), testbed)
    record = run_trial(trial("builds", "index_build", window_s=1), testbed)
    assert (record.outcome, record.reason, record.errors) == ("completed", "", 0)
    length_s = record.window_end_s - record.window_start_s  # type: ignore[operator]
    builds, measured = record.samples, record.measurements["response_time_s"]
    assert record.evidence["driver"]["rounds"] == builds > 1
    assert length_s > 0.7, "a second, on a machine whose speed stays within a half of what it was just before"
    assert 0.5 * length_s < builds * measured < length_s, "without its drops"
    assert measured < 3 * once.measurements["response_time_s"]
    left = testbed.engine.query(f"SELECT count(*) AS n FROM pg_indexes WHERE tablename = '{dataset().table}'")
    assert left[0]["n"] == 1
    cold = run_trial(trial("cold_build", "index_build", window_s=1, cache="cold"), testbed)
    assert (cold.outcome, cold.samples) == ("completed", 1), "only the first is cold"


def test_every_host_was_watched_and_watching_cost_under_a_hundredth_of_a_core(testbed: Testbed) -> None:
    record = run_trial(trial(lookups_per_client=60_000), testbed)
    assert set(record.telemetry) == {"client", "etl", "db1"}
    for seen in record.telemetry.values():
        assert seen["samples"] >= 1
        assert seen["collector_cpu_share"] < 0.01
        assert seen["mean"]["cpu_percent"] > 0 and seen["mean"]["context_switches_per_s"] > 0
        assert seen["mean"]["interrupts_per_s"] > 0
        assert {"cpu_steal_percent", "disk_iops", "network_sent_mb_per_s", "memory_used_percent"} <= set(seen["mean"])
    assert 0 < record.measurements["driver_cpu_share"] <= 1
    assert collectors(testbed) == 0


def test_telemetry_that_is_started_twice_runs_once(testbed: Testbed) -> None:
    for _ in range(2):
        telemetry.start(testbed.fleet, "telemetry/twice")
    assert collectors(testbed) == len(testbed.fleet.names)
    telemetry.stop(testbed.fleet, "telemetry/twice")
    assert collectors(testbed) == 0


def test_telemetry_that_found_no_room_is_started_anew(testbed: Testbed) -> None:
    """Its collector has ended, or the file of its process id is empty."""
    folder = f"{testbed.fleet.work_dir('db1')}/telemetry/full"
    found = set()
    for left in ("kill -KILL $(cat telemetry.pid); sleep 0.3", "kill -KILL $(cat telemetry.pid); : >telemetry.pid"):
        telemetry.start(testbed.fleet, "telemetry/full")
        testbed.fleet.run_on("db1", f"cd {folder}; {left}")
        telemetry.start(testbed.fleet, "telemetry/full")
        found.add(testbed.fleet.run_on("db1", f"cd {folder}; readlink /proc/$(cat telemetry.pid)/cwd").output.strip())
    telemetry.stop(testbed.fleet, "telemetry/full")
    telemetry.clean_up(testbed.fleet, "telemetry/full")
    assert found == {folder}


def test_a_trial_that_one_of_its_hosts_did_not_watch_is_invalid_and_says_of_whom(testbed: Testbed) -> None:
    planned = trial(clients=2, lookups_per_client=20_000)
    folder = f"{testbed.fleet.work_dir('db1')}/telemetry/{testbed.archive.name}/lab_db1/{planned.id}"
    lose = f"cd {folder}; kill -KILL $(cat telemetry.pid) || true; rm -f telemetry.*"
    record = measured_while(
        lambda: testbed.fleet.run_each({"db1": lose}) and None,
        lambda: job_of(planned, testbed, 1).state().phase == "running",
        planned,
        testbed,
    )
    assert record.outcome == "invalid"
    assert record.reason == "there is no telemetry of db1, so it is not known what else ran there"
    assert record.evidence["unwatched"] == ["db1"]
    assert [line for line in record.evidence["telemetry_missing"] if "db1" in line]


def test_a_trial_that_fails_before_its_driver_leaves_no_collector(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise HostError("host client: no room left for the job")

    monkeypatch.setattr("clusterbench.hosts.detached_job.DetachedJob.start", refuse)
    record = run_trial(trial(), testbed)
    assert (record.outcome, record.reason) == ("failed", "host client: no room left for the job")
    assert record.driver_starts == 0
    assert collectors(testbed) == 0


def test_a_store_that_vanishes_loses_nothing(testbed: Testbed, connections: Connections, tmp_path: Path) -> None:
    """The record cannot be written; the next try collects what the driver left, and measures nothing again."""
    good = testbed.archive.store
    testbed.archive.store = store_of(
        changed(connections, "clusterbench_archive", extra={"endpoint_url": f"http://127.0.{BLOCK}.13:1"})
    )
    with pytest.raises(ArchiveError, match="check that the server is up\\. What was written before is kept"):
        run_trial(trial(), testbed)
    testbed.archive.store = good
    record = run_trial(trial(), testbed)
    assert record.outcome == "completed" and record.samples == 50


def test_no_password_reaches_the_archive(testbed: Testbed, connections: Connections) -> None:
    run_trial(trial(pooling="pgbouncer"), testbed)
    secrets = [connections("lab_db1_postgres").password, connections("clusterbench_archive").password]
    for key in testbed.archive.keys(""):
        content = (testbed.archive.store.get(testbed.archive.prefix + key) or b"").decode(errors="replace")
        assert not any(secret in content for secret in secrets), key
