"""Hadoop's parameters as factors that go with a job: which these are, and what a job has run with. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterbench.base.factors import Level, server_settings
from clusterbench.engines.hadoop import daemon_parameters
from clusterbench.spec.platform import Platform

OF_DAEMONS = ("mapreduce.cluster.", "mapreduce.jobhistory.", "mapreduce.jobtracker.", "mapreduce.shuffle.")
"""They begin as those of a job, and are read by daemons when these start."""
OF_JOBS = (
    "dfs.blocksize",
    "dfs.bytes-per-checksum",
    "dfs.checksum.type",
    "dfs.client",
    "dfs.replication",
    "dfs.stream-buffer-size",
    "file.",
    "io.",
    "mapreduce.",
    "yarn.app.mapreduce.",
)
"""What the names of those begin with that a job and its tasks read."""
OWN: Mapping[str, str] = {
    "mapreduce.am.max-attempts": "is 1 in every trial, because the time of a second attempt would hold both",
    "mapreduce.client.progressmonitor.pollinterval": "is clusterbench's, so that a client sees a job's end at once",
    "mapreduce.framework.name": "is yarn in every trial",
    "mapreduce.job.queuename": "is 'hadoop.managed.queue' of the platform's file",
    "mapreduce.job.tags": "is set by clusterbench, which finds a trial's applications by it",
}
"""Those that clusterbench gives to every job."""


def wanted(levels: Mapping[str, Level]) -> dict[str, str]:
    """Parameter -> value, of the levels that every job of a trial is given."""
    return {name: value for name, value in server_settings(levels).items() if is_of_jobs(name)}


def is_of_jobs(name: str) -> bool:
    """Whether jobs are given it. All others are daemons', which read them when they start."""
    return name.startswith(OF_JOBS) and not name.startswith(OF_DAEMONS)


def why_not(name: str, decided: Mapping[str, str], platform: Platform) -> str:
    """Why it cannot be varied; empty where it can. ``decided``: name -> in words, what else decides it."""
    if known := {**OWN, **decided}.get(name):
        return f"{name} {known}"
    return "" if is_of_jobs(name) else daemon_parameters.why_not(name, platform)


def of_job(conf: Mapping[str, Any]) -> dict[str, str]:
    """Parameter -> value, of what the JobHistory server tells of a job (``…/jobs/ID/conf``)."""
    return {str(entry["name"]): str(entry["value"]) for entry in conf.get("conf", {}).get("property", [])}


def not_taken(job: str, ran_with: Mapping[str, str], asked: Mapping[str, str]) -> list[str]:
    """In words, each parameter with which the job has not run as it was asked to."""
    return [
        f"{job} ran with {name} {ran_with[name]!r}, asked for was {value!r}: whoever runs the cluster declares it "
        "final (<final>true</final> in its *-site.xml), or the job's program sets it itself; leave the factor out, or "
        "have 'final' removed"
        if name in ran_with
        else f"{job} ran without {name}, asked for was {value!r}; check its spelling"
        for name, value in asked.items()
        if ran_with.get(name) != value
    ]
