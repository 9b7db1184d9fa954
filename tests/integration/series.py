"""A series of trials measured step by step, in whose middle a server may be struck; for tests of collapse."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from clusterbench.base.connections import Connections
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.hosts import lease
from clusterbench.results import statistics
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.spec.catalog import Catalog
from clusterbench.trial.plan import make_plan, read_choices
from clusterbench.trial.protocol import job_of
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import load_workload
from tests.integration.helpers import ROWS, SEED, new_run

TIMEOUT_S = 120
STRUCK_TIMEOUT_S = 10
"""Of the second level of the first series, in whose middle the server is struck."""
OF_ITS = 'for pid in $(pgrep -x postgres); do [ "$(readlink /proc/$pid/cwd)" != {data} ] || kill -{signal} $pid; done'
LOOKUPS: dict[str, Any] = {
    "workload": "key_value",
    "factors": {"clients": [1, 2, 3], "rows": [ROWS], "lookups_per_client": [20_000]},
}
LOOKUPS_TO_STRIKE = 400_000
"""Of each client of the trial that is struck: it shall not have ended before, however busy the machine is."""
Strike = Callable[[Testbed], None]


def is_struck(trial: Trial) -> bool:
    """The second level of the first series."""
    return (trial.repetition, trial.levels["clients"]) == (1, 2)


def to_be_struck(trial: Trial) -> Trial:
    levels = dict(trial.levels)
    if "lookups_per_client" in levels:
        levels["lookups_per_client"] = LOOKUPS_TO_STRIKE
    return replace(trial, timeout_s=STRUCK_TIMEOUT_S, levels=levels)


def killed(testbed: Testbed) -> None:
    testbed.fleet.run_on("db1", f"kill -9 $(head -n 1 {data_of(testbed)}/postmaster.pid)")


def frozen(testbed: Testbed) -> None:
    testbed.fleet.run_on("db1", OF_ITS.format(data=data_of(testbed), signal="STOP"))


def data_of(testbed: Testbed) -> str:
    return str(testbed.engine.instances()[0].data_directory)  # type: ignore[attr-defined]


class Series:
    """A run of one sweep of series, whose trials are measured step by step."""

    def __init__(self, run: Run, platform: str) -> None:
        self.run, self.platform = run, platform
        self.trials = run.plan().trials[platform]

    def step(self, repetition: int, clients: int) -> Trial:
        (found,) = (t for t in self.trials if (t.repetition, t.levels["clients"]) == (repetition, clients))
        return found

    def measure(self, repetition: int, clients: int, strike: Strike | None = None) -> TrialRecord:
        step = self.step(repetition, clients)
        if strike is None:
            return steps.measure(self.run, self.platform, step.id)
        with struck_while_it_runs(self, step, strike):
            return steps.measure(self.run, self.platform, step.id)

    def results(self) -> dict[object, str]:
        """Clients -> n of n."""
        found = statistics.results({self.platform: self.trials}, self.run.archive.trials())
        return {result.levels["clients"]: result.n_of_n for result in found}


@contextmanager
def struck_while_it_runs(series: Series, step: Trial, strike: Strike) -> Iterator[None]:
    problems: list[BaseException] = []

    def wait_and_strike() -> None:
        try:
            with series.run.testbed(series.platform) as testbed:
                job, until = job_of(step, testbed), time.monotonic() + 60
                while job.state().phase != "running":
                    assert time.monotonic() < until, "the driver did not start"
                    time.sleep(0.1)
                time.sleep(0.3)
                strike(testbed)
        except BaseException as error:
            problems.append(error)

    striker = threading.Thread(target=wait_and_strike)
    striker.start()
    try:
        yield
    finally:
        striker.join()
    assert problems == []


@contextmanager
def series_on(platform: dict[str, Any], connections: Connections, folder: Path, **sweep: Any) -> Iterator[Series]:
    """Data and facts are there; the cluster is given back at the end, and nothing of it is left frozen."""
    name = platform["platform"]
    experiment = {
        "experiment": "collapse",
        "title": "Collapse",
        "description": "To the point of collapse.",
        "platforms": [name],
        "seed": SEED,
        "failures_are_findings": True,
        "sweeps": {
            "rising": {
                "title": "Rising",
                "order": "series",
                "timeout_s": TIMEOUT_S,
                **(LOOKUPS | sweep),
            }
        },
    }
    for path, content in (
        ("dags/experiments/collapse.yaml", experiment),
        (f"include/platforms/{name}.yaml", platform),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(yaml.safe_dump(content))
    run = new_run(connections, "collapse")
    run.catalog = Catalog(folder)
    declared = run.catalog.experiment("collapse")
    plan = make_plan(declared, read_choices(declared, {}), run.catalog)
    plan.trials[name] = [to_be_struck(t) if is_struck(t) else t for t in plan.trials[name]]
    run.archive.put_json("plan.json", plan.as_json())
    with run.testbed(name) as testbed:
        first, *_ = plan.trials[name]
        workload = load_workload(first.workload)
        workload.generate(workload.dataset(first.levels, first.seed), testbed.engine)
        run.archive.put_json(f"platforms/{name}/facts.json", {"engine": testbed.engine.facts()})
        try:
            yield Series(run, name)
        finally:
            testbed.engine.recover()
            lease.release(testbed.fleet, testbed.platform, run.holder)
