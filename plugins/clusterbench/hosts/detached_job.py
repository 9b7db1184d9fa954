"""Detached jobs on a host, each started at most once, to which a restarted worker reattaches.

A job is a directory on the host, named by the caller. Starting is ``mkdir`` of ``started`` inside it: only one
caller ever succeeds, whatever dies when, so a driver cannot run twice. While it lives the job holds a lock on
``lock``; waiting is waiting for that lock, which costs the measured host nothing (no polling) and ends also when
the job is killed or the host restarts.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Literal
from uuid import uuid4

from clusterbench.base.job import Job
from clusterbench.base.scripts import script
from clusterbench.base.words import plural
from clusterbench.hosts.fleet import FREE_SPACE, SIGNALLED, Fleet

WAIT_SLICE_S = 60
"""How long one wait over SSH lasts before the connection is looked at again."""

END_S = 60
"""A job that is told to end gets this long. Most need no time; one that ends an application of a cluster does."""

BESIDE = "beside"
"""A folder within a job's own, for the jobs that belong to it: neighbours' loads, and steps in search of a load."""
PROBE = "load-probe"
"""The job of such a step. It is short and ends by itself, which neighbours' jobs do not."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JobState:
    """The phase of a job, and the exit status of one that has ended; None where it died without one."""

    phase: Literal["new", "running", "ended"]
    exit_status: int | None = None
    reached_limit: bool = False
    """It was ended because its time was up."""
    oom_kills: int = 0
    """Processes of its host that the kernel has killed for want of memory while it ran."""
    clock_set_s: int = 0
    """By how much its host's clock was set while it ran."""
    is_disk_full: bool = False
    """The disk of its folder was full when it ended, so what it wrote there may be cut short."""
    host: str = ""

    @property
    def timed_out(self) -> bool:
        """By the job's limit, or by one of its command's own, after which ``timeout`` says 124."""
        return self.reached_limit or self.exit_status == TIMED_OUT

    @property
    def how_it_ended(self) -> str:
        """In words, of one that has failed."""
        if self.exit_status is None:
            how = "died without an exit status: it was killed, or the host restarted"
        elif self.exit_status > SIGNALLED:
            how = f"was ended by signal {self.exit_status - SIGNALLED}{_name_of(self.exit_status - SIGNALLED)}"
        else:
            how = f"ended with status {self.exit_status}"
        if self.oom_kills:
            times = plural(self.oom_kills, "time")
            how += f"; during that time the kernel's OOM killer ended processes on host {self.host!r}, {times}"
        if self.is_disk_full:
            how += f"; the disk of host {self.host!r} was full then, so what it wrote may be cut short: {FREE_SPACE}"
        return how


TIMED_OUT = 124


def _name_of(number: int) -> str:
    """Such as " (SIGKILL)"."""
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""


class DetachedJob:
    """One job directory on one host."""

    def __init__(self, fleet: Fleet, host: str, name: str) -> None:
        self.fleet, self.host, self.name = fleet, host, name
        self.directory = f"{fleet.work_dir(host)}/{name}"

    def beside(self, name: str) -> DetachedJob:
        """Another job on the same host, that belongs to this one and is found below it."""
        return DetachedJob(self.fleet, self.host, f"{self.name}/{BESIDE}/{name}")

    def state(self, within_s: int = 0) -> JobState:
        """How it is; while it runs, its end is waited for so long."""
        look = script("hosts/job_state", within_s=within_s)
        answer = self._sh(look, missing="echo new", timeout_s=within_s + 60).split()
        phase, *left = answer
        if not left:
            return JobState(phase, host=self.host)  # type: ignore[arg-type]
        status, reached_limit, oom_kills, clock_set_s, is_full = map(int, left)
        return JobState(
            phase,  # type: ignore[arg-type]
            status,
            bool(reached_limit),
            oom_kills,
            clock_set_s,
            bool(is_full),
            self.host,
        )

    def start(self, job: Job, timeout_s: int) -> None:
        """Write the files and start the command, unless it was started before: then this does nothing."""
        runner = script("hosts/job_run", timeout_s=timeout_s, end_s=END_S, secrets=list(job.secrets))
        files = {
            **job.files,
            **job.secrets,
            "command.sh": "set -euo pipefail\n" + job.command,
            "run.sh": "#!/bin/bash\n" + runner,
        }
        own = f"{self.directory}/of.{uuid4().hex[:12]}"
        self.fleet.put(self.host, own, files)
        self._sh(script("hosts/job_start", files=own))

    def wait(self) -> JobState:
        """Wait on the job's lock until the job has ended.

        Raises HostError when the host is lost; the job continues meanwhile, and can be waited for again.
        """
        while (state := self.state(WAIT_SLICE_S)).phase == "running":
            pass
        return state

    def wait_for_others(self) -> None:
        """Wait until no other job of the run is running.

        When a worker is lost, the driver it started goes on, at most to its own time limit.
        """
        wait = script(
            "hosts/job_wait_for_others",
            directory=self.directory.rpartition("/")[0],
            probes=f"{BESIDE}/{PROBE}",
            wait_s=WAIT_SLICE_S,
        )
        while running := self.fleet.run_on(self.host, wait, timeout_s=WAIT_SLICE_S + 30).output.strip():
            log.warning("the driver of %s still runs, whose worker was lost; waiting for its end", running)

    def note_recorded(self) -> None:
        """Nothing is to be collected any more."""
        self._sh("touch recorded", missing="true")

    def doing(self) -> str:
        """What the job says it is doing, in its file ``doing``, and the application it runs on a cluster; else empty.

        Such as ": terasort, application_1795276115_0002".
        """
        said = self._sh(script("hosts/job_doing"), missing="true").split()
        return f": {', '.join(said)}" if said else ""

    def kill(self) -> None:
        """End the job and everything it started. It gets ``END_S`` to end what it runs elsewhere."""
        self._sh(script("hosts/job_kill", end_s=END_S), missing="true", timeout_s=END_S + 30)

    def age_s(self) -> float:
        """Seconds since the job was started, by its host's clock."""
        now, began = self._sh("until [ -s began ]; do sleep 0.05; done; date +%s.%N; cat began").split()
        return float(now) - float(began)

    def errors(self) -> str:
        """The last lines that the job wrote to its standard error."""
        return self._sh("tail -n 10 stderr 2>/dev/null || true", missing="true").strip()

    def text(self, name: str) -> str:
        """What is in a small file of the job's folder."""
        return self._sh(f"cat -- {quote(name)}")

    def is_ready(self, within_s: int) -> bool:
        """Whether it has written its file ``ready`` within that time, and not ended instead."""
        wait = f"for _ in $(seq {10 * within_s}); do [ ! -e ready ] && [ ! -e status ] || break; sleep 0.1; done"
        return self._sh(f"{wait}\n[ ! -e ready ] || echo yes", timeout_s=within_s + 30).strip() == "yes"

    def remove(self) -> None:
        """Remove the directory of a job that has ended, so that it can be started again."""
        self.fleet.run_on(self.host, f"rm -rf -- {quote(self.directory)}")

    def collect(self, names: tuple[str, ...], into: Path) -> None:
        self.fleet.fetch(self.host, self.directory, names, into)

    def _sh(self, text: str, *, missing: str | None = None, timeout_s: float = 60) -> str:
        enter = f"cd {quote(self.directory)}"
        if missing is not None:
            enter = f"{enter} 2>/dev/null || {{ {missing}; exit 0; }}"
        return self.fleet.run_on(self.host, f"{enter}\n{text}\n", timeout_s=timeout_s).output


def left_open(fleet: Fleet, hosts: Sequence[str], directory: str) -> list[str]:
    """Names of the jobs directly below ``directory`` that were started, and that have no ``note_recorded``."""
    scripts = {
        host: script("hosts/jobs_left_open", directory=f"{work}/{directory}")
        for host, work in fleet.work_dirs(hosts).items()
    }
    return sorted({name for answer in fleet.run_each(scripts).values() for name in answer.output.split()})


def clean_up(fleet: Fleet, hosts: Sequence[str], directory: str, done: Sequence[str]) -> None:
    """End every job below ``directory`` that still runs, and remove those named in ``done``, which are archived."""
    scripts = {
        host: script("hosts/jobs_clean_up", directory=f"{work}/{directory}", beside=BESIDE, finished=done)
        for host, work in fleet.work_dirs(hosts).items()
    }
    fleet.run_each(scripts)
