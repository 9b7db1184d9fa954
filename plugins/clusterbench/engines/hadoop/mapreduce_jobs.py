"""What MapReduce tells of a job that ended: phases, counters, and why it failed. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Phases:
    """Of a job with map and reduce tasks, in seconds, and the end of the last map task in epoch seconds."""

    map_shuffle_s: float
    reduce_merge_s: float
    last_map_ended_s: float


def phases(elapsed_s: float, job: Mapping[str, Any], tasks: Mapping[str, Any]) -> Phases:
    """TeraSort's, as paper 002 has them: map-shuffle ends when the last map task ends, reduce-merge is the rest.

    ``elapsed_s`` is by the client's clock, the job's own times by that of the host which managed it. So the rest is a
    difference of two times of the latter, and no two clocks are ever compared.
    """
    last_map_ms = max(int(task["finishTime"]) for task in map_tasks(tasks))
    finished_ms = int(job["job"]["finishTime"])
    reduce_merge_s = (finished_ms - last_map_ms) / 1000
    return Phases(elapsed_s - reduce_merge_s, reduce_merge_s, last_map_ms / 1000)


def map_tasks(tasks: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [task for task in tasks["tasks"]["task"] if task["type"] == "MAP"]


def counters(told: Mapping[str, Any]) -> dict[str, int]:
    """Name -> total, of all groups: the names that are used here stand in one group only."""
    groups = told["jobCounters"].get("counterGroup") or []
    return {
        counter["name"]: int(counter["totalCounterValue"]) for group in groups for counter in group.get("counter") or []
    }


def checksum(report: str) -> str | None:
    """TeraValidate's, of its report; TeraGen's counter is the same number in decimal."""
    found = re.search(r"^checksum\t([0-9a-f]+)$", report, re.MULTILINE)
    return found[1].lstrip("0") or "0" if found else None


def disorder(report: str) -> list[str]:
    """What TeraValidate found out of order, a line each."""
    return [line for line in report.splitlines() if line.strip() and not line.startswith("checksum\t")]


KNOWN = (
    (
        r"SafeModeException|[Nn]ame ?node is in safe mode",
        "the NameNode is in safe mode, nothing can be written: bring missing DataNodes back, free space in the "
        "NameNode's folder, or end it with: hdfs dfsadmin -safemode leave",
    ),
    (
        r"There are 0 datanode",
        "no DataNode is running, so nothing can be written; see their logs",
    ),
    (
        r"could only be written to \d+ of the|No space left on device|DiskOutOfSpaceException|QuotaExceeded|"
        r"disk\(s\) .* full|local-dirs (usable space|have errors)|Could not find any valid local directory|"
        r"No space available in any of the local directories",
        "HDFS or a local folder of a worker is full: free space there, or choose fewer rows or replicas",
    ),
    (
        r"FileAlreadyExistsException|Output directory \S+ already exists",
        "the output path exists already, left by an earlier job; remove it with: hdfs dfs -rm -r -skipTrash",
    ),
    (
        r"BlockMissingException|Could not obtain block|CorruptBlock",
        "blocks are missing: the DataNodes that had them are lost",
    ),
    (
        r"Connection refused|NoRouteToHost|ConnectTimeoutException",
        "a daemon could not be reached; see the log of what went down",
    ),
)


def explain(said: str) -> str:
    """In words what stopped a job, from what its client said; nothing where it is not one of the known causes."""
    return next((words for pattern, words in KNOWN if re.search(pattern, said)), "")
