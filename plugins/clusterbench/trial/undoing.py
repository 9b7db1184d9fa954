"""Undoing what a trial has set and started: many parts at once, each whatever becomes of the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from clusterbench.base.errors import ClusterbenchError
from clusterbench.base.in_parallel import in_parallel

log = logging.getLogger(__name__)


def each_done(parts: Sequence[Callable[[], object]], of: str) -> None:
    """All of them. One that fails is told in the log, behind ``of``."""

    def one(part: Callable[[], object]) -> None:
        try:
            part()
        except ClusterbenchError as error:
            log.warning("%s: %s", of, error)

    in_parallel(one, parts)
