"""What workloads have in common that submit jobs to a Hadoop: a path and a tag of a trial's own, and what jobs said."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from clusterbench.base.datasets import Dataset, too_small
from clusterbench.base.errors import EngineError
from clusterbench.base.factors import Level, server_settings
from clusterbench.base.job import Job, json_of
from clusterbench.base.measurements import About, MeasurementKind, Reading
from clusterbench.base.paths import own_or_built_in
from clusterbench.base.scripts import Value, assignments
from clusterbench.engines.hadoop import daemons, job_parameters
from clusterbench.engines.hadoop import mapreduce_jobs as hadoop_jobs
from clusterbench.workloads.made_by_trials import MadeByTrials

if TYPE_CHECKING:
    from clusterbench.base.records import Trial
    from clusterbench.engines import Engine
    from clusterbench.engines.hadoop.common import HadoopEngine
    from clusterbench.spec import Platform

RESTART_S = 120
"""Of all daemons, roughly: a NameNode reads what it knows, DataNodes and NodeManagers register."""
REST = "the rest between the jobs, and what is asked of Hadoop after them"
OTHERS_MEMORY = MeasurementKind(
    "1",
    "Memory of YARN that other people's applications had",
    "neither",
    about=About(
        "On a Hadoop that somebody else runs: memory times seconds that other applications held during the trial, "
        "divided by what YARN had.",
        "ResourceManager",
    ),
)
CLIENT_CPU = MeasurementKind(
    "1",
    "CPU of the client, in processors",
    about=About("Processor time of the programs on the client host that start the jobs, divided by the jobs' time."),
)

UNTOLD = ("NOTE: ", "\tat ", "\t... ")
"""Lines of a client that say nothing of the cause: Java's own, and where in Hadoop's code it was."""


class OnHadoop(MadeByTrials):
    """A workload whose trials are jobs of a Hadoop: which of its parameters can be factors."""

    decided: ClassVar[Mapping[str, str]]
    """Parameters that cannot be factors, and in words what else decides them."""

    @staticmethod
    def goes_with_jobs(setting: str) -> bool:
        return job_parameters.is_of_jobs(setting)

    def why_not_given(self, setting: str, platform: Platform) -> str:
        return job_parameters.why_not(setting, self.decided, platform)


def path_of(trial: Trial, cluster: HadoopEngine) -> str:
    """In HDFS. The trial's own, so that a path that is there was left by another try of the same."""
    return f"{cluster.base_path}/{trial.platform}/{trial.id}"


def tag_of(trial: Trial) -> str:
    """By which YARN finds the trial's applications; YARN wants small letters."""
    return "clusterbench-" + hashlib.sha256(f"/clusterbench/{trial.platform}/{trial.id}".encode()).hexdigest()[:16]


def prepare(trial: Trial, cluster: HadoopEngine, dataset: Dataset) -> dict[str, object]:
    """No path that is left over, room for all of it, and disks at rest. Returns what is known of the cluster then."""
    path = path_of(trial, cluster)
    left = cluster.exists(path)
    if left:  # ours by its name
        cluster.delete(path)
    chores, free = cluster.settle(), cluster.free_bytes()
    if dataset.bytes_expected > free:
        raise EngineError(too_small(trial.platform, dataset, free))
    return {
        "path": path,
        "recovered": [f"HDFS had {path}, left by an earlier try that did not end; it was removed"] if left else [],
        "chores": chores,
        "free_bytes": free,
        "page_cache": cluster.empty_page_cache(),
        **_unknown(trial, cluster),
        "cluster_slots": cluster.slots,
        "workers": len(cluster.places),
        "machines": {address: place.machine for address, place in cluster.places.items()},
        "names": {address: place.name for address, place in cluster.places.items()},
    }


def _unknown(trial: Trial, cluster: HadoopEngine) -> dict[str, list[str]]:
    """Of the parameters that are factors, those that no daemon tells, be it as a default; nothing where there are none.

    The configuration of a job, or of a daemon, has whatever it was given, so that it does not show whether anything
    reads that.
    """
    wanted = job_parameters.wanted(trial.levels)
    unknown = sorted(wanted.keys() - cluster.settings(wanted).keys()) if wanted else []
    unknown += cluster.parameters_unknown
    return {"parameters_unknown": unknown} if unknown else {}


def configuring_s(levels: Mapping[str, Level]) -> int:
    """What the restarts take, before and after a trial, where parameters of daemons are among the factors."""
    return 0 if all(map(job_parameters.is_of_jobs, server_settings(levels))) else 2 * RESTART_S


def warnings(before: Mapping[str, Any]) -> list[str]:
    """``before``: as ``prepare`` has returned it."""
    return [
        f"{name} is in no configuration and no default that this Hadoop's daemons tell; if it is misspelled, nothing "
        "reads it, and its values differ by chance alone"
        for name in before.get("parameters_unknown", ())
    ]


def hadoop(engine: Engine) -> HadoopEngine:
    return cast("HadoopEngine", engine)


def job(
    trial: Trial,
    cluster: HadoopEngine,
    programs: Sequence[str],
    own: Mapping[str, object],
    options: Mapping[str, Mapping[str, object]],
) -> Job:
    """The first of ``programs``. In ``choices.sh`` are the choices of every workload, its own, and options of jobs.

    Parameters that are factors are given to every job, instead of what the experiment's ``settings`` have of them; but
    those of daemons, which have them by then.
    """
    asked = job_parameters.wanted(trial.levels)
    said = {
        "tag": tag_of(trial),
        "path": path_of(trial, cluster),
        "pause_s": trial.levels["pause_s"],
        "history_url": cluster.url(daemons.JOBHISTORY) + "/ws/v1/history/mapreduce/jobs",
        **own,
    }
    lists: dict[str, Value] = {
        name: [f"-D{key}={value}" for key, value in settings.items() if key not in asked]
        for name, settings in options.items()
    }
    lists["asked"] = [f"{key}={value}" for key, value in asked.items()]
    choices = assignments({**{name: str(value) for name, value in said.items()}, **lists})
    texts = {name: own_or_built_in(f"include/hadoop/{name}").read_text() for name in programs}
    return Job({"environment.sh": cluster.environment(), "choices.sh": choices, **texts}, {}, f". ./{programs[0]}\n")


def restore(trial: Trial, cluster: HadoopEngine) -> None:
    """Its applications ended, where its driver was lost, and nothing of it left in HDFS."""
    cluster.clear(tag_of(trial))
    cluster.delete(path_of(trial, cluster))


# Reading.


def ran(output: Path) -> dict[str, tuple[float, float, int, float]]:
    """Job -> begin, end (epoch seconds), exit status, processor seconds of the client."""
    path = output / "jobs.txt"
    found = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        name, begun, ended, status, *cpu = line.split()
        found[name] = (float(begun), float(ended), int(status), sum(map(float, cpu)))
    return found


def ran_with(output: Path, trial: Trial, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Job -> parameter that is a factor -> value, as the job has run, of the jobs of which it was told."""
    wanted = job_parameters.wanted(trial.levels)
    found = {name: job_parameters.of_job(json_of(output / f"{name}.conf.json")) for name in names}
    return {job: {name: has[name] for name in wanted if name in has} for job, has in found.items() if has and wanted}


def not_as_asked(output: Path, trial: Trial, names: Sequence[str]) -> Reading | None:
    """What is read where a job has not run with the parameters that are factors; None where all have."""
    wanted, found = job_parameters.wanted(trial.levels), ran_with(output, trial, names)
    problems = [words for job, has in found.items() for words in job_parameters.not_taken(job, has, wanted)]
    if not problems:
        return None
    begun_s, ended_s = window(ran(output))
    details: dict[str, object] = {"server_settings": found, "jobs": told(output, names)}
    return Reading({}, 1, len(found), begun_s, ended_s, failed=tuple(problems), details=details)


def broken_off(
    output: Path, known: Mapping[str, tuple[float, float, int, float]], names: Sequence[str]
) -> Reading | None:
    """What is read where a job failed, or not all were begun; None where all have ended well. ``known``: as ``ran``."""
    failed = [name for name, (_, _, status, _) in known.items() if status]
    if not failed and set(known) == set(names):
        return None
    begun_s, ended_s = window(known)
    words = said(output, failed[0]) if failed else ""
    details: dict[str, object] = {"driver_errors": words, "jobs": told(output, names)} if words else {}
    return Reading({}, len(failed), len(known), begun_s, ended_s, details=details)


def window(known: Mapping[str, tuple[float, float, int, float]]) -> tuple[float | None, float | None]:
    """From the first job's begin to the last one's end; nothing where none was begun."""
    if not known:
        return None, None
    return min(begun for begun, *_ in known.values()), max(ended for _, ended, *_ in known.values())


def said(output: Path, job: str) -> str:
    """Why a job failed: the cause in words, where it is a known one, and the client's last words."""
    words = (output / f"{job}.err").read_text(errors="replace") if (output / f"{job}.err").exists() else ""
    lines = [line for line in words.splitlines() if line.strip() and not line.startswith(UNTOLD)]
    last = "\n".join(lines[-8:])
    # The cause comes last: of a long text the end is kept.
    return "\n".join(part for part in (last, f"{job}: {hadoop_jobs.explain(words)}".rstrip(": ")) if part)


def told(output: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Job -> YARN application and its state, as the job history has them."""
    found = {}
    for name in names:
        if job := json_of(output / f"{name}.job.json").get("job"):
            found[name] = {"application": str(job["id"]).replace("job_", "application_"), "state": job["state"]}
    return found
