"""What the hosts did during a trial, once a second: start collecting on each, stop it, fetch and read it."""

from __future__ import annotations

import gzip
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any, BinaryIO

from clusterbench.base.measurements import Phase, Reading
from clusterbench.base.scripts import script
from clusterbench.hosts import cpu_limits, kernel_counters, notes, profile, sysstat, telemetry_window
from clusterbench.hosts.fleet import Fleet
from clusterbench.hosts.telemetry_window import POINTS_MAX, SHORTEST_S, Figures, Point, Sample

SETTLE_S = 1.1
"""From the start of telemetry to the start of the driver: one whole sample, which shows whether the host was quiet."""
RAW_FILE = "telemetry.sample.gz"
RAW_FILE_OF_SYSSTAT = "telemetry.json.gz"
"""Of archives made before there was a collector of clusterbench's own."""
POINTS_OF_ALL_MAX = 1200
"""Points of all courses of a trial together, so that records stay small with many hosts."""
POINTS_OF_WINDOW_MAX = 120
"""Of a trial without phases, of which a run may have hundreds."""
DRAWN_HOSTS_MAX = 16
HOSTS_FOR_PROCESSES = 32
"""Fewer hosts are read by one process, before others would have started."""
PROCESSES_MAX = 8
"""That read hosts: each takes some 60 MB."""
CLOCKS_AGREE_S = 0.1
"""Clocks that differ by less than this part of a sample are taken for the same."""
COMPRESS_S = 600.0
"""So long may a host take to compress what was collected in a window of hours. One that is lost is found lost before,
by SSH's keepalives."""
READ_BYTES = 1 << 16
GZIP = 31
"""Of zlib: the form that gzip writes."""
LONGEST_S = 7 * 24 * 3600
"""The collector ends by itself after this, whatever happens to the worker."""


def start(fleet: Fleet, name: str, *beside: Mapping[str, str]) -> None:
    """Start collecting on every host, into the directory ``name`` below its work folder.

    A host that already collects there is left as it is. ``beside``: host -> bash that runs there then, in that folder.
    """
    scripts = {
        host: _functions()
        + script("hosts/telemetry_start", directory=directory, seconds=LONGEST_S)
        + "".join(each.get(host, "") for each in beside)
        for host, directory in _directories(fleet, name).items()
    }
    fleet.run_each(scripts)


def _functions() -> str:
    return script("hosts/cgroups") + script("hosts/telemetry_sample", proc="/proc", sys="/sys")


def clocks_ahead(fleet: Fleet, host: str) -> dict[str, float]:
    """The clocks that are off that of ``host``, whose time a trial's results have: each less that one, in seconds."""
    offsets = {each: clock.offset_s for each, clock in fleet.clocks(fleet.names).items()}
    ahead = {each: round(offset - offsets[host], 3) for each, offset in offsets.items()}
    return {each: seconds for each, seconds in ahead.items() if abs(seconds) >= CLOCKS_AGREE_S}


def clocks_meanwhile(before: Mapping[str, float], after: Mapping[str, float] | None) -> dict[str, float]:
    """How far ahead they were in between, in the mean: a clock that drifts, or is slewed, is off by another time at the
    end. ``after`` is None where nobody could be asked any more."""
    if after is None:
        return dict(before)
    return {host: (before.get(host, 0.0) + after.get(host, 0.0)) / 2 for host in dict.fromkeys([*before, *after])}


def stop(fleet: Fleet, name: str) -> dict[str, str]:
    """End collecting on every host and compress what was collected there, after the measured window.

    Returns, of a host where that failed, why: one that died meanwhile does not cost the others' telemetry.
    """
    scripts = {
        host: _functions()
        + script("hosts/telemetry_stop", directory=directory)
        + script("hosts/watch_stop")
        + profile.stop()
        for host, directory in _directories(fleet, name).items()
    }
    answers, failures = fleet.try_each(scripts, timeout_s=COMPRESS_S)
    for host, answer in answers.items():
        if answer.exit_status:
            failures[host] = f"host {fleet.addresses[host]}: its telemetry could not be read: {answer.error.strip()}"
    return failures


def collect(fleet: Fleet, name: str, into: Path, failed: Mapping[str, str]) -> list[str]:
    """Fetch every host's telemetry to the folder ``into/<host>``, but of those that ``stop`` says have none.

    Returns what is missing, one line a host.
    """
    directories = _directories(fleet, name)
    places = {host: (directories[host], into / host) for host in fleet.names if host not in failed}
    missing = fleet.fetch_each(places, [RAW_FILE, "telemetry.*"])
    absent = [host for host in places if host not in missing and not (into / host / RAW_FILE).exists()]
    return [*failed.values(), *missing.values(), *(f"host {host!r}: no telemetry was collected" for host in absent)]


def stop_and_collect(fleet: Fleet, name: str, into: Path) -> list[str]:
    """Both; returns what is missing, as ``collect``."""
    return collect(fleet, name, into, stop(fleet, name))


def clean_up(fleet: Fleet, name: str) -> None:
    """End collectors that a lost worker left behind below ``name``, and remove what was collected and archived."""
    scripts = {
        host: script("hosts/telemetry_clean_up", directory=directory)
        for host, directory in _directories(fleet, name).items()
    }
    fleet.run_each(scripts)


def _directories(fleet: Fleet, name: str) -> dict[str, str]:
    return {host: f"{work}/{name}" for host, work in fleet.work_dirs(fleet.names).items()}


def drawn_hosts(hosts: Sequence[str], phases: Sequence[Phase]) -> Sequence[str]:
    """The hosts whose course a record keeps: one for a trial in several phases, else ``DRAWN_HOSTS_MAX`` at most."""
    return hosts[: 1 if len(phases) > 1 else DRAWN_HOSTS_MAX]


def read_each(
    folder: Path,
    reading: Reading,
    drawn: Sequence[str],
    *,
    before_s: float | None,
    ahead_s: Mapping[str, float],
) -> dict[str, dict[str, Any]]:
    """``read`` of every host whose folder is there. ``ahead_s`` by host, as ``clocks_ahead`` has it.

    Many hosts are read by as many processes as the worker has processors: ten hours of one take half a second of them.
    """
    paths = sorted(folder.iterdir())
    tasks = [
        partial(
            read,
            path,
            reading.window_start_s,
            reading.window_end_s,
            reading.phases,
            drawn=len(drawn) if path.name in drawn else 0,
            before_s=before_s,
            ahead_s=ahead_s.get(path.name, 0.0),
        )
        for path in paths
    ]
    if len(paths) < HOSTS_FOR_PROCESSES:
        return {path.name: task() for path, task in zip(paths, tasks, strict=True)}
    with ProcessPoolExecutor(min(PROCESSES_MAX, os.cpu_count() or 1), get_context("spawn")) as processes:
        begun = [processes.submit(task) for task in tasks]
        return {path.name: one.result() for path, one in zip(paths, begun, strict=True)}


def read(
    folder: Path,
    start_s: float | None,
    end_s: float | None,
    phases: Sequence[Phase] = (),
    *,
    drawn: int = 0,
    before_s: float | None = None,
    ahead_s: float = 0.0,
) -> dict[str, Any]:
    """The summary of one host's collected telemetry, with the collector's own cost.

    All times are reported by the driver's host; ``ahead_s``: as ``clocks_ahead`` has it of this one.
    Of ``phases`` it has the bytes that went through disks and networks. Of them, or of the window where there are none,
    it has the host's course over time where it is one of ``drawn`` hosts. ``boot_id`` tells hosts that are one machine,
    of which each shows all. The host was to be quiet until ``before_s``: the driver's start, where that is before the
    window.
    Samples are read one after the other, so that hours of them take no memory.
    """
    if start_s is None or end_s is None:
        return {"samples": 0}
    start_s, end_s = start_s + ahead_s, max(end_s, start_s + SHORTEST_S) + ahead_s
    before_s = start_s if before_s is None else min(before_s + ahead_s, start_s)
    phases = [Phase(phase.name, phase.start_s + ahead_s, phase.end_s + ahead_s) for phase in phases]
    spans = _spans(phases, start_s, end_s, drawn)
    edges = [time_s for phase in phases for time_s in (phase.start_s, phase.end_s)]
    with _opened(folder) as source:
        seen = telemetry_window.look(source.samples, [start_s, end_s, *edges, *spans], (start_s, end_s), before_s)
    if seen is None or seen.first_s is None:
        return {"samples": 0}
    figures = source.figures
    found = telemetry_window.summary(seen, start_s, end_s, figures)
    boot = folder / "telemetry.boot"
    found["boot_id"] = boot.read_text().strip() if boot.exists() else ""
    if phases:
        found["phases"] = {
            phase.name: telemetry_window.totals(seen, phase.start_s, phase.end_s, figures) for phase in phases
        }
    if spans:
        found["course"] = telemetry_window.course(seen, spans, figures)
    cost = folder / "telemetry.cpu_s"
    if cost.exists() and cost.read_text().strip():
        found["collector_cpu_share"] = float(cost.read_text()) / max(1.0, seen.last_s - seen.first_s)
    if found["mean"]:
        found["interfaces"] = _interfaces(source, seen.at[start_s], seen.at[end_s])
        found["mean"] |= _noted(folder, start_s, end_s, found["mean"])
    return found


def _interfaces(source: Source, start: Point, end: Point) -> dict[str, dict[str, float]]:
    seconds = end.time_s - start.time_s
    return source.interfaces(start.counters, end.counters, seconds) if source.interfaces and seconds > 0 else {}


def _noted(folder: Path, start_s: float, end_s: float, means: Mapping[str, float]) -> dict[str, float]:
    """What was noted beside the samples."""
    found = cpu_limits.throttled(*(folder / f"telemetry.throttled_at_{when}" for when in ("start", "end")))
    found |= cpu_limits.read(folder, start_s, end_s, means.get("cpu_percent"))
    if (rate := notes.per_s(folder / "telemetry.interrupts", start_s, end_s)) is not None:  # beside sysstat's
        found["interrupts_per_s"] = rate
    return found


def last_samples(folder: Path, most: int) -> list[dict[str, float]]:
    """The figures of one host's last samples, with ``time_s``."""
    with _opened(folder) as source:
        kept = deque(source.samples, most + 1)
    points = [Point(sample.time_s, sample.counters()) for sample in kept]
    pairs = list(pairwise(points))
    return [{"time_s": pair[1].time_s, **telemetry_window.of_sample(pair, source.figures)} for pair in pairs]


@dataclass(frozen=True)
class Source:
    """A host's samples, and how what they count is reported."""

    samples: Iterator[Sample]
    figures: Figures
    interfaces: Callable[[Mapping[str, float], Mapping[str, float], float], dict[str, dict[str, float]]] | None = None


@contextmanager
def _opened(folder: Path) -> Iterator[Source]:
    """Of a folder as collected, also of archives made before."""
    ours, of_sysstat = folder / RAW_FILE, folder / RAW_FILE_OF_SYSSTAT
    if ours.exists():
        with ours.open("rb") as file:
            lines = _lines(file)
            yield Source(kernel_counters.samples(lines), kernel_counters.figures, kernel_counters.interfaces)
    elif of_sysstat.exists():
        begun = folder / "telemetry.start"
        start_s = float(begun.read_text()) if begun.exists() else None
        with gzip.open(of_sysstat, "rt", encoding="utf-8") as lines:
            yield Source(sysstat.samples(sysstat.rows(lines, start_s)), sysstat.figures)
    else:
        yield Source(iter(()), sysstat.figures)


def _lines(file: BinaryIO) -> Iterator[str]:
    """Of a compressed file, with their ends. Three times as fast as module gzip, and a trial has hundreds of them."""
    unpacking, rest = zlib.decompressobj(GZIP), b""
    while packed := file.read(READ_BYTES):
        *lines, rest = (rest + unpacking.decompress(packed)).split(b"\n")
        yield from (f"{line.decode('ascii', 'replace')}\n" for line in lines)
    if rest:
        yield rest.decode("ascii", "replace")


def _spans(phases: Sequence[Phase], start_s: float, end_s: float, drawn: int) -> list[float]:
    """Of a host's course, ``drawn`` hosts having one; none where it is 0."""
    if not drawn:
        return []
    points = points_each(drawn)
    return telemetry_window.course_times(phases, points) if phases else spans_of_window(start_s, end_s, points)


def spans_of_window(start_s: float, end_s: float, points: int = POINTS_OF_WINDOW_MAX) -> list[float]:
    """Where the spans of the course of a trial without phases begin and end."""
    return telemetry_window.course_times([Phase("window", start_s, end_s)], min(points, POINTS_OF_WINDOW_MAX))


def points_each(hosts: int) -> int:
    return min(POINTS_MAX, POINTS_OF_ALL_MAX // hosts)
