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

READS_BY_WORKERS, COUNTS_WRITES = 18, 16
"""The first versions with ``io_method``, and with the view ``pg_stat_io``."""


@pytest.fixture(scope="module", params=VERSIONS)
def world(request: pytest.FixtureRequest) -> Iterator[Field]:
    with field(request.param) as made:
        yield made


def test_a_run_on_that_version_is_valid(world: Field, connections: Connections, project: Path) -> None:
    """With what is new there: how it reads is a fact and a factor, and what it has written is counted."""
    run = Run("smoke", f"test-{uuid.uuid4().hex[:12]}", connections)
    version = int(world.version.partition(".")[0])
    in_turns = {"server.io_method": ["sync", "worker"]} if version >= READS_BY_WORKERS else {}
    measured(run, "field", {"platforms": ["field"], "sweeps": ["lookups"], "in_turns": in_turns})
    facts = run.archive.need_json("platforms/field/facts.json")["engine"]
    assert facts["version"].startswith(f"PostgreSQL {world.version.removesuffix('.0')}")
    assert facts.get("asynchronous_io", {}).get("io_method") == ("worker" if in_turns else None)
    records = list(run.archive.trials())
    assert {(record.outcome, record.reason) for record in records} == {("completed", "")}
    methods = {record.trial.levels.get("server.io_method") for record in records}
    assert methods == ({"sync", "worker"} if in_turns else {None})
    assert all(("data_written_mb" in one.measurements) is (version >= COUNTS_WRITES) for one in records)
