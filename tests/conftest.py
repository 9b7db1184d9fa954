"""Labs of the tests' own, beside the project's: real servers, on addresses of their own, stopped at the end.

What a test takes down or spoils it brings up again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

# Before anything imports Airflow: its home is where it would write its own settings.
os.environ.setdefault("AIRFLOW_HOME", tempfile.mkdtemp(prefix="clusterbench-airflow-"))
os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "false")

import pytest

from clusterbench.base.connections import Connections, from_file
from clusterbench_lab import Lab, temporary_lab

BLOCK = int(os.environ.get("CLUSTERBENCH_TEST_BLOCK", "77"))
"""The labs are on 127.0.BLOCK.x and the next; another one lets two runs of the tests stand side by side."""

AIRFLOW_ENVIRONMENT = {
    "CLUSTERBENCH_PLATFORMS": "lab_db1,lab_db2,lab_hadoop1,lab_ideal,lab_native",
    "CLUSTERBENCH_RETRY_DELAY_S": "1",
    "CLUSTERBENCH_WEEKLY_DEADLINE_HOURS": "0.01",
    "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.2",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "20",
}
"""A platform of each kind: where all of an experiment's fail, one more costs half a minute and proves nothing more.
What was killed is looked for more often."""


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    with temporary_lab(block=BLOCK) as made:
        yield made


@pytest.fixture(scope="session")
def lab_with_airflow() -> Iterator[Lab]:
    with temporary_lab(block=BLOCK + 1, airflow=True, environment=AIRFLOW_ENVIRONMENT) as made:
        yield made


@pytest.fixture
def connections(lab: Lab) -> Connections:
    lab.up(airflow=False)  # mends what another test took down
    return from_file(lab.lab_dir / "connections.json")
