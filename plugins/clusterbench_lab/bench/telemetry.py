"""Ten hours of telemetry: what reading it takes of the worker, and what collecting it takes of a large host.

64 hosts are large: 24 disks and 6 interfaces; 640 are as many VMs as the TeraSort study has on 32 servers, with 3 disks
and 2 interfaces. A host's samples are this machine's own, taken by the collector, with so many devices whose counters
grow at random. All hosts have the same samples, and each is read in full, as a trial's are. What collecting takes is
measured with the kernel's files of 128 processors, 3000 interrupt lines, and 24 disks with partitions and volumes.
"""

from __future__ import annotations

import gzip
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from clusterbench.base.measurements import Phase, Reading
from clusterbench.base.scripts import script
from clusterbench.hosts import telemetry
from clusterbench_lab.bench.memory import peak_mb

SAMPLES = 36_000
PROCESSORS, DISKS, INTERRUPT_LINES = 128, 24, 3000
INTERFACES = ("lo", "bond0", "eno1", "eno2", "ens1f0", "ens1f1")
SIZES: tuple[tuple[int, int, Sequence[str]], ...] = ((64, DISKS, INTERFACES), (640, 3, ("lo", "eth0")))
"""Hosts, and the devices of each."""
ROUNDS = 200
MEMORY_MB_MAX = 1000.0
HOSTS_S_MAX = 900.0
"""For all hosts' ten hours: a fortieth of them."""
CORE_SHARE_MAX = 0.01
DISK_WORDS_THAT_GROW = (0, 2, 3, 4, 6, 7, 8, 9, 10)
INTERFACE_WORDS_THAT_GROW = (0, 1, 8, 9)
BEGUN_S = 1_800_000_000.0


def measure(say: Callable[..., bool]) -> bool:
    """Print the figures; True where all are within their bounds."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        collecting_s = _collecting_s(_large_host(folder / "kernel"))
        share = say(
            f"share of a core of collecting at 1 Hz, {PROCESSORS} processors, {DISKS} disks",
            collecting_s,
            f"at most {CORE_SHARE_MAX}",
            holds=collecting_s <= CORE_SHARE_MAX,
        )
        held = [_reading(folder / f"of_{size[0]}", *size, say=say) for size in SIZES]
        return share and all(held)


def _reading(folder: Path, hosts: int, disks: int, interfaces: Sequence[str], *, say: Callable[..., bool]) -> bool:
    size_mb = _write(folder, disks, interfaces)
    say(f"MB of ten hours of a host of {disks} disks, compressed", size_mb)
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(folder), str(hosts)], check=True, capture_output=True, text=True
    )
    seconds, peak_mb = map(float, done.stdout.split())
    held = [
        say(
            f"seconds to read ten hours of telemetry of {hosts} hosts",
            seconds,
            f"at most {HOSTS_S_MAX:g}",
            holds=seconds <= HOSTS_S_MAX,
        ),
        say(
            f"MB of memory of {telemetry.PROCESSES_MAX} processes that read them, {hosts} hosts",
            peak_mb,
            f"at most {MEMORY_MB_MAX:g}",
            holds=peak_mb <= MEMORY_MB_MAX,
        ),
    ]
    return all(held)


def read_all(folder: Path, hosts: int) -> None:
    """As a trial's record is made. All hosts have one folder's files, by links; the first ones are drawn."""
    start_s, end_s = BEGUN_S + 10, BEGUN_S + SAMPLES - 10
    names = [f"host{number:03d}" for number in range(hosts)]
    with tempfile.TemporaryDirectory() as made:
        for name in names:
            (Path(made) / name).symlink_to(folder)
        reading = Reading({}, window_start_s=start_s, window_end_s=end_s, phases=(Phase("all", start_s, end_s),))
        drawn = names[: telemetry.DRAWN_HOSTS_MAX]
        found = telemetry.read_each(Path(made), reading, drawn, before_s=start_s, ahead_s={})
    if len(found) != hosts or any(one["samples"] < SAMPLES - 30 for one in found.values()):
        raise RuntimeError("samples were lost")


def _large_host(kernel: Path) -> str:
    """What the collector is given as the kernel of a host of that size."""
    proc, sys_folder = kernel / "proc", kernel / "sys"
    for name in ("uptime", "loadavg", "meminfo", "vmstat", "net/dev", *(f"pressure/{each}" for each in PRESSURES)):
        (proc / name).parent.mkdir(parents=True, exist_ok=True)
        (proc / name).write_text(Path("/proc", name).read_text() if Path("/proc", name).exists() else "")
    any_number = random.Random(1).randrange  # noqa: S311  made-up counters
    processors = [f"cpu{n} {_numbers(any_number, 10)}" for n in range(PROCESSORS)]
    interrupts = f"intr {any_number(10**12)} {_numbers(any_number, INTERRUPT_LINES)}"
    stat = [
        f"cpu  {_numbers(any_number, 10)}",
        *processors,
        interrupts,
        "ctxt 123456",
        "processes 9",
        "procs_blocked 0",
    ]
    (proc / "stat").write_text("\n".join(stat) + "\n")
    disks = []
    for n in range(DISKS):
        for name in (f"sd{chr(97 + n)}", f"dm-{n}"):
            (sys_folder / "block" / name).mkdir(parents=True)
        disks += [f" 8 {n} sd{chr(97 + n)}{part} {_numbers(any_number, 17)}" for part in ("", "1", "2", "3")]
        disks += [f" 253 {n} dm-{n} {_numbers(any_number, 17)}"]
    (proc / "diskstats").write_text("\n".join(disks) + "\n")
    heads = (proc / "net" / "dev").read_text().splitlines()[:2]
    devices = [f"{name}: {_numbers(any_number, 16)}" for name in INTERFACES]
    (proc / "net" / "dev").write_text("\n".join([*heads, *devices]) + "\n")
    return script("hosts/telemetry_sample", proc=str(proc), sys=str(sys_folder))


PRESSURES = ("cpu", "io", "memory")


def _numbers(any_number: Callable[[int], int], count: int) -> str:
    return " ".join(str(any_number(10**9)) for _ in range(count))


def _collecting_s(functions: str) -> float:
    """Processor seconds a sample, of bash; the kernel's own work for its files is not in it."""
    loop = f"LC_ALL=C; declare -A is_disk; set -f; for n in {{1..{ROUNDS}}}; do sample; done >/dev/null; times"
    done = subprocess.run(["bash", "-c", functions + loop], check=True, capture_output=True, text=True)
    used = done.stdout.splitlines()[0].split()
    return (
        sum(float(minutes) * 60 + float(seconds.rstrip("s")) for minutes, seconds in (u.split("m") for u in used))
        / ROUNDS
    )


def _write(folder: Path, disks: int, interfaces: Sequence[str]) -> float:
    """A host's ten hours. Returns its size in MB."""
    folder.mkdir()
    with gzip.open(folder / telemetry.RAW_FILE, "wt", compresslevel=1) as file:
        file.writelines(_lines(disks, interfaces))
    return (folder / telemetry.RAW_FILE).stat().st_size / 1e6


def _lines(disks: int, interfaces: Sequence[str]) -> Iterator[str]:
    """The first sample of this machine, with more devices; each counter grows by its own random steps."""
    here = script("hosts/telemetry_sample", proc="/proc", sys="/sys") + "LC_ALL=C; declare -A is_disk; set -f; sample"
    done = subprocess.run(["bash", "-c", here], check=True, capture_output=True, text=True)
    _, load, memory, *groups = done.stdout.rstrip("\n").split("\t")
    kept = [group for group in groups if not group.startswith(("disk ", "net ", "cpu ", "intr ", "ctxt "))]
    counters: list[tuple[str, int, Sequence[int], int]] = [
        ("cpu", 10, range(8), 3_000),
        ("intr", 1, range(1), 500_000),
        ("ctxt", 1, range(1), 900_000),
    ]
    counters += [(f"disk sd{n}", 17, DISK_WORDS_THAT_GROW, 20_000) for n in range(disks)]
    counters += [(f"net {name}", 16, INTERFACE_WORDS_THAT_GROW, 100_000_000) for name in interfaces]
    anyhow = random.Random(2)  # noqa: S311  made-up counters
    values = [[anyhow.randrange(10**9) for _ in range(count)] for _, count, _, _ in counters]
    yield f"{BEGUN_S} 100.0 4096\n"
    for second in range(SAMPLES):
        told = []
        for (name, _, growing, step), row in zip(counters, values, strict=True):
            for n in growing:
                row[n] += int(anyhow.random() * step)
            told.append(f"{name} {' '.join(map(str, row))}")
        yield "\t".join([f"{100 + second}.0", load, memory, *told, *kept]) + "\n"


if __name__ == "__main__":
    begun = time.perf_counter()
    read_all(Path(sys.argv[1]), int(sys.argv[2]))
    child_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024  # of the largest of them
    print(time.perf_counter() - begun, peak_mb() + telemetry.PROCESSES_MAX * child_mb)
