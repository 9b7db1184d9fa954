"""The steps of a run, one function each, in the order of the page ``dags/benchmarks.py``. No Airflow in here.

Every step can be tried again: what it did before stands, and what passes between steps passes through the archive.
"""

from __future__ import annotations

import errno
import logging
import socket
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from clusterbench import __version__
from clusterbench.base.archive import as_json
from clusterbench.base.clock import now_iso
from clusterbench.base.connections import HISTORY
from clusterbench.base.datasets import Dataset, too_small
from clusterbench.base.errors import (
    ArchiveError,
    ClusterbenchError,
    DatasetError,
    EngineAwayError,
    EngineError,
    HostAwayError,
    NotYetError,
)
from clusterbench.base.in_parallel import in_parallel
from clusterbench.base.paths import own_or_built_in
from clusterbench.base.patience import CLUSTER
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.base.run_ids import whose
from clusterbench.base.words import moment
from clusterbench.engines import DURABILITY_SETTINGS, Engine, as_database
from clusterbench.hosts import conformance, detached_job, facts, lease, setup, telemetry, work_folders
from clusterbench.hosts.fleet import Fleet
from clusterbench.results import durability, firmness, rounds
from clusterbench.results.hypervisor_views import gathered as views_of
from clusterbench.results.statistics import Result, results
from clusterbench.results.verdicts import Verdict
from clusterbench.run import host_speeds, in_turns, machines, validation
from clusterbench.run.known_answers import note_expected_answers, remember_answers, with_expected_checksum
from clusterbench.run.run import Run
from clusterbench.spec import Platform, host_settings
from clusterbench.spec.placement_rules import described
from clusterbench.trial import drivers, neighbours, ramp, server_settings, utilisation
from clusterbench.trial.outcomes import given_up
from clusterbench.trial.plan import DISK_HEADROOM, Plan, make_plan, read_choices
from clusterbench.trial.protocol import job_of, jobs_of, place, run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import declared_text, load_workload, why_not

log = logging.getLogger(__name__)


class InvalidRunError(ClusterbenchError):
    """The run's numbers must not be used; the message lists why."""


def open_run(run: Run, chosen: Mapping[str, Any], started_by: Mapping[str, str]) -> str:
    """Check the choices, plan the trials, and claim the run id in the archive. Returns the run's address."""
    experiment = run.catalog.experiment(run.experiment)
    choices = read_choices(experiment, chosen)
    plan = make_plan(experiment, choices, run.catalog)
    replace(run.archive.store, waits_when_denied=False).check_conditional_writes()
    if run.archive.sealed:
        raise ArchiveError(f"{run.archive.url}: this run is finished and sealed; start a new run instead of this one")
    opened = {
        "run_id": run.run_id,
        "experiment": run.experiment,
        "started_by": dict(started_by),
        "choices": choices.model_dump(),
        "clusterbench": __version__,
        **({"platforms_in_turns": plan.in_turns} if plan.turns else {}),
    }
    if not run.archive.put_json("run.json", opened) and (found := run.archive.need_json("run.json")) != opened:
        raise ArchiveError(
            f"{run.archive.url}: the archive holds another run of that id; nothing was changed there. Start a new run"
            f"{whose(found, opened)}"
        )
    _note_texts(run, plan)
    run.archive.put_json("plan.json", plan.as_json())
    log.info("run %s: %d trials, archived in %s", run.holder, sum(map(len, plan.trials.values())), run.archive.url)
    return run.archive.url


def _note_texts(run: Run, plan: Plan) -> None:
    """What experiment, platforms and workloads say. Raises ArchiveError if the run was begun with other texts."""
    texts = {"experiment.yaml": own_or_built_in(f"dags/experiments/{run.experiment}.yaml").read_bytes()}
    for name in plan.trials:
        texts[f"platforms/{name}/platform.yaml"] = own_or_built_in(f"include/platforms/{name}.yaml").read_bytes()
    for workload in {trial.workload for trials in plan.trials.values() for trial in trials}:
        if folder := declared_text(workload):
            texts[f"workloads/{workload}.json"] = as_json(folder)
    for key, text in texts.items():
        kind = "application/json" if key.endswith(".json") else "application/yaml"
        if not run.archive.put_new(key, text, kind) and run.archive.store.get(run.archive.prefix + key) != text:
            raise ArchiveError(
                f"{run.archive.url}{key}: {key} has changed since this run began, and a run is measured with "
                "one text: restore the file to continue the run, or start a new one"
            )


def take_cluster(run: Run, platform: str) -> None:
    """Reserve the cluster for this run. No other run can use it, of this Airflow or of another."""
    with run.testbed(platform) as testbed:
        in_turns.check_hosts(run, testbed)
        lease.acquire(testbed.fleet, testbed.platform, run.holder)


def bring_up_machines(run: Run, platform: str) -> None:
    """Make and start the virtual machines of the layout; those of other layouts of the cluster are shut down first.

    Machines that are not ours are never changed. If an earlier try died, this one continues; what is up stays up.
    """
    with run.testbed(platform) as testbed:
        lease.hold(testbed.fleet, testbed.platform, run.holder)  # no layout is switched that another run measures
    machines.bring_up(run, run.catalog.platform(platform))


def set_up_cluster(run: Run, platform: str) -> None:
    """Bring hosts and engine into their declared state, read it back, and check that disk space is sufficient.

    Any difference that the platform's file does not accept is an error, so no other configuration is measured.
    """
    with run.testbed(platform) as testbed:
        _look_before(testbed)
        rounds.begin(run.archive, platform)
        apply_setup(testbed)
        engine_facts, *of_neighbours = in_parallel(_facts_of, testbed.engines.values())
        hosts = facts.hosts(testbed.fleet, facts.folders(testbed.platform, engine_facts), testbed.platform)
        if speeds := host_speeds.of_set_up(run.archive.store, testbed, engine_facts, run.run_id):
            run.archive.put_json(f"platforms/{platform}/host_speeds.json", speeds)
            for host, slow in speeds["slow_in"].items():
                hosts[host]["slow_in"] = slow
        testbed.unavailable_on_hosts = facts.unavailable(testbed.platform, hosts)
        rows = [*conformance_of_engine(testbed), *conformance_of_hosts(testbed, hosts)]
        run.archive.put_json(f"platforms/{platform}/conformance.json", {"rows": [row.as_json() for row in rows]})
        rounds.note_facts(
            run.archive,
            platform,
            {
                "engine": engine_facts,
                "neighbours": dict(zip(testbed.neighbours, of_neighbours, strict=True)),
                "hosts": hosts,
                "lacks": testbed.unavailable_on_hosts,
                "durability": durability_of(testbed),
                "page_cache": testbed.platform.page_cache,
                "notes": testbed.platform.notes,
                "without_hosts": testbed.platform.without_hosts,
                "placement": described(testbed.platform),
            },
        )
        if problem := conformance.problem(testbed.platform, rows):
            raise EngineError(problem)
        _check_space(run, testbed)


def _look_before(testbed: Testbed) -> None:
    """Raises where a host or a server cannot be reached, or hosts share a folder, before anything is set anywhere."""
    work_folders.check(testbed.fleet, testbed.platform.platform)
    if testbed.platform.database:
        in_parallel(lambda engine: as_database(engine).query("SELECT 1 AS up"), testbed.engines.values())


def _facts_of(engine: Engine) -> dict[str, Any]:
    return {**engine.facts(), **engine.driver_facts()}


def apply_setup(testbed: Testbed) -> None:
    """Hosts before the engine, which starts with what they allow."""
    setup.set_up(testbed.platform, testbed.fleet)
    in_parallel(lambda engine: engine.set_up(), testbed.engines.values())


def undo_setup(testbed: Testbed) -> None:
    """What ``apply_setup`` and trials did; each part, whatever became of the others."""
    with ExitStack() as parts:
        parts.callback(setup.put_back, testbed.platform, testbed.fleet)
        failed = [error for error in in_parallel(_torn_down, testbed.engines.values()) if error]
        for error in failed[1:]:
            log.error("%s", error)
        if failed:
            raise failed[0]


def _torn_down(engine: Engine) -> Exception | None:
    try:
        engine.tear_down()
    except Exception as error:  # the others are torn down all the same
        return error
    return None


def conformance_of_hosts(
    testbed: Testbed, hosts: Mapping[str, Mapping[str, Any]] | None = None
) -> list[conformance.Row]:
    """``hosts``: their facts, where they were read already. Changes nothing."""
    declared = host_settings.items(testbed.platform)
    found = hosts or facts.hosts(testbed.fleet)
    claims = [*facts.declared_hardware(testbed.platform, found), *facts.programs(testbed.platform, found)]
    return [
        *conformance.of_claims(testbed.platform, claims),
        *conformance.of_hosts(testbed.platform, declared, setup.read(testbed.fleet, declared)),
    ]


def conformance_of_engine(testbed: Testbed) -> list[conformance.Row]:
    """Raises EngineError where it is down. Changes nothing."""
    rows = []
    for name, engine in testbed.engines.items():
        settings = engine.declared_settings()
        rows += conformance.of_engine(testbed.platform, settings, engine.settings(settings), name)
    return rows


def durability_of(testbed: Testbed) -> dict[str, str]:
    """What of a database may trade durability away, as it is in force; nothing of what is no database."""
    return testbed.engine.settings(DURABILITY_SETTINGS) if testbed.platform.database else {}


def _check_space(run: Run, testbed: Testbed) -> None:
    for engine in testbed.engines.values():
        _check_space_of(engine, run, testbed)


def _check_space_of(engine: Engine, run: Run, testbed: Testbed) -> None:
    datasets = run.plan().datasets(testbed.platform.platform, testbed.unavailable)
    needed = sum(
        max(0, int(dataset.bytes_expected * DISK_HEADROOM) - as_database(engine).stored_bytes(dataset.table))
        for workload, dataset in datasets
        if dataset.is_loaded_by_trial or not load_workload(workload).is_generated(dataset, engine)
    )  # less what is there already: it goes first, or is gone on with
    free = engine.free_bytes()
    of_trials = run.plan().made_by_trials(testbed.platform.platform, testbed.unavailable)
    if free is not None and of_trials and of_trials[0].bytes_expected > free:
        raise EngineError(too_small(engine.platform.platform, of_trials[0], free))
    if free is not None and needed > free:
        raise EngineError(
            f"platform {engine.platform.platform!r}: too small: the datasets need {needed / 1e9:,.1f} GB more, free "
            f"are {free / 1e9:,.1f} GB; free some space, or choose a smaller scale or fewer sweeps"
        )


def flush_caches(run: Run, platform: str) -> None:
    """Empty every cache of the platform once, and prove it, so that every run begins from the same state.

    If a cache may not or cannot be emptied, this task does not fail: the report names the cache and the reason, hours
    before the first cold trial would have found it.
    """
    if run.archive.sealed or run.archive.get_json(_flushed(platform)):
        log.info("an earlier try of this task, or the run that is finished, has emptied them")
        return
    with run.testbed(platform) as testbed:
        lease.hold(testbed.fleet, testbed.platform, run.holder)  # nothing is restarted that another run holds
        of_each = in_parallel(lambda engine: engine.flush_caches(), testbed.engines.values())
        flushed = [
            {"engine": name, **row.as_json()}
            for name, rows in zip(testbed.engines, of_each, strict=True)
            for row in rows
        ]
        for row in flushed:
            log.info("%s: cache of the %s: %s", row["engine"], row["cache"], row["problem"] or "empty")
        run.archive.put_json(_flushed(platform), {"caches": flushed})


def _flushed(platform: str) -> str:
    return f"platforms/{platform}/caches.json"


def generate_data(run: Run, platform: str) -> None:
    """Generate every dataset of the plan that does not exist yet. A retry continues with the slices that are missing.

    One dataset after the other, each on the platform's own engine and on those of its neighbours at once. The time that
    it took is archived for later plans, shared out, unless an earlier try or run had begun the dataset.
    """
    made: list[dict[str, Any]] = []
    with run.testbed(platform) as testbed:
        engines = list(testbed.engines.values())
        for workload, dataset in run.plan().datasets(platform, testbed.unavailable):
            begun = time.monotonic()
            anew = in_parallel(partial(_generate, workload, dataset), engines)
            seconds = round((time.monotonic() - begun) / len(engines), 3)
            made += anew.count(True) * [{"workload": workload, **_size_of(dataset), "seconds": seconds}]
    run.archive.put_json(f"platforms/{platform}/generated.json", {"datasets": made})


def _generate(workload: str, dataset: Dataset, engine: Engine) -> bool:
    """Whether nobody had begun it."""
    is_anew, begun = not _is_begun(workload, dataset, engine), time.monotonic()
    load_workload(workload).generate(dataset, engine)
    log.info("%s: %s: ready, %.1f s", engine.platform.platform, dataset.table, time.monotonic() - begun)
    return is_anew


def _is_begun(workload: str, dataset: Dataset, engine: Engine) -> bool:
    if load_workload(workload).is_generated(dataset, engine):
        return True
    return not dataset.is_loaded_by_trial and as_database(engine).stored_bytes(dataset.table) > 0


def _size_of(dataset: Dataset) -> dict[str, Any]:
    return {"table": dataset.table, "bytes": dataset.made_bytes}


def validate_data(run: Run, platform: str) -> list[Trial]:
    """Check every dataset with Great Expectations; a bad one stops the platform before its first trial.

    Returns the trials that may now be measured, in their order.
    """
    by_suite: dict[str, list[dict[str, object]]] = {}
    inspected: list[dict[str, Any]] = []
    plan = run.plan()
    with run.testbed(platform) as testbed:
        for workload, dataset in plan.datasets(platform, testbed.unavailable):
            begun = time.monotonic()
            looks = _inspected(workload, dataset, list(testbed.engines.values()))
            seconds = round((time.monotonic() - begun) / len(looks), 3)
            for seen in looks:
                inspected.append({"workload": workload, **_size_of(dataset), "seconds": seconds})
                rows_by_fact = {name: rows for name, rows in seen.items() if isinstance(rows, list)}
                facts_found = {name: value for name, value in seen.items() if name not in rows_by_fact}
                suite = dataset.suite or dataset.name
                by_suite.setdefault(suite, []).append(with_expected_checksum(run, workload, dataset, facts_found))
                for name, rows in rows_by_fact.items():
                    by_suite.setdefault(validation.suite_of_fact(suite, name), []).extend(rows)
        for workload, dataset in plan.workloads(platform, testbed.unavailable):
            note_expected_answers(run, workload, dataset, testbed.engine)
    verdicts = [verdict for suite, rows in by_suite.items() for verdict in validation.validate(suite, rows)]
    run.archive.put_json(
        f"platforms/{platform}/data.json",
        {
            "datasets": by_suite,
            "verdicts": [verdict.as_json() for verdict in verdicts],
            "inspected": inspected,
        },
    )
    if not validation.passed(verdicts):
        raise DatasetError(validation.failures(f"platform {platform!r}: the data", verdicts) + "\nNothing was measured")
    for rows in by_suite.values():
        for row in rows:
            if "checksum_key" in row:
                run.archive.store.put_new(str(row["checksum_key"]), str(row["checksum"]).encode(), "text/plain")
    return plan.to_measure[platform]


def _inspected(workload: str, dataset: Dataset, engines: Sequence[Engine]) -> list[Mapping[str, Any]]:
    """What each engine's copy is like: the platform's own, and those of its neighbours, all at once."""
    return in_parallel(lambda engine: load_workload(workload).inspect(dataset, engine), engines)


def measure(run: Run, platform: str, trial_id: str, *, last_try: bool = True) -> TrialRecord:
    """One trial, by the protocol of ``trial/protocol.py``. A finished run takes no more trials, it tells those it has.

    Raises NotYetError where an earlier step of its ramp has no record and this is not the ``last_try``.
    """
    done = run.archive.trial(platform, trial_id)
    if run.archive.sealed and done is None:
        raise ArchiveError(f"{run.archive.url}: this run is finished and sealed; start a new run to measure more")
    plan = run.plan()
    trial = plan.trial(platform, trial_id)
    if done is None and trial.not_applicable:  # which no host has to be asked for
        return run.archive.put_trial(_not_measured(trial, trial.not_applicable), None)
    if done is None and (reason := _not_needed(run, trial, plan)):
        return run.archive.put_trial(replace(_not_measured(trial, reason), outcome="not_needed"), None)
    if done is None and trial.ramp and (record := _of_ramp(run, trial, plan, last_try=last_try)):
        return run.archive.put_trial(record, None)
    declared = run.catalog.platform(platform)
    if done is None and (reason := machines.why_over_budget(run, declared)):
        return run.archive.put_trial(_not_measured(trial, reason), None)
    if done is None:
        machines.collect_views(run, declared, before=trial_id)
    return _with_patience(run, trial, [name for name in plan.together_with(platform) if name != platform])


def _with_patience(run: Run, trial: Trial, together: Sequence[str] = ()) -> TrialRecord:
    """The trial, entered again when who was away is back; failed when patience has ended, with who it was.

    ``together``: the platforms that its own is measured in turns with, on which nothing may run meanwhile.
    """

    def enter(*, gives_up: bool = False) -> TrialRecord:
        with run.testbed(trial.platform) as testbed, _full_disk_is_waited_for():
            testbed.fleet.dial()  # all of them will be needed
            lease.hold(testbed.fleet, testbed.platform, run.holder)  # a task may be cleared when another run has begun
            _finish_those_left_open(run, trial, testbed, gives_up=gives_up)
            for name in together:
                with in_turns.of_one_that_may_be_away(name), run.testbed(name) as beside:
                    _finish_those_left_open(run, trial, beside, gives_up=gives_up)
            return run_trial(trial, testbed, run.patience.ended, gives_up=gives_up)

    try:
        return run.patience.insist(enter, CLUSTER)
    except (HostAwayError, EngineAwayError):
        try:
            return enter(gives_up=True)
        except HostAwayError as error:  # the client host itself; whatever runs there cannot be told
            return run.archive.put_trial(given_up(trial, error, run.patience.ended), None)


def _finish_those_left_open(run: Run, trial: Trial, testbed: Testbed, *, gives_up: bool) -> None:
    """Trials of this run whose worker was lost come to their record before the cluster is changed for this one.

    While such a trial waits to be tried again, Airflow gives its place in the pool to the next one. What happens to the
    cluster then would look as if it had happened to the first.
    """
    left = _left_open(run, testbed)
    if trial in [one for one, _ in left]:
        return
    for other, attempt in left:
        log.warning(
            "%s on %s was started, and its worker was lost; it comes to its record first", other.label, other.platform
        )
        with run.testbed(other.platform) as own:
            if run.archive.trial(other.platform, other.id):  # it was given up while its host was away
                job_of(other, own, attempt).kill()
                job_of(other, own, attempt).note_recorded()
            else:
                run_trial(other, own, run.patience.ended, gives_up=gives_up)


def _left_open(run: Run, testbed: Testbed) -> list[tuple[Trial, int]]:
    """Trials whose driver was started and whose record nobody has written, and which attempt of each it is.

    Those that a person has stopped are none of them.
    """
    platform = testbed.platform
    hosts = platform.hosts_with("client", "etl")
    left = detached_job.left_open(testbed.fleet, hosts, jobs_of(run.archive, platform.platform))
    if not left:
        return []
    ids = {name.partition("~")[0] for name in left}
    started = [trial for trial in run.plan().trials[platform.platform] if trial.id in ids]
    found = [(trial, run.archive.attempt(trial)) for trial in started]
    return [(trial, attempt) for trial, attempt in found if place(trial.id, attempt) in left]


@contextmanager
def _full_disk_is_waited_for() -> Iterator[None]:
    """Of this worker, on which a trial's output is collected; the output stays on its host meanwhile."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        where = error.filename or tempfile.gettempdir()
        raise HostAwayError(
            f"the disk of this worker ({socket.gethostname()}) is full: {where}: {error.strerror}; free some space "
            "there. What was measured stays on its host"
        ) from None


def _of_ramp(run: Run, trial: Trial, plan: Plan, *, last_try: bool) -> TrialRecord | None:
    """What the earlier steps of the trial's ramp make of it: a record if the ramp is given up.

    Airflow starts the trials of a platform in their order, one at a time (a pool of one slot). A trial whose worker
    died waits before it is tried again, and meanwhile the next one would start: that one then waits as well, by being
    tried again itself. An earlier step that never gets a record (the archive was away at all its tries) does not hold
    back the rest: on its last try a trial is measured all the same.
    """
    before = ramp.steps_before(trial, plan.trials[trial.platform])
    found = (run.archive.trial(trial.platform, step.id) for step in before)
    records = {record.trial.id: record for record in found if record}
    try:
        ramp.check_turn(trial, before, records)
    except NotYetError as not_yet:
        if not last_try:
            raise
        log.warning("%s; this was waited for often enough, and is measured now", not_yet)
    if reason := ramp.given_up(before, records):
        log.warning("%s", reason)
        return replace(_not_measured(trial, reason), evidence={"given_up": True})
    return None


def _not_needed(run: Run, trial: Trial, plan: Plan) -> str | None:
    """Why its cell has been measured often enough, from the records of its earlier repetitions."""
    if trial.until is None:
        return None
    found = (run.archive.trial(trial.platform, one.id) for one in plan.earlier_repetitions(trial))
    return firmness.not_needed(trial, [record for record in found if record])


def _not_measured(trial: Trial, why: str) -> TrialRecord:
    return TrialRecord(trial, "not_applicable", why, started_at=now_iso())


def cancel(run: Run, platform: str, trial_id: str) -> None:
    """End a trial's driver, because a person said so. What it has measured is void; that is archived.

    It is archived first: Airflow gives a task that is to end five seconds, and a driver may need all of them to die.
    """
    trial = run.plan().trial(platform, trial_id)
    with run.testbed(platform) as testbed:
        job = job_of(trial, testbed, run.archive.attempt(trial))
        if job.state().phase == "running":
            run.archive.note_stopped(trial, "a person has marked it, or its run")
        job.kill()
        drivers.end(testbed, job)
        utilisation.end_step(testbed, job)
        for end in neighbours.endings(testbed, job):
            end()


def release_cluster(run: Run, platform: str) -> None:
    """Restore what was changed, and release the cluster, also after failures. Another run's cluster stays as it is.

    If something cannot be restored, the cluster stays reserved and the run is not valid: a person has to act.
    """
    declared = run.catalog.platform(platform)
    with run.testbed(platform) as testbed:
        lease.hold(testbed.fleet, testbed.platform, run.holder)  # nothing is touched that another run holds
        try:
            is_changed = rounds.begun(run.archive, platform) > 0
            if is_changed and machines.are_there_to_put_back(run, declared):
                _put_back(run, testbed)
            machines.collect_views(run, declared)
            machines.give_back(run, declared)
        except ClusterbenchError as error:
            lease.leave_changed(testbed.fleet, testbed.platform, run.holder, str(error).splitlines()[0])
            raise
        lease.release(testbed.fleet, testbed.platform, run.holder, in_turns.notes_still_needed(run, platform))
    if not run.archive.sealed:
        rounds.release(run.archive, platform)


def _put_back(run: Run, testbed: Testbed) -> None:
    """What trials left, as far as any began, and what set-up did; the latter whatever became of the former."""
    platform = testbed.platform.platform
    recorded = {record.trial.id for record in run.archive.trials() if record.trial.platform == platform}
    try:
        for trial, attempt in _left_open(run, testbed):
            if trial.id not in recorded and job_of(trial, testbed, attempt).state().phase == "running":
                run.archive.note_stopped(trial, "its run was ended while it was measured")
        stopped = run.archive.stopped(platform)
        void = {place(one, attempt) for one, count in stopped.items() for attempt in range(1, count + 1)}
        done = recorded | void | {place(one, count + 1) for one, count in stopped.items() if one in recorded}
        end_what_runs(testbed.fleet, testbed.platform, run.holder, done=sorted(done))
        if run.archive.get_json(f"platforms/{platform}/facts.json"):  # else no trial can have begun
            in_parallel(_free_of_drivers, testbed.engines.values())
            _restore_lost(run, testbed, recorded)
    finally:
        undo_setup(testbed)


def _free_of_drivers(engine: Engine) -> None:
    engine.start()
    engine.end_driver()


def _restore_lost(run: Run, testbed: Testbed, recorded: Collection[str]) -> None:
    """Of trials without a record a worker may have died in the middle: what they set or made must not stay."""
    planned = run.archive.get_json("plan.json")
    trials = Plan.from_json(planned).to_measure.get(testbed.platform.platform, []) if planned else []
    lost = [trial for trial in trials if trial.id not in recorded and not why_not(trial, testbed.unavailable)]
    try:
        for trial in lost:
            for engine in testbed.engines.values():
                load_workload(trial.workload).restore(trial, engine)
    finally:
        server_settings.put_back(lost, testbed.engine)


def end_what_runs(fleet: Fleet, platform: Platform, holder: str, *, done: Sequence[str] = ()) -> None:
    """Drivers and samplers that a lost worker left running; files are removed of trials that are ``done``: archived."""
    detached_job.clean_up(
        fleet, platform.hosts_with("client", "load", "etl"), f"jobs/{holder}/{platform.platform}", done
    )
    telemetry.clean_up(fleet, f"telemetry/{holder}/{platform.platform}")


def summarise(run: Run) -> None:
    """Compute the results from all repetitions, using only what is in the archive."""
    plan = run.plan()
    _record_stopped(run, plan)
    records = run.archive.trials()
    kept = durability.of_run(_facts(run, plan), records)
    found = [result.as_json() for result in results(plan.to_measure, records, plan.in_turns)]
    run.archive.put_json("results.json", {"results": found, "durability": kept.as_json()})


def _record_stopped(run: Run, plan: Plan) -> None:
    """Trials that a person has stopped, and that nobody has measured since, have failed."""
    for platform in plan.trials:
        stopped = run.archive.stopped(platform)
        for trial in (one for one in plan.trials[platform] if one.id in stopped):
            if not run.archive.trial(platform, trial.id):
                last = run.archive.stops(trial)[-1]
                reason = f"{last['why']}, on {moment(last['at'])}; it was not measured again"
                record = replace(_not_measured(trial, reason), outcome="failed", driver_starts=1)
                run.archive.put_trial(record, None)


def _facts(run: Run, plan: Plan) -> dict[str, dict[str, Any]]:
    """Of each platform, as far as it was set up."""
    return {name: run.archive.get_json(f"platforms/{name}/facts.json") or {} for name in plan.trials}


def validate_results(run: Run) -> None:
    """Check the archived measurements and results with Great Expectations; they decide whether the run is valid."""
    plan, records = run.plan(), run.archive.trials()
    found = [Result.from_json(entry) for entry in run.archive.need_json("results.json")["results"]]
    platforms = _facts(run, plan)
    changed = [name for name in platforms if rounds.begun(run.archive, name)]
    conforming = {name: run.archive.get_json(f"platforms/{name}/conformance.json") or {} for name in plan.trials}
    verdicts = [
        *(
            Verdict(**verdict)
            for name in plan.trials
            for verdict in (run.archive.get_json(f"platforms/{name}/data.json") or {}).get("verdicts", [])
        ),
        *validation.validate("platforms", validation.conformance_rows(platforms, conforming)),
        *validation.about_host_speeds(
            {name: run.archive.get_json(f"platforms/{name}/host_speeds.json") or {} for name in plan.trials}
        ),
        *validation.about_flush({name: run.archive.get_json(_flushed(name)) or {} for name in changed}),
        *([] if plan.choices.generate_only else _about_measured(run, records, found)),
        *(
            verdict
            for suite, rows in validation.fact_rows(records).items()
            for verdict in validation.validate(suite, rows)
        ),
        *validation.about_answers(records),
        *validation.about_sources(records, run.archive.answers),
        *validation.about_neighbours(records),
        *validation.about_windows(records, is_full_scale=plan.choices.scale == "full" and plan.choices.rehearse == 1),
        *validation.about_failures(records, run.catalog.experiment(run.experiment)),
        *validation.about_other_machines(views_of(run.archive, records, machines.made_for(run, plan.trials))),
        *validation.about_release({name: rounds.is_released(run.archive, name) for name in changed}),
    ]
    run.archive.put_json(
        "verdicts.json",
        {"valid": validation.passed(verdicts), "verdicts": [verdict.as_json() for verdict in verdicts]},
    )


def _about_measured(run: Run, records: Sequence[TrialRecord], found: Sequence[Result]) -> list[Verdict]:
    """Where nothing was measured though it was meant to be, they say so."""
    return [
        *validation.validate("measurements", validation.measurement_rows(records)),
        *validation.about_experiment(run.experiment, records),
        *validation.validate("results", validation.result_rows(found)),
    ]


def write_report(run: Run) -> None:
    """Write the report, one HTML page made from the archive alone, and its first lines as data."""
    from clusterbench.report.run import findings, page  # noqa: PLC0415  templates and charts, which no trial needs

    html, found = page.render(run.archive, run.catalog)
    run.archive.put_json(findings.KEY, found.as_json())
    for line in found.lines:
        log.info("%s", line)
    run.archive.put_new("report.html", html.encode(), "text/html; charset=utf-8")


def seal(run: Run) -> str:
    """Write the manifest, which finishes the archive. Returns the run's address in object storage."""
    verdicts = run.archive.get_json("verdicts.json") or {"valid": False}
    opened = run.archive.need_json("run.json")
    run.archive.seal({"valid": verdicts["valid"], "started_by": opened["started_by"]})
    if verdicts["valid"]:
        remember_answers(run)
    return run.archive.url


def load_history(run: Run) -> None:
    """Load the sealed run into the history database, for questions over time. The archive stays the truth."""
    from clusterbench.history import database, load  # noqa: PLC0415  what no trial needs

    with database.for_loading(run.connections(HISTORY)) as db:
        load.load_published(db, run.catalog)
        load.load_run(db, run.archive, run.catalog)


def conclude(run: Run) -> None:
    """Fail unless the run is sealed and valid. The state of the whole DAG run is this task's state."""
    manifest = run.archive.get_json("manifest.json")
    if manifest is None:
        raise InvalidRunError(f"run {run.holder} was not archived; the reason is in the log of an earlier task")
    if not manifest["valid"]:
        verdicts = [Verdict(**verdict) for verdict in run.archive.need_json("verdicts.json")["verdicts"]]
        raise InvalidRunError(validation.failures(f"run {run.holder}", verdicts) + "\nSee the report for details")
