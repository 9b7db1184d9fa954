"""Parameters of Hadoop's jobs as factors: what a job is given, and what is read of what it ran with."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from clusterbench.base.paths import project_root
from clusterbench.base.records import Trial
from clusterbench.hosts.detached_job import JobState
from clusterbench.trial import outcomes
from clusterbench.workloads.terasort import jobs
from clusterbench.workloads.terasort.terasort import JOBS, WORKLOAD

NAME = "mapreduce.task.io.sort.mb"


def trial(**levels: Any) -> Trial:
    return Trial("t.r1", "t", "p", "t", "terasort", {"rows": 1000, f"server.{NAME}": 200} | levels, 1, 7, 600, {})


def told(output: Path, job: str, **values: str) -> None:
    """As a JobHistory server tells it, which has hundreds of others."""
    properties = {"mapreduce.job.name": job, **values}
    found = [{"name": name, "value": value, "source": ["job.xml"]} for name, value in properties.items()]
    (output / f"{job}.conf.json").write_text(json.dumps({"conf": {"path": "hdfs://x", "property": found}}))


def test_what_jobs_ran_with_is_kept_of_the_factors_alone(tmp_path: Path) -> None:
    for job in JOBS:
        told(tmp_path, job, **{NAME: "200"})
    assert jobs.not_as_asked(tmp_path, trial(), JOBS) is None
    assert jobs.ran_with(tmp_path, trial(), JOBS) == {job: {NAME: "200"} for job in JOBS}
    assert jobs.ran_with(tmp_path, Trial("t.r1", "t", "p", "t", "terasort", {}, 1, 7, 600, {}), JOBS) == {}


def test_one_that_no_daemon_knows_is_a_warning() -> None:
    """Every -D gets into a job's configuration, also one that nothing reads."""
    before = {"parameters_unknown": ["mapreduce.task.io.sort.bm"]}
    assert jobs.warnings(before) == [
        "mapreduce.task.io.sort.bm is in no configuration and no default that this Hadoop's daemons tell; if it is "
        "misspelled, nothing reads it, and its values differ by chance alone"
    ]
    assert jobs.warnings({}) == []


@pytest.mark.parametrize(
    ("ran", "said"),
    [
        (
            {NAME: "100"},
            f"teragen ran with {NAME} '100', asked for was '200': whoever runs the cluster declares it final "
            "(<final>true</final> in its *-site.xml), or the job's program sets it itself; leave the factor out, or "
            "have 'final' removed",
        ),
        ({}, f"teragen ran without {NAME}, asked for was '200'; check its spelling"),
    ],
)
def test_another_value_fails_the_trial_in_words(tmp_path: Path, ran: dict[str, str], said: str) -> None:
    """The driver has ended after the first job, so that no other is measured in vain."""
    (tmp_path / "jobs.txt").write_text("teragen 1000.0 1020.0 0 2.0 0.5\n")
    (tmp_path / "stderr").write_text(f"teragen has not run with {NAME}=200\n")
    told(tmp_path, "teragen", **ran)
    reading = WORKLOAD.read(tmp_path, trial(), {})
    assert (reading.window_start_s, reading.window_end_s, reading.measurements) == (1000.0, 1020.0, {})
    state = JobState("ended", exit_status=1)
    assert outcomes.of_driver(state, reading, {"caches": {"problem": ""}}, tmp_path) == ("failed", said)


@pytest.mark.parametrize("job", JOBS)
def test_every_job_goes_to_the_queue_and_has_the_experiment_s_settings(job: str) -> None:
    """On somebody's cluster the default queue is not ours."""
    queue = {"mapreduce.job.queuename": "root.bench"}
    cluster = SimpleNamespace(
        slots=4, job_settings=queue, history_dir="/h", base_path="/b", url=str, environment=lambda: ""
    )
    levels = {name: factor.default for name, factor in WORKLOAD.factors.items()}
    planned = Trial("t.r1", "t", "p", "t", "terasort", levels, 1, 7, 600, {"mapreduce.map.memory.mb": "512"})
    choices = str(WORKLOAD.job(planned, cast("Any", cluster)).files["choices.sh"])
    (options,) = [line for line in choices.splitlines() if line.startswith(f"{job}_options=")]
    assert "-Dmapreduce.job.queuename=root.bench" in options and "-Dmapreduce.map.memory.mb=512" in options
    suite = (project_root() / "include" / "hadoop" / "suite.sh").read_text()
    assert f'example {job} "${{{job}_options[@]}}"' in suite
