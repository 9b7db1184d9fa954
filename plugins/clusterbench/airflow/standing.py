"""Why a run stands still although Airflow is alive: no worker takes a task, a pool's slot is taken, somebody is away.

Pure but for what ``Standstill`` remembers: that a thing was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

WAITING = "waiting"
"""The XCom of a task that has waited for somebody, or does: what the UI, the pages and the follower tell of it."""
GOING_ON = ("queued", "running", "deferred", "up_for_reschedule")
"""States of a task that has its turn."""
LONG_S = 30.0
"""A task that has waited for longer than this does not only wait for its turn of the scheduler."""
UNHEARD_S = 60.0
"""Workers are heard of every few seconds."""
TURNS = {
    "up_for_reschedule": "waits for the cluster, which another run holds; its log names that run",
    "up_for_retry": "failed, and will be tried again; the reason is in its log",
}
"""States in which a task waits for its own next turn."""


@dataclass
class Standstill:
    """Says each reason once."""

    _said: set[tuple[Any, ...]] = field(default_factory=set)

    def outages(self, entries: Iterable[Mapping[str, Any]]) -> list[str]:
        """What tasks tell of who is away, or was (``WAITING``). ``entries``: XComs with their values."""
        return [str(entry["value"]["text"]) for entry in entries if self._is_new("outage", str(entry["value"]))]

    def queued(self, tasks: Sequence[Mapping[str, Any]], now: datetime) -> list[str]:
        """Tasks that were handed over, and that nobody runs."""
        return [
            f"{_name(task)} has been queued for {waited_s:.0f} s, and no worker has begun it: check that a worker is "
            "alive and not full ([core] parallelism, [celery] worker_concurrency). Then the run continues by itself"
            for task, waited_s in _waiting(tasks, "queued", "queued_when", now)
            if self._is_new("queued", *_key(task))
        ]

    def pools(
        self, tasks: Sequence[Mapping[str, Any]], holders: Mapping[str, Sequence[Mapping[str, Any]]], now: datetime
    ) -> list[str]:
        """Tasks that wait for a slot of a pool. ``holders``: pool -> task instances, of any run, that have one."""
        found = []
        for task, waited_s in _waiting_for_a_slot(tasks, now):
            held = [one for one in holders.get(task["pool"], ()) if one["dag_run_id"] != task["dag_run_id"]]
            if holders.get(task["pool"]) == [] and self._is_new("no pool", task["pool"]):
                found.append(
                    f"{_name(task)} has waited for {waited_s:.0f} s for a slot of pool {task['pool']!r}, and nobody "
                    "has one. A slow scheduler needs nothing but time; if this goes on, the pool may not exist: "
                    "'clusterbench pools' creates the pools of all clusters"
                )
            if held and self._is_new("pool", *_key(task)):
                by = ", ".join(
                    f"{one['dag_id']} {one['dag_run_id']} ({_name(one)}, {one['state']})" for one in held[:3]
                )
                found.append(
                    f"{_name(task)} has waited for {waited_s:.0f} s for a slot of pool {task['pool']!r}, held by {by}. "
                    "If that run is gone, mark its task as failed in the UI"
                )
        return found

    def unheard(self, tasks: Sequence[Mapping[str, Any]], now: datetime, timeout_s: float) -> list[str]:
        """Tasks that run, and whose worker has said nothing for long. ``timeout_s``: when Airflow gives such a task up.

        Asked with ``last_heartbeat_at`` of each, which Airflow's REST API does not report.
        """
        found = []
        for task in tasks:
            heard_at = task.get("last_heartbeat_at")
            if task["state"] != "running" or not heard_at:
                continue
            silent_s = (now - _moment(heard_at)).total_seconds()
            if silent_s > UNHEARD_S and self._is_new("unheard", *_key(task)):
                found.append(
                    f"{_name(task)} is running, but its worker has not been heard from for {silent_s:.0f} s: it may "
                    f"have died, or lost its network. After {timeout_s:.0f} s Airflow tries the task again. A running "
                    "driver continues, and is not started twice"
                )
        return found

    def tried_again(self, tasks: Sequence[Mapping[str, Any]]) -> list[str]:
        """Tasks that wait for a cluster that another run has, or for their next try."""
        return [
            f"{_name(task)} {TURNS[task['state']]}"
            for task in tasks
            if task["state"] in TURNS and self._is_new("again", *_key(task), task["state"])
        ]

    def _is_new(self, *key: Any) -> bool:
        if key in self._said:
            return False
        self._said.add(key)
        return True


@dataclass
class Unmoved:
    """For how long the tasks of a run have stood still: none runs, and none has come to another state."""

    since_s: float
    states: Mapping[str, Any] = field(default_factory=dict)

    def for_s(self, states: Mapping[str, Any], now_s: float) -> float:
        """``states``: task -> state as it is now; ``now_s``: of a clock that nobody sets."""
        if states != self.states or "running" in states.values():
            self.since_s, self.states = now_s, dict(states)
        return now_s - self.since_s


def pools_waited_for(tasks: Sequence[Mapping[str, Any]], now: datetime) -> set[str]:
    """Pools of whose slots tasks have waited for long."""
    return {str(task["pool"]) for task, _ in _waiting_for_a_slot(tasks, now)}


def _waiting_for_a_slot(tasks: Sequence[Mapping[str, Any]], now: datetime) -> Iterator[tuple[Mapping[str, Any], float]]:
    """Not those that wait for their turn: of a mapped task another one is going on, or has just ended."""
    going_on = {_step(task) for task in tasks if task["state"] in GOING_ON}
    ended: dict[tuple[Any, ...], datetime] = {}
    for task in tasks:
        if task.get("end_date"):
            at = _moment(task["end_date"])
            ended[_step(task)] = max(at, ended.get(_step(task), at))
    for task, waited_s in _waiting(tasks, "scheduled", "scheduled_when", now):
        last = ended.get(_step(task))
        since_s = waited_s if last is None else min(waited_s, (now - last).total_seconds())
        if _step(task) not in going_on and since_s > LONG_S:
            yield task, since_s


def _step(task: Mapping[str, Any]) -> tuple[Any, ...]:
    return task.get("dag_run_id"), task["task_id"]


def _waiting(
    tasks: Sequence[Mapping[str, Any]], state: str, since: str, now: datetime
) -> Iterator[tuple[Mapping[str, Any], float]]:
    for task in tasks:
        if task["state"] == state and task.get(since):
            waited_s = (now - _moment(task[since])).total_seconds()
            if waited_s > LONG_S:
                yield task, waited_s


def _moment(told: datetime | str) -> datetime:
    """The REST API tells it as text, the database as it is."""
    return told if isinstance(told, datetime) else datetime.fromisoformat(told)


def _key(task: Mapping[str, Any]) -> tuple[Any, ...]:
    return task["dag_run_id"], task["task_id"], task["map_index"], task.get("try_number")


def _name(task: Mapping[str, Any]) -> str:
    number = f" {task['map_index']}" if task["map_index"] >= 0 else ""
    return f"{task['task_id']}{number}"
