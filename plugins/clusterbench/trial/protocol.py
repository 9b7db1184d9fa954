"""The protocol of a trial, on one page: how one number comes about.

A trial may be entered any number of times (a restarted worker, a cleared task); its driver starts at most once.
"""

from __future__ import annotations

import json
import logging
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from clusterbench.base import database_work
from clusterbench.base.archive import RunArchive
from clusterbench.base.clock import now_iso
from clusterbench.base.errors import (
    AwayError,
    EngineAwayError,
    EngineError,
    HostError,
    HostFullError,
    StoppedError,
)
from clusterbench.base.measurements import Reading
from clusterbench.base.packed import pack
from clusterbench.base.patience import Outage
from clusterbench.base.records import FINDINGS, Trial, TrialRecord
from clusterbench.base.words import moment
from clusterbench.engines import caches
from clusterbench.engines.state import summary
from clusterbench.hosts import resource_use, telemetry
from clusterbench.hosts.detached_job import DetachedJob, JobState
from clusterbench.hosts.fleet import is_full
from clusterbench.trial import (
    aftermath,
    drivers,
    load,
    neighbours,
    nodes,
    outcomes,
    plans,
    profiles,
    server_settings,
    totals,
    undoing,
    utilisation,
    waits,
)
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import FellBackError, Workload, load_workload, not_applicable

log = logging.getLogger(__name__)

BEFORE = "before.json"
"""Beside the driver: what is known before it starts, for whoever comes to collect."""


def run_trial(trial: Trial, testbed: Testbed, outages: Sequence[Outage] = (), *, gives_up: bool = True) -> TrialRecord:
    """Measure one trial, or continue it where an earlier try ended. Returns its record, which is in the archive.

    Raises AwayError while somebody is away whom it needs, unless the caller gives up: then the trial has failed.
    ``outages`` are those that were waited for. Raises ArchiveError when the record cannot be written: the job keeps its
    output, so another try can collect it.
    """
    if done := testbed.archive.trial(trial.platform, trial.id):
        log.info("measured before, by an earlier try of this task; nothing is measured twice")
        return done
    workload = load_workload(trial.workload)
    if reason := trial.not_applicable or not_applicable(workload, trial.levels, testbed.unavailable):
        return testbed.archive.put_trial(_complete(TrialRecord(trial, "not_applicable", reason), testbed), None)
    attempt = testbed.archive.attempt(trial)
    job = job_of(trial, testbed, attempt)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder)
        try:
            record = _measure(trial, workload, testbed, job, output, attempt)
            if (away := record.evidence["after"].get("away")) and not gives_up:
                raise EngineAwayError(away)  # the window was not hit; what the cluster is like is asked when it is back
            if (full := list(filter(is_full, record.evidence["telemetry_missing"]))) and not gives_up:
                raise HostFullError("\n".join(full))  # all of it is still there, and fits when there is room again
            record = replace(record, reason=outcomes.with_outages(record, outages))
        except (caches.CannotEmptyError, FellBackError) as error:
            record = TrialRecord(trial, "not_applicable", str(error))
        except utilisation.CannotReachError as error:
            record = TrialRecord(trial, "not_applicable", str(error), evidence={"load": error.evidence})
        except (HostError, EngineError) as error:
            if isinstance(error, AwayError) and not gives_up:
                raise
            left = aftermath.of_one_that_broke_off(testbed.fleet, testbed.engine, _telemetry_name(job), output)
            started = _starts(trial, testbed, job, attempt)
            record = replace(outcomes.given_up(trial, error, outages), evidence=left, driver_starts=started)
        except Exception:  # a fault of ours: the next try collects what there is, and nothing is collected until then
            telemetry.stop(testbed.fleet, _telemetry_name(job))
            raise
        pack(output / "telemetry")
        record = testbed.archive.put_trial(_complete(record, testbed, attempt), output)
    _restore(trial, workload, testbed, job)
    return record


def _starts(trial: Trial, testbed: Testbed, job: DetachedJob, attempt: int) -> int:
    """1 where the driver of a trial that broke off was started, or may have been and nobody can tell; else 0."""
    if testbed.archive.started(trial, attempt):
        return 1
    if testbed.phases_s.keys().isdisjoint(("start", "driver")):
        return 0
    try:
        return int(job.state().phase != "new")
    except HostError:
        return 1


def job_of(trial: Trial, testbed: Testbed, attempt: int = 1) -> DetachedJob:
    """The trial's job on the host that drives it: one directory, whose name holds run, trial and attempt."""
    (host, *_) = testbed.platform.hosts_with(load_workload(trial.workload).runs_on)
    return DetachedJob(testbed.fleet, host, f"{jobs_of(testbed.archive, trial.platform)}/{place(trial.id, attempt)}")


def jobs_of(archive: RunArchive, platform: str) -> str:
    """The folder of a run's jobs on a platform, each of which is the ``place`` of a trial."""
    return f"jobs/{archive.name}/{platform}"


def place(trial_id: str, attempt: int) -> str:
    """What a person has stopped keeps its own, so that a driver is never started twice in one."""
    return trial_id if attempt == 1 else f"{trial_id}~{attempt}"


def _telemetry_name(job: DetachedJob) -> str:
    return f"telemetry/{job.name.removeprefix('jobs/')}"


def _measure(  # noqa: PLR0917  private, and each argument is a part of the trial
    trial: Trial, workload: Workload, testbed: Testbed, job: DetachedJob, output: Path, attempt: int
) -> TrialRecord:
    name = _telemetry_name(job)
    if job.state().phase == "new":
        if begun := testbed.archive.started(trial, attempt):
            raise HostError(
                f"host {job.host!r} knows nothing of the driver that was started there at {moment(begun)}: it was "
                "re-installed, or its work folder emptied. What the driver measured is gone; start a new run"
            )
        job.wait_for_others()
        _make_ready(trial, workload, testbed, job, name)
        testbed.archive.note_started(trial, attempt)
    else:
        log.info("the driver was started before; waiting for it, not starting another%s", job.doing())
    with testbed.phase("driver"):
        state = job.wait()
    if testbed.archive.attempt(trial) != attempt:
        raise StoppedError(f"{trial.label}: a person has stopped it while it was measured; it has no record")
    with testbed.phase("collect"), ThreadPoolExecutor(2) as beside:
        neighbours.stop(testbed, job, output)
        evidence = job.text(BEFORE)
        (output / BEFORE).write_text(evidence)
        before = json.loads(evidence)
        failed = drivers.collect(before, workload, testbed, job, output)
        telemetry_there = beside.submit(telemetry.stop_and_collect, testbed.fleet, name, output / "telemetry")
        output_there = beside.submit(job.collect, (*workload.outputs, "began", "stdout", "stderr"), output)
        after = aftermath.examine(testbed.engine, before, name, job.host, ended_well=state.exit_status == 0)
        output_there.result()
        (output / "after.json").write_text(json.dumps(after, default=str))
        missing = telemetry_there.result()
    expected = testbed.archive.answers(trial.workload, workload.dataset(trial.levels, trial.seed).table)
    drawn = list(dict.fromkeys([*testbed.platform.hosts_with("worker", "segment"), *testbed.platform.database_hosts]))
    record = _record_of(trial, workload, state, output, expected, missing, drawn)
    record = drivers.judged(nodes.told(record, testbed.platform, workload), failed, output)
    return outcomes.watched(record, testbed.platform.telling_hosts)


def _make_ready(trial: Trial, workload: Workload, testbed: Testbed, job: DetachedJob, name: str) -> None:
    """Settings, the load, cache state with its proof, telemetry, a quiet second, the driver. Evidence goes with it."""
    before: dict[str, Any] = {"started_at": now_iso()}
    with testbed.phase("prepare"):
        before["recovered"] = testbed.engine.recover()
        before["server_settings"] = server_settings.have(trial, testbed.engine)
        before["workload"] = workload.prepare(trial, testbed.engine)
        before["plans"] = plans.noted(trial, workload, testbed)
    with testbed.phase("load"):  # before the caches, which it fills
        trial, found = load.reach(trial, workload, testbed, job)
        before |= {"load": found} if found else {}
    with testbed.phase("cache_state"):
        state = str(trial.levels.get("cache", "warm"))
        relations = workload.relations(trial)
        before["caches"] = caches.set_state(state, testbed.engine, relations, page_cache=testbed.platform.page_cache)
        if state == "as_left":
            before["caches"]["left_by"] = testbed.archive.last_started(trial.platform)
    with testbed.phase("settle"):
        made, told = drivers.begin(trial, workload, testbed, job)
        before |= told
        neighbours.start(trial, workload, testbed, job)
        before["cluster"] = testbed.engine.state()
        testbed.engine.mark_logs(name)
        before["clocks_ahead_s"] = telemetry.clocks_ahead(testbed.fleet, job.host)
        before["watched"] = next(iter(testbed.platform.hosts_with("coordinator")), "")
        sessions = {job.host: waits.watching(testbed.engine, testbed.platform, trial)}
        telemetry.start(testbed.fleet, name, sessions, profiles.sampling(testbed.platform, trial))
        time.sleep(telemetry.SETTLE_S)
        before |= totals.before(testbed.engine)
    evidence = json.dumps(before, default=str)
    with testbed.phase("start"):
        job.start(replace(made, files={**made.files, BEFORE: evidence}), trial.timeout_s)


def _record_of(  # noqa: PLR0917  private, and each argument is a part of the evidence
    trial: Trial,
    workload: Workload,
    state: JobState,
    output: Path,
    expected: Mapping[str, Any],
    missing_telemetry: list[str],
    database_hosts: Sequence[str],
) -> TrialRecord:
    """The record, from files alone: raw output, evidence of before, telemetry."""
    before, after = (json.loads((output / name).read_text()) for name in (BEFORE, "after.json"))
    reading = workload.read(output, utilisation.found(trial, before.get("load")), expected)
    began_s = float((output / "began").read_text()) if (output / "began").exists() else None
    drawn = telemetry.drawn_hosts(database_hosts, reading.phases)
    ahead_s = telemetry.clocks_meanwhile(before.get("clocks_ahead_s") or {}, after.get("clocks_ahead_s"))
    hosts = telemetry.read_each(
        output / "telemetry",
        reading,
        drawn,
        before_s=began_s,
        ahead_s=ahead_s,
    )
    waited, sessions = waits.read(output / "telemetry", reading, ahead_s=ahead_s.get(before.get("watched", ""), 0.0))
    observed = resource_use.measure(hosts, database_hosts, reading.measurements.get("throughput_per_s"))
    observed |= resource_use.measure_phases(hosts, database_hosts, reading.phases) | sessions
    outcome, reason = outcomes.of_driver(state, reading, before, output)
    beside, problem = neighbours.check_under_load(output, reading)
    off = load.check(before.get("load"), observed, reading.measurements)
    if (problem := problem or after.get("disturbed", "")) and outcome == "completed":
        outcome, reason = "invalid", problem
    if off and outcome == "completed":  # as a state of the caches that cannot be had
        outcome, reason = "not_applicable", off
    if after.get("faults"):  # whatever the driver made of it
        outcome, reason = "failed", "; ".join([*after["faults"], *([reason] if reason else [])])
    return TrialRecord(
        trial,
        outcome,
        reason,
        measurements=_measured(workload, reading, before, after, observed) if outcome not in FINDINGS else {},
        samples=reading.samples,
        errors=reading.errors,
        window_start_s=reading.window_start_s,
        window_end_s=reading.window_end_s,
        evidence={
            **_shortened(before),
            "after": _shortened(after),
            **({"neighbours": beside, "neighbours_problem": problem} if beside else {}),
            "driver": reading.details,
            **({"phases": [asdict(phase) for phase in reading.phases]} if reading.phases else {}),
            **({"waits": waited} if waited else {}),
            **profiles.read(output, trial, reading, ahead_s),
            "telemetry_missing": missing_telemetry,
            **({"last_telemetry": aftermath.last_telemetry(output / "telemetry")} if outcome in FINDINGS else {}),
        },
        telemetry=hosts,
        started_at=before["started_at"],
        driver_starts=1,
    )


def _measured(
    workload: Workload,
    reading: Reading,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    observed: Mapping[str, float],
) -> dict[str, float]:
    """What the driver measured, and of what engine and hosts did and logged that which the workload declares."""
    work = database_work.of_trial(before.get("counters") or {}, after.get("counters") or {})
    beside = {**observed, **work, **(after.get("logged") or {})}
    return {**reading.measurements, **{name: float(n) for name, n in beside.items() if name in workload.measurements}}


def _shortened(look: Mapping[str, Any]) -> dict[str, Any]:
    """Before or after, with the instances summed up and without running totals of statements and segments.

    All of it is in ``before.json`` and ``after.json``.
    """
    kept = {name: said for name, said in look.items() if name not in (totals.STATEMENTS, totals.SEGMENTS)}
    return {**kept, **({"cluster": summary(look["cluster"])} if "cluster" in look else {})}


def _complete(record: TrialRecord, testbed: Testbed, attempt: int = 1) -> TrialRecord:
    if attempt > 1:
        record = replace(record, evidence={**record.evidence, "stopped": testbed.archive.stops(record.trial)})
    started_at = record.started_at or now_iso()
    return replace(record, started_at=started_at, phases_s=dict(testbed.phases_s))


def _restore(trial: Trial, workload: Workload, testbed: Testbed, job: DetachedJob) -> None:
    """Undo what the trial set and end what it started, one group after the other.

    A failure here is the next step's to report: this trial's record stands.
    """
    for parts in (
        [job.kill],
        [
            job.note_recorded,
            testbed.engine.end_driver,
            lambda: drivers.end(testbed, job),
            lambda: telemetry.stop(testbed.fleet, _telemetry_name(job)),
            *neighbours.endings(testbed, job),
        ],
        [lambda: workload.restore(trial, testbed.engine), *neighbours.restoring(trial, workload, testbed)],
        [lambda: server_settings.put_back([trial], testbed.engine)],
    ):
        undoing.each_done(parts, "after the trial")
