"""A load that keeps the database hosts' processors as busy as asked for: found in steps, and checked afterwards.

Paper 003, "CPU Utilization". What to try is ``load_search.py``; here it is tried, with the workload's own driver, each
step a short job beside the trial's. Throughput decides nothing here but the rate at which a load is held, and every
step is evidence. The measured window's own utilisation has to be what was asked for, else the trial is not applicable.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterbench.base.errors import ClusterbenchError, EngineError
from clusterbench.base.measurements import Reading
from clusterbench.base.records import Trial
from clusterbench.base.scripts import script
from clusterbench.drivers.load_search import TOLERANCE, ClientLoad, LoadNotReached, LoadSearch, LoadStep, NextLoad
from clusterbench.hosts import cpu_limits
from clusterbench.hosts.detached_job import PROBE, DetachedJob, JobState
from clusterbench.trial import drivers
from clusterbench.trial.outcomes import how_it_failed
from clusterbench.workloads import Workload

if TYPE_CHECKING:
    from clusterbench.trial.testbed import Testbed

log = logging.getLogger(__name__)

RAMP_UP_SHARE = 4
"""A step's ramp-up is its length divided by this, and never longer than the trial's own. A step longer than the first
has the trial's ramp-up, so that caches are as they will be in the trial."""
MARGIN_S, MARGIN_PER_CLIENT_S = 0.5, 0.005
"""The processors are first looked at MARGIN_S after the ramp-up, and later with more clients, because they have to
connect. The last look is MARGIN_S before the driver's end."""
LONGER_S = 120
"""The driver of a step may take this much longer than the step."""
START_IN_S = 8
"""Where several hosts drive: the drivers of a step have so long to start, as nothing else is begun with them."""
QUIET_S = 2.0
"""A pause after the last step, in which the database comes to rest."""


class CannotReachError(ClusterbenchError):
    """The utilisation cannot be had here; the message says why. The trial is ``not_applicable``."""

    def __init__(self, reason: str, evidence: dict[str, Any]) -> None:
        self.evidence = evidence
        super().__init__(reason)


def reach(trial: Trial, workload: Workload, testbed: Testbed, job: DetachedJob) -> tuple[Trial, dict[str, Any] | None]:
    """The trial with the load that makes the database hosts as busy as it asks for, and every step on the way.

    The trial as it is, and None, where it asks for no utilisation.
    """
    target = float(trial.levels.get("cpu_percent", 0))
    if not target:
        return trial, None
    if not testbed.platform.database_hosts:
        raise CannotReachError(str(testbed.platform.without_hosts or "the platform names no host of a database"), {})
    search = LoadSearch(target, int(trial.levels["clients"]), float(trial.levels["probe_s"]))
    steps: list[LoadStep] = []
    try:
        while isinstance(said := search.next(steps), NextLoad):
            step = _step(trial, workload, testbed, job.beside(PROBE), said)
            log.info("%s: CPU %.1f %%, %.1f transactions/s", said.load, step.cpu_percent, step.throughput_per_s)
            steps.append(step)
    finally:
        end_step(testbed, job)
    evidence: dict[str, Any] = {"cpu_percent": target, "steps": [asdict(step) for step in steps]}
    if isinstance(said, LoadNotReached):
        raise CannotReachError(said.reason, evidence)
    time.sleep(QUIET_S)
    evidence |= asdict(said.load)
    return found(trial, evidence), evidence


def found(trial: Trial, evidence: Mapping[str, Any] | None) -> Trial:
    """The trial with the load of the evidence that ``reach`` gave."""
    if not evidence:
        return trial
    return _with(trial, clients=evidence["clients"], rate_per_s=evidence["rate_per_s"])


def check_target(evidence: Mapping[str, Any] | None, measured: Mapping[str, float]) -> str:
    """Why what was asked for could not be held, by what the hosts did in the measured window; empty where it was."""
    if not evidence or "cpu_percent" not in evidence:
        return ""
    asked = f"asked for was {evidence['cpu_percent']:g} % and {TOLERANCE:g} points more or less"
    load = ClientLoad(evidence["clients"], evidence["rate_per_s"])
    if "cpu_percent" not in measured:
        return f"the database hosts' CPU utilisation over the measured window is not known, {asked}; load: {load}"
    percent = measured["cpu_percent"]
    if abs(percent - evidence["cpu_percent"]) <= TOLERANCE:
        return ""
    return (
        f"the database hosts' CPU utilisation over the measured window was {percent:.1f} %, {asked}; load: {load}"
        f"{_costs(evidence, measured)}. A longer 'probe_s' or 'window_s' makes it steadier"
    )


def _costs(evidence: Mapping[str, Any], measured: Mapping[str, float]) -> str:
    """What a transaction took of the processors in the window and in the search.

    Other work on the machine changes that.
    """
    then = next((step["transactions_per_cpu_s"] for step in reversed(evidence["steps"])), None)
    now = measured.get("transactions_per_cpu_s")
    if not now or not then:
        return ""
    return f"; a transaction took {1e3 / now:.3g} ms of processor time, in the search's last step {1e3 / then:.3g} ms"


def _with(trial: Trial, **levels: Any) -> Trial:
    return replace(trial, levels={**trial.levels, **levels})


def _step(trial: Trial, workload: Workload, testbed: Testbed, job: DetachedJob, wanted: NextLoad) -> LoadStep:
    """Run the load ``wanted`` for a short time, and look at the processors after its ramp-up and before its end."""
    short, told = start_step(trial, workload, testbed, job, wanted)
    ramp_up_s, window_s = int(short.levels["ramp_up_s"]), int(short.levels["window_s"])
    began = time.monotonic() + drivers.starts_in_s(told, testbed, job)
    _sleep_until(began + ramp_up_s + MARGIN_S + MARGIN_PER_CLIENT_S * wanted.load.clients)
    before = _look(testbed)
    _sleep_until(began + ramp_up_s + window_s - MARGIN_S)
    use = Use.between(before, _look(testbed))
    reading = reading_of(short, workload, testbed, job, told)
    return LoadStep(
        wanted.load,
        use.seconds,
        use.cpu_percent,
        reading.measurements["throughput_per_s"],
        use.iowait_percent,
        reading.measurements.get("driver_cpu_share"),
        reading.measurements["throughput_per_s"] / use.cpus if use.cpus else None,
    )


def _sleep_until(then: float) -> None:
    time.sleep(max(0.0, then - time.monotonic()))


def start_step(
    trial: Trial, workload: Workload, testbed: Testbed, job: DetachedJob, wanted: NextLoad
) -> tuple[Trial, dict[str, Any]]:
    """Start the load for the time of a step, on all hosts that drive; returns the trial that it is, and who drives."""
    window_s = int(trial.levels["probe_s"]) * wanted.length
    ramp_up_s = int(trial.levels["ramp_up_s"])
    if wanted.length == 1:
        ramp_up_s = min(ramp_up_s, max(1, window_s // RAMP_UP_SHARE))
    lengths = {"ramp_up_s": ramp_up_s, "window_s": window_s, "checked_warehouses": 0}
    short = _with(trial, **asdict(wanted.load), **lengths)
    job.kill()
    job.remove()
    made, told = drivers.begin(short, workload, testbed, job, in_s=START_IN_S)
    job.start(made, ramp_up_s + window_s + LONGER_S)
    return short, told


def end_step(testbed: Testbed, job: DetachedJob) -> None:
    """Of the last step, whatever became of it. ``job``: the trial's own."""
    job.beside(PROBE).kill()
    drivers.end(testbed, job.beside(PROBE))


def reading_of(
    short: Trial, workload: Workload, testbed: Testbed, job: DetachedJob, told: Mapping[str, Any]
) -> Reading:
    """What the step's drivers measured, once they have ended. Raises EngineError where one failed."""
    state: JobState = job.wait()
    with tempfile.TemporaryDirectory() as folder:
        problems = drivers.collect(told, workload, testbed, job, Path(folder))
        job.collect((*workload.outputs, "stdout", "stderr"), Path(folder))
        problems += drivers.late(told.get("drivers") or {}, job.host, Path(folder))
        reading = workload.read(Path(folder), short, {})
    if problems and state.exit_status == 0:
        raise EngineError(f"looking for the load: {'; '.join(problems)}")
    if state.exit_status or state.exit_status is None or reading.errors or not reading.samples:
        said = str(reading.details.get("driver_errors", "")).strip() or job.errors()
        load = ClientLoad(int(short.levels["clients"]), float(short.levels["rate_per_s"]))
        raise EngineError(f"looking for the load, with {load}: {how_it_failed(state, reading.errors, said)}")
    return reading


@dataclass(frozen=True)
class Look:
    """A host's processors at one time, in seconds since its start."""

    up_s: float
    used_s: float
    iowait_s: float
    cpus: cpu_limits.Cpus

    @classmethod
    def of(cls, said: str) -> Look:
        """As ``include/trial/processors.sh`` says."""
        cpus_line, used_line, machine = said.splitlines()
        cpus = cpu_limits.Cpus.of(cpus_line)
        up, ticks, _, *spent = machine.split()
        user, nice, system, _, iowait, irq, softirq, steal = (float(each) / float(ticks) for each in spent[:8])
        if not cpus.unit:
            return cls(float(up), user + nice + system + irq + softirq + steal, iowait, cpus)
        noted_up, used = map(float, used_line.split())
        return cls(noted_up, used / cpus.unit, iowait, cpus)


@dataclass(frozen=True)
class Use:
    seconds: float
    cpus: float
    """Processors that were busy."""
    cpu_percent: float
    iowait_percent: float

    @classmethod
    def between(cls, before: Mapping[str, Look], after: Mapping[str, Look]) -> Use:
        """``cpu_percent`` is a share of the processors that the hosts may use.

        ``iowait_percent`` is a share of all processors of their machines.
        """
        each = [(after[host].up_s - one.up_s, one, after[host]) for host, one in before.items()]
        allotted_s = sum(took * one.cpus.allotted for took, one, _ in each)
        machines_s = sum(took * one.cpus.machine for took, one, _ in each)
        used_s, took_s = sum(then.used_s - one.used_s for _, one, then in each), max(took for took, _, _ in each)
        return cls(
            took_s,
            used_s / took_s,
            100 * used_s / allotted_s,
            100 * sum(then.iowait_s - one.iowait_s for _, one, then in each) / machines_s,
        )


def _look(testbed: Testbed) -> dict[str, Look]:
    """All hosts of the database at once: as telemetry sees a host, its group of processes, or the machine."""
    look = script("hosts/cgroups") + script("trial/processors")
    answers = testbed.fleet.run(testbed.platform.database_hosts, look)
    return {host: Look.of(answer.output) for host, answer in answers.items()}
