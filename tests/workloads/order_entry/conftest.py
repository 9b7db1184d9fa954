"""One warehouse in the lab's PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clusterbench.base.connections import from_file
from clusterbench.base.paths import project_root
from clusterbench.engines.postgres.engine import Postgres
from clusterbench.hosts.fleet import Fleet
from clusterbench.spec.catalog import Catalog
from clusterbench.workloads.order_entry import data
from clusterbench_lab import Lab


@pytest.fixture(scope="module")
def engine(lab: Lab) -> Iterator[Postgres]:
    """With data that no trial has used."""
    lab.up(airflow=False)  # mends what another test took down
    connections = from_file(lab.lab_dir / "connections.json")
    platform = Catalog(project_root()).platform("lab_db1")
    with Fleet.of(platform, connections) as fleet:
        engine = Postgres(platform, fleet, connections(str(platform.database)))
        data.generate(data.dataset_of(1, 7), engine)
        yield engine
