"""The queue of YARN that jobs are submitted to, from what the ResourceManager tells of its scheduler. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusterbench.base.errors import suggest


def queue_facts(scheduler: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What is known of the queue of that name, or path; ``problem`` where it is not there or takes no jobs.

    ``scheduler``: ``schedulerInfo`` of ``/ws/v1/cluster/scheduler``, of a capacity or a fair scheduler.
    """
    known = dict(_leaves(scheduler, ""))
    found = [path for path in known if path == name or path.rpartition(".")[2] == name]
    if len(found) > 1:
        return {"problem": f"queue {name!r}: there are several: {', '.join(found)}; write its path"}
    if not found:
        return {"problem": f"there is no queue {name!r}{suggest(name, sorted(known))}"}
    queue = known[found[0]]
    state = str(queue.get("state") or "RUNNING")
    facts = {
        "path": found[0],
        "state": state,
        "capacity_percent": queue.get("absoluteCapacity"),
        "capacity_max_percent": queue.get("absoluteMaxCapacity"),
        "memory_max_mb": (queue.get("maxResources") or {}).get("memory"),
    }
    problem = {} if state == "RUNNING" else {"problem": f"queue {found[0]!r} is {state} and takes no jobs"}
    return {key: value for key, value in facts.items() if value is not None} | problem


def _leaves(queue: Mapping[str, Any], above: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Path -> queue, of those that have none below them. The fair scheduler's names are paths already."""
    queue = queue.get("rootQueue") or queue
    name = str(queue.get("queueName") or "")
    path = name if (name.startswith(above) and "." in name) or not above else f"{above}.{name}"
    below = (queue.get("queues") or queue.get("childQueues") or {}).get("queue") or []
    for each in below:
        yield from _leaves(each, path)
    if not below:
        yield path, queue
