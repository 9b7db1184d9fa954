"""Hadoop's parameters as factors: which of them go with a job, and what a job has run with. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def why_not(name: str, decided: Mapping[str, str]) -> str:
    """Why jobs cannot be given it; empty where they can. ``decided``: name -> in words, what else decides it."""
    if known := {**OWN, **decided}.get(name):
        return f"{name} {known}"
    if name.startswith(OF_DAEMONS) or not name.startswith(OF_JOBS):
        return (
            f"{name} does not go with a job: Hadoop's daemons read it when they start, and a trial sets only what jobs "
            "read (mapreduce.*, yarn.app.mapreduce.*, dfs.client.*, dfs.blocksize, io.*). To compare two values of it, "
            "measure two platforms in one run whose files differ in 'settings'"
        )
    return ""


def of_job(conf: Mapping[str, Any]) -> dict[str, str]:
    """Parameter -> value, of what the JobHistory server tells of a job (``…/jobs/ID/conf``)."""
    return {str(entry["name"]): str(entry["value"]) for entry in conf.get("conf", {}).get("property", [])}


def not_taken(job: str, ran_with: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """In words, each parameter with which the job has not run as it was asked to."""
    return [
        f"{job} ran with {name} {ran_with[name]!r}, asked for was {value!r}: whoever runs the cluster declares it "
        "final (<final>true</final> in its *-site.xml), or the job's program sets it itself; leave the factor out, or "
        "have 'final' removed"
        if name in ran_with
        else f"{job} ran without {name}, asked for was {value!r}; check its spelling"
        for name, value in wanted.items()
        if ran_with.get(name) != value
    ]
