"""Undoing what a trial has set and started: many parts at once, each whatever becomes of the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from clusterbench.base.errors import ClusterbenchError

log = logging.getLogger(__name__)

AT_ONCE = 16


def each_done(parts: Sequence[Callable[[], object]], of: str) -> None:
    """All of them. One that fails is told in the log, behind ``of``."""

    def one(part: Callable[[], object]) -> None:
        try:
            part()
        except ClusterbenchError as error:
            log.warning("%s: %s", of, error)

    with ThreadPoolExecutor(AT_ONCE) as workers:
        list(workers.map(one, parts))
