"""The small form of `make chaos`: a part of a run is struck, and nothing is lost."""

from __future__ import annotations

import pytest

from clusterbench.airflow.api import AirflowApi
from clusterbench.base.paths import project_root
from clusterbench.cli.pools import pool_names
from clusterbench.spec.catalog import Catalog
from clusterbench_lab import Lab
from clusterbench_lab.chaos.__main__ import line
from clusterbench_lab.chaos.runs import VALID, Chaos
from clusterbench_lab.chaos.scenarios import Scenario

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(1200)]

STRUCK = Scenario("worker", "kill", "while collecting", 5.0)


@pytest.fixture(scope="module")
def api(lab_with_airflow: Lab) -> AirflowApi:
    lab_with_airflow.up()
    api = AirflowApi(lab_with_airflow.airflow_url(), *lab_with_airflow.airflow_login())
    api.ensure_pools(pool_names(Catalog(project_root())))
    return api


@pytest.mark.usefixtures("api")
def test_nothing_is_lost(lab_with_airflow: Lab) -> None:
    told = Chaos(lab_with_airflow, patience_s=12).measure(STRUCK, seed=1000)
    assert (told.verdict, told.is_lost) == (VALID, False), line(told)
    assert (told.completed, told.driver_starts_max) == (told.planned, 1)
