"""TestDFSIO: Hadoop's own test of HDFS by itself. As many map tasks as files write one each, then each reads one.

What it prints of itself is the mean of what single tasks saw while they wrote; beside it stands what went through HDFS
from start to end of a job, and what went through the workers' disks meanwhile: data that is read soon after it was
written comes from memory, as far as it fits there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from clusterbench.base.datasets import Dataset, Storage
from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job, json_of
from clusterbench.base.measurements import DRIVER_HOST, KERNELS, About, MeasurementKind, Phase, Reading
from clusterbench.engines.hadoop import mapreduce_jobs
from clusterbench.engines.hadoop.configuration import REPLICAS_MAX
from clusterbench.workloads.needs import Needs
from clusterbench.workloads.terasort import jobs

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Engine

JOBS = ("write", "read")
PROGRAMS = ("dfsio.sh", "jobs.sh")
DECIDED = {
    "dfs.replication": "is the factor 'replicas'; vary that",
    "mapreduce.job.maps": "follows from the factor 'files'; vary that",
    "mapreduce.job.reduces": "is 1 in TestDFSIO, which sums up what its tasks tell",
}
"""Parameters that cannot be factors, as something else decides them."""
BYTES_PER_MIB = 2**20
PRINTED = {
    "mib_per_s_of_a_task": re.compile(r"Throughput mb/sec:\s*([0-9.]+)"),
    "mib_per_s_spread": re.compile(r"IO rate std deviation:\s*([0-9.]+)"),
    "processed_mib": re.compile(r"Total MBytes processed:\s*([0-9.]+)"),
}
"""Its own words; its megabytes are of 2**20 bytes."""
MAP_TASK_S, START_S = 4, 40
"""Of a job, roughly: what starting it takes, and a task beside what it writes."""
GUESSED_MIB_PER_S = 50
"""Of a task, for a plan."""


TASKS = "hosts of the tasks"
CACHED = "what is in memory only"


def _rate(title: str, what: str, leaves_out: str = "", *, clock: str = DRIVER_HOST) -> MeasurementKind:
    return MeasurementKind("MiB/s", title, "higher", about=About(what, clock, leaves_out))


class Dfsio(jobs.OnHadoop):
    """One trial writes the files and reads them, as TestDFSIO reads what it wrote."""

    title = "TestDFSIO"
    decided = DECIDED
    runs_on: Literal["client", "etl"] = "client"
    outputs = (
        "jobs.txt",
        "*.err",
        "*.job.json",
        "*.counters.json",
        "*.conf.json",
        "*.tasks.json.gz",
        "write.txt",
        "read.txt",
        "kill.out",
    )
    measurements: ClassVar[Mapping[str, MeasurementKind]] = {
        "write_mib_per_s": _rate(
            "Written, all files, from start to end of the job",
            "MiB of all files divided by the time of the job that writes them. Replicas do not count.",
        ),
        "read_mib_per_s": _rate(
            "Read, all files, from start to end of the job",
            "MiB of all files divided by the time of the job that reads them.",
        ),
        "write_mib_per_s_of_a_task": _rate(
            "Written by a task, as TestDFSIO prints it",
            "MiB written divided by the sum of the tasks' own times: TestDFSIO's *Throughput*.",
            "what starting the job and its tasks takes",
            clock=TASKS,
        ),
        "read_mib_per_s_of_a_task": _rate(
            "Read by a task, as TestDFSIO prints it",
            "MiB read divided by the sum of the tasks' own times: TestDFSIO's *Throughput*.",
            "what starting the job and its tasks takes",
            clock=TASKS,
        ),
        "write_mib_per_s_spread": MeasurementKind(
            "MiB/s",
            "Standard deviation of what tasks wrote",
            about=About(
                "How far the tasks' own rates differ while they write: TestDFSIO's *IO rate std deviation*.", TASKS
            ),
        ),
        "read_mib_per_s_spread": MeasurementKind(
            "MiB/s",
            "Standard deviation of what tasks read",
            about=About(
                "How far the tasks' own rates differ while they read: TestDFSIO's *IO rate std deviation*.", TASKS
            ),
        ),
        "write_s": MeasurementKind(
            "s",
            "Writing",
            statement="TestDFSIO write",
            about=About(
                "From the start of the program that writes to its end, with starting the job.", leaves_out=jobs.REST
            ),
        ),
        "read_s": MeasurementKind(
            "s",
            "Reading",
            statement="TestDFSIO read",
            about=About(
                "From the start of the program that reads to its end, with starting the job.", leaves_out=jobs.REST
            ),
        ),
        "write_disk_write_mb_per_s": MeasurementKind(
            "MB/s",
            "Written to disks while writing, all machines",
            "higher",
            about=About(
                "Bytes that went to the disks of all machines while the job wrote, by its time.", KERNELS, CACHED
            ),
        ),
        "read_disk_read_mb_per_s": MeasurementKind(
            "MB/s",
            "Read from disks while reading, all machines",
            "higher",
            about=About(
                "Bytes that came from the disks of all machines while the job read, by its time.", KERNELS, CACHED
            ),
        ),
        "others_memory_share": jobs.OTHERS_MEMORY,
        "driver_cpu_share": jobs.CLIENT_CPU,
    }
    factors: ClassVar[Mapping[str, Factor]] = {
        "files": Factor(
            8,
            "The files, and so the map tasks that run at once.",
            minimum=1,
            maximum=100_000,
            wording="{} files",
            is_concurrency=True,
            is_dataset=True,
        ),
        "file_mib": Factor(
            1024,
            "The size of each file in MiB. A rehearsal divides it.",
            minimum=1,
            maximum=10_000_000,
            wording="{} MiB each",
            is_size=True,
            is_dataset=True,
        ),
        "replicas": Factor(
            3,
            "The copies of each block. Not applicable if there are fewer physical hosts.",
            minimum=1,
            maximum=REPLICAS_MAX,
            wording="{} replicas",
        ),
        "pause_s": Factor(
            5,
            "The seconds of rest between two jobs.",
            minimum=0,
            maximum=3600,
            rehearsed_least=5,
            wording="{} s of rest",
        ),
    }

    @staticmethod
    def dataset(levels: Mapping[str, Level], seed: int) -> Dataset:
        """What it writes, without a seed; its rows are files."""
        files, size = int(levels["files"]), int(levels["file_mib"]) * BYTES_PER_MIB
        return Dataset(
            name="dfsio",
            table=f"dfsio_{files}_{levels['file_mib']}",
            rows=files,
            seed=seed,
            bytes_expected=files * size * int(levels["replicas"]),
            storage=Storage(""),
            is_of_trial=True,
            space=f"{levels['replicas']} copies of {files} files of {levels['file_mib']} MiB",
        )

    def not_applicable(self, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
        return unavailable.get("workers") or unavailable.get(f"replicas_{levels['replicas']}")

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        """As if all files were written at once, each by a task."""
        writing_s = int(levels["file_mib"]) / GUESSED_MIB_PER_S
        return jobs.configuring_s(levels) + 2 * (START_S + MAP_TASK_S + writing_s) + int(levels["pause_s"])

    def needs(self, levels: Mapping[str, Level], seed: int) -> Needs:
        dataset = self.dataset(levels, seed)
        return Needs(
            sessions=0,
            read_bytes=dataset.bytes_expected // int(levels["replicas"]),
            written_bytes=dataset.bytes_expected,
            temporary_bytes=dataset.bytes_expected,
            output_bytes=0,
            client_bytes=0,
            declared_s=float(int(levels["pause_s"])),
        )

    def prepare(self, trial: Trial, engine: Engine) -> dict[str, object]:
        return jobs.prepare(trial, jobs.hadoop(engine), self.dataset(trial.levels, trial.seed))

    def job(self, trial: Trial, engine: Engine) -> Job:
        cluster = jobs.hadoop(engine)
        settings = {**cluster.job_settings, **trial.settings, "dfs.replication": trial.levels["replicas"]}
        own = {name: trial.levels[name] for name in ("files", "file_mib")}
        return jobs.job(trial, cluster, PROGRAMS, own, {"options": settings})

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:  # noqa: ARG002  as every one
        ran = jobs.ran(output)
        begun_s, ended_s = jobs.window(ran)
        if broken_off := jobs.not_as_asked(output, trial, JOBS) or jobs.broken_off(output, ran, JOBS):
            return broken_off
        asked_mib = int(trial.levels["files"]) * int(trial.levels["file_mib"])
        times = {name: ended - begun for name, (begun, ended, _, _) in ran.items()}
        measured = {"driver_cpu_share": sum(cpu for *_, cpu in ran.values()) / sum(times.values())}
        wrong = []
        for name in JOBS:
            printed = _printed(output / f"{name}.txt")
            if round(printed.pop("processed_mib", 0.0)) != asked_mib:
                wrong.append(f"TestDFSIO did not {name} {asked_mib:,} MiB: see {name}.txt")
            measured |= {f"{name}_{what}": value for what, value in printed.items()}
            measured |= {f"{name}_s": times[name], f"{name}_mib_per_s": asked_mib / times[name]}
        phases = tuple(Phase(name, *ran[name][:2], float(asked_mib * BYTES_PER_MIB)) for name in JOBS)
        counters = {name: mapreduce_jobs.counters(json_of(output / f"{name}.counters.json")) for name in JOBS}
        return Reading(
            measured,
            0,
            len(JOBS),
            begun_s,
            ended_s,
            invalid=tuple(wrong),
            phases=phases,
            details={
                "jobs": jobs.told(output, JOBS),
                "server_settings": jobs.ran_with(output, trial, JOBS),
                "warnings": jobs.warnings(json_of(output / "before.json").get("workload") or {}),
                "counters": counters,
                "expected_bytes": expected_bytes(trial.levels),
            },
        )

    def restore(self, trial: Trial, engine: Engine) -> None:
        """Its applications ended, where its driver was lost, and nothing of it left in HDFS."""
        jobs.restore(trial, jobs.hadoop(engine))


def expected_bytes(levels: Mapping[str, Level]) -> dict[str, dict[str, float]]:
    """Phase -> what -> bytes over all hosts, were nothing in memory."""
    size, replicas = int(levels["files"]) * int(levels["file_mib"]) * BYTES_PER_MIB, int(levels["replicas"])
    return {
        "write": {"disk_write": replicas * size, "network": (replicas - 1) * size, "loopback": replicas * size},
        "read": {"disk_read": size, "network_at_most": size, "loopback": size},
    }


def _printed(file: Path) -> dict[str, float]:
    """What TestDFSIO says of itself, as far as it is there."""
    text = file.read_text(errors="replace") if file.exists() else ""
    found = {name: pattern.search(text) for name, pattern in PRINTED.items()}
    return {name: float(match[1]) for name, match in found.items() if match}


WORKLOAD = Dfsio()
