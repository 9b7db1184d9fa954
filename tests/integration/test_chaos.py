"""The small form of `make chaos`: a part of a run is struck, or a person strikes it, and nothing is lost."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from typing import Any

import pytest

from clusterbench.airflow.api import AirflowApi
from clusterbench.airflow.watch import follow
from clusterbench.base.errors import AirflowApiError
from clusterbench.base.paths import project_root
from clusterbench.base.run_ids import run_started_by
from clusterbench.cli.pools import pool_names
from clusterbench.spec.catalog import Catalog
from clusterbench_lab import Lab
from clusterbench_lab.chaos.__main__ import line
from clusterbench_lab.chaos.runs import ENDED_BY_HAND, VALID, Chaos
from clusterbench_lab.chaos.scenarios import Scenario
from tests.people import told_by

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(1200)]

SMALL = {
    Scenario("archive", "kill", "while collecting", 5.0): VALID,
    Scenario("worker", "kill", "while collecting", 5.0): VALID,
    Scenario("person", "delete", "in the window", 0.0): ENDED_BY_HAND,
}
"""What each comes to."""


@pytest.fixture(scope="module")
def api(lab_with_airflow: Lab) -> AirflowApi:
    lab_with_airflow.up()
    api = AirflowApi(lab_with_airflow.airflow_url(), *lab_with_airflow.airflow_login())
    api.ensure_pools(pool_names(Catalog(project_root())))
    return api


@pytest.mark.parametrize("scenario", SMALL, ids=str)
@pytest.mark.usefixtures("api")
def test_nothing_is_lost(lab_with_airflow: Lab, scenario: Scenario) -> None:
    told = Chaos(lab_with_airflow, patience_s=12).measure(scenario, seed=1000 + 10 * list(SMALL).index(scenario))
    assert (told.verdict, told.is_lost) == (SMALL[scenario], False), line(told)
    assert (told.completed, told.driver_starts_max) == (told.planned, 1)


def test_week_that_stands_still_tells_people_for_whom_it_waits(lab_with_airflow: Lab, api: AirflowApi) -> None:
    with told_by(lab_with_airflow) as people:
        dag_run_id = api.trigger("weekly", {"scale": "smoke", "extent": "part", "experiments": ["key_value"]})
        of_experiment = run_started_by(dag_run_id)
        wait_until(lambda: "running" in states_of(api, "key_value", of_experiment), "a step of the experiment")
        lab_with_airflow.stop_server("s3")
        try:
            wait_until(lambda: people.mails, "the mail")
        finally:
            lab_with_airflow.start_server("s3")
        follow(api, "weekly", dag_run_id, io.StringIO())
    mail = people.mails[0]
    text = mail.get_body(("plain",))
    assert text is not None
    assert mail["subject"].startswith("clusterbench: the weekly run stands still at key_value, for ")
    assert "waiting for the archive since " in text.get_content()
    assert "It goes on by itself when that is mended." in text.get_content()
    assert api.dag_run("key_value", of_experiment)["state"] == "success"


def states_of(api: AirflowApi, dag_id: str, dag_run_id: str) -> list[str]:
    try:
        return [str(task["state"]) for task in api.task_instances(dag_id, dag_run_id)]
    except AirflowApiError:  # it has not been started yet
        return []


def wait_until(condition: Callable[[], Any], what: str, within_s: float = 240) -> None:
    until = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until, f"{what} was waited for in vain"
        time.sleep(0.5)
