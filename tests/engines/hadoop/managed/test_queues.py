"""Queues, in the words of either scheduler."""

from __future__ import annotations

from typing import Any

from clusterbench.engines.hadoop.managed.queues import queue_facts

CAPACITY: dict[str, Any] = {
    "type": "capacityScheduler",
    "queueName": "root",
    "queues": {
        "queue": [
            {"queueName": "default", "state": "RUNNING", "absoluteCapacity": 60.0, "absoluteMaxCapacity": 100.0},
            {
                "queueName": "teams",
                "state": "RUNNING",
                "queues": {"queue": [{"queueName": "bench", "state": "STOPPED", "absoluteCapacity": 10.0}]},
            },
        ]
    },
}
FAIR: dict[str, Any] = {
    "type": "fairScheduler",
    "rootQueue": {
        "queueName": "root",
        "childQueues": {"queue": [{"queueName": "root.bench", "maxResources": {"memory": 8192, "vCores": 4}}]},
    },
}


def test_queue_is_found_by_its_name_and_by_its_path() -> None:
    for name in ("default", "root.default"):
        found = queue_facts(CAPACITY, name)
        assert (found["path"], found["capacity_percent"], found.get("problem")) == ("root.default", 60.0, None)


def test_queue_that_takes_no_jobs_is_said() -> None:
    assert queue_facts(CAPACITY, "bench")["problem"] == "queue 'root.teams.bench' is STOPPED and takes no jobs"


def test_queue_that_is_not_there_is_said_with_those_that_are() -> None:
    said = queue_facts(CAPACITY, "benhc")["problem"]
    assert said == "there is no queue 'benhc'; Allowed: root.default, root.teams.bench"


def test_of_several_queues_of_a_name_the_path_is_asked_for() -> None:
    twice = {"queueName": "root", "queues": {"queue": [
        {"queueName": one, "queues": {"queue": [{"queueName": "bench"}]}} for one in ("a", "b")
    ]}}  # fmt: skip
    assert queue_facts(twice, "bench")["problem"].endswith(
        "there are several: root.a.bench, root.b.bench; write its path"
    )
    assert queue_facts(twice, "root.b.bench")["path"] == "root.b.bench"


def test_names_of_the_fair_scheduler_are_paths() -> None:
    found = queue_facts(FAIR, "bench")
    assert (found["path"], found["memory_max_mb"], found.get("problem")) == ("root.bench", 8192, None)
