"""What the drivers' sessions waited for while a trial was measured: looked at ten times a second, by one more session.

A look is the database's own view of its sessions (``pg_stat_activity``): one that is active and waits for nothing is on
a processor, or in line for one. Shares are means over all looks in the window, so they hold however long a wait is.
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

FILE = "telemetry.watch.gz"
ERRORS = "telemetry.watch_errors"
EVERY_S = 0.1
LONGER_S = 600
"""It ends by itself so much later than the driver may take, if the worker is lost."""
LOOK, HELD = "look", "held"
NAMED_MAX = 20
"""Waits that a record keeps: those of the most sessions."""
DIGITS = 4


def watching(engine: Engine, platform: Platform, trial: Trial) -> str:
    """Bash for the driver's host, after the collector was started; empty where the platform's file wants none of it."""
    watch = engine.watch() if platform.watch_sessions and hasattr(engine, "watch") else None
    if watch is None:
        return ""
    return script("drivers/programs") + script(
        "hosts/watch_start",
        names=list(watch.secrets),
        contents=list(watch.secrets.values()),
        where=watch.where,
        query=watch.query,
        every_s=EVERY_S,
        limit_s=trial.timeout_s + LONGER_S,
    )


def read(telemetry: Path, reading: Reading, *, ahead_s: float = 0.0) -> tuple[dict[str, Any], dict[str, float]]:
    """Evidence, and measurements: sessions by what they waited for, in the mean of all looks in the window.

    Both are empty where nothing was looked at; then evidence says why, if anybody knows.
    ``ahead_s``: the server's clock less that of the driver's host, which tells the window.
    """
    looks, by_event, held = 0, Counter[tuple[str, str, str]](), Counter[tuple[str, str]]()
    start_s, end_s = reading.window_start_s, reading.window_end_s
    course = _Course.of_window(start_s or 0.0, end_s or 0.0)
    if start_s is not None and end_s is not None:
        for path in telemetry.glob(f"*/{FILE}"):
            for time_s, kind, event, statement, sessions in _lines(path):
                if start_s <= time_s - ahead_s <= end_s:
                    looks += kind == LOOK
                    if kind == HELD:
                        held[event, statement] += sessions
                    else:
                        by_event[kind, event, statement] += sessions
                        course.add(time_s - ahead_s, kind, sessions)
    if not looks:
        return _why_none(telemetry), {}
    by_event = Counter({key: count for key, count in by_event.items() if count})
    waits = [
        {"type": kind, "event": event, "statement": statement, "sessions": round(count / looks, DIGITS)}
        for (kind, event, statement), count in by_event.most_common(NAMED_MAX)
    ]
    by_type: Counter[str] = Counter()
    for (kind, *_), count in by_event.items():
        by_type[WAITS.get(kind, WAITS[""])] += count
    measured = {name: by_type[name] / looks for name in dict.fromkeys(WAITS.values())}
    holders = [
        {"application": application, "statement": statement, "looks": seen}
        for (application, statement), seen in held.most_common(NAMED_MAX)
    ]
    said = {"looks": looks, "waits": waits, **({"held_by": holders} if holders else {})}
    return said | {"course": course.means()}, measured


@dataclass(frozen=True)
class _Course:
    """Sessions by what they waited for, in spans of the window."""

    times_s: list[float]
    looks: Counter[int] = field(default_factory=Counter)
    sessions: Counter[tuple[str, int]] = field(default_factory=Counter)

    @classmethod
    def of_window(cls, start_s: float, end_s: float) -> _Course:
        return cls(spans_of_window(start_s, end_s))

    def add(self, time_s: float, kind: str, sessions: int) -> None:
        span = min(bisect_right(self.times_s, time_s), len(self.times_s) - 1) - 1
        if kind == LOOK:
            self.looks[span] += 1
        else:
            self.sessions[WAITS.get(kind, WAITS[""]), span] += sessions

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
    return {"problem": f"sessions were not looked at: {said.splitlines()[0]}"} if said else {}
