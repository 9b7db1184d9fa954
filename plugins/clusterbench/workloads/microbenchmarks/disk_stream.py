"""One disk, filled by large files one after the other, which are then read (paper 002, Appendix B, Figure 6).

The paper's aio-stress wrote 28 files of 20000 MiB, each in a folder of its own, by records of 512 KiB and one thread.
Of asynchronous accesses at once it prints no number; 64 is aio-stress's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from clusterbench.base.errors import EngineError
from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job, json_of
from clusterbench.base.measurements import About, MeasurementKind, Phase, Reading
from clusterbench.base.scripts import script
from clusterbench.base.words import size
from clusterbench.workloads.microbenchmarks.of_hosts import OfHosts, choices, program
from clusterbench.workloads.needs import Needs

if TYPE_CHECKING:
    from clusterbench.base.datasets import Dataset
    from clusterbench.base.records import Trial
    from clusterbench.engines import Engine
    from clusterbench.engines.hadoop.engine import HadoopCluster

DEPTH = 64
MIB = 2**20
WAYS = ("write", "read")
BETWEEN = "the time between two files"
WORDS = {"write": "written", "read": "read"}


def _kinds() -> dict[str, MeasurementKind]:
    found: dict[str, MeasurementKind] = {}
    for way, word in WORDS.items():
        found |= {
            f"{way}_mib_per_s": MeasurementKind(
                "MiB/s",
                f"Throughput, all files {word}",
                "higher",
                about=About(f"MiB of all files divided by the time in which fio has them {word}.", leaves_out=BETWEEN),
            ),
            f"{way}_first_mib_per_s": MeasurementKind(
                "MiB/s", f"First file {word}", "higher", about=About(f"Likewise, of the file that is {word} first.")
            ),
            f"{way}_last_mib_per_s": MeasurementKind(
                "MiB/s", f"Last file {word}", "higher", about=About(f"Likewise, of the file that is {word} last.")
            ),
            f"{way}_last_over_first": MeasurementKind(
                "1",
                f"Last file {word} over the first",
                "higher",
                about=About("The last file's rate divided by the first one's: a disk is slower at its inner tracks."),
            ),
        }
    return found


class DiskStream(OfHosts):
    """The client host's first data disk."""

    title = "Sequential I/O of one disk"
    outputs = ("files.txt", "file_system.txt", "xfs_info.txt", "*.json", "fio.err")
    measurements: ClassVar[Mapping[str, MeasurementKind]] = _kinds()
    factors: ClassVar[Mapping[str, Factor]] = {
        "files": Factor(
            28,
            "The files, which are written one after the other and then read.",
            minimum=1,
            maximum=10_000,
            wording="{} files",
        ),
        "file_mib": Factor(
            20_000,
            "The size of each file in MiB. A rehearsal divides it.",
            minimum=1,
            maximum=10_000_000,
            wording="of {} MiB",
            is_dataset=True,
            is_size=True,
        ),
        "record_kib": Factor(
            512, "The size of one access in KiB.", minimum=4, maximum=65_536, wording="{} KiB an access"
        ),
    }

    @classmethod
    def dataset(cls, levels: Mapping[str, Level], seed: int) -> Dataset:
        """Nothing in the engine: the files are on the client host alone (``needs``)."""
        return cls.nothing_kept("disk_stream", seed, f"_{levels['file_mib']}")

    def not_applicable(self, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:  # noqa: ARG002
        return unavailable.get("fio")

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        """By the paper's disk, 150 MiB/s in the mean, each way."""
        return 20 + int(levels["files"]) * (0.6 + 2 * int(levels["file_mib"]) / 150)

    def needs(self, levels: Mapping[str, Level], seed: int) -> Needs:  # noqa: ARG002  as every workload has it
        total = _bytes(levels)
        return Needs(sessions=0, read_bytes=total, written_bytes=total, client_bytes=total)

    def prepare(self, trial: Trial, engine: Engine) -> dict[str, object]:
        """The folder, and room for all files."""
        cluster = cast("HadoopCluster", engine)
        client, folder = cluster.platform.client, _folder(trial, cluster)
        look = script("microbenchmarks/room", folder=folder)
        remedy = (
            "it must be a folder on a data disk that the login may write: 'hadoop.data_dirs' in the platform's file"
        )
        free = int(cluster.on_each({client: look}, remedy)[client])
        wanted = _bytes(trial.levels)
        if free < wanted:
            raise EngineError(
                f"{cluster.where}: {folder} on host {client!r} has {size(free)} free, and the files take "
                f"{size(wanted)}: free space there, or choose fewer or smaller files"
            )
        return {"host": client, "folder": folder, "free_bytes": free}

    def job(self, trial: Trial, engine: Engine) -> Job:
        levels = {name: trial.levels[name] for name in ("files", "file_mib", "record_kib")}
        said = {"folder": _folder(trial, cast("HadoopCluster", engine)), **levels, "depth": DEPTH}
        return Job({"choices.sh": choices(said), "disk.sh": program("disk")}, {}, ". ./disk.sh\n")

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:  # noqa: ARG002
        rows = [line.split() for line in _text(output / "files.txt").splitlines()]
        times = [(row[0], float(row[2]), float(row[3]), int(row[4])) for row in rows]
        failed = sum(bool(status) for *_, status in times)
        begun, ended = (times[0][1], max(end for _, _, end, _ in times)) if times else (None, None)
        details = {"file_system": file_system(_text(output / "file_system.txt"), _text(output / "xfs_info.txt"))}
        if failed or len(times) < len(WAYS) * int(trial.levels["files"]):
            said = _text(output / "fio.err")[-500:]
            return Reading({}, failed, len(times), begun, ended, details=details | {"driver_errors": said})
        rates = {way: [_mib_per_s(output, way, n + 1) for n in range(int(trial.levels["files"]))] for way in WAYS}
        return Reading(
            {name: value for way in WAYS for name, value in _measured(way, rates[way]).items()},
            0,
            len(times),
            begun,
            ended,
            phases=tuple(_phase(way, times, _bytes(trial.levels)) for way in WAYS),
            details=details | {"mib_per_s": {way: [round(rate, 1) for rate in rates[way]] for way in WAYS}},
        )

    def restore(self, trial: Trial, engine: Engine) -> None:
        """No file left, where its driver was lost."""
        cluster = cast("HadoopCluster", engine)
        clean_up = script("microbenchmarks/clean_up", folder=_folder(trial, cluster))
        cluster.on_each({cluster.platform.client: clean_up}, "the login must own the folder")


def file_system(found: str, info: str) -> dict[str, str]:
    """Type and device of the folder's file system; of XFS its allocation groups, as ``xfs_info`` prints them."""
    kind, source, *_ = [*found.split(), "", ""]
    groups = re.search(r"\bagcount=(\d+)", info)
    return {"type": kind, "source": source, **({"agcount": groups[1]} if groups else {})}


def _measured(way: str, rates: list[float]) -> dict[str, float]:
    """All files are of one size: the mean rate over them is the harmonic one."""
    mean = len(rates) / sum(1 / rate for rate in rates)
    found = {f"{way}_mib_per_s": mean, f"{way}_first_mib_per_s": rates[0], f"{way}_last_mib_per_s": rates[-1]}
    return found | {f"{way}_last_over_first": rates[-1] / rates[0]}


def _mib_per_s(output: Path, way: str, number: int) -> float:
    """As fio tells it of the file, by the host's own clock."""
    (job,) = json_of(output / f"{way}.{number}.json")["jobs"]
    return float(job[way]["bw_bytes"]) / MIB


def _phase(way: str, times: list[tuple[str, float, float, int]], data_bytes: int) -> Phase:
    of_way = [(begun, ended) for each, begun, ended, _ in times if each == way]
    return Phase(way, of_way[0][0], of_way[-1][1], data_bytes)


def _bytes(levels: Mapping[str, Level]) -> int:
    return int(levels["files"]) * int(levels["file_mib"]) * MIB


def _folder(trial: Trial, cluster: HadoopCluster) -> str:
    """The trial's own, on the first data disk."""
    first, *_ = cluster.configuration.data_dirs(cluster.platform.client)
    return f"{first}/clusterbench_disk_stream/{trial.platform}/{trial.id}"


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


WORKLOAD = DiskStream()
