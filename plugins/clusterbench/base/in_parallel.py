"""Many things at once that wait for others most of the time: objects of an archive, hosts, engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

AT_ONCE = 16
"""A run has thousands of small objects, and a host may have a hundred neighbours; each costs at least a round trip."""


def in_parallel(act: Callable[[T], R], things: Iterable[T]) -> list[R]:
    """``act`` on every thing, up to ``AT_ONCE`` of them together, results in order; the first error ends it."""
    with ThreadPoolExecutor(AT_ONCE) as workers:
        return list(workers.map(act, things))
