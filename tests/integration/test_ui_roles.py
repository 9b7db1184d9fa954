"""Who may do what: each page, button and form of Airflow's UI that is ours, tried in a browser as each of its roles.

Airflow's own UI shows every button to everybody; what decides is the answer to the request that a button sends. So each
is pressed, and both are looked at: the answer's status, and what the browser then says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from clusterbench.airflow.api import AirflowApi
from clusterbench.airflow.ui.app import pages
from clusterbench.base.connections import Connections, from_file
from clusterbench.history import database
from clusterbench.run.baselines import KEEP
from clusterbench_lab import Lab
from tests.airflow.ui import made_up
from tests.integration.browsing import log_in, made_up_history, shown_history, walk
from tests.integration.helpers import archive_of, store_of, wait_for
from tests.integration.test_airflow import wait_for_questions

pytestmark = [pytest.mark.lab, pytest.mark.long, pytest.mark.timeout(600)]

ROLES = ("viewer", "user", "op", "admin")
"""Each may do what those before it may."""
RUN = made_up.run_id_of("key_value", made_up.LAST)
WEEK = made_up.week_run_id()
DAGS = {
    "smoke": {"scale": "huge"},
    "weekly": {"scale": "huge"},
    "baselines": {"week": "huge"},
    "remarks": {"kind": "huge"},
}
"""An experiment, the weekly run, the questions, the remarks; and a choice refused to those who may start them."""
NEEDED = {"baselines": "element_week", "remarks": "element_text"}
"""DAG -> the field without which its form cannot be sent; every other form can be sent as it is."""
REFUSED = (401, 403)


@dataclass(frozen=True)
class Visitor:
    role: str
    context: Any
    """A browser that is logged in."""
    tab: Any
    refused: list[str] = field(default_factory=list)
    """Addresses that its pages asked for and did not get."""

    def may(self, least: str) -> bool:
        return ROLES.index(self.role) >= ROLES.index(least)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """A request of the browser's, with its login, that no page made."""
        return self.context.request.fetch(path, method=method, data=body, max_redirects=0)

    @contextmanager
    def page(self, address: str) -> Iterator[Any]:
        """In one tab, as people do it. A new one for each page takes two thirds more of the processors."""
        self.tab.goto(address)
        yield self.tab
        self.tab.unroute_all()


@pytest.fixture(scope="module")
def there(lab_with_airflow: Lab) -> Connections:
    return from_file(lab_with_airflow.lab_dir / "connections.json")


@pytest.fixture(scope="module")
def results(lab_with_airflow: Lab, there: Connections) -> Iterator[None]:
    """Results to look at, and a report of a run and one of a week."""
    lab_with_airflow.up()
    own = made_up_history(lab_with_airflow, "ui_roles")
    database.migrate(own)
    with database.connect(own) as db:
        made_up.fill(db, weeks=16)
    archive_of(there, "key_value", RUN).put_new("report.html", b"<h1>The report</h1>")
    archive_of(there, "weekly", WEEK).put_new("report.html", b"<h1>The week</h1>")
    with shown_history(lab_with_airflow, own):
        yield


@pytest.fixture(scope="module")
def admin(lab_with_airflow: Lab, results: None) -> AirflowApi:
    api = AirflowApi(lab_with_airflow.airflow_url(), *lab_with_airflow.airflow_login())
    wait_for(lambda: {dag["dag_id"] for dag in api.call("GET", "/dags")["dags"]}.issuperset(DAGS), "all DAGs")
    return api


@pytest.fixture(scope="module", params=ROLES)
def visitor(request: Any, browser: Any, lab_with_airflow: Lab, admin: AirflowApi) -> Iterator[Visitor]:
    context = browser.new_context(viewport={"width": 1400, "height": 900}, base_url=admin.url)
    context.set_default_timeout(60_000)
    log_in(context, "/bench/weeks", *lab_with_airflow.airflow_login(request.param))
    made = Visitor(request.param, context, context.new_page())
    context.on("response", lambda said: made.refused.append(said.url) if said.status in REFUSED else None)
    yield made
    context.close()


# Who has no login.

REQUESTS = (
    ("GET", "/api/v2/dags/smoke", None, "viewer"),
    ("GET", "/api/v2/dags/smoke/dagRuns", None, "viewer"),
    ("GET", "/api/v2/dags/~/dagRuns/~/hitlDetails", None, "viewer"),
    ("GET", "/api/v2/eventLogs", None, "viewer"),
    ("GET", "/api/v2/pools", None, "viewer"),
    *(("POST", f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None, "conf": DAGS[dag]}, "user") for dag in DAGS),
    ("POST", "/api/v2/backfills", {"dag_id": "weekly"}, "user"),
    ("PATCH", "/api/v2/dags/weekly", {"is_paused": "perhaps"}, "user"),
    ("PATCH", "/api/v2/dags/smoke/dagRuns/nothing", {"state": "failed"}, "user"),
    ("POST", "/api/v2/dags/smoke/clearTaskInstances", {"nothing": 1}, "user"),
    ("DELETE", "/api/v2/dags/smoke/dagRuns/nothing", None, "user"),
    ("DELETE", "/api/v2/dags/nothing", None, "user"),
    ("PATCH", "/api/v2/dags/baselines/dagRuns/x/taskInstances/question/0/hitlDetails", {"chosen_options": []}, "user"),
    ("GET", "/api/v2/connections", None, "op"),
    ("GET", "/api/v2/connections/clusterbench_history", None, "op"),
    ("POST", "/api/v2/connections", {}, "op"),
    ("GET", "/api/v2/variables", None, "op"),
    ("POST", "/api/v2/variables", {}, "op"),
    ("POST", "/api/v2/pools", {}, "op"),
    ("PATCH", "/api/v2/pools/default_pool", {"nothing": 1}, "op"),
)
"""Method, path, body, and the least of the roles that may. No body is one that would be carried out."""


def test_who_has_no_login_is_sent_to_it_or_refused(admin: AirflowApi) -> None:
    """At every address of ours, also at one that is added later, and for every request below."""
    addresses = ["/bench" + re.sub(r"\{\w+\}", "x", route.path) for route in pages.routes]  # type: ignore[attr-defined]
    real = [f"/bench/runs/key_value/{RUN}/report.html", f"/bench/weeks/{WEEK}/report.html"]
    assert len(addresses) >= 13
    with httpx.Client(base_url=admin.url, follow_redirects=False, timeout=60) as stranger:
        for address in addresses + real:
            sent = stranger.get(address)
            assert (sent.status_code, "auth/login?next=" in sent.headers["location"]) == (303, True), address
            assert stranger.get(address, headers={"Cookie": "_token=not.a.token"}).status_code == 303, address
            assert stranger.get(address, headers={"Authorization": "Bearer bad"}).status_code in REFUSED, address
        for method, path, body, _ in REQUESTS:
            assert stranger.request(method, path, json=body).status_code == 401, (method, path)


# What each role may.


def test_each_request_is_answered_to_those_who_may_and_to_no_others(visitor: Visitor) -> None:
    for method, path, body, least in REQUESTS:
        status = visitor.ask(method, path, body).status
        expected = ((200, 404) if method == "GET" else (400, 404, 422)) if visitor.may(least) else (403,)
        assert status in expected, f"{method} {path} as {visitor.role}: {status}"


def test_every_page_of_results_is_for_every_role_and_only_to_be_read(visitor: Visitor) -> None:
    """Every link of ours is followed, three of each kind. Only two of the made-up reports are in the archive."""
    reports = [f"/bench/runs/key_value/{RUN}/report", f"/bench/weeks/{WEEK}", f"/bench/weeks/{WEEK}/report.html"]

    def get(address: str) -> tuple[int, str, str]:
        answer = visitor.ask("GET", address)
        return answer.status, answer.headers["content-type"], answer.text()

    seen, kinds = walk(["/bench/", *reports], get)
    lost = {address for address, status in seen.items() if status != 200}
    assert all(re.search(r"/report(\.html)?$|/weeks/[^/]+$", address) and WEEK not in address for address in lost), lost
    assert kinds >= {("experiments", 3), ("runs", 4), ("series", 7), ("series", 8), ("weeks", 3), ("compare", 2)}
    for address in ("/bench/", f"/bench/runs/key_value/{RUN}"):
        assert visitor.ask("POST", address).status == 405


def test_every_form_and_button_of_the_pages_works_for_every_role(visitor: Visitor) -> None:
    before = len(visitor.refused)
    with visitor.page("/") as page:
        page.get_by_role("link", name="Results", exact=True).click()
        inside = page.frame_locator("iframe")
        inside.locator("#headline").wait_for()
        inside.get_by_role("link", name="Compare runs").click()
        inside.get_by_role("button", name="List its runs").click()
        page.wait_for_url(re.compile(r"/compare\?experiment="))  # the page before has the next button, too
        inside.get_by_role("button", name="Compare B with A").click()
        inside.locator(".verdict").first.wait_for()
    with visitor.page("/bench/experiments/key_value") as page:
        page.locator("select[name=platform]").select_option("vm4")
        page.get_by_role("button", name="Show").click()
        page.wait_for_url(re.compile("platform=vm4"))
        page.get_by_role("button", name="Compare B with A").click()
        page.locator(".verdict").first.wait_for()
    with visitor.page("/bench/experiments/key_value") as page:
        page.locator("a[href*='/series/']").first.click()
        page.locator("#verdict").wait_for()
        page.get_by_role("button", name="Show").click()
        page.wait_for_url(re.compile("runs="))
        with page.expect_download() as download:
            page.get_by_role("link", name="Download as CSV").click()
        assert download.value.failure() is None
    assert visitor.refused[before:] == []


def test_reports_can_be_looked_at_and_downloaded_by_every_role(visitor: Visitor) -> None:
    before = len(visitor.refused)
    for address, says in ((f"/bench/runs/key_value/{RUN}/report", "The report"), (f"/bench/weeks/{WEEK}", "The week")):
        with visitor.page(address) as page:
            page.frame_locator("iframe.report").get_by_role("heading", name=says).wait_for()
            with page.expect_download() as download:
                page.get_by_role("link", name="Download the report").click()
            assert download.value.failure() is None
    assert visitor.refused[before:] == []


def test_links_into_airflow_lead_to_nothing_that_is_refused(visitor: Visitor) -> None:
    """The DAGs' own pages, which every role may look at."""
    before = len(visitor.refused)
    with visitor.page("/bench/experiments/key_value") as page:
        page.get_by_role("link", name="its DAG in Airflow").click()
        page.get_by_role("button", name="Trigger").first.wait_for()
        assert page.url.endswith("/dags/key_value")
    week = "open_week: start the archive of the week"
    for dag_id, task in {"smoke": "open_run", "weekly": week, "baselines": "questions"}.items():
        with visitor.page(f"/dags/{dag_id}") as page:
            page.get_by_text(task, exact=True).first.wait_for()
    assert visitor.refused[before:] == []


@pytest.mark.parametrize("dag_id", DAGS)
def test_trigger_is_shown_to_all_and_refused_to_viewers(visitor: Visitor, admin: AirflowApi, dag_id: str) -> None:
    """The form is sent with a choice that Airflow refuses to those who may, too: so nothing starts."""

    def with_a_bad_choice(route: Any) -> None:
        sent = route.request.post_data_json if route.request.method == "POST" else None
        route.continue_(**({"post_data": json.dumps({**sent, "conf": DAGS[dag_id]})} if sent else {}))

    runs = admin.call("GET", f"/dags/{dag_id}/dagRuns")["total_entries"]
    with visitor.page(f"/dags/{dag_id}") as page:
        page.route("**/dagRuns", with_a_bad_choice)
        page.get_by_role("button", name="Trigger").first.click()
        form = page.get_by_role("dialog")
        form.get_by_text("Run Parameters").wait_for()
        if dag_id in NEEDED:
            form.locator(f"[name={NEEDED[dag_id]}]").fill("huge")
        with page.expect_response(lambda said: is_sent(said, "POST", f"/dags/{dag_id}/dagRuns")) as said:
            form.get_by_role("button", name="Trigger").click()
        assert said.value.status == (400 if visitor.may("user") else 403)
        form.get_by_text("400 Bad Request" if visitor.may("user") else "403 Forbidden").wait_for()
    assert admin.call("GET", f"/dags/{dag_id}/dagRuns")["total_entries"] == runs


def is_sent(said: Any, method: str, path: str) -> bool:
    return bool(said.request.method == method and path in said.url)


# Questions about baselines.


def regression_on(platform: str) -> dict[str, Any]:
    names = {"experiment": "key_value", "scale": "laptop", "platform": platform, "sweep": "concurrency"}
    cell = {"label": "50 clients", "levels": {"concurrency": 50}, "measurement": "latency_ms_p95"}
    change = {"state": "regression", "says": "rose by 7 %: slower", "at_run_id": RUN}
    return {"series": names | cell, "change": change, "differences": []}


@dataclass(frozen=True)
class Asked:
    dag_run_id: str
    by_role: dict[str, dict[str, Any]]
    """A question for each role to answer."""

    def path(self, role: str) -> str:
        index = self.by_role[role]["task_instance"]["map_index"]
        run = f"/dags/baselines/dagRuns/{quote(self.dag_run_id, safe='')}"
        return f"{run}/taskInstances/question/{index}/hitlDetails"

    def page(self, role: str) -> str:
        index = self.by_role[role]["task_instance"]["map_index"]
        return f"/dags/baselines/runs/{self.dag_run_id}/tasks/question/mapped/{index}/required_actions"


@pytest.fixture(scope="module")
def asked(lab_with_airflow: Lab, there: Connections, admin: AirflowApi) -> Iterator[Asked]:
    """The DAG asks about a made-up week. ``user`` has started it, as every role but ``viewer`` may."""
    week = archive_of(there, "weekly", WEEK)
    week.put_new("changes.json", json.dumps({"changes": [regression_on(f"of_{role}") for role in ROLES]}).encode())
    week.put_new("week.json", json.dumps({"runs": [{"experiment": "key_value", "run_id": RUN}]}).encode())
    user = AirflowApi(admin.url, *lab_with_airflow.airflow_login("user"))
    dag_run_id = user.trigger("baselines", {"week": WEEK})
    questions = wait_for_questions(admin, dag_run_id)
    made = Asked(dag_run_id, {role: next(q for q in questions if f"of_{role}:" in q["subject"]) for role in ROLES})
    yield made
    for role in ROLES:  # what is still open ends here
        if not admin.call("GET", made.path(role))["response_received"]:
            admin.call("PATCH", made.path(role), json={"chosen_options": [KEEP], "params_input": {}})
    state = f"/dags/baselines/dagRuns/{quote(dag_run_id, safe='')}"
    wait_for(lambda: admin.call("GET", state)["state"] == "success", "the run that asks")


def test_a_question_is_shown_to_all_and_not_answered_by_viewers(
    visitor: Visitor, asked: Asked, admin: AirflowApi, there: Connections
) -> None:
    with visitor.page("/required_actions") as page:
        subject = asked.by_role[visitor.role]["subject"]
        page.get_by_role("link", name=subject).wait_for()
    with visitor.page(asked.page(visitor.role)) as page:
        page.get_by_text("of its four simple roles user, op and admin, not viewer").wait_for()
        with page.expect_response(lambda said: is_sent(said, "PATCH", "/hitlDetails")) as said:
            page.get_by_role("button", name=KEEP).click()
        assert said.value.status == (200 if visitor.may("user") else 403)
        page.get_by_text("response successful" if visitor.may("user") else "You do not have permission").wait_for()
    detail = admin.call("GET", asked.path(visitor.role))
    assert detail["response_received"] is visitor.may("user")
    if visitor.may("user"):
        wait_for(lambda: ("kept", visitor.role) in answers(there), f"the answer of {visitor.role} in the archive")
    logs = f"/api/v2{asked.path(visitor.role).partition('/taskInstances')[0]}/taskInstances/questions/logs/1"
    assert visitor.ask("GET", logs).status == 200, "what a task says is for every role"


def answers(there: Connections) -> set[tuple[str, str]]:
    store = store_of(there)
    found = [json.loads(store.get(key) or b"{}") for key in store.keys("_questions/") if key.endswith(".a.json")]
    return {(one["answer"], one["by"]) for one in found}


# What is Airflow's own.


@pytest.mark.parametrize(
    ("what", "fields"),
    [("pool", {"input[name=name]": "roles"}), ("variable", {"[name=key]": "roles", "[name=value]": "x"})],
)
def test_pools_and_variables_are_changed_by_op_and_admin(
    visitor: Visitor, admin: AirflowApi, what: str, fields: dict[str, str]
) -> None:
    with visitor.page(f"/{what}s") as page:
        page.get_by_role("button", name=f"Add {what.title()}").click()
        form = page.get_by_role("dialog")
        for selector, value in fields.items():
            form.locator(selector).fill(value)
        with page.expect_response(lambda said: is_sent(said, "POST", f"/{what}s")) as said:
            form.get_by_role("button", name="Save").click()
        status = said.value.status
    if visitor.may("op"):
        admin.call("DELETE", f"/{what}s/roles")
    assert status == (201 if visitor.may("op") else 403)


def test_connections_are_seen_and_changed_by_op_and_admin(visitor: Visitor) -> None:
    with visitor.page("/") as page:
        with page.expect_response(lambda said: is_sent(said, "GET", "/api/v2/connections")) as said:
            page.goto("/connections")
        assert said.value.status == (200 if visitor.may("op") else 403)
        page.get_by_text("No connection found!" if visitor.may("op") else "403 Forbidden").first.wait_for()
    made = {"connection_id": "roles", "conn_type": "ssh", "host": "nowhere"}
    assert visitor.ask("POST", "/api/v2/connections", made).status == (201 if visitor.may("op") else 403)
    assert visitor.ask("DELETE", "/api/v2/connections/roles").status == (204 if visitor.may("op") else 403)
