"""Servers of other versions than the client's programs, each in a field of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from clusterbench.base.connections import Connections
from clusterbench.run.run import Run
from tests.field.binaries import VERSIONS
from tests.field.conftest import needs_field
from tests.field.runs import measured
from tests.field.world import Field, field

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(1200), needs_field]


@pytest.fixture(scope="module", params=VERSIONS)
def world(request: pytest.FixtureRequest) -> Iterator[Field]:
    with field(request.param) as made:
        yield made


def test_a_run_on_that_version_is_valid(world: Field, connections: Connections, project: Path) -> None:
    run = Run("smoke", f"test-{uuid.uuid4().hex[:12]}", connections)
    measured(run, "field", {"platforms": ["field"], "sweeps": ["lookups"]})
    facts = run.archive.need_json("platforms/field/facts.json")["engine"]
    assert facts["version"].startswith(f"PostgreSQL {world.version.removesuffix('.0')}")
    assert {(record.outcome, record.reason) for record in run.archive.trials()} == {("completed", "")}
