"""One load from several hosts: hosts with the role ``load`` drive their share of the clients beside the client host.

They begin at one time, told to each on its own clock, and measure the same window. What they did is summed up, and told
by host. The client host's clock is the one that counts: how far the others are off is measured before each load, and
what they log is moved by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterbench.base.errors import HostError
from clusterbench.base.job import Job
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.drivers import pgbench, pgbench_log
from clusterbench.hosts.detached_job import DetachedJob
from clusterbench.workloads import Share, Spread, Workload

if TYPE_CHECKING:
    from clusterbench.trial.testbed import Testbed

START_IN_S = 15
"""From when the drivers are given their time to start: what is begun meanwhile, such as telemetry, is to be done."""
NOW = "date +%s.%N"
LATE = "late.txt"
"""What a driver leaves whose time to start had passed when it was ready."""
CLOCK_UNCERTAINTY_MAX_S = 0.25
"""A clock that cannot be compared more closely would put what its host did into the wrong second."""


def hosts(trial: Trial, workload: Workload, testbed: Testbed) -> list[str]:
    """Those beside the client host that drive the trial: none where there is nothing to share."""
    if not isinstance(workload, Spread) or not workload.is_spread(trial) or testbed.neighbours:
        return []
    return testbed.platform.hosts_with("load")[: int(trial.levels["clients"]) - 1]


def begin(
    trial: Trial, workload: Workload, testbed: Testbed, job: DetachedJob, *, in_s: int = START_IN_S
) -> tuple[Job, dict[str, Any]]:
    """The client host's own job, when the others wait for their time to start; and, as evidence, who does what.

    Raises HostError where the clocks of two of them cannot be compared.
    """
    others = hosts(trial, workload, testbed)
    if not others or not isinstance(workload, Spread):
        return workload.job(trial, testbed.engine), {}
    ahead, unsure_s = _clocks_ahead(testbed, job.host, others)
    start_s = int(float(testbed.fleet.run_on(job.host, NOW).output)) + in_s
    shares = dict(zip([job.host, *others], dealt(int(trial.levels["clients"]), 1 + len(others)), strict=True))
    of = {
        host: replace(share, start_s=start_s + ahead[host], ahead_us=round(ahead[host] * 1e6))
        for host, share in shares.items()
    }
    jobs = {host: workload.job_of(trial, testbed.engine, share) for host, share in of.items()}

    def start(host: str) -> None:
        other = _beside(host, job, testbed)
        other.kill()  # of an earlier try, whose time to start has passed
        other.remove()
        other.start(jobs[host], trial.timeout_s)

    with ThreadPoolExecutor(len(others)) as workers:
        list(workers.map(start, others))
    told = {
        host: {
            "clients": share.clients,
            "start_s": start_s,
            "clock_ahead_s": round(ahead[host], 6),
            "clock_uncertainty_s": round(unsure_s[host], 6),
        }
        for host, share in of.items()
    }
    return jobs[job.host], {"drivers": told}


def _clocks_ahead(testbed: Testbed, client: str, others: Sequence[str]) -> tuple[dict[str, float], dict[str, float]]:
    """By host: how far its clock is ahead of the client host's, and by how much that may be wrong, in seconds."""
    clocks = testbed.fleet.clocks([client, *others])
    ahead = {host: clock.offset_s - clocks[client].offset_s for host, clock in clocks.items()}
    unsure_s = {host: clock.uncertainty_s + clocks[client].uncertainty_s for host, clock in clocks.items()}
    unsure_s[client] = 0.0
    for host, unsure in unsure_s.items():
        if unsure > CLOCK_UNCERTAINTY_MAX_S:
            raise HostError(
                f"host {host!r}: its clock can be compared with that of {client!r} only to {unsure:.2f} s, but at most "
                f"{CLOCK_UNCERTAINTY_MAX_S} s are allowed if several hosts drive one load: check the network "
                "between the worker and the two, or remove the role 'load' from it"
            )
    return ahead, unsure_s


def starts_in_s(told: Mapping[str, Any], testbed: Testbed, job: DetachedJob) -> float:
    """Seconds from now until the load begins; below 0 where it has begun. ``told`` is what ``begin`` gave."""
    if not told:
        return -job.age_s()
    start_s: float = told["drivers"][job.host]["start_s"]
    return start_s - float(testbed.fleet.run_on(job.host, NOW).output)


def dealt(clients: int, drivers: int) -> list[Share]:
    """As even as can be; nobody knows yet when they start."""
    each, more = divmod(clients, drivers)
    counts = [each + (number < more) for number in range(drivers)]
    return [Share(number, count, sum(counts[:number]), clients, 0) for number, count in enumerate(counts)]


def collect(told: Mapping[str, Any], workload: Workload, testbed: Testbed, job: DetachedJob, output: Path) -> list[str]:
    """What the others left, each in a folder of its name; returns what was wrong, by host. ``told``: by ``begin``."""
    others = [host for host in told.get("drivers") or {} if host != job.host]

    def one(host: str) -> str:
        other, folder = _beside(host, job, testbed), output / pgbench_log.DRIVERS / host
        state = other.wait()
        folder.mkdir(parents=True, exist_ok=True)
        other.collect((*workload.outputs, "stderr"), folder)
        said = pgbench.text(folder / "stderr").strip().splitlines()
        return "" if state.exit_status == 0 else f"driver on host {host!r} {state.how_it_ended}: {'; '.join(said[:3])}"

    if others and job.state().exit_status != 0:
        end(testbed, job)  # no window is whole any more
    with ThreadPoolExecutor(max(1, len(others))) as workers:
        problems = list(workers.map(one, others))
    return list(filter(None, problems))


def _folder(host: str, client: str, output: Path) -> Path:
    return output if host == client else output / pgbench_log.DRIVERS / host


def late(told: Iterable[str], client: str, output: Path) -> list[str]:
    """Of the hosts in ``told``, whose time to start had passed when they were ready; once all is collected."""
    hosts_late = [host for host in told if (_folder(host, client, output) / LATE).exists()]
    return [f"driver on host {host!r} was not ready when all were to begin" for host in hosts_late]


def judged(record: TrialRecord, problems: Sequence[str], output: Path) -> TrialRecord:
    """With what each driver did; one of several that failed, or that began late, makes the trial failed."""
    told: dict[str, Any] = record.evidence.get("drivers") or {}
    if not told:
        return record
    client = next(iter(told))
    for host in told:
        folder = _folder(host, client, output)
        log = pgbench_log.read(folder)
        cpu = pgbench.driver_cpu(pgbench.text(folder / "driver_cpu.txt"))
        told[host] |= {"ended_per_s": log.ended_per_s() if log else 0.0, "driver_cpu_share": cpu}
    problems = [*problems, *late(told, client, output)]
    record = replace(record, evidence={**record.evidence, "drivers": told})
    is_only_theirs = record.outcome == "completed" or pgbench_log.read(output) is not None
    if not problems or not is_only_theirs:
        return record
    return replace(record, outcome="failed", reason="; ".join(problems), measurements={})


def end(testbed: Testbed, job: DetachedJob) -> None:
    """Of all other drivers, whichever of them are at work."""
    others = testbed.platform.hosts_with("load")
    with ThreadPoolExecutor(max(1, len(others))) as workers:
        list(workers.map(lambda host: _beside(host, job, testbed).kill(), others))


def _beside(host: str, job: DetachedJob, testbed: Testbed) -> DetachedJob:
    """The same job's place on another host."""
    return DetachedJob(testbed.fleet, host, job.name)
