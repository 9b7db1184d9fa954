"""What every server of the lab has in common: prepare, start, wait until it answers, stop, say how it is."""

from __future__ import annotations

import hashlib
import string
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from clusterbench.base.errors import LabError
from clusterbench_lab import processes
from clusterbench_lab.account import Account
from clusterbench_lab.layout import TEMPLATES_DIR, Layout, answers
from clusterbench_lab.processes import Record

_LOG_LINES_SHOWN = 15


@dataclass(frozen=True)
class ServerStatus:
    """`state` is running, starting (alive, does not answer), died (started, then gone) or stopped."""

    name: str
    kind: str
    address: str
    port: int
    pid: int | None
    state: str
    detail: str


class Server(ABC):
    """One server. `up` is idempotent: it leaves alone what runs with the settings of today."""

    kind: str
    ready_limit_seconds: float = 30.0
    stop_grace_seconds: float = 5.0

    def __init__(self, name: str, layout: Layout, account: Account, address: str) -> None:
        self.name = name
        self.layout = layout
        self.account = account
        self.address = address

    @property
    def port(self) -> int:
        return self.layout.port(self.name)

    @property
    @abstractmethod
    def log_file(self) -> Path: ...

    @abstractmethod
    def up(self) -> str:
        """Bring it up if it is not; returns what was done, in one or two words."""

    @abstractmethod
    def pid(self) -> int | None:
        """The main process, if it is alive and ours."""

    @abstractmethod
    def down(self, *, at_once: bool = False) -> bool:
        """Stop it; True if there was anything to stop. ``at_once``: its data will not be needed any more."""

    def was_started(self) -> bool:
        """Whether `up` started it and nobody has called `down` since, alive or not."""
        return self.pid() is not None

    def is_ready(self) -> bool:
        return answers(self.address, self.port)

    def ended_by_itself(self) -> bool:
        """While `up` waits for it."""
        return self.pid() is None

    def status(self) -> ServerStatus:
        pid = self.pid()
        if pid is None:
            died = self.was_started()
            detail = f"see {self.log_file}" if died else ""
            state = "died" if died else "stopped"
        else:
            state = "running" if self.is_ready() else "starting"
            detail = "" if state == "running" else f"does not answer yet; see {self.log_file}"
        return ServerStatus(self.name, self.kind, self.address, self.port, pid, state, detail)

    def wait_until_ready(self) -> None:
        started = time.monotonic()
        while not self.is_ready():
            waited_seconds = time.monotonic() - started
            if waited_seconds > 1.0 and self.ended_by_itself():
                raise self.trouble(f"it ended by itself after {waited_seconds:.0f} s")
            if waited_seconds > self.ready_limit_seconds:
                raise self.trouble(f"it does not answer after {waited_seconds:.0f} s")
            time.sleep(0.1)

    def trouble(self, what: str) -> LabError:
        lines = tail(self.log_file, _LOG_LINES_SHOWN)
        return LabError(
            f"{self.name} ({self.kind} on {self.address}:{self.port}): {what}.\n"
            f"Last lines of {self.log_file}:\n{lines}\n"
            f"When the cause is fixed, run `clusterbench lab up` again; it keeps what already runs."
        )


class RecordedServer(Server):
    """A server whose main process stays the one we started; known by its record."""

    @property
    def record_file(self) -> Path:
        return self.layout.records_dir / f"{self.name}.json"

    @abstractmethod
    def prepare(self) -> str:
        """Write what it needs; returns a fingerprint of the settings a running one was started with."""

    @abstractmethod
    def claim(self) -> None:
        """Choose a port, before a start."""

    @abstractmethod
    def start(self, fingerprint: str) -> Record: ...

    def is_ready_again(self) -> bool:
        """Whether one that was running before is well; may be told more cheaply than after a start."""
        return self.is_ready()

    def up(self) -> str:
        record = Record.load(self.record_file)
        if record is not None and record.is_alive():
            if self.prepare() == record.fingerprint and self._comes_to_answer(record):
                return "runs already"
            self.down()
            done = "restarted"
        else:
            done = "started" if record is None else "started again"
            if record is not None:
                processes.stop(record, grace_seconds=0, orderly=False)
        self.claim()
        self.start(self.prepare()).save(self.record_file)
        self.wait_until_ready()
        return done

    def pid(self) -> int | None:
        record = Record.load(self.record_file)
        return record.pid if record is not None and record.is_alive() else None

    def was_started(self) -> bool:
        return Record.load(self.record_file) is not None

    def down(self, *, at_once: bool = False) -> bool:
        record = Record.load(self.record_file)
        if record is None:
            return False
        was_alive = record.is_alive()
        processes.stop(record, grace_seconds=self.stop_grace_seconds, orderly=not at_once)
        self.record_file.unlink(missing_ok=True)
        return was_alive

    def _comes_to_answer(self, record: Record) -> bool:
        """A server that is alive may still be on its way up, or so busy that one question goes unanswered."""
        deadline = time.monotonic() + self.ready_limit_seconds
        while not self.is_ready_again():
            if time.monotonic() > deadline or not record.is_alive():
                return False
            time.sleep(0.2)
        return True


def template(file_name: str, values: Mapping[str, object]) -> str:
    text = (TEMPLATES_DIR / file_name).read_text()
    return string.Template(text).substitute({key: str(value) for key, value in values.items()})


def fingerprint(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def tail(path: Path, count: int) -> str:
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError as error:
        return f"  (no log: {error.strerror})"
    return "\n".join(f"  {line}" for line in lines[-count:]) or "  (empty)"
