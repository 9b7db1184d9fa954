"""Follow a run of Airflow's to its end, for people: one line per step, and what keeps the run from going on.

A scheduler that died is reported half a minute later where Airflow's threshold is that of the lab (``liveness``); a
greater threshold elsewhere is added to that.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

from clusterbench.airflow import standing
from clusterbench.airflow.api import AirflowApi
from clusterbench.airflow.liveness import Liveness
from clusterbench.airflow.standing import Standstill, pools_waited_for
from clusterbench.base.errors import AirflowApiError, AirflowAwayError
from clusterbench.report import addresses

POLL_S = 2.0
HEALTH_POLL_S = 4.0
AWAY_SAID_S = 10.0
"""An API server that is busy, or is started again, does not answer for a while; that is not worth a word."""
AWAY_LIMIT_S, REFUSED_LIMIT_S = 600.0, 120.0
"""How long an Airflow that is away, or refuses, is asked again."""
ENDED = ("success", "failed", "skipped", "upstream_failed", "removed")
WAITING = {"up_for_reschedule": "waiting", "up_for_retry": "failed, will be tried again"}
TAKE_CLUSTER = "take_cluster"
WORDS = {"success": "done", "skipped": "skipped", "failed": "FAILED", "upstream_failed": "not run", **WAITING}


Tasks = list[dict[str, Any]]
Started = Callable[[Tasks], Iterable[tuple[str, str]]]
"""From a run's task instances to the runs, DAG and id, that they have started and that are to be followed as well."""


def follow(
    api: AirflowApi, name: str, dag_run_id: str, out: TextIO = sys.stdout, started: Started = lambda _: ()
) -> str:
    """Print each step as it ends, trials with their count, until the run ends. Returns its state.

    Raises AirflowApiError when Airflow has not answered for ten minutes; the run itself may continue.
    """
    follower = _Follower(api, name, dag_run_id, out, started)
    while True:
        state = follower.look()
        if state in ("success", "failed"):
            return state
        time.sleep(POLL_S)


class _Follower:
    """What was said so far of one run, so that nothing is said twice."""

    def __init__(self, api: AirflowApi, name: str, dag_run_id: str, out: TextIO, started: Started) -> None:
        self.api, self.name, self.dag_run_id, self.out, self.started = api, name, dag_run_id, out, started
        self.begun = time.monotonic()
        self.seen: set[tuple[str, str, int, str]] = set()
        self.over: set[tuple[str, str]] = set()
        self.liveness = Liveness(api.url)
        self.standstill = Standstill()
        self.health_asked = self.begun
        self.away_since: float | None = None
        self.away_said = False

    def look(self) -> str:
        """Ask once, and say what is new. Returns the run's state; "" where Airflow did not answer."""
        try:
            state = str(self.api.dag_run(self.name, self.dag_run_id)["state"])
            tasks = self.api.task_instances(self.name, self.dag_run_id)
            within = [(*run, self.api.task_instances(*run)) for run in self.started(tasks) if run not in self.over]
        except AirflowApiError as error:
            self._is_away(error)
            return ""
        self._is_back()
        self.over |= {(name, run_id) for name, run_id, found in within if _is_over(found)}
        is_due = time.monotonic() - self.health_asked >= HEALTH_POLL_S and state not in ("success", "failed")
        if is_due or self.liveness.is_any_dead:  # while one is dead always: its return is said before what it does
            self._say_liveness()
        if is_due:
            for name, run_id, found in [*within, (self.name, self.dag_run_id, tasks)]:
                self._say_standstill(name, run_id, found)
        for name, run_id, found in [*within, (self.name, self.dag_run_id, tasks)]:
            self._say_steps(name, run_id, found)
        return state

    def _say_steps(self, name: str, run_id: str, found: Tasks) -> None:
        for task in sorted(found, key=_end):
            key = (name, task["task_id"], task["map_index"], task["state"])
            if task["state"] in (*ENDED, *WAITING) and key not in self.seen and not _was_not_chosen(task):
                self.seen.add(key)
                prefix = "" if name == self.name else f"{name}, "
                self._say(_line(task, found, prefix))
                if task["state"] in ("failed", *WAITING):
                    log = addresses.task(name, run_id, task["task_id"], task["map_index"])
                    print(f"         its log: {self.api.url}{log}", file=self.out, flush=True)

    def _say_liveness(self) -> None:
        """Of scheduler and DAG processor, without which a run stands still and nothing in its steps says so."""
        self.health_asked = time.monotonic()
        try:
            health = self.api.health()
        except AirflowApiError:
            return  # a proxy may keep it to itself; whether Airflow answers at all is seen by the next look
        for line in self.liveness.changes(health, datetime.now(UTC)):
            self._say(f" {line}")

    def _say_standstill(self, name: str, run_id: str, tasks: Tasks) -> None:
        """Of a run whose tasks wait: for whom."""
        if _is_over(tasks):
            return
        now = datetime.now(UTC)
        try:
            entries = self.api.xcoms(name, run_id, standing.WAITING)
            holders = {pool: self.api.holders(pool) for pool in pools_waited_for(tasks, now)}
        except AirflowApiError:
            return  # as above
        said = [*self.standstill.outages(entries), *self.standstill.queued(tasks, now)]
        prefix = "" if name == self.name else f"{name}: "
        for line in [*said, *self.standstill.pools(tasks, holders, now)]:
            self._say(f" {prefix}{line}")

    def _is_away(self, error: AirflowApiError) -> None:
        if self.away_since is None:
            self.away_since = time.monotonic()
        away_s = time.monotonic() - self.away_since
        limit_s = AWAY_LIMIT_S if isinstance(error, AirflowAwayError) else REFUSED_LIMIT_S
        if away_s > limit_s:
            raise error
        if away_s >= AWAY_SAID_S and not self.away_said:
            self.away_said = True
            self._say(
                f" no answer for {away_s:.0f} s; asking again for {limit_s / 60:.0f} minutes. The run continues "
                f"without this command. {error}"
            )

    def _is_back(self) -> None:
        if self.away_said:
            self._say(f" Airflow at {self.api.url} answers again")
        self.away_since, self.away_said = None, False

    def _say(self, line: str) -> None:
        elapsed_s = int(time.monotonic() - self.begun)
        print(f"[{elapsed_s // 60:3d}:{elapsed_s % 60:02d}]{line}", file=self.out, flush=True)


def _is_over(tasks: Tasks) -> bool:
    return bool(tasks) and all(task["state"] in ENDED for task in tasks)


def _was_not_chosen(task: Mapping[str, Any]) -> bool:
    """A step of a platform that the run leaves out: there are more of them than of those that ran."""
    return task["state"] == "skipped" and task["map_index"] < 0 and "." in str(task["task_id"])


def _end(task: Mapping[str, Any]) -> str:
    return str(task["end_date"] or "")


def _line(task: dict[str, Any], tasks: Tasks, prefix: str) -> str:
    name = str(task["task_id"])
    word = WORDS.get(task["state"], task["state"])
    if task["state"] == "up_for_reschedule":
        is_for_cluster = task["task_id"].rsplit(".", 1)[-1] == TAKE_CLUSTER
        word += ", another run holds the cluster" if is_for_cluster else "; its log names the reason"
    count = ""
    if task["map_index"] >= 0:
        siblings = [other for other in tasks if other["task_id"] == name]
        ended = sorted((other for other in siblings if other["state"] in ENDED), key=_end)
        place = ended.index(task) + 1 if task in ended else len(ended)  # several may have ended between two looks
        count = f" {place}/{len(siblings)}"
        name = f"{name.rsplit('.', 1)[0]}: {task.get('rendered_map_index') or task['map_index']}"
    return f"{count} {prefix}{name}: {word}"
