"""The way of a new user who has an Airflow already: the wheel, ``clusterbench init``, a first run by the button.

On the oldest Airflow that is supported, with what it was released with, and on the newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from clusterbench.airflow.api import AirflowApi
from clusterbench_lab import Lab
from tests.integration import own_project
from tests.integration.browsing import links, log_in
from tests.integration.helpers import wait_for
from tests.integration.own_project import NEWEST, OLDEST, User

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1500)]
AIRFLOWS = {"oldest": ("==3.1.1", OLDEST), "newest": (">=3.3.2", NEWEST)}


@pytest.fixture(scope="module", params=AIRFLOWS)
def user(request: Any, lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """With a project of one's own, and an Airflow that shows it."""
    made = User(tmp_path_factory.mktemp("user"), own_project.free_port(), own_project.free_port())
    version, constraints = AIRFLOWS[request.param]
    before = own_project.airflow_installed(made, version, constraints)
    wheel = own_project.wheel(tmp_path_factory.mktemp("dist"))
    own_project.clusterbench_installed(made, wheel, before)
    own_project.otava_installed(made)
    assert {name: version for name, version in made.packages().items() if name in before} == before
    made.run("clusterbench", "init", "bench", "--project", "ours")
    own_project.declared(made, lab)
    with own_project.standalone(made):
        wait_for(lambda: _is_up(made), "Airflow")
        yield made


def _is_up(user: User) -> bool:
    try:
        said = httpx.get(f"{user.url}/api/v2/monitor/health", timeout=5).json()
    except (httpx.HTTPError, ValueError):
        return False
    return bool(user.passwords) and said["scheduler"]["status"] == "healthy"


def _ended(user: User) -> Sequence[Mapping[str, Any]]:
    api = AirflowApi(user.url, "admin", user.passwords["admin"])
    runs = api.call("GET", "/dags/smoke/dagRuns")["dag_runs"]
    return [run for run in runs if run["state"] in ("success", "failed")]


@pytest.fixture(scope="module")
def visitor(user: User, browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, base_url=user.url)
    context.set_default_timeout(60_000)
    log_in(context, "/bench/", "admin", user.passwords["admin"])
    yield context.new_page()
    context.close()


def test_every_file_is_in_order_and_only_what_is_the_users_own_is_offered(user: User) -> None:
    assert "no problems" in user.run("clusterbench", "lint")
    assert "ours" in user.run("clusterbench", "plan", "smoke")
    dags = {
        dag["dag_id"] for dag in AirflowApi(user.url, "admin", user.passwords["admin"]).call("GET", "/dags")["dags"]
    }
    assert dags >= {"smoke", "key_value", "order_entry", "weekly", "remarks", "baselines"}
    assert "terasort" not in dags, "there is no Hadoop"


def test_the_button_makes_a_valid_run_of_the_users_own_platform(user: User, visitor: Any) -> None:
    user.run("clusterbench", "pools")
    visitor.goto("/dags/smoke")
    visitor.get_by_role("button", name="Trigger").first.click()
    visitor.get_by_role("dialog").get_by_role("button", name="Trigger", exact=True).click()
    runs = wait_for(lambda: _ended(user), "the run")
    assert [run["state"] for run in runs] == ["success"], user.run("clusterbench", "list", "smoke")
    assert re.search(r"smoke/\S+ .*ours .*smoke .* valid ", user.run("clusterbench", "list", "smoke"))


def test_pages_are_in_the_ui(user: User, visitor: Any, tmp_path: Path) -> None:
    answer = visitor.goto("/bench/")
    assert answer.ok and "Smoke test of the pipeline" in visitor.content()
    assert visitor.goto("/bench/experiments/smoke").ok
    series = next(link for link in links(visitor.content(), "/bench/series/"))
    assert visitor.goto(series).ok and "Mean latency" in visitor.content(), "it needs Otava"
    visitor.screenshot(path=tmp_path / "latest.png", full_page=True)
