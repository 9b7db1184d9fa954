"""Collapse in the middle of a series, on real servers: killed, frozen, cut off. It is a result, not the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from clusterbench import engines
from clusterbench.base.connections import Connection, Connections
from clusterbench.base.errors import EngineAwayError, NotYetError
from clusterbench.base.paths import project_root
from clusterbench.base.patience import Outage
from clusterbench.base.records import FINDINGS, TrialRecord
from clusterbench.engines.postgres import processes
from clusterbench.hosts import ssh
from clusterbench.hosts.fleet import Address, Fleet
from clusterbench.run import steps
from clusterbench_lab.account import server_account
from clusterbench_lab.postgres import binary_dir
from tests.integration.namespaces import NamespaceHost, namespace_hosts, needs_root
from tests.integration.series import STRUCK_TIMEOUT_S, frozen, killed, series_on

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture
def on_db1(connections: Connections, tmp_path: Path) -> Callable[..., Any]:
    declared = yaml.safe_load((project_root() / "include/platforms/lab_db1.yaml").read_text())
    return lambda **sweep: series_on(declared, connections, tmp_path, **sweep)


def last_words(record: TrialRecord) -> tuple[str, dict[str, list[dict[str, float]]]]:
    """The log excerpt, and the last telemetry by host, of a trial that did not complete."""
    assert record.outcome in FINDINGS and record.measurements == {} and record.driver_starts == 1
    return record.evidence["after"]["log"], record.evidence["last_telemetry"]


def test_server_that_is_killed_is_started_for_the_next_level(on_db1: Callable[..., Any]) -> None:
    with on_db1(repetitions=1) as series:
        with pytest.raises(NotYetError, match=r"3 clients .* comes after rising: 1 client .*which has no record yet"):
            steps.measure(series.run, series.platform, series.step(1, 3).id, last_try=False)
        assert series.measure(1, 1).outcome == "completed"
        record = series.measure(1, 2, killed)
        log, telemetry = last_words(record)
        assert "coordinator on db1" in record.reason and "went down" in record.reason
        assert "postgresql.log:\n" in log
        assert {"client", "etl", "db1"} == set(telemetry)
        assert all(0 < len(rows) <= 10 and "cpu_steal_percent" in rows[-1] for rows in telemetry.values())
        after = series.measure(1, 3)
        assert (after.outcome, after.reason) == ("completed", "")
        (said,) = after.evidence["recovered"]
        assert said.startswith("coordinator on db1:") and said.endswith(" was down and was started")
        assert series.results() == {1: "1 of 1", 2: "0 of 1", 3: "1 of 1"}


def test_server_that_is_frozen_is_found_ended_and_started_and_its_series_given_up(
    on_db1: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "READY_S", 3)
    with on_db1(repetitions=2, give_up_after=1) as series:
        assert series.measure(1, 1).outcome == "completed"
        begun = time.monotonic()
        record = series.measure(1, 2, frozen)
        assert time.monotonic() - begun < STRUCK_TIMEOUT_S + 60, (
            "bounded by the driver's limit and those of each question"
        )
        _, telemetry = last_words(record)
        said = "is up, but stopped by a signal, and does not answer; the driver did not end within its time limit"
        assert said in record.reason
        assert "db1" in telemetry
        given_up = series.measure(1, 3)
        assert (given_up.outcome, given_up.driver_starts) == ("not_applicable", 0)
        assert given_up.reason == (
            "ramp 'rising.r1' was given up: concurrency 2 (failed) did not complete, and its rule is 'give_up_after: 1'"
        )
        after = series.measure(2, 1)
        assert (after.outcome, after.reason) == ("completed", "")
        (said,) = after.evidence["recovered"]
        assert said.endswith(" was frozen, was ended and was started")
        assert series.measure(2, 2).outcome == "completed", "what ended one series says nothing of another"
        assert series.results() == {1: "2 of 2", 2: "1 of 2", 3: "0 of 2"}


# A server on a host whose network can be cut.

PASSWORD = "s3cret"
MAKE_SERVER = """\
cd {work}; mkdir -p data
"{bin}/initdb" -D data -U bench --auth=scram-sha-256 --pwfile=<(echo {password}) -E UTF8 --locale=C.UTF-8 --no-sync >&2
cat >>data/postgresql.conf <<'END'
listen_addresses = '{address}'
unix_socket_directories = ''
shared_buffers = 64MB
fsync = off
logging_collector = on
END
echo 'host all all 10.0.0.0/8 scram-sha-256' >>data/pg_hba.conf
"{bin}/pg_ctl" -D data -w -l data/start.log start >/dev/null </dev/null
"""


@pytest.fixture
def far_host(connections: Connections) -> Iterator[tuple[NamespaceHost, Connection]]:
    login = server_account().name
    with namespace_hosts(1) as (host,):
        connection = host.connection(login)
        work = Path(connection.extra["work_dir"])
        server_account().make_directory(work)
        with Fleet([Address.of("far", connection, connections)]) as fleet:
            script = MAKE_SERVER.format(work=work, bin=binary_dir(), password=PASSWORD, address=host.address)
            fleet.run_on("far", script)
        with psycopg.connect(
            host=host.address, user="bench", password=PASSWORD, dbname="postgres", autocommit=True
        ) as session:
            session.execute("CREATE DATABASE bench")
        yield host, connection


@pytest.fixture
def on_far(far_host: tuple[NamespaceHost, Connection], connections: Connections, tmp_path: Path) -> Callable[..., Any]:
    host, reached = far_host
    database = Connection("far_database", host.address, 5432, "bench", PASSWORD, "bench", {})
    named = {"far": reached, "far_database": database}
    platform = {
        "platform": "far",
        "title": "Far",
        "engine": "postgres",
        "cluster": "far",
        "database": "far_database",
        "hosts": {
            "client": {"ssh": "lab_client", "roles": ["client"]},
            "far": {"ssh": "far", "roles": ["coordinator"]},
        },
        "page_cache": "none",
        "may": ["recover", "session_settings"],
    }
    return lambda **sweep: series_on(platform, lambda name: named.get(name) or connections(name), tmp_path, **sweep)


@needs_root
def test_server_that_is_cut_off_is_waited_for_and_measured_again(
    on_far: Callable[..., Any], far_host: tuple[NamespaceHost, Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    host, _ = far_host
    monkeypatch.setattr(ssh, "KEEPALIVE_S", 2)
    monkeypatch.setattr(engines, "KEEPALIVES", {"keepalives_idle": 2, "keepalives_interval": 1, "keepalives_count": 2})
    with on_far(repetitions=1) as series:
        assert series.measure(1, 1).outcome == "completed"
        begun = time.monotonic()
        try:
            record = series.measure(1, 2, lambda _: host.cut_off())
            took_s = time.monotonic() - begun
            with series.run.testbed("far") as testbed, pytest.raises(EngineAwayError) as caught:
                testbed.engine.recover()
            heard: list[Outage] = []
            series.run.wait_for_who_is_away(heard.append, "trial", "far", "three clients")
            threading.Timer(4, host.connect).start()
            after = series.measure(1, 3)
        finally:
            host.connect()
        log, telemetry = last_words(record)
        assert took_s < STRUCK_TIMEOUT_S + 60
        assert "coordinator on far:5432 cannot be asked: host far (" in record.reason
        assert log.startswith("no log: host far (")
        assert set(telemetry) == {"client"}, "whoever answers is still asked"
        assert [line.startswith("host far (") for line in record.evidence["telemetry_missing"]] == [True]
        assert caught.value.awaited == "hosts"
        assert "hosts do not answer; start them, or repair their network" in str(caught.value)
        assert [(one.awaited, one.is_over) for one in heard if one.until] == [("hosts", True)]
        (noted,) = series.run.archive.outages()
        assert (noted["trial"], noted["platform"], noted["is_over"]) == ("three clients", "far", True)
        assert (after.outcome, after.reason, after.evidence["recovered"]) == ("completed", "", [])
