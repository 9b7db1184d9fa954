"""One button walks through the layouts of a study on a vCenter; a worker is killed in the middle of a switch."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from clusterbench.airflow.api import AirflowApi
from clusterbench.airflow.watch import follow
from clusterbench.base.archive import Store, runs_in
from clusterbench.base.connections import from_file
from clusterbench_lab import Lab, temporary_lab
from tests import BLOCK
from tests.conftest import AIRFLOW_ENVIRONMENT
from tests.integration.helpers import wait_for

pytestmark = [pytest.mark.lab, pytest.mark.long]
LAYOUTS = [f"lab_made_retail_vm{count}" for count in (1, 2, 4)]
ENVIRONMENT = {**AIRFLOW_ENVIRONMENT, "CLUSTERBENCH_PLATFORMS": ",".join(LAYOUTS), "CLUSTERBENCH_TURN_S": "5"}


@pytest.fixture(scope="module")
def made() -> Iterator[Lab]:
    with temporary_lab(block=BLOCK + 2, airflow=True, environment=ENVIRONMENT) as lab:
        lab.up(hypervisor=True)
        assert clusterbench(lab, "pools").returncode == 0
        yield lab


def running(api: AirflowApi, dag_run_id: str, besides: str = "") -> dict[str, object] | None:
    for task in api.task_instances("retail", dag_run_id):
        name = str(task["task_id"])
        if name.endswith(".bring_up_machines") and task["state"] == "running" and task["pid"] and name != besides:
            return dict(task)
    return None


def test_one_button_walks_through_three_layouts_and_a_killed_switch_loses_nothing(made: Lab) -> None:
    api = AirflowApi.from_environment(made.lab_dir)
    dag_run_id = api.trigger("retail", {"scale": "smoke", "platforms": LAYOUTS, "sweeps": ["sort_memory"]})
    first = wait_for(lambda: running(api, dag_run_id), "the first layout is brought up")
    second = wait_for(lambda: running(api, dag_run_id, str(first["task_id"])), "the second layout is brought up")
    os.kill(int(second["pid"]), signal.SIGKILL)
    assert follow(api, "retail", dag_run_id, io.StringIO()) == "success"

    connections = from_file(made.layout.connections_file)
    (archive,) = runs_in(Store.of(connections("clusterbench_archive")), "retail")
    records = archive.trials()
    assert {record.trial.platform for record in records} == set(LAYOUTS)
    assert {(record.outcome, record.driver_starts) for record in records} == {("completed", 1)}
    assert archive.need_json("manifest.json")["valid"] is True and archive.verify() == []
    assert sorted(archive.need_json("plan.json")["order"]) == LAYOUTS
    names = {one["name"] for one in archive.need_json(f"platforms/{LAYOUTS[2]}/machines/up.json")["machines"]}
    assert names == {f"lab-made-retail-vm4-db{number}" for number in range(1, 5)}
    report = (archive.store.get(f"{archive.prefix}report.html") or b"").decode()
    assert "What the hypervisor saw" in report and all(layout in report for layout in LAYOUTS)

    status = clusterbench(made, "machines", "status", LAYOUTS[1])
    assert status.returncode == 1 and status.stdout.count(" down ") == 2, status.stdout + status.stderr
    assert json.loads((made.lab_dir / "guests.json").read_text()).keys() >= names


def clusterbench(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CLUSTERBENCH_LAB_DIR": str(lab.lab_dir), "COLUMNS": "200"}
    command = [sys.executable, "-m", "clusterbench.cli.main", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_the_command_line_plans_brings_up_and_takes_down(made: Lab) -> None:
    """As docs/machines.md says it."""
    planned = clusterbench(made, "machines", "plan", LAYOUTS[0])
    assert planned.returncode == 0 and "calls would change something; none was made" in planned.stdout
    up = clusterbench(made, "machines", "up", LAYOUTS[0])
    assert up.returncode == 0 and up.stdout == "up: db1\n", up.stderr
    status = clusterbench(made, "machines", "status", LAYOUTS[0])
    assert status.returncode == 0 and "127.0." in status.stdout
    again = clusterbench(made, "machines", "up", LAYOUTS[0])
    assert again.stdout == "it was up already\n"
    assert clusterbench(made, "machines", "down", LAYOUTS[0]).returncode == 0
    assert clusterbench(made, "machines", "status", LAYOUTS[0]).returncode == 1
    plan = clusterbench(made, "plan", "retail", "--guess", "--scale", "smoke", "--platform", LAYOUTS[1])
    assert (
        "2 machines on 1 host of lab_vcenter (vsphere), made and switched by the run; budget: 4 machines" in plan.stdout
    )
    native = clusterbench(made, "machines", "plan", "lab_db1")
    assert (
        native.returncode == 1
        and "its file has no 'machines', so clusterbench does not make its hosts" in native.stderr
    )
