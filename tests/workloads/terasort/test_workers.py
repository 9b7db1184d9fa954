"""Which worker ran each task, from the history that Hadoop writes, and which worker is slow."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from clusterbench.base.paths import project_root
from clusterbench.workloads.terasort.workers import Stage, slow_workers, stages

WORKERS = {f"10.0.0.{number}": f"worker{number}" for number in range(1, 5)}
HISTORY = project_root() / "tests/fixtures/hadoop/written_by_hadoop.jhist"


def attempts(history: Path, jobs: str = "terasort job_1764034000000_0002") -> list[str]:
    program = project_root() / "include/hadoop/attempts.awk"
    done = subprocess.run(
        ["awk", "-v", f"jobs={jobs}", "-f", program, history], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_history_that_hadoop_s_own_classes_wrote_becomes_a_line_an_attempt() -> None:
    """Four maps, one that failed with a quoted "hostname" in its error, and a reduce."""
    assert attempts(HISTORY) == [
        "terasort MAP SUCCEEDED 10.0.0.1 1764034000000 1764034005000",
        "terasort MAP SUCCEEDED 10.0.0.2 1764034000010 1764034005010",
        "terasort MAP SUCCEEDED 10.0.0.3 1764034000020 1764034005020",
        "terasort MAP SUCCEEDED 10.0.0.4 1764034000030 1764034005030",
        "terasort MAP FAILED 10.0.0.1 1764034000040 1764034005040",
        "terasort REDUCE SUCCEEDED 10.0.0.1 1764034000000 1764034009000",
    ]


def test_job_that_nobody_named_keeps_its_number() -> None:
    assert {line.split()[0] for line in attempts(HISTORY, "teragen job_1_0001")} == {"1764034000000_0002"}


def maps(tasks: Iterable[tuple[int, float]], job: str = "terasort", kind: str = "MAP") -> list[str]:
    """(worker, seconds) of each."""
    return [f"{job} {kind} SUCCEEDED 10.0.0.{worker} 1000 {1000 + int(seconds * 1000)}" for worker, seconds in tasks]


def only(lines: list[str]) -> Stage:
    (stage,) = stages(lines, WORKERS)
    return stage


def test_tasks_and_seconds_are_counted_by_worker() -> None:
    stage = only([*maps([(1, 2), (1, 4), (2, 3), (3, 3), (4, 6)]), "terasort MAP KILLED 10.0.0.2 1000 9000"])
    assert (stage.name, stage.elapsed_s) == ("TeraSort, maps", 8.0)
    assert {name: (did.tasks, did.task_s, did.unsuccessful) for name, did in stage.work.items()} == {
        "worker1": (2, 6.0, 0), "worker2": (1, 3.0, 1), "worker3": (1, 3.0, 0), "worker4": (1, 6.0, 0),
    }  # fmt: skip
    assert (stage.slowest, stage.slowest_s, stage.median_s, stage.slowest_over_median) == ("worker4", 6.0, 3.0, 2.0)


def test_slow_worker_is_named_with_what_it_took() -> None:
    stage = only(maps([(1, 2), (2, 2), (3, 2), (4, 3.1)]))
    assert slow_workers([stage]) == "worker4 in TeraSort, maps: 3.1 s a task, the median worker 2.0 s"


def test_workers_that_take_less_than_half_as_long_again_are_not_slow() -> None:
    assert slow_workers([only(maps([(1, 2), (2, 2), (3, 2), (4, 2.9)]))]) == "none"


def test_worker_that_finished_few_is_named_where_the_others_have_many() -> None:
    of_each = [(worker, 2.0) for worker in (1, 2, 3) for _ in range(12)]
    stage = only(maps([*of_each, *[(4, 2.0)] * 7]))
    assert slow_workers([stage]) == "worker4 in TeraSort, maps: 7 tasks, the median worker 12"
    assert slow_workers([only(maps([*of_each, *[(4, 2.0)] * 8]))]) == "none"


def test_few_tasks_each_say_nothing() -> None:
    assert slow_workers([only(maps([(1, 2), (1, 2), (2, 2), (3, 2)]))]) == "none"


def test_worker_without_any_task_counts() -> None:
    stage = only(maps([(1, 2), (1, 2), (2, 2), (3, 2)]))
    assert (stage.fewest, stage.fewest_tasks, stage.work["worker4"].tasks) == ("worker4", 0, 0)


def test_stage_of_fewer_tasks_than_workers_is_left_out() -> None:
    assert stages(maps([(1, 2), (2, 2), (3, 2)]), WORKERS) == []
    assert stages(maps([(1, 2)] * 9, "teravalidate", "REDUCE"), WORKERS) == [], "one reduce is no work of workers"


def test_worker_that_the_platform_does_not_name_is_told_by_its_address() -> None:
    stage = only(maps([(1, 2), (2, 2), (3, 2), (4, 2), (9, 8)]))
    assert slow_workers([stage]).startswith("10.0.0.9 in TeraSort, maps: 8.0 s a task")


@pytest.mark.parametrize("count", [5, 7])
def test_five_are_named_the_others_counted(count: int) -> None:
    many = {f"10.0.1.{number}": f"vm{number}" for number in range(20)}
    lines = [
        f"teragen MAP SUCCEEDED {address} 0 {9000 if number < count else 1000}" for number, address in enumerate(many)
    ]
    told = slow_workers(stages(lines, many)).split("; ")
    assert (len(told), told[-1]) == ((6, "and 2 more") if count == 7 else (5, told[-1]))
