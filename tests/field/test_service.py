"""A server that belongs to a unit of the service manager is stopped and started by that, or not at all."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clusterbench import engines
from clusterbench.base.errors import EngineError
from clusterbench.base.scripts import script
from clusterbench.hosts.fleet import Fleet
from clusterbench.run.doctor import server
from clusterbench.spec.platform import Platform
from tests.field.conftest import needs_field
from tests.field.database import SERVICE
from tests.field.world import Field
from tests.integration.helpers import wait_for

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(600), needs_field]

RUNTIME = "/run/systemd/system"


@contextmanager
def engine_of(world: Field, **changes: Any) -> Iterator[Any]:
    """``changes`` are made to the platform as declared. Its facts are known, as after set-up."""
    platform, connections = Platform.model_validate(world.platform | changes), world.connections()
    with Fleet.of(platform, connections) as fleet:
        engine = engines.engine_class(platform)(platform, fleet, connections("field_database"), None)
        engine.facts()
        yield engine


@contextmanager
def unit_with(world: Field, text: str, name: str = f"{SERVICE}.d/test.conf") -> Iterator[None]:
    """The unit as somebody has changed it (``systemctl edit --runtime``), or one more; afterwards as it was, and up."""
    file = f"{RUNTIME}/{name}"
    world.db1.run(f"mkdir -p $(dirname {file}); cat >{file} <<'END'\n{text}\nEND\nsystemctl daemon-reload")
    try:
        yield
    finally:
        again = f"systemctl reset-failed {SERVICE} || true; systemctl start {SERVICE}"
        world.db1.run(f"rm -f {file}; systemctl daemon-reload; {again}")


def process(world: Field) -> str:
    return world.db1.run(f"head -n 1 {world.database.data}/postmaster.pid")


def kill(world: Field) -> None:
    world.db1.run(f"kill -KILL {process(world)}")


def is_up(engine: Any) -> bool:
    return bool(engine.state()[0]["alive"])


def test_a_killed_server_is_started_by_its_unit(world: Field) -> None:
    with engine_of(world) as engine:
        kill(world)
        (said,) = engine.recover()
    assert said.endswith(" was down and was started")
    assert world.unit_of_server() == SERVICE


def test_a_platform_that_names_no_unit_leaves_its_server_alone(world: Field) -> None:
    started = process(world)
    with engine_of(world, service=None) as engine:
        with pytest.raises(EngineError, match=f"(?s)belongs to the unit {SERVICE}.*write 'service: UNIT'"):
            engine.stop()
        assert engine.answers()
        (found,) = [each for each in server.examine(engine) if each.what == "service"]
    assert (found.verdict, found.found) == ("bad", f"the server belongs to the unit {SERVICE}")
    assert found.remedy == "write 'service: postgresql@field'"
    assert process(world) == started


def test_a_killed_server_of_an_unnamed_unit_is_not_started_behind_its_back(world: Field) -> None:
    with engine_of(world, service=None) as engine:
        kill(world)
        with pytest.raises(
            EngineError, match=f"unit {SERVICE}, and clusterbench does not start it without that manager"
        ):
            engine.recover()
    world.db1.run(f"systemctl start {SERVICE}")
    assert world.unit_of_server() == SERVICE


def test_a_frozen_server_is_brought_back_by_its_unit(world: Field) -> None:
    """The unit asks it to stop and waits for an hour, as it would for one that is only slow."""
    with engine_of(world) as engine:
        world.db1.run(f"systemctl kill --signal=STOP {SERVICE}")
        try:
            (said,) = engine.recover()
        finally:
            world.db1.run(f"systemctl kill --signal=CONT {SERVICE}")
    assert said.endswith(" was frozen, was ended and was started")
    assert world.unit_of_server() == SERVICE


def test_a_unit_that_restarts_its_server_leaves_it_stopped_when_asked_to(world: Field) -> None:
    with unit_with(world, "[Service]\nRestart=always\nRestartSec=200ms"), engine_of(world) as engine:
        killed = process(world)
        kill(world)
        wait_for(lambda: engine.answers() and process(world) != killed, "the unit to restart its server")
        assert engine.recover() == []
        engine.stop()
        until = time.monotonic() + 2
        while time.monotonic() < until:
            assert not is_up(engine)
        engine.start()
        assert engine.answers()
    assert world.unit_of_server() == SERVICE


def test_a_server_that_its_unit_killed_was_not_stopped(world: Field) -> None:
    """systemctl itself says nothing of it. What is measured next would have recovered from a crash."""
    hangs = "[Service]\nExecStop=\nExecStop=/bin/sleep 3600\nTimeoutStopSec=500ms\nKillSignal=SIGCONT"
    words = r"was killed, because it had not stopped within .*TimeoutStopSec \(500ms"
    with unit_with(world, hangs), engine_of(world) as engine:
        with pytest.raises(EngineError, match=words):
            engine.stop()
        assert engine.answers()


def test_a_limit_of_starts_is_waited_for_and_told(world: Field, caplog: pytest.LogCaptureFixture) -> None:
    limited = "[Unit]\nStartLimitIntervalSec=30\nStartLimitBurst=2"
    with unit_with(world, limited), engine_of(world) as engine:
        for _ in range(3):
            engine.stop()
            engine.start()
            assert engine.answers()
    (said,) = [message for message in caplog.messages if "started too often" in message]
    assert said.startswith("host db1: postgresql@field") and "at most 2 times in 30s" in said


def test_a_unit_that_does_not_wait_for_its_server_is_waited_for(world: Field) -> None:
    program = f"{world.database.program}/postgres -D {world.database.data}"
    slow = f"[Service]\nType=simple\nPIDFile=\nExecStart=\nExecStart=/bin/sh -c 'sleep 2; exec {program}'"
    with unit_with(world, slow), engine_of(world) as engine:
        engine.stop()
        engine.start()
        assert engine.query("SELECT 1 AS up") == [{"up": 1}]


def test_a_unit_that_only_stands_for_that_of_the_server_is_refused(world: Field) -> None:
    """As Debian's ``postgresql.service``, of which systemctl says at once that it is stopped."""
    started = process(world)
    stands = "[Service]\nType=oneshot\nExecStart=/bin/true\nRemainAfterExit=on"
    words = f"belongs to {SERVICE}, not to postgresql; correct 'service'"
    with (
        unit_with(world, stands, "postgresql.service"),
        engine_of(world, service="postgresql") as engine,
        pytest.raises(EngineError, match=words),
    ):
        engine.stop()
    assert process(world) == started


def test_limits_of_the_unit_and_of_what_it_is_in_are_facts(world: Field) -> None:
    with engine_of(world) as engine:
        assert "memory_limit_bytes" not in engine.facts()
        try:
            world.db1.run(f"systemctl set-property --runtime {SERVICE} MemoryMax=700M")
            assert engine.facts()["memory_limit_bytes"] == 700 * 2**20
            world.db1.run("systemctl set-property --runtime system-postgresql.slice MemoryMax=600M")
            assert engine.facts()["memory_limit_bytes"] == 600 * 2**20
        finally:
            for unit in (SERVICE, "system-postgresql.slice"):
                world.db1.run(f"systemctl set-property --runtime {unit} MemoryMax=infinity")


def test_what_a_login_starts_belongs_to_no_unit_of_the_host(world: Field) -> None:
    """Not in the session itself, and not in a scope within a unit for the user, as tmux asks for."""
    ask = script("postgres/installation", program="/bin") + script("postgres/instances", data_directories=["/"])
    begin = "systemd-run --user --quiet --scope --unit=held sleep 60 & scope=$!; sleep 60 & mine=$!"
    wait = "until systemctl --user --quiet is-active held.scope; do sleep 0.1; done"
    tell = "cat /proc/$scope/cgroup; echo units: $(unit_of $scope) $(unit_of $mine); kill $scope $mine"
    with Fleet.of(Platform.model_validate(world.platform), world.connections()) as fleet:
        output = fleet.run_on("db1", f"{ask}\n{begin}\n{wait}\n{tell}").output
    assert "/user@" in output and "/held.scope" in output and output.splitlines()[-1] == "units:"


def test_shared_memory_that_goes_with_a_login_is_found(world: Field) -> None:
    """systemd's own default takes it from a server whose user logs in, unless that is a system user's."""
    shared = "ls /dev/shm | grep -c PostgreSQL || true"
    file = "/etc/systemd/logind.conf.d/postgresql.conf"
    try:
        with engine_of(world) as engine:
            assert not found_wrong(engine) and int(world.db1.run(shared)) > 0
            world.db1.run(f"mv {file} {file}.kept; systemctl restart systemd-logind")
            assert found_wrong(engine) == {"shared memory": "RemoveIPC=no"}
        wait_for(lambda: world.db1.run(shared) == "0", "the server's shared memory to go")
    finally:
        world.db1.run(f"mv {file}.kept {file}; systemctl restart systemd-logind; systemctl restart {SERVICE}")


def found_wrong(engine: Any) -> dict[str, str]:
    """What is bad -> the setting that its remedy names."""
    remedies = {each.what: each.remedy for each in server.examine(engine) if each.verdict == "bad"}
    return {what: str(re.search(r"\w+=\w+", remedy).group()) for what, remedy in remedies.items()}  # type: ignore[union-attr]
