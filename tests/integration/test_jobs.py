"""Detached jobs on a real host: once, whatever happens to whoever started them."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator

import pytest

from clusterbench.base.connections import Connections
from clusterbench.base.job import Job
from clusterbench.base.paths import project_root
from clusterbench.hosts.detached_job import DetachedJob, JobState
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.catalog import Catalog

pytestmark = pytest.mark.lab


@pytest.fixture
def fleet(connections: Connections) -> Iterator[Fleet]:
    with Fleet.of(Catalog(project_root()).platform("lab_db1"), connections) as fleet:
        yield fleet


@pytest.fixture
def job(fleet: Fleet) -> DetachedJob:
    return DetachedJob(fleet, "client", f"jobs/test/{uuid.uuid4().hex}")


def said(job: DetachedJob, name: str) -> str:
    return job.fleet.run_on("client", f"cat {job.directory}/{name}").output


def test_a_job_runs_and_its_exit_status_comes_back(job: DetachedJob) -> None:
    assert job.state().phase == "new"
    job.start(Job({"input.txt": "one\n"}, {}, "cat input.txt; exit 3\n"), 60)
    state = job.wait()
    assert (state.phase, state.exit_status) == ("ended", 3)
    assert said(job, "stdout") == "one\n"


def test_a_driver_that_runs_beside_is_waited_for(job: DetachedJob) -> None:
    """Its worker died, and the next trial's task is started before its own is tried again."""
    job.wait_for_others()  # where there was never one
    job.start(Job({}, {}, "sleep 3\n"), 60)
    beside = DetachedJob(job.fleet, job.host, f"jobs/test/{uuid.uuid4().hex}")
    beside.wait_for_others()
    assert job.state().phase == "ended"
    assert beside.state().phase == "new"


def test_many_starters_at_once_start_it_once(job: DetachedJob, connections: Connections) -> None:
    platform = Catalog(project_root()).platform("lab_db1")
    name = job.directory.split("/work/", 1)[1]

    def start() -> None:
        with Fleet.of(platform, connections) as own:
            DetachedJob(own, "client", name).start(Job({}, {}, "echo ran >>../runs; sleep 1\n"), 60)

    job.fleet.run_on("client", f"mkdir -p {job.directory}; rm -f {job.directory}/../runs")
    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert job.wait().exit_status == 0
    assert said(job, "../runs") == "ran\n"


def test_it_outlives_its_starter_and_another_one_reattaches(job: DetachedJob, connections: Connections) -> None:
    platform = Catalog(project_root()).platform("lab_db1")
    name = job.directory.split("/work/", 1)[1]
    with Fleet.of(platform, connections) as first:
        DetachedJob(first, "client", name).start(Job({}, {}, "sleep 2; echo done\n"), 60)
    assert job.state().phase == "running"
    job.start(Job({}, {}, "echo second\n"), 60)  # does nothing: it was started before
    assert job.wait().exit_status == 0
    assert said(job, "stdout") == "done\n"


@pytest.mark.parametrize("command", ["sleep 60\n", "trap : TERM; sleep 60 & wait; sleep 60\n"])
def test_a_time_limit_ends_it_and_is_told(job: DetachedJob, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusterbench.hosts.detached_job.END_S", 1)
    job.start(Job({}, {}, command), 1)
    state = job.wait()
    assert state.timed_out and state.reached_limit


@pytest.mark.parametrize(
    ("command", "how"),
    [
        ("kill -KILL $$\n", "was ended by signal 9 (SIGKILL)"),
        ("bash -c 'kill -SEGV $$'\n", "was ended by signal 11 (SIGSEGV)"),
        ("exit 3\n", "ended with status 3"),
    ],
)
def test_how_it_ended_is_told_and_a_kill_is_no_time_limit(job: DetachedJob, command: str, how: str) -> None:
    job.start(Job({}, {}, command), 600)
    state = job.wait()
    assert not state.timed_out
    assert state.how_it_ended.startswith(how)


def test_the_kernel_s_kills_for_want_of_memory_are_told() -> None:
    state = JobState("ended", 137, oom_kills=1, host="client")
    assert state.how_it_ended == (
        "was ended by signal 9 (SIGKILL); during that time the kernel's OOM killer ended processes on host 'client', "
        "1 time"
    )
    assert not state.timed_out


def test_killing_ends_everything_it_started(job: DetachedJob) -> None:
    job.start(Job({}, {}, "sleep 61.25 & sleep 61.25\n"), 120)
    job.kill()
    state = job.wait()
    assert state.phase == "ended" and state.exit_status is None
    left = job.fleet.run_on("client", "pgrep -f '^sleep 61.25' || true").output
    assert left == ""


def test_killing_a_job_that_never_was_or_has_ended_does_nothing(job: DetachedJob) -> None:
    job.kill()
    job.start(Job({}, {}, "true\n"), 60)
    assert job.wait().exit_status == 0
    job.kill()
    assert job.state().exit_status == 0


def test_a_job_killed_with_9_is_ended_without_a_status(job: DetachedJob) -> None:
    job.start(Job({}, {}, "sleep 60\n"), 120)
    begun = f"until [ -s {job.directory}/pid ]; do sleep 0.05; done"  # it writes that itself, when it comes to it
    job.fleet.run_on("client", f"{begun}; pkill -KILL -s $(cat {job.directory}/pid)")
    state = job.wait()
    assert state.phase == "ended" and state.exit_status is None


def test_secrets_are_gone_when_it_ends_and_private_before(job: DetachedJob) -> None:
    job.start(Job({}, {"pgpass": "secret"}, "stat -c %a pgpass; sleep 0.5\n"), 60)
    job.wait()
    assert said(job, "stdout") == "600\n"
    deadline = time.monotonic() + 10
    while "pgpass" in job.fleet.run_on("client", f"ls {job.directory}").output:
        assert time.monotonic() < deadline, "the secret is still there"


def test_a_directory_with_a_hostile_name_is_only_a_name(fleet: Fleet) -> None:
    job = DetachedJob(fleet, "client", f'jobs/test/{uuid.uuid4().hex}/it\'s; $(touch hacked) "x"')
    job.start(Job({}, {}, "echo fine\n"), 60)
    assert job.wait().exit_status == 0
    assert fleet.run_on("client", f"find {fleet.work_dir('client')} -name 'hacked*'").output == ""
