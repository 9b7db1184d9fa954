"""What the database and its hosts did over a whole series: the levels of concurrency one after the other. Pure.

As the graphs of CPU usage and steal in paper 004, with pressure, disks and what sessions waited for beside them, for
the first series of each platform.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from clusterbench.base.records import TrialRecord
from clusterbench.base.words import ABSENT, number
from clusterbench.report.run.sweeps import SweepView
from clusterbench.results.durability import say_level
from clusterbench.results.gather import Gathered, workload_or_none

PANELS = {
    "CPU": "cpu_percent",
    "steal": "cpu_steal_percent",
    "CPU pressure": "pressure_cpu_percent",
    "I/O pressure": "pressure_io_percent",
    "read from disks": "disk_read_mb_per_s",
    "written to disks": "disk_write_mb_per_s",
}
"""Title -> series of a host's course: in percent, and of its disks in MB/s."""
OF_DISKS = ("read from disks", "written to disks")
SESSIONS = "sessions"
"""Title of the panel of the database's own, whose lines are what its sessions waited for; where they were looked at."""
WAITED_FOR = {
    "sessions_on_cpu": "CPU",
    "sessions_waiting_for_locks": "locks",
    "sessions_waiting_for_latches": "latches",
    "sessions_waiting_for_io": "disks",
    "sessions_waiting_for_clients": "clients",
    "sessions_waiting_for_others": "others",
}
POINTS_MIN = 5
"""Of one level, for a trial without phases: of fewer there is nothing to be seen."""
Line = tuple[list[float], list[float]]
"""Seconds, and values; NaN between levels."""
HOST_LINES_MAX = 5
"""More lines than these cannot be told apart: then the hosts' median and range are drawn."""


@dataclass(frozen=True)
class Part:
    """One level, from ``start_s`` to ``end_s`` of the series; what lies between trials is left out."""

    label: str
    words: str
    start_s: float
    end_s: float
    numbers: dict[str, str]


@dataclass(frozen=True)
class SeriesCourse:
    """One series of one sweep on one platform. ``lines``: panel -> host -> line; sessions: by what they waited for."""

    platform: str
    sweep: str
    factor: str
    repetition: int
    parts: list[Part]
    hosts: list[str]
    lines: dict[str, dict[str, Line]]
    left_out: list[str]
    """Levels that have no course, and why."""

    @property
    def is_of_all_hosts(self) -> bool:
        return len(self.hosts) > HOST_LINES_MAX

    @property
    def panels(self) -> list[str]:
        return list(self.lines)

    @staticmethod
    def unit(panel: str) -> str:
        return "" if panel == SESSIONS else "MB/s" if panel in OF_DISKS else "%"

    def title(self, panel: str) -> str:
        return "active sessions, by what they waited for" if panel == SESSIONS else f"{panel}, {self.unit(panel)}"

    def highest(self, panel: str) -> float:
        """Of all hosts and levels; of sessions all together."""
        series = [values for _, values in self.lines.get(panel, {}).values()]
        if panel == SESSIONS:
            series = [[sum(each) for each in zip(*series, strict=True)]]
        return max((value for values in series for value in values if not math.isnan(value)), default=0.0)

    @property
    def sentence(self) -> str:
        """What the figure shows, for those who hear it, and below it for everybody."""
        highest = {panel: number(round(self.highest(panel), 1)) for panel in self.lines}
        said = [f"{panel} at most {value} {self.unit(panel)}".rstrip() for panel, value in highest.items()]
        hosts = f"{len(self.hosts)} hosts" if len(self.hosts) > 1 else f"host {self.hosts[0]}"
        return f"{self.platform}, {hosts}, {', '.join(part.words for part in self.parts)}: {'; '.join(said)}."


def series_courses(run: Gathered, views: Sequence[SweepView]) -> dict[str, list[SeriesCourse]]:
    """Title of the sweep -> a series for each platform. Of sweeps by concurrency whose trials keep a course of it."""
    found: dict[str, list[SeriesCourse]] = {}
    for view in views:
        factors = view.workload.factors if view.workload else {}
        factor = next((name for name in view.levels if name in factors and factors[name].is_concurrency), view.x_factor)
        made = (_series(run, view, platform, factor) for platform in view.platforms) if factor else ()
        if courses := [course for course in made if course]:
            found[view.title] = courses
    return found


def _series(run: Gathered, view: SweepView, platform: str, factor: str) -> SeriesCourse | None:
    own = [r for r in run.trials if (r.trial.platform, r.trial.sweep) == (platform, view.name)]
    first = min((record.trial.repetition for record in own), default=0)
    records = sorted((r for r in own if r.trial.repetition == first), key=lambda r: _place(r, view, factor))
    drawn = [record for record in records if _courses(record)]
    if not any(_is_worth_drawing(record) for record in drawn):
        return None
    hosts = list(dict.fromkeys(host for record in drawn for host in _courses(record)))
    parts, starts = [], 0.0
    for record in drawn:
        length = _length_s(record)
        parts.append(_part(record, view, factor, starts, length))
        starts += length
    return SeriesCourse(
        platform=platform,
        sweep=view.name,
        factor=factor,
        repetition=first,
        parts=parts,
        hosts=hosts,
        lines=_panels(drawn, parts, hosts),
        left_out=[
            f"{_words(r, view, factor)} ({r.outcome.replace('_', ' ')}: {r.reason})" for r in records if r not in drawn
        ],
    )


def _is_worth_drawing(record: TrialRecord) -> bool:
    phases = record.evidence.get("phases") or []
    points = max(len(course["second"]) for course in _courses(record).values())
    return len(phases) == 1 or (not phases and points >= POINTS_MIN)


def _panels(records: Sequence[TrialRecord], parts: Sequence[Part], hosts: Sequence[str]) -> dict[str, dict[str, Line]]:
    """Without disks that did nothing, and what no host told of."""
    found = {title: _lines(records, parts, hosts, name) for title, name in PANELS.items()}
    for title in OF_DISKS:
        if not any(value > 0 for _, values in found[title].values() for value in values):
            del found[title]
    return {title: lines for title, lines in {**found, SESSIONS: _waits(records, parts)}.items() if lines}


def _place(record: TrialRecord, view: SweepView, factor: str) -> tuple[int, ...]:
    """Along the series, and within it by what else the sweep varies."""
    names = [*(name for name in view.varied if name != factor), factor]
    levels = [(view.levels[name], record.trial.levels.get(name)) for name in names]
    return tuple(known.index(level) if level in known else len(known) for known, level in levels)


def _courses(record: TrialRecord) -> dict[str, Mapping[str, list[float]]]:
    """By host; of a trial that could not be followed to its end, what its last seconds left as evidence."""
    kept = {host: seen["course"] for host, seen in record.telemetry.items() if (seen.get("course") or {}).get("second")}
    last = record.evidence.get("last_telemetry") or {}
    return kept or {host: _as_course(rows) for host, rows in last.items() if rows}


def _as_course(rows: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    names = [name for name in PANELS.values() if all(name in row for row in rows)]
    seconds = [row["time_s"] - rows[0]["time_s"] for row in rows]
    return {"second": seconds, **{name: [row[name] for row in rows] for name in names}}


def _is_cut_short(record: TrialRecord) -> bool:
    return not any(seen.get("course") for seen in record.telemetry.values())


def _length_s(record: TrialRecord) -> float:
    """Of the measured window; where a driver died, of what was collected."""
    last = max(course["second"][-1] for course in _courses(record).values())
    if record.window_start_s is None or record.window_end_s is None or _is_cut_short(record):
        return last
    return max(record.window_end_s - record.window_start_s, last)


def _words(record: TrialRecord, view: SweepView, factor: str) -> str:
    others = view.words(record.trial.levels, [name for name in view.varied if name != factor])
    said = say_level(workload_or_none(record.trial.workload), factor, record.trial.levels[factor])
    return f"{said}, {others}" if others else said


def _part(record: TrialRecord, view: SweepView, factor: str, start_s: float, length_s: float) -> Part:
    is_done = record.outcome == "completed"
    words, only = _words(record, view, factor), ", its last seconds alone" if _is_cut_short(record) else ""
    return Part(
        label=f"{record.trial.levels[factor]}{'' if is_done else ' x'}",
        words=words if is_done else f"{words} (x, {record.outcome.replace('_', ' ')}{only})",
        start_s=start_s,
        end_s=start_s + length_s,
        numbers={SESSIONS: _sessions(record), **{title: _over_hosts(record, name) for title, name in PANELS.items()}},
    )


def _over_hosts(record: TrialRecord, name: str) -> str:
    """The median host's mean, and the highest point of any."""
    series = [course[name] for course in _courses(record).values() if course.get(name)]
    if not series:
        return ABSENT
    mean, highest = median(fmean(values) for values in series), max(max(values) for values in series)
    return f"{number(round(mean, 1))}, up to {number(round(highest, 1))}"


def _sessions(record: TrialRecord) -> str:
    """Means, those of most sessions first."""
    means = {name: fmean(values) for name, values in _waited(record).items() if name != "second" and values}
    most = sorted(means, key=lambda name: -means[name])
    return ", ".join(f"{number(round(means[name], 2))} {WAITED_FOR[name]}" for name in most) or ABSENT


def _waited(record: TrialRecord) -> Mapping[str, list[float]]:
    course = (record.evidence.get("waits") or {}).get("course") or {}
    return {name: values for name, values in course.items() if name in WAITED_FOR or name == "second"}


def _waits(records: Sequence[TrialRecord], parts: Sequence[Part]) -> dict[str, Line]:
    """By what sessions waited for, all at the same times, so that they can stand on each other."""
    courses = [_waited(record) for record in records]
    names = [name for name in WAITED_FOR if any(name in course for course in courses)]
    found: dict[str, Line] = {WAITED_FOR[name]: ([], []) for name in names}
    for course, part in zip(courses, parts, strict=True):
        middles = course.get("second", [])
        for name in names if middles else []:
            seconds, values = found[WAITED_FOR[name]]
            seconds += [*(part.start_s + second for second in middles), part.end_s]
            values += [*(course.get(name) or [0.0] * len(middles)), math.nan]
    return found


def _lines(records: Sequence[TrialRecord], parts: Sequence[Part], hosts: Sequence[str], name: str) -> dict[str, Line]:
    """Each host's line over the whole series; a level without it is a gap, not a zero."""
    found: dict[str, Line] = {}
    for host in hosts:
        seconds: list[float] = []
        values: list[float] = []
        for record, part in zip(records, parts, strict=True):
            course = _courses(record).get(host, {})
            if course.get(name):
                seconds += [*(part.start_s + second for second in course["second"]), part.end_s]
                values += [*course[name], math.nan]
        if values:
            found[host] = (seconds, values)
    return found
