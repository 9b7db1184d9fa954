"""The steps of a run, one function each, in the order of the page ``dags/benchmarks.py``. No Airflow in here.

Every step can be tried again: what it did before stands, and what passes between steps passes through the archive.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from clusterbench import __version__, facts, jobs, lease, telemetry, validation
from clusterbench.archive import CONNECTION_ID, RunArchive, Store
from clusterbench.catalog import Catalog
from clusterbench.connections import Connections
from clusterbench.datasets import Dataset
from clusterbench.engines import engine_class
from clusterbench.errors import ArchiveError, ClusterbenchError, DatasetError, EngineError
from clusterbench.hosts import Fleet
from clusterbench.paths import project_root
from clusterbench.plan import DISK_HEADROOM, Plan, make_plan, read_choices
from clusterbench.records import Trial, TrialRecord
from clusterbench.spec import Platform
from clusterbench.statistics import results
from clusterbench.trial import Bench, job_of, run_trial
from clusterbench.workloads import load_workload

log = logging.getLogger(__name__)


class InvalidRunError(ClusterbenchError):
    """The run's numbers must not be used; the message lists why."""


class Run:
    """One execution of one experiment, known by its id; everything else is in its archive."""

    def __init__(self, experiment: str, run_id: str, connections: Connections) -> None:
        self.experiment, self.run_id, self.connections = experiment, run_id, connections
        self.catalog = Catalog(project_root())
        self.archive = RunArchive(Store.of(connections(CONNECTION_ID)), experiment, run_id)

    @property
    def holder(self) -> str:
        return f"{self.experiment}/{self.run_id}"

    def plan(self) -> Plan:
        return Plan.from_json(self.archive.need_json("plan.json"))

    @contextmanager
    def bench(self, platform_name: str) -> Iterator[Bench]:
        """Hosts and engine of a platform, connected for as long as the block lasts."""
        platform = self.catalog.platform(platform_name)
        if platform.database is None:
            raise EngineError(f"platform {platform_name!r}: names no 'database' connection; add it to its file")
        known = self.archive.get_json(f"platforms/{platform_name}/facts.json") or {}
        with Fleet.of(platform, self.connections) as fleet:
            engine = engine_class(platform.engine)(
                platform, fleet, self.connections(platform.database), known.get("engine")
            )
            yield Bench(platform, fleet, engine, self.archive)

    def note_error(self, step: str, error: Exception, platform: str = "run") -> None:
        """Keep an error for the report; the archive being away must not hide it, and a sealed one stays as it is."""
        try:
            if self.archive.sealed:
                return
            when = datetime.now(UTC).isoformat(timespec="milliseconds")
            said = {"step": step, "platform": platform, "error": str(error), "at": when}
            self.archive.put_json(f"errors/{platform}/{step}/{when}.json", said)
        except ArchiveError as unreachable:
            log.warning("the error could not be archived: %s", unreachable)


def open_run(run: Run, chosen: Mapping[str, Any], started_by: Mapping[str, str]) -> str:
    """Check the choices, plan the trials, and claim the run id in the archive. Returns the run's address."""
    experiment = run.catalog.experiment(run.experiment)
    choices = read_choices(experiment, chosen)
    plan = make_plan(experiment, choices, run.catalog)
    if run.archive.sealed:
        raise ArchiveError(f"{run.archive.url}: this run is finished and sealed; start a new run instead of this one")
    opened = {
        "run_id": run.run_id,
        "experiment": run.experiment,
        "started_by": dict(started_by),
        "choices": choices.model_dump(),
        "clusterbench": __version__,
    }
    if not run.archive.put_json("run.json", opened) and run.archive.need_json("run.json") != opened:
        raise ArchiveError(
            f"{run.archive.url}: the archive holds another run of that id; nothing was changed there. Start a new run"
        )
    source = project_root() / "dags" / "experiments" / f"{run.experiment}.yaml"
    run.archive.put_new("experiment.yaml", source, "application/yaml")
    for name in plan.trials:
        run.archive.put_new(f"platforms/{name}/platform.yaml", project_root() / "include/platforms" / f"{name}.yaml")
    run.archive.put_json("plan.json", plan.as_json())
    log.info("run %s: %d trials, archived in %s", run.holder, sum(map(len, plan.trials.values())), run.archive.url)
    return run.archive.url


def take_cluster(run: Run, platform: str) -> None:
    """Keep every other run off the cluster, of this Airflow or of another."""
    with run.bench(platform) as bench:
        lease.acquire(bench.fleet, bench.platform, run.holder)


def set_up_cluster(run: Run, platform: str) -> None:
    """Read the cluster's facts, compare its settings with the declared ones, and check that all will fit."""
    with run.bench(platform) as bench:
        engine_facts = bench.engine.facts()
        bench.engine.reset_session()
        found = bench.engine.settings(bench.platform.settings)
        run.archive.put_json(
            f"platforms/{platform}/facts.json",
            {
                "engine": engine_facts,
                "hosts": facts.hosts(bench.fleet),
                "declared_settings": dict(bench.platform.settings),
                "found_settings": found,
                "page_cache": bench.platform.page_cache,
                "without_hosts": bench.platform.without_hosts,
            },
        )
        _check_settings(bench.platform, found)
        _check_space(run, bench)


def _check_settings(platform: Platform, found: Mapping[str, str]) -> None:
    differences = [
        f"  setting {name}: declared {declared!r}, found {found.get(name, 'no such setting')!r}"
        for name, declared in platform.settings.items()
        if found.get(name) != declared
    ]
    if differences:
        raise EngineError(
            f"platform {platform.platform!r} is not what its file says:\n" + "\n".join(differences) + "\n"
            "Change the server's settings, or what the file declares"
        )


def _check_space(run: Run, bench: Bench) -> None:
    datasets = run.plan().datasets(bench.platform.platform, bench.engine.lacks)
    needed = sum(
        int(dataset.bytes_expected * DISK_HEADROOM)
        for workload, dataset in datasets
        if not load_workload(workload).is_generated(dataset, bench.engine)
    )
    free = bench.engine.free_bytes()
    if free is not None and needed > free:
        raise EngineError(
            f"platform {bench.platform.platform!r}: too small: the datasets need {needed / 1e9:,.1f} GB more, free are "
            f"{free / 1e9:,.1f} GB; free some space, or choose a smaller scale or fewer sweeps"
        )


def generate_data(run: Run, platform: str) -> None:
    """Make every dataset of the plan that is not there yet, each once and resumable by slice."""
    with run.bench(platform) as bench:
        for workload, dataset in run.plan().datasets(platform, bench.engine.lacks):
            begun = time.monotonic()
            load_workload(workload).generate(dataset, bench.engine)
            log.info("%s: ready, %.1f s", dataset.table, time.monotonic() - begun)


def validate_data(run: Run, platform: str) -> list[Trial]:
    """Great Expectations over every dataset; a bad one stops the platform before its first trial.

    Returns the trials that may now be measured, in their order.
    """
    by_suite: dict[str, list[dict[str, object]]] = {}
    with run.bench(platform) as bench:
        for workload, dataset in run.plan().datasets(platform, bench.engine.lacks):
            facts_found = _with_known_checksum(run, dataset, load_workload(workload).inspect(dataset, bench.engine))
            by_suite.setdefault(dataset.name, []).append(facts_found)
    verdicts = [verdict for suite, rows in by_suite.items() for verdict in validation.validate(suite, rows)]
    run.archive.put_json(
        f"platforms/{platform}/data.json",
        {"datasets": by_suite, "verdicts": [verdict.as_json() for verdict in verdicts]},
    )
    if not validation.passed(verdicts):
        raise DatasetError(validation.failures(f"platform {platform!r}: the data", verdicts) + "\nNothing was measured")
    for rows in by_suite.values():
        for row in rows:
            run.archive.store.put_new(str(row["checksum_key"]), str(row["checksum"]).encode(), "text/plain")
    return run.plan().trials[platform]


def _with_known_checksum(run: Run, dataset: Dataset, row: dict[str, object]) -> dict[str, object]:
    """Where no other engine computed the checksum, it is that of the first valid run, on whatever platform."""
    key = f"_checksums/{dataset.name}/{dataset.table}-seed{dataset.seed}"
    known = run.archive.store.get(key)
    if row["checksum_expected"] is not None:
        return {**row, "checksum_key": key}
    source = "an earlier run's" if known else "none yet: later runs are compared with this one"
    expected = known.decode() if known else row["checksum"]
    return {**row, "checksum_key": key, "checksum_expected": expected, "checksum_source": source}


def measure(run: Run, platform: str, trial_id: str) -> TrialRecord:
    """One trial; see ``trial.py`` for its protocol. A finished run takes no more trials, only tells those it has."""
    if run.archive.sealed and run.archive.trial(platform, trial_id) is None:
        raise ArchiveError(f"{run.archive.url}: this run is finished and sealed; start a new run to measure more")
    with run.bench(platform) as bench:
        lease.acquire(bench.fleet, bench.platform, run.holder)  # a task may be cleared when another run has begun
        return run_trial(run.plan().trial(platform, trial_id), bench)


def cancel(run: Run, platform: str, trial_id: str) -> None:
    """End a trial's driver, because a person said so; its record will say that it was killed."""
    with run.bench(platform) as bench:
        job_of(run.plan().trial(platform, trial_id), bench).kill()


def release_cluster(run: Run, platform: str) -> None:
    """Put back what was changed and give the cluster back, also after failures; does nothing to another run's."""
    with run.bench(platform) as bench:
        lease.acquire(bench.fleet, bench.platform, run.holder)  # nothing is touched that another run holds
        try:
            recorded = [record.trial.id for record in run.archive.trials() if record.trial.platform == platform]
            jobs.clean_up(bench.fleet, bench.platform.client, f"jobs/{run.holder}/{platform}", recorded)
            telemetry.clean_up(bench.fleet, f"telemetry/{run.holder}/{platform}")
            bench.engine.start()
            bench.engine.stop_pooler()
            bench.engine.reset_session()
        finally:
            lease.release(bench.fleet, bench.platform, run.holder)


def summarise(run: Run) -> None:
    """Results and verdicts from what is in the archive, and nothing else."""
    plan, records = run.plan(), run.archive.trials()
    found = results(plan.trials, records)
    platforms = {name: run.archive.get_json(f"platforms/{name}/facts.json") or {} for name in plan.trials}
    verdicts = [
        *(
            validation.Verdict(**verdict)
            for name in plan.trials
            for verdict in (run.archive.get_json(f"platforms/{name}/data.json") or {}).get("verdicts", [])
        ),
        *validation.validate("platforms", validation.setting_rows(platforms)),
        *validation.validate("measurements", validation.measurement_rows(records)),
        *validation.validate("results", validation.result_rows(found)),
        *validation.about_failures(records, run.catalog.experiment(run.experiment)),
    ]
    run.archive.put_json("results.json", {"results": [result.as_json() for result in found]})
    run.archive.put_json(
        "verdicts.json",
        {"valid": validation.passed(verdicts), "verdicts": [verdict.as_json() for verdict in verdicts]},
    )


def write_report(run: Run) -> None:
    """One self-contained HTML page, made from the archive alone."""
    from clusterbench.report import render_report  # noqa: PLC0415  templates and charts, which no trial needs

    run.archive.put_new("report.html", render_report(run.archive, run.catalog).encode(), "text/html; charset=utf-8")


def seal(run: Run) -> str:
    """The manifest, last and once. Returns the run's address in object storage."""
    verdicts = run.archive.get_json("verdicts.json") or {"valid": False}
    opened = run.archive.need_json("run.json")
    run.archive.seal({"valid": verdicts["valid"], "started_by": opened["started_by"]})
    return run.archive.url


def conclude(run: Run) -> None:
    """Raise InvalidRunError unless the run is sealed and valid: the leaf from which the run's state comes."""
    manifest = run.archive.get_json("manifest.json")
    if manifest is None:
        raise InvalidRunError(f"run {run.holder} was not archived; an earlier task says why")
    if not manifest["valid"]:
        verdicts = [validation.Verdict(**verdict) for verdict in run.archive.need_json("verdicts.json")["verdicts"]]
        raise InvalidRunError(validation.failures(f"run {run.holder}", verdicts) + "\nThe report says more")
