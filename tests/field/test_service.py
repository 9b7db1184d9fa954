"""A server that belongs to a unit of the service manager is stopped and started by that, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clusterbench import engines
from clusterbench.base.errors import EngineError
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.platform import Platform
from tests.field.conftest import needs_root
from tests.field.database import SERVICE
from tests.field.world import Field

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600), needs_root]


@contextmanager
def engine_of(world: Field, **changes: Any) -> Iterator[Any]:
    """``changes`` are made to the platform as declared. Its facts are known, as after set-up."""
    platform, connections = Platform.model_validate(world.platform | changes), world.connections()
    with Fleet.of(platform, connections) as fleet:
        engine = engines.engine_class("postgres")(platform, fleet, connections("field_database"), None)
        engine.facts()
        yield engine


def test_a_killed_server_is_started_by_its_unit(world: Field) -> None:
    with engine_of(world) as engine:
        world.db1.run(f"kill -KILL $(head -n 1 {world.database.data}/postmaster.pid)")
        (said,) = engine.recover()
    assert said.endswith(" was down and was started")
    assert world.unit_of_server() == SERVICE


def test_a_platform_that_names_no_unit_leaves_its_server_alone(world: Field) -> None:
    started = world.db1.run(f"head -n 1 {world.database.data}/postmaster.pid")
    with engine_of(world, service=None) as engine:
        with pytest.raises(EngineError, match=f"(?s)belongs to the unit {SERVICE}.*write 'service: UNIT'"):
            engine.stop()
        assert engine.answers()
    assert world.db1.run(f"head -n 1 {world.database.data}/postmaster.pid") == started


def test_a_killed_server_of_an_unnamed_unit_is_not_started_behind_its_back(world: Field) -> None:
    with engine_of(world, service=None) as engine:
        world.db1.run(f"kill -KILL $(head -n 1 {world.database.data}/postmaster.pid)")
        with pytest.raises(EngineError, match=f"unit {SERVICE}, and is not started behind its back"):
            engine.recover()
    world.db1.run(f"systemctl start {SERVICE}")
    assert world.unit_of_server() == SERVICE


def test_a_frozen_server_is_brought_back_by_its_unit(world: Field) -> None:
    with engine_of(world) as engine:
        world.db1.run(f"systemctl kill --signal=STOP {SERVICE}")
        try:
            (said,) = engine.recover()
        finally:
            world.db1.run(f"systemctl kill --signal=CONT {SERVICE}")
    assert said.endswith(" was frozen, was ended and was started")
    assert world.unit_of_server() == SERVICE
