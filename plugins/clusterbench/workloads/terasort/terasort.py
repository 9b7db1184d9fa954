"""The TeraSort suite: TeraGen, TeraSort and TeraValidate on HDFS and YARN, one after the other (paper 002)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from clusterbench.base.datasets import Dataset, Storage
from clusterbench.base.factors import Factor, Level
from clusterbench.base.job import Job, json_of
from clusterbench.base.measurements import KERNELS, NO_CLOCK, About, MeasurementKind, Phase, Reading
from clusterbench.engines.hadoop import mapreduce_jobs as hadoop_jobs
from clusterbench.engines.hadoop.configuration import REPLICAS_MAX
from clusterbench.engines.hadoop.fsck import Placement, placement
from clusterbench.workloads.needs import Needs
from clusterbench.workloads.terasort import jobs, teragen, workers

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Engine

JOBS = ("teragen", "terasort", "teravalidate")
PROGRAMS = ("suite.sh", "jobs.sh", "attempts.awk")
DECIDED = {
    "dfs.replication": "is the factor 'replicas'; vary that",
    "mapreduce.terasort.output.replication": "is the factor 'output_replicas'; vary that",
    "mapreduce.map.output.compress": "is the factor 'map_output'; vary that",
    "mapreduce.map.output.compress.codec": "is the factor 'map_output'; vary that",
    "mapreduce.job.maps": "follows from 'slots' of the platform's file",
    "mapreduce.job.reduces": "follows from 'slots' of the platform's file",
    "mapreduce.input.fileinputformat.split.minsize": "is set by TeraValidate itself, which reads whole files",
}
"""Parameters that cannot be factors, as something else decides them."""
AS_INPUT = "as_input"
"""The level of ``output_replicas`` that means: as many as ``replicas``."""
KEPT, RESTARTED, REBOOTED = "kept", "restarted", "rebooted"
"""Levels of ``daemons``. The paper's machines were rebooted between repetitions (p. 10)."""
NEEDED_FOR = {RESTARTED: "daemons_restarted", REBOOTED: "machines_rebooted"}
"""Level of ``daemons`` -> what the platform must let be done."""
REBOOT_S = 600
"""Of a server, roughly, which tests its memory first."""
COMPRESSED_SHARE, PLAIN_SHARE = 0.5, 2.1
"""Map output on disk, of the dataset: the paper's 6.5 times is 3 + 3 + 0.5; plain, maps and reduces write it whole."""
SNAPPY = "org.apache.hadoop.io.compress.SnappyCodec"
BLOCK_BYTES = 256 * 2**20
"""As the template of hdfs-site.xml has it."""
FSCK_BYTES_PER_REPLICA, TASK_BYTES = 20, 70
"""Of the listing of blocks and of the histories of tasks, compressed: roughly, for the room that they take."""
WARNINGS = {
    "NUM_FAILED_MAPS": "map tasks failed and were run again",
    "NUM_FAILED_REDUCES": "reduce tasks failed and were run again",
    "NUM_KILLED_MAPS": "map tasks were killed and run again",
    "NUM_KILLED_REDUCES": "reduce tasks were killed and run again",
}


def _seconds(title: str, what: str, statement: str = "") -> MeasurementKind:
    return MeasurementKind("s", title, statement=statement, about=About(what, leaves_out=jobs.REST))


def _throughput(title: str, what: str) -> MeasurementKind:
    return MeasurementKind("MB/s", title, "higher", about=About(what, KERNELS))


class TeraSort(jobs.OnHadoop):
    """One trial is the whole suite, as TeraSort reads what TeraGen wrote, and TeraValidate what TeraSort wrote."""

    title = "TeraSort suite"
    decided = DECIDED
    runs_on: Literal["client", "etl"] = "client"
    outputs = (
        "jobs.txt",
        "*.err",
        "*.job.json",
        "*.counters.json",
        "*.conf.json",
        "*.tasks.json.gz",
        "attempts.txt.gz",
        "attempts.failed",
        "fsck.txt.gz",
        "report.txt",
        "kill.out",
    )
    measurements: ClassVar[Mapping[str, MeasurementKind]] = {
        "teragen_s": _seconds("TeraGen", "From the start of the program TeraGen to its end.", "TeraGen"),
        "terasort_s": _seconds("TeraSort", "From the start of the program TeraSort to its end."),
        "teravalidate_s": _seconds(
            "TeraValidate", "From the start of the program TeraValidate to its end.", "TeraValidate"
        ),
        "map_shuffle_s": _seconds(
            "map-shuffle",
            "The first part of TeraSort: until its last map task ends. It is `terasort_s` less `reduce_merge_s`.",
            "map-shuffle of TeraSort",
        ),
        "reduce_merge_s": _seconds(
            "reduce-merge",
            "The second part of TeraSort: from the end of its last map task to the end of the job, both on the clock "
            "of the host that managed the job.",
            "reduce-merge of TeraSort",
        ),
        "suite_s": _seconds("All three", "The sum of the three programs' times."),
        "throughput_gb_per_s": MeasurementKind(
            "GB/s",
            "TeraSort throughput",
            "higher",
            about=About("Bytes of the dataset, without replicas, divided by `terasort_s`."),
        ),
        "map_output_compression": MeasurementKind(
            "1",
            "Compression ratio of map output",
            "higher",
            about=About("Bytes of map output before compression, divided by those after it.", NO_CLOCK),
        ),
        "local_maps_share": MeasurementKind(
            "1",
            "Data-local map tasks of TeraSort",
            "higher",
            about=About("Map tasks that ran on a worker with a replica of their block, of all map tasks.", NO_CLOCK),
        ),
        "reduce_merge_over_teragen": MeasurementKind(
            "1",
            "reduce-merge over TeraGen",
            "neither",
            about=About("`reduce_merge_s` divided by `teragen_s`: both write the dataset with its replicas."),
        ),
        "teragen_disk_write_mb_per_s": _throughput(
            "Written by TeraGen, all machines", "Bytes that went to the disks of all machines in TeraGen, by its time."
        ),
        "teragen_network_sent_mb_per_s": _throughput(
            "Sent in TeraGen, all machines",
            "Bytes that all machines sent over their networks in TeraGen, by its time. Absent on a single machine.",
        ),
        "teravalidate_disk_read_mb_per_s": _throughput(
            "Read by TeraValidate, all machines",
            "Bytes that came from the disks of all machines in TeraValidate, by its time.",
        ),
        "teravalidate_network_share": MeasurementKind(
            "1",
            "TeraValidate: sent between machines over the dataset",
            about=About(
                "Bytes sent over the networks in TeraValidate, divided by those of the dataset. Absent on a single "
                "machine.",
                KERNELS,
            ),
        ),
        "slowest_worker_over_median": MeasurementKind(
            "1",
            "Seconds a task, slowest worker over the median one",
            about=About(
                "The mean time of a task on the slowest worker, divided by that on the median worker; of the stage in "
                "which it is largest.",
                "hosts of the tasks",
                "stages with fewer tasks than workers, and tasks that did not succeed",
            ),
        ),
        "blocks_max_over_mean": MeasurementKind(
            "1",
            "Blocks of the fullest worker over the mean",
            about=About(
                "Replicas of blocks on the worker that has most, divided by the mean of all workers.", NO_CLOCK
            ),
        ),
        "others_memory_share": jobs.OTHERS_MEMORY,
        "driver_cpu_share": jobs.CLIENT_CPU,
    }
    factors: ClassVar[Mapping[str, Factor]] = {
        "rows": Factor(
            10_000_000,
            "The records of 100 bytes: 10 for the key, 90 for the rest.",
            minimum=1000,
            maximum=10**12,
            wording="{} rows",
            is_dataset=True,
            is_size=True,
        ),
        "replicas": Factor(
            3,
            "The copies of each block of TeraGen's and TeraSort's output. Not applicable if there are fewer "
            "physical hosts.",
            minimum=1,
            maximum=REPLICAS_MAX,
            wording="{} replicas",
        ),
        "output_replicas": Factor(
            AS_INPUT,
            'The copies of TeraSort\'s output alone. Write the number in quotes: `"1"`.',
            choices=(AS_INPUT, *(str(count) for count in range(1, REPLICAS_MAX + 1))),
        ),
        "map_output": Factor("snappy", "Whether map output is compressed.", choices=("snappy", "plain")),
        "pause_s": Factor(
            5,
            "The seconds of rest between two jobs.",
            minimum=0,
            maximum=3600,
            rehearsed_least=5,
            wording="{} s of rest",
        ),
        "daemons": Factor(
            KEPT,
            "Whether Hadoop's daemons keep running from trial to trial, or all are restarted before each, or also the "
            "machines are rebooted (paper 002, page 10).",
            choices=(KEPT, RESTARTED, REBOOTED),
            wording="daemons {}",
            is_later=True,
        ),
    }

    @staticmethod
    def dataset(levels: Mapping[str, Level], seed: int) -> Dataset:
        """What TeraGen writes, without a seed. With three replicas raw disk space is 6.5 times as much (paper 002)."""
        rows = int(levels["rows"])
        intermediate = COMPRESSED_SHARE if levels["map_output"] == "snappy" else PLAIN_SHARE
        factor = _replicas(levels) + _output_replicas(levels) + intermediate
        size = rows * teragen.ROW_BYTES
        return Dataset(
            name="terasort",
            table=f"terasort_{rows}",
            rows=rows,
            seed=seed,
            bytes_expected=int(size * factor),
            storage=Storage(""),
            is_of_trial=True,
            space=f"{factor:g} times its {size / 1e9:,g} GB: {_replicas(levels)} copies of the input, "
            f"{_output_replicas(levels)} of the output, and map output",
        )

    def answers(  # each answers alike
        self,
        dataset: Dataset,
        trials: Sequence[Trial],  # noqa: ARG002
        engine: Engine | None = None,  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Rows and their checksum, by a generator of our own, independent of Hadoop."""
        if dataset.rows > teragen.COMPUTED_ROWS_MAX:
            return None
        answer = {"rows": dataset.rows, "checksum": teragen.checksum(dataset.rows)}
        return {**answer, "source": "the same records, made without Hadoop"}

    def not_applicable(self, levels: Mapping[str, Level], unavailable: Mapping[str, str]) -> str | None:
        restart = unavailable.get(NEEDED_FOR.get(str(levels.get("daemons")), ""))
        replicas = unavailable.get(f"replicas_{max(_replicas(levels), _output_replicas(levels))}")
        return unavailable.get("workers") or restart or replicas

    def estimate_s(self, levels: Mapping[str, Level]) -> float:
        """The paper's 30 TB took 5122 s in all on 4 VMs per host, its 1 TB 239 s; the lab's GB takes two minutes."""
        rows = int(levels["rows"])
        before = {RESTARTED: jobs.RESTART_S, REBOOTED: REBOOT_S + jobs.RESTART_S}.get(str(levels.get("daemons")), 0)
        before += jobs.configuring_s(levels)
        if rows >= 10**9:
            return before + 100 + 2 * int(levels["pause_s"]) + rows * 5100 / 300e9
        return before + 60 + 2 * int(levels["pause_s"]) + rows * 110 / 10e6

    def needs(self, levels: Mapping[str, Level], seed: int) -> Needs:
        """TeraSort reads what TeraGen wrote and its own map output, TeraValidate what TeraSort wrote."""
        size, dataset = int(levels["rows"]) * teragen.ROW_BYTES, self.dataset(levels, seed)
        map_output = dataset.bytes_expected - size * (_replicas(levels) + _output_replicas(levels))
        blocks = -(-size // BLOCK_BYTES)
        return Needs(
            sessions=0,
            read_bytes=2 * size + map_output,
            written_bytes=dataset.bytes_expected,
            temporary_bytes=dataset.bytes_expected,
            output_bytes=blocks * max(FSCK_BYTES_PER_REPLICA * _replicas(levels), TASK_BYTES),
            client_bytes=blocks * (FSCK_BYTES_PER_REPLICA * _replicas(levels) + TASK_BYTES),
            declared_s=2.0 * int(levels["pause_s"]),
        )

    def prepare(self, trial: Trial, engine: Engine) -> dict[str, object]:
        """No path that is left over, room for all of it, and disks at rest."""
        cluster = jobs.hadoop(engine)
        daemons = trial.levels.get("daemons", KEPT)
        rebooted: dict[str, object] = {}
        if daemons == RESTARTED:
            cluster.restart()
        elif daemons == REBOOTED:
            rebooted = {"rebooted_s": cluster.reboot()}
        known = jobs.prepare(trial, cluster, self.dataset(trial.levels, trial.seed))
        return {**known, **rebooted, "daemons": daemons}

    def job(self, trial: Trial, engine: Engine) -> Job:
        cluster = jobs.hadoop(engine)
        slots = cluster.slots
        common = {**cluster.job_settings, **trial.settings, "dfs.replication": _replicas(trial.levels)}
        gen = {**common, "mapreduce.job.maps": slots}
        sort = {
            **common,
            "mapreduce.job.reduces": slots,
            "mapreduce.terasort.output.replication": _output_replicas(trial.levels),
            "mapreduce.map.output.compress": str(trial.levels["map_output"] == "snappy").lower(),
            "mapreduce.map.output.compress.codec": SNAPPY,
        }
        own = {"rows": trial.levels["rows"], "history_dir": cluster.history_dir}
        options = {"teragen_options": gen, "terasort_options": sort, "teravalidate_options": common}
        return jobs.job(trial, cluster, PROGRAMS, own, options)

    def read(self, output: Path, trial: Trial, expected: Mapping[str, Any]) -> Reading:
        ran = jobs.ran(output)
        times = {name: ended - begun for name, (begun, ended, _, _) in ran.items()}
        begun_s, ended_s = jobs.window(ran)
        if broken_off := jobs.not_as_asked(output, trial, JOBS) or jobs.broken_off(output, ran, JOBS):
            return broken_off
        told = {name: hadoop_jobs.counters(json_of(output / f"{name}.counters.json")) for name in JOBS}
        tasks = json.loads(gzip.decompress((output / "terasort.tasks.json.gz").read_bytes()))
        phases = hadoop_jobs.phases(times["terasort"], json_of(output / "terasort.job.json"), tasks)
        before = json_of(output / "before.json").get("workload") or {}
        worked = workers.stages(_streamed(output / "attempts.txt.gz"), before.get("names") or {})
        found = placement(_lines(output / "fsck.txt.gz"), before.get("machines") or {})
        answer = {"rows": told["teravalidate"]["MAP_INPUT_RECORDS"], "checksum": f"{told['teragen']['CHECKSUM']:x}"}
        dataset_bytes = int(trial.levels["rows"]) * teragen.ROW_BYTES
        cpu_s = sum(cpu for *_, cpu in ran.values())
        measured = {
            **{f"{name}_s": times[name] for name in JOBS},
            "map_shuffle_s": phases.map_shuffle_s,
            "reduce_merge_s": phases.reduce_merge_s,
            "suite_s": sum(times.values()),
            "throughput_gb_per_s": dataset_bytes / 1e9 / times["terasort"],
            "reduce_merge_over_teragen": phases.reduce_merge_s / times["teragen"],
            "map_output_compression": _compression(told["terasort"]),
            "local_maps_share": told["terasort"].get("DATA_LOCAL_MAPS", 0) / len(hadoop_jobs.map_tasks(tasks)),
            "blocks_max_over_mean": found.blocks_of_fullest_worker / found.blocks_per_worker
            if found.blocks_per_worker
            else 0.0,
            "driver_cpu_share": cpu_s / sum(times.values()),
        }
        if worked:
            measured["slowest_worker_over_median"] = max(stage.slowest_over_median for stage in worked)
        wrong = _wrong(output, trial, told, answer, expected)
        return Reading(
            measured,
            0,
            len(JOBS),
            begun_s,
            ended_s,
            invalid=tuple(wrong),
            phases=_phases(ran, phases, dataset_bytes),
            details={
                **({} if wrong else {"answer": answer}),
                "jobs": jobs.told(output, JOBS),
                "server_settings": jobs.ran_with(output, trial, JOBS),
                "warnings": [*_warnings(told), *jobs.warnings(before), *_said_of_attempts(output)],
                "counters": told,
                "expected_bytes": expected_bytes(trial.levels, told["terasort"], int(before.get("workers") or 1)),
                "work_by_worker": [stage.as_json() for stage in worked],
                "facts": {"block_placement": _placement_facts(trial, found), **_work_facts(trial, worked)},
            },
        )

    def restore(self, trial: Trial, engine: Engine) -> None:
        """Its applications ended, where its driver was lost, and nothing of it left in HDFS."""
        jobs.restore(trial, jobs.hadoop(engine))


def expected_bytes(levels: Mapping[str, Level], sort: Mapping[str, int], workers: int) -> dict[str, dict[str, float]]:
    """Phase -> what -> bytes over all hosts, as the paper integrates its Figures 4 and 5.

    Network is between workers: each replica but the first, and the map output for reduces on other workers.
    TeraValidate reads whole files, whatever replica of a block: with three, at most two thirds come from other
    workers (p. 12; the paper found 55 % of the dataset, p. 17).
    """
    size = int(levels["rows"]) * teragen.ROW_BYTES
    replicas, output_replicas = _replicas(levels), _output_replicas(levels)
    map_output = sort["REDUCE_SHUFFLE_BYTES"]
    shuffled = map_output * (workers - 1) / workers
    return {
        "TeraGen": {"disk_write": replicas * size, "network": (replicas - 1) * size, "loopback": replicas * size},
        "map-shuffle": {"disk_read": size, "disk_write": 2 * map_output, "network": shuffled},
        "reduce-merge": {
            "disk_read": map_output,
            "disk_write": output_replicas * size,
            "network": (output_replicas - 1) * size,
            "loopback": output_replicas * size,
        },
        "TeraValidate": {
            "disk_read": size,
            "network_at_most": size * (output_replicas - 1) / output_replicas,
            "loopback": size,
        },
    }


def _replicas(levels: Mapping[str, Level]) -> int:
    return int(levels["replicas"])


def _output_replicas(levels: Mapping[str, Level]) -> int:
    chosen = levels["output_replicas"]
    return _replicas(levels) if chosen == AS_INPUT else int(chosen)


# Reading.


def _lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode(errors="replace").splitlines() if path.exists() else []


def _streamed(path: Path) -> Iterator[str]:
    """Its lines, one at a time: a task each."""
    if path.exists():
        with gzip.open(path, "rt") as lines:
            yield from lines


def _said_of_attempts(output: Path) -> list[str]:
    path = output / "attempts.failed"
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def _compression(sort: Mapping[str, int]) -> float:
    return sort["MAP_OUTPUT_BYTES"] / sort["MAP_OUTPUT_MATERIALIZED_BYTES"]


def _phases(
    ran: Mapping[str, tuple[float, float, int, float]], phases: hadoop_jobs.Phases, dataset_bytes: int
) -> tuple[Phase, ...]:
    begun, ended = ran["terasort"][:2]
    middle = begun + phases.map_shuffle_s
    return (
        Phase("TeraGen", *ran["teragen"][:2], dataset_bytes),
        Phase("map-shuffle", begun, middle, dataset_bytes),
        Phase("reduce-merge", middle, ended, dataset_bytes),
        Phase("TeraValidate", *ran["teravalidate"][:2], dataset_bytes),
    )


def _wrong(
    output: Path,
    trial: Trial,
    told: Mapping[str, Mapping[str, int]],
    answer: Mapping[str, Any],
    expected: Mapping[str, Any],
) -> list[str]:
    """Why the sorted data must not be believed."""
    report = (output / "report.txt").read_text() if (output / "report.txt").exists() else ""
    sorted_checksum = hadoop_jobs.checksum(report)
    problems = [f"TeraValidate: {line}" for line in hadoop_jobs.disorder(report)[:3]]
    rows = int(trial.levels["rows"])
    if answer["rows"] != rows:
        problems.append(f"TeraGen was to make {rows:,} rows, the sorted output has {answer['rows']:,}")
    if sorted_checksum != answer["checksum"]:
        problems.append(
            f"the sorted output is not what was generated: TeraValidate's checksum is {sorted_checksum}, "
            f"TeraGen's {answer['checksum']}"
        )
    if expected and expected["checksum"] != answer["checksum"]:
        problems.append(
            f"TeraGen's checksum is {answer['checksum']}, and {expected['checksum']} by {expected['source']}"
        )
    if told["terasort"].get("REDUCE_OUTPUT_RECORDS") != rows:
        problems.append(f"TeraSort wrote {told['terasort'].get('REDUCE_OUTPUT_RECORDS'):,} of {rows:,} rows")
    return problems


def _warnings(told: Mapping[str, Mapping[str, int]]) -> list[str]:
    return [
        f"{job}: {counters[name]} {words}"
        for job, counters in told.items()
        for name, words in WARNINGS.items()
        if counters.get(name)
    ]


def _placement_facts(trial: Trial, found: Placement) -> dict[str, Any]:
    """A row for the suite ``block_placement``."""
    facts = {**asdict(found), "examples": "; ".join(found.examples) or "none"}
    return {"trial": f"{trial.platform}: {trial.id}", **facts}


def _work_facts(trial: Trial, worked: Sequence[workers.Stage]) -> dict[str, dict[str, Any]]:
    """A row for the suite ``work_by_worker``; none where nobody told which worker ran what."""
    if not worked:
        return {}
    row = {"trial": f"{trial.platform}: {trial.id}", "slow_workers": workers.slow_workers(worked)}
    return {"work_by_worker": row}


WORKLOAD = TeraSort()
