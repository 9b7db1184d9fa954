"""What the integration tests share: a run in a lab, trials made by hand, connections that are wrong on purpose."""

from __future__ import annotations

import dataclasses
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clusterbench.base.archive import RunArchive, Store
from clusterbench.base.connections import Connection, Connections
from clusterbench.base.datasets import Dataset
from clusterbench.base.records import Trial, TrialRecord
from clusterbench.run import steps
from clusterbench.run.run import Run
from clusterbench.trial.protocol import run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads import load_workload

ROWS, SEED = 2000, 7
SOON_S = 240
"""What is waited for comes long before, or never: a busy machine makes no test fail."""


def wait_for(condition: Callable[[], Any], what: str, within_s: float = SOON_S) -> Any:
    deadline = time.monotonic() + within_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what}: not within {within_s} s"
        time.sleep(0.2)
    return found


def new_run(connections: Connections, experiment: str = "smoke") -> Run:
    return Run(experiment, f"test-{uuid.uuid4().hex[:12]}", connections)


@contextmanager
def generated_run(connections: Connections, experiment: str, platform: str, **choices: Any) -> Iterator[Run]:
    """A run of the experiment at smoke scale on one platform: set up, with its data; the cluster is given back."""
    made = new_run(connections, experiment)
    steps.open_run(made, {"scale": "smoke", "platforms": [platform], **choices}, {"by": "test"})
    steps.take_cluster(made, platform)
    try:
        steps.set_up_cluster(made, platform)
        steps.flush_caches(made, platform)
        steps.generate_data(made, platform)
        yield made
    finally:
        steps.release_cluster(made, platform)


def measured_whole(run: Run, platform: str) -> list[TrialRecord]:
    """All that an opened run does on one platform, as ``dags/benchmarks.py`` has it; the cluster is given back."""
    steps.take_cluster(run, platform)
    try:
        if run.catalog.platform(platform).machines:
            steps.bring_up_machines(run, platform)
        steps.set_up_cluster(run, platform)
        steps.flush_caches(run, platform)
        steps.generate_data(run, platform)
        return [steps.measure(run, platform, trial.id) for trial in steps.validate_data(run, platform)]
    finally:
        steps.release_cluster(run, platform)


@contextmanager
def on_testbed(run: Run, platform: str = "lab_db1", **changes: Any) -> Iterator[Testbed]:
    """A platform, connected; ``changes`` are made to the platform as declared."""
    with run.testbed(platform) as testbed:
        testbed.platform = testbed.platform.model_copy(update=changes)
        testbed.engine.platform = testbed.platform
        yield testbed


def trial(name: str = "lookups", workload: str = "key_value", timeout_s: int = 120, **levels: Any) -> Trial:
    """A small trial of the key-value workload."""
    factors = load_workload(workload).factors
    filled: dict[str, Any] = {factor: declared.default for factor, declared in factors.items()}
    filled |= {"rows": ROWS}
    if workload == "key_value":
        filled |= {"lookups_per_client": 50}
    filled |= levels
    return Trial(f"{name}.r1", name, "lab_db1", name, workload, filled, 1, SEED, timeout_s, {})


def dataset(rows: int = ROWS, seed: int = SEED) -> Dataset:
    return load_workload("key_value").dataset({"rows": rows}, seed)


def changed(connections: Connections, conn_id: str, extra: dict[str, Any] | None = None, **parts: Any) -> Connections:
    """The same connections, but for one that is changed."""

    def find(wanted: str) -> Connection:
        found = connections(wanted)
        if wanted != conn_id:
            return found
        return dataclasses.replace(found, extra={**found.extra, **(extra or {})}, **parts)

    return find


def store_of(connections: Connections) -> Store:
    return Store.of(connections("clusterbench_archive"))


def archive_of(connections: Connections, experiment: str, run_id: str) -> RunArchive:
    return RunArchive(store_of(connections), experiment, run_id)


def measured_while(act: Callable[[], None], when: Callable[[], bool], planned: Trial, testbed: Testbed) -> TrialRecord:
    """The trial's record, ``act`` being done to it as soon as ``when`` is true; never, where the trial ends before."""
    ended = threading.Event()

    def wait_and_act() -> None:
        while not ended.wait(0.05):
            if when():
                act()
                return

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    try:
        return run_trial(planned, testbed)
    finally:
        ended.set()
        thread.join()
