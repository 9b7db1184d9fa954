"""Who is away is waited for: for how long, and who hears of it. An outage is not a finding.

What clusterbench needs may be away for minutes in the middle of a run of days: the archive, hosts, the database.
Whoever meets that waits here and tries again, until it answers or patience ends. Tries of a task are for faults, so
none is used.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from clusterbench.base.errors import Awaited, AwayError
from clusterbench.base.words import duration, moment

log = logging.getLogger(__name__)

T = TypeVar("T")

CLUSTER: frozenset[Awaited] = frozenset({"hosts", "database"})
ARCHIVE: frozenset[Awaited] = frozenset({"archive"})

FIRST_PAUSE_S, LONGEST_PAUSE_S = 2.0, 30.0
"""Between two tries; each pause is twice the one before it."""
NEW_OUTAGE_S = 180.0
"""A try that went on for longer than this has met somebody: what it ended with is another outage."""
SAID_EVERY_S = 60.0


@dataclass(frozen=True)
class Outage:
    """Somebody was away, as a run met it."""

    awaited: Awaited
    said: str
    """The first error that told of it."""
    since: datetime
    until: datetime | None = None
    """When they were tried again with success, or when patience ended; None while it lasts."""
    is_over: bool = False

    @property
    def waited_s(self) -> float:
        return ((self.until or datetime.now(UTC)) - self.since).total_seconds()

    def __str__(self) -> str:
        """As a person reads it."""
        who = self.said.splitlines()[0]
        since = moment(self.since.isoformat(timespec="seconds"))
        if self.until is None:
            return f"waiting for the {self.awaited} since {since}: {who}"
        was = "were" if self.awaited == "hosts" else "was"
        vain = "" if self.is_over else " in vain"
        return f"the {self.awaited} {was} waited for{vain}, {duration(self.waited_s)} from {since}: {who}"

    def as_json(self) -> dict[str, Any]:
        until = self.until.isoformat(timespec="milliseconds") if self.until else None
        since = self.since.isoformat(timespec="milliseconds")
        return {"awaited": self.awaited, "said": self.said, "since": since, "until": until, "is_over": self.is_over}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outage:
        since, until = (datetime.fromisoformat(told) if told else None for told in (data["since"], data["until"]))
        assert since is not None
        return cls(data["awaited"], data["said"], since, until, data["is_over"])


class Patience:
    """How long each may be away in seconds, and who hears when one is and when it is back.

    Several threads may wait with it at once. Who was waited for in vain is not waited for again.
    """

    def __init__(self, limit_s: Callable[[Awaited], float], hear: Callable[[Outage], None]) -> None:
        self.limit_s, self.hear = limit_s, hear
        self.ended: list[Outage] = []
        """Those that were waited for, with success or in vain."""
        self._lasting: dict[Awaited, _Waiting] = {}
        """What several threads wait for together is one outage."""
        self._lock = threading.RLock()

    def was_in_vain(self, awaited: Awaited) -> bool:
        return any(each.awaited == awaited and not each.is_over for each in self.ended)

    def insist(self, attempt: Callable[[], T], awaited: frozenset[Awaited]) -> T:
        """What ``attempt`` returns, which is made again while it ends with one of ``awaited`` being away.

        Raises what the attempt raised: anything else at once, an AwayError when patience is over.
        """
        waiting: _Waiting | None = None
        while True:
            begun = time.monotonic()
            try:
                found = attempt()
            except AwayError as error:
                if error.awaited not in awaited or self.was_in_vain(error.awaited):
                    raise
                waiting = self._of(waiting, error, begun)
                if waiting.left_s <= 0:
                    self._end(waiting, is_over=False)
                    raise
                waiting.pause()
            except BaseException:
                if waiting:
                    self._end(waiting, is_over=True)
                raise
            else:
                if waiting:
                    self._end(waiting, is_over=True)
                return found

    def _of(self, waiting: _Waiting | None, error: AwayError, begun: float) -> _Waiting:
        """The outage that is waited out already, or a new one."""
        is_soon = error.may_be_our_doing or time.monotonic() - begun < NEW_OUTAGE_S
        is_same = waiting and waiting.outage.awaited == error.awaited and is_soon
        if waiting and not is_same:
            self._end(waiting, is_over=True)
        with self._lock:
            if error.awaited in self._lasting:
                return self._lasting[error.awaited]
            new = _Waiting(Outage(error.awaited, str(error), datetime.now(UTC)), self.limit_s(error.awaited))
            if new.limit_s:
                self._lasting[error.awaited] = new
                log.warning("%s. It is tried again for %s", new.outage, duration(new.limit_s))
                self.hear(new.outage)
            return new

    def _end(self, waiting: _Waiting, *, is_over: bool) -> None:
        """Of those that wait for it together, the first that gets an answer ends it."""
        with self._lock:
            if self._lasting.get(waiting.outage.awaited) is not waiting:
                return
            del self._lasting[waiting.outage.awaited]
            outage = replace(waiting.outage, until=datetime.now(UTC), is_over=is_over)
            log.warning("%s", outage)
            self.ended.append(outage)
            self.hear(outage)


class _Waiting:
    """An outage that lasts."""

    def __init__(self, outage: Outage, limit_s: float) -> None:
        self.outage, self.limit_s = outage, limit_s
        self.since_s = self.said_s = time.monotonic()
        self.next_pause_s = FIRST_PAUSE_S

    @property
    def left_s(self) -> float:
        """Of the limit."""
        return self.limit_s - (time.monotonic() - self.since_s)

    def pause(self) -> None:
        now = time.monotonic()
        if now - self.said_s >= SAID_EVERY_S:
            self.said_s = now
            log.warning("%s", self.outage)
        time.sleep(max(0.1, min(self.next_pause_s, self.left_s)))
        self.next_pause_s = min(2 * self.next_pause_s, LONGEST_PAUSE_S)


NONE = Patience(lambda _: 0.0, lambda _: None)
"""Of people at a command line: they see the error, and try again themselves."""
