"""TPC-DS's rows made on several hosts at once: how much faster than on one of them, of what would be linear.

Each host is an sshd of this machine that may use one processor only, so that one host cannot take what the other has.
All chunks of the scale factor are made, counted and removed, by the code that a run's set-up uses, without a database.
``python -m clusterbench_lab.bench.generation 10`` does it at scale factor 10.
"""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from shlex import quote

from clusterbench.hosts.fleet import Fleet
from clusterbench.workloads.tpcds import chunk_making, dsdgen, programs
from clusterbench.workloads.tpcds.chunk_making import Maker
from clusterbench.workloads.tpcds.dsdgen import Chunk
from clusterbench_lab.many_hosts import ADDRESSES_PER_SSHD, ManyHosts, many_hosts

SCALE_FACTOR = 1.0
LINEAR_MIN = 0.9


def measure(say: Callable[..., bool], scale_factor: float = SCALE_FACTOR) -> bool:
    """Print the seconds and their ratio; True where it is near enough to linear."""
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) == 1:
        say("processors of this machine: several hosts cannot be told from one", 1)
        return True
    with many_hosts(ADDRESSES_PER_SSHD * (len(processors) - 1) + 1) as hosts:
        for number, processor in enumerate(processors):
            _keep_to(hosts, number, processor)
        with Fleet(hosts.addresses) as fleet:
            names = [hosts.served_by(number)[0] for number in range(len(processors))]
            makers = _makers(fleet, names)
            one_s = _seconds(makers[:1], scale_factor)
            all_s = _seconds(makers, scale_factor)
    size_gb = dsdgen.bytes_expected(scale_factor) / 1e9
    say(
        f"seconds of TPC-DS's rows at scale factor {scale_factor:g} ({size_gb:.1f} GB), one host of one processor",
        one_s,
    )
    share = one_s / all_s / len(processors)
    what = f"speed-up by {len(processors)} such hosts / linear"
    return say(what, share, f"at least {LINEAR_MIN}", holds=share >= LINEAR_MIN)


def _keep_to(hosts: ManyHosts, sshd: int, processor: int) -> None:
    """Its sessions inherit that, and ``nproc`` tells it."""
    for thread in Path(f"/proc/{hosts.sshds[sshd].pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {processor})


def _makers(fleet: Fleet, hosts: Sequence[str]) -> list[Maker]:
    there = programs.put(fleet, hosts)
    if many := {host: count for host, count in chunk_making.processors(fleet, hosts).items() if count != 1}:
        raise RuntimeError(f"these hosts have more processors than one: {many}")
    paths = {host: f"{work}/files" for host, work in fleet.work_dirs(hosts).items()}
    fleet.run_each({host: f"mkdir -p {quote(path)}" for host, path in paths.items()})
    return [Maker(fleet, host, "making", paths[host], there[host]) for host in hosts]


def _seconds(makers: Sequence[Maker], scale_factor: float) -> float:
    """Until all chunks are made: each host takes the next one when it has made one."""
    queue = deque(dsdgen.chunks(scale_factor))
    begun = time.monotonic()
    with ThreadPoolExecutor(len(makers)) as workers:
        list(workers.map(partial(_make, queue=queue, scale_factor=scale_factor), makers))
    return time.monotonic() - begun


def _make(maker: Maker, queue: deque[Chunk], scale_factor: float) -> None:
    while batch := chunk_making.take(queue, 1):
        maker.make(batch, scale_factor)
        maker.fleet.run_on(maker.host, f"rm -f {quote(maker.path)}/*")


def _print(what: str, value: float, bound: str = "", *, holds: bool = True) -> bool:
    print(f"{what}: {value:.3f} {bound}", flush=True)
    return holds


if __name__ == "__main__":
    sys.exit(0 if measure(_print, float(sys.argv[1]) if len(sys.argv) > 1 else SCALE_FACTOR) else 1)
