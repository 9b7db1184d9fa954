"""What each worker did in a suite: tasks and their seconds, and which worker was the slowest. Pure.

Paper 002, "Best Practices" (p. 19): "Check individual hosts and VMs regularly for amount of work done (for example, the
number of tasks finished per unit time). Inconsistencies may indicate hardware problems (especially disk drives) or
variations in machine configurations."
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

STAGES = {
    ("teragen", "MAP"): "TeraGen, maps",
    ("terasort", "MAP"): "TeraSort, maps",
    ("terasort", "REDUCE"): "TeraSort, reduces",
    ("teravalidate", "MAP"): "TeraValidate, maps",
}
"""TeraValidate's only reduce is no work of workers that could be compared."""
SPEED_SHARE_MIN = 2 / 3
"""Below this share of the median worker's speed, a worker is slow: its tasks take half as long again."""
TASKS_SHARE_MIN = 2 / 3
"""Likewise of the median worker's number of tasks,"""
TASKS_JUDGED_MIN = 10
"""where that has so many. With a few tasks each, one more or less is chance."""
NAMED_MAX = 5
"""Slow workers that a warning names."""


@dataclass
class Work:
    """Of one worker in one stage: tasks that succeeded with their seconds, and attempts that did not."""

    tasks: int = 0
    task_s: float = 0.0
    unsuccessful: int = 0

    @property
    def mean_s(self) -> float | None:
        """A task's, None of a worker that finished none."""
        return self.task_s / self.tasks if self.tasks else None


@dataclass(frozen=True)
class Stage:
    """One kind of task of one job over all workers. Seconds are those of a task, mean over a worker's."""

    name: str
    elapsed_s: float
    """From the first begin of a task to the last end."""
    work: Mapping[str, Work]
    median_s: float
    median_tasks: float
    slowest: str
    slowest_s: float
    fewest: str
    fewest_tasks: int

    @property
    def slowest_over_median(self) -> float:
        return self.slowest_s / self.median_s

    @property
    def slow(self) -> list[str]:
        """Workers that did less than they should have, in words, the slowest first."""
        by_speed = sorted(self._shares(), key=lambda each: each[1])
        return [f"{worker} in {self.name}: {said}" for worker, _, said in by_speed]

    def _shares(self) -> Iterable[tuple[str, float, str]]:
        for worker, did in self.work.items():
            if did.mean_s is not None and self.median_s < SPEED_SHARE_MIN * did.mean_s:
                share = self.median_s / did.mean_s
                yield worker, share, f"{did.mean_s:.1f} s a task, the median worker {self.median_s:.1f} s"
            elif self.median_tasks >= TASKS_JUDGED_MIN and did.tasks < TASKS_SHARE_MIN * self.median_tasks:
                share = did.tasks / self.median_tasks
                yield worker, share, f"{did.tasks} tasks, the median worker {self.median_tasks:g}"

    def as_json(self) -> dict[str, Any]:
        """For the record: every worker as [tasks, task seconds, unsuccessful attempts]."""
        return {
            "stage": self.name,
            "elapsed_s": round(self.elapsed_s, 3),
            "median_task_s": round(self.median_s, 3),
            "median_tasks": self.median_tasks,
            "slowest": self.slowest,
            "slowest_task_s": round(self.slowest_s, 3),
            "fewest": self.fewest,
            "fewest_tasks": self.fewest_tasks,
            "workers": {name: [w.tasks, round(w.task_s, 3), w.unsuccessful] for name, w in self.work.items()},
        }


@dataclass
class _Counted:
    work: dict[str, Work]
    begun_ms: int
    ended_ms: int = 0


def stages(lines: Iterable[str], workers: Mapping[str, str]) -> list[Stage]:
    """From the lines that ``attempts.awk`` writes; what is held is of the size of the cluster, not of the job.

    ``workers``: address -> name of each; one without any task counts as such. A stage of fewer tasks than workers is
    left out: which of them had none says nothing of them.
    """
    counted: dict[tuple[str, str], _Counted] = {}
    for line in lines:
        job, kind, how, address, begun, ended = line.split()
        if (job, kind) not in STAGES:
            continue
        begun_ms, ended_ms = int(begun), int(ended)
        stage = counted.setdefault((job, kind), _Counted({name: Work() for name in workers.values()}, begun_ms))
        did = stage.work.setdefault(workers.get(address, address), Work())
        stage.begun_ms, stage.ended_ms = min(stage.begun_ms, begun_ms), max(stage.ended_ms, ended_ms)
        if how == "SUCCEEDED":
            did.tasks += 1
            did.task_s += (ended_ms - begun_ms) / 1000
        else:
            did.unsuccessful += 1
    made = (_stage(title, counted[key]) for key, title in STAGES.items() if key in counted)
    return [stage for stage in made if stage is not None]


def _stage(name: str, counted: _Counted) -> Stage | None:
    means = {worker: did.mean_s for worker, did in counted.work.items() if did.mean_s is not None}
    if sum(did.tasks for did in counted.work.values()) < len(counted.work):
        return None
    middle = median(means.values())
    if not middle:
        return None
    slowest = max(means, key=lambda worker: means[worker])
    fewest = min(counted.work, key=lambda worker: counted.work[worker].tasks)
    return Stage(
        name=name,
        elapsed_s=(counted.ended_ms - counted.begun_ms) / 1000,
        work=counted.work,
        median_s=middle,
        median_tasks=median(did.tasks for did in counted.work.values()),
        slowest=slowest,
        slowest_s=means[slowest],
        fewest=fewest,
        fewest_tasks=counted.work[fewest].tasks,
    )


def slow_workers(found: Sequence[Stage]) -> str:
    """All stages' in one line, "none" where there is none: what the suite ``work_by_worker`` looks at."""
    named = [said for stage in found for said in stage.slow]
    more = [f"and {len(named) - NAMED_MAX} more"] if len(named) > NAMED_MAX else []
    return "; ".join([*named[:NAMED_MAX], *more]) or "none"
