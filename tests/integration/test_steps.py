"""The steps of a run on real servers: what is refused before anything is measured, and in which words."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import psycopg
import pytest

from clusterbench.base.archive import RunArchive, find_run, runs_in
from clusterbench.base.connections import Connections
from clusterbench.base.errors import ArchiveError, DatasetError, EngineError, LeaseError, SpecError
from clusterbench.base.job import Job
from clusterbench.base.paths import project_root
from clusterbench.base.run_ids import WEEKLY
from clusterbench.hosts import lease, telemetry
from clusterbench.hosts.detached_job import DetachedJob
from clusterbench.results import rounds
from clusterbench.results.run_list import newest_runs
from clusterbench.run import steps, weekly
from clusterbench.run.run import Run
from clusterbench.spec.experiment import Sweep
from clusterbench.trial.plan import make_plan, read_choices
from clusterbench.trial.protocol import job_of
from tests.integration.helpers import changed, measured_whole, new_run, on_testbed, store_of, trial

pytestmark = pytest.mark.lab
ONE_SWEEP = {"sweeps": ["optimizer"]}


def test_a_whole_run_by_hand_ends_valid_and_sealed(connections: Connections) -> None:
    run = new_run(connections)
    steps.open_run(run, ONE_SWEEP, {"by": "a test"})
    steps.take_cluster(run, "lab_db1")
    steps.set_up_cluster(run, "lab_db1")
    steps.flush_caches(run, "lab_db1")
    steps.generate_data(run, "lab_db1")
    for planned in steps.validate_data(run, "lab_db1"):
        assert steps.measure(run, "lab_db1", planned.id).outcome == "not_applicable"
    steps.release_cluster(run, "lab_db1")
    steps.summarise(run)
    steps.validate_results(run)
    steps.write_report(run)
    steps.seal(run)
    steps.conclude(run)
    assert run.archive.verify() == []
    on = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
    assert run.archive.need_json("platforms/lab_db1/facts.json")["durability"] == on
    kept = run.archive.need_json("results.json")["durability"]
    assert kept == {"settings": {"lab_db1": on}, "platforms": {}, "cells": {}}
    assert find_run(run.archive.store, run.run_id).prefix == run.archive.prefix


def test_hosts_that_share_a_work_folder_are_not_set_up(connections: Connections) -> None:
    """As they do where one machine is named twice: each would end and overwrite the other's telemetry."""
    folder = connections("lab_db1").extra["work_dir"]
    run = new_run(changed(connections, "lab_etl", extra={"work_dir": folder}))
    steps.open_run(run, ONE_SWEEP, {"by": "a test"})
    steps.take_cluster(run, "lab_db1")
    with pytest.raises(SpecError) as caught:
        steps.set_up_cluster(run, "lab_db1")
    steps.release_cluster(run, "lab_db1")
    said = str(caught.value)
    assert "platform 'lab_db1': hosts share a work folder, where each would overwrite" in said
    assert f"  {folder}: db1, etl\n" in said and "client" not in said
    assert "If they are one machine, name it once, with all its roles, or give each connection a 'work_dir'" in said
    assert not list(Path(folder).glob("shared.*"))


@pytest.mark.long
def test_cells_are_measured_until_they_are_firm_and_the_run_says_so(connections: Connections) -> None:
    run = new_run(connections)
    declared = run.catalog.experiment("smoke").sweeps["lookups"].model_dump()
    until = {"at_least": 3, "at_most": 5, "until_percent": 50, "measurement": "throughput_per_s"}
    factors = {
        "clients": [1, 2],
        "rows": [10000],
        "window_s": [1],
        "rate_per_s": [500],
    }  # which a busy machine holds, too
    sweep = Sweep.model_validate({**declared, "factors": factors, "repetitions": until})
    experiment = run.catalog.experiment("smoke").model_copy(update={"sweeps": {"lookups": sweep}})
    plan = make_plan(experiment, read_choices(experiment, {}), run.catalog)
    run.archive.put_json("plan.json", plan.as_json())  # in place of that of the file
    steps.open_run(run, {}, {"by": "a test"})
    outcomes = [(one.trial.repetition, one.outcome) for one in measured_whole(run, "lab_db1")]
    assert outcomes == [
        *((number, "completed") for number in (1, 2, 3) for _ in range(2)),
        *((number, "not_needed") for number in (4, 5) for _ in range(2)),
    ]
    steps.summarise(run)
    steps.validate_results(run)
    steps.write_report(run)
    steps.seal(run)
    steps.conclude(run)
    page = (run.archive.store.get(run.archive.prefix + "report.html") or b"").decode()
    assert "3 of 3, firm" in page and "throughput_per_s is firm after 3 repetitions" in page


def flushed(run: Run, table: str = "", **changes: Any) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """What ``flush_caches`` archives of lab_db1's two caches, and whether the server was restarted for it.

    ``table`` is in memory before; ``changes`` are made to the platform as declared.
    """
    steps.open_run(run, ONE_SWEEP, {})
    steps.take_cluster(run, "lab_db1")
    try:
        steps.set_up_cluster(run, "lab_db1")
        with run.testbed("lab_db1") as testbed:  # after set-up, which may have restarted the server
            testbed.engine.warm([table] if table else [])  # type: ignore[attr-defined]
        path = run.catalog.root / "include/platforms/lab_db1.yaml"
        run.catalog._read[path] = run.catalog.platform("lab_db1").model_copy(update=changes)
        before = started_at(run)
        steps.flush_caches(run, "lab_db1")
        after = started_at(run)
        steps.flush_caches(run, "lab_db1")  # a task that was cleared: nobody is disturbed again
        assert started_at(run) == after
        database, file_system = run.archive.need_json("platforms/lab_db1/caches.json")["caches"]
        return database, file_system, after > before
    finally:
        steps.release_cluster(run, "lab_db1")


def started_at(run: Run) -> Any:
    with run.testbed("lab_db1") as testbed:
        engine: Any = testbed.engine
        return engine.query("SELECT pg_postmaster_start_time() AS started")[0]["started"]


def test_caches_are_emptied_once_and_it_is_seen(connections: Connections) -> None:
    run = new_run(connections)
    with run.testbed("lab_db1") as testbed:
        engine: Any = testbed.engine
        engine.execute("CREATE TABLE contract_flush AS SELECT * FROM generate_series(1, 200000)")
    try:
        database, file_system, was_restarted = flushed(run, "contract_flush")
    finally:
        with run.testbed("lab_db1") as testbed:
            testbed.engine.execute("DROP TABLE contract_flush")  # type: ignore[attr-defined]
    assert was_restarted
    for row in (database, file_system):
        assert row["problem"] == "" and row["is_tried"]
        assert row["bytes_before"] > 7_000_000 and row["bytes_after"] < 2**20


def test_without_leave_no_cache_is_touched_and_the_line_that_would_allow_it_is_kept(connections: Connections) -> None:
    database, file_system, was_restarted = flushed(new_run(connections), may=[])
    assert not was_restarted
    assert (database["is_tried"], file_system["is_tried"]) == (False, False)
    assert "write 'may: [restart]' into include/platforms/lab_db1.yaml" in database["problem"]
    assert "write 'may: [evict]' into include/platforms/lab_db1.yaml" in file_system["problem"]


def test_server_that_others_use_is_not_restarted_and_that_is_told(connections: Connections) -> None:
    run = new_run(connections)
    with run.testbed("lab_db1") as testbed:
        engine: Any = testbed.engine
        before = started_at(run)
        with engine.connect() as session:
            session.execute("SET application_name = 'ada'")
            database, file_system = engine.flush_caches()
    assert started_at(run) == before
    assert database.is_tried and "other people have sessions on the server" in database.problem
    assert file_system.problem == "" and file_system.bytes_after < 2**20


def test_a_sealed_run_cannot_be_opened_or_measured_again(connections: Connections) -> None:
    run = new_run(connections)
    steps.open_run(run, {"sweeps": ["lookups"], "repetitions": 1}, {})
    steps.seal(run)
    with pytest.raises(ArchiveError, match="is finished and sealed; start a new run instead of this one"):
        steps.open_run(run, {"sweeps": ["lookups"], "repetitions": 1}, {})
    with pytest.raises(ArchiveError, match="is finished and sealed; start a new run to measure more"):
        steps.measure(run, "lab_db1", "lookups.clients_1.cache_warm.r1")


def test_a_run_id_that_the_archive_holds_is_never_written_over(connections: Connections) -> None:
    run = new_run(connections)
    steps.open_run(run, ONE_SWEEP, {"by": "the first"})
    before = {key: run.archive.store.get(run.archive.prefix + key) for key in run.archive.keys("")}
    with pytest.raises(ArchiveError, match="the archive holds another run of that id; nothing was changed there"):
        steps.open_run(run, ONE_SWEEP, {"by": "the second"})
    assert {key: run.archive.store.get(run.archive.prefix + key) for key in run.archive.keys("")} == before
    steps.open_run(run, ONE_SWEEP, {"by": "the first"})  # a retry of the same task goes on


def test_two_installations_on_one_bucket_are_told_apart(connections: Connections) -> None:
    """By the calendar, both start a run of the same name in the same second."""
    asked = {"dag_id": "smoke", "dag_run_id": "scheduled__2026-11-22T00:00:00+00:00", "how": "scheduled"}
    run = new_run(connections)
    steps.open_run(run, ONE_SWEEP, {**asked, "installation": "one"})
    with pytest.raises(
        ArchiveError, match=r"another run of that id.* started by another Airflow, which writes to the same"
    ):
        steps.open_run(run, ONE_SWEEP, {**asked, "installation": "other"})
    week = new_run(connections, WEEKLY)
    weekly.open_week(week, {}, {**asked, "installation": "one"})
    weekly.open_week(week, {}, {**asked, "installation": "one"})  # a retry
    with pytest.raises(
        ArchiveError, match=r"a week with that id exists already.* give each of them a folder of its own, by 'prefix'"
    ):
        weekly.open_week(week, {}, {**asked, "installation": "other"})


def test_a_store_that_denies_is_named_with_the_connection(connections: Connections) -> None:
    run = new_run(changed(connections, "clusterbench_archive", password="wrong"))
    with pytest.raises(ArchiveError) as caught:
        steps.open_run(run, ONE_SWEEP, {})
    assert "access denied" in str(caught.value)
    assert "check the keys of connection 'clusterbench_archive'" in str(caught.value)


def test_a_missing_bucket_is_named(connections: Connections) -> None:
    run = new_run(changed(connections, "clusterbench_archive", extra={"bucket": "not-there"}))
    with pytest.raises(ArchiveError, match="there is no such bucket; create it, or correct 'bucket'"):
        steps.open_run(run, ONE_SWEEP, {})


def test_a_database_too_small_for_the_data_is_refused_before_generation(connections: Connections) -> None:
    """The full scale's 1.3 TB, on a test machine."""
    run = new_run(connections, "key_value")
    steps.open_run(run, {"scale": "full"}, {})
    with pytest.raises(EngineError, match=r"too small: the datasets need 1,6\d\d\.\d GB more, free are [\d,.]+ GB"):
        steps.set_up_cluster(run, "lab_db1")


def test_a_full_disk_is_called_one(connections: Connections) -> None:
    full = psycopg.errors.DiskFull("could not extend file: No space left on device")
    with (
        on_testbed(new_run(connections)) as testbed,
        pytest.raises(EngineError, match=r"disk is full.*free some space"),
        testbed.engine.connect(),  # type: ignore[attr-defined]
    ):
        raise full


def test_a_platform_that_is_not_what_it_claims_stops_the_run(connections: Connections) -> None:
    run = new_run(connections)
    steps.open_run(run, ONE_SWEEP, {})
    with run.testbed("lab_db1") as testbed:
        testbed.engine.execute("ALTER SYSTEM SET synchronous_commit = off")
        testbed.engine.execute("SELECT pg_reload_conf()")
    try:
        with pytest.raises(EngineError) as caught:
            steps.set_up_cluster(run, "lab_db1")
    finally:
        with run.testbed("lab_db1") as testbed:
            testbed.engine.execute("ALTER SYSTEM RESET synchronous_commit")
            testbed.engine.execute("SELECT pg_reload_conf()")
    assert "  engine: synchronous_commit: declared 'on', found 'off'" in str(caught.value)
    assert "Change the cluster ('clusterbench setup lab_db1' shows what would be changed)" in str(caught.value)


def test_a_bad_dataset_stops_the_run_before_its_first_trial(connections: Connections) -> None:
    run = new_run(connections)
    steps.open_run(run, {"sweeps": ["lookups"], "seed": 21}, {})
    steps.generate_data(run, "lab_db1")
    with run.testbed("lab_db1") as testbed:
        testbed.engine.execute("DELETE FROM datajson_10000 WHERE jkeynum = 5")
    try:
        with pytest.raises(
            DatasetError, match=r"(?s)The table has as many rows as were asked for.*Nothing was measured"
        ):
            steps.validate_data(run, "lab_db1")
    finally:
        with run.testbed("lab_db1") as testbed:
            testbed.engine.execute("DROP TABLE datajson_10000")
    steps.summarise(run)
    steps.validate_results(run)
    steps.write_report(run)
    steps.seal(run)
    with pytest.raises(steps.InvalidRunError, match="The table has as many rows as were asked for"):
        steps.conclude(run)
    assert run.archive.trials() == []


def test_two_runs_never_share_a_cluster(connections: Connections) -> None:
    first, second = new_run(connections), new_run(connections)
    for run in (first, second):
        steps.open_run(run, ONE_SWEEP, {})
    steps.take_cluster(first, "lab_db1")
    steps.take_cluster(first, "lab_db1")  # the same run may ask twice
    with pytest.raises(LeaseError) as caught:
        steps.take_cluster(second, "lab_db2")  # another platform of the same cluster
    assert f"cluster 'lab' is held by run smoke/{first.run_id} since " in str(caught.value)
    assert f"clusterbench release lab_db2 smoke/{first.run_id}" in str(caught.value)
    with pytest.raises(LeaseError):
        steps.release_cluster(second, "lab_db1")  # what another run holds is not touched
    with first.testbed("lab_db1") as testbed:
        assert str(lease.holder_of(testbed.fleet, testbed.platform)).startswith(f"smoke/{first.run_id} since 20")
        steps.release_cluster(first, "lab_db1")
        assert lease.holder_of(testbed.fleet, testbed.platform) is None
    steps.take_cluster(second, "lab_db2")
    steps.release_cluster(second, "lab_db2")


def notes(run: Run, platform: str) -> set[str]:
    """Those of a platform's cluster that are there; all hosts of the lab are this machine."""
    with run.testbed(platform) as testbed:
        found = lease.notes_of(testbed.fleet, testbed.platform)
    return {name for name in found if (Path(lease.FOLDER) / name).exists()}


@pytest.mark.long
def test_platforms_in_turns_are_held_together_and_a_trial_waits_for_one_that_is_left_open_on_the_other(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is lost while it measures; then Airflow gives its place to the next trial, of the other platform."""
    run, other = new_run(connections, "retail"), new_run(connections)
    steps.open_run(run, {"scale": "smoke", "sweeps": ["data_load"]}, {})
    steps.open_run(other, ONE_SWEEP, {})
    first, second = run.plan().in_turns
    assert run.archive.need_json("run.json")["platforms_in_turns"] == [first, second] == ["lab_db1", "lab_db2"]
    for name in (first, second):
        steps.take_cluster(run, name)
    try:
        for name in (first, second):
            steps.set_up_cluster(run, name)
            steps.generate_data(run, name)
        (lost,), (following,) = (steps.validate_data(run, name) for name in (first, second))
        with monkeypatch.context() as killed:
            killed.setattr(DetachedJob, "wait", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                steps.measure(run, first, lost.id)
        assert run.archive.trial(first, lost.id) is None
        record, left = steps.measure(run, second, following.id), run.archive.trial(first, lost.id)
        assert left is not None and (left.outcome, record.outcome) == ("completed", "completed")
        assert (left.window_end_s or 0) < (record.window_start_s or 0)
    finally:
        both = notes(run, first) | notes(run, second)
        steps.release_cluster(run, second)
        after = notes(run, first), notes(run, second)
        with pytest.raises(LeaseError, match=f"held by run retail/{run.run_id}"):
            steps.take_cluster(other, "lab_db1")
        steps.release_cluster(run, first)
    assert len(both) == 3 and len(after[0]) == 2, "a note on the client for both, and one on each server"
    assert after[1] == after[0] & after[1] and len(after[1]) == 1, "the server of the second is free"
    assert notes(run, first) | notes(run, second) == set()
    steps.take_cluster(other, "lab_db1")
    steps.release_cluster(other, "lab_db1")


def test_a_server_that_is_another_platforms_under_another_name_is_refused(connections: Connections) -> None:
    run = new_run(connections, "retail")
    steps.open_run(run, {"scale": "smoke", "sweeps": ["data_load"]}, {})
    db2 = run.catalog.platform("lab_db2")
    path = run.catalog.root / "include/platforms/lab_db2.yaml"
    hosts = {**db2.hosts, "db2": run.catalog.platform("lab_db1").hosts["db1"]}
    run.catalog._read[path] = db2.model_copy(update={"hosts": hosts})
    with pytest.raises(EngineError) as caught:
        steps.take_cluster(run, "lab_db2")
    assert str(caught.value) == (
        "platform 'lab_db2': its host 'db2' is host 'db1' of platform 'lab_db1' (they have the same SSH host key), and "
        "the two are measured in turns, so that one of them would be load beside the other's trials; give each a host "
        "of its own, or take one of them out of 'platforms_in_turns' in dags/experiments/retail.yaml"
    )
    assert notes(run, "lab_db1") == set(), "nothing was taken"


def test_a_platform_that_is_another_by_now_is_not_gone_on_with(connections: Connections) -> None:
    run = new_run(connections)
    steps.open_run(run, ONE_SWEEP, {})
    archive, name = run.archive, "lab_db1"
    facts = {"engine": {"settings": {"work_mem": "4MB"}}, "hosts": {"db1": {"kernel": "6.1", "bash": "5.1"}}}
    assert (rounds.begun(archive, name), rounds.told(archive, name)) == (0, [])
    rounds.begin(archive, name)
    rounds.begin(archive, name)
    rounds.note_facts(archive, name, facts)
    assert rounds.begun(archive, name) == 1 and not rounds.is_released(archive, name)
    rounds.release(archive, name)
    assert rounds.is_released(archive, name)
    rounds.begin(archive, name)
    assert rounds.begun(archive, name) == 2 and not rounds.is_released(archive, name), "it must be put back once more"
    rounds.note_facts(archive, name, facts)
    (told,) = rounds.told(archive, name)
    assert told["platform"] == name and told["released"] and told["again"] and told["differs"] == ""
    rounds.release(archive, name)
    rounds.begin(archive, name)
    other = {"engine": {"settings": {"work_mem": "8MB"}}, "hosts": facts["hosts"]}
    with pytest.raises(EngineError, match=r"cannot continue here.*work_mem \(engine\): 4MB -> 8MB. Restore it"):
        rounds.note_facts(archive, name, other)
    assert archive.need_json(f"platforms/{name}/facts.json") == facts, "those of the begin stand"


def test_a_run_is_measured_by_the_text_it_was_begun_with(
    connections: Connections, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = new_run(connections)
    steps.open_run(run, ONE_SWEEP, {})
    steps.open_run(run, ONE_SWEEP, {})
    root = tmp_path / "project"
    shutil.copytree(project_root() / "include/platforms", root / "include/platforms")
    for path in ("dags", "expectations", "plugins", "include/sql"):
        (root / path).symlink_to(project_root() / path)
    file = root / "include/platforms/lab_db1.yaml"
    file.write_text(file.read_text() + "# another text\n")
    monkeypatch.setattr(steps, "own_or_built_in", lambda path: root / path)
    with pytest.raises(
        ArchiveError, match=r"platforms/lab_db1/platform.yaml: .*platform.yaml has changed since this run began"
    ):
        steps.open_run(run, ONE_SWEEP, {})


def test_release_ends_and_removes_what_a_lost_worker_left(connections: Connections) -> None:
    """A worker that never came back: its driver still runs, its collectors too."""
    run = new_run(connections)
    steps.open_run(run, ONE_SWEEP, {})
    steps.take_cluster(run, "lab_db1")
    run.archive.put_json("platforms/lab_db1/begun.json", {"begun": True})
    with run.testbed("lab_db1") as testbed:
        lost = trial("optimizer")
        telemetry.start(testbed.fleet, f"telemetry/{run.holder}/lab_db1/{lost.id}")
        job_of(lost, testbed, 1).start(Job({}, {}, "sleep 87.5\n"), 120)
    steps.release_cluster(run, "lab_db1")
    with run.testbed("lab_db1") as testbed:
        left = testbed.fleet.run_on("client", "pgrep -f '^sleep 87.5' || true").output
        folders = testbed.fleet.run(testbed.fleet.names, f"ls telemetry/{run.holder} 2>/dev/null || true")
        assert left == ""
        assert {answer.output for answer in folders.values()} == {""}
        assert job_of(lost, testbed, 1).state().exit_status is None


def test_what_a_person_ends_is_noted_before_its_driver_is_ended(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that is to end has five seconds. Here it is gone before the driver is."""
    run = new_run(connections)
    steps.open_run(run, ONE_SWEEP, {})
    planned = run.plan().trials["lab_db1"][0]
    with run.testbed("lab_db1") as testbed:
        job = job_of(planned, testbed, 1)
        job.start(Job({}, {}, "sleep 87.25\n"), 120)
        try:
            with monkeypatch.context() as killed:
                killed.setattr(DetachedJob, "kill", lambda _job: (_ for _ in ()).throw(SystemExit("SIGKILL")))
                with pytest.raises(SystemExit):
                    steps.cancel(run, "lab_db1", planned.id)
            assert run.archive.stopped("lab_db1") == {planned.id: 1}
        finally:
            job.kill()


def test_a_form_with_hostile_words_is_refused_word_by_word(connections: Connections) -> None:
    for hostile in ("x'; DROP TABLE y; --", "$(touch /tmp/hacked)", "../../etc/passwd", 'a"b'):
        with pytest.raises(SpecError, match="platforms"):
            steps.open_run(new_run(connections), {"platforms": [hostile]}, {})


def test_an_error_of_a_step_is_kept_for_the_report(connections: Connections) -> None:
    run = new_run(connections)
    run.note_error("set_up_cluster", EngineError("it is down"), "lab_db1")
    (key,) = RunArchive(store_of(connections), "smoke", run.run_id).keys("errors/")
    assert run.archive.need_json(key)["error"] == "it is down"


def test_runs_are_listed_by_their_names_alone_and_told_from_what_each_has(connections: Connections) -> None:
    """Object storage answers what the list asks of it: names by delimiter, and a few objects of each run."""
    finished, going_on = new_run(connections), new_run(connections)
    for run, who in ((finished, "one"), (going_on, "other")):
        steps.open_run(run, ONE_SWEEP, {"by": who})
    steps.seal(finished)
    runs = runs_in(store_of(connections), "smoke")
    assert {finished.run_id, going_on.run_id} <= {run.run_id for run in runs}
    assert {run.name for run in runs} <= {run.name for run in runs_in(store_of(connections))}
    found = {one.run_id: one for one in newest_runs(runs, len(runs), "lab_db1")}
    assert (found[finished.run_id].validity, found[finished.run_id].started_by) == ("not valid", "one")
    assert (found[going_on.run_id].validity, found[going_on.run_id].started_by) == ("did not complete (yet)", "other")
    assert found[going_on.run_id].platforms == ("lab_db1",)
    assert runs_in(store_of(connections), "nothing_of_that_name") == []
