"""Processes the lab started: told from everybody else's by pid, start time and boot, and stopped by id only.

A pid alone proves nothing: after a crash or a reboot it may be anybody's. A record is ours only if the process
with that pid also started at the recorded clock tick of the recorded boot.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from clusterbench_lab.account import Account, switch_user, write_private

_PROC = Path("/proc")
_EXITING_FLAG = 0x4  # PF_EXITING in the flags of proc(5)
_SIGKILL_BIT = 1 << (signal.SIGKILL - 1)
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class ProcessFacts:
    """What /proc/PID/stat says: fields 3, 4, 6, 9 and 22 of proc(5)."""

    pid: int
    state: str
    parent_pid: int
    session_id: int
    flags: int
    start_ticks: int

    def is_ending(self) -> bool:
        """Dead, or about to be: killed outright, a large process is still in the list for a while."""
        return self.state in "ZX" or bool(self.flags & _EXITING_FLAG) or _kill_is_pending(self.pid)


@dataclass(frozen=True)
class Record:
    """A server's main process, as it was when started; `fingerprint` is of its settings then."""

    pid: int
    start_ticks: int
    boot_id: str
    fingerprint: str

    def is_alive(self) -> bool:
        _reap(self.pid)
        facts = facts_of(self.pid)
        return (
            facts is not None
            and not facts.is_ending()
            and facts.start_ticks == self.start_ticks
            and boot_id() == self.boot_id
        )

    def save(self, path: Path) -> None:
        write_private(path, json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> Record | None:
        """None when there is no record, or only half of one."""
        try:
            return cls(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            return None


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def facts_of(pid: int) -> ProcessFacts | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The program's name, in parentheses, may itself hold blanks and parentheses.
    fields = text[text.rindex(")") + 2 :].split()
    return ProcessFacts(pid, fields[0], int(fields[1]), int(fields[3]), int(fields[6]), int(fields[19]))


def all_processes() -> Iterator[ProcessFacts]:
    for entry in os.listdir(_PROC):  # noqa: PTH208 - names are enough, and there are many
        if entry.isdigit() and (facts := facts_of(int(entry))) is not None and facts.state not in "ZX":
            yield facts


def spawn(
    command: list[str],
    *,
    account: Account,
    environment: Mapping[str, str],
    log_file: Path,
    cwd: Path,
    fingerprint: str,
) -> Record:
    """Start a server in a session of its own: it outlives us, and all of it can be ended by id."""
    with log_file.open("ab") as log:
        child = subprocess.Popen(  # type: ignore[call-overload]
            command,
            env=dict(environment),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o077,
            **switch_user(account),
        )
    _children[child.pid] = child
    facts = facts_of(child.pid)
    return Record(child.pid, facts.start_ticks if facts else -1, boot_id(), fingerprint)


def stop(record: Record, *, grace_seconds: float, orderly: bool = True) -> None:
    """End what `record` started: first its main process, in order; then what is left of its session and
    children.

    What a dead main process left behind is killed outright: asked to end in order, an Airflow task would first
    stop the measured job on the client host, to which the next attempt wants to reattach.
    """
    family = {facts.pid: facts for facts in _family(record)}
    if orderly and record.is_alive():
        _signal(record.pid, signal.SIGTERM)
        _wait(record.is_alive, grace_seconds)
    family |= {facts.pid: facts for facts in _family(record)}
    kill_all(list(family.values()))


def kill_all(processes: list[ProcessFacts]) -> None:
    for facts in processes:
        if _is_same(facts):
            _signal(facts.pid, signal.SIGKILL)
    _wait(lambda: any(_is_same(facts) for facts in processes), 5.0)


def marked(name: str, value: str, account: Account) -> list[ProcessFacts]:
    """Processes started with `name=value` in their environment; never we or our ancestors."""
    # As the processes' own user: inside a container, root may not look into other users' processes.
    script = 'grep -lsxzF -- "$1" /proc/[0-9]*/environ'
    found = account.run(["sh", "-c", script, "sh", f"{name}={value}"]).stdout
    ours = _ancestors(os.getpid())
    pids = {int(line.split("/")[2]) for line in found.splitlines()} - ours
    return [facts for facts in all_processes() if facts.pid in pids]


def working_in(folder: Path, account: Account) -> list[ProcessFacts]:
    """Processes whose working directory is `folder`: all of a PostgreSQL stays in its data folder."""
    command = ["find", "/proc", "-mindepth", "2", "-maxdepth", "2", "-name", "cwd", "-printf", "%h\\t%l\\n"]
    pids = set()
    for line in account.run(command).stdout.splitlines():
        process, _, cwd = line.partition("\t")
        if cwd == str(folder) and process.rpartition("/")[2].isdigit():
            pids.add(int(process.rpartition("/")[2]))
    return [facts for facts in all_processes() if facts.pid in pids]


def program_and_cwd(pid: int, account: Account) -> tuple[str, str]:
    """The name of the program file a process runs, and its working directory; empty when not ours to see."""
    names = [f"/proc/{pid}/exe", f"/proc/{pid}/cwd"]
    try:
        program, cwd = (os.readlink(name) for name in names)  # noqa: PTH115 - kept as text
    except PermissionError:
        lines = account.run(["readlink", *names]).stdout.splitlines()
        program, cwd = lines if len(lines) == 2 else ("", "")
    except OSError:
        return "", ""
    return Path(program.removesuffix(" (deleted)")).name, cwd


def _family(record: Record) -> list[ProcessFacts]:
    """The session the main process opened and all descendants, by id, also when that process is gone."""
    if record.boot_id != boot_id():
        return []
    everybody = list(all_processes())
    leader = next((facts for facts in everybody if facts.pid == record.pid), None)
    if leader is not None and leader.start_ticks != record.start_ticks:
        return []  # the pid is somebody else's now, and a session with that id would be theirs
    members = {f.pid for f in everybody if f.session_id == record.pid and f.start_ticks >= record.start_ticks}
    grown = True
    while grown:
        more = {f.pid for f in everybody if f.parent_pid in members} - members
        members |= more
        grown = bool(more)
    return [facts for facts in everybody if facts.pid in members]


def _kill_is_pending(pid: int) -> bool:
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return True
    pending = [int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd:", "ShdPnd:"))]
    return any(signals & _SIGKILL_BIT for signals in pending)


def _ancestors(pid: int) -> set[int]:
    found = set()
    while pid > 1 and pid not in found:
        found.add(pid)
        facts = facts_of(pid)
        pid = facts.parent_pid if facts else 0
    return found


def _is_same(facts: ProcessFacts) -> bool:
    _reap(facts.pid)
    now = facts_of(facts.pid)
    return now is not None and now.state not in "ZX" and now.start_ticks == facts.start_ticks


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _reap(pid: int) -> None:
    if (child := _children.get(pid)) is not None and child.poll() is not None:
        del _children[pid]


def _wait(condition: object, limit_seconds: float) -> None:
    assert callable(condition)
    deadline = time.monotonic() + limit_seconds
    while condition() and time.monotonic() < deadline:
        time.sleep(0.05)
