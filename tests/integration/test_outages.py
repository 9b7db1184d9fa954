"""Outages in the middle of a run, on real servers: they are waited out, cost nothing, and are told."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from clusterbench.base import postgres_session
from clusterbench.base.archive import Store
from clusterbench.base.connections import Connection, Connections
from clusterbench.base.errors import ArchiveError, EngineAwayError, HostError
from clusterbench.base.patience import Outage
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.engines.postgres.connection import connect
from clusterbench.hosts import detached_job, lease
from clusterbench.hosts.detached_job import DetachedJob
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.protocol import job_of, run_trial
from clusterbench.workloads import load_workload
from clusterbench_lab import Lab
from tests.integration.helpers import (
    changed,
    dataset,
    generated_run,
    measured_while,
    new_run,
    on_testbed,
    trial,
    wait_for,
)
from tests.integration.namespaces import needs_root

pytestmark = pytest.mark.lab

PLATFORM = "lab_db1"


@pytest.fixture
def run(connections: Connections) -> Iterator[Run]:
    with generated_run(connections, "smoke", PLATFORM, sweeps=["lookups"]) as run:
        yield run


def long_trial(run: Run) -> Trial:
    """One that is still under way when it has been met."""
    warm = [trial for trial in run.plan().trials[PLATFORM] if trial.levels.get("cache", "warm") == "warm"]
    return max(warm, key=lambda trial: int(trial.levels["clients"]))


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Runs beside the block; what goes wrong in it fails the test."""
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            act()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    assert failures == []


def patient(run: Run, label: str = "the trial") -> list[Outage]:
    heard: list[Outage] = []
    run.wait_for_who_is_away(heard.append, "trial", PLATFORM, label)
    return heard


def waited_for(heard: list[Outage]) -> list[tuple[str, bool]]:
    return [(outage.awaited, outage.is_over) for outage in heard if outage.until]


def lose_sshd(lab: Lab, host: str) -> None:
    """Its sshd and all connections to it; what runs on the host goes on."""
    main = psutil.Process(lab.pid(host))
    for process in [main, *main.children(recursive=True)]:
        if process.name().startswith("sshd"):
            process.kill()


def measured(run: Run, trial: Trial) -> TrialRecord:
    record = steps.measure(run, PLATFORM, trial.id)
    assert (record.outcome, record.driver_starts) == ("completed", 1), record.reason
    return record


@pytest.mark.long
def test_archive_that_is_away_when_a_trial_ends_is_waited_for(lab: Lab, run: Run) -> None:
    trial, heard = long_trial(run), patient(run, "fifty clients")

    def lose_and_bring_back() -> None:
        with run.testbed(PLATFORM) as testbed:
            job = job_of(trial, testbed, 1)
            wait_for(lambda: job.state().phase != "new", "the driver")
        lab.stop_server("s3")
        time.sleep(4)
        lab.start_server("s3")

    with meanwhile(lose_and_bring_back):
        measured(run, trial)
    assert ("archive", True) in waited_for(heard)
    told = run.archive.outages()
    assert {(one["awaited"], one["step"], one["trial"]) for one in told} == {("archive", "trial", "fifty clients")}


@pytest.mark.parametrize("phase", ["new", pytest.param("running", marks=pytest.mark.long)])
def test_client_host_that_is_away_is_waited_for(lab: Lab, run: Run, phase: str) -> None:
    trial, heard = long_trial(run), patient(run)

    def bring_back() -> None:
        wait_for(lambda: heard, "the outage")
        time.sleep(2)
        lab.start_server("client")

    if phase == "new":
        lose_sshd(lab, "client")
        with meanwhile(bring_back):
            measured(run, trial)
    else:

        def lose_and_bring_back() -> None:
            with run.testbed(PLATFORM) as testbed:
                wait_for(lambda: job_of(trial, testbed, 1).state().phase == "running", "the driver")
            lose_sshd(lab, "client")
            bring_back()

        with meanwhile(lose_and_bring_back):
            measured(run, trial)
    assert waited_for(heard) == [("hosts", True)]


@pytest.mark.long
def test_database_that_may_not_be_started_is_waited_for_until_somebody_does(
    lab: Lab, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    with generated_run(connections, "smoke", PLATFORM, sweeps=["lookups"]) as run:
        declared = run.catalog.platform(PLATFORM)
        guest = declared.model_copy(update={"may": [one for one in declared.may if one not in ("recover", "restart")]})
        monkeypatch.setattr(Catalog, "platform", lambda _self, _name: guest)
        trial, heard = long_trial(run), patient(run)
        lab.stop_server("db1_postgres")

        def bring_back() -> None:
            wait_for(lambda: heard, "the outage")
            time.sleep(2)
            lab.start_server("db1_postgres")

        with meanwhile(bring_back):
            measured(run, trial)
        assert waited_for(heard) == [("database", True)]
        monkeypatch.undo()


@pytest.mark.long
def test_who_does_not_come_back_costs_the_trial_and_is_named_with_the_time(
    lab: Lab, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTERBENCH_PATIENCE_MINUTES", "0.05")
    first, second, *_ = run.plan().trials[PLATFORM]
    heard = patient(run)
    lose_sshd(lab, "client")
    try:
        record = steps.measure(run, PLATFORM, first.id)
        assert (record.outcome, record.driver_starts) == ("failed", 0)
        assert "cannot be reached" in record.reason
        assert "the hosts were waited for in vain, 0:00:0" in record.reason.splitlines()[-1]
        assert waited_for(heard) == [("hosts", False)]
        begun = time.monotonic()
        monkeypatch.setenv("CLUSTERBENCH_PATIENCE_MINUTES", "60")
        patient(run)
        assert steps.measure(run, PLATFORM, second.id).outcome == "failed"
        assert time.monotonic() - begun < 60, "who was waited for in vain is not waited for by every trial"
    finally:
        lab.start_server("client")


@pytest.mark.long
def test_bucket_that_became_read_only_is_waited_for_and_a_first_refusal_is_not(
    lab: Lab, run: Run, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = changed(connections, "clusterbench_archive", password="not the key")
    with pytest.raises(ArchiveError, match="access denied"):
        refused = new_run(wrong)
        patient(refused)
        steps.open_run(refused, {}, {})
    heard = patient(run)
    denied = run.archive.store
    good = denied.client
    object.__setattr__(denied, "client", Store.of(wrong("clusterbench_archive")).client)

    def allow() -> None:
        wait_for(lambda: heard, "the refusal")
        object.__setattr__(denied, "client", good)

    with meanwhile(allow):
        measured(run, long_trial(run))
    assert {one.awaited for one in heard} == {"archive"}
    assert "access denied" in heard[0].said


def test_client_host_that_was_re_installed_is_not_measured_on_again(run: Run) -> None:
    """Its folder is empty, and the archive knows of a driver that was started there."""
    trial = long_trial(run)
    run.archive.note_started(trial, 1)
    record = steps.measure(run, PLATFORM, trial.id)
    assert (record.outcome, record.driver_starts) == ("failed", 1)
    assert record.reason.startswith("host 'client' knows nothing of the driver that was started there at 20")
    assert "it was re-installed, or its work folder emptied" in record.reason


@pytest.mark.long
def test_trial_whose_worker_died_comes_to_its_record_before_the_next_one_changes_anything(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow starts the next trial while the first one waits to be tried again; a cold one starts the server anew."""
    trials = run.plan().trials[PLATFORM]
    first, following = long_trial(run), next(trial for trial in trials if trial.levels.get("cache") == "cold")

    class DiedError(BaseException):
        """As SIGKILL: nothing is caught, nothing is undone."""

    def die(_: DetachedJob) -> None:
        raise DiedError

    with monkeypatch.context() as dying:
        dying.setattr(DetachedJob, "wait", die)
        with pytest.raises(DiedError):
            steps.measure(run, PLATFORM, first.id)
    measured(run, following)
    record = run.archive.trial(PLATFORM, first.id)
    assert record is not None and (record.outcome, record.driver_starts) == ("completed", 1)
    assert record.evidence["after"]["faults"] == []
    with run.testbed(PLATFORM) as testbed:
        assert detached_job.left_open(testbed.fleet, ["client"], f"jobs/{run.holder}/{PLATFORM}") == []


@pytest.mark.long
@needs_root
def test_worker_whose_disk_is_full_waits_and_collects_then(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file system of 1 MB, on which nothing is left."""
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", str(small)], check=True)
    try:
        ballast = small / "ballast"
        fill(ballast)
        monkeypatch.setattr(tempfile, "tempdir", str(small))
        heard = patient(run)

        def make_room() -> None:
            wait_for(lambda: heard, "the full disk")
            ballast.unlink()

        with meanwhile(make_room):
            measured(run, min(run.plan().trials[PLATFORM], key=lambda trial: int(trial.levels["clients"])))
        assert "the disk of this worker (" in heard[0].said and "is full" in heard[0].said
        assert heard[-1].is_over
    finally:
        monkeypatch.undo()
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.long
@needs_root
def test_host_whose_disk_is_full_before_the_driver_is_waited_for(lab: Lab, run: Run) -> None:
    """The client's: nothing of the trial can be written there."""
    trial = min(run.plan().trials[PLATFORM], key=lambda trial: int(trial.levels["clients"]))
    with small_jobs(lab) as ballast:
        fill(ballast)
        heard = patient(run)

        def make_room() -> None:
            wait_for(lambda: heard, "the full disk")
            ballast.unlink()

        with meanwhile(make_room):
            measured(run, trial)
    assert "host client" in heard[0].said
    assert "its disk is full: free some space in the work folder there" in heard[0].said
    assert heard[-1].is_over


@contextmanager
def small_jobs(lab: Lab) -> Iterator[Path]:
    """The client host's jobs are on a file system of 8 MB meanwhile. The ballast that may fill it, which is removed."""
    jobs = lab.layout.host_dir("client") / "work" / "jobs"
    jobs.mkdir(parents=True, exist_ok=True)
    owner = jobs.stat()
    options = f"size=8M,uid={owner.st_uid},gid={owner.st_gid}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(jobs)], check=True)
    ballast = jobs / "ballast"
    try:
        yield ballast
    finally:
        ballast.unlink(missing_ok=True)
        subprocess.run(["umount", "--lazy", str(jobs)], check=True)


def fill(ballast: Path) -> None:
    """To the last byte of its file system."""
    with contextlib.suppress(OSError), ballast.open("wb") as file:
        while True:
            file.write(bytes(4096))


def test_cluster_that_could_not_be_taken_whole_is_left_free(lab: Lab, connections: Connections) -> None:
    """Its release never runs then."""
    run = new_run(connections)
    steps.open_run(run, {"platforms": [PLATFORM]}, {})
    lab.stop_server("db1")
    try:
        with pytest.raises(HostError):
            steps.take_cluster(run, PLATFORM)
    finally:
        lab.start_server("db1")
    with run.testbed(PLATFORM) as testbed:
        assert lease.holder_of(testbed.fleet, testbed.platform) is None


def test_server_that_is_back_just_after_it_refused_is_no_mistake(
    lab: Lab, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the failure and the question whether a server answers there."""
    asked = postgres_session.is_up

    def comes_back(database: Connection, **where: Any) -> bool:
        lab.start_server("db1_postgres")
        return asked(database, **where)

    monkeypatch.setattr(postgres_session, "is_up", comes_back)
    lab.stop_server("db1_postgres")
    with connect(connections("lab_db1_postgres"), "here") as session:
        assert session.execute("SELECT 1 AS up").fetchall() == [{"up": 1}]


def test_server_that_was_frozen_was_away_although_it_answers_now(
    lab: Lab, connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_session, "is_up", lambda *_, **__: True)
    monkeypatch.setattr(postgres_session, "CONNECT_S", 2)
    server = psutil.Process(lab.pid("db1_postgres"))
    server.suspend()
    try:
        with (
            pytest.raises(EngineAwayError, match="here: cannot be used: connection timeout expired"),
            connect(connections("lab_db1_postgres"), "here"),
        ):
            pass
    finally:
        server.resume()


@pytest.mark.long
def test_more_clients_than_the_server_takes_fail_that_trial_alone_in_the_server_s_words(
    connections: Connections,
) -> None:
    with on_testbed(new_run(connections), settings={"max_connections": "100"}) as testbed:
        testbed.engine.set_up()
        try:
            load_workload("key_value").generate(dataset(), testbed.engine)
            testbed.engine.facts()
            many = run_trial(trial("many", clients=200), testbed)
            few = run_trial(trial("few", clients=2), testbed)
        finally:
            testbed.engine.tear_down()
    assert many.outcome == "failed"
    assert "too many clients" in many.reason or "remaining connection slots" in many.reason, many.reason
    assert few.outcome == "completed", few.reason


@needs_root
def test_host_whose_disk_is_full_while_it_measures_fails_that_trial_alone(lab: Lab, connections: Connections) -> None:
    """The client's, on which the driver's log grows."""
    with small_jobs(lab) as ballast, on_testbed(new_run(connections)) as testbed:
        load_workload("key_value").generate(dataset(), testbed.engine)
        testbed.engine.facts()
        planned = trial("full", clients=10, lookups_per_client=20_000)
        job = job_of(planned, testbed, 1)
        record = measured_while(lambda: fill(ballast), lambda: job.state().phase == "running", planned, testbed)
        ballast.unlink()
        after = run_trial(trial("after", clients=2), testbed)
    assert record.outcome == "failed"
    assert "; the disk of host 'client' was full then, so what it wrote may be cut short: free some" in record.reason
    assert after.outcome == "completed", after.reason
