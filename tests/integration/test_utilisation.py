"""A load that keeps a VM of the lab so busy, for real: half a processor, and pgbench's statements that only compute."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

import clusterbench.trial
from clusterbench.base.connections import Connections
from clusterbench.base.job import Job
from clusterbench.base.measurements import MeasurementKind, Reading
from clusterbench.base.records import Trial
from clusterbench.drivers import load_search
from clusterbench.engines import Database
from clusterbench.hosts import resource_use
from clusterbench.hosts.detached_job import PROBE, DetachedJob
from clusterbench.run import steps
from clusterbench.trial import utilisation
from clusterbench.trial.protocol import job_of, run_trial
from clusterbench.trial.testbed import Testbed
from clusterbench.workloads.key_value.key_value import KeyValue
from clusterbench_lab.cgroups import SERVERS
from tests.integration.helpers import new_run, on_testbed

pytestmark = [pytest.mark.lab, pytest.mark.skipif(os.geteuid() != 0, reason="only root limits CPUs")]

PLATFORM = "lab_ideal"
LEVELS: dict[str, Any] = {
    "rows": 100,
    "pooling": "direct",
    "cache": "warm",
    "clients": 4,
    "rate_per_s": 0,
    "cpu_percent": 60,
}
LENGTHS = {"ramp_up_s": 1, "window_s": 4, "probe_s": 2, "checked_warehouses": 0}


class Computing(KeyValue):
    """pgbench for so many seconds, with ramp-up and rate as the workloads have it that are raised to a utilisation."""

    outputs = ("driver.txt", "driver_errors.txt", "log.*")
    statement = "SELECT sum(n) FROM generate_series(1, 3000) AS n"
    measurements: Mapping[str, MeasurementKind] = {**KeyValue.measurements, **resource_use.MEASUREMENTS}

    def relations(self, trial: Trial) -> list[str]:
        return []

    def prepare(self, trial: Trial, engine: Database) -> dict[str, object]:
        return {}

    def plans(self, trial: Trial, engine: Database) -> dict[str, str]:
        return {}

    def not_applicable(self, levels: Any, unavailable: Any) -> None:
        return None

    def job(self, trial: Trial, engine: Database) -> Job:
        at, levels = engine.endpoint(pooled=False), trial.levels
        rate = f"--rate={levels['rate_per_s']}" if levels["rate_per_s"] else ""
        command = (
            f'export PGPASSFILE="$PWD/pgpass"\npgbench {shlex.join(at.options)} --no-vacuum --file=script.sql {rate} '
            f"--log --log-prefix=log --client={levels['clients']} --time={levels['ramp_up_s'] + levels['window_s']} "
            f"{quote(at.dbname)} >driver.txt 2>driver_errors.txt\n"
        )
        secrets = at.secrets
        return Job({"script.sql": self.statement + ";\n"}, secrets, command)

    def read(self, output: Path, trial: Trial, expected: Any) -> Reading:
        ends = [line.split() for log in output.glob("log.*") for line in log.read_text().splitlines()]
        at = sorted(int(words[4]) + int(words[5]) / 1e6 for words in ends)
        start_s = at[0] + int(trial.levels["ramp_up_s"])
        inside = sum(start_s <= one for one in at)
        per_s = {"throughput_per_s": inside / (at[-1] - start_s), "clients_used": float(str(trial.levels["clients"]))}
        return Reading(per_s, samples=inside, window_start_s=start_s, window_end_s=at[-1])


class Waiting(Computing):
    statement = "SELECT pg_sleep(0.02)"


@pytest.fixture
def testbed(connections: Connections) -> Iterator[Testbed]:
    with on_testbed(new_run(connections), PLATFORM) as testbed:
        testbed.engine.facts()
        yield testbed
        steps.end_what_runs(testbed.fleet, testbed.platform, f"{testbed.archive.experiment}/{testbed.archive.run_id}")


def trial(name: str, **levels: int) -> Trial:
    return Trial(f"{name}.r1", name, PLATFORM, name, "key_value", LEVELS | LENGTHS | levels, 1, 7, 60, {})


@pytest.mark.long
def test_a_load_is_found_by_the_worker_that_follows_a_lost_one(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked for with less care than usual: other tests and this machine's other work must not make it long."""
    monkeypatch.setattr(load_search, "TOLERANCE", 20.0)
    monkeypatch.setattr(load_search, "LONG", 1)
    monkeypatch.setattr(load_search, "STEPS_MAX", 6)
    monkeypatch.setattr(clusterbench.trial.protocol, "load_workload", lambda _: Computing())
    wanted = trial("reached")
    probe = job_of(wanted, testbed).beside(PROBE)

    class DiedError(BaseException):
        """As SIGKILL: nothing is caught, nothing is undone."""

    def die(*_: object) -> None:
        raise DiedError

    with monkeypatch.context() as lost, pytest.raises(DiedError):
        lost.setattr(utilisation, "_look", die)
        lost.setattr(DetachedJob, "kill", lambda _: None)
        run_trial(wanted, testbed)
    assert probe.state().phase == "running" and job_of(wanted, testbed).state().phase == "new"

    record = run_trial(wanted, testbed)
    load, measured = record.evidence["load"], record.measurements
    is_near = abs(measured["cpu_percent"] - 60) <= 3
    assert (record.outcome, record.driver_starts) == ("completed" if is_near else "not_applicable", 1), record.reason
    assert abs(measured["cpu_percent"] - 60) < 30, "on a machine that others keep busy, too"
    assert record.trial == wanted, "the record is of the trial as it was asked for"
    assert measured["clients_used"] == load["clients"], "the driver ran with what was found"
    assert load["steps"][0]["load"] == {"clients": 1, "rate_per_s": 0.0}
    if load["rate_per_s"]:
        assert measured["throughput_per_s"] < 1.2 * load["rate_per_s"], "held: a client more or less is too coarse"
    busy_cpus = measured["cpu_percent"] / 100 * SERVERS["server1"].cpus("vm1")
    assert measured["transactions_per_cpu_s"] == pytest.approx(measured["throughput_per_s"] / busy_cpus)
    assert record.telemetry["vm1"]["cpu_percent_before"] is not None


def test_a_load_that_waits_cannot_be_raised_by_one_client(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusterbench.trial.protocol, "load_workload", lambda _: Waiting())
    record = run_trial(trial("waiting", clients=1), testbed)
    assert (record.outcome, record.driver_starts) == ("not_applicable", 0)
    assert "the database hosts' CPU utilisation cannot be raised to 60 %: the highest was" in record.reason
    assert "with 1 client, at" in record.reason and "'clients' allows 1 at most" in record.reason
    assert len(record.evidence["load"]["steps"]) == 1
    assert job_of(trial("waiting"), testbed).beside(PROBE).state().phase != "running"


def test_a_driver_that_fails_in_the_search_fails_the_trial(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = Computing()
    failing.statement = "SELECT nothing_of_that_name"
    monkeypatch.setattr(failing, "read", lambda *_: Reading({}, errors=1))
    monkeypatch.setattr(clusterbench.trial.protocol, "load_workload", lambda _: failing)
    record = run_trial(trial("failing", probe_s=1), testbed)
    assert record.outcome == "failed"
    assert "looking for the load, with 1 client: the driver ended with status" in record.reason
