"""The way of new users who have an Airflow already: the wheel, ``clusterbench init``, a first run by the button.

One with the oldest Airflow that is supported, with what it was released with, who had clusterbench 0.1.0 before; two
teams in one Airflow, the newest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from clusterbench.airflow.api import AirflowApi
from clusterbench.base.errors import AirflowApiError, AirflowAwayError
from clusterbench.base.run_ids import run_id_from
from clusterbench_lab import Lab
from clusterbench_lab.layout import PROJECT_DIR
from tests.integration import own_project
from tests.integration.browsing import links, log_in
from tests.integration.helpers import wait_for
from tests.integration.own_project import EARLIER, NEWEST, OLDEST, User

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(1500)]
OF_EARLIER = "smoke/20261126T191129Z-983c24"
"""The run that the user of an earlier release has made by that, in archive and history."""
RUN_S = 900
"""On a busy machine."""
NEW = re.search(r"^apache-airflow(==[\d.]+)", (PROJECT_DIR / "requirements.lock").read_text(), re.MULTILINE)
"""Not whatever was released today, which must not fail a change that has nothing to do with it."""
AIRFLOWS = {
    "oldest": ("==3.1.1", OLDEST, ["bench"], EARLIER),
    "newest": (NEW and NEW[1], NEWEST, ["sales", "ops"], None),
}


@pytest.fixture(scope="module", params=AIRFLOWS)
def user(request: Any, lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """With a project for each team, and an Airflow that shows them."""
    version, constraints, teams, earlier = AIRFLOWS[request.param]
    made = User(tmp_path_factory.mktemp("user"), own_project.free_port(), own_project.free_port(), teams, earlier)
    before = own_project.airflow_installed(made, version, constraints)
    wheel = own_project.wheel(tmp_path_factory.mktemp("dist"))
    own_project.clusterbench_installed(made, wheel, before)
    own_project.otava_installed(made)
    assert {name: version for name, version in made.packages().items() if name in before} == before
    if earlier:
        own_project.files_of(earlier, made.project(*teams))
    for team in teams if not earlier else ():
        made.run("clusterbench", "init", made.project(team))
    own_project.declared(made, lab)
    if earlier:
        own_project.measured_by(earlier, made)
    with own_project.standalone(made):
        wait_for(lambda: _is_up(made), "Airflow", RUN_S)
        for team in teams:
            assert made.dag_id(team, "cluster_ours") in made.run("clusterbench", "pools", team=team)
        yield made
    # Of a run that was cut off, as the lab is others', too. Where the cluster is free, there is nothing to release.
    made.run("bash", "-c", "clusterbench release ours --force || true", team=teams[0])


def _is_up(user: User) -> bool:
    try:
        said = httpx.get(f"{user.url}/api/v2/monitor/health", timeout=5).json()
    except (httpx.HTTPError, ValueError):
        return False
    return bool(user.passwords) and said["scheduler"]["status"] == "healthy"


@pytest.fixture(scope="module")
def api(user: User) -> AirflowApi:
    """By the names that Airflow has: this process is in no project."""
    return AirflowApi(user.url, "admin", user.passwords["admin"])


@pytest.fixture(scope="module")
def visitor(user: User, browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, base_url=user.url)
    context.set_default_timeout(60_000)
    log_in(context, user.pages(user.teams[0]), "admin", user.passwords["admin"])
    yield context.new_page()
    context.close()


def test_every_file_is_in_order_and_only_what_is_the_users_own_is_offered(user: User, api: AirflowApi) -> None:
    for team in user.teams:
        assert "no problems" in user.run("clusterbench", "lint", team=team)
        assert "ours" in user.run("clusterbench", "plan", "smoke", team=team)
        said = user.run("clusterbench", "doctor", "--project", team=team)
        assert "nothing to fix" in said
        assert ("was last checked with clusterbench 0.1.0" in said) is bool(user.earlier)
    expected = {"smoke", "key_value", "order_entry", "weekly", "remarks", "baselines"}
    wanted = {user.dag_id(team, name) for team in user.teams for name in expected}
    wait_for(lambda: wanted <= _dags(api), "the DAGs", RUN_S)
    assert not any(name.endswith("terasort") for name in _dags(api)), "there is no Hadoop"
    errors = [
        f"{each['filename']}: {each['stack_trace']}" for each in api.call("GET", "/importErrors")["import_errors"]
    ]
    assert not errors, "\n".join(errors)


def _dags(api: AirflowApi) -> set[str]:
    return {dag["dag_id"] for dag in api.call("GET", "/dags", params={"limit": 200})["dags"]}


def test_the_button_makes_a_valid_run_of_each_teams_platform_in_its_own_archive(
    user: User, api: AirflowApi, visitor: Any
) -> None:
    """Both at once: their platforms are one cluster, so that one run waits for the other's end."""
    for team in user.teams:
        wait_for(lambda team=team: user.dag_id(team, "smoke") in _dags(api), "the DAG", RUN_S)
        visitor.goto(f"/dags/{user.dag_id(team, 'smoke')}")
        visitor.get_by_role("button", name="Trigger").first.click()
        visitor.get_by_role("dialog").get_by_role("button", name="Trigger", exact=True).click()
        visitor.wait_for_url("**/runs/**")
    for team in user.teams:
        (run,) = wait_for(lambda team=team: _ended_by_now(api, user.dag_id(team, "smoke")), f"the run of {team}", RUN_S)
        listed = user.run("clusterbench", "list", "smoke", team=team)
        assert run["state"] == "success", listed
        earlier = [OF_EARLIER] if user.earlier else []
        valid = re.findall(r"(smoke/\S+) .*ours .*smoke .* valid ", listed)
        assert len(valid) == 1 + len(earlier) and set(earlier) <= set(valid), listed


def _ended_by_now(api: AirflowApi, dag_id: str) -> list[dict[str, Any]]:
    """None while the API server is too busy to answer: it is asked again then, as whoever follows a run does."""
    with suppress(AirflowAwayError):
        return _ended(api, dag_id)
    return []


def _ended(api: AirflowApi, dag_id: str) -> list[dict[str, Any]]:
    runs = api.call("GET", f"/dags/{dag_id}/dagRuns")["dag_runs"]
    return [run for run in runs if run["state"] in ("success", "failed")]


def test_pages_are_in_the_ui_and_each_team_has_its_own(
    user: User, api: AirflowApi, visitor: Any, tmp_path: Path
) -> None:
    for team in user.teams:
        assert visitor.goto(user.pages(team)).ok and visitor.get_by_text("Smoke test of the pipeline").is_visible()
        visitor.screenshot(path=tmp_path / f"{team}.png", full_page=True)
        assert visitor.get_by_role("heading", name=f"Benchmark results of {team}").is_visible()
        assert f"/dags/{user.dag_id(team, 'weekly')}" in visitor.content()
        assert visitor.goto(f"{user.pages(team)}experiments/smoke").ok
        series = next(link for link in links(visitor.content(), f"{user.pages(team)}series/"))
        assert visitor.goto(series).ok and "Mean latency" in visitor.content(), "it needs Otava"
        assert not user.earlier or OF_EARLIER in visitor.content(), "what was measured before the upgrade"
        dag_id = user.dag_id(team, "smoke")
        (run,) = _ended(api, dag_id)
        answer = visitor.goto(f"/bench/now/{dag_id}/{run['dag_run_id']}")  # the tab in Airflow's page of a run
        assert answer.ok and visitor.url.split("/now/")[0].endswith(user.pages(team).rstrip("/"))
        assert f"/dags/{dag_id}/runs/" in visitor.content()


def test_by_roles_each_team_sees_its_own_results_and_nothing_of_the_other(user: User, api: AirflowApi) -> None:
    """Airflow's auth manager with roles, in a second API server of the same Airflow."""
    if len(user.teams) == 1:
        pytest.skip("there is one team")
    own_project.given_roles(user)
    dag_runs = {team: _ended(api, user.dag_id(team, "smoke"))[0] for team in user.teams}
    port = own_project.free_port()
    with own_project.api_server_with_roles(user, port):
        url = f"http://127.0.0.1:{port}"
        wait_for(lambda: _answers(url), "the API server with roles", RUN_S)
        for name in (*user.teams, own_project.STRANGER):
            visitor = AirflowApi(url, name, own_project.PASSWORD)
            for team, dag_run in dag_runs.items():
                is_own, run = team == name, _name_of(dag_run)
                first = _page(visitor, user.pages(team))
                assert first.is_success and (run in first.text) is is_own, (name, team)
                for path in (*_pages_of(run), f"now/{dag_run['dag_id']}/{dag_run['dag_run_id']}"):
                    answer = _page(visitor, f"{user.pages(team)}{path}")
                    assert answer.status_code == (200 if is_own else 403), (name, team, path)
                allowed = 400 if is_own else 403  # a choice that nobody may make
                with pytest.raises(AirflowApiError, match=f"refused.*: {allowed}"):
                    visitor.trigger(dag_run["dag_id"], {"scale": "huge"})


def _page(visitor: AirflowApi, address: str) -> httpx.Response:
    return visitor._signed_in().get(address)


def _answers(url: str) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(f"{url}/api/v2/monitor/health", timeout=5).is_success
    return False


def _name_of(dag_run: dict[str, Any]) -> str:
    return run_id_from(datetime.fromisoformat(dag_run["run_after"]), dag_run["dag_run_id"])


def _pages_of(run: str) -> tuple[str, ...]:
    report = f"runs/smoke/{run}/report"
    return ("experiments/smoke", f"runs/smoke/{run}", report, f"{report}.html", "compare?experiment=smoke", "weeks")
