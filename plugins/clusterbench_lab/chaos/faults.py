"""What is done to a part of the lab, and undone: killed, frozen, cut off from the network, its disk filled up."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

from clusterbench.base.errors import LabError
from clusterbench_lab.chaos.disks import DISKS, filled
from clusterbench_lab.chaos.people import ACTS, PRESS_AGAIN
from clusterbench_lab.lab import Lab

FAULTS = ("kill", "freeze", "cut")
NOWHERE = (
    "qdisc add dev lo root handle 1: htb",
    "class add dev lo parent 1: classid 1:1 htb rate 8bit ceil 8bit",
    "qdisc add dev lo parent 1:1 pfifo limit 1",
)
"""For tc: the class 1:1, through which nothing comes."""


@dataclass(frozen=True)
class Part:
    """A part of what a run needs: servers of the lab, and what of them can be done to it."""

    name: str
    servers: tuple[str, ...] = ()
    faults: tuple[str, ...] = FAULTS
    is_moment: bool = False
    """It is done, and not undone: there is no length of it. Each fault is tried in every phase."""


PARTS = (
    Part("archive", ("s3",)),
    Part("scheduler", ("scheduler",), ("kill", "freeze")),
    Part("worker", faults=("kill", "freeze")),
    Part("metadata database", ("metadata",)),
    Part("api-server", ("api-server",)),
    Part("client host", ("client",)),
    Part("database host", ("db1", "db1_postgres")),
    Part("network between", ("db1_postgres",), ("cut",)),
    Part(
        "whole machine",
        (*("metadata", "s3", "client", "etl", "db1", "db1_postgres"), *("api-server", "scheduler", "dag-processor")),
        ("kill",),
    ),
    *(Part(name, faults=("fill",)) for name in DISKS),
    Part("person", faults=ACTS, is_moment=True),
    Part("second person", faults=(PRESS_AGAIN,), is_moment=True),
)
"""A scheduler and a worker have no address of their own. The worker is the process of the task that runs. The network
between is that of client and database."""


def part(name: str) -> Part:
    return next(one for one in PARTS if one.name == name)


def processes(lab: Lab, one: Part, task_pid: int = 0) -> list[psutil.Process]:
    """All that is to be hit. Of a host also what runs there detached; of a worker the task of that process id."""
    if one.name == "worker":
        task = psutil.Process(task_pid)
        return [task, *task.children(recursive=True)]
    found: dict[int, psutil.Process] = {}
    for server in one.servers:
        folder = lab.layout.host_dir(server)
        with contextlib.suppress(psutil.NoSuchProcess):
            main = psutil.Process(lab.pid(server) or -1)
            keeper = main.parent()
            kept = [keeper] if keeper and "keep_running" in " ".join(keeper.cmdline()) else []
            below = [] if one.name == "scheduler" else main.children(recursive=True)  # its children are the workers
            found |= {each.pid: each for each in [*kept, main, *below]}
        if folder.exists():
            found |= {each.pid: each for each in psutil.process_iter() if _is_in(each, str(folder))}
    return list(found.values())


def _is_in(process: psutil.Process, folder: str) -> bool:
    with contextlib.suppress(psutil.Error):
        return bool(process.cwd().startswith(folder))
    return False


@contextmanager
def struck(lab: Lab, one: Part, fault: str, task_pid: int = 0) -> Iterator[None]:
    """Hit on entry; on exit it is as before."""
    if fault not in one.faults:
        raise LabError(f"chaos: {one.name}: {fault!r} cannot be done to it; it can be: {', '.join(one.faults)}")
    if fault in ("cut", "fill"):
        with _cut(lab, one) if fault == "cut" else filled(lab, one.name):
            yield
        return
    hit = processes(lab, one, task_pid)
    _signal(hit, signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
    try:
        yield
    finally:
        if fault == "freeze":
            _signal(hit, signal.SIGCONT)
        elif one.name != "worker":
            for server in one.servers:
                lab.start_server(server)


def _signal(hit: list[psutil.Process], number: signal.Signals) -> None:
    for process in hit:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


@contextmanager
def _cut(lab: Lab, one: Part) -> Iterator[None]:
    """As a pulled cable: what is sent to its ports, or from them, is lost, and nobody is told."""
    for preference, server in enumerate(one.servers, 11):
        address, port = lab.place(server)
        for way in ("src", "dst"):
            of_address = f"match ip {way} {address}/32 match ip {way[0]}port {port} 0xffff flowid 1:1"
            _tc(*f"filter add dev lo parent 1: protocol ip pref {preference} u32 {of_address}".split())
    try:
        yield
    finally:
        for preference, _ in enumerate(one.servers, 11):
            _tc(*f"filter del dev lo parent 1: pref {preference}".split())


def prepare_cuts() -> None:
    """A loopback on which a connection can be cut. Only in a network namespace of our own (``unshare --net``)."""
    for words in NOWHERE:
        _tc(*words.split())


def _tc(*words: str) -> None:
    done = subprocess.run(["tc", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"chaos: tc {' '.join(words)}: {done.stderr.strip()}")
