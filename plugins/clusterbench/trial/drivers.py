"""One load from several hosts: hosts with the role ``load`` drive their share of the clients beside the client host.

They begin at one time, told to each on its own clock, and measure the same window. What they did is summed up, and told
by host. The client host's clock is the one that counts; how far the others are off is measured before each trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def hosts(trial: Trial, workload: Workload, testbed: Testbed) -> list[str]:
    """Those beside the client host that drive the trial: none where there is nothing to share."""
    if not isinstance(workload, Spread) or not workload.is_spread(trial) or testbed.neighbours:
        return []
    return testbed.platform.hosts_with("load")[: int(trial.levels["clients"]) - 1]


def begin(trial: Trial, workload: Workload, testbed: Testbed, job: DetachedJob) -> tuple[Job, dict[str, Any]]:
    """The client host's own job, when the others wait for their time to start; and, as evidence, who does what."""
    others = hosts(trial, workload, testbed)
    if not others or not isinstance(workload, Spread):
        return workload.job(trial, testbed.engine), {}
    offsets = {host: clock.offset_s for host, clock in testbed.fleet.clocks([job.host, *others]).items()}
    ahead = {host: offsets[host] - offsets[job.host] for host in [job.host, *others]}
    start_s = float(testbed.fleet.run_on(job.host, NOW).output) + START_IN_S
    shares = dict(zip([job.host, *others], dealt(int(trial.levels["clients"]), 1 + len(others)), strict=True))
    of = {host: replace(share, start_s=start_s + ahead[host]) for host, share in shares.items()}
    jobs = {host: workload.job_of(trial, testbed.engine, share) for host, share in of.items()}

    def start(host: str) -> None:
        other = _beside(host, job, testbed)
        other.kill()  # of an earlier try, whose time to start has passed
        other.remove()
        other.start(jobs[host], trial.timeout_s)

    with ThreadPoolExecutor(len(others)) as workers:
        list(workers.map(start, others))
    told = {host: {"clients": share.clients, "clock_ahead_s": round(ahead[host], 6)} for host, share in of.items()}
    return jobs[job.host], {"drivers": told}


def dealt(clients: int, drivers: int) -> list[Share]:
    """As even as can be; nobody knows yet when they start."""
    each, more = divmod(clients, drivers)
    counts = [each + (number < more) for number in range(drivers)]
    return [Share(number, count, sum(counts[:number]), clients, 0) for number, count in enumerate(counts)]


def collect(trial: Trial, workload: Workload, testbed: Testbed, job: DetachedJob, output: Path) -> list[str]:
    """What the others left, each in a folder of its name; returns what was wrong, by host."""

    def one(host: str) -> str:
        other, folder = _beside(host, job, testbed), output / pgbench_log.DRIVERS / host
        state = other.wait()
        folder.mkdir(parents=True, exist_ok=True)
        other.collect((*workload.outputs, "stderr"), folder)
        said = pgbench.text(folder / "stderr").strip().splitlines()
        return "" if state.exit_status == 0 else f"driver on host {host!r} {state.how_it_ended}: {'; '.join(said[:3])}"

    others = hosts(trial, workload, testbed)
    if others and job.state().exit_status != 0:
        end(trial, workload, testbed, job)  # no window is whole any more
    with ThreadPoolExecutor(max(1, len(others))) as workers:
        problems = list(workers.map(one, others))
    late = [host for host in (job.host, *others) if (_folder(host, job.host, output) / "late.txt").exists()]
    problems += [f"driver on host {host!r} was not ready when all were to begin" for host in late]
    return list(filter(None, problems))


def _folder(host: str, client: str, output: Path) -> Path:
    return output if host == client else output / pgbench_log.DRIVERS / host


def judged(record: TrialRecord, problems: Sequence[str], output: Path) -> TrialRecord:
    """With what each driver did; one of several that failed makes the trial failed."""
    told: dict[str, Any] = record.evidence.get("drivers") or {}
    if not told:
        return record
    client = next(iter(told))
    for host in told:
        folder = _folder(host, client, output)
        log = pgbench_log.read(folder)
        ended = sum(counts.ended for (_, second), counts in log.seconds.items() if second in log.window) if log else 0
        cpu = pgbench.driver_cpu(pgbench.text(folder / "driver_cpu.txt"))
        told[host] |= {"ended_per_s": ended / log.window_s if log else 0.0, "driver_cpu_share": cpu}
    record = replace(record, evidence={**record.evidence, "drivers": told})
    if not problems or record.outcome != "completed":
        return record
    return replace(record, outcome="failed", reason="; ".join(problems), measurements={})


def end(trial: Trial, workload: Workload, testbed: Testbed, job: DetachedJob) -> None:
    for host in hosts(trial, workload, testbed):
        _beside(host, job, testbed).kill()


def _beside(host: str, job: DetachedJob, testbed: Testbed) -> DetachedJob:
    """The same job's place on another host."""
    return DetachedJob(testbed.fleet, host, job.name)
