"""Whether the Airflow whose run is followed is alive: the messages when a part dies, and when it is back.

Airflow's own health says that a scheduler is dead when its last heartbeat is older than
``[scheduler] scheduler_health_check_threshold``: 20 s in the lab and in the containers, 30 s where nobody has set it.
A scheduler that was stopped in order is reported at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clusterbench.base.words import moment

START_OF_LAB = "In the lab, start it again with 'make up' or 'clusterbench lab up'"
HEALTHY = "healthy"


@dataclass(frozen=True)
class Part:
    """A part of Airflow as its health calls it, and what does not happen without it."""

    key: str
    name: str
    without_it: str


PARTS = (
    Part("scheduler", "scheduler", "no step starts until one is"),
    Part("triggerer", "triggerer", "no deferred task continues, such as a question about a baseline, until one is"),
    Part("dag_processor", "DAG processor", "DAGs that are new or were changed are not read until one is"),
)


@dataclass
class Liveness:
    """Says each change once. ``url``: of the Airflow that is followed; none for the one that says it itself."""

    url: str = ""
    _dead: set[str] = field(default_factory=set)

    @property
    def is_any_dead(self) -> bool:
        """A part was dead when it was last looked at."""
        return bool(self._dead)

    def changes(self, health: Mapping[str, Any], now: datetime) -> list[str]:
        """Sentences about what died or came back since the last call. ``health``: the answer of /monitor/health."""
        return [line for part in _known(health) if (line := self._change(part, health[part.key], now))]

    def _change(self, part: Part, told: Mapping[str, Any], now: datetime) -> str:
        is_dead, was_dead = told["status"] != HEALTHY, part.key in self._dead
        if is_dead == was_dead:
            return ""
        if was_dead:
            self._dead.remove(part.key)
            return f"a {part.name} is alive again; the run continues"
        self._dead.add(part.key)
        where = f"Airflow at {self.url}" if self.url else "this Airflow"
        return (
            f"no {part.name} is alive in {where}: {_last_heartbeat(part, told, now)}; {part.without_it}. "
            f"{START_OF_LAB}; elsewhere start Airflow's {part.name}. Then the run continues by itself"
        )


def _known(health: Mapping[str, Any]) -> Iterator[Part]:
    """Parts that the health can tell of: nothing of any of them while Airflow's own database is away."""
    if (health.get("metadatabase") or {}).get("status") == HEALTHY:
        yield from (part for part in PARTS if part.key in health)


def _last_heartbeat(part: Part, told: Mapping[str, Any], now: datetime) -> str:
    heartbeat = told.get(f"latest_{part.key}_heartbeat")
    if not heartbeat:
        return "there never was one"
    ago_s = (now - datetime.fromisoformat(heartbeat)).total_seconds()
    return f"its last heartbeat was at {moment(heartbeat)}, {max(0, ago_s):.0f} s ago"
