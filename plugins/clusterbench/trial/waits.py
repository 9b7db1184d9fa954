"""What the drivers' sessions waited for while a trial was measured: looked at ten times a second, by one more session.

A look is the database's own view of its sessions (``pg_stat_activity``): one that is active and waits for nothing is on
a processor, or in line for one. Shares are means over all looks in the window, so they hold however long a wait is.
Greenplum 6 is looked at once a second, and tells work from waiting for locks alone; with its work files.
"""

from __future__ import annotations

import gzip
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clusterbench.base.database_work import WAITS
from clusterbench.base.measurements import Reading
from clusterbench.base.records import Trial
from clusterbench.base.scripts import script
from clusterbench.engines import Engine
from clusterbench.hosts.telemetry import spans_of_window
from clusterbench.spec import Platform
from clusterbench.trial.workfiles import WorkFiles

FILE = "telemetry.watch.gz"
ERRORS = "telemetry.watch_errors"
LONGER_S = 600
"""It ends by itself so much later than the driver may take, if the worker is lost."""
LOOK, HELD, WORK_FILES = "look", "held", "workfiles"
NOT_TOLD = "-"
"""In the line of a look, where it can tell every type of ``WAITS`` but ``WORK``; else the types are named there."""
WORK = "Work"
NAMED_MAX = 20
"""Waits that a record keeps: those of the most sessions."""
DIGITS = 4


def watching(engine: Engine, platform: Platform, trial: Trial) -> str:
    """Bash for the driver's host, after the collector was started; empty where the platform's file wants none of it."""
    if not (platform.watch_sessions and hasattr(engine, "watch")):
        return ""
    watch = engine.watch()
    return script("drivers/programs") + script(
        "hosts/watch_start",
        names=list(watch.secrets),
        contents=list(watch.secrets.values()),
        where=watch.where,
        query=watch.query,
        every_s=watch.every_s,
        limit_s=trial.timeout_s + LONGER_S,
    )


def read(telemetry: Path, reading: Reading, *, ahead_s: float = 0.0) -> tuple[dict[str, Any], dict[str, float]]:
    """Evidence, and measurements: sessions by what they waited for, in the mean of all looks in the window.

    Both are empty where nothing was looked at; then evidence says why, if anybody knows.
    ``ahead_s``: the server's clock less that of the driver's host, which tells the window.
    """
    start_s, end_s = reading.window_start_s, reading.window_end_s
    if start_s is None or end_s is None:
        return _why_none(telemetry), {}
    seen = _Seen(_Course.of_window(start_s, end_s))
    for path in telemetry.glob(f"*/{FILE}"):
        for time_s, kind, event, statement, n in _lines(path):
            if start_s <= time_s - ahead_s <= end_s:
                seen.add(time_s - ahead_s, kind, event, statement, n)
    return (seen.evidence(), seen.measured()) if seen.looks else (_why_none(telemetry), {})


@dataclass
class _Seen:
    """What all looks in the window have found; numbers are sums over them."""

    course: _Course
    looks: int = 0
    types: str = NOT_TOLD
    sessions: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Type, event and statement -> sessions."""
    held: Counter[tuple[str, str]] = field(default_factory=Counter)
    files: WorkFiles = field(default_factory=WorkFiles)

    def add(self, time_s: float, kind: str, event: str, statement: str, n: int) -> None:
        if kind == LOOK:
            self.looks, self.types = self.looks + 1, event
            self.course.look(time_s)
        elif kind == HELD:
            self.held[event, statement] += n
        elif kind == WORK_FILES:
            self.files.add(time_s, event, statement, n)
        else:
            self.sessions[kind, event, statement] += n
            self.course.add(time_s, kind, n)

    def evidence(self) -> dict[str, Any]:
        waits = [
            {"type": kind, "event": event, "statement": statement, "sessions": round(count / self.looks, DIGITS)}
            for (kind, event, statement), count in self.sessions.most_common(NAMED_MAX)
        ]
        holders = [
            {"application": application, "statement": statement, "looks": seen}
            for (application, statement), seen in self.held.most_common(NAMED_MAX)
        ]
        on_disk = self.files.told(self.looks)
        return {
            "looks": self.looks,
            "waits": waits,
            **({"held_by": holders} if holders else {}),
            **({"work_files": on_disk} if on_disk else {}),
            "course": self.course.means(),
        }

    def measured(self) -> dict[str, float]:
        told = [kind for kind in WAITS if kind != WORK] if self.types == NOT_TOLD else self.types.split(",")
        found = dict.fromkeys((WAITS.get(kind, WAITS[""]) for kind in told), 0.0)
        for (kind, *_), count in self.sessions.items():
            name = WAITS.get(kind, WAITS[""])
            found[name] = found.get(name, 0.0) + count / self.looks
        return found


@dataclass(frozen=True)
class _Course:
    """Sessions by what they waited for, in spans of the window."""

    times_s: list[float]
    looks: Counter[int] = field(default_factory=Counter)
    sessions: Counter[tuple[str, int]] = field(default_factory=Counter)

    @classmethod
    def of_window(cls, start_s: float, end_s: float) -> _Course:
        return cls(spans_of_window(start_s, end_s))

    def look(self, time_s: float) -> None:
        self.looks[self._span(time_s)] += 1

    def add(self, time_s: float, kind: str, sessions: int) -> None:
        self.sessions[WAITS.get(kind, WAITS[""]), self._span(time_s)] += sessions

    def _span(self, time_s: float) -> int:
        return min(bisect_right(self.times_s, time_s), len(self.times_s) - 1) - 1

    def means(self) -> dict[str, list[float]]:
        """The ``second`` of each span's middle, and by measurement its mean of sessions; only spans with looks."""
        spans = [span for span in range(len(self.times_s) - 1) if self.looks[span]]
        names = [name for name in dict.fromkeys(WAITS.values()) if any(self.sessions[name, span] for span in spans)]
        middles = [(self.times_s[span] + self.times_s[span + 1]) / 2 - self.times_s[0] for span in spans]
        of_names = {name: [round(self.sessions[name, n] / self.looks[n], 2) for n in spans] for name in names}
        return {"second": [round(middle, 1) for middle in middles], **of_names}


def _lines(path: Path) -> Iterator[tuple[float, str, str, str, int]]:
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as lines:
        for line in lines:
            words = line.rstrip("\n").split("\t")
            if len(words) == 5 and words[4].isdigit():  # the last may have been cut short
                yield float(words[0]), words[1], words[2], words[3], int(words[4])


def _why_none(telemetry: Path) -> dict[str, Any]:
    said = "".join(path.read_text(errors="replace") for path in telemetry.glob(f"*/{ERRORS}")).strip()
    return {"problem": f"sessions were not watched: {said.splitlines()[0]}"} if said else {}
