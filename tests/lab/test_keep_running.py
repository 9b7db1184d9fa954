"""The shell that keeps a part of the lab's Airflow running, with small programs in the part's place."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clusterbench_lab.airflow_servers import KEEP_RUNNING

from .looking import alive

Start = Callable[[str], subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Keeps a line of shell running; its own pauses take no time. All of it is ended by its id."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sleep").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "sleep").chmod(0o755)
    started: list[subprocess.Popen[bytes]] = []

    def run(line: str) -> subprocess.Popen[bytes]:
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen(
                [str(KEEP_RUNNING), str(tmp_path / "pid"), "/bin/sh", "-c", line],
                env={**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
                cwd=tmp_path,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started.append(process)
        return process

    yield run
    for process in started:
        for pid in session(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.wait()


def session(leader: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--sid", str(leader)], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def wait_for(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def pid_in(folder: Path) -> int:
    text = (folder / "pid").read_text() if (folder / "pid").exists() else ""
    return int(text or 0)


def test_what_is_killed_is_started_again_and_what_it_left_is_ended(start: Start, tmp_path: Path) -> None:
    start("/bin/sleep 1000 & echo $! >left; wait")
    wait_for(lambda: (tmp_path / "left").exists() and (tmp_path / "left").read_text(), "it has not started")
    first, left = pid_in(tmp_path), int((tmp_path / "left").read_text())
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: pid_in(tmp_path) not in (0, first) and alive(pid_in(tmp_path)), "it was not started again")
    assert not alive(left)
    when = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
    said = (tmp_path / "log").read_text()
    assert re.search(f"^keep_running: {when}: ended with status 137; started again in 2 s$", said, re.MULTILINE)


def test_it_gives_up_after_an_hour_of_tries_in_a_row_and_says_so_last(start: Start, tmp_path: Path) -> None:
    process = start("echo tried; exit 3")
    assert process.wait(120) == 1
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines[-1].endswith(f": ended with status 3; given up after {lines.count('tried')} tries in a row")
    pauses = [int(line.split()[-2]) for line in lines if "started again in" in line]
    assert pauses[:3] == [2, 4, 6] and max(pauses) == 30
    assert 3600 <= sum(pauses) <= 4000


def test_asked_to_end_it_ends_the_program_in_order_and_starts_none(start: Start, tmp_path: Path) -> None:
    process = start("trap 'echo in order; exit 0' TERM; echo ready; while :; do /bin/sleep 0.1; done")
    wait_for(lambda: "ready" in (tmp_path / "log").read_text(), "it has not started")
    process.send_signal(signal.SIGTERM)
    process.wait(30)
    assert (tmp_path / "log").read_text() == "ready\nin order\n"
    assert session(process.pid) == []


def test_the_program_is_interrupted_like_any_other(start: Start, tmp_path: Path) -> None:
    """A shell without job control lets what it starts in the background ignore SIGINT and SIGQUIT."""
    start("grep SigIgn /proc/self/status; exec /bin/sleep 1000")
    wait_for(lambda: "SigIgn" in (tmp_path / "log").read_text(), "it has not started")
    ignored = int((tmp_path / "log").read_text().split()[1], 16)
    assert ignored & (1 << signal.SIGINT - 1 | 1 << signal.SIGQUIT - 1) == 0
